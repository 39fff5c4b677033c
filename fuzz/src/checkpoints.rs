//! The run whose checkpoints are the seeds, and which is continued from every checkpoint that
//! loads.

use docsphere::{Init, Params, SparseRows, SphericalKMeans, UnitRows};

/// A few short rows over a small vocabulary, one of them empty: seeds stay small, and the run takes
/// several iterations.
pub fn rows() -> UnitRows<'static> {
    let mut state = 1_u32;
    let mut next = |below: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) % below
    };
    let (mut offsets, mut terms, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..24 {
        let mut in_row: Vec<u32> = (0..if row == 7 { 0 } else { 4 }).map(|_| next(12)).collect();
        in_row.sort_unstable();
        in_row.dedup();
        values.extend(in_row.iter().map(|_| 1.0 + next(4) as f32));
        terms.extend(in_row);
        offsets.push(terms.len() as u64);
    }
    UnitRows::new(SparseRows::from_parts(12, offsets, terms, values).expect("valid rows"))
}

/// The options of the run.
pub fn params() -> Params {
    SphericalKMeans::params(4).seed(3).tol(0.0).n_init(3).init(Init::Random).max_iter(5).n_threads(1)
}

/// The file with its sizes, offsets and checksums set to what they should be, so that changes
/// inside sections get past the checks of the container. `None` if it is too short for its table.
///
/// The layout is that of `crates/docsphere/src/container.rs`.
pub fn resealed(bytes: &[u8]) -> Option<Vec<u8>> {
    const TABLE: usize = 16;
    const ENTRY: usize = 36;
    let n_sections = u32::from_le_bytes(bytes.get(12..TABLE)?.try_into().ok()?) as usize;
    let header_bytes = TABLE.checked_add(n_sections.checked_mul(ENTRY)?)?.checked_add(4)?;
    let mut file = bytes.get(..header_bytes)?.to_vec();
    let mut rest = &bytes[header_bytes..];
    for number in 0..n_sections {
        let entry = &mut file[TABLE + number * ENTRY..][..ENTRY];
        let stated = u64::from_le_bytes(entry[24..32].try_into().ok()?);
        // The last section takes what is left, so that inputs may grow and shrink.
        let is_last = number + 1 == n_sections;
        let length = if is_last { rest.len() } else { rest.len().min(usize::try_from(stated).ok()?) };
        let (content, after) = rest.split_at(length);
        let offset = bytes.len() - rest.len();
        entry[16..24].copy_from_slice(&(offset as u64).to_le_bytes());
        entry[24..32].copy_from_slice(&(length as u64).to_le_bytes());
        entry[32..].copy_from_slice(&crc32fast::hash(content).to_le_bytes());
        rest = after;
    }
    let checksum = crc32fast::hash(&file[..header_bytes - 4]);
    file[header_bytes - 4..].copy_from_slice(&checksum.to_le_bytes());
    file.extend_from_slice(&bytes[header_bytes..]);
    Some(file)
}
