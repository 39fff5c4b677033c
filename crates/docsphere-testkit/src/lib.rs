//! The standard against which docsphere's tests and measurements are checked. Never published; the
//! library does not use it.
//!
//! - [`mod@reference`]: the gold standard. A whole spherical k-means, one thread, slow and obvious,
//!   written from the definitions in `ARCHITECTURE.md` and not from the library's code.
//! - [`plain_seeding`]: the seeding draws by their definition, every document against every seed.
//! - [`edge_cases`]: a named collection of small inputs on which clustering programs go wrong.
//! - [`random_rows`]: small random rows with many duplicates and exact ties, for property tests.
//! - [`zipf`]: text-like rows of any size, for measurements.
//! - `parquet_files`, with the feature `parquet`: Parquet files of every kind.
//!
//! It uses only the rows of the library: a mistake in any later stage cannot be hidden by being
//! repeated here.
//!
//! ```
//! use docsphere_testkit::reference::{ReferenceParams, ReferenceStop, reference_fit};
//! use docsphere_testkit::rows_from;
//!
//! // Two documents about terms 0 and 1, two about terms 2 and 3.
//! let rows: [&[(u32, f32)]; 4] =
//!     [&[(0, 1.0)], &[(0, 3.0), (1, 1.0)], &[(2, 1.0), (3, 1.0)], &[(3, 1.0)]];
//! let rows = rows_from(4, &rows);
//! let fit = reference_fit(&rows, &ReferenceParams::given(vec![vec![(0, 1.0)], vec![(3, 1.0)]]));
//! assert_eq!(fit.labels, [0, 0, 1, 1]);
//! assert_eq!(fit.stop, ReferenceStop::NoLabelChanged);
//! ```

use docsphere::{SparseRows, UnitRows};

pub mod edge_cases;
mod fixed_point;
#[cfg(feature = "parquet")]
pub mod parquet_files;
mod plain_contest;
mod plain_merge;
pub mod plain_seeding;
pub mod random_rows;
pub mod reference;
pub mod zipf;

/// Unit rows over `n_terms` terms from lists of term and raw value.
///
/// # Panics
/// If the rows are not valid: a term id that is too large, a value that is not finite.
pub fn rows_from(n_terms: usize, rows: &[&[(u32, f32)]]) -> UnitRows<'static> {
    let mut offsets = vec![0];
    let mut terms = Vec::new();
    let mut values = Vec::new();
    for row in rows {
        terms.extend(row.iter().map(|&(term, _)| term));
        values.extend(row.iter().map(|&(_, value)| value));
        offsets.push(terms.len() as u64);
    }
    let rows = SparseRows::from_parts(n_terms, offsets, terms, values);
    UnitRows::new(rows.expect("the test's rows are valid"))
}

/// The examples of the README, run as tests. They are here because the library must not name a file
/// outside its folder: it would not be in its package.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct ReadmeExamples;
