//! The options of the run that made a result, for documents that join it later.
//!
//! They are those of `trace.json`, read by the parser of `docsphere cluster`. Options that were
//! typed now take their place. What the trace does not tell, such as the files that were written,
//! is seen from the result itself.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::CommandFactory;
use docsphere_result::edits::base_of;
use docsphere_result::{AssignmentsFormat, ClustersFile, Setting, names};

use super::super::{Command, cluster};
use super::before::Before;
use crate::Cli;

/// Options that a run which goes on does not take from the earlier one: how it started, and its
/// limits.
const LEFT_OUT: [&str; 9] = [
    "--candidates",
    "--cluster",
    "--fine",
    "--init",
    "--n-init",
    "--rounds",
    "--time-limit",
    "--vocabulary",
    "--within",
];

/// The arguments of the run, with these inputs and typed options in place of its own.
pub(super) fn arguments_of(before: &Before, inputs: &[PathBuf], typed: &[Setting]) -> Result<cluster::Args> {
    let mut words: Vec<OsString> = vec!["docsphere".into(), "cluster".into()];
    let settings = settings_of_run(&before.trace.settings, typed);
    words.extend(settings.iter().flat_map(Setting::words).map(OsString::from));
    words.extend(written_files(&before.folder, &before.clusters)?.into_iter().map(OsString::from));
    words.extend(["--force".into(), "--output".into(), before.folder.clone().into(), "--".into()]);
    match inputs {
        // Documents are only removed: the parser wants an input, which is not read.
        [] => words.push("-".into()),
        _ => words.extend(inputs.iter().map(|input| input.clone().into())),
    }
    let cli = Cli::read(words).with_context(|| {
        format!("{}: its options ({}) cannot be read", before.folder.display(), names::TRACE)
    })?;
    match cli.command {
        Command::Cluster(args) => Ok(*args),
        _ => bail!("{}: its options are not those of docsphere cluster", before.folder.display()),
    }
}

/// The settings of the run about input, duplicates and clustering, and the typed ones.
fn settings_of_run(settings: &[Setting], typed: &[Setting]) -> Vec<Setting> {
    let command = Cli::command();
    let cluster = command.find_subcommand("cluster").expect("it is a subcommand");
    let is_taken = |setting: &&Setting| {
        let long = setting.name.strip_prefix("--").unwrap_or_default();
        let arg = cluster.get_arguments().find(|arg| arg.get_long() == Some(long));
        let heading = arg.and_then(|arg| arg.get_help_heading());
        // The text model knows how texts become terms.
        heading.is_some_and(|heading| heading != "Text")
            && !LEFT_OUT.contains(&&*setting.name)
            && !typed.iter().any(|other| other.name == setting.name)
    };
    let of_cluster = |setting: &&Setting| {
        let long = setting.name.strip_prefix("--").unwrap_or_default();
        cluster.get_arguments().any(|arg| arg.get_long() == Some(long))
    };
    let typed = typed.iter().filter(of_cluster).cloned();
    settings.iter().filter(is_taken).cloned().chain(typed).collect()
}

/// The options for the files that a result has.
fn written_files(folder: &Path, clusters: &ClustersFile) -> Result<Vec<String>> {
    // Of an edited result, those that the run has written, too.
    let base = base_of(folder);
    let has = |name: &str| folder.join(name).exists() || base.join(name).exists();
    let format = AssignmentsFormat::ALL.iter().find(|format| has(format.file_name()));
    let Some(format) = format else {
        bail!("{}: its assignments are in parts; only one file can be changed", folder.display());
    };
    let entries = || clusters.clusters.iter();
    let most = |n: Option<usize>| n.unwrap_or(0).to_string();
    let mut words = vec![
        format!("--assignments={format}"),
        format!("--keywords={}", most(entries().map(|entry| entry.keywords.len()).max())),
        format!("--representatives={}", most(entries().map(|entry| entry.representatives.len()).max())),
        format!("--least-typical={}", most(entries().map(|entry| entry.least_typical.len()).max())),
    ];
    if !has(names::REPORT) {
        words.push("--no-report".to_owned());
    }
    if cfg!(feature = "serve") && has(names::DOCUMENTS) {
        words.push("--index".to_owned());
    }
    if clusters.silhouette.is_some() {
        words.push("--silhouette".to_owned());
    }
    if has_runner_up(&folder.join(format.file_name()), *format)? {
        words.push("--runner-up".to_owned());
    }
    Ok(words)
}

/// Bytes of a line or a schema that are searched for a name.
const SEARCHED_BYTES: u64 = 1 << 20;

/// Whether assignments have the second-nearest cluster.
fn has_runner_up(path: &Path, format: AssignmentsFormat) -> Result<bool> {
    use std::io::{Seek, SeekFrom};
    let name = b"runner_up_similarity";
    let attempt = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let mut start = Vec::new();
        if format == AssignmentsFormat::Parquet {
            // The names of its columns are at the end.
            let length = file.metadata()?.len();
            file.seek(SeekFrom::Start(length.saturating_sub(SEARCHED_BYTES)))?;
            file.take(SEARCHED_BYTES).read_to_end(&mut start)?;
        } else {
            BufReader::new(file.take(SEARCHED_BYTES)).read_until(b'\n', &mut start)?;
        }
        Ok(start)
    };
    let start = attempt().with_context(|| format!("{}: cannot read", path.display()))?;
    Ok(start.windows(name.len()).any(|window| window == name))
}
