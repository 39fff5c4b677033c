//! The twin for builds without PNG, which refuses.

use super::Picture;
use crate::error::{ErrorKind, Result};
use crate::page::MapImage;

impl Picture {
    pub(crate) fn png(&self, _: Option<&[u8]>) -> Result<MapImage> {
        Err(ErrorKind::NotBuilt { what: "PNG", feature: "png", instead: "--svg" }.into())
    }
}
