//! The device of the run that made a model, on which its centroids are compared, too.
//!
//! The results are those of the CPU, bit for bit. If the device fails, the CPU does it all again,
//! and the model remembers why.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::assign::{OpenDevice, forget_device};
use crate::error::{Error, Result};

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct LentDevice(Mutex<Lent>);

#[derive(Debug, Default)]
struct Lent {
    device: Option<OpenDevice>,
    /// Why it was left.
    left: Option<Error>,
}

impl LentDevice {
    pub(crate) fn new(device: Option<OpenDevice>) -> Self {
        LentDevice(Mutex::new(Lent { device, left: None }))
    }

    fn lent(&self) -> MutexGuard<'_, Lent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does some work on the device; `None` if there is none, or not any longer.
    pub(crate) fn try_on<T>(&self, work: impl FnOnce(&OpenDevice) -> Result<T>) -> Option<T> {
        // Not locked while it works.
        let device = self.lent().device.clone();
        match work(&device?) {
            Ok(done) => Some(done),
            Err(error) => {
                forget_device();
                *self.lent() = Lent { device: None, left: Some(error) };
                None
            }
        }
    }

    /// Why the device was left.
    pub(crate) fn left(&self) -> Option<String> {
        self.lent().left.as_ref().map(Error::to_string)
    }
}

impl Clone for LentDevice {
    fn clone(&self) -> Self {
        LentDevice::new(self.lent().device.clone())
    }
}

/// A model is the same wherever its centroids are compared.
impl PartialEq for LentDevice {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
