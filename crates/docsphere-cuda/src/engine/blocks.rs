//! The documents of a block: what is known of them stays on the device, rows do if there is room.

#![allow(unsafe_code)]

use rayon::prelude::*;

use super::{Block, Counts, Engine, NO_LABEL, Rival, Seconds, between};
use crate::arguments::{
    CHOOSE_DOCUMENTS, COLLECT_DIRTY, COMPARE_ALL, COMPARE_RIVALS, COUNT_DIRTY, ChooseArguments,
    CollectArguments, Documents, Matrix, OPEN_DOCUMENTS, OWN_SIMILARITIES, OpenArguments, OwnArguments,
    RELABEL_DOCUMENTS, RelabelArguments, SCAN_NARROW, SCAN_RIVALS, SCAN_WIDE, ScanArguments,
};
use crate::device::{Buffer, Device, Pointer};
use crate::error::{Error, Result};

/// The longest row: the proof of `scan.cu` holds for it.
const MAX_ROW: usize = 1 << 22;

/// The share of the free memory that the rows of a block may take: a third. So at least twice as
/// much is left, for blocks of which the rows do not stay, and for centroids and lists.
const ROWS_SHARE: usize = 3;

/// What is known of the documents of a block.
pub(super) struct Stored {
    n_docs: usize,
    labels: Buffer<u32>,
    own: Buffer<f64>,
    other: Buffer<f64>,
    dirty: Buffer<u8>,
    depth: Buffer<u8>,
    /// The rows, if they stay.
    rows: Option<Rows>,
    /// Whether labels and bounds are those of the last step.
    is_open: bool,
}

/// Rows on the device.
#[derive(Default)]
pub(super) struct Rows {
    offsets: Buffer<u64>,
    terms: Buffer<u32>,
    values: Buffer<f32>,
}

impl Rows {
    /// Room for just so many documents and nonzeros.
    pub(super) fn exactly(device: &Device, n_docs: usize, nnz: usize) -> Result<Self> {
        Ok(Rows {
            offsets: device.exactly(n_docs + 1)?,
            terms: device.exactly(nnz.max(1))?,
            values: device.exactly(nnz.max(1))?,
        })
    }

    /// Sends the rows of a block, with offsets from 0.
    pub(super) fn send(&mut self, device: &Device, block: Block<'_>) -> Result<()> {
        let first = block.offsets[0];
        let from_zero: Vec<u64> = block.offsets.par_iter().map(|offset| offset - first).collect();
        device.upload(&mut self.offsets, &from_zero)?;
        device.upload(&mut self.terms, block.terms)?;
        device.upload(&mut self.values, block.values)
    }

    pub(super) fn matrix(&self) -> Matrix {
        let Rows { offsets, terms, values } = self;
        Matrix { offsets: offsets.pointer(), terms: terms.pointer(), values: values.pointer() }
    }
}

impl Stored {
    fn new(device: &Device, n_docs: usize, nnz: usize) -> Result<Self> {
        let mut stored = Stored {
            n_docs,
            labels: device.exactly(n_docs)?,
            own: device.exactly(n_docs)?,
            other: device.exactly(n_docs)?,
            dirty: device.exactly(n_docs)?,
            depth: device.exactly(n_docs)?,
            rows: None,
            is_open: false,
        };
        let bytes = 8 * (n_docs + 1 + nnz);
        if bytes <= device.free_bytes()? / ROWS_SHARE {
            stored.rows = Some(Rows::exactly(device, n_docs, nnz)?);
        }
        Ok(stored)
    }

    /// The rows, if they stay and are here.
    pub(super) fn resident(&self) -> Option<Matrix> {
        self.rows.as_ref().map(Rows::matrix)
    }

    fn documents(&self) -> Documents {
        Documents {
            labels: self.labels.pointer(),
            own: self.own.pointer(),
            other: self.other.pointer(),
            dirty: self.dirty.pointer(),
            depth: self.depth.pointer(),
        }
    }
}

/// The blocks of a launch over so many items, a thread each.
pub(super) fn n_blocks(device: &Device, n: usize) -> u32 {
    device.n_blocks(16).min(n.div_ceil(device.shape().threads as usize) as u32)
}

impl Engine {
    /// Makes sure that the rows of a block are on the device. Returns them.
    fn rows(&mut self, block: Block<'_>) -> Result<Matrix> {
        let (device, number, n_docs) = (&*self.device, block.number, block.offsets.len() - 1);
        if self.blocks.len() <= number {
            self.blocks.resize_with(number + 1, || None);
        }
        let slot = &mut self.blocks[number];
        let mut is_new = false;
        if slot.as_ref().is_none_or(|stored| stored.n_docs != n_docs) {
            *slot = None;
            *slot = Some(Stored::new(device, n_docs, block.terms.len())?);
            is_new = true;
        }
        let stored = slot.as_mut().expect("just made");
        let is_here = stored.rows.is_some() && !is_new;
        let rows = stored.rows.as_mut().unwrap_or(&mut self.scratch.rows);
        if !is_here {
            rows.send(device, block)?;
        }
        Ok(rows.matrix())
    }

