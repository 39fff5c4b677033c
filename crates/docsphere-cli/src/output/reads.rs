//! The files that a command reads, and checks that its output does not touch them.

use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use docsphere_result::names;

use super::names::FolderKind;
use super::staging::parent_of;
use crate::args::InputArgs;

/// Files and folders that a command reads, each with its role.
#[derive(Debug, Default)]
pub(crate) struct Reads(Vec<(&'static str, PathBuf)>);

impl Reads {
    /// The inputs, and the vocabulary.
    pub(crate) fn of_input(input: &InputArgs) -> Self {
        let mut reads = Reads::default();
        for path in input.inputs.iter().filter(|path| path.as_os_str() != "-") {
            reads.add("the input", Some(path));
        }
        reads.add("the file of --vocabulary", input.vocabulary.as_deref());
        reads
    }

    /// Adds the files of a result, except those that the command itself writes.
    pub(crate) fn add_result(&mut self, folder: &Path, written: &[&str]) {
        for file in FolderKind::Result.files().iter().filter(|file| !written.contains(file)) {
            self.add("a file of the result", Some(&folder.join(file)));
        }
        let parts = folder.join(names::ASSIGNMENT_PARTS);
        for part in fs::read_dir(&parts).into_iter().flatten().flatten() {
            self.add("a file of the result", Some(part.path()));
        }
        // A new file in it may be read as a part.
        self.add("the folder of the result's assignments", Some(parts));
    }

    /// Adds a file, if there is one.
    pub(crate) fn add(&mut self, what: &'static str, path: Option<impl AsRef<Path>>) {
        self.0.extend(path.map(|path| (what, path.as_ref().to_owned())));
    }

    /// Refuses a result folder that would be read as input, or whose replacement would delete a
    /// file that is read.
    pub(crate) fn check_folder(&self, target: &Path) -> Result<()> {
        let Some(real_target) = real_name(target) else { return Ok(()) };
        let shown = target.display();
        for (what, path) in &self.0 {
            let Ok(real) = fs::canonicalize(path) else { continue };
            let path = path.display();
            if real.starts_with(&real_target) {
                bail!(
                    "{shown}: is the place for the result, but {path}, {what}, lies there; move that elsewhere, or choose another place for the result"
                );
            }
            if real.is_dir() && real_target.starts_with(&real) {
                bail!(
                    "{shown}: lies in {path}, {what}, and would be read as documents; choose a place outside of it"
                );
            }
        }
        Ok(())
    }

    /// Refuses a file that is read, under any name, or that would be read as input.
    pub(crate) fn check_file(&self, file: &Path) -> Result<()> {
        let found = fs::metadata(file).ok();
        if found.as_ref().is_some_and(|found| !found.is_file()) {
            return Ok(()); // a device or a pipe
        }
        let Some(real_file) = fs::canonicalize(file).ok().or_else(|| real_name(file)) else { return Ok(()) };
        let shown = file.display();
        for (what, path) in &self.0 {
            let Ok(real) = fs::canonicalize(path) else { continue };
            let other = fs::metadata(path).ok();
            let is_same = real == real_file || found.as_ref().zip(other.as_ref()).is_some_and(are_one);
            let path = path.display();
            if is_same {
                bail!("{shown}: is {what} ({path}), which would be overwritten; choose another name");
            }
            if real.is_dir() && real_file.starts_with(&real) {
                bail!(
                    "{shown}: lies in {path}, {what}, and would be read as a document; choose a place outside of it"
                );
            }
        }
        Ok(())
    }
}

/// The real path of a file that need not exist yet. A link at the end is not followed.
pub(crate) fn real_name(path: &Path) -> Option<PathBuf> {
    Some(fs::canonicalize(parent_of(path)).ok()?.join(path.file_name()?))
}

/// Whether two paths name the same file.
#[cfg(unix)]
fn are_one((a, b): (&Metadata, &Metadata)) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(not(unix))]
fn are_one(_: (&Metadata, &Metadata)) -> bool {
    false
}
