//! The device of the run that made a model, on which its centroids are compared, too.
//!
//! The results are those of the CPU, bit for bit. If the device fails, the CPU does it all again,
//! and the model remembers why.

use std::sync::{Mutex, PoisonError};

use crate::assign::{OpenDevice, forget_device};
use crate::error::{Error, Result};

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct LentDevice(Mutex<Lent>);

#[derive(Debug, Default)]
enum Lent {
    #[default]
    Nothing,
    Open(OpenDevice),
    /// Why it was left.
    Left(Error),
}

impl LentDevice {
    pub(crate) fn new(device: Option<OpenDevice>) -> Self {
        LentDevice(Mutex::new(device.map_or(Lent::Nothing, Lent::Open)))
    }

    fn open(&self) -> Option<OpenDevice> {
        match &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Lent::Open(device) => Some(device.clone()),
            _ => None,
        }
    }

    /// Does some work on the device; `None` if there is none, or not any longer.
    pub(crate) fn try_on<T>(&self, work: impl FnOnce(&OpenDevice) -> Result<T>) -> Option<T> {
        match work(&self.open()?) {
            Ok(done) => Some(done),
            Err(error) => {
                forget_device();
                *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Lent::Left(error);
                None
            }
        }
    }

    /// Why the device was left.
    pub(crate) fn left(&self) -> Option<String> {
        match &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Lent::Left(error) => Some(error.to_string()),
            _ => None,
        }
    }
}

impl Clone for LentDevice {
    fn clone(&self) -> Self {
        LentDevice::new(self.open())
    }
}

/// A model is the same wherever its centroids are compared.
impl PartialEq for LentDevice {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
