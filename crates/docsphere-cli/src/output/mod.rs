//! What a run leaves behind.

pub(crate) mod assignments;
pub(crate) mod clusters;
pub(crate) mod folder;
pub(crate) mod groups;
pub(crate) mod map;
pub(crate) mod names;
pub(crate) mod page;
pub(crate) mod reads;
pub(crate) mod remarks;
mod staging;
pub(crate) mod table;
pub(crate) mod trace;
pub(crate) mod whole_file;
