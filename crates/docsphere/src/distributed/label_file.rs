//! The labels of all documents in a temporary file of the coordinator, so that a worker can be
//! replaced: 4 bytes per document on disk, nothing per document in memory.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use crate::error::{Error, Result};
use crate::labels::Assignment;

/// Documents that are rewritten at a time.
const BLOCK_DOCS: usize = 1 << 16;

/// See the [module](self).
pub(super) struct LabelFile {
    file: File,
    n_docs: usize,
}

impl LabelFile {
    /// No document has a label.
    pub(super) fn new(n_docs: usize) -> Result<Self> {
        let mut labels = LabelFile { file: tempfile::tempfile().map_err(failed)?, n_docs };
        labels.clear()?;
        Ok(labels)
    }

    /// Takes all labels away.
    pub(super) fn clear(&mut self) -> Result<()> {
        let block = vec![0xff; 4 * BLOCK_DOCS];
        self.file.rewind().map_err(failed)?;
        for first in (0..self.n_docs).step_by(BLOCK_DOCS) {
            let n_docs = BLOCK_DOCS.min(self.n_docs - first);
            self.file.write_all(&block[..4 * n_docs]).map_err(failed)?;
        }
        debug_assert_eq!(u32::from_le_bytes([0xff; 4]), Assignment::NO_LABEL);
        Ok(())
    }

    /// Sets the labels of documents, whose numbers ascend from `first_doc`.
    pub(super) fn set(&mut self, first_doc: usize, labels: &[(u32, u32)]) -> Result<()> {
        let place = |label: &(u32, u32)| first_doc + label.0 as usize;
        if labels.last().is_some_and(|last| place(last) >= self.n_docs) {
            return Err(super::packed::damaged());
        }
        for same in labels.chunk_by(|a, b| place(a) / BLOCK_DOCS == place(b) / BLOCK_DOCS) {
            let (from, to) = (place(&same[0]), place(&same[same.len() - 1]) + 1);
            let mut bytes = vec![0; 4 * (to - from)];
            self.seek(from)?;
            self.file.read_exact(&mut bytes).map_err(failed)?;
            for label in same {
                let at = 4 * (place(label) - from);
                bytes[at..at + 4].copy_from_slice(&label.1.to_le_bytes());
            }
            self.seek(from)?;
            self.file.write_all(&bytes).map_err(failed)?;
        }
        Ok(())
    }

    fn seek(&mut self, doc: usize) -> Result<()> {
        self.file.seek(SeekFrom::Start(4 * doc as u64)).map(drop).map_err(failed)
    }

    /// All labels.
    pub(super) fn all(&self) -> Result<Vec<u32>> {
        let mut file = &self.file;
        file.rewind().map_err(failed)?;
        let mut labels = Vec::with_capacity(self.n_docs);
        let mut block = vec![0; 4 * BLOCK_DOCS];
        while labels.len() < self.n_docs {
            let n_docs = BLOCK_DOCS.min(self.n_docs - labels.len());
            file.read_exact(&mut block[..4 * n_docs]).map_err(failed)?;
            let label = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("4 bytes"));
            labels.extend(block[..4 * n_docs].chunks_exact(4).map(label));
        }
        Ok(labels)
    }

    /// Makes this a copy of another file over the same documents.
    pub(super) fn copy_from(&mut self, other: &LabelFile) -> Result<()> {
        self.file.rewind().map_err(failed)?;
        let mut source = &other.file;
        source.rewind().map_err(failed)?;
        io::copy(&mut source, &mut self.file).map(drop).map_err(failed)
    }
}

fn failed(error: io::Error) -> Error {
    Error::io("keep the labels in a temporary file (TMPDIR says where)", error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn labels_are_those_set_last(
            changes in prop::collection::vec(prop::collection::btree_map(0u32..40, 0u32..9, 0..12), 1..6),
            first_doc in prop::sample::select(vec![0usize, 7, BLOCK_DOCS - 20, 2 * BLOCK_DOCS - 30]),
        ) {
            let n_docs = 2 * BLOCK_DOCS + 11;
            let mut expected = vec![Assignment::NO_LABEL; n_docs];
            let mut file = LabelFile::new(n_docs).unwrap();
            for change in &changes {
                let list: Vec<(u32, u32)> = change.iter().map(|(&doc, &label)| (doc, label)).collect();
                list.iter().for_each(|&(doc, label)| expected[first_doc + doc as usize] = label);
                file.set(first_doc, &list).unwrap();
            }
            prop_assert_eq!(&file.all().unwrap(), &expected);
            let mut copy = LabelFile::new(n_docs).unwrap();
            copy.copy_from(&file).unwrap();
            file.clear().unwrap();
            prop_assert_eq!(&copy.all().unwrap(), &expected);
            prop_assert!(file.all().unwrap().iter().all(|&label| label == Assignment::NO_LABEL));
        }
    }

    #[test]
    fn a_document_that_is_not_there_is_refused() {
        assert!(LabelFile::new(10).unwrap().set(4, &[(6, 0)]).is_err());
    }
}
