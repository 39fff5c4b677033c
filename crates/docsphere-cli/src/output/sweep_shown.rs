//! The summary of a sweep on the terminal, designed for 80 columns.

use std::path::Path;

use anyhow::Result;
use docsphere_result::{AgreementEntry, SweepEntry, SweepFile, names};

use super::table::width;
use crate::console::People;
use crate::input::Loaded;
use crate::interrupt;
use crate::numbers::{counted, grouped};

/// Prints the summary of a sweep.
pub(crate) fn show(file: &SweepFile, loaded: &Loaded, folder: &Path, out_of_time: bool) -> Result<()> {
    let mut out = People::new();
    out.line(format_args!(
        "{}, {}, {} of clusters, {:.1} s",
        counted(file.n_documents, "document"),
        counted(file.n_terms, "term"),
        counted(file.results.len(), "number"),
        file.seconds
    ))?;
    if !file.complete {
        let why = match (out_of_time, interrupt::asked_to_stop()) {
            (true, _) => "the time limit ended the sweep",
            (_, true) => "interrupted",
            _ => "ended early",
        };
        let (n_done, n_wanted) = (file.results.len(), file.wanted.len());
        out.line(format_args!("{why} after {n_done} of {n_wanted} numbers: those are written"))?;
    }
    for remark in loaded.remarks().iter() {
        out.line(remark)?;
    }
    out.line("")?;
    out.bold("                                        same clusters from     documents")?;
    out.bold("      k  similarity  silhouette  margin    halves   seeds    per cluster")?;
    for entry in &file.results {
        out.line(row(entry))?;
    }
    for entry in file.results.iter().filter(|entry| entry.n_empty_clusters + entry.n_outliers > 0) {
        out.line(format_args!(
            "note: k = {}: {}, {} without a cluster",
            grouped(entry.n_clusters),
            counted(entry.n_empty_clusters, "empty cluster"),
            counted(entry.n_outliers, "document")
        ))?;
    }
    out.line("")?;
    if let Some(found) = &file.recommendation {
        for line in wrapped(&format!("{} {}", found.reason, found.uncertainty), width()) {
            out.line(line)?;
        }
        out.line("")?;
    }
    out.line(format_args!("written to {}", folder.display()))?;
    out.line(format_args!("look at it: {}", folder.join(names::SWEEP_PAGE).display()))?;
    Ok(())
}

fn row(entry: &SweepEntry) -> String {
    let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.3}"));
    let ari = |found: Option<AgreementEntry>| number(found.map(|found| found.ari));
    let sizes = format!("{} to {}", grouped(entry.smallest), grouped(entry.largest));
    format!(
        "{:>7}  {:>10.3}  {:>10}  {:>6}  {:>8}  {:>6}  {:>13}",
        grouped(entry.n_clusters),
        entry.mean_similarity,
        number(entry.silhouette),
        number(entry.margin),
        ari(entry.halves),
        ari(entry.seeds),
        sizes
    )
}

/// A text in lines of at most so many characters, broken between words.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_broken_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("overlong a b", 3), ["overlong", "a b"]);
        assert_eq!(wrapped("", 10), [""; 0]);
    }
}
