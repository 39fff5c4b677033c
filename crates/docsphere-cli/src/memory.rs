//! The memory that a run needs, and the memory available.

use std::fs;
use std::sync::OnceLock;

use anyhow::{Result, bail};
use docsphere::{Discs, MemoryLimit, MergeTree, Silhouette, UnitRows, ValidParams};
use docsphere_result::Points;

/// A number of bytes from a line of a file under /proc, given there in kB; `None` where there is no
/// such file.
fn proc_bytes(file: &str, key: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(key))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// The peak memory of this process so far; `None` where the system does not report it.
pub(crate) fn peak() -> Option<u64> {
    proc_bytes("/proc/self/status", "VmHWM:")
}

/// The memory that this process holds now and cannot let go of; 0 where the system does not report
/// it. Pages of mapped files are let go of in time; those of the program itself count.
pub(crate) fn resident() -> u64 {
    let of = |key| proc_bytes("/proc/self/status", key);
    match (of("RssAnon:"), of("RssShmem:"), of("RssFile:")) {
        (Some(own), Some(shared), Some(files)) => own + shared + files.min(PROGRAM_BYTES),
        _ => of("VmRSS:").unwrap_or(0),
    }
}

/// At least the size of the program.
const PROGRAM_BYTES: u64 = 48 << 20;

/// The memory available on this machine or in this container; `None` where the system does not
/// report it.
fn available() -> Option<u64> {
    let machine = proc_bytes("/proc/meminfo", "MemAvailable:")?;
    Some(container_left().map_or(machine, |left| left.min(machine)))
}

/// The memory left under the limit of a container (control group, version 2). Cached files count as
/// free, since they are evicted when memory is short.
fn container_left() -> Option<u64> {
    let read = |name: &str| fs::read_to_string(format!("/sys/fs/cgroup/memory.{name}")).ok();
    let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
    let cached: u64 =
        read("stat")?.lines().find_map(|line| line.strip_prefix("inactive_file "))?.parse().ok()?;
    Some(number("max")?.saturating_sub(number("current")?.saturating_sub(cached)))
}

/// The most memory that the process may hold, and whether it was given with `--max-memory`.
/// Otherwise it is the memory that the process holds plus the memory available.
pub(crate) struct Limit {
    bytes: u64,
    is_given: bool,
    /// The same limit for everything that the library reads.
    readers: MemoryLimit,
}

/// The limit of this process, shared by all readers.
static LIMIT: OnceLock<Option<Limit>> = OnceLock::new();

/// Sets the limit to the given one. Must be called before anything is read.
pub(crate) fn allow(given: Option<u64>) {
    if let Some(limit) = LIMIT.get_or_init(|| Limit::new(given)) {
        docsphere::keep_resident_within(limit.bytes.saturating_sub(limit.bytes / MARGIN + 2 * PROGRAM_BYTES));
    }
}

/// This part of the limit is left free of pages of mapped files.
const MARGIN: u64 = 32;

/// The limit; `None` if none was given and the system does not report its memory.
pub(crate) fn limit() -> Option<&'static Limit> {
    LIMIT.get_or_init(|| Limit::new(None)).as_ref()
}

/// The limit for readers.
pub(crate) fn of_readers() -> MemoryLimit {
    limit().map_or_else(MemoryLimit::default, |limit| limit.readers.clone())
}

impl Limit {
    fn new(given: Option<u64>) -> Option<Self> {
        let (bytes, readers) = match given {
            Some(bytes) => (bytes, MemoryLimit::new(bytes, resident)),
            None => {
                let bytes = resident() + available()?;
                // Memory that other processes have taken since the start counts as if this
                // process held it.
                let held = move || bytes.saturating_sub(available().unwrap_or(bytes)).max(resident());
                (bytes, MemoryLimit::new(bytes, held))
            }
        };
        Some(Limit { bytes, is_given: given.is_some(), readers })
    }

    /// Counts of terms and ids of documents above this go to files. The matrix is made beside them,
    /// and the run needs as much again.
    pub(crate) fn of_counts(&self) -> u64 {
        self.bytes / 5
    }

