//! A folder as a corpus: every file in it is a document.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::chunks::{LONG_BYTES, LONG_RECORD, MAX_RECORD_BYTES};
use super::parse::{ChunkTally, Document, lossy_bytes, without_bom};
use crate::compression::{open_counted, read_whole};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::MemoryLimit;

/// A file of a folder.
#[derive(Clone, Debug)]
pub(super) struct FolderFile {
    pub(super) path: PathBuf,
    /// The path within the folder, with slashes.
    pub(super) id: String,
    pub(super) n_bytes: u64,
}

/// All files below `root` that match, in the order of their ids. Hidden files and folders are left out; links to
/// files are followed, links to folders are not (they may lead in circles).
pub(super) fn list(root: &Path, glob: Option<&Glob>) -> Result<Vec<FolderFile>> {
    let mut files = Vec::new();
    let mut open = vec![(root.to_owned(), String::new())];
    while let Some((folder, prefix)) = open.pop() {
        let located = |source| Error::io("read", source).at_path(&folder);
        for entry in fs::read_dir(&folder).map_err(located)? {
            let entry = entry.map_err(located)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with('.') {
                continue;
            }
            let id = format!("{prefix}{name}");
            let kind = entry.file_type().map_err(located)?;
            if kind.is_dir() {
                open.push((entry.path(), format!("{id}/")));
                continue;
            }
            let Ok(found) = fs::metadata(entry.path()) else { continue }; // a link to nowhere
            if found.is_file() && glob.is_none_or(|glob| glob.matches(&id)) {
                files.push(FolderFile { path: entry.path(), id, n_bytes: found.len() });
            }
        }
    }
    files.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(files)
}

/// Reads some files and hands each on as a document.
pub(super) fn parse(
    files: &[FolderFile],
    id_prefix: &str,
    n_bytes: &Arc<AtomicU64>,
    memory: &MemoryLimit,
    emit: &mut dyn FnMut(Document<'_>) -> Result<()>,
) -> Result<ChunkTally> {
    let mut tally = ChunkTally::default();
    for file in files {
        let mut read = || {
            let reader = open_counted(&file.path, Arc::clone(n_bytes))?;
            let limit = MAX_RECORD_BYTES as u64;
            let content = read_whole(reader, limit + 1, LONG_RECORD, memory)?;
            if content.len() as u64 > limit {
                let what = "a document's size in bytes";
                return Err(ErrorKind::TooLarge { what, limit, got: limit + 1 }.into());
            }
            let bytes = without_bom(&content)?;
            if bytes.len() > LONG_BYTES {
                memory.check(LONG_RECORD, lossy_bytes(bytes))?;
            }
            let text = tally.text(bytes);
            tally.n_documents += 1;
            emit(Document { id: &format!("{id_prefix}{}", file.id), text: &text })
        };
        read().map_err(|error| error.at_path(&file.path))?;
    }
    Ok(tally)
}

/// A pattern for the files of a folder.
#[derive(Clone, Debug)]
pub(super) struct Glob {
    pattern: Vec<char>,
    whole_path: bool,
}

impl Glob {
    pub(super) fn new(pattern: &str) -> Self {
        Glob { pattern: pattern.chars().collect(), whole_path: pattern.contains('/') }
    }

    /// Whether a path within the folder matches.
    pub(super) fn matches(&self, path: &str) -> bool {
        let subject = if self.whole_path { path } else { path.rsplit('/').next().unwrap_or(path) };
        glob_matches(&self.pattern, &subject.chars().collect::<Vec<_>>())
    }
}

/// Row by row over the pattern: `reached[i]` is whether the pattern so far matches the first `i` characters.
fn glob_matches(pattern: &[char], subject: &[char]) -> bool {
    let mut reached = vec![false; subject.len() + 1];
    reached[0] = true;
    let mut rest = pattern;
    while let [first, after @ ..] = rest {
        let any_folder = *first == '*' && after.first() == Some(&'*');
        rest = if any_folder { &after[1..] } else { after };
        if any_folder && rest.first() == Some(&'/') {
            // `**/` also stands for no folder at all.
            let before = reached.clone();
            spread(&mut reached, |_| true, subject);
            rest = &rest[1..];
            for at in (1..reached.len()).rev() {
                reached[at] = before[at] || (reached[at - 1] && subject[at - 1] == '/');
            }
            reached[0] = before[0];
        } else if *first == '*' {
            spread(&mut reached, |c| any_folder || c != '/', subject);
        } else {
            for at in (1..reached.len()).rev() {
                let fits = if *first == '?' { subject[at - 1] != '/' } else { subject[at - 1] == *first };
                reached[at] = reached[at - 1] && fits;
            }
            reached[0] = false;
        }
    }
    reached[subject.len()]
}

/// What is reached after any number of further characters that `may` be passed.
fn spread(reached: &mut [bool], may: impl Fn(char) -> bool, subject: &[char]) {
    for at in 1..reached.len() {
        reached[at] |= reached[at - 1] && may(subject[at - 1]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_names_or_paths() {
        for (pattern, path, expected) in [
            ("*.txt", "a.txt", true),
            ("*.txt", "deep/er/a.txt", true),
            ("*.txt", "a.txt.gz", false),
            ("a?c*", "x/abc", true),
            ("a?c*", "x/ac", false),
            ("news/*.txt", "news/a.txt", true),
            ("news/*.txt", "news/old/a.txt", false),
            ("news/**", "news/old/a.txt", true),
            ("**/old/*", "old/a", true),
            ("**/old/*", "x/y/old/a", true),
            ("**/old/*", "x/gold/a", false),
            ("*", "ä", true),
            ("", "a", false),
        ] {
            assert_eq!(Glob::new(pattern).matches(path), expected, "{pattern} on {path}");
        }
    }
}
