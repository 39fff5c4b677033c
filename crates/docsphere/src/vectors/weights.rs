//! Row weights, and the fixed-point numbers that represent rows in sums.
//!
//! Integer sums do not depend on the order of addition: documents can join and leave any number of
//! times, and threads or machines can add in any order, without changing a bit. A value `x` of a
//! unit row counts as `q = round(x * 2^32)`; with row weights as `round(q * w * 2^e)`, where the
//! power of two `2^e` brings the total weight (also a sum of integers) into `(2^29, 2^30]`. So
//!
//! - no sum can overflow: its magnitude stays below `2^30 * 2^32 * (1 + 5e-7) < 2^63`;
//! - weights of one give the same centroids as no weights, bit for bit, because a power of two
//!   cancels out in `sum / |sum|`;
//! - an integer weight (below 2^21, so that `q * w` is exact in f64) gives the same centroid as
//!   repeating the row.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::{ErrorKind, Result, RowProblem};

/// One, in the fixed point of sums.
pub(crate) const ONE: f64 = (1u64 << 32) as f64;

/// One, in the objective's fixed point with 40 binary places.
const PLACES: f64 = (1u64 << 40) as f64;

/// The weight of every row, checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowWeights<'a> {
    given: Option<&'a [f64]>,
    scale: WeightScale,
}

/// `2^e` as two factors, since it may be too large for a float if the weights are very small.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct WeightScale([f64; 2]);

impl WeightScale {
    /// The objective from the [sum](RowWeights::fixed_sum) over all documents.
    pub(crate) fn objective(self, fixed_sum: i128) -> f64 {
        fixed_sum as f64 / PLACES / self.0[0] / self.0[1]
    }
}

impl<'a> RowWeights<'a> {
    /// Every row counts once.
    pub(crate) const UNIFORM: RowWeights<'static> = RowWeights { given: None, scale: WeightScale([1.0; 2]) };

    /// Checks the weights, one per row.
    pub(crate) fn new(weights: &'a [f64], n_rows: usize) -> Result<Self> {
        Self::check(weights, n_rows)?;
        let total = WeightTotal::of(weights, WeightTotal::ceiling(weights));
        Ok(Self::on_scale(weights, total.scale()?))
    }

    /// The weights of some rows, which have been checked, on the scale of all rows.
    pub(crate) fn on_scale(weights: &'a [f64], scale: WeightScale) -> Self {
        RowWeights { given: Some(weights), scale }
    }

    /// Checks that there is one weight per row, finite and not negative.
    pub(crate) fn check(weights: &[f64], n_rows: usize) -> Result<()> {
        if weights.len() != n_rows {
            return Err(ErrorKind::Mismatch {
                what: "the number of row weights",
                expected: format!("{n_rows}, the number of rows"),
                got: weights.len().to_string(),
            }
            .into());
        }
        match weights.iter().position(|w| !w.is_finite() || *w < 0.0) {
            Some(row) => {
                let problem = RowProblem::BadWeight { weight: weights[row] };
                Err(ErrorKind::Row { row: row as u64, problem }.into())
            }
            None => Ok(()),
        }
    }

    /// Whether the caller gave weights.
    pub(crate) fn is_given(&self) -> bool {
        self.given.is_some()
    }

    /// The weight of a document as the caller gave it.
    #[inline]
    pub(crate) fn weight(&self, doc: usize) -> f64 {
        self.given.map_or(1.0, |weights| weights[doc])
    }

    /// The weight of a document in the units of sums, taken as 1 if it is greater: what counts as
    /// one document of a row that stands for several.
    pub(crate) fn single(&self, doc: usize) -> f64 {
        self.given.map_or(1.0, |weights| weights[doc].min(1.0) * self.scale.0[0] * self.scale.0[1])
    }

    /// The integer that value `x` of document `doc` contributes to a sum.
    #[inline]
    pub(crate) fn fixed(&self, doc: usize, x: f64) -> i64 {
        let q = rounded(x * ONE);
        match self.given {
            Some(_) => rounded(self.scaled(doc, q as f64)),
            None => q,
        }
    }

