//! Every inequality that lets a strategy skip work, with the slack that makes it safe in floating
//! point.
//!
//! A filter may only discard a centroid that provably cannot win under the *computed* similarities.
//! So each bound here is about computed numbers, and the slack covers: rows whose length is one
//! only within [`UNIT_TOLERANCE`]; the rounding of a dot product; the rounding of the bound's own
//! arithmetic.
//!
//! # The paper's lemma
//!
//! For a unit vector x with the nonzero positions S: if `c . x >= lambda` then
//! `sum over S of c_t^2 >= lambda^2`. (Cauchy-Schwarz on the restriction of c to S.) Knittel, Koch,
//! Ertl, DocEng 2021, lemma 3.1, doi:10.1145/3469096.3474937.
//!
//! With rounding: let `u = 2^-53`, m the number of terms of the row, `|x| <= 1 + tau`. A computed
//! dot product `d` differs from the true one by at most `g * sum |x_t c_t| <= g * |x| * |c_S|`,
//! where `g = m u / (1 - m u)`. So `d >= lambda` implies `|c_S| * (1 + tau) * (1 + g) >= lambda`,
//! that is
//!
//! `sum over S of c_t^2 >= (lambda / ((1 + tau) (1 + g)))^2`.
//!
//! The left side in turn is compared with a running sum over the n entries of the centroid that
//! adds and subtracts each square at most once. Every such sum stays below `|c|^2 <= 1 + 1e-6`, so
//! 2 n operations err by at most `2 n u (1 + 1e-6) <= 3 n u` in total; the squares themselves are
//! exact in f64. [`min_squared_sum`] returns the right side less that.

use crate::vectors::UNIT_TOLERANCE;

/// Unit round-off of f64.
const UNIT_ROUND_OFF: f64 = f64::EPSILON / 2.0;

/// Lower bound on the running sum of squares over a row's terms if the computed similarity is
/// `lambda` or more.
///
/// `row_nnz` is the number of terms of the longest row, `centroid_nnz` the number of entries of the
/// centroid.
pub(crate) fn min_squared_sum(lambda: f64, row_nnz: usize, centroid_nnz: usize) -> f64 {
    true_minimum(lambda, row_nnz, UNIT_TOLERANCE) - running_sum_error(centroid_nnz)
}

/// Lower bound on the true sum of squares if the rows' lengths are at most `1 + tolerance`.
///
/// Only the computed length of a row was checked, so the error of a dot product is counted twice.
fn true_minimum(lambda: f64, row_nnz: usize, tolerance: f64) -> f64 {
    let dot_error = 2.0 * row_nnz as f64 * UNIT_ROUND_OFF; // m u / (1 - m u) <= 2 m u for m < 2^52
    let reached = lambda / ((1.0 + tolerance) * (1.0 + dot_error));
    // A few more round-offs for the arithmetic of this function itself.
    reached * reached * (1.0 - 16.0 * UNIT_ROUND_OFF)
}

/// The amount by which a running sum over `centroid_nnz` squares can fall short of the true sum.
fn running_sum_error(centroid_nnz: usize) -> f64 {
    3.0 * centroid_nnz as f64 * UNIT_ROUND_OFF
}

/// The amount by which a computed similarity can grow when its centroid moves:
/// `|x| * |max(c' - c, 0)|` for a row x without negative values, plus rounding.
///
/// `x . (c' - c) <= x . max(c' - c, 0) <= |x| |max(c' - c, 0)|`. The squared rise is a computed sum
/// of at most `n_terms` squares, each rounded three times; both computed similarities err by at
/// most `g |x| |c|`, see above.
pub(crate) fn growth(squared_rise: f64, row_nnz: usize, n_terms: usize) -> f64 {
    let rise =
        squared_rise.sqrt() * (1.0 + (n_terms + 8) as f64 * f64::EPSILON) * (1.0 + 2.0 * UNIT_TOLERANCE);
    rise + 8.0 * (row_nnz + 2) as f64 * UNIT_ROUND_OFF
}

