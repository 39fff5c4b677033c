//! The posting lists of one block.

use std::ops::Range;

use crate::seeding::seed_weights::BLOCK_DOCS;
use crate::simd;
use crate::vectors::UnitRows;

/// How many cache lines of values to prefetch per list.
const LINES_AHEAD: usize = 8;

/// The posting lists of one block.
pub(super) struct Lists {
    /// The distinct terms, ascending.
    pub(super) terms: Vec<u32>,
    /// Start of the list of each term, and one more entry for the end.
    pub(super) starts: Vec<u64>,
    /// Terms that agree in all but their lowest `group_shift` bits form a group: the start of each
    /// group among the terms, and one more entry for the end.
    groups: Vec<u32>,
    group_shift: u32,
    /// Positions within the block.
    pub(super) docs: Vec<u16>,
    pub(super) values: Vec<f32>,
}

impl Lists {
    /// `next` is scratch: one number per term, all zero before and after.
    pub(super) fn new(rows: &UnitRows<'_>, first_doc: usize, next: &mut [usize]) -> Self {
        let docs = docs_of(rows, first_doc);
        let mut terms = Vec::new();
        for doc in docs.clone() {
            for &term in rows.row(doc).terms {
                let count = &mut next[term as usize];
                if *count == 0 {
                    terms.push(term);
                }
                *count += 1;
            }
        }
        terms.sort_unstable();
        let mut starts = Vec::with_capacity(terms.len() + 1);
        let mut nnz = 0;
        for &term in &terms {
            starts.push(nnz as u64);
            nnz += std::mem::replace(&mut next[term as usize], nnz);
        }
        starts.push(nnz as u64);
        let mut lists = Lists {
            starts,
            groups: Vec::new(),
            group_shift: 0,
            docs: vec![0; nnz],
            values: vec![0.0; nnz],
            terms,
        };
        for (position, doc) in docs.enumerate() {
            for (term, value) in rows.row(doc).iter() {
                let place = &mut next[term as usize];
                lists.docs[*place] = position as u16;
                lists.values[*place] = value;
                *place += 1;
            }
        }
        for &term in &lists.terms {
            next[term as usize] = 0;
        }
        lists.make_groups(rows.n_terms());
        lists
    }

    /// Groups of two terms on average.
    fn make_groups(&mut self, n_terms: usize) {
        while (n_terms >> self.group_shift) > self.terms.len() / 2 + 1 {
            self.group_shift += 1;
        }
        self.groups = vec![0; (n_terms >> self.group_shift) + 2];
        for &term in &self.terms {
            self.groups[(term >> self.group_shift) as usize + 1] += 1;
        }
        for group in 1..self.groups.len() {
            self.groups[group] += self.groups[group - 1];
        }
    }

    /// Prefetches the start of a list.
    pub(super) fn prefetch(&self, range: &Range<usize>) {
        const CACHE_LINE: usize = 64;
        for place in range.clone().step_by(CACHE_LINE / size_of::<f32>()).take(LINES_AHEAD) {
            simd::prefetch(&self.values, place);
        }
        for place in range.clone().step_by(CACHE_LINE / size_of::<u16>()).take(LINES_AHEAD / 2) {
            simd::prefetch(&self.docs, place);
        }
    }

    /// The range of a term's list.
    pub(super) fn range(&self, term: u32) -> Option<Range<usize>> {
        let group = (term >> self.group_shift) as usize;
        let (first, end) = (self.groups[group] as usize, self.groups[group + 1] as usize);
        let list = first + self.terms[first..end].iter().position(|&other| other == term)?;
        Some(self.starts[list] as usize..self.starts[list + 1] as usize)
    }
}

/// The documents of a block.
pub(super) fn docs_of(rows: &UnitRows<'_>, first_doc: usize) -> Range<usize> {
    first_doc..rows.n_rows().min(first_doc + BLOCK_DOCS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::SparseRows;

    #[test]
    fn lists_are_found_by_their_term() {
        let terms = vec![7, 90, 91, 7, 4000, 91];
        let rows = SparseRows::from_parts(5000, vec![0, 3, 5, 6], terms, vec![1.0; 6]).unwrap();
        let lists = Lists::new(&UnitRows::new(rows), 0, &mut vec![0; 5000]);
        let docs = |term| lists.range(term).map(|range| lists.docs[range].to_vec());
        assert_eq!(docs(7), Some(vec![0, 1]));
        assert_eq!(docs(91), Some(vec![0, 2]));
        assert_eq!(docs(4000), Some(vec![1]));
        assert_eq!([docs(0), docs(92), docs(4999)], [None, None, None]);
    }
}
