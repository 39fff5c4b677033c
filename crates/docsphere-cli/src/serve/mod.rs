//! Documents of a result, to be searched and paged through in a browser: an index on disk, and a server over it.

mod connections;
pub(crate) mod documents;
pub(crate) mod hosts;
pub(crate) mod server;
mod workers;
