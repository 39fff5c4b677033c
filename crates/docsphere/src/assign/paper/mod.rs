//! Code shared by the paper's strategies (`baseline`, `ncc`, `index`, `ncc-index`).

mod overlap;
mod scan;

pub(super) use overlap::OverlapIndex;
pub(super) use scan::Scan;
