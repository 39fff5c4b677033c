//! For tests only: matrices that must survive every format, and ways to damage a file.

use crate::error::Result;
use crate::vectors::SparseRows;

/// Matrices with edge cases that formats get wrong, the most ordinary last.
pub(crate) fn matrices() -> Vec<(&'static str, SparseRows<'static>)> {
    let rows = |n_terms, offsets: &[u64], terms: &[u32], values: &[f32]| {
        SparseRows::from_parts(n_terms, offsets.to_vec(), terms.to_vec(), values.to_vec()).unwrap()
    };
    vec![
        ("nothing", rows(0, &[0], &[], &[])),
        ("no rows", rows(7, &[0], &[], &[])),
        ("no terms", rows(0, &[0, 0, 0], &[], &[])),
        ("no nonzeros", rows(3, &[0, 0, 0], &[], &[])),
        (
            "trailing rows and terms without nonzeros",
            rows(9, &[0, 0, 2, 2, 3, 3, 3], &[1, 4, 2], &[1., 2., 3.]),
        ),
        ("the first term everywhere", rows(2, &[0, 1, 2], &[0, 0], &[1., 1.])),
        (
            "extreme values",
            rows(
                9,
                &[0, 9],
                &[0, 1, 2, 3, 4, 5, 6, 7, 8],
                &[
                    f32::MAX,
                    -f32::MAX,
                    f32::MIN_POSITIVE,
                    1e-45,
                    7.038531e-26,
                    0.1,
                    1.0 / 3.0,
                    16_777_216.0,
                    -1e-5,
                ],
            ),
        ),
        ("the last of many terms", rows(1 << 24, &[0, 1], &[(1 << 24) - 1], &[1.5])),
        ("ordinary", rows(6, &[0, 2, 5, 6], &[0, 5, 1, 2, 4, 3], &[0.5, 0.25, 3., 12., 0.7, 1.])),
    ]
}

/// Reads every proper prefix of a file; returns the lengths of those accepted as a whole file.
pub(super) fn accepted_prefixes(
    file: &[u8],
    read: impl Fn(&[u8]) -> Result<SparseRows<'static>>,
) -> Vec<usize> {
    (0..file.len()).filter(|&length| read(&file[..length]).is_ok()).collect()
}

/// Reads the file 4000 times, each time with a few different bytes changed; returns what was
/// accepted as a whole file.
pub(super) fn survivors(
    file: &[u8],
    max_changes: u64,
    read: impl Fn(&[u8]) -> Result<SparseRows<'static>>,
) -> Vec<SparseRows<'static>> {
    let mut random = Xorshift(0x9e37_79b9_7f4a_7c15);
    let mut damaged = file.to_vec();
    let mut survivors = Vec::new();
    for _ in 0..4000 {
        damaged.copy_from_slice(file);
        for _ in 0..=random.below(max_changes) {
            let position = random.below(file.len() as u64) as usize;
            // Digits and signs get further than arbitrary bytes.
            damaged[position] = match random.below(3) {
                0 => damaged[position] ^ (1 << random.below(8)),
                1 => b"0123456789 -.:e\n#%"[random.below(18) as usize],
                _ => random.below(256) as u8,
            };
        }
        survivors.extend(read(&damaged));
    }
    survivors
}

struct Xorshift(u64);

impl Xorshift {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}
