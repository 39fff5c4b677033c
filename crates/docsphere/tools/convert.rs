//! Converts a matrix file from one format to another: `convert INPUT OUTPUT`.
//!
//! Formats and compression go by the names, as in [`docsphere::formats`]:
//!
//! ```text
//! cargo run --release --example convert -- tfidf.npz tfidf.mtx.gz
//! ```
//!
//! Prints the numbers of rows, terms and nonzeros. `tests/scipy_interop.py` runs it against SciPy
//! and scikit-learn.

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use docsphere::formats;

fn main() -> ExitCode {
    let arguments: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    let [input, output] = &arguments[..] else {
        eprintln!("usage: convert INPUT OUTPUT");
        return ExitCode::from(2);
    };
    match convert(input, output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn convert(input: &Path, output: &Path) -> docsphere::Result<()> {
    let rows = formats::read(input)?;
    formats::write(output, &rows)?;
    println!("{} {} {}", rows.n_rows(), rows.n_terms(), rows.nnz());
    Ok(())
}
