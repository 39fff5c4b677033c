//! The raw values of kept columns in a file, written while documents are read.
//!
//! The file is a text store of its own: for each document, its place in the input as the id, and
//! its values as the text (`corpus/kept.rs`). So texts can be read without columns, and columns
//! without texts.
//!
//! Threads number the names of columns as they meet them. The order of the columns is that of the
//! options, or in which they first occur in the documents: it does not depend on threads. The last
//! text of the file, in a block of its own, is a list: the names in order, and the place of each
//! number.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::block::{OpenBlock, Packer, damaged};
use super::reader::TextStore;
use super::writer::{StoredBlocks, TextStoreWriter};
use crate::corpus::{
    BETWEEN_FIELDS, Document, Keep, Kept, check_number, decode, encode, field_list, missing,
};
use crate::error::{ErrorKind, Result};
use crate::memory::MemoryLimit;

/// The numbers of the columns, by name, as threads meet them.
#[derive(Debug, Default)]
pub(super) struct Registry(Mutex<HashMap<Box<str>, u32>>);

impl Registry {
    fn number(&self, name: &str) -> Result<u32> {
        let mut numbers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&number) = numbers.get(name) {
            return Ok(number);
        }
        let number = numbers.len() as u32;
        check_number(numbers.len() + 1)?;
        numbers.insert(name.into(), number);
        Ok(number)
    }
}

/// Writes the kept columns of a corpus to a new file, in order.
///
/// [`Vectorizer::fit_stored`](crate::Vectorizer::fit_stored) fills it while it reads.
pub struct ColumnStoreWriter {
    texts: TextStoreWriter,
    pub(super) registry: Arc<Registry>,
    /// The columns that have occurred, in order.
    order: Vec<u32>,
    /// The fields of the first record, joined by [`BETWEEN_FIELDS`].
    known: String,
    /// The names that were given.
    named: Vec<String>,
}

impl ColumnStoreWriter {
    /// Creates the file.
    ///
    /// # Errors
    /// If the file already exists, or cannot be created.
    pub fn create(path: impl AsRef<Path>, keep: &Keep) -> Result<Self> {
        let (texts, registry) = (TextStoreWriter::create(path)?, Registry::default());
        for name in keep.names() {
            registry.number(name)?;
        }
        let (registry, named) = (Arc::new(registry), keep.names().to_vec());
        Ok(ColumnStoreWriter { texts, registry, order: Vec::new(), known: String::new(), named })
    }

    /// Creates the file for the columns of another store and those that further documents have. The
    /// values of the other store are added with [`append`](Self::append).
    ///
    /// # Errors
    /// If the file already exists, or cannot be created.
    pub fn continuing(path: impl AsRef<Path>, store: &ColumnStore) -> Result<Self> {
        let (texts, registry) = (TextStoreWriter::create(path)?, Registry::default());
        for &place in &store.places {
            registry.number(&store.names[place])?;
        }
        let mut order: Vec<u32> = (0..store.places.len() as u32).collect();
        order.sort_by_key(|&number| store.places[number as usize]);
        let registry = Arc::new(registry);
        Ok(ColumnStoreWriter { texts, registry, order, known: String::new(), named: Vec::new() })
    }

    /// Adds the values of the documents of a store whose numbers `keeps` accepts: of the store that
    /// this one [continues](Self::continuing), or of one which that one continues.
    ///
    /// # Errors
    /// If the other store cannot be read or is damaged, or this one cannot be written.
    pub fn append(&mut self, store: &ColumnStore, keeps: impl Fn(u64) -> bool) -> Result<()> {
        let n_documents = store.n_documents;
        self.texts.append(&store.texts, |number| number < n_documents && keeps(number))
    }

    /// Adds the values of a document.
    ///
    /// # Errors
    /// If they cannot be written, or there are too many columns.
    pub fn push(&mut self, document: Document<'_>) -> Result<()> {
        let mut chunk = ColumnChunk::new(&self.registry);
        let text = chunk.encoded(document.kept)?.to_owned();
        self.note(&chunk);
        self.texts.push(Document::new(&document.kept.place(document.id), &text))
    }

    pub(super) fn write_chunk(&mut self, chunk: ColumnChunk) -> Result<()> {
        self.note(&chunk);
        self.texts.write_chunk(chunk.blocks)
    }

