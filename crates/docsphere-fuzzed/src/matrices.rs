//! Bytes to a matrix, in every format: an error or rows, never a panic. Rows that were read are the
//! same after they have been written in any format and read again.
//!
//! The first byte says what the rest is: a file of one of the formats, or the arrays of a SciPy
//! matrix, of which an archive is made. (A fuzzer does not find the checksums of archives.)

use std::io::{Cursor, Write};
use std::path::Path;

use docsphere::formats::{self, Format, ReadOptions, npz};
use docsphere::{SparseRows, UnitRows};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// What comes between the arrays.
const BETWEEN: &[u8] = b"\n--\n";

const ARRAYS: [&str; 5] = ["format.npy", "shape.npy", "indptr.npy", "indices.npy", "data.npy"];

/// Larger matrices are not written again.
const FEW_TERMS: usize = 1 << 20;

/// Reads bytes as a matrix.
pub fn run(data: &[u8], folder: &Path) {
    let Some((&which, content)) = data.split_first() else { return };
    let which = usize::from(which) % (Format::ALL.len() + 1);
    let Some(&format) = Format::ALL.get(which) else {
        return read(&archive(content), Format::Npz, None, folder);
    };
    read(content, format, None, folder);
    if format == Format::Svmlight {
        read(content, format, Some(100), folder);
    }
}

/// An archive of arrays.
fn archive(arrays: &[u8]) -> Vec<u8> {
    let mut rest = arrays;
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for name in ARRAYS {
        let end = rest.windows(BETWEEN.len()).position(|bytes| bytes == BETWEEN).unwrap_or(rest.len());
        writer.start_file(name, stored).expect("a part");
        writer.write_all(&rest[..end]).expect("room for a part");
        rest = rest.get(end + BETWEEN.len()..).unwrap_or_default();
    }
    writer.finish().expect("an archive").into_inner()
}

fn read(content: &[u8], format: Format, n_terms: Option<usize>, folder: &Path) {
    let path = crate::file(folder, "matrix", content);
    let options = ReadOptions::default().format(format).n_terms(n_terms);
    let Ok(rows) = formats::read_with(&path, &options) else { return };
    check(&rows);
    if rows.n_terms() > FEW_TERMS || rows.n_rows() > FEW_TERMS {
        return;
    }
    for &other in Format::ALL.iter().filter(|&&other| other != Format::Rows) {
        // Some cannot hold every matrix: no rows, values that are no counts.
        if formats::write_as(&path, &rows, other).is_err() {
            continue;
        }
        let options = ReadOptions::default().format(other).n_terms(rows.n_terms());
        match formats::read_with(&path, &options) {
            Ok(again) => assert_eq!(again, rows, "{other}"),
            // Files that are refused although we write them: see `check_terms` and empty files.
            Err(error) => assert!(is_expected(&rows, other), "{other}: {error}"),
        }
    }
    let unit = UnitRows::new(rows);
    assert_eq!(UnitRows::new(unit.as_sparse().clone()), unit, "normalising twice is once");
}

/// Whether a format has no file for these rows that can be read.
fn is_expected(rows: &SparseRows<'_>, format: Format) -> bool {
    rows.n_rows() == 0 || (format == Format::Svmlight && rows.nnz() == 0)
}

/// Rows are as every later stage expects them.
fn check(rows: &SparseRows<'_>) {
    let mut nnz = 0;
    for row in rows.iter() {
        assert!(row.terms.is_sorted_by(|a, b| a < b));
        assert!(row.terms.iter().all(|&term| (term as usize) < rows.n_terms()));
        assert!(row.values.iter().all(|value| value.is_finite() && *value != 0.0));
        nnz += row.nnz();
    }
    assert_eq!(nnz, rows.nnz());
}

/// A matrix in every format, and as arrays.
pub fn seeds(folder: &Path) -> Vec<Vec<u8>> {
    let rows = docsphere_testkit::rows_from(5, &[&[(0, 1.0), (2, 1.0)], &[], &[(1, 3.0)], &[(4, 0.5)]]);
    let rows = rows.into_sparse();
    let mut seeds = Vec::new();
    for (which, &format) in Format::ALL.iter().enumerate() {
        let path = folder.join("seed");
        formats::write_as(&path, &rows, format).expect("room for a matrix");
        seeds.push([&[which as u8][..], &std::fs::read(&path).expect("the matrix")].concat());
    }
    let text = |which: u8, text: &str| [&[which][..], text.as_bytes()].concat();
    seeds.push(text(1, "%%MatrixMarket matrix coordinate integer symmetric\n% a\n3 3 2\n2 1 4\n3 3 -1\n"));
    seeds.push(text(1, "%%MatrixMarket matrix coordinate pattern general\n2 3 2\n1 3\n2 1\n"));
    seeds.push(text(2, "1 qid:3 1:0.5 7:1e-3 # a\n-1 2:3\n\n+1,2 3:4\n"));
    seeds.push(text(3, "2\n4\n3\n1 1 2\n1 4 1\n2 3 7\n"));
    seeds.push([&[Format::ALL.len() as u8][..], &arrays(&rows)].concat());
    seeds
}

/// The arrays of the archive of a matrix.
fn arrays(rows: &SparseRows<'_>) -> Vec<u8> {
    let mut file = Cursor::new(Vec::new());
    npz::write_to(&mut file, rows).expect("a matrix");
    let mut archive = zip::ZipArchive::new(file).expect("an archive");
    let mut parts = Vec::new();
    for name in ARRAYS {
        let mut array = Vec::new();
        std::io::copy(&mut archive.by_name(name).expect("an array"), &mut array).expect("an array");
        parts.push(array);
    }
    parts.join(BETWEEN)
}
