//! The encodings of numbers within a page: runs, and packed differences.
//!
//! The decoders hold positions, not bytes, so that a page and its decoders can live in one struct;
//! every call is given the bytes of the page. A decoder never reads past `end`.

use super::{Result, damaged};

/// The little endian number of `width` bits (at most 64) that begins at bit `bit_at`; `None` past
/// the end.
fn bits(bytes: &[u8], bit_at: u64, width: u32) -> Option<u64> {
    let (byte_at, shift) = (usize::try_from(bit_at / 8).ok()?, (bit_at % 8) as u32);
    let n_bytes = (shift + width).div_ceil(8) as usize;
    let rest = bytes.get(byte_at..)?;
    let mut loaded = [0; 16];
    match rest.first_chunk::<16>() {
        Some(chunk) => loaded = *chunk,
        None => loaded[..n_bytes].copy_from_slice(rest.get(..n_bytes)?),
    }
    let mask = if width == 64 { u64::MAX } else { (1 << width) - 1 };
    Some((u128::from_le_bytes(loaded) >> shift) as u64 & mask)
}

/// A number of 7 bits per byte, and its end.
fn varint(bytes: &[u8], mut at: usize, end: usize) -> Result<(u64, usize)> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        if at >= end {
            return Err(damaged("more values in a page", "its end"));
        }
        value |= u64::from(bytes[at] & 0x7f) << shift;
        at += 1;
        if bytes[at - 1] < 0x80 {
            return Ok((value, at));
        }
    }
    Err(damaged("a number of at most 64 bits", "more"))
}

/// Runs of small numbers, repeated or bit-packed. Parquet's RLE encoding.
#[derive(Debug)]
pub(super) struct Runs {
    at: usize,
    end: usize,
    /// Bits per number, at most 32.
    width: u32,
    run: Run,
}

#[derive(Debug)]
enum Run {
    Same { left: u64, value: u64 },
    Packed { left: u64, bit_at: u64 },
}

impl Runs {
    pub(super) fn new(at: usize, end: usize, width: u8) -> Result<Self> {
        if width > 32 {
            return Err(damaged("numbers of at most 32 bits", width));
        }
        Ok(Runs { at, end, width: u32::from(width), run: Run::Same { left: 0, value: 0 } })
    }

    /// The next number.
    #[inline]
    pub(super) fn next(&mut self, bytes: &[u8]) -> Result<u64> {
        // Numbers of width 0 are all 0, and not every writer spells that out.
        if self.width == 0 {
            return Ok(0);
        }
        loop {
            match &mut self.run {
                Run::Same { left: 0, .. } | Run::Packed { left: 0, .. } => self.next_run(bytes)?,
                Run::Same { left, value } => {
                    *left -= 1;
                    return Ok(*value);
                }
                Run::Packed { left, bit_at } => {
                    let value = bits(&bytes[..self.end], *bit_at, self.width);
                    *left -= 1;
                    *bit_at += u64::from(self.width);
                    return value.ok_or_else(|| damaged("more values in a page", "its end"));
                }
            }
        }
    }

    fn next_run(&mut self, bytes: &[u8]) -> Result<()> {
        let (head, at) = varint(bytes, self.at, self.end)?;
        if head & 1 == 0 {
            let n_bytes = self.width.div_ceil(8) as usize;
            let value = bits(&bytes[..self.end], at as u64 * 8, n_bytes as u32 * 8);
            let value = value.ok_or_else(|| damaged("more values in a page", "its end"))?;
            self.at = at + n_bytes;
            self.run = Run::Same { left: head >> 1, value };
        } else {
            // Groups of eight. The end of the page may cut off the last one, after the numbers that
            // are needed.
            let n_bytes = (head >> 1).saturating_mul(u64::from(self.width));
            self.at = usize::try_from(n_bytes).map_or(self.end, |n| self.end.min(at.saturating_add(n)));
            self.run = Run::Packed { left: (head >> 1).saturating_mul(8), bit_at: at as u64 * 8 };
        }
        Ok(())
    }
}

