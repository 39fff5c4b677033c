//! Posting lists over the centroids: term to (cluster, value).
//!
//! Iterating over a row's terms in ascending order and adding `x * c` to one accumulator per
//! cluster gives every similarity at once, in the summation order of the reference.
//!
//! The lists of different ranges of terms are filled on different threads.
//!
//! **Cost.** Memory: 8 bytes per entry of the centroids and `8 * (n_terms + 1)` for the directory;
//! while they are built, 16 bytes per cluster and thread; an accumulator is `8 * k` per thread.

use rayon::prelude::*;

use super::term_ranges::TermRanges;
use crate::centroids::Centroids;
use crate::vectors::{Row, UnitRows};

/// Rows that [`Postings::similarities_of_some`] processes at once: their sums for one centroid are
/// two cache lines, and those for 5,000 centroids stay in cache.
pub(crate) const LANES: usize = 16;

/// Up to 1/`FEW_SHARE` of the documents are few, of which the terms are sought first.
const FEW_SHARE: usize = 16;

/// The posting lists of one set of centroids.
#[derive(Default)]
pub(crate) struct Postings {
    /// The end of each term's list, after a first 0.
    ends: Vec<usize>,
    /// By term, ascending by cluster.
    postings: Vec<Posting>,
    /// Initial values of accumulators: 0, or minus infinity for an empty centroid, which attracts
    /// nothing.
    start: Vec<f64>,
}

#[derive(Clone, Copy, Default)]
struct Posting {
    cluster: u32,
    value: f32,
}

impl Postings {
    /// Transposes the centroids, reusing the memory of the previous call.
    pub(crate) fn build(&mut self, centroids: &Centroids) {
        self.build_some(centroids, |_| true);
    }

    /// The lists that some documents need: those of their terms, if they are few.
    pub(crate) fn of_docs(
        centroids: &Centroids,
        rows: &UnitRows<'_>,
        docs: impl ExactSizeIterator<Item = usize>,
    ) -> Self {
        let mut postings = Postings::default();
        if docs.len() * FEW_SHARE > rows.n_nonzero_rows() {
            postings.build(centroids);
            return postings;
        }
        let mut wanted = vec![0u64; rows.n_terms().div_ceil(64)];
        for doc in docs {
            rows.row(doc).terms.iter().for_each(|&term| wanted[term as usize / 64] |= 1 << (term % 64));
        }
        postings.build_some(centroids, |term| wanted[term as usize / 64] >> (term % 64) & 1 > 0);
        postings
    }

    /// Like [`build`](Self::build), but the other terms have no postings.
    fn build_some(&mut self, centroids: &Centroids, wanted: impl Fn(u32) -> bool + Sync) {
        let n_clusters = centroids.n_clusters();
        self.start.clear();
        self.start
            .extend((0..n_clusters).map(|j| if centroids.is_empty(j) { f64::NEG_INFINITY } else { 0.0 }));

        let rows: Vec<Row<'_>> = (0..n_clusters).map(|cluster| centroids.row(cluster)).collect();
        let n_terms = centroids.n_terms();
        let ranges = TermRanges::new(&rows, n_terms);
        let n_postings = self.place(&rows, &ranges, n_terms, &wanted);
        if self.postings.len() < n_postings {
            let all = (0..n_postings).into_par_iter().with_min_len(1 << 13);
            self.postings = all.map(|_| Posting::default()).collect();
        }
        let mut parts = Vec::new();
        let mut rest = &mut self.postings[..n_postings];
        let mut before = 0;
        for ends in self.ends[1..].chunks(ranges.width) {
            let end = ends[ends.len() - 1];
            let (part, others) = rest.split_at_mut(end - before);
            rest = others;
            parts.push((before, part));
            before = end;
        }
        let ends = &self.ends;
        parts.into_par_iter().enumerate().for_each(|(range, (start, postings))| {
            let first = range * ranges.width;
            // Where the next posting of each term goes.
            let mut places = ends[first..ends.len().min(first + ranges.width)].to_vec();
            for (cluster, row) in rows.iter().enumerate() {
                for (term, value) in ranges.part(row, cluster, range).iter().filter(|&(term, _)| wanted(term))
                {
                    let place = &mut places[term as usize - first];
                    postings[*place - start] = Posting { cluster: cluster as u32, value };
                    *place += 1;
                }
            }
        });
    }

