//! Edits of a result whose documents change: they are made again on the new files.

use std::fs;

use anyhow::{Context, Result, bail};
use docsphere::NewClusters;
#[cfg(feature = "serve")]
use docsphere_result::edits::put;
use docsphere_result::edits::{Operation, derive};
use docsphere_result::names;
#[cfg(feature = "serve")]
use docsphere_result::read_assignments;

use super::before::Before;
use crate::args::PageArgs;
use crate::input::Loaded;
use crate::memory;
use crate::output::folder::ResultFolder;
use crate::output::result::Outcome;
#[cfg(feature = "serve")]
use crate::output::result::write_index;

impl Before {
    /// Refuses new clusters where edits have given their numbers to the parts of others.
    pub(super) fn check_new_clusters(&self, number: NewClusters) -> Result<()> {
        let is_split = |operation: &Operation| matches!(operation, Operation::Split { .. });
        if number != NewClusters::None && self.edits.edits.iter().any(|edit| is_split(&edit.operation)) {
            bail!(
                "{}: clusters of it were split by docsphere edit, and their parts have the next numbers, so no others can be opened; remove these edits first",
                self.folder.display()
            );
        }
        Ok(())
    }

    /// Makes the edits again: the files of the run become the base of those that are shown.
    pub(super) fn edit_again(
        &self,
        folder: &ResultFolder,
        outcome: &Outcome,
        loaded: &Loaded,
        page: &PageArgs,
    ) -> Result<()> {
        if self.edits.is_empty() {
            return Ok(());
        }
        let (out, base) = (folder.path(), folder.file(names::BASE));
        let failed = || format!("{}: cannot write", base.display());
        fs::create_dir(&base).with_context(failed)?;
        for name in names::EDITED.iter().filter(|name| folder.file(name).exists()) {
            fs::rename(folder.file(name), base.join(name)).with_context(failed)?;
        }
        let limit = memory::of_readers();
        let moves = derive(out, &self.edits, page.limits(), &limit).with_context(|| {
            format!(
                "{}: its edits do not fit the clusters any more; docsphere edit can remove one",
                self.folder.display()
            )
        })?;
        #[cfg(feature = "serve")]
        if base.join(names::DOCUMENTS).exists() {
            if moves.is_empty() {
                put(&base, out, names::DOCUMENTS)?;
            } else {
                let lines = read_assignments(out, &limit)?;
                let of_document = |number: usize| (lines[number].cluster, lines[number].similarity);
                let path = folder.file(names::DOCUMENTS);
                write_index(&path, loaded, outcome.columns.as_ref(), true, of_document);
            }
        }
        let _ = (moves, loaded, outcome);
        Ok(())
    }
}