    /// Terms above this go to a file while documents are counted, if few documents have them and
    /// `--min-df` drops them. For a moment the lists of those that stay may be twice as long.
    pub(crate) fn of_terms(&self) -> u64 {
        self.bytes / 8
    }

    fn whose(&self) -> &'static str {
        if self.is_given { "--max-memory allows" } else { "this machine has left" }
    }
}

/// The message that refuses further reading, in the terms of the command.
pub(crate) fn too_much(what: &str, needed: u64, allowed: u64) -> String {
    let limit = limit().filter(|limit| limit.bytes == allowed);
    let (whose, raise) = match limit {
        Some(limit) if limit.is_given => (limit.whose(), "raise --max-memory"),
        Some(limit) => (limit.whose(), "free some memory"),
        None => ("there is room for", "free some memory"),
    };
    let advice = match what {
        "the documents" => "give fewer or shorter documents",
        "the terms of the documents" => "drop rare terms with --min-df 2, or give fewer documents",
        "the vocabulary" => "drop rare terms with --min-df 2",
        "a long record" => "cut it into shorter ones, if it is no mistake",
        _ => "give another file, if this one should not be so large",
    };
    format!(
        "reading {what} takes {} or more, but {whose} {}; {advice}, or {raise}",
        megabytes(needed),
        megabytes_below(allowed)
    )
}

/// An upper bound of the memory that a run needs beside the rows.
pub(crate) struct Forecast {
    rows: u64,
    is_mapped: bool,
    run: u64,
}

impl Forecast {
    /// The maximum over the loop and the steps after it: silhouettes, if wanted; the neighbours and
    /// groups of the clusters, beside which there is room for the bytes of the model file.
    pub(crate) fn new(rows: &UnitRows<'_>, params: &ValidParams, silhouette: bool) -> Self {
        let forecast = params.memory_forecast(rows);
        let (k, n_threads) = (params.params().n_clusters, params.params().n_threads);
        let entries = forecast.n_entries;
        let n_threads = n_threads.unwrap_or_else(docsphere::all_cores);
        // Of summaries: the weights of all terms, and few rows by term in each thread.
        let in_table = (16 * rows.max_row_nnz() as u64).min(rows.n_terms() as u64);
        let by_term = (16 + 4 * n_threads as u64) * rows.n_terms() as u64
            + n_threads as u64 * (64 * in_table + rows.n_rows() as u64);
        // The tree is built beside them.
        let after = MergeTree::forecast_bytes(k, rows.n_terms(), entries, n_threads, params.params().device)
            + by_term;
        let silhouette = if silhouette {
            Silhouette::forecast_bytes(rows.n_rows(), rows.n_terms(), k, entries, n_threads)
        } else {
            0
        };
        // The documents as points.
        let points = Discs::forecast_bytes(rows.n_rows(), rows.n_terms(), entries, n_threads)
            + Points::forecast_bytes(rows.n_rows(), 0);
        let after = after.max(points);
        // The silhouettes of all documents are kept until they are written.
        let kept = if silhouette > 0 { 8 * rows.n_rows() as u64 } else { 0 };
        let after = (after + kept).max(silhouette);
        // Labels, similarities, and documents by cluster; beside rows in a file little else.
        let documents = if rows.is_mapped() { 16 * rows.n_rows() as u64 } else { forecast.documents };
        let run = forecast.total().max(documents + 16 * entries + after);
        Forecast { rows: rows.as_sparse().memory_bytes() as u64, is_mapped: rows.is_mapped(), run }
    }

    /// That of a sweep: the maximum over its runs and the steps after the largest of them.
    pub(crate) fn of_sweep(rows: &UnitRows<'_>, sweep: u64, largest: &ValidParams, silhouette: bool) -> Self {
        let one = Forecast::new(rows, largest, silhouette);
        Forecast { run: sweep.max(one.run), ..one }
    }

