//! Definition 4: row values, and the gaps of the seeding draws, as integers.

/// The integer that represents `x`: `round(x * 2^32)`, half away from zero.
pub(crate) fn fixed(x: f64) -> i128 {
    (x * 4_294_967_296.0).round() as i128
}

/// The weight of each document.
pub(crate) struct RowWeights<'a> {
    weights: Option<&'a [f64]>,
    /// The `e` of definition 4.
    exponent: i32,
}

impl<'a> RowWeights<'a> {
    /// Weights for `n_docs` documents; `None` means that each counts once.
    ///
    /// # Panics
    /// If there are not `n_docs` weights, or their total is not a finite number above zero: then
    /// there is no `2^e`.
    pub(crate) fn new(weights: Option<&'a [f64]>, n_docs: usize) -> Self {
        let exponent = weights.map_or(0, |weights| {
            assert_eq!(weights.len(), n_docs, "one weight a row");
            assert!(weights.iter().all(|weight| *weight >= 0.0), "weights are not negative");
            scale_exponent(weights)
        });
        RowWeights { weights, exponent }
    }

    /// The weight as the caller gave it; one if there are no weights.
    pub(crate) fn of(&self, doc: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[doc])
    }

    /// Whether the document counts at all.
    pub(crate) fn counts(&self, doc: usize) -> bool {
        self.of(doc) > 0.0
    }

    /// The weight times 2^e, taken as 1 before if it is greater.
    pub(crate) fn single(&self, doc: usize) -> f64 {
        self.weights.map_or(1.0, |weights| times_power_of_two(weights[doc].min(1.0), self.exponent))
    }

    /// A sum of weighted numbers, divided by 2^e.
    pub(crate) fn without_scale(&self, sum: f64) -> f64 {
        times_power_of_two(sum, -self.exponent)
    }

    /// `round(q * w * 2^e)` for the document's weight w; q itself if there are no weights.
    pub(crate) fn weighed(&self, q: i128, doc: usize) -> i128 {
        match self.weights {
            None => q,
            Some(weights) => (q as f64 * times_power_of_two(weights[doc], self.exponent)).round() as i128,
        }
    }
}

/// The e for which the total weight times `2^e` lies in (2^29, 2^30].
///
/// The total is a sum of integers: with the smallest p such that no weight is above `2^p`, each
/// counts as `round(w * 2^(63-p))`.
fn scale_exponent(weights: &[f64]) -> i32 {
    let greatest = weights.iter().copied().fold(0.0, f64::max);
    assert!(greatest > 0.0 && greatest.is_finite(), "the greatest weight is a finite number above zero");
    let (mut p, mut rest) = (0, greatest);
    while rest > 1.0 {
        rest /= 2.0;
        p += 1;
    }
    while rest <= 0.5 {
        rest *= 2.0;
        p -= 1;
    }
    let total: u128 = weights.iter().map(|&w| times_power_of_two(w, 63 - p).round() as u128).sum();
    // The smallest b such that the sum is not above 2^b.
    let b = (0..).find(|&b| total <= 1u128 << b).expect("below 2^94");
    30 - (b + p - 63)
}

/// `x * 2^exponent`, by repeated doubling or halving, since 2^exponent alone may be too large for a
/// float.
fn times_power_of_two(mut x: f64, exponent: i32) -> f64 {
    let factor = if exponent < 0 { 0.5 } else { 2.0 };
    for _ in 0..exponent.unsigned_abs() {
        x *= factor;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_rounded_away_from_zero() {
        let unit = 1.0 / 4_294_967_296.0;
        assert_eq!(fixed(1.0), 1 << 32);
        assert_eq!([fixed(2.5 * unit), fixed(-2.5 * unit), fixed(0.49 * unit)], [3, -3, 0]);
    }

    #[test]
    fn the_total_weight_is_brought_up_to_two_to_the_thirty() {
        assert_eq!(scale_exponent(&[1_073_741_824.0]), 0);
        assert_eq!(scale_exponent(&[1_073_741_825.0]), -1);
        assert_eq!(scale_exponent(&[1_073_741_824.0, 1e-9]), -1);
        assert_eq!(scale_exponent(&[1_073_741_824.0, 1e-30]), 0, "too small to count");
        assert_eq!(scale_exponent(&[536_870_912.0]), 1);
        assert_eq!(scale_exponent(&[1.0]), 30);
        assert_eq!(scale_exponent(&[2.0, 0.0, 1.0]), 28);
        assert_eq!(scale_exponent(&[f64::MIN_POSITIVE]), 1052);
    }

    #[test]
    fn weights_of_one_scale_everything_by_one_power_of_two() {
        let weights = RowWeights::new(Some(&[1.0, 1.0]), 2);
        assert_eq!(weights.weighed(7, 0), 7 << 29);
        assert_eq!(RowWeights::new(None, 2).weighed(7, 0), 7);
    }

    #[test]
    fn tiny_totals_are_scaled_without_overflow() {
        let tiny = f64::MIN_POSITIVE;
        let given = [tiny, 3.0 * tiny, 0.0];
        let weights = RowWeights::new(Some(&given), 3);
        assert_eq!([0, 1, 2].map(|doc| weights.weighed(1, doc)), [1 << 28, 3 << 28, 0]);
        assert!(!weights.counts(2));
    }
}
