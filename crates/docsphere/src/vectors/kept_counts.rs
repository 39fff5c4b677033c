//! The counts of all documents, until they are weighted: in memory, or in a file.

use super::chunk_rows::ChunkTerms;
use super::counting::ChunkCounts;
use super::document_ids::{Ids, IdsWriter};
use super::rows::{MAX_ROWS, check_size};
use super::spill::{Place, SpillFiles};
use crate::error::Result;
use crate::memory::MemoryLimit;
use crate::text::{LanguageCounts, LetterCounts};

/// A chunk in memory, or its place in the file.
pub(super) enum KeptChunk {
    Memory(ChunkTerms),
    File(Place),
}

impl KeptChunk {
    /// The chunk in memory. `files` are those that it may have been written to.
    pub(super) fn into_terms(self, files: Option<&SpillFiles>) -> Result<ChunkTerms> {
        match (self, files) {
            (KeptChunk::Memory(chunk), _) => Ok(chunk),
            (KeptChunk::File(place), Some(files)) => files.read(&place),
            (KeptChunk::File(_), None) => unreachable!("a place is in a file"),
        }
    }

    /// Writes the chunk to the file, unless it is there.
    fn write(&mut self, files: &SpillFiles) -> Result<()> {
        if let KeptChunk::Memory(chunk) = self {
            *self = KeptChunk::File(files.write(chunk)?);
        }
        Ok(())
    }
}

/// The ids of the documents so far.
enum KeptIds {
    Memory(Vec<Ids>),
    File(IdsWriter),
}

impl Default for KeptIds {
    fn default() -> Self {
        KeptIds::Memory(Vec::new())
    }
}

/// The counts of all chunks, in order, and what is known of all documents.
#[derive(Default)]
pub(super) struct KeptCounts {
    pub(super) chunks: Vec<KeptChunk>,
    ids: KeptIds,
    pub(super) n_documents: u64,
    /// Terms of all documents, each once for each document.
    pub(super) nnz: u64,
    /// Those of the longest row and of the largest chunk.
    pub(super) longest_row: usize,
    pub(super) largest_chunk: usize,
    pub(super) letters: LetterCounts,
    pub(super) languages: LanguageCounts,
}

impl KeptCounts {
    /// Adds the next chunk. Once chunks are written, earlier ones are written, too.
    pub(super) fn push(&mut self, chunk: ChunkCounts, files: Option<&SpillFiles>) -> Result<()> {
        let ChunkCounts { ids, rows, place, letters, languages, nnz, longest_row, .. } = chunk;
        self.n_documents += ids.len() as u64;
        // Now, and not once all are read, which takes hours.
        check_size("the number of rows", self.n_documents, MAX_ROWS)?;
        self.nnz += nnz as u64;
        self.longest_row = self.longest_row.max(longest_row);
        self.largest_chunk = self.largest_chunk.max(nnz);
        self.letters += letters;
        self.languages += &languages;
        self.chunks.push(place.map_or_else(|| KeptChunk::Memory(rows), KeptChunk::File));
        if let KeptIds::Memory(lists) = &mut self.ids {
            lists.push(ids);
            return match files.filter(|files| files.in_use()) {
                Some(files) => self.write_all(files),
                None => Ok(()),
            };
        }
        if let (KeptIds::File(writer), Some(files)) = (&mut self.ids, files) {
            writer.push(&ids)?;
            self.chunks.last_mut().expect("just added").write(files)?;
        }
        Ok(())
    }

    /// Writes everything that is in memory.
    fn write_all(&mut self, files: &SpillFiles) -> Result<()> {
        let KeptIds::Memory(lists) = std::mem::take(&mut self.ids) else { return Ok(()) };
        self.ids = KeptIds::File(in_files(lists, files)?);
        self.chunks.iter_mut().try_for_each(|chunk| chunk.write(files))
    }

    /// The chunks, and the ids as one list: in files, if there are any. Nobody reads them before
    /// the result is written.
    pub(super) fn into_parts(
        self,
        memory: &MemoryLimit,
        files: Option<&SpillFiles>,
    ) -> Result<(Vec<KeptChunk>, Ids)> {
        let ids = match (self.ids, files) {
            (KeptIds::Memory(lists), None) => Ids::concat(lists, memory)?,
            (KeptIds::Memory(lists), Some(files)) => in_files(lists, files)?.finish()?,
            (KeptIds::File(writer), _) => writer.finish()?,
        };
        Ok((self.chunks, ids))
    }
}

/// Writes ids to files. Each list is freed once it is written.
fn in_files(lists: Vec<Ids>, files: &SpillFiles) -> Result<IdsWriter> {
    let mut writer = files.ids()?;
    lists.into_iter().try_for_each(|list| writer.push(&list))?;
    Ok(writer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::vectors::Vectorizer;

    #[test]
    fn more_documents_than_allowed_are_refused_while_they_are_counted() {
        let mut counted = Vectorizer::new().count_texts(&["a cat", "a dog"], 1).unwrap();
        let counts = &mut counted.counts;
        assert_eq!(counts.n_documents, 2);
        counts.n_documents = MAX_ROWS - 1;
        let chunk = || {
            let mut chunk = ChunkCounts::default();
            chunk.ids = ["one".to_owned()].into_iter().collect();
            chunk
        };
        counts.push(chunk(), None).unwrap();
        let error = counts.push(chunk(), None).unwrap_err();
        let ErrorKind::TooLarge { what, limit, got } = *error.kind() else { panic!("{error}") };
        assert_eq!((what, limit, got), ("the number of rows", 1 << 30, (1 << 30) + 1));
    }
}