    /// Assigns the documents of a block. `given` are those that have got another label since the
    /// last step, whose clusters count as changed; similarities are those to the centroids of the
    /// labels in the last step, if its centroids were told of.
    ///
    /// # Errors
    /// As [`Engine::begin`]. Then labels and similarities are as before.
    pub fn assign(
        &mut self,
        block: Block<'_>,
        given: &[u32],
        labels: &mut [u32],
        similarities: &mut [f64],
    ) -> Result<Counts> {
        if block.longest > MAX_ROW {
            return Err(Error::TooMany { what: "terms of a row", got: block.longest, most: MAX_ROW });
        }
        let n_docs = labels.len();
        if n_docs == 0 {
            return Ok(Counts::default());
        }
        let start = self.device.mark()?;
        let rows = self.rows(block)?;
        let continues = self.open(block.number, rows, given, labels)?;
        let uploaded = self.device.mark()?;
        self.compare_own(block.number, rows, continues)?;
        let compared = self.device.mark()?;
        self.choose(block.number, rows)?;
        let chosen = self.device.mark()?;
        self.scan(block.number, rows)?;
        let scanned = self.device.mark()?;

        let starts = self.collect(block.number)?;
        let (mut counted, mut listed) = ([0; 3], [0; 4]);
        self.device.download(&self.scratch.counters, &mut counted)?;
        self.device.download(&self.scratch.counts, &mut listed)?;
        let end = self.device.mark()?;
        self.device.wait()?;
        // Nothing can fail from here on but the last wait, before anything is written.
        self.tell(&starts, labels, similarities)?;
        self.stored_mut(block.number).is_open = true;
        let marks = [start, uploaded, compared, chosen, scanned, end];
        let seconds = between(&marks);
        Ok(Counts {
            similarities: counted[0],
            postings: counted[1],
            skipped: n_docs as u64 - u64::from(listed[0]) - u64::from(listed[1]),
            seconds: Seconds {
                upload: seconds(0),
                own: seconds(1),
                choose: seconds(2),
                scan: seconds(3),
                write: seconds(4),
            },
        })
    }

    /// What is known of a block whose rows are here.
    fn stored(&self, block: usize) -> &Stored {
        self.blocks[block].as_ref().expect("its rows are here")
    }

    fn stored_mut(&mut self, block: usize) -> &mut Stored {
        self.blocks[block].as_mut().expect("its rows are here")
    }

    /// Prepares the documents and all lists: with the labels that the host has, or, if those of the
    /// last step are here, with the changes of them. Returns whether they are.
    fn open(&mut self, block: usize, rows: Matrix, given: &[u32], labels: &[u32]) -> Result<bool> {
        let Engine { device, blocks, scratch, .. } = self;
        let stored = blocks[block].as_mut().expect("its rows are here");
        let (n_docs, threads, documents) = (stored.n_docs, device.shape().threads, stored.documents());
        device.reserve(&mut scratch.counters, 3)?;
        device.clear(&mut scratch.counters, 0..3)?;
        device.reserve(&mut scratch.counts, 4)?;
        device.clear(&mut scratch.counts, 0..4)?;
        device.reserve(&mut scratch.narrow, n_docs)?;
        device.reserve(&mut scratch.wide, n_docs)?;
        device.reserve(&mut scratch.narrow_overflow, n_docs)?;
        device.reserve(&mut scratch.wide_overflow, n_docs)?;
        // They are not, until all is done.
        let continues = self.continues && std::mem::take(&mut stored.is_open);
        if !continues {
            device.upload(&mut stored.labels, labels)?;
            let arguments = OpenArguments { rows, documents, n_documents: n_docs as u32 };
            // SAFETY: all arrays have an entry per document, and offsets one more.
            unsafe { device.launch(&OPEN_DOCUMENTS, n_blocks(device, n_docs), threads, arguments)? };
        } else if !given.is_empty() {
            let given_labels: Vec<u32> = given.iter().map(|&doc| labels[doc as usize]).collect();
            device.upload(&mut scratch.given, given)?;
            device.upload(&mut scratch.given_labels, &given_labels)?;
            let (list, labels) = (scratch.given.pointer(), scratch.given_labels.pointer());
            let arguments = RelabelArguments { documents, list, labels, n_list: given.len() as u32 };
            // SAFETY: the documents of the list are documents of the block, each once.
            unsafe { device.launch(&RELABEL_DOCUMENTS, n_blocks(device, given.len()), threads, arguments)? };
        }
        Ok(continues)
    }

