//! Search over the documents of a result in a browser: an index on disk, and a server over it.

pub(crate) mod answers;
mod asked;
mod connections;
pub(crate) mod edits;
mod expression;
pub(crate) mod hits;
pub(crate) mod hosts;
pub(crate) mod index;
pub(crate) mod server;
mod workers;
