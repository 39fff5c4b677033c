//! Copies of documents: found before the run, and written with the lines of their originals.

use anyhow::Result;
use docsphere::{Duplicates, Ids, UnitRows};
use docsphere_result::{Copies, DuplicatesEntry};

use crate::args::{DuplicateArgs, DuplicateUse};
use crate::memory;

/// Memory per document: its line, its original, its count and its weight.
const DOCUMENT_BYTES: u64 = 20;

/// The copies among documents, beside the rows of their originals.
pub(crate) struct FoundCopies {
    /// The ids of all documents.
    ids: Ids,
    /// For each document its row.
    lines: Vec<u32>,
    /// For each row its document.
    originals: Vec<u32>,
    /// For each row the number of its copies.
    n_copies: Vec<u32>,
    /// How often each row counts.
    weights: Option<Vec<f64>>,
    pub(crate) entry: DuplicatesEntry,
}

impl FoundCopies {
    /// Finds the copies among rows, and removes their rows and ids. On the current rayon pool.
    pub(crate) fn remove(
        args: &DuplicateArgs,
        rows: &mut UnitRows<'static>,
        ids: &mut Ids,
    ) -> Result<Option<Self>> {
        if args.duplicates == DuplicateUse::Keep {
            return Ok(None);
        }
        let limit = memory::of_readers();
        let found = Duplicates::find_within(rows, args.duplicate_similarity, &limit)?;
        // The ids of the originals, once more.
        let id_bytes = (ids.text_bytes() + size_of::<u64>() * ids.len()) as u64;
        limit.check("the ids of the documents", id_bytes + DOCUMENT_BYTES * ids.len() as u64)?;
        let originals = found.kept();
        let mut line = vec![0; ids.len()];
        (0..).zip(&originals).for_each(|(number, &document)| line[document as usize] = number);
        let lines: Vec<u32> = found.representatives().iter().map(|&first| line[first as usize]).collect();
        let weights = found.weights();
        if found.n_copies() > 0 {
            *rows = found.remove_copies(rows, &limit)?;
        }
        let mut kept_ids = Ids::with_capacity(originals.len(), ids.text_bytes());
        kept_ids.extend(originals.iter().map(|&document| &ids[document as usize]));
        Ok(Some(FoundCopies {
            ids: std::mem::replace(ids, kept_ids),
            lines,
            originals,
            n_copies: weights.iter().map(|&weight| weight as u32 - 1).collect(),
            weights: (args.duplicates == DuplicateUse::Weight).then_some(weights),
            entry: DuplicatesEntry {
                kept_as: args.duplicates.name().to_owned(),
                similarity: args.duplicate_similarity,
                n_copies: found.n_copies(),
                n_equal: found.n_equal(),
            },
        }))
    }

    /// All documents and their lines.
    pub(crate) fn of_lines(&self) -> Copies<'_> {
        Copies { ids: &self.ids, lines: &self.lines, originals: &self.originals }
    }

    /// The number of copies of each row.
    pub(crate) fn n_copies(&self) -> &[u32] {
        &self.n_copies
    }

    /// How often each row counts, unless all count once.
    pub(crate) fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }
}