    /// What [`fixed`](Self::fixed) multiplies the integers of a document with.
    #[inline]
    pub(crate) fn factor(&self, doc: usize) -> f64 {
        self.given.map_or(1.0, |weights| weights[doc] * self.scale.0[0] * self.scale.0[1])
    }

    /// The weights of consecutive rows, on the same scale.
    pub(crate) fn part(&self, range: std::ops::Range<usize>) -> RowWeights<'a> {
        RowWeights { given: self.given.map(|weights| &weights[range]), scale: self.scale }
    }

    /// The scale that turns integers back into weights.
    pub(crate) fn scale(&self) -> WeightScale {
        self.scale
    }

    /// The sum over documents of weight times value, in integers ([`PLACES`]): independent of
    /// order.
    pub(crate) fn fixed_sum(&self, values: &[f64]) -> i128 {
        // Similarities are below 2, so a sum of `CHUNK` of them stays below 2^63 in fixed point;
        // with weights, each may need more.
        const CHUNK: usize = 1 << 20;
        let size = CHUNK.min(values.len() / 64 + 1);
        let chunks = values.par_chunks(size).enumerate();
        match self.given {
            None => chunks
                .map(|(_, values)| i128::from(values.iter().map(|&v| fixed_similarity(v)).sum::<i64>()))
                .sum(),
            Some(_) => chunks
                .map(|(chunk, values)| {
                    let numbered = values.iter().enumerate();
                    numbered
                        .map(|(i, v)| {
                            let q = fixed_similarity(*v) as f64;
                            self.scaled(chunk * size + i, q).round() as i128
                        })
                        .sum::<i128>()
                })
                .sum(),
        }
    }

    /// `q` times the scaled weight, before rounding.
    #[inline]
    fn scaled(&self, doc: usize, q: f64) -> f64 {
        q * self.factor(doc)
    }
}

/// A similarity in the fixed point of the objective: `round(similarity * 2^40)`.
#[inline]
pub(crate) fn fixed_similarity(similarity: f64) -> i64 {
    rounded(similarity * PLACES)
}

/// The nearest integer, half away from zero: same as `f64::round`, which is a function call on
/// machines without an instruction for it.
#[inline]
fn rounded(value: f64) -> i64 {
    let whole = value as i64;
    let rest = value - whole as f64; // exact
    whole.saturating_add(i64::from(rest >= 0.5)).saturating_sub(i64::from(rest <= -0.5))
}

/// The total of some weights as an integer: the totals of parts, each with the same ceiling, sum to
/// that of the whole in any order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WeightTotal {
    /// The smallest p such that no weight is above `2^p`.
    ceiling: i32,
    /// Each weight counts as `round(w * 2^(63-p))`.
    sum: u128,
}

impl WeightTotal {
    /// The smallest p such that none of these is above `2^p`; the greatest of the parts is that of
    /// the whole.
    pub(crate) fn ceiling(weights: &[f64]) -> i32 {
        let greatest = weights.iter().copied().fold(0.0, f64::max);
        if greatest == 0.0 {
            return i32::MIN / 2;
        }
        // The exponent of a normal number; subnormal numbers are scaled up first.
        let (normal, shift) = if greatest.is_normal() { (greatest, 0) } else { (greatest * ONE * ONE, 64) };
        let exponent = ((normal.to_bits() >> 52) as i32) - 1023;
        let is_power = normal.to_bits() & ((1 << 52) - 1) == 0;
        exponent + i32::from(!is_power) - shift
    }

    pub(crate) fn of(weights: &[f64], ceiling: i32) -> Self {
        let [a, b] = power_of_two(63 - ceiling.max(-1100));
        WeightTotal { ceiling, sum: weights.iter().map(|w| (w * a * b).round() as u128).sum() }
    }

    /// The total of two sets of weights with the same ceiling.
    pub(crate) fn plus(self, other: Self) -> Self {
        WeightTotal { sum: self.sum + other.sum, ..self }
    }

