//! Running sums on the device; see `kernels/sums.cu`.

#![allow(unsafe_code)]

use crate::arguments::{SUM_SPANS, SUM_SUMS, SUM_VALUES, SUMS_PER_THREAD, SumsArguments};
use crate::device::{Buffer, Device, Pointer};
use crate::error::Result;

/// See the [module](self).
#[derive(Default)]
pub(super) struct RunningSums {
    spans: Buffer<u32>,
}

impl RunningSums {
    /// Replaces each of so many values by the sum of those before it.
    ///
    /// # Safety
    /// There are so many values on the device.
    pub(super) unsafe fn replace(&mut self, device: &Device, values: Pointer<u32>, n: usize) -> Result<()> {
        let n_threads = device.shape().threads;
        let n_spans = n.div_ceil(n_threads as usize * SUMS_PER_THREAD);
        device.reserve(&mut self.spans, n_spans + 1)?;
        let sums = self.spans.pointer();
        let values = SumsArguments { values, sums, n_values: n as u64 };
        // SAFETY: the values by the caller; there is a sum for every span, and one more.
        unsafe {
            device.launch(&SUM_SPANS, n_spans as u32, n_threads, values)?;
            let spans = SumsArguments { n_values: n_spans as u64, ..values };
            device.launch(&SUM_SUMS, 1, n_threads, spans)?;
            device.launch(&SUM_VALUES, n_spans as u32, n_threads, values)
        }
    }
}