    /// Finds the end of each list. Returns the number of postings.
    fn place(
        &mut self,
        rows: &[Row<'_>],
        ranges: &TermRanges,
        n_terms: usize,
        wanted: impl Fn(u32) -> bool + Sync,
    ) -> usize {
        self.ends.clear();
        self.ends.resize(n_terms + 1, 0);
        let parts = self.ends[1..].par_chunks_mut(ranges.width).enumerate();
        let count = |(range, ends): (usize, &mut [usize])| {
            let first = range * ranges.width;
            for (cluster, row) in rows.iter().enumerate() {
                let part = ranges.part(row, cluster, range);
                part.terms
                    .iter()
                    .filter(|&&term| wanted(term))
                    .for_each(|&term| ends[term as usize - first] += 1);
            }
            let mut sum = 0;
            for end in ends {
                sum += *end;
                *end = sum;
            }
            sum
        };
        let mut before: Vec<usize> = parts.map(count).collect();
        let mut n_postings = 0;
        for before in &mut before {
            n_postings += std::mem::replace(before, n_postings);
        }
        let parts = self.ends[1..].par_chunks_mut(ranges.width).zip(before);
        parts.for_each(|(ends, before)| ends.iter_mut().for_each(|end| *end += before));
        n_postings
    }

    /// The posting list of a term.
    #[inline]
    fn list(&self, term: u32) -> &[Posting] {
        &self.postings[self.ends[term as usize]..self.ends[term as usize + 1]]
    }

    /// The number of clusters.
    pub(crate) fn n_clusters(&self) -> usize {
        self.start.len()
    }

    /// Fills `similarities` with the similarity of the row to every centroid, minus infinity for
    /// empty ones. Returns the number of postings read.
    #[inline]
    pub(crate) fn similarities(&self, row: Row<'_>, similarities: &mut [f64]) -> u64 {
        similarities.copy_from_slice(&self.start);
        let mut n_postings = 0;
        for (term, x) in row.iter() {
            let x = f64::from(x);
            let postings = self.list(term);
            n_postings += postings.len() as u64;
            for posting in postings {
                similarities[posting.cluster as usize] += x * f64::from(posting.value);
            }
        }
        n_postings
    }

    /// Fills `sums` with the similarities of some rows, at most [`LANES`], to every centroid from
    /// `from` on, minus infinity for empty ones. Sums in the same order as
    /// [`Postings::similarities`], but reads a list once for all rows that have the term.
    pub(crate) fn similarities_of_some(&self, rows: &[Row<'_>], from: u32, sums: &mut [[f64; LANES]]) {
        assert!(rows.len() <= LANES, "at most {LANES} rows");
        sums.iter_mut().zip(&self.start).for_each(|(sums, &start)| *sums = [start; LANES]);
        let mut positions = [0; LANES];
        loop {
            let next = |(row, &position): (&Row<'_>, &usize)| row.terms.get(position).copied();
            let Some(term) = rows.iter().zip(&positions).filter_map(next).min() else { break };
            let mut x = [0.0; LANES];
            for (lane, row) in rows.iter().enumerate() {
                if row.terms.get(positions[lane]) == Some(&term) {
                    x[lane] = f64::from(row.values[positions[lane]]);
                    positions[lane] += 1;
                }
            }
            // Lists ascend by cluster; iterating backwards avoids a search for the first.
            for posting in self.list(term).iter().rev().take_while(|posting| posting.cluster >= from) {
                let value = f64::from(posting.value);
                let sums = &mut sums[posting.cluster as usize];
                sums.iter_mut().zip(&x).for_each(|(sum, x)| *sum += x * value);
            }
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        size_of_val(&self.ends[..]) + size_of_val(&self.postings[..]) + size_of_val(&self.start[..])
    }
}
