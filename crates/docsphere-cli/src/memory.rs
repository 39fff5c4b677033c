//! How much memory a run will need, and how much there is.

use std::fs;
use std::sync::OnceLock;

use anyhow::{Result, bail};
use docsphere::{MemoryLimit, MergeTree, Strategy, UnitRows};

/// A number of bytes from a line of a file under /proc, given there in kB; `None` where there is no such file.
fn proc_bytes(file: &str, key: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(key))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}

/// The most memory that this process has held so far; `None` where the system does not tell.
pub(crate) fn peak() -> Option<u64> {
    proc_bytes("/proc/self/status", "VmHWM:")
}

/// The memory that this process holds now; 0 where the system does not tell.
pub(crate) fn resident() -> u64 {
    proc_bytes("/proc/self/status", "VmRSS:").unwrap_or(0)
}

/// The memory that is left on this machine, or to this container; `None` where the system does not tell.
fn available() -> Option<u64> {
    let machine = proc_bytes("/proc/meminfo", "MemAvailable:")?;
    Some(container_left().map_or(machine, |left| left.min(machine)))
}

/// What the limit of a container (control group, version 2) leaves. Cached files are given up when memory is short.
fn container_left() -> Option<u64> {
    let read = |name: &str| fs::read_to_string(format!("/sys/fs/cgroup/memory.{name}")).ok();
    let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
    let cached: u64 =
        read("stat")?.lines().find_map(|line| line.strip_prefix("inactive_file "))?.parse().ok()?;
    Some(number("max")?.saturating_sub(number("current")?.saturating_sub(cached)))
}

/// The most that the process may hold: what was given, or what it holds and what is left. And who says so.
pub(crate) struct Limit {
    bytes: u64,
    is_given: bool,
    /// The same for everything that the library reads.
    readers: MemoryLimit,
}

/// The limit of this process. One for all: what one reader holds, another cannot have.
static LIMIT: OnceLock<Option<Limit>> = OnceLock::new();

/// Sets the limit to what was given. Must come before anything is read.
pub(crate) fn allow(given: Option<u64>) {
    LIMIT.get_or_init(|| Limit::new(given));
}

/// The limit; `None` where nothing was given and the system does not tell.
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
                // Others may take of what was left at the beginning: that is as if this process held it.
                let held = move || bytes.saturating_sub(available().unwrap_or(bytes)).max(resident());
                (bytes, MemoryLimit::new(bytes, held))
            }
        };
        Some(Limit { bytes, is_given: given.is_some(), readers })
    }

    fn whose(&self) -> &'static str {
        if self.is_given { "--max-memory allows" } else { "this machine has left" }
    }
}

/// The refusal to read on, in the words of the command.
pub(crate) fn too_much(what: &str, needed: u64, allowed: u64) -> String {
    let limit = limit().filter(|limit| limit.bytes == allowed);
    let (whose, raise) = match limit {
        Some(limit) if limit.is_given => (limit.whose(), "raise --max-memory"),
        Some(limit) => (limit.whose(), "free some memory"),
        None => ("there is room for", "free some memory"),
    };
    let advice = match what {
        "the documents" | "the terms of the documents" => "give fewer or shorter documents",
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

/// What the strategy drift takes at a time on each thread: so many rows with so many terms, against so many tiles.
const BATCH_ROWS: u64 = 1024;
const BATCH_TERMS: u64 = 1 << 17;
const BATCH_TILES: u64 = 40;

/// What a run adds to the rows, at the most.
pub(crate) struct Forecast {
    rows: u64,
    run: u64,
}

impl Forecast {
    /// See "Memory" in the library's documentation. The centroids together cannot have more entries than the rows, nor more than k times the terms.
    pub(crate) fn new(rows: &UnitRows<'_>, n_clusters: usize, strategy: Strategy, n_threads: usize) -> Self {
        let (n_rows, nnz, n_terms) = (rows.n_rows() as u64, rows.nnz() as u64, rows.n_terms() as u64);
        let entries = nnz.min(n_clusters as u64 * n_terms);
        let strategy_bytes = match strategy {
            Strategy::Baseline | Strategy::Ncc => 36 * entries,
            Strategy::Index | Strategy::NccIndex => 76 * entries + 40 * n_terms,
            Strategy::Inverted => 8 * entries + 8 * n_terms,
            _ => {
                let columns = (48 * entries).min(65_536 * n_clusters as u64) + 12 * entries;
                8 * nnz + 53 * n_rows + 72 * n_terms + 141 * n_clusters as u64 + 2 * columns
            }
        };
        // Sums, a centroid spread out, and what a batch of documents needs: bounds for some tiles of 64 clusters, and
        // what is looked up for its terms. A long row is a batch of its own.
        let longest = rows.max_row_nnz() as u64;
        let tiles = (n_clusters as u64).div_ceil(64).min(BATCH_TILES);
        let batch = 130 * n_rows.min(BATCH_ROWS) * tiles
            + 36 * nnz.min(longest.max(BATCH_TERMS))
            + 8 * longest
            + 10_000;
        let by_thread = (12 * n_terms + 12 * n_clusters as u64 + batch) * n_threads as u64;
        let seeding = 10 * nnz + 14 * nnz.min(n_terms * n_rows.div_ceil(32_768)) + 34 * n_rows + 5 * n_terms;
        // Neighbours and groups of clusters, when the loop has ended.
        let has_tree = n_clusters <= MergeTree::MAX_CLUSTERS;
        let tree = if has_tree { 2 * (n_clusters as u64).pow(2) } else { 0 };
        let pairs = 40 * entries + 136 * (n_clusters * n_threads) as u64;
        // Centroids and sums, and beside them what moving documents change in the sums.
        let sums = 40 * entries;
        let run = 68 * n_rows + seeding.max(sums + strategy_bytes + by_thread).max(pairs + tree);
        Forecast { rows: rows.as_sparse().memory_bytes() as u64, run }
    }

    /// Refuses a run that would need more than the limit.
    pub(crate) fn check(&self, limit: &Limit) -> Result<()> {
        let needed = resident() + self.run;
        if needed > limit.bytes {
            bail!(
                "clustering may need up to {} ({} are held now, {} of them the matrix; up to {} for the run), but {} {}; take fewer clusters, drop rare terms (--min-df), or raise --max-memory",
                megabytes(needed),
                megabytes(needed - self.run),
                megabytes(self.rows),
                megabytes(self.run),
                limit.whose(),
                megabytes_below(limit.bytes)
            );
        }
        Ok(())
    }
}

/// Bytes for people, rounded up: what is too much is never shown as a limit is, which is rounded down.
pub(crate) fn megabytes(bytes: u64) -> String {
    shown(bytes.next_multiple_of(step(bytes)))
}

fn megabytes_below(bytes: u64) -> String {
    shown(bytes / step(bytes) * step(bytes))
}

/// The smallest difference that is shown.
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
