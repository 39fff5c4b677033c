//! Every target over its seeds, over what is kept in `fuzz/seeds`, and over changes of both that
//! are always the same.

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
pub(crate) fn changed(seed: &[u8], other: &[u8], number: u64) -> Vec<u8> {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bytes = seed.to_vec();
    for _ in 0..=below(&mut state, 4) {
        let at = below(&mut state, bytes.len());
        let end = (at + below(&mut state, 12)).min(bytes.len());
        match below(&mut state, 7) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << below(&mut state, 8),
            1 => drop(bytes.drain(at..end)),
            2 => bytes.truncate(at),
            3 => {
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
            4 => bytes.extend_from_slice(&other[below(&mut state, other.len())..]),
            // A number becomes another.
            5 if bytes.get(at).is_some_and(u8::is_ascii_digit) => {
                bytes[at] = b'0' + below(&mut state, 10) as u8
            }
            5 if !bytes.is_empty() => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][below(&mut state, 5)],
            _ => {
                let token = TOKENS[below(&mut state, TOKENS.len())];
                bytes.splice(at..at, token.iter().copied());
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::path::Path;

    use super::*;
    use crate::{ScratchFile, TARGETS, Target};

    fn repository() -> &'static Path {
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
    }

    /// What the fuzzer has found, and what it needs to reach more code, in order of names.
    fn kept(target: &Target) -> Vec<Vec<u8>> {
        let folder = repository().join("fuzz/seeds").join(target.name);
        let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
        let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths.iter().map(|path| fs::read(path).unwrap()).collect()
    }

    fn try_changes(name: &str) {
        let (target, place) = (crate::target(name), ScratchFile::new(name));
        let seeds = (target.seeds)(place.folder());
        assert!(seeds.len() > 1, "{name}");
        let inputs: Vec<Vec<u8>> = seeds.into_iter().chain(kept(target)).collect();
        let run = |bytes: &[u8], which: &str| {
            let run = AssertUnwindSafe(|| (target.run)(bytes, place.folder()));
            let shown = String::from_utf8_lossy(bytes);
            assert!(catch_unwind(run).is_ok(), "{name}, {which}: {shown:?}");
        };
        for (index, input) in inputs.iter().enumerate() {
            run(input, &format!("input {index}"));
            for number in 0..target.n_changes {
                let other = &inputs[(index + 1) % inputs.len()];
                let bytes = changed(input, other, 1_000 * index as u64 + number);
                run(&bytes, &format!("input {index}, change {number}"));
            }
        }
    }

    /// A test for each target, so that they run side by side.
    macro_rules! targets {
        ($($name:ident)+) => {
            const TESTED: &[&str] = &[$(stringify!($name)),+];

            $(#[test]
            fn $name() {
                try_changes(stringify!($name));
            })+
        };
    }

    targets! {
        checkpoint encodings files fits html json mail matrix model office parquet requests result rows
        sheet table texts words
    }

    #[test]
    fn every_target_is_tested_and_is_a_program_of_make_fuzz() {
        let mut names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        names.sort_unstable();
        assert_eq!(names, TESTED);
        let makefile = fs::read_to_string(repository().join("Makefile")).unwrap();
        let listed = makefile.lines().find_map(|line| line.strip_prefix("FUZZ_TARGETS ?= ")).unwrap();
        assert_eq!(listed.split(' ').collect::<Vec<_>>(), names);
        let manifest = fs::read_to_string(repository().join("fuzz/Cargo.toml")).unwrap();
        for name in names {
            assert!(
                manifest.contains(&format!("name = \"{name}\"\npath = \"fuzz_targets/{name}.rs\"")),
                "{name}"
            );
            let program =
                fs::read_to_string(repository().join(format!("fuzz/fuzz_targets/{name}.rs"))).unwrap();
            assert!(program.contains(&format!("docsphere_fuzz::target!(\"{name}\");")), "{name}");
        }
    }
}
