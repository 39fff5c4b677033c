//! An inverted index over the documents: which documents share a term with a new seed, and how similar are they?
//!
//! Documents stand in blocks; each block has its own posting lists, so blocks can be worked on at the same time and a block's accumulators
//! stay in cache. Going through a seed's terms in ascending order adds up each similarity in the order of the reference.
//!
//! **Cost.** Memory: 6 bytes a nonzero, and 12 for each distinct term of each block; while a block is built, 8 more for each of its nonzeros. Time of a query: the document frequencies of the seed's terms.

use rayon::prelude::*;

use super::draw::BLOCK_DOCS;
use crate::vectors::{Row, UnitRows};

/// The posting lists of one block of documents.
pub(super) struct DocBlock {
    /// The distinct terms, ascending.
    terms: Vec<u32>,
    /// Where the list of each term begins; one more at the end.
    starts: Vec<u64>,
    /// Positions within the block.
    docs: Vec<u16>,
    values: Vec<f32>,
}

/// Accumulators for the documents of one block, all zero between queries.
pub(super) struct Accumulators {
    sums: Vec<f64>,
    touched: Vec<u16>,
}

impl DocBlock {
    /// One block after the other, for all rows.
    pub(super) fn all(rows: &UnitRows<'_>) -> Vec<DocBlock> {
        let n_blocks = rows.n_rows().div_ceil(BLOCK_DOCS);
        (0..n_blocks).into_par_iter().map(|block| DocBlock::new(rows, block * BLOCK_DOCS)).collect()
    }

    fn new(rows: &UnitRows<'_>, first_doc: usize) -> Self {
        let docs = first_doc..rows.n_rows().min(first_doc + BLOCK_DOCS);
        // Sorting numbers that hold term and document sorts by both; what follows reads the values in that order.
        let mut keys: Vec<u64> = Vec::new();
        for (position, doc) in docs.enumerate() {
            keys.extend(rows.row(doc).terms.iter().map(|&term| u64::from(term) << 16 | position as u64));
        }
        keys.sort_unstable();
        let mut block = DocBlock {
            terms: Vec::new(),
            starts: Vec::new(),
            docs: Vec::with_capacity(keys.len()),
            values: Vec::with_capacity(keys.len()),
        };
        // How many nonzeros of each document have been placed: terms come in ascending order for each of them.
        let mut placed = vec![0u32; BLOCK_DOCS];
        for key in keys {
            let (term, position) = ((key >> 16) as u32, key as u16);
            if block.terms.last() != Some(&term) {
                block.terms.push(term);
                block.starts.push(block.docs.len() as u64);
            }
            let next = &mut placed[usize::from(position)];
            block.values.push(rows.row(first_doc + usize::from(position)).values[*next as usize]);
            block.docs.push(position);
            *next += 1;
        }
        block.starts.push(block.docs.len() as u64);
        block
    }

    /// Calls `found` with the position of every document that shares a term with the seed, and their similarity.
    ///
    /// With negative values a document may be reported more than once, later times with similarity 0.
    pub(super) fn query(&self, seed: Row<'_>, scratch: &mut Accumulators, mut found: impl FnMut(usize, f64)) {
        for (term, c) in seed.iter() {
            let Ok(list) = self.terms.binary_search(&term) else { continue };
            let range = self.starts[list] as usize..self.starts[list + 1] as usize;
            let c = f64::from(c);
            for (&doc, &x) in self.docs[range.clone()].iter().zip(&self.values[range]) {
                let sum = &mut scratch.sums[usize::from(doc)];
                if *sum == 0.0 {
                    scratch.touched.push(doc);
                }
                *sum += f64::from(x) * c;
            }
        }
        for &doc in &scratch.touched {
            found(usize::from(doc), std::mem::take(&mut scratch.sums[usize::from(doc)]));
        }
        scratch.touched.clear();
    }
}

impl Accumulators {
    pub(super) fn new() -> Self {
        Accumulators { sums: vec![0.0; BLOCK_DOCS], touched: Vec::new() }
    }
}
