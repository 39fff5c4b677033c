//! The ids of documents, in one text.
//!
//! A string of its own for every id would take 24 bytes and an allocation of 16 or more beside its
//! text, and would lie between the counts of the chunks, which are freed much earlier, and keep the
//! allocator from giving their memory back.
//!
//! **Memory.** 8 bytes per id and its text; nothing if they are in a mapped file.

use std::fmt;
use std::ops::{Index, Range};
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::array::Array;
use crate::error::{Error, Result};
use crate::mapping::Scratch;
use crate::memory::MemoryLimit;

/// What takes the memory, for messages.
pub(super) const IDS: &str = "the ids of the documents";

/// The ids of documents: texts in order, like a `Vec<String>`, but of one piece.
///
/// Ids of a corpus that was vectorised with [`Spill`](crate::Spill) may be in a mapped file.
///
/// ```
/// use docsphere::Ids;
///
/// let ids: Ids = ["a.txt", "b.txt"].into_iter().collect();
/// assert_eq!((ids.len(), &ids[1], ids.get(2)), (2, "b.txt", None));
/// assert_eq!(ids, ["a.txt", "b.txt"]);
/// ```
#[derive(Clone)]
pub struct Ids {
    /// UTF-8, which is checked when an id is read: a mapped file is no `str`.
    text: Array<'static, u8>,
    /// The end of each id.
    ends: Array<'static, u64>,
}

impl Ids {
    /// No ids.
    pub fn new() -> Self {
        Ids { text: Vec::new().into(), ends: Vec::new().into() }
    }

    /// No ids, with room for so many, of so many bytes in total.
    pub fn with_capacity(n_ids: usize, n_bytes: usize) -> Self {
        Ids { text: Vec::with_capacity(n_bytes).into(), ends: Vec::with_capacity(n_ids).into() }
    }

    /// Adds an id. Ids in a mapped file are first copied into memory.
    pub fn push(&mut self, id: &str) {
        self.text.to_mut().extend_from_slice(id.as_bytes());
        let end = self.text.len() as u64;
        self.ends.to_mut().push(end);
    }

    /// The number of ids.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The id of a document, if there are so many.
    #[inline]
    pub fn get(&self, document: usize) -> Option<&str> {
        let end = *self.ends.get(document)? as usize;
        let start = if document == 0 { 0 } else { self.ends[document - 1] as usize };
        Some(std::str::from_utf8(&self.text[start..end]).expect("ids were text when they were kept"))
    }

    /// All ids in order.
    pub fn iter(&self) -> Iter<'_> {
        Iter { ids: self, rest: 0..self.len() }
    }

    /// The ids as strings of their own.
    pub fn into_vec(self) -> Vec<String> {
        self.iter().map(str::to_owned).collect()
    }

    /// The bytes of all ids together.
    pub fn text_bytes(&self) -> usize {
        self.text.len()
    }

    /// Bytes in memory. Those of a mapped file come and go.
    pub fn memory_bytes(&self) -> usize {
        self.text.memory_bytes() + self.ends.memory_bytes()
    }

    /// Lets go of their pages in memory, if they are in a mapped file. They come back when they are
    /// read.
    #[cfg(feature = "text")]
    pub(super) fn let_go(&self) {
        self.text.let_go();
        self.ends.let_go();
    }

    /// Frees what is not in use.
    pub(super) fn shrink_to_fit(&mut self) {
        self.text.to_mut().shrink_to_fit();
        self.ends.to_mut().shrink_to_fit();
    }

    /// Several lists, one after the other, on all threads; each is freed as soon as it is copied.
    ///
    /// # Errors
    /// Not enough memory.
    pub(super) fn concat(lists: Vec<Ids>, memory: &MemoryLimit) -> Result<Self> {
        let n_ids: usize = lists.iter().map(Ids::len).sum();
        let n_bytes: usize = lists.iter().map(Ids::text_bytes).sum();
        memory.check(IDS, (size_of::<u64>() * n_ids + n_bytes) as u64)?;
        let (mut text, mut ends) = (vec![0u8; n_bytes], vec![0u64; n_ids]);
        let (mut text_rest, mut ends_rest, mut before) = (&mut text[..], &mut ends[..], 0);
        let mut places = Vec::with_capacity(lists.len());
        for list in lists {
            let text = text_rest.split_off_mut(..list.text.len()).expect("room for all text");
            let ends = ends_rest.split_off_mut(..list.len()).expect("room for all ends");
            let start = before;
            before += list.text.len() as u64;
            places.push((text, ends, start, list));
        }
        places.into_par_iter().with_max_len(1).for_each(|(text, ends, start, list)| {
            text.copy_from_slice(&list.text);
            ends.iter_mut().zip(&list.ends[..]).for_each(|(place, end)| *place = start + end);
        });
        Ok(Ids { text: text.into(), ends: ends.into() })
    }
}

impl Default for Ids {
    fn default() -> Self {
        Ids::new()
    }
}

impl Index<usize> for Ids {
    type Output = str;

    #[inline]
    fn index(&self, document: usize) -> &str {
        self.get(document).expect("a document of this list")
    }
}

/// The ids of a list, in order.
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    ids: &'a Ids,
    rest: Range<usize>,
}

impl<'a> Iterator for Iter<'a> {
    type Item = &'a str;

