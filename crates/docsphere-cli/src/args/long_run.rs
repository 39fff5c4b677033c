//! Options for runs that take hours.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use docsphere::Checkpoint;

use crate::interrupt;
use crate::memory;
use crate::output::reads::{Reads, real_name};

/// Options for runs that take hours.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Long runs")]
pub(crate) struct LongRunArgs {
    /// Write the state of the run to this file at intervals, and on interruption
    #[arg(long, value_name = "FILE")]
    pub(crate) checkpoint: Option<PathBuf>,

    /// Number of iterations between checkpoints
    #[arg(long, value_name = "N", default_value_t = 10, requires = "checkpoint", value_parser = at_least_one)]
    pub(crate) checkpoint_every: usize,

    /// Continue from this checkpoint; needs the same input and options
    #[arg(long, value_name = "FILE")]
    pub(crate) resume: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,
}

/// Limits of a run.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Long runs")]
pub(crate) struct LimitArgs {
    /// Stop after this time and keep the result so far ("90" seconds, "30m", "2h")
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) time_limit: Option<Duration>,

    /// Hold no more memory than this ("500M", "8G"): what does not fit goes to files, if it can,
    /// and is refused otherwise [default: the memory available]
    #[arg(long, value_name = "SIZE", value_parser = memory::parse_bytes)]
    pub(crate) max_memory: Option<u64>,
}

/// The limit of a command that only reads.
#[derive(Args, Clone, Default)]
pub(crate) struct MemoryArgs {
    /// Hold no more memory than this ("500M", "8G"): rows that a result keeps, or that are in a
    /// file of rows, stay in their file, and what else does not fit is refused [default: the memory
    /// available]
    #[arg(long, value_name = "SIZE", value_parser = memory::parse_bytes, help_heading = "Limits")]
    pub(crate) max_memory: Option<u64>,
}

impl LongRunArgs {
    /// Checks before the work begins that the checkpoint can be written, and that it overwrites
    /// nothing but a checkpoint. `reads` are the files that the run reads, `out` is its result.
    pub(crate) fn check_checkpoint(&self, reads: &Reads, out: &Path) -> Result<()> {
        let Some(path) = &self.checkpoint else { return Ok(()) };
        let shown = path.display();
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        if path.is_dir() {
            bail!("--checkpoint {shown}: is a folder; give the name of a file");
        }
        if !folder.is_dir() {
            bail!("--checkpoint {shown}: the folder {} does not exist; make it first", folder.display());
        }
        if let (Some(file), Some(out)) = (real_name(path), real_name(out)) {
            ensure!(
                !file.starts_with(&out),
                "--checkpoint {shown}: lies in the place of the result, which is written as a whole; choose a name outside of it"
            );
        }
        // A resumed run may keep writing to the checkpoint that it resumes from.
        let is_resumed = |other: &PathBuf| fs::canonicalize(path).ok() == fs::canonicalize(other).ok();
        if !self.resume.as_ref().is_some_and(is_resumed) {
            reads.check_file(path).context("--checkpoint")?;
            if let Ok(found) = fs::metadata(path) {
                ensure!(found.is_file(), "--checkpoint {shown}: is not a regular file; choose another name");
                ensure!(
                    found.len() == 0 || Checkpoint::load_within(path, &memory::of_readers()).is_ok(),
                    "--checkpoint {shown}: is there already and is not a checkpoint; choose another name"
                );
            }
        }
        interrupt::remember_folder(folder);
        Ok(())
    }
}

/// Reads a number above zero.
fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&number| number >= 1).ok_or("give a whole number, at least 1".to_owned())
}

/// Reads "90", "90s", "30m" or "2h".
fn parse_time(text: &str) -> Result<Duration, String> {
    let (number, factor) = match text.trim().char_indices().last() {
        Some((end, 's')) => (&text.trim()[..end], 1.0),
        Some((end, 'm')) => (&text.trim()[..end], 60.0),
        Some((end, 'h')) => (&text.trim()[..end], 3600.0),
        _ => (text.trim(), 1.0),
    };
    match number.parse::<f64>() {
        Ok(number) if number > 0.0 && number * factor < 1e9 => Ok(Duration::from_secs_f64(number * factor)),
        _ => Err("give a time such as 90, 30m or 2h".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        assert_eq!(parse_time("90"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_time("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(parse_time("2h"), Ok(Duration::from_secs(7200)));
        assert!(parse_time("soon").is_err() && parse_time("-1").is_err() && parse_time("").is_err());
    }
}
