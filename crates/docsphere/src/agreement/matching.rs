//! Pairs of clusters and classes with the most documents in common.
//!
//! The assignment problem on a sparse table: the classes are added one after the other, each by the
//! cheapest path that changes earlier pairs (Jonker and Volgenant, "A shortest augmenting path
//! algorithm for dense and sparse linear assignment problems", Computing 38, 1987,
//! doi:10.1007/BF02278710). All numbers are integers.
//!
//! **Cost.** Memory by the number of cells; time at most the smaller number of clusters times the
//! number of cells, with a logarithm.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet};

/// The most documents of cells of which no two share a row or column.
pub(super) fn best_total(cells: &[((i32, i32), u64)]) -> u64 {
    let (rows, columns) =
        (numbered(cells.iter().map(|cell| cell.0.0)), numbered(cells.iter().map(|cell| cell.0.1)));
    // Paths begin at rows: let there be few.
    let is_turned = rows.len() > columns.len();
    let (n_rows, n_columns) =
        if is_turned { (columns.len(), rows.len()) } else { (rows.len(), columns.len()) };
    let mut edges = vec![Vec::new(); n_rows];
    for &((a, b), count) in cells {
        let (row, column) = if is_turned { (columns[&b], rows[&a]) } else { (rows[&a], columns[&b]) };
        edges[row].push((column, count as i64));
    }
    // A row may also stand alone: it has a column of its own that is worth nothing.
    for (row, edges) in edges.iter_mut().enumerate() {
        edges.push((n_columns + row, 0));
    }
    let mut matching = Matching::new(edges, n_columns + n_rows);
    for row in 0..n_rows {
        matching.add(row);
    }
    matching.total()
}

fn numbered(labels: impl Iterator<Item = i32>) -> BTreeMap<i32, usize> {
    let mut numbers: BTreeMap<i32, usize> = labels.map(|label| (label, 0)).collect();
    for (place, number) in numbers.values_mut().enumerate() {
        *number = place;
    }
    numbers
}

struct Matching {
    /// For each row its columns and what they are worth.
    edges: Vec<Vec<(usize, i64)>>,
    /// Prices: `row_price + column_price >= worth` for every edge, and equal for pairs.
    row_price: Vec<i64>,
    column_price: Vec<i64>,
    row_of: Vec<Option<usize>>,
    column_of: Vec<Option<usize>>,
}

impl Matching {
    fn new(edges: Vec<Vec<(usize, i64)>>, n_columns: usize) -> Self {
        let best = |edges: &Vec<(usize, i64)>| edges.iter().map(|edge| edge.1).max().unwrap_or(0);
        Matching {
            row_price: edges.iter().map(best).collect(),
            column_price: vec![0; n_columns],
            row_of: vec![None; n_columns],
            column_of: vec![None; edges.len()],
            edges,
        }
    }

    /// Pairs one more row, along the cheapest path to a free column. There is always one: the
    /// column of its own.
    fn add(&mut self, row: usize) {
        // The row from which each column is reached, and how far that is.
        let mut reached: HashMap<usize, (i64, usize)> = HashMap::new();
        let mut done: Vec<(usize, i64)> = Vec::new();
        let mut seen: HashSet<usize> = HashSet::new();
        let mut open = BinaryHeap::new();
        let (mut from, mut so_far) = (row, 0);
        let (end, length) = 'search: loop {
            for &(column, worth) in &self.edges[from] {
                let distance = so_far + self.row_price[from] + self.column_price[column] - worth;
                if reached.get(&column).is_none_or(|known| distance < known.0) {
                    reached.insert(column, (distance, from));
                    open.push(Reverse((distance, column)));
                }
            }
            while let Some(Reverse((distance, column))) = open.pop() {
                if !seen.insert(column) {
                    continue;
                }
                let Some(paired) = self.row_of[column] else { break 'search (column, distance) };
                done.push((column, distance));
                (from, so_far) = (paired, distance);
                continue 'search;
            }
            return;
        };
        self.row_price[row] -= length;
        for (column, distance) in done {
            self.column_price[column] += length - distance;
            if let Some(paired) = self.row_of[column] {
                self.row_price[paired] -= length - distance;
            }
        }
        let mut next = Some(end);
        while let Some(column) = next {
            let from = reached[&column].1;
            next = self.column_of[from].replace(column);
            self.row_of[column] = Some(from);
        }
    }

    fn total(&self) -> u64 {
        let worth = |(row, column): (usize, &Option<usize>)| {
            let edge = self.edges[row].iter().find(|edge| Some(edge.0) == *column);
            edge.map_or(0, |edge| edge.1 as u64)
        };
        self.column_of.iter().enumerate().map(worth).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// All ways to pair, one row after the other.
    fn by_trial(table: &[Vec<u64>], taken: &mut Vec<bool>) -> u64 {
        let Some((first, rest)) = table.split_first() else { return 0 };
        let mut best = by_trial(rest, taken);
        for column in 0..first.len() {
            if !taken[column] {
                taken[column] = true;
                best = best.max(first[column] + by_trial(rest, taken));
                taken[column] = false;
            }
        }
        best
    }

    proptest! {
        #[test]
        fn no_other_pairs_have_more(
            table in (1usize..6, 1usize..6).prop_flat_map(|(rows, columns)| {
                prop::collection::vec(prop::collection::vec(prop_oneof![Just(0), 0u64..4, 0u64..1000], columns), rows)
            }),
        ) {
            let mut cells = Vec::new();
            for (a, row) in table.iter().enumerate() {
                for (b, &count) in row.iter().enumerate().filter(|cell| *cell.1 > 0) {
                    cells.push(((10 * a as i32, b as i32), count));
                }
            }
            prop_assert_eq!(best_total(&cells), by_trial(&table, &mut vec![false; table[0].len()]));
        }
    }
}