    /// The total, for messages.
    fn value(self) -> f64 {
        let [a, b] = power_of_two(self.ceiling.max(-1100) - 63);
        self.sum as f64 * a * b
    }

    /// The power of two that brings the total into (2^29, 2^30].
    pub(crate) fn scale(self) -> Result<WeightScale> {
        if !self.value().is_normal() {
            return Err(ErrorKind::Mismatch {
                what: "the total of the row weights",
                expected: format!("a finite number, at least {:e}", f64::MIN_POSITIVE),
                got: format!("{:e}", self.value()),
            }
            .into());
        }
        // The smallest b such that the sum is not above 2^b.
        let bits = 128 - (self.sum - 1).leading_zeros() as i32;
        Ok(WeightScale(power_of_two(30 - (bits + self.ceiling - 63))))
    }
}

/// `2^exponent` as two factors.
fn power_of_two(exponent: i32) -> [f64; 2] {
    [2f64.powi(exponent / 2), 2f64.powi(exponent - exponent / 2)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_is_the_power_of_two_that_fits() {
        let scale = |weights: &[f64]| {
            let total = WeightTotal::of(weights, WeightTotal::ceiling(weights));
            total.scale().unwrap().0.iter().product::<f64>()
        };
        assert_eq!(scale(&[f64::from(1 << 30)]), 1.0);
        assert_eq!(scale(&[3.0]), f64::from(1 << 28));
        assert_eq!(scale(&[2.0, 1.0]), f64::from(1 << 28));
        assert_eq!(scale(&[f64::from(1 << 30), f64::from(1 << 29)]), 0.5);
        let tiny = [f64::MIN_POSITIVE];
        let total = WeightTotal::of(&tiny, WeightTotal::ceiling(&tiny));
        let scale = total.scale().unwrap();
        assert!(scale.0.iter().all(|factor| factor.is_finite()) && total.value() == tiny[0]);
    }

    #[test]
    fn totals_of_parts_add_up_in_any_order() {
        let weights: Vec<f64> =
            (0..1000).map(|i| 1e-9 * f64::from(1 + i * i % 977) * 1.7f64.powi(i % 40)).collect();
        let ceiling = WeightTotal::ceiling(&weights);
        assert_eq!(weights.chunks(37).map(WeightTotal::ceiling).max(), Some(ceiling));
        let whole = WeightTotal::of(&weights, ceiling);
        let parts = weights.chunks(37).rev().map(|part| WeightTotal::of(part, ceiling).sum).sum::<u128>();
        assert_eq!(parts, whole.sum);
        assert!((whole.value() / weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn an_integer_weight_is_a_repeated_row() {
        let weights = [1.0, 3.0, 1.0];
        let weights = RowWeights::new(&weights, 3).unwrap();
        for x in [0.6f32, 1e-3, 0.999, -0.2] {
            let x = f64::from(x);
            assert_eq!(weights.fixed(1, x), 3 * weights.fixed(0, x));
        }
    }

    #[test]
    fn the_weighted_sum_is_that_of_the_given_weights() {
        let weights = [0.5, 3.0, 0.0];
        let weights = RowWeights::new(&weights, 3).unwrap();
        assert_eq!(weights.scale().objective(weights.fixed_sum(&[0.25, 0.75, 9.0])), 2.375);
        let uniform = RowWeights::UNIFORM;
        assert_eq!(uniform.scale().objective(uniform.fixed_sum(&[0.25, -0.75, 9.0])), 8.5);
    }

    #[test]
    fn bad_weights_are_refused_with_their_row() {
        let message = |weights: &[f64]| RowWeights::new(weights, 2).unwrap_err().to_string();
        assert_eq!(
            message(&[1.0, -1.0]),
            "row 1: the row weight is -1; weights must be finite and not negative"
        );
        assert!(message(&[1.0, f64::NAN]).contains("NaN"));
        assert_eq!(
            message(&[0.0, 0.0]),
            "the total of the row weights must be a finite number, at least 2.2250738585072014e-308, got 0e0"
        );
        assert_eq!(message(&[1.0]), "the number of row weights must be 2, the number of rows, got 1");
    }
}
