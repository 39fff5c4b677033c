//! What the paper's strategies (`baseline`, `ncc`, `index`, `ncc-index`) share.

mod overlap;
mod scan;

pub(super) use overlap::OverlapIndex;
pub(super) use scan::Scan;