    /// Finds the similarities to own centroids: those that changed, if the others are here.
    fn compare_own(&self, block: usize, rows: Matrix, continues: bool) -> Result<()> {
        let (device, stored) = (&*self.device, self.stored(block));
        let own = OwnArguments {
            rows,
            centroids: self.centroids.matrix(),
            documents: stored.documents(),
            changed: if continues { self.columns.changed().pointer() } else { Pointer::NULL },
            counters: self.scratch.counters.pointer(),
            n_documents: stored.n_docs as u32,
        };
        // SAFETY: labels are clusters of the step, or none.
        unsafe { device.launch(&OWN_SIMILARITIES, device.n_blocks(8), device.shape().threads, own) }
    }

    /// Lists the documents that are compared with other centroids.
    fn choose(&self, block: usize, rows: Matrix) -> Result<()> {
        let (device, stored, scratch) = (&*self.device, self.stored(block), &self.scratch);
        let chosen = ChooseArguments {
            rows,
            documents: stored.documents(),
            ranking: self.columns.ranking(),
            narrow: scratch.narrow.pointer(),
            wide: scratch.wide.pointer(),
            counts: scratch.counts.pointer(),
            counters: scratch.counters.pointer(),
            n_documents: stored.n_docs as u32,
            n_changed_classes: self.columns.n_changed_classes() as u32,
        };
        let n_blocks = n_blocks(device, stored.n_docs);
        // SAFETY: both lists have room for all documents.
        unsafe { device.launch(&CHOOSE_DOCUMENTS, n_blocks, device.shape().threads, chosen) }
    }

    /// Compares the documents of both lists with other centroids, and gives them labels.
    fn scan(&self, block: usize, rows: Matrix) -> Result<()> {
        let (device, scratch, shape) = (&*self.device, &self.scratch, self.device.shape());
        let counts = scratch.counts.pointer();
        let scan = |list: &Buffer<u32>, overflow: &Buffer<u32>, number: usize| ScanArguments {
            rows,
            centroids: self.centroids.matrix(),
            documents: self.stored(block).documents(),
            ranking: self.columns.ranking(),
            postings: self.columns.postings(),
            list: list.pointer(),
            n_list: counts.plus(number),
            overflow: overflow.pointer(),
            n_overflow: counts.plus(2 + number),
            counters: scratch.counters.pointer(),
            at_least: Pointer::NULL,
            rivals: Pointer::NULL,
            similarities: Pointer::NULL,
        };
        let narrow = scan(&scratch.narrow, &scratch.narrow_overflow, 0);
        let wide = scan(&scratch.wide, &scratch.wide_overflow, 1);
        // SAFETY: the lists are documents of the block; the posting lists are those of the step;
        // overflow has room for all documents. A document is in one list only.
        unsafe {
            device.launch(&SCAN_NARROW, device.n_blocks(32), shape.narrow_threads, narrow)?;
            device.launch(&SCAN_WIDE, device.n_blocks(8), shape.threads, wide)?;
            device.launch(&COMPARE_ALL, device.n_blocks(8), shape.threads, narrow)?;
            device.launch(&COMPARE_ALL, device.n_blocks(8), shape.threads, wide)
        }
    }

    /// Brings back the labels and similarities that the host does not know: how many come before
    /// each chunk of documents, and of all.
    fn collect(&mut self, block: usize) -> Result<Vec<u32>> {
        let (device, scratch) = (&*self.device, &mut self.scratch);
        let stored = self.blocks[block].as_ref().expect("its rows are here");
        let (n_docs, shape) = (stored.n_docs, device.shape());
        let n_chunks = n_docs.div_ceil(shape.chunk as usize);
        device.reserve(&mut scratch.chunks, n_chunks + 1)?;
        device.clear(&mut scratch.chunks, n_chunks..n_chunks + 1)?;
        device.reserve(&mut scratch.list, n_docs)?;
        device.reserve(&mut scratch.labels, n_docs)?;
        device.reserve(&mut scratch.similarities, n_docs)?;
        let arguments = CollectArguments {
            documents: stored.documents(),
            counts: scratch.chunks.pointer(),
            list: scratch.list.pointer(),
            labels: scratch.labels.pointer(),
            similarities: scratch.similarities.pointer(),
            n_documents: n_docs as u32,
        };
        // SAFETY: there is a count per chunk, and one more; the lists have room for all documents.
        unsafe {
            device.launch(&COUNT_DIRTY, n_chunks as u32, shape.threads, arguments)?;
            self.sums.replace(device, scratch.chunks.pointer(), n_chunks + 1)?;
            device.launch(&COLLECT_DIRTY, n_chunks as u32, shape.threads, arguments)?;
        }
        let mut starts = vec![0u32; n_chunks + 1];
        device.download(&scratch.chunks, &mut starts)?;
        let n_dirty = starts[n_chunks] as usize;
        device.download_host(&scratch.list, &mut scratch.host_list, n_dirty)?;
        device.download_host(&scratch.labels, &mut scratch.host_labels, n_dirty)?;
        device.download_host(&scratch.similarities, &mut scratch.host_similarities, n_dirty)?;
        Ok(starts)
    }

