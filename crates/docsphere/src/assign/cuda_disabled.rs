//! The counterpart of `cuda_enabled.rs` for builds without it: there is no device.

use super::{Assigner, AssignerSettings};
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

/// The strategy of a device.
pub(super) fn assigner(device: &OpenDevice, _settings: &AssignerSettings) -> Box<dyn Assigner> {
    match *device {}
}
