//! The output of a run.

mod carried;
pub(crate) mod folder;
pub(crate) mod names;
pub(crate) mod reads;
pub(crate) mod remarks;
pub(crate) mod result;
pub(crate) mod result_lock;
pub(crate) mod shown;
mod staging;
pub(crate) mod sweep_shown;
pub(crate) mod table;
pub(crate) mod whole_file;