    #[inline]
    fn next(&mut self) -> Option<&'a str> {
        self.rest.next().map(|document| &self.ids[document])
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rest.size_hint()
    }

    fn nth(&mut self, n: usize) -> Option<&'a str> {
        self.rest.nth(n).map(|document| &self.ids[document])
    }
}

impl DoubleEndedIterator for Iter<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.rest.next_back().map(|document| &self.ids[document])
    }
}

impl ExactSizeIterator for Iter<'_> {}

impl<'a> IntoIterator for &'a Ids {
    type Item = &'a str;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl<S: AsRef<str>> Extend<S> for Ids {
    fn extend<I: IntoIterator<Item = S>>(&mut self, ids: I) {
        ids.into_iter().for_each(|id| self.push(id.as_ref()));
    }
}

impl<S: AsRef<str>> FromIterator<S> for Ids {
    fn from_iter<I: IntoIterator<Item = S>>(ids: I) -> Self {
        let mut all = Ids::new();
        all.extend(ids);
        all
    }
}

impl PartialEq for Ids {
    fn eq(&self, other: &Self) -> bool {
        self.ends == other.ends && self.text == other.text
    }
}

impl Eq for Ids {}

impl<S: AsRef<str>> PartialEq<[S]> for Ids {
    fn eq(&self, other: &[S]) -> bool {
        self.iter().eq(other.iter().map(S::as_ref))
    }
}

impl<S: AsRef<str>, const N: usize> PartialEq<[S; N]> for Ids {
    fn eq(&self, other: &[S; N]) -> bool {
        *self == other[..]
    }
}

impl<S: AsRef<str>> PartialEq<Vec<S>> for Ids {
    fn eq(&self, other: &Vec<S>) -> bool {
        *self == other[..]
    }
}

impl fmt::Debug for Ids {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}

/// Writes ids to scratch files, one list after the other.
#[cfg_attr(not(feature = "text"), allow(dead_code, reason = "for corpora"))]
pub(super) struct IdsWriter {
    folder: PathBuf,
    text: Scratch,
    ends: Scratch,
    n_ids: u64,
    n_bytes: u64,
}

#[cfg_attr(not(feature = "text"), allow(dead_code, reason = "for corpora"))]
impl IdsWriter {
    pub(super) fn new(folder: &Path) -> Result<Self> {
        let (text, ends) = (Scratch::new(folder)?, Scratch::new(folder)?);
        Ok(IdsWriter { folder: folder.to_owned(), text, ends, n_ids: 0, n_bytes: 0 })
    }

    pub(super) fn push(&mut self, list: &Ids) -> Result<()> {
        let ends: Vec<u64> = list.ends.iter().map(|end| self.n_bytes + end).collect();
        let written = self.text.write_at(&list.text[..], self.n_bytes);
        let written = written.and_then(|()| self.ends.write_at(&ends, 8 * self.n_ids));
        written.map_err(|error| error.at_path(&self.folder))?;
        self.n_ids += list.len() as u64;
        self.n_bytes += list.text.len() as u64;
        Ok(())
    }

    /// All ids, in mapped files.
    pub(super) fn finish(self) -> Result<Ids> {
        let finish = || {
            Ok(Ids {
                text: Array::Mapped(self.text.map()?.array(0..self.n_bytes).expect("bytes of the file")),
                ends: Array::Mapped(self.ends.map()?.array(0..8 * self.n_ids).expect("bytes of the file")),
            })
        };
        if self.n_bytes == 0 {
            // There is no map of an empty file.
            return Ok(Ids { text: Vec::new().into(), ends: vec![0; self.n_ids as usize].into() });
        }
        finish().map_err(|error: Error| error.at_path(&self.folder))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::memory::NO_LIMIT;

    #[test]
    fn ids_come_back_in_order() {
        let ids = ["a", "", "b\u{e9}", "a"];
        let mut list: Ids = ids.into_iter().collect();
        list.shrink_to_fit();
        assert_eq!((list.len(), list.iter().collect::<Vec<_>>()), (4, ids.to_vec()));
        assert_eq!((&list[2], list.get(4)), ("b\u{e9}", None));
        assert_eq!(list.iter().rev().collect::<Vec<_>>(), ["a", "b\u{e9}", "", "a"]);
        assert_eq!(list.memory_bytes(), 5 + 4 * 8);
        assert_eq!(format!("{list:?}"), format!("{ids:?}"));
        assert_eq!(list.clone().into_vec(), ids);
        assert!(list != ["a", "", "b\u{e9}"] && Ids::new().is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn lists_are_joined_in_memory_and_in_files(
            lists in prop::collection::vec(prop::collection::vec("[a-cé]{0,5}", 0..9), 0..9),
        ) {
            let all: Vec<&String> = lists.iter().flatten().collect();
            let ids: Vec<Ids> = lists.iter().map(|list| list.iter().collect()).collect();
            let home = tempfile::tempdir().unwrap();
            let mut writer = IdsWriter::new(home.path()).unwrap();
            ids.iter().for_each(|list| writer.push(list).unwrap());
            let mut written = writer.finish().unwrap();
            let joined = Ids::concat(ids, &NO_LIMIT).unwrap();
            prop_assert_eq!(&joined, &all);
            prop_assert_eq!(&written, &joined);
            written.push("more");
            prop_assert_eq!(written.len(), joined.len() + 1);
            prop_assert_eq!(written.get(joined.len()), Some("more"));
        }
    }
}