    fn note(&mut self, chunk: &ColumnChunk) {
        if self.known.is_empty() {
            self.known.clone_from(&chunk.known);
        }
        for number in &chunk.order {
            if !self.order.contains(number) {
                self.order.push(*number);
            }
        }
    }

    /// Finishes the file, and opens it for reading.
    ///
    /// # Errors
    /// If it cannot be written; [`ErrorKind::MissingField`] if no record has a named column.
    pub fn finish(mut self) -> Result<ColumnStore> {
        let registry = self.registry.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut by_number = vec![String::new(); registry.len()];
        for (name, &number) in registry.iter() {
            by_number[number as usize] = name.to_string();
        }
        drop(registry);
        let is_known = |path: &str| {
            let same = |field: &str| {
                let start = path.get(..field.len()).filter(|start| start.eq_ignore_ascii_case(field));
                start.is_some_and(|_| path.len() == field.len() || path[field.len()..].starts_with('.'))
            };
            self.known.is_empty() || self.known.split(BETWEEN_FIELDS).any(same)
        };
        let is_missing = |(number, name): &(u32, &String)| !self.order.contains(number) && !is_known(name);
        if let Some((_, name)) = (0..).zip(&self.named).find(is_missing) {
            let fields: Vec<&str> = self.known.split(BETWEEN_FIELDS).collect();
            return Err(missing(name, &field_list(&fields)));
        }
        // Those that were named come first, by their numbers.
        let n_named = self.named.len() as u32;
        let others = self.order.iter().copied().filter(|&number| number >= n_named);
        let order: Vec<u32> = (0..n_named).chain(others).collect();
        let mut places = vec![0; by_number.len()];
        for (place, &number) in order.iter().enumerate() {
            places[number as usize] = place;
        }
        let names: Vec<String> =
            order.iter().map(|&number| std::mem::take(&mut by_number[number as usize])).collect();
        let list = serde_json::to_string(&(&names, &places)).expect("plain strings and numbers");
        self.texts.close_block()?;
        self.texts.push(Document::new(LIST, &list))?;
        let texts = self.texts.finish()?;
        Ok(ColumnStore { n_documents: texts.n_documents() - 1, texts, names, places })
    }
}

impl fmt::Debug for ColumnStoreWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ColumnStoreWriter").field("texts", &self.texts).finish_non_exhaustive()
    }
}

/// The columns of a chunk, compressed.
pub(super) struct ColumnChunk {
    registry: Arc<Registry>,
    /// The numbers of the columns that the chunk has, and the columns in order.
    numbers: HashMap<Box<str>, u32>,
    order: Vec<u32>,
    known: String,
    text: String,
    pub(super) packer: Option<Packer>,
    pub(super) blocks: StoredBlocks,
}

impl ColumnChunk {
    pub(super) fn new(registry: &Arc<Registry>) -> Self {
        ColumnChunk {
            registry: Arc::clone(registry),
            numbers: HashMap::new(),
            order: Vec::new(),
            known: String::new(),
            text: String::new(),
            packer: None,
            blocks: StoredBlocks::default(),
        }
    }

    /// The values of a document as one text.
    fn encoded(&mut self, kept: Kept<'_>) -> Result<&str> {
        if self.known.is_empty() {
            kept.known().clone_into(&mut self.known);
        }
        self.text.clear();
        for &(name, value) in kept.values() {
            let number = match self.numbers.get(name) {
                Some(&number) => number,
                None => {
                    let number = self.registry.number(name)?;
                    self.numbers.insert(name.into(), number);
                    self.order.push(number);
                    number
                }
            };
            encode([(number, value)].into_iter(), &mut self.text);
        }
        Ok(&self.text)
    }

    pub(super) fn push(&mut self, document: Document<'_>, mut packer: Packer) -> Result<()> {
        self.encoded(document.kept)?;
        let full = packer.push(Document::new(&document.kept.place(document.id), &self.text))?;
        self.blocks.extend(full);
        self.packer = Some(packer);
        Ok(())
    }
}

/// The id of the list of names, which follows the documents.
const LIST: &str = "columns";

/// The raw values of kept columns in a file, open for reading.
#[derive(Debug)]
pub struct ColumnStore {
    texts: TextStore,
    n_documents: u64,
    /// In order.
    names: Vec<String>,
    /// The place in order of each number.
    places: Vec<usize>,
}

