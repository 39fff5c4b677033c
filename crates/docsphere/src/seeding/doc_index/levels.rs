//! Which terms each level leaves out, and the lengths of the left-out parts.

use rayon::prelude::*;

use super::lists::docs_of;
use crate::vectors::{Row, UnitRows};

/// Number of levels at which terms are left out.
pub(in crate::seeding) const N_LEVELS: usize = 8;

/// Each level keeps this share of the postings of the previous level.
const LEVEL_SHARE: f64 = 0.7;

/// Lengths of left-out parts are multiples of one over this, rounded up; a length may slightly
/// exceed one.
pub(super) const LENGTH_STEPS: f64 = 254.0;

/// Never left out.
pub(super) const NEVER: u8 = N_LEVELS as u8 + 1;

/// A length per step of a document's length, increased by 5e-6 of it: f32 sums of
/// [`N_COMMON`](super::split::N_COMMON) squares err by less.
pub(super) const PER_STEP: f32 = ((1.0 + 5e-6) / LENGTH_STEPS) as f32;

/// The length of a part of a seed with this sum of squares, per step of a document's length.
pub(super) fn per_step(square: f64) -> f32 {
    f64::sqrt(square) as f32 * PER_STEP
}

/// For each level the sum of the squares of the terms that it is the first to leave out; after the
/// last level, of those that are never left out.
pub(super) fn squares(row: Row<'_>, first_level_without: &[u8]) -> [f64; N_LEVELS + 2] {
    let mut squares = [0.0; N_LEVELS + 2];
    for (term, value) in row.iter() {
        squares[usize::from(first_level_without[term as usize])] += f64::from(value) * f64::from(value);
    }
    squares
}

/// Chooses the terms that each level leaves out: the most frequent ones, until the others reach the
/// level's share of the cost.
pub(super) fn first_levels_without(doc_frequency: &[u32]) -> Vec<u8> {
    // A drawn document has term t with a probability proportional to t's document frequency, and
    // then t's list is scanned.
    let mut by_frequency: Vec<u32> = doc_frequency.to_vec();
    by_frequency.par_sort_unstable_by(|a, b| b.cmp(a));
    let cost = |frequency: u32| u128::from(frequency) * u128::from(frequency);
    let total: u128 = by_frequency.iter().map(|&frequency| cost(frequency)).sum();
    let mut limits = [0; N_LEVELS];
    let mut left = total;
    let mut most_frequent = by_frequency.into_iter();
    for (level, limit) in (1..).zip(&mut limits) {
        let wanted = (total as f64 * LEVEL_SHARE.powi(level)) as u128;
        while left > wanted {
            let Some(frequency) = most_frequent.next() else { break };
            left -= cost(frequency);
            *limit = frequency;
        }
    }
    // A level without terms of its own leaves out the same terms as the previous one.
    for level in 0..N_LEVELS {
        if limits[level] == 0 {
            limits[level] = if level == 0 { u32::MAX } else { limits[level - 1] };
        }
    }
    let first_level = |&frequency: &u32| {
        limits.iter().position(|&limit| frequency >= limit).map_or(NEVER, |index| index as u8 + 1)
    };
    doc_frequency.iter().map(first_level).collect()
}

/// For each level from 1 on, for each document of a block: the length of the left-out part, in
/// steps, rounded up.
pub(super) fn lengths_out(rows: &UnitRows<'_>, first_doc: usize, first_level_without: &[u8]) -> Vec<Vec<u8>> {
    let docs = docs_of(rows, first_doc);
    let mut lengths = vec![vec![0; docs.len()]; N_LEVELS];
    // Adding a millionth covers the rounding. At most 254.001: unit rows are that close to one.
    let in_steps = |square: f64| (f64::sqrt(square) * (1.0 + 1e-6) * LENGTH_STEPS).ceil() as u8;
    for (position, doc) in docs.enumerate() {
        let squares = squares(rows.row(doc), first_level_without);
        let mut square = 0.0;
        for level in 1..=N_LEVELS {
            square += squares[level];
            lengths[level - 1][position] = in_steps(square);
        }
    }
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_leave_out_the_most_frequent_terms_first() {
        let first = first_levels_without(&[10, 1, 100, 0, 30]);
        // The squares are 100, 1, 10,000, 0 and 900. Without term 2 a share of 0.091 is left,
        // enough for 0.7^6; without term 4 0.009.
        assert_eq!(first, [NEVER, NEVER, 1, NEVER, 7]);
        assert_eq!(first_levels_without(&[5, 5, 5]), [1; 3], "equal terms stay together");
        assert_eq!(first_levels_without(&[0, 0]), [NEVER; 2]);
    }
}
