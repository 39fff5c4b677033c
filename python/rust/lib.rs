//! The Rust side of the Python package: arrays in, calls of the library, arrays out.
//!
//! Documentation, defaults, checks of scikit-learn's kind and its base classes are Python
//! (`src/docsphere/`). Here is only what Python cannot do by itself:
//!
//! | file | what |
//! |---|---|
//! | `matrix.rs` | compressed sparse rows from and to NumPy arrays, without a copy where the types allow it |
//! | `duplicates.rs` | rows that are copies of others |
//! | `fit.rs` | clustering, with the interpreter's lock released, and a callback |
//! | `distributed.rs` | workers and the coordinator of a cluster; Python carries their messages |
//! | `model.rs` | the class `Model` |
//! | `result.rs` | files of a result: the report page, whole folders |
//! | `score.rs` | clusters against known classes |
//! | `silhouette.rs` | the silhouettes of rows |
//! | `sweep.rs` | several numbers of clusters beside each other |
//! | `text.rs` | the class `TextModel`, and texts to rows |
//! | `threads.rs` | a call on a given number of threads, with the lock released |
//! | `command.rs` | the command `docsphere`, for `python -m docsphere` |
//! | `errors.rs` | errors of the library as exceptions |

mod command;
mod distributed;
mod duplicates;
mod errors;
mod fit;
mod matrix;
mod model;
mod result;
mod score;
mod silhouette;
mod sweep;
mod text;
mod threads;

use pyo3::prelude::*;

/// The compiled part of docsphere. Use the package `docsphere` instead.
#[pymodule]
mod _docsphere {
    use super::*;

    #[pymodule_export]
    use crate::command::run_command;
    #[pymodule_export]
    use crate::distributed::{CoordinatedFit, ShardWorker, coordinate};
    #[pymodule_export]
    use crate::duplicates::duplicates;
    #[pymodule_export]
    use crate::fit::{Fitted, algorithms, devices, fit, keep_kernels_in};
    #[pymodule_export]
    use crate::model::Model;
    #[pymodule_export]
    use crate::result::{read_result, render_result, write_report, write_result};
    #[pymodule_export]
    use crate::score::score;
    #[pymodule_export]
    use crate::silhouette::silhouette;
    #[pymodule_export]
    use crate::sweep::sweep;
    #[pymodule_export]
    use crate::text::{TextModel, fit_texts};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