impl ColumnStore {
    /// Opens a file that a [`ColumnStoreWriter`] has finished, within a memory limit, which also
    /// applies to all later reads.
    ///
    /// # Errors
    /// A file that cannot be read, is damaged or truncated, or was written by a later version.
    pub fn open_within(path: impl AsRef<Path>, memory: &MemoryLimit) -> Result<Self> {
        let texts = TextStore::open_within(path, memory)?;
        let wrong = |found: String| damaged("a list of columns at the end", found).at_path(texts.path());
        let Some(n_documents) = texts.n_documents().checked_sub(1) else {
            return Err(wrong("nothing".to_owned()));
        };
        let block = texts.block(texts.n_blocks() - 1).map_err(|error| error.at_path(texts.path()))?;
        if block.n_docs() != 1 {
            return Err(wrong("documents".to_owned()));
        }
        let list = block.document(0).map_err(|error| error.at_path(texts.path()))?;
        let (names, places): (Vec<String>, Vec<usize>) =
            serde_json::from_str(list.text).map_err(|error| wrong(error.to_string()))?;
        let mut sorted = places.clone();
        sorted.sort_unstable();
        if list.id != LIST || names.len() != places.len() || !sorted.iter().copied().eq(0..names.len()) {
            return Err(wrong("numbers that do not fit".to_owned()));
        }
        Ok(ColumnStore { texts, n_documents, names, places })
    }

    /// The names of the columns.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The number of documents.
    pub fn n_documents(&self) -> u64 {
        self.n_documents
    }

    /// The store with a memory limit for reads.
    #[must_use]
    pub fn within(mut self, memory: &MemoryLimit) -> Self {
        self.texts = self.texts.within(memory);
        self
    }

    /// The place of a column; `option` says who asks for it.
    pub(crate) fn find(&self, name: &str, option: &'static str) -> Result<usize> {
        let found = self.names.iter().position(|other| other == name);
        let found = found.or_else(|| self.names.iter().position(|other| other.eq_ignore_ascii_case(name)));
        found.ok_or_else(|| {
            let found = self.names.join(", ");
            ErrorKind::MissingField { field: name.to_owned(), option, found }.into()
        })
    }

    /// The values of all documents, in order.
    pub fn rows(&self) -> ColumnRows<'_> {
        ColumnRows { store: self, next_block: 0, block: None, next: 0, n_left: self.n_documents }
    }
}

/// The raw values of all documents, in order. Holds one block of the file.
pub struct ColumnRows<'a> {
    store: &'a ColumnStore,
    next_block: usize,
    block: Option<OpenBlock>,
    next: usize,
    n_left: u64,
}

impl ColumnRows<'_> {
    /// The values of the next document; `None` after the last.
    ///
    /// # Errors
    /// A file that cannot be read or is damaged.
    pub fn next_row(&mut self) -> Result<Option<StoredRow<'_>>> {
        let texts = &self.store.texts;
        if self.n_left == 0 {
            return Ok(None);
        }
        while self.block.as_ref().is_none_or(|block| self.next == block.n_docs()) {
            if self.next_block == texts.n_blocks() {
                return Ok(None);
            }
            let block = texts.block(self.next_block).map_err(|error| error.at_path(texts.path()))?;
            (self.block, self.next) = (Some(block), 0);
            self.next_block += 1;
        }
        let Some(block) = &self.block else { return Ok(None) };
        let document = block.document(self.next).map_err(|error| error.at_path(texts.path()))?;
        self.next += 1;
        self.n_left -= 1;
        Ok(Some(StoredRow { place: document.id, text: document.text, places: &self.store.places }))
    }
}

impl fmt::Debug for ColumnRows<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ColumnRows").field("store", self.store).finish_non_exhaustive()
    }
}

/// The raw values of a document.
#[derive(Clone, Copy, Debug)]
pub struct StoredRow<'a> {
    place: &'a str,
    text: &'a str,
    places: &'a [usize],
}

impl<'a> StoredRow<'a> {
    /// Column and value, for each column that has one.
    pub fn values(&self) -> impl Iterator<Item = (usize, &'a str)> + use<'a> {
        let (mut text, places) = (self.text, self.places);
        std::iter::from_fn(move || decode(&mut text))
            .filter_map(|(number, value)| Some((*places.get(number as usize)?, value)))
    }

    /// Where the document is in the input, for a message: `notes.csv:17`.
    pub fn place(&self) -> &'a str {
        self.place
    }
}
