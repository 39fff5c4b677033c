//! Entries of rows in 4 bytes: the number of the term, and the value rounded up.
//!
//! The low bits are the value in equal steps, the high bits the number: as many bits as the numbers
//! need, the rest (16 at most) for values. A value `x` up to [`GREATEST`] becomes the smallest
//! number of steps `u` for which the computed `u * step` is at least `x`, so what is
//! unpacked is never less than what was packed, whatever the rounding. It is greater by at most
//! [`Packing::step`]: `step` is rounded once and the product once, both of relative 2^-24.
//!
//! A vocabulary of 500,000 terms leaves 13 bits: steps of 1/8191. The greatest possible vocabulary,
//! of 2^28 terms, leaves 4.

/// How entries are packed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Packing {
    /// Bits of a value.
    pub(crate) value_bits: u32,
    /// The value of the lowest bit.
    pub(crate) step: f32,
}

/// A row of packed entries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packed<'a> {
    pub(crate) entries: &'a [u32],
    pub(crate) packing: Packing,
}

/// The greatest value that can be packed: that of a row of length one, within a tolerance.
pub(crate) const GREATEST: f64 = 1.0 + 5e-7;

/// Values have at most this many bits: all of them are exact in an f32.
const MOST_VALUE_BITS: u32 = 16;

impl Packing {
    /// For numbers below `n_terms`, of which there are at most 2^28.
    pub(crate) fn for_terms(n_terms: usize) -> Self {
        let number_bits = usize::BITS - n_terms.saturating_sub(1).leading_zeros();
        assert!(number_bits <= 28, "more terms than a matrix may have");
        let value_bits = (u32::BITS - number_bits).min(MOST_VALUE_BITS);
        let most = f64::from((1u32 << value_bits) - 1);
        // Beyond the greatest value by so much that rounding cannot take it back.
        Packing { value_bits, step: ((2.0 * GREATEST - 1.0) / most) as f32 }
    }

    /// An entry. A value below zero becomes zero.
    #[inline]
    pub(crate) fn pack(self, number: u32, value: f32) -> u32 {
        let steps = (value / self.step).max(0.0) as u32;
        // The quotient is rounded: the right number of steps is this one or the next.
        let steps = steps.saturating_sub(1);
        let missing = |more: u32| u32::from(self.value(steps + more) < value);
        // Each is missing only if the one before is.
        let steps = steps + missing(0) + missing(1) + missing(2);
        debug_assert!(steps >> self.value_bits == 0 && self.value(steps) >= value, "{value} is too great");
        number << self.value_bits | steps
    }

    /// The number of an entry.
    #[inline]
    pub(crate) fn number_of(self, entry: u32) -> u32 {
        entry >> self.value_bits
    }

    /// The value of an entry.
    #[inline]
    pub(crate) fn value_of(self, entry: u32) -> f32 {
        self.value(entry & ((1 << self.value_bits) - 1))
    }

    fn value(self, steps: u32) -> f32 {
        steps as f32 * self.step
    }
}

impl<'a> Packed<'a> {
    /// The number of entries.
    pub(crate) fn nnz(self) -> usize {
        self.entries.len()
    }

    /// The numbers of the entries.
    #[inline]
    pub(crate) fn numbers(self) -> impl Iterator<Item = u32> + 'a {
        self.entries.iter().map(move |&entry| self.packing.number_of(entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLERANCE: f64 = GREATEST - 1.0;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_entry_keeps_its_number_and_its_value_is_rounded_up(
            n_terms in prop_oneof![1usize..100, 1usize..=1 << 28],
            share in 0.0f64..1.0,
            value in prop_oneof![
                0.0f32..=1.0, 1e-38f32..1e-3, Just(1.0 + TOLERANCE as f32),
                (0u32..=1 << 16).prop_map(|steps| steps as f32 / 65_535.0),
            ],
        ) {
            let packing = Packing::for_terms(n_terms);
            let number = (share * n_terms as f64) as u32;
            // Also values that are multiples of a step, and their neighbours.
            let multiple = (value / packing.step).floor().min(((1u32 << packing.value_bits) - 1) as f32) * packing.step;
            for value in [value, multiple, multiple.next_down().max(0.0)] {
                let entry = packing.pack(number, value);
                prop_assert_eq!(packing.number_of(entry), number);
                let (packed, value) = (f64::from(packing.value_of(entry)), f64::from(value));
                prop_assert!(value <= packed, "{} is below {}", packed, value);
                prop_assert!(packed <= value + f64::from(packing.step) * (1.0 + 1e-6));
                prop_assert!(packed <= 1.0 + 3.0 * TOLERANCE);
            }
        }
    }

    #[test]
    fn more_terms_leave_fewer_bits_to_values() {
        let bits = |n_terms| Packing::for_terms(n_terms).value_bits;
        assert_eq!(
            [bits(1), bits(1 << 16), bits(500_000), bits(1 << 20), bits(1 << 28)],
            [16, 16, 13, 12, 4]
        );
        assert_eq!(Packing::for_terms(100).pack(7, -0.5), 7 << 16, "a negative value adds nothing");
    }
}