/// Numbers as differences from the previous one, in blocks of mini blocks, each with its own width.
/// Parquet's DELTA_BINARY_PACKED encoding.
///
/// Adds with wrap-around in 64 bits; numbers of 32 bits are the lower halves.
#[derive(Debug)]
pub(super) struct Deltas {
    at: usize,
    end: usize,
    /// Numbers per mini block.
    mini_numbers: u64,
    n_minis: u64,
    /// Numbers not yet read.
    left: u64,
    /// The last number read; initially the first number.
    value: i64,
    is_first: bool,
    min_delta: i64,
    /// Position of the widths of this block's mini blocks, and the index of the next one.
    widths_at: usize,
    next_mini: u64,
    /// The current mini block.
    width: u32,
    bit_at: u64,
    mini_left: u64,
}

impl Deltas {
    /// Starts decoding at `at`; never reads past `end`.
    pub(super) fn new(bytes: &[u8], at: usize, end: usize) -> Result<Self> {
        let (block_numbers, at) = varint(bytes, at, end)?;
        let (n_minis, at) = varint(bytes, at, end)?;
        let (left, at) = varint(bytes, at, end)?;
        let (first, at) = varint(bytes, at, end)?;
        // The format requires blocks of a multiple of 128 numbers; here it suffices that mini
        // blocks divide a block evenly, hold a multiple of 32 numbers, and nothing is zero.
        let fits = n_minis > 0 && block_numbers > 0 && block_numbers.is_multiple_of(n_minis);
        if !fits || !(block_numbers / n_minis).is_multiple_of(32) {
            let found = format!("{block_numbers} in {n_minis} parts");
            return Err(damaged("blocks of packed differences in equal parts of 32 or a multiple", found));
        }
        Ok(Deltas {
            at,
            end,
            mini_numbers: block_numbers / n_minis,
            n_minis,
            left,
            value: unzigzag(first),
            is_first: true,
            min_delta: 0,
            widths_at: 0,
            next_mini: n_minis,
            width: 0,
            bit_at: 0,
            mini_left: 0,
        })
    }

    /// The next number.
    #[inline]
    pub(super) fn next(&mut self, bytes: &[u8]) -> Result<i64> {
        if self.left == 0 {
            return Err(damaged("more values in a page", "its end"));
        }
        self.left -= 1;
        if std::mem::take(&mut self.is_first) {
            return Ok(self.value);
        }
        if self.mini_left == 0 {
            self.start_mini(bytes)?;
        }
        let delta = bits(&bytes[..self.end], self.bit_at, self.width);
        let delta = delta.ok_or_else(|| damaged("more values in a page", "its end"))?;
        self.mini_left -= 1;
        self.bit_at += u64::from(self.width);
        self.value = self.value.wrapping_add(self.min_delta).wrapping_add(delta as i64);
        Ok(self.value)
    }

    /// Begins the next mini block. Every mini block that holds a number is complete.
    fn start_mini(&mut self, bytes: &[u8]) -> Result<()> {
        let cut_off = || damaged("more values in a page", "its end");
        if self.next_mini == self.n_minis {
            let (min_delta, at) = varint(bytes, self.at, self.end)?;
            self.min_delta = unzigzag(min_delta);
            self.widths_at = at;
            let n_minis = usize::try_from(self.n_minis).map_err(|_| cut_off())?;
            self.at = at.checked_add(n_minis).filter(|&at| at <= self.end).ok_or_else(cut_off)?;
            self.next_mini = 0;
        }
        let width = bytes[self.widths_at + self.next_mini as usize];
        if width > 64 {
            return Err(damaged("differences of at most 64 bits", width));
        }
        self.next_mini += 1;
        self.width = u32::from(width);
        self.bit_at = self.at as u64 * 8;
        self.mini_left = self.mini_numbers;
        // A multiple of 32 numbers ends at a byte boundary.
        let n_bytes = (self.mini_numbers / 8).checked_mul(u64::from(width)).ok_or_else(cut_off)?;
        let next = usize::try_from(n_bytes).ok().and_then(|n_bytes| self.at.checked_add(n_bytes));
        self.at = next.filter(|&at| at <= self.end).ok_or_else(cut_off)?;
        Ok(())
    }

