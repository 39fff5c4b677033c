//! The kernels on the CPU (`kernels/emulated.h`), for tests.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use crate::arguments::{Kernel, NAMES};
use crate::error::{Error, Result};

type Emulated = unsafe extern "C" fn(*const c_void, u32, u32);

macro_rules! emulated {
    ($($name:ident, $size:ident;)*) => {
        unsafe extern "C" {
            $(fn $name(arguments: *const c_void, n_blocks: u32, n_threads: u32);)*
        }

        #[cfg(test)]
        unsafe extern "C" {
            $(fn $size() -> usize;)*
        }

        /// By number.
        const FUNCTIONS: &[Emulated] = &[$($name),*];

        #[cfg(test)]
        const SIZES: &[unsafe extern "C" fn() -> usize] = &[$($size),*];
    };
}

// In the order of the kernels' numbers.
emulated! {
    emulated_open_documents, size_of_open_documents;
    emulated_relabel_documents, size_of_relabel_documents;
    emulated_own_similarities, size_of_own_similarities;
    emulated_choose_documents, size_of_choose_documents;
    emulated_scan_narrow, size_of_scan_narrow;
    emulated_scan_wide, size_of_scan_wide;
    emulated_scan_rivals, size_of_scan_rivals;
    emulated_compare_all, size_of_compare_all;
    emulated_compare_rivals, size_of_compare_rivals;
    emulated_count_postings, size_of_count_postings;
    emulated_choose_rows, size_of_choose_rows;
    emulated_clear_rows, size_of_clear_rows;
    emulated_measure_rows, size_of_measure_rows;
    emulated_fill_postings, size_of_fill_postings;
    emulated_sum_spans, size_of_sum_spans;
    emulated_sum_sums, size_of_sum_sums;
    emulated_sum_values, size_of_sum_values;
    emulated_count_dirty, size_of_count_dirty;
    emulated_collect_dirty, size_of_collect_dirty;
    emulated_gather_centroids, size_of_gather_centroids;
    emulated_raise_best, size_of_raise_best;
    emulated_find_improved, size_of_find_improved;
    emulated_sum_moves, size_of_sum_moves;
    emulated_count_pairs, size_of_count_pairs;
    emulated_fill_pairs, size_of_fill_pairs;
    emulated_compare_pairs, size_of_compare_pairs;
    emulated_nearest_pairs, size_of_nearest_pairs;
}

const _: () = assert!(FUNCTIONS.len() == NAMES.len());

pub(crate) struct Emulation {
    n_bytes: usize,
    used: Arc<AtomicUsize>,
    /// How many launches are left before the device is lost.
    launches_left: AtomicU64,
}

/// Bytes of the device.
pub(crate) struct EmulatedMemory {
    words: Box<[UnsafeCell<u64>]>,
    used: Arc<AtomicUsize>,
}

// SAFETY: only the kernels write through addresses, and whoever launches them sees to it that
// nothing else touches the memory meanwhile.
unsafe impl Send for EmulatedMemory {}
// SAFETY: as above.
unsafe impl Sync for EmulatedMemory {}

impl Emulation {
    pub(crate) fn new(n_bytes: usize, launches: u64) -> Self {
        Emulation { n_bytes, used: Arc::default(), launches_left: AtomicU64::new(launches) }
    }

    pub(crate) fn free_bytes(&self) -> usize {
        self.n_bytes.saturating_sub(self.used.load(Relaxed))
    }

    pub(crate) fn memory(&self, bytes: usize) -> Result<EmulatedMemory> {
        if bytes > self.free_bytes() {
            return Err(Error::OutOfMemory { bytes });
        }
        self.used.fetch_add(bytes.div_ceil(8) * 8, Relaxed);
        // Not 0: a kernel that reads what nobody wrote shall not look right.
        let words = (0..bytes.div_ceil(8)).map(|_| UnsafeCell::new(0x9e37_79b9_7f4a_7c15)).collect();
        Ok(EmulatedMemory { words, used: Arc::clone(&self.used) })
    }

    pub(crate) fn upload(&self, memory: &mut EmulatedMemory, bytes: &[u8]) -> Result<()> {
        memory.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    pub(crate) fn download(&self, memory: &EmulatedMemory, start: usize, bytes: &mut [u8]) -> Result<()> {
        if self.launches_left.load(Relaxed) == 0 {
            return Err(lost());
        }
        bytes.copy_from_slice(&memory.bytes()[start..start + bytes.len()]);
        Ok(())
    }

    pub(crate) fn clear(&self, memory: &mut EmulatedMemory, bytes: Range<usize>) -> Result<()> {
        memory.bytes_mut()[bytes].fill(0);
        Ok(())
    }

    /// # Safety
    /// As [`Device::launch`](crate::Device).
    pub(crate) unsafe fn launch<A: Copy>(
        &self,
        kernel: &Kernel<A>,
        n_blocks: u32,
        n_threads: u32,
        arguments: A,
    ) -> Result<()> {
        let less = |left: u64| left.checked_sub(1);
        if self.launches_left.fetch_update(Relaxed, Relaxed, less).is_err() {
            return Err(lost());
        }
        // SAFETY: the type of the arguments is the kernel's; the rest by the caller.
        unsafe { FUNCTIONS[kernel.number]((&raw const arguments).cast(), n_blocks, n_threads) };
        Ok(())
    }
}

fn lost() -> Error {
    Error::Driver { call: "a launch", message: "the emulated device is lost".to_owned() }
}

impl EmulatedMemory {
    pub(crate) fn address(&self) -> u64 {
        self.words.as_ptr() as u64
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: words have no padding, any bytes are a value, and no kernel runs.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.words.len() * 8) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above; and nobody else has the memory.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), self.words.len() * 8) }
    }
}

impl Drop for EmulatedMemory {
    fn drop(&mut self) {
        self.used.fetch_sub(self.words.len() * 8, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::*;

    #[test]
    fn both_sides_lay_out_arguments_alike() {
        // SAFETY: the functions only return a number.
        let sizes: Vec<usize> = SIZES.iter().map(|size| unsafe { size() }).collect();
        let [rows, scan] = [size_of::<OpenArguments>(), size_of::<ScanArguments>()];
        let postings = size_of::<PostingsArguments>();
        let [sums, collect] = [size_of::<SumsArguments>(), size_of::<CollectArguments>()];
        let [relabel, own] = [size_of::<RelabelArguments>(), size_of::<OwnArguments>()];
        let pairs = size_of::<PairsArguments>();
        let [choose, gather] = [size_of::<ChooseArguments>(), size_of::<GatherArguments>()];
        let [raise, find] = [size_of::<RaiseArguments>(), size_of::<FindArguments>()];
        let moves = size_of::<MovesArguments>();
        let expected = [
            rows, relabel, own, choose, scan, scan, scan, scan, scan, postings, postings, postings, postings,
            postings, sums, sums, sums, collect, collect, gather, raise, find, moves, pairs, pairs, pairs,
            pairs,
        ];
        assert_eq!(sizes, expected);
    }
}