    /// Writes what has come back.
    fn tell(&mut self, starts: &[u32], labels: &mut [u32], similarities: &mut [f64]) -> Result<()> {
        let (device, scratch) = (&*self.device, &mut self.scratch);
        let shape = device.shape();
        let docs = &*device.host_values(&mut scratch.host_list)?;
        let found_labels = &*device.host_values(&mut scratch.host_labels)?;
        let found = &*device.host_values(&mut scratch.host_similarities)?;
        let chunks = labels
            .par_chunks_mut(shape.chunk as usize)
            .zip(similarities.par_chunks_mut(shape.chunk as usize));
        chunks.zip(starts.par_windows(2)).enumerate().with_min_len(16).for_each(
            |(chunk, ((labels, similarities), ends))| {
                let first = chunk * shape.chunk as usize;
                for at in ends[0] as usize..ends[1] as usize {
                    let doc = docs[at] as usize - first;
                    (labels[doc], similarities[doc]) = (found_labels[at], found[at]);
                }
            },
        );
        Ok(())
    }

    /// The rivals of some documents of a block that has been assigned in this step: for each the
    /// most similar centroid beside its own, on ties the one with the smallest number; `None` if no
    /// similarity is above 0 and at least as wanted.
    ///
    /// # Errors
    /// As [`Engine::begin`].
    pub fn rivals(
        &mut self,
        block: Block<'_>,
        docs: &[u32],
        at_least: &[f64],
    ) -> Result<(Vec<Option<Rival>>, Counts)> {
        if docs.is_empty() {
            return Ok((Vec::new(), Counts::default()));
        }
        let rows = self.rows(block)?;
        let (device, scratch) = (&*self.device, &mut self.scratch);
        let stored = self.blocks[block.number].as_ref().expect("its rows are here");
        device.upload(&mut scratch.given, docs)?;
        device.upload(&mut scratch.at_least, at_least)?;
        device.upload(&mut scratch.counts, &[docs.len() as u32, 0, 0, 0])?;
        device.reserve(&mut scratch.counters, 3)?;
        device.clear(&mut scratch.counters, 0..3)?;
        device.reserve(&mut scratch.wide_overflow, docs.len())?;
        device.reserve(&mut scratch.labels, docs.len())?;
        device.reserve(&mut scratch.similarities, docs.len())?;
        let counts = scratch.counts.pointer();
        let arguments = ScanArguments {
            rows,
            centroids: self.centroids.matrix(),
            documents: stored.documents(),
            ranking: self.columns.ranking(),
            postings: self.columns.postings(),
            list: scratch.given.pointer(),
            n_list: counts,
            overflow: scratch.wide_overflow.pointer(),
            n_overflow: counts.plus(1),
            counters: scratch.counters.pointer(),
            at_least: scratch.at_least.pointer(),
            rivals: scratch.labels.pointer(),
            similarities: scratch.similarities.pointer(),
        };
        let threads = device.shape().threads;
        // SAFETY: the documents are documents of the block; all lists have an entry for each.
        unsafe {
            device.launch(&SCAN_RIVALS, device.n_blocks(8), threads, arguments)?;
            device.launch(&COMPARE_RIVALS, device.n_blocks(8), threads, arguments)?;
        }
        let (mut clusters, mut similarities) = (vec![0u32; docs.len()], vec![0f64; docs.len()]);
        let mut counted = [0; 3];
        device.download(&scratch.labels, &mut clusters)?;
        device.download(&scratch.similarities, &mut similarities)?;
        device.download(&scratch.counters, &mut counted)?;
        let found = clusters
            .into_iter()
            .zip(similarities)
            .map(|(cluster, similarity)| (cluster != NO_LABEL).then_some(Rival { cluster, similarity }));
        let counts = Counts { similarities: counted[0], postings: counted[1], ..Counts::default() };
        Ok((found.collect(), counts))
    }
}
