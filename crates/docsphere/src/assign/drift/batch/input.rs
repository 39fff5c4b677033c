//! The documents of a batch, as the scan reads them: table rows and posting lists.

use crate::assign::drift::columns::{Columns, NO_ROW};
use crate::simd::{self, Level, Lookup, Packed, Rest, SPARE, Span, Weighted};

/// See the [module](self).
#[derive(Default)]
pub(in crate::assign::drift) struct Input {
    /// The table rows of all documents; for each document, those of columns precede those of groups
    /// only. The first `n_rows` are in use.
    rows: Vec<Weighted>,
    n_rows: usize,
    /// The terms of one document that have no table row of columns.
    rest: Vec<Rest>,
    /// The posting lists of all documents.
    lists: Vec<List>,
    list_ends: Vec<u32>,
    /// The documents and their spans for scanning columns.
    pub(in crate::assign::drift) of_columns: Vec<Span>,
    /// The documents and their spans for scanning groups.
    pub(super) of_groups: Vec<Span>,
}

/// A posting list and its weight.
#[derive(Clone, Copy, Default)]
pub(in crate::assign::drift) struct List {
    start: u32,
    len: u32,
    weight: u16,
    /// Whether groups have a table row for it.
    pub(super) in_groups: bool,
}

impl Input {
    /// Removes all documents.
    pub(in crate::assign::drift) fn clear(&mut self) {
        self.n_rows = 0;
        self.lists.clear();
        self.list_ends.clear();
        self.of_columns.clear();
        self.of_groups.clear();
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of::<Weighted>() * self.rows.capacity()
            + size_of::<Rest>() * self.rest.capacity()
            + size_of::<List>() * self.lists.capacity()
            + 4 * self.list_ends.capacity()
            + size_of::<Span>() * (self.of_columns.capacity() + self.of_groups.capacity())
    }

    /// The table rows of all documents.
    pub(in crate::assign::drift) fn rows(&self) -> &[Weighted] {
        &self.rows[..self.n_rows]
    }

    /// The posting lists of a document.
    pub(in crate::assign::drift) fn lists(&self, doc: usize) -> &[List] {
        let first = if doc == 0 { 0 } else { self.list_ends[doc - 1] };
        &self.lists[first as usize..self.list_ends[doc] as usize]
    }

    fn make_room(&mut self, n_terms: usize) {
        let n_rows = self.n_rows + n_terms + SPARE;
        if self.rows.len() < n_rows {
            self.rows.resize(2 * n_rows, Weighted::default());
        }
        if self.rest.len() < n_terms + SPARE {
            self.rest.resize(n_terms + SPARE, Rest::default());
        }
    }

    /// Adds a document, whose terms are ranks. Returns the sum of its weights.
    #[inline]
    pub(in crate::assign::drift) fn add(
        &mut self,
        columns: &Columns,
        level: Level,
        row: Packed<'_>,
        own_column: u32,
    ) -> u32 {
        self.make_room(row.nnz());
        let start = self.n_rows as u32;
        let rows = &mut self.rows[self.n_rows..];
        let n_table_rows = columns.table.n_rows as u32;
        let (n_rows, total) = simd::weigh(level, &columns.lookups, n_table_rows, row, rows, &mut self.rest);
        self.n_rows += n_rows;
        self.of_columns.push(Span { start, end: self.n_rows as u32, blank: own_column });
        for &Rest { term, weight } in &self.rest[..row.nnz() - n_rows] {
            let Lookup { row, carried: [start, len], .. } = columns.lookups[term as usize];
            if len > 0 {
                let weight = weight as u16;
                if row != NO_ROW {
                    self.rows[self.n_rows] = Weighted { row: row as u16, weight };
                    self.n_rows += 1;
                }
                simd::prefetch(&columns.postings, start as usize);
                self.lists.push(List { start, len, weight, in_groups: row != NO_ROW });
            }
        }
        self.of_groups.push(Span { start, end: self.n_rows as u32, blank: u32::MAX });
        self.list_ends.push(self.lists.len() as u32);
        total
    }
}

impl List {
    /// Calls `add` with column, counted from the first, and amount for each posting between the
    /// first and the last column. Returns the number of postings.
    #[inline]
    pub(in crate::assign::drift) fn add(
        &self,
        columns: &Columns,
        first_column: usize,
        end_column: usize,
        mut add: impl FnMut(usize, u16),
    ) -> u64 {
        let mut postings = &columns.postings[self.start as usize..(self.start + self.len) as usize];
        if first_column > 0 {
            postings =
                &postings[postings.partition_point(|&posting| ((posting >> 8) as usize) < first_column)..];
        }
        let mut n_read = 0;
        for &posting in postings {
            let (column, byte) = ((posting >> 8) as usize, posting & 255);
            if column >= end_column {
                break;
            }
            add(column - first_column, ((byte * u32::from(self.weight)) >> 8) as u16);
            n_read += 1;
        }
        n_read
    }
}
