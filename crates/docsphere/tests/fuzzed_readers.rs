//! What the fuzz targets of the readers do, over their seeds and over changes that are always the
//! same.

use crate::readers;

/// Changes of each seed.
const N_CHANGES: u64 = 60;

/// Bytes that mean something in one format or another.
const TOKENS: [&[u8]; 20] = [
    b"\n",
    b"\r\n",
    b"\"",
    b"\"\"",
    b"'",
    b",",
    b";",
    b"\t",
    b"<",
    b">",
    b"</p>",
    b"&",
    b"{",
    b"]",
    b"\\",
    b"\0",
    b"\xff",
    b"\x1b$B",
    b"\n\nFrom a Mon Jan  1 00:00:00 2024\n",
    b"1e999",
];

/// A number below `n` that depends on `state` alone.
fn below(state: &mut u64, n: usize) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state % n.max(1) as u64) as usize
}

/// The bytes after some changes.
fn changed(seed: &[u8], other: &[u8], number: u64) -> Vec<u8> {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = seed.to_vec();
    for _ in 0..=below(&mut state, 4) {
        let at = below(&mut state, bytes.len());
        let end = (at + below(&mut state, 12)).min(bytes.len());
        match below(&mut state, 6) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << below(&mut state, 8),
            1 => drop(bytes.drain(at..end)),
            2 => bytes.truncate(at),
            3 => {
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
            4 => bytes.extend_from_slice(&other[below(&mut state, other.len())..]),
            _ => {
                let token = TOKENS[below(&mut state, TOKENS.len())];
                bytes.splice(at..at, token.iter().copied());
            }
        }
    }
    bytes
}

#[test]
fn readers_survive_what_the_fuzzer_would_try() {
    for target in readers::TARGETS {
        let folder = tempfile::tempdir().unwrap();
        let seeds = readers::seeds(target);
        assert!(seeds.len() > 1, "{target}");
        for (index, seed) in seeds.iter().enumerate() {
            readers::read(target, seed, folder.path());
            for number in 0..N_CHANGES {
                let other = &seeds[(index + 1) % seeds.len()];
                let bytes = changed(seed, other, 1_000 * index as u64 + number);
                let read = std::panic::AssertUnwindSafe(|| readers::read(target, &bytes, folder.path()));
                assert!(
                    std::panic::catch_unwind(read).is_ok(),
                    "{target}, seed {index}, change {number}: {:?}",
                    String::from_utf8_lossy(&bytes)
                );
            }
        }
    }
}