    /// With the counts of kept columns by cluster, and their bins by document, after the run.
    #[must_use]
    pub(crate) fn with_columns(mut self, n_columns: usize, n_documents: usize, n_clusters: usize) -> Self {
        self.run += docsphere_result::columns_forecast_bytes(n_columns, n_clusters);
        // Twice while they are written.
        self.run += 2 * n_columns as u64 * n_documents as u64;
        self
    }

    /// That of a step before the run, which needs so many bytes.
    pub(crate) fn of_step(rows: &UnitRows<'_>, run: u64) -> Self {
        Forecast { rows: rows.as_sparse().memory_bytes() as u64, is_mapped: rows.is_mapped(), run }
    }

    /// Whether the run needs no more than the limit.
    pub(crate) fn fits(&self, limit: &Limit) -> bool {
        resident() + self.run <= limit.bytes
    }

    /// Refuses a run that would need more than the limit.
    pub(crate) fn check(&self, limit: &Limit) -> Result<()> {
        if !self.fits(limit) {
            let needed = resident() + self.run;
            let matrix = match self.is_mapped {
                true => "the matrix is in a file".to_owned(),
                false => format!("{} of them the matrix", megabytes(self.rows)),
            };
            bail!(
                "clustering may need up to {} ({} are held now, {matrix}; up to {} for the run), but {} {}; take fewer clusters, drop rare terms (--min-df), or raise --max-memory",
                megabytes(needed),
                megabytes(needed - self.run),
                megabytes(self.run),
                limit.whose(),
                megabytes_below(limit.bytes)
            );
        }
        Ok(())
    }
}

/// Bytes for people, rounded up. A limit is rounded down, so that an amount above the limit is
/// never shown as equal to it.
pub(crate) fn megabytes(bytes: u64) -> String {
    shown(bytes.next_multiple_of(step(bytes)))
}

fn megabytes_below(bytes: u64) -> String {
    shown(bytes / step(bytes) * step(bytes))
}

/// The rounding unit.
fn step(bytes: u64) -> u64 {
    match bytes {
        0..10_000_000 => 100_000,
        10_000_000..10_000_000_000 => 1_000_000,
        _ => 100_000_000,
    }
}

fn shown(bytes: u64) -> String {
    if bytes < 10_000_000 {
        format!("{:.1} MB", bytes as f64 / 1e6)
    } else if bytes < 10_000_000_000 {
        format!("{:.0} MB", bytes as f64 / 1e6)
    } else {
        format!("{:.1} GB", bytes as f64 / 1e9)
    }
}

/// Reads "500M", "8G", "1.5GB" or a plain number of bytes.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    let lower = text.trim().to_ascii_lowercase();
    let digits = lower.trim_end_matches('b');
    let (number, factor) = match digits.chars().last() {
        Some('k') => (&digits[..digits.len() - 1], 1e3),
        Some('m') => (&digits[..digits.len() - 1], 1e6),
        Some('g') => (&digits[..digits.len() - 1], 1e9),
        Some('t') => (&digits[..digits.len() - 1], 1e12),
        _ => (digits, 1.0),
    };
    match number.trim().parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok((number * factor) as u64),
        _ => Err("give a number of bytes such as 500M or 8G".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_is_never_shown_as_the_limit() {
        for (limit, below, above) in [
            (1_040_000, "1.0 MB", "1.1 MB"),
            (199_000_000, "199 MB", "200 MB"),
            (199_600_000, "199 MB", "200 MB"),
            (12_340_000_000, "12.3 GB", "12.4 GB"),
        ] {
            assert_eq!((megabytes_below(limit).as_str(), megabytes(limit + 1).as_str()), (below, above));
        }
    }

    #[test]
    fn sizes_are_read_as_people_write_them() {
        assert_eq!(parse_bytes("8G"), Ok(8_000_000_000));
        assert_eq!(parse_bytes("1.5 GB"), Ok(1_500_000_000));
        assert_eq!(parse_bytes("500m"), Ok(500_000_000));
        assert_eq!(parse_bytes("1234"), Ok(1234));
        assert!(parse_bytes("lots").is_err() && parse_bytes("-1G").is_err() && parse_bytes("").is_err());
    }
}