/// The smallest f32 that is not below `value`.
#[inline]
pub(crate) fn round_up(value: f64) -> f32 {
    let rounded = value as f32;
    if f64::from(rounded) < value { rounded.next_up() } else { rounded }
}

/// Minimum overlap counts by the linear sliding window of the paper's footnote.
///
/// `squares` are the squared entries of a centroid, largest first. For each position p, in order,
/// `emit(p, count)` gets the smallest number of entries from p onwards whose squares reach
/// `threshold`; a row whose first overlapping entry is p needs at least that many overlapping
/// entries to reach it. Stops at the first position from which the threshold is out of reach.
pub(crate) fn min_overlap_counts(squares: &[f64], threshold: f64, mut emit: impl FnMut(usize, u32)) {
    let mut sum = 0.0;
    let mut end = 0;
    for start in 0..squares.len() {
        // A window holds its own first entry, regardless of the threshold.
        while end == start || sum < threshold {
            let Some(square) = squares.get(end) else { return };
            sum += square;
            end += 1;
        }
        emit(start, (end - start) as u32);
        sum -= squares[start];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assign::reference_similarity;
    use crate::vectors::{SparseRows, UnitRows};
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// The counts by the naive quadratic method, exactly as stated in the paper.
    fn naive_counts(squares: &[f64], threshold: f64) -> Vec<u32> {
        let mut counts = Vec::new();
        for start in 0..squares.len() {
            let mut sum = 0.0;
            let reached = squares[start..].iter().position(|square| {
                sum += square;
                sum >= threshold
            });
            match reached {
                Some(position) => counts.push(position as u32 + 1),
                None => break,
            }
        }
        counts
    }

    fn window_counts(squares: &[f64], threshold: f64) -> Vec<u32> {
        let mut counts = Vec::new();
        min_overlap_counts(squares, threshold, |position, count| {
            assert_eq!(position, counts.len());
            counts.push(count);
        });
        counts
    }

    #[test]
    fn the_papers_example_of_counts() {
        // lambda = 0.5: entries 0.6, 0.4, 0.4, 0.3, 0.3; squares 0.36, 0.16, 0.16, 0.09, 0.09.
        let squares = [0.36, 0.16, 0.16, 0.09, 0.09];
        assert_eq!(window_counts(&squares, 0.25), [1, 2, 2]);
        assert_eq!(window_counts(&squares, 0.36), [1, 3]);
        assert_eq!(window_counts(&squares, 0.9), [] as [u32; 0]);
        assert_eq!(window_counts(&squares, -1.0), [1, 1, 1, 1, 1]);
    }

    fn unit(entries: &BTreeMap<u32, f32>) -> UnitRows<'static> {
        let (terms, values): (Vec<u32>, Vec<f32>) = entries.iter().map(|(&t, &v)| (t, v)).unzip();
        UnitRows::new(SparseRows::from_parts(64, vec![0, terms.len() as u64], terms, values).unwrap())
    }

    fn entries() -> impl Strategy<Value = BTreeMap<u32, f32>> {
        let value = prop_oneof![0.01f32..1.0, Just(1.0f32), Just(2.0f32), 1e-6f32..1e-3];
        prop::collection::btree_map(0u32..64, value, 1..40)
    }

    proptest! {
        /// Squares that are multiples of 2^-20 sum exactly, so both methods must agree to the last
        /// count.
        #[test]
        fn the_sliding_window_equals_the_naive_counts(
            mut squares in prop::collection::vec(1u32..=1 << 18, 0..60),
            threshold in 1u32..=1 << 21,
        ) {
            squares.sort_unstable_by(|a, b| b.cmp(a));
            let scale = 1.0 / f64::from(1 << 20);
            let squares: Vec<f64> = squares.into_iter().map(|s| f64::from(s) * scale).collect();
            let threshold = f64::from(threshold) * scale;
            prop_assert_eq!(window_counts(&squares, threshold), naive_counts(&squares, threshold));
        }

        /// The lemma itself, on computed numbers: for any pair, with its similarity as lambda, the
        /// overlap reaches the minimum.
        #[test]
        fn the_lemma_holds_for_computed_similarities(x in entries(), c in entries()) {
            let (x, c) = (unit(&x), unit(&c));
            let (x, c) = (x.row(0), c.row(0));
            let lambda = reference_similarity(x, c);
            let overlap: f64 = c
                .iter()
                .filter(|(term, _)| x.terms.contains(term))
                .map(|(_, value)| f64::from(value) * f64::from(value))
                .sum();
            prop_assert!(overlap >= min_squared_sum(lambda, x.nnz(), c.nnz()));
        }

        /// A row that equals its centroid meets the lemma with equality, so the slack alone
        /// decides.
        #[test]
        fn the_lemma_holds_with_equality(x in entries()) {
            let x = unit(&x);
            let x = x.row(0);
            let lambda = reference_similarity(x, x);
            let mut squares: Vec<f64> = x.values.iter().map(|&v| f64::from(v) * f64::from(v)).collect();
            squares.sort_unstable_by(|a, b| b.total_cmp(a));
            let counts = window_counts(&squares, min_squared_sum(lambda, x.nnz(), x.nnz()));
            prop_assert!(!counts.is_empty() && counts[0] as usize <= x.nnz());
        }

        /// The slack is small: a lambda that is higher by 1e-5 is out of reach again.
        #[test]
        fn the_slack_is_small(x in entries(), lambda in 0.01f64..1.0) {
            let x = unit(&x);
            let x = x.row(0);
            prop_assert!(min_squared_sum(lambda + 1e-5, x.nnz(), x.nnz()) > lambda * lambda);
        }

        /// A running sum accumulates error. With the threshold at the exact sum of a window, that
        /// window must still be found.
        #[test]
        fn the_running_sum_stays_within_its_slack(parts in prop::collection::vec(1u64..1 << 40, 2..300)) {
            let total: u64 = parts.iter().sum();
            let mut squares: Vec<f64> = parts.iter().map(|&part| part as f64 / total as f64).collect();
            squares.sort_unstable_by(|a, b| b.total_cmp(a));
            for start in 0..squares.len() {
                // The best that floating point can do: smallest first, which is nearly exact here.
                let window: f64 = squares[start..].iter().rev().sum();
                let counts = window_counts(&squares, window - running_sum_error(squares.len()));
                prop_assert!(counts.len() > start, "the window from {start} to the end reaches its own sum");
                prop_assert!(counts[start] as usize <= squares.len() - start);
            }
        }
    }

    /// A computed dot product can be many units in the last place above the true one: equal
    /// products are rounded the same way again and again. Equal vectors meet the lemma with
    /// equality, so this slack alone decides.
    #[test]
    fn the_error_of_a_dot_product_is_covered() {
        let mut worst: f64 = 0.0;
        for n_terms in (1_000u32..40_000).step_by(777) {
            let x = (1.0 / f64::from(n_terms).sqrt()) as f32;
            let product = f64::from(x) * f64::from(x);
            let computed: f64 = (0..n_terms).map(|_| product).sum();
            // Exact except for one rounding: a product of 48 bits times 16 more.
            let scale = 2f64.powi(70);
            let truth = ((product * scale) as u128 * u128::from(n_terms)) as f64 / scale;
            worst = worst.max((computed / truth - 1.0) / UNIT_ROUND_OFF);
            let tolerance = truth.sqrt() - 1.0;
            assert!(truth >= true_minimum(computed, n_terms as usize, tolerance), "{n_terms} terms");
        }
        assert!(worst > 100.0, "the sums err by {worst} units at most: too little to show anything");
    }
}
