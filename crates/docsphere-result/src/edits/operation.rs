//! The operations, and their file.

use std::path::Path;

use docsphere::MemoryLimit;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::files;
use crate::names;

/// The greatest number of characters of a name.
const MAX_NAME_CHARS: usize = 200;

/// The greatest number of characters of a note.
const MAX_NOTE_CHARS: usize = 10_000;

/// The greatest number of edits of a result.
const MAX_EDITS: usize = 10_000;

/// The whole file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Edits {
    /// The edits, oldest first.
    pub edits: Vec<Edit>,
}

/// One edit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// Its number, from 1.
    pub id: u32,
    /// When it was made, as ISO 8601.
    pub time: String,
    /// What it does.
    #[serde(flatten)]
    pub operation: Operation,
}

/// What an edit does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase", deny_unknown_fields)]
pub enum Operation {
    /// Gives a cluster another name.
    Rename {
        /// The cluster.
        cluster: u32,
        /// Its new name.
        name: String,
    },
    /// Moves the documents of some clusters into one of them.
    Merge {
        /// The clusters, at least two.
        clusters: Vec<u32>,
        /// The one of them that stays.
        into: u32,
    },
    /// Divides a cluster.
    Split {
        /// The cluster.
        cluster: u32,
        /// The number of parts.
        parts: u32,
    },
    /// Leaves a cluster out of tables, lists and the map.
    Hide {
        /// The cluster.
        cluster: u32,
    },
    /// Makes outliers of the documents of a cluster.
    Outliers {
        /// The cluster.
        cluster: u32,
    },
    /// Adds a note to a cluster; an empty one removes it.
    Note {
        /// The cluster.
        cluster: u32,
        /// The note.
        text: String,
    },
}

impl Operation {
    /// What it is called: the word on a command line, and in the file.
    pub fn name(&self) -> &'static str {
        match self {
            Operation::Rename { .. } => "rename",
            Operation::Merge { .. } => "merge",
            Operation::Split { .. } => "split",
            Operation::Hide { .. } => "hide",
            Operation::Outliers { .. } => "outliers",
            Operation::Note { .. } => "note",
        }
    }

    /// The same with spaces as people mean them: one between the words of a name, none around a
    /// note.
    ///
    /// # Errors
    /// A name or a note that is too long, a name without words, or too few clusters or parts. The
    /// message is a sentence without a subject.
    pub fn checked(self) -> Result<Self, String> {
        match self {
            Operation::Rename { cluster, name } => {
                let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
                if name.is_empty() {
                    return Err("a name needs at least one character that is not a space".to_owned());
                }
                at_most(&name, MAX_NAME_CHARS, "a name")?;
                Ok(Operation::Rename { cluster, name })
            }
            Operation::Note { cluster, text } => {
                let text = text.trim().to_owned();
                at_most(&text, MAX_NOTE_CHARS, "a note")?;
                Ok(Operation::Note { cluster, text })
            }
            Operation::Merge { clusters, into } => {
                let mut all = clusters.clone();
                all.sort_unstable();
                all.dedup();
                if all.len() != clusters.len() || all.len() < 2 {
                    return Err("a merge needs two or more different clusters".to_owned());
                }
                if !all.contains(&into) {
                    return Err(format!("clusters merge into one of them, not into cluster {into}"));
                }
                Ok(Operation::Merge { clusters, into })
            }
            Operation::Split { parts: 0 | 1, .. } => Err("a split needs two or more parts".to_owned()),
            other => Ok(other),
        }
    }
}

fn at_most(text: &str, most: usize, what: &str) -> Result<(), String> {
    match text.chars().count() {
        n if n > most => Err(format!("{what} has at most {most} characters, this one has {n}")),
        _ => Ok(()),
    }
}

impl Edits {
    /// Reads those of a result; none if there is no file.
    ///
    /// # Errors
    /// If the file is damaged, or needs more memory than `limit` allows.
    pub fn read(folder: &Path, limit: &MemoryLimit) -> Result<Self> {
        let path = folder.join(names::EDITS);
        if !path.exists() {
            return Ok(Edits::default());
        }
        let edits: Edits = files::read_json(&path, "the edits", "is not a list of edits", limit)?;
        let is_ascending = edits.edits.is_sorted_by(|a, b| a.id < b.id);
        if !is_ascending || edits.edits.len() > MAX_EDITS {
            let problem = "is damaged: the edits are not numbered in ascending order, or too many";
            return Err(Error::malformed(problem).at_path(&path));
        }
        Ok(edits)
    }

