//! The table of clusters on the terminal, designed for 80 columns.

use std::io::{self, IsTerminal};

use docsphere_result::{ClusterEntry, GroupEntry};

use crate::console::{People, escaped};
use crate::numbers::{counted, grouped};

/// The width if there is no terminal.
const DEFAULT_WIDTH: usize = 80;

/// The width of the terminal, within limits.
pub(crate) fn width() -> usize {
    let columns = if std::io::stdout().is_terminal() { terminal_size::terminal_size() } else { None };
    columns.map_or(DEFAULT_WIDTH, |(width, _)| usize::from(width.0)).clamp(60, 160)
}

/// Writes the largest clusters, largest first.
pub(crate) fn write_largest(out: &mut People, clusters: &[ClusterEntry], n_shown: usize) -> io::Result<()> {
    let mut order: Vec<&ClusterEntry> = clusters.iter().filter(|cluster| cluster.size > 0).collect();
    order.sort_by_key(|cluster| (std::cmp::Reverse(cluster.size), cluster.id));
    out.bold("cluster     size  cohesion  keywords")?;
    for cluster in order.iter().take(n_shown) {
        let left = format!("{:>7} {:>8} {:>9.2}  ", cluster.id, grouped(cluster.size), cluster.cohesion);
        let room = width().saturating_sub(left.len());
        out.line(format_args!("{left}{}", fitting_keywords(cluster, room)))?;
    }
    if order.len() > n_shown {
        out.dim(format_args!("and {}", counted(order.len() - n_shown, "more cluster")))?;
    }
    Ok(())
}

/// Writes the largest groups, largest first.
pub(crate) fn write_groups(out: &mut People, groups: &[GroupEntry], n_shown: usize) -> io::Result<()> {
    let mut order: Vec<&GroupEntry> = groups.iter().collect();
    order.sort_by_key(|group| (std::cmp::Reverse(group.size), group.id));
    out.bold("  group     size  clusters  keywords")?;
    for group in order.iter().take(n_shown) {
        let left =
            format!("{:>7} {:>8} {:>9}  ", group.id, grouped(group.size), grouped(group.clusters.len()));
        let room = width().saturating_sub(left.len());
        out.line(format_args!("{left}{}", fitting(group.keywords.iter().map(String::as_str), room)))?;
    }
    if order.len() > n_shown {
        out.dim(format_args!("and {}", counted(order.len() - n_shown, "more group")))?;
    }
    Ok(())
}

/// As many keywords as fit into `room` columns; at least a part of the first.
fn fitting_keywords(cluster: &ClusterEntry, room: usize) -> String {
    fitting(cluster.keywords.iter().map(|keyword| keyword.term.as_str()), room)
}

fn fitting<'a>(keywords: impl Iterator<Item = &'a str>, room: usize) -> String {
    let mut text = String::new();
    for keyword in keywords.map(escaped) {
        let separator = if text.is_empty() { "" } else { ", " };
        if text.chars().count() + separator.len() + keyword.chars().count() > room && !text.is_empty() {
            break;
        }
        text.push_str(separator);
        text.push_str(&keyword);
    }
    text.chars().take(room).collect()
}

#[cfg(test)]
mod tests {
    use docsphere_result::KeywordEntry;

    use super::*;

    #[test]
    fn keywords_are_cut_between_words() {
        let keyword = |term: &str| KeywordEntry { term: term.to_owned(), weight: None, score: 1.0 };
        let cluster = ClusterEntry {
            id: 0,
            size: 1,
            cohesion: 1.0,
            keywords: ["dough", "oven", "a very long term"].map(keyword).into(),
            representatives: Vec::new(),
            least_typical: Vec::new(),
            histogram: Vec::new(),
            neighbours: Vec::new(),
        };
        assert_eq!(fitting_keywords(&cluster, 30), "dough, oven, a very long term");
        assert_eq!(fitting_keywords(&cluster, 28), "dough, oven");
        assert_eq!(fitting_keywords(&cluster, 3), "dou");
    }
}
