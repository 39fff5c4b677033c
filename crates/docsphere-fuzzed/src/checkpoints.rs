//! Bytes to a checkpoint, and a checkpoint that loads to the end of its run: an error or a result,
//! never a panic.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use docsphere::{
    Checkpoint, Event, FitOptions, Init, Params, SparseRows, SphericalKMeans, Strategy, UnitRows,
};

/// Reads bytes as a checkpoint, as they are and with right checksums, and continues its run.
pub fn run(data: &[u8], folder: &Path) {
    load_and_continue(data, folder);
    if let Some(resealed) = resealed(data) {
        load_and_continue(&resealed, folder);
    }
}

fn load_and_continue(bytes: &[u8], folder: &Path) {
    let Ok(checkpoint) = Checkpoint::load(crate::file(folder, "run.checkpoint", bytes)) else { return };
    let _ = checkpoint.n_iter();
    let rows = rows();
    let strategy = Strategy::ALL[bytes.len() % Strategy::ALL.len()];
    let params = params().strategy(strategy).check().expect("valid parameters");
    if let Ok(fit) = params.fit_with(&rows, FitOptions::default().resume(checkpoint)) {
        assert_eq!(fit.labels.as_slice().len(), rows.n_rows());
        let _ = fit.trace.total();
    }
}

/// Checkpoints of one run, stopped after every number of iterations: with and without the best of
/// earlier runs.
pub fn seeds(folder: &Path) -> Vec<Vec<u8>> {
    let (rows, path) = (rows(), folder.join("seed.checkpoint"));
    let mut seeds = Vec::new();
    for n_iterations in 1.. {
        let mut n_seen = 0;
        let mut observer = |event: &Event<'_>| {
            n_seen += usize::from(matches!(event, Event::Iteration(_)));
            if n_seen >= n_iterations { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let options = FitOptions::default().observer(&mut observer).checkpoint(&path, 1_000);
        params().check().expect("valid parameters").fit_with(&rows, options).expect("a run");
        if n_seen < n_iterations {
            break;
        }
        seeds.push(fs::read(&path).expect("a checkpoint"));
    }
    seeds
}

/// A few short rows over a small vocabulary, one of them empty: seeds stay small, and the run takes
/// several iterations.
fn rows() -> UnitRows<'static> {
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
fn params() -> Params {
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
