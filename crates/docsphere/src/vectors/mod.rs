//! Stage 1: matrices in, unit rows out.
//!
//! [`SparseRows`] is any checked sparse matrix; [`UnitRows`] has rows of length one and is what the later stages take.
//! [`formats`] reads and writes the common file formats.

pub mod formats;
mod rows;
mod unit;
mod weights;

pub use rows::{MAX_ROWS, MAX_TERMS, Row, SparseRows};
pub use unit::{UNIT_TOLERANCE, UnitRows};
pub(crate) use weights::RowWeights;
