//! The counterpart of `cuda_enabled.rs` for builds without it: there is no device.

use super::{Assigner, AssignerSettings};
use crate::centroids::Centroids;
use crate::error::{ErrorKind, Result};
use crate::record::Device;
use crate::seeding::SeedDevice;

/// A device that is ready: none is.
#[derive(Clone, Debug)]
pub(crate) enum OpenDevice {}

impl OpenDevice {
    /// The same for seeding.
    pub(crate) fn for_seeding(&self) -> SeedDevice {
        match *self {}
    }
}

/// Opens a device; `None` for the CPU.
pub(crate) fn open(device: Device) -> Result<Option<OpenDevice>> {
    match device {
        Device::Cpu => Ok(None),
        Device::Auto | Device::Cuda => {
            let problem = "this build has no support for it (feature cuda)".to_owned();
            Err(ErrorKind::Device { device: "cuda", problem }.into())
        }
    }
}

pub(crate) fn forget() {}

/// The nearest other clusters of a cluster, and their similarities.
type Nearest = Vec<(u32, f64)>;

/// The similarities between centroids, on a device.
pub(crate) enum DevicePairs {}

impl OpenDevice {
    pub(crate) fn pairs(&self, _centroids: &Centroids) -> Result<DevicePairs> {
        match *self {}
    }
}

impl DevicePairs {
    pub(crate) fn compare(&mut self, _: &[u32], _: bool, _: impl FnMut(usize, usize, &[f64])) -> Result<()> {
        match *self {}
    }

    pub(crate) fn nearest(&mut self, _: &[u32], _: usize) -> Result<Option<Vec<Nearest>>> {
        match *self {}
    }
}

/// The strategy of a device.
pub(super) fn assigner(device: &OpenDevice, _settings: &AssignerSettings) -> Box<dyn Assigner> {
    match *device {}
}