    /// The end of the last number; to be called before any number is read.
    pub(super) fn end_of_numbers(&self, bytes: &[u8]) -> Result<usize> {
        let mut ahead = Deltas { ..*self };
        let mut left = self.left.saturating_sub(1);
        while left > 0 {
            ahead.start_mini(bytes)?;
            left = left.saturating_sub(self.mini_numbers);
        }
        Ok(ahead.at)
    }
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_width_are_unpacked_at_every_place() {
        let bytes: Vec<u8> = (0..40_u32).map(|at| (at * 151 + 7) as u8).collect();
        let bit = |at: u64| u64::from(bytes[(at / 8) as usize] >> (at % 8) & 1);
        for width in 0..=64 {
            for at in 0..=(8 * bytes.len() as u64 - u64::from(width)) {
                let expected = (0..u64::from(width)).fold(0, |value, place| value | bit(at + place) << place);
                assert_eq!(bits(&bytes, at, width), Some(expected), "{width} bits at {at}");
            }
            if width > 0 {
                assert_eq!(bits(&bytes, 8 * bytes.len() as u64 - u64::from(width) + 1, width), None);
            }
        }
    }

    #[test]
    fn runs_are_those_of_the_format() {
        // Five times 3, then the numbers 0 to 7, bit-packed: the example of the format's
        // documentation.
        let bytes = [10, 3, 3, 0b1000_1000, 0b1100_0110, 0b1111_1010];
        let mut runs = Runs::new(0, bytes.len(), 3).unwrap();
        let numbers: Vec<u64> = (0..13).map(|_| runs.next(&bytes).unwrap()).collect();
        assert_eq!(numbers, [3, 3, 3, 3, 3, 0, 1, 2, 3, 4, 5, 6, 7]);
        assert!(runs.next(&bytes).is_err());
        let mut none = Runs::new(0, 0, 0).unwrap();
        assert_eq!((0..3).map(|_| none.next(&[]).unwrap()).collect::<Vec<_>>(), [0; 3]);
        assert!(Runs::new(0, 6, 33).is_err());
    }

    #[test]
    fn runs_that_claim_too_much_end_with_the_page() {
        let endless = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        let mut runs = Runs::new(0, endless.len(), 8).unwrap();
        assert!(runs.next(&endless).is_err());
        // A run of length zero is skipped, so that this also terminates.
        let mut runs = Runs::new(0, 4, 8).unwrap();
        assert!(runs.next(&[0, 9, 0, 9]).is_err());
    }

    #[test]
    fn differences_are_those_of_the_format() {
        // 7 5 3 1 2 3 4 5: the example of the format's documentation, in one mini block of 32.
        let mut bytes = vec![0x80, 0x01, 4, 8, 14, 3, 2, 0, 0, 0, 0b1100_0000, 0b0011_1111];
        bytes.extend([0; 6]); // the remainder of the mini block
        bytes.extend(*b"behind");
        let deltas = || Deltas::new(&bytes, 0, bytes.len()).unwrap();
        assert_eq!(deltas().end_of_numbers(&bytes).unwrap(), bytes.len() - 6);
        let mut numbers = deltas();
        let found: Vec<i64> = (0..8).map(|_| numbers.next(&bytes).unwrap()).collect();
        assert_eq!(found, [7, 5, 3, 1, 2, 3, 4, 5]);
        assert!(numbers.next(&bytes).is_err());
        for end in 0..bytes.len() - 6 {
            let cut_off = Deltas::new(&bytes, 0, end).and_then(|deltas| deltas.end_of_numbers(&bytes));
            assert!(cut_off.is_err(), "{end} bytes");
        }
    }

    #[test]
    fn differences_that_claim_too_much_are_refused() {
        let huge = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
        // 2^63 - 1 numbers in blocks of 128: each block needs bytes that do not exist.
        let bytes = [&[0x80, 0x01, 4], &huge[..], &[0, 0, 0, 0, 0, 0]].concat();
        assert!(Deltas::new(&bytes, 0, bytes.len()).unwrap().end_of_numbers(&bytes).is_err());
        // Blocks without parts, without numbers, of parts that are not a multiple of 32.
        for (block_numbers, n_minis) in [(128_u32, 0), (0, 4), (32, 4)] {
            let bytes = [block_numbers as u8 | 0x80, (block_numbers >> 7) as u8, n_minis, 1, 0];
            assert!(Deltas::new(&bytes, 0, bytes.len()).is_err(), "{block_numbers} in {n_minis}");
        }
    }
}