    /// Writes them into a folder. The file is not synced.
    ///
    /// # Errors
    /// If the system cannot write it.
    pub fn write(&self, folder: &Path) -> Result<()> {
        files::write_json(&folder.join(names::EDITS), self)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// Adds an operation, made at this time.
    ///
    /// # Errors
    /// As [`Operation::checked`]; also if there are too many edits.
    pub fn add(&mut self, operation: Operation, time: String) -> Result<(), String> {
        if self.edits.len() == MAX_EDITS {
            return Err(format!("a result has at most {MAX_EDITS} edits"));
        }
        let id = self.edits.last().map_or(1, |edit| edit.id + 1);
        self.edits.push(Edit { id, time, operation: operation.checked()? });
        Ok(())
    }

    /// Removes the edit with this number. Returns whether it was there.
    pub fn remove(&mut self, id: u32) -> bool {
        let n_before = self.edits.len();
        self.edits.retain(|edit| edit.id != id);
        self.edits.len() < n_before
    }
}

/// In the words of the command: `merge 8 3`.
impl std::fmt::Display for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Operation::Rename { cluster, name } => write!(f, "rename {cluster} \"{name}\""),
            Operation::Merge { clusters, into } => {
                write!(f, "merge {into}")?;
                let others = clusters.iter().filter(|cluster| *cluster != into);
                others.into_iter().try_for_each(|cluster| write!(f, " {cluster}"))
            }
            Operation::Split { cluster, parts } => write!(f, "split {cluster} --into {parts}"),
            Operation::Hide { cluster } => write!(f, "hide {cluster}"),
            Operation::Outliers { cluster } => write!(f, "outliers {cluster}"),
            Operation::Note { cluster, text } => write!(f, "note {cluster} \"{text}\""),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_a_list_and_comes_back() {
        let home = tempfile::tempdir().unwrap();
        let mut edits = Edits::default();
        let operations = [
            Operation::Rename { cluster: 8, name: "  Refunds \n and returns".to_owned() },
            Operation::Merge { clusters: vec![8, 3], into: 8 },
            Operation::Split { cluster: 8, parts: 3 },
            Operation::Hide { cluster: 8 },
            Operation::Outliers { cluster: 8 },
            Operation::Note { cluster: 8, text: " x ".to_owned() },
        ];
        for operation in operations {
            edits.add(operation, "2024-03-01T12:00:00Z".to_owned()).unwrap();
        }
        edits.write(home.path()).unwrap();
        assert_eq!(Edits::read(home.path(), &MemoryLimit::default()).unwrap(), edits);
        let text = std::fs::read_to_string(home.path().join(names::EDITS)).unwrap();
        let list: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            list[0],
            serde_json::json!({
                "id": 1, "time": "2024-03-01T12:00:00Z", "op": "rename", "cluster": 8, "name": "Refunds and returns",
            })
        );
        let shown: Vec<String> = edits.edits.iter().map(|edit| edit.operation.to_string()).collect();
        assert_eq!(
            shown,
            [
                "rename 8 \"Refunds and returns\"",
                "merge 8 3",
                "split 8 --into 3",
                "hide 8",
                "outliers 8",
                "note 8 \"x\""
            ]
        );
        assert!(edits.remove(3) && !edits.remove(3));
        edits.add(Operation::Hide { cluster: 1 }, String::new()).unwrap();
        assert_eq!(edits.edits.iter().map(|edit| edit.id).collect::<Vec<_>>(), [1, 2, 4, 5, 6, 7]);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let mut edits = Edits::default();
        let rename = |name: &str| Operation::Rename { cluster: 0, name: name.to_owned() };
        for (operation, message) in [
            (rename(" \t"), "a name needs at least one character that is not a space"),
            (rename(&"x".repeat(201)), "a name has at most 200 characters, this one has 201"),
            (
                Operation::Merge { clusters: vec![1, 1], into: 1 },
                "a merge needs two or more different clusters",
            ),
            (
                Operation::Merge { clusters: vec![1, 2], into: 3 },
                "clusters merge into one of them, not into cluster 3",
            ),
            (Operation::Split { cluster: 1, parts: 1 }, "a split needs two or more parts"),
        ] {
            assert_eq!(edits.add(operation, String::new()).unwrap_err(), message);
        }
        assert!(edits.is_empty());
    }

    #[test]
    fn other_files_are_refused() {
        let home = tempfile::tempdir().unwrap();
        let read = |text: &str| {
            std::fs::write(home.path().join(names::EDITS), text).unwrap();
            Edits::read(home.path(), &MemoryLimit::default()).unwrap_err().to_string()
        };
        for text in [
            "{}",
            "[{\"op\": \"hide\"}]",
            "[{\"id\": 1, \"time\": \"\", \"op\": \"explode\", \"cluster\": 1}]",
            "[{\"id\": 1, \"time\": \"\", \"op\": \"hide\", \"cluster\": -1}]",
        ] {
            assert!(read(text).contains("edits.json: is not a list of edits: "), "{text}");
        }
        let twice = "{\"id\": 1, \"time\": \"\", \"op\": \"hide\", \"cluster\": 1}";
        assert!(read(&format!("[{twice}, {twice}]")).contains("is damaged"));
    }
}
