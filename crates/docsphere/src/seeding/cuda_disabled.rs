//! The counterpart of `cuda_enabled.rs` for builds without it: there is no device.

use super::pooled::Improved;
use crate::error::Result;
use crate::vectors::{Row, UnitRows};

/// A device on which documents may be searched: there is none.
pub(crate) enum SeedDevice {}

/// See the [module](self).
pub(super) enum DeviceSearch {}

impl DeviceSearch {
    pub(super) fn new(device: &SeedDevice, _rows: &UnitRows<'_>) -> Result<Self> {
        match *device {}
    }

    pub(super) fn raise(&mut self, _improved: &[Improved]) {
        match *self {}
    }

    pub(super) fn improved<T>(
        &mut self,
        _seeds: &[Row<'_>],
        _meanwhile: impl FnOnce() -> T,
    ) -> (Result<Vec<Vec<Improved>>>, T) {
        match *self {}
    }
}
