//! The table of clusters on the terminal, designed for 80 columns.

use std::io::{self, IsTerminal};

use docsphere_result::{ClusterEntry, ClustersFile, GroupEntry, KeywordEntry};

use crate::console::{People, escaped};
use crate::numbers::{counted, grouped};

/// The width if there is no terminal.
const DEFAULT_WIDTH: usize = 80;

/// The width of the terminal, within limits.
pub(crate) fn width() -> usize {
    let columns = if std::io::stdout().is_terminal() { terminal_size::terminal_size() } else { None };
    columns.map_or(DEFAULT_WIDTH, |(width, _)| usize::from(width.0)).clamp(60, 160)
}

/// The first words of a text, on one line.
pub(crate) fn shortened(text: &str, room: usize) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = escaped(&words);
    if line.chars().count() <= room {
        return line.into_owned();
    }
    let cut: String = line.chars().take(room.saturating_sub(1)).collect();
    format!("{cut}…")
}

/// Writes the largest clusters of a result, largest first.
pub(crate) fn write_largest(out: &mut People, file: &ClustersFile, n_shown: usize) -> io::Result<()> {
    let mut order: Vec<&ClusterEntry> =
        file.clusters.iter().filter(|cluster| cluster.size > 0 && !cluster.hidden).collect();
    order.sort_by_key(|cluster| (std::cmp::Reverse(cluster.size), cluster.id));
    out.bold("cluster     size  cohesion  name")?;
    for cluster in order.iter().take(n_shown) {
        let mark = if cluster.heap { '*' } else { ' ' };
        let left = format!("{:>7} {:>8} {:>9.2}{mark} ", cluster.id, grouped(cluster.size), cluster.cohesion);
        let room = width().saturating_sub(left.len());
        out.line(format_args!("{left}{}", fitting_name(cluster, room)))?;
    }
    if order.len() > n_shown {
        out.dim(format_args!("and {}", counted(order.len() - n_shown, "more cluster")))?;
    }
    let n_hidden = file.clusters.iter().filter(|cluster| cluster.hidden).count();
    if n_hidden > 0 {
        out.dim(format_args!("{} hidden", counted(n_hidden, "cluster")))?;
    }
    if order.iter().take(n_shown).any(|cluster| cluster.heap) {
        out.dim("* a heap: its documents have little in common, see docsphere inspect --cluster N")?;
    }
    if let Some(silhouette) = file.silhouette {
        out.dim(format_args!(
            "mean silhouette {silhouette:.3}, from -1 to 1; 0 is the border between two clusters"
        ))?;
    }
    Ok(())
}

/// Writes the largest groups, largest first.
pub(crate) fn write_groups(out: &mut People, groups: &[GroupEntry], n_shown: usize) -> io::Result<()> {
    let mut order: Vec<&GroupEntry> = groups.iter().collect();
    order.sort_by_key(|group| (std::cmp::Reverse(group.size), group.id));
    out.bold("  group     size  clusters  name")?;
    for group in order.iter().take(n_shown) {
        let left =
            format!("{:>7} {:>8} {:>9}  ", group.id, grouped(group.size), grouped(group.clusters.len()));
        let room = width().saturating_sub(left.len());
        out.line(format_args!(
            "{left}{}",
            fitting(&group.name, group.keywords.iter().map(String::as_str), room)
        ))?;
    }
    if order.len() > n_shown {
        out.dim(format_args!("and {}", counted(order.len() - n_shown, "more group")))?;
    }
    Ok(())
}

/// Separates a name from the keywords after it.
const AFTER_NAME: &str = " · ";

/// The name of a cluster, and as many further keywords as fit into `room` columns.
fn fitting_name(cluster: &ClusterEntry, room: usize) -> String {
    let title = cluster.title();
    fitting(&title, cluster.keywords.iter().map(KeywordEntry::shown), room)
}

/// Whether two words are forms of one, as far as can be told without knowing the language: one is
/// the other with an s or es.
fn is_form_of(word: &str, other: &str) -> bool {
    let (short, long) = if word.len() <= other.len() { (word, other) } else { (other, word) };
    long.strip_prefix(short).is_some_and(|ending| ["", "s", "es"].contains(&ending))
}

/// At least a part of the name. Keywords that the name has are not repeated, nor are other forms of
/// what is shown.
fn fitting<'a>(name: &'a str, keywords: impl Iterator<Item = &'a str>, room: usize) -> String {
    let mut text = escaped(name).into_owned();
    let mut shown: Vec<&str> = name.split([',', ' ', '-']).filter(|word| !word.is_empty()).collect();
    let mut separator = AFTER_NAME;
    for keyword in keywords {
        if shown.iter().any(|word| is_form_of(word, keyword)) {
            continue;
        }
        shown.push(keyword);
        let keyword = escaped(keyword);
        if text.chars().count() + separator.chars().count() + keyword.chars().count() > room {
            break;
        }
        text.push_str(separator);
        text.push_str(&keyword);
        separator = ", ";
    }
    if text.chars().count() > room {
        text = text.chars().take(room.saturating_sub(1)).chain(['…']).collect();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_after_the_name_are_cut_between_words() {
        let keywords = || ["dough", "oven", "loaf", "a very long term"].into_iter();
        let of = |room| fitting("sour dough, loaf", keywords(), room);
        assert_eq!(of(41), "sour dough, loaf · oven, a very long term");
        assert_eq!(of(40), "sour dough, loaf · oven");
        assert_eq!(of(20), "sour dough, loaf");
        assert_eq!(of(3), "so…");
        let keywords = ["stars", "star", "sky", "skies", "planet", "planets", "boxes", "box", "card", "car"];
        assert_eq!(
            fitting("stars, sky", keywords.into_iter(), 80),
            "stars, sky · skies, planet, boxes, card, car"
        );
    }
}
