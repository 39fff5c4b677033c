//! Bounds on the sums of one document.

use crate::assign::drift::columns::UNITS;
use crate::simd::Packed;

/// A document with more candidates than this gets all its similarities through posting lists.
const MAX_CANDIDATES: u32 = 32;

/// Bounds on a document's sums.
#[derive(Clone, Copy, Debug)]
pub(in crate::assign::drift) struct DocBounds {
    pub(super) n_tiles: u32,
    /// The smallest sum that a column with the own similarity can have; negative if every column
    /// can.
    pub(super) reaches_own: i32,
    /// `sum + below >= UNITS * similarity`.
    pub(super) below: i32,
    /// `sum <= UNITS * similarity + above`, for a column.
    pub(super) above: i32,
    /// The greatest sum of a column so far.
    pub(super) best: i32,
    /// The greatest sum of a column that is not a candidate, or of a group that was left out.
    pub(super) best_loser: i32,
    pub(super) n_candidates: u32,
}

impl DocBounds {
    /// Bounds for a document whose weights have the sum `total`, that scans the first tiles for
    /// columns that reach the similarity `own`.
    pub(super) fn new(n_tiles: usize, row: Packed<'_>, total: u32, own: f64) -> Self {
        let below = row.nnz() as i32;
        // By as much packed values may add.
        let packing = UNITS * f64::from(row.packing.step) * (row.nnz() as f64).sqrt() * (1.0 + 1e-5);
        DocBounds {
            n_tiles: n_tiles as u32,
            reaches_own: (own * UNITS).floor().max(-1.0) as i32 - below - 1,
            below,
            above: (total / 256) as i32 + 1 + 2 * below + packing.ceil() as i32,
            best: 0,
            best_loser: 0,
            n_candidates: 0,
        }
    }

    /// The smallest sum that the best column can have, as far as is known.
    pub(super) fn threshold(&self) -> i32 {
        // The similarity of the best column is at least `best - above`; others must reach that.
        self.reaches_own.max(self.best - self.above - self.below - 1).max(0)
    }

    /// Upper bound on the similarity to any column that is not a candidate.
    pub(in crate::assign::drift) fn loser_bound(&self) -> f64 {
        f64::from(self.best_loser + self.below) / UNITS
    }

    /// Whether there were too many candidates to keep them.
    pub(in crate::assign::drift) fn is_heavy(&self) -> bool {
        self.n_candidates > MAX_CANDIDATES
    }
}
