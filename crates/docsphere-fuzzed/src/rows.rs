//! Bytes to rows of documents, in both forms of the file: an error or rows, never a panic. Rows
//! that are mapped and rows that are read into memory have the same bits, and are the same when
//! they are written again.
//!
//! Checksums are set right first, so that what lies behind them is reached.

use std::fs;
use std::path::Path;

use docsphere::{MemoryLimit, UnitRows};

use crate::checkpoints::resealed;

/// Mark, version and ten numbers of the header of the form that is mapped.
const HEADER: usize = 8 + 4 + 8 * 10;
/// Rows with checksums of their own.
const BLOCK_ROWS: usize = 1 << 16;

/// Reads bytes as rows, as they are and with right checksums.
pub fn run(data: &[u8], folder: &Path) {
    read(data, folder);
    if let Some(resealed) = resealed(data) {
        read(&resealed, folder);
    }
    if let Some(resealed) = resealed_open(data) {
        read(&resealed, folder);
    }
}

fn read(bytes: &[u8], folder: &Path) {
    let path = crate::file(folder, "rows.docsphere", bytes);
    let loaded = UnitRows::load(&path);
    let mapped = UnitRows::open_mapped(&path);
    if let Ok(mapped) = &mapped {
        assert_eq!(loaded.as_ref().expect("what can be mapped can be loaded"), mapped);
    }
    drop(mapped);
    let _ = UnitRows::load_or_map(&path, &MemoryLimit::default());
    let Ok(rows) = loaded else { return };
    for row in rows.as_sparse().iter() {
        assert!(row.nnz() == 0 || (row.length() - 1.0).abs() <= docsphere::UNIT_TOLERANCE);
    }
    let again = folder.join("again.docsphere");
    rows.save(&again).expect("room for rows");
    assert_eq!(UnitRows::load(&again).expect("what was saved can be read"), rows);
    fs::remove_file(&again).expect("a file that is there");
    rows.save_open(&again).expect("room for rows");
    assert_eq!(UnitRows::open_mapped(&again).expect("what was saved can be mapped"), rows);
    fs::remove_file(&again).expect("a file that is there");
}

/// The form that is mapped with the checksums that its content has. `None` for a file that is too
/// short, or says that its arrays are elsewhere.
///
/// The layout is that of `crates/docsphere/src/vectors/open_rows.rs`.
fn resealed_open(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut file = bytes.to_vec();
    let number = |file: &[u8], place: usize| {
        let bytes = file.get(12 + 8 * place..20 + 8 * place)?;
        usize::try_from(u64::from_le_bytes(bytes.try_into().ok()?)).ok()
    };
    let [n_rows, offsets, terms, values, checksums] = [0, 5, 6, 7, 8].map(|place| number(&file, place));
    let header = crc32fast::hash(file.get(..HEADER)?);
    file.get_mut(HEADER..HEADER + 4)?.copy_from_slice(&header.to_le_bytes());
    // Few rows are in one block.
    let n_rows = n_rows.filter(|&n_rows| 0 < n_rows && n_rows <= BLOCK_ROWS)?;
    let ends_at = offsets?.checked_add(8)?;
    let ends = file.get(ends_at..ends_at.checked_add(8 * n_rows)?)?;
    let nnz = u64::from_le_bytes(ends[8 * (n_rows - 1)..].try_into().ok()?);
    let nnz_bytes = usize::try_from(nnz).ok()?.checked_mul(4)?;
    let part = |at: Option<usize>| file.get(at?..at?.checked_add(nnz_bytes)?).map(crc32fast::hash);
    let sums = [crc32fast::hash(ends), part(terms)?, part(values)?];
    let at = checksums?;
    for (number, sum) in sums.into_iter().enumerate() {
        file.get_mut(at + 4 * number..at + 4 * number + 4)?.copy_from_slice(&sum.to_le_bytes());
    }
    Some(file)
}

/// Rows in both forms, and no rows.
pub fn seeds(folder: &Path) -> Vec<Vec<u8>> {
    let rows: [&[(u32, f32)]; 4] = [&[(0, 1.0), (2, 2.0)], &[(1, -3.0)], &[], &[(1, 1.0), (4, 1.0)]];
    let path = folder.join("seed.docsphere");
    let mut seeds = Vec::new();
    for rows in [docsphere_testkit::rows_from(5, &rows), docsphere_testkit::rows_from(3, &[])] {
        rows.save(&path).expect("rows");
        seeds.push(crate::taken(&path));
        rows.save_open(&path).expect("rows");
        seeds.push(crate::taken(&path));
    }
    seeds
}
