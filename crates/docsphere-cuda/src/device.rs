//! A device: its memory, transfers and launches, on a GPU or in the emulation.
//!
//! All work of a device is done in the order of the calls. Uploads and launches return at once;
//! downloads wait.

use std::marker::PhantomData;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use bytemuck::Pod;
use rayon::prelude::*;

use crate::arguments::{Kernel, Shape};
use crate::cuda::{Cuda, CudaHost, CudaMark, CudaMemory};
#[cfg(feature = "emulation")]
use crate::emulated::{EmulatedMemory, Emulation};
use crate::error::Result;

/// How to open a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The number of the device, as the driver counts.
    pub ordinal: usize,
    /// The folder in which compiled kernels are kept; `None` to compile them each time.
    pub cache: Option<PathBuf>,
}

/// A device that is ready to work.
pub struct Device {
    machine: Machine,
    /// Bytes that went to the device and came from it.
    sent: AtomicU64,
    received: AtomicU64,
}

/// Bytes that were transferred.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transferred {
    /// To the device.
    pub sent: u64,
    /// From the device.
    pub received: u64,
}

enum Machine {
    Cuda(Cuda),
    #[cfg(feature = "emulation")]
    Emulated(Emulation),
}

impl Device {
    /// Opens a GPU.
    ///
    /// # Errors
    /// All that [`Error`](crate::Error) says.
    pub fn open(options: &Options) -> Result<Device> {
        Ok(Device::with(Machine::Cuda(Cuda::open(options)?)))
    }

    /// The kernels on the CPU, for tests. Pretends to have so many bytes of memory; after that many
    /// launches, every operation fails.
    #[cfg(feature = "emulation")]
    pub fn emulated(bytes: usize, launches: u64) -> Device {
        Device::with(Machine::Emulated(Emulation::new(bytes, launches)))
    }

    fn with(machine: Machine) -> Device {
        Device { machine, sent: AtomicU64::new(0), received: AtomicU64::new(0) }
    }

    /// Bytes that were transferred so far.
    pub fn transferred(&self) -> Transferred {
        Transferred { sent: self.sent.load(Relaxed), received: self.received.load(Relaxed) }
    }

    /// The name of the device.
    pub fn name(&self) -> String {
        match &self.machine {
            Machine::Cuda(cuda) => cuda.name(),
            #[cfg(feature = "emulation")]
            Machine::Emulated(_) => "emulation".to_owned(),
        }
    }

    /// Bytes that are free.
    pub(crate) fn free_bytes(&self) -> Result<usize> {
        match &self.machine {
            Machine::Cuda(cuda) => cuda.free_bytes(),
            #[cfg(feature = "emulation")]
            Machine::Emulated(emulation) => Ok(emulation.free_bytes()),
        }
    }

    pub(crate) fn shape(&self) -> Shape {
        match &self.machine {
            Machine::Cuda(_) => Shape::CUDA,
            #[cfg(feature = "emulation")]
            Machine::Emulated(_) => Shape::EMULATED,
        }
    }

    /// Blocks of a launch whose threads take work until none is left.
    pub(crate) fn n_blocks(&self, per_multiprocessor: u32) -> u32 {
        match &self.machine {
            Machine::Cuda(cuda) => cuda.n_multiprocessors() * per_multiprocessor,
            #[cfg(feature = "emulation")]
            Machine::Emulated(_) => 3.min(per_multiprocessor),
        }
    }

    /// Nonzeros of moved documents from which on the device adds them up faster than the CPU.
    pub(crate) fn least_moved(&self) -> usize {
        match &self.machine {
            Machine::Cuda(_) => 1 << 18,
            #[cfg(feature = "emulation")]
            Machine::Emulated(_) => 8,
        }
    }

    /// Memory for so many values, whatever they are.
    fn memory(&self, bytes: usize) -> Result<Memory> {
        Ok(match &self.machine {
            Machine::Cuda(cuda) => Memory::Cuda(cuda.memory(bytes)?),
            #[cfg(feature = "emulation")]
            Machine::Emulated(emulation) => Memory::Emulated(emulation.memory(bytes)?),
        })
    }

    /// Makes room for so many values. What was there before is lost if there is more to come than
    /// there was room for.
    pub(crate) fn reserve<T: Pod>(&self, buffer: &mut Buffer<T>, n: usize) -> Result<()> {
        if buffer.capacity < n {
            // First the old memory, then the new.
            *buffer = Buffer::default();
            let capacity = n + n / 4;
            buffer.memory = Some(self.memory(capacity * size_of::<T>())?);
            buffer.capacity = capacity;
        }
        Ok(())
    }

    /// Memory for exactly so many values.
    pub(crate) fn exactly<T: Pod>(&self, n: usize) -> Result<Buffer<T>> {
        let memory = Some(self.memory(n * size_of::<T>())?);
        Ok(Buffer { memory, capacity: n, values: PhantomData })
    }

    /// Copies values to the beginning of a buffer, which gets room for them.
    pub(crate) fn upload<T: Pod + Send + Sync>(&self, buffer: &mut Buffer<T>, values: &[T]) -> Result<()> {
        const TASK_VALUES: usize = 1 << 15;
        self.upload_filled(buffer, values.len(), |range, part| {
            let pairs = part.par_chunks_mut(TASK_VALUES).zip(values[range].par_chunks(TASK_VALUES));
            pairs.for_each(|(part, values)| part.copy_from_slice(values));
        })
    }

    /// Writes so many values to the beginning of a buffer, which gets room for them. `fill` writes
    /// those of a range to memory of the host, one range after the other.
    pub(crate) fn upload_filled<T: Pod>(
        &self,
        buffer: &mut Buffer<T>,
        n: usize,
        fill: impl Fn(Range<usize>, &mut [T]),
    ) -> Result<()> {
        self.reserve(buffer, n.max(1))?;
        let size = size_of::<T>();
        self.sent.fetch_add((n * size) as u64, Relaxed);
        match (&self.machine, buffer.memory.as_mut().expect("reserved")) {
            (Machine::Cuda(cuda), Memory::Cuda(memory)) => {
                cuda.upload(memory, n * size, &mut |bytes, part| {
                    fill(bytes.start / size..bytes.end / size, bytemuck::cast_slice_mut(part));
                })
            }
            #[cfg(feature = "emulation")]
            (Machine::Emulated(emulation), Memory::Emulated(memory)) => {
                // Small parts, so that there are several.
                const PART: usize = 50;
                let mut values = vec![T::zeroed(); n];
                let parts = values.chunks_mut(PART).enumerate();
                parts.for_each(|(at, part)| fill(at * PART..at * PART + part.len(), part));
                emulation.upload(memory, bytemuck::cast_slice(&values))
            }
            #[cfg(feature = "emulation")]
            _ => unreachable!("memory of another device"),
        }
    }

    /// Copies the first values of a buffer to the host.
    pub(crate) fn download<T: Pod>(&self, buffer: &Buffer<T>, values: &mut [T]) -> Result<()> {
        self.download_from(buffer, 0, values)
    }

    /// The same for those from a place on.
    pub(crate) fn download_from<T: Pod>(
        &self,
        buffer: &Buffer<T>,
        start: usize,
        values: &mut [T],
    ) -> Result<()> {
        let (bytes, start) = (bytemuck::cast_slice_mut(values), start * size_of::<T>());
        self.received.fetch_add(bytes.len() as u64, Relaxed);
        match (&self.machine, buffer.memory.as_ref()) {
            (Machine::Cuda(cuda), Some(Memory::Cuda(memory))) => cuda.download(memory, start, bytes),
            #[cfg(feature = "emulation")]
            (Machine::Emulated(emulation), Some(Memory::Emulated(memory))) => {
                emulation.download(memory, start, bytes)
            }
            _ => Ok(()),
        }
    }

    /// The same to memory that the device can write by itself.
    pub(crate) fn download_host<T: Pod>(
        &self,
        buffer: &Buffer<T>,
        host: &mut Host<T>,
        n: usize,
    ) -> Result<()> {
        self.reserve_host(host, n)?;
        self.received.fetch_add((n * size_of::<T>()) as u64, Relaxed);
        match (&self.machine, buffer.memory.as_ref(), &mut host.memory) {
            (Machine::Cuda(cuda), Some(Memory::Cuda(memory)), Some(HostMemory::Cuda(host))) => {
                cuda.download_host(memory, host, n * size_of::<T>())
            }
            #[cfg(feature = "emulation")]
            (Machine::Emulated(emulation), Some(Memory::Emulated(memory)), Some(HostMemory::Plain(host))) => {
                emulation.download(memory, 0, &mut bytemuck::cast_slice_mut(host)[..n * size_of::<T>()])
            }
            _ => Ok(()),
        }
    }

    /// Sets the first values of a buffer to 0.
    pub(crate) fn clear<T: Pod>(&self, buffer: &mut Buffer<T>, range: Range<usize>) -> Result<()> {
        let bytes = range.start * size_of::<T>()..range.end * size_of::<T>();
        match (&self.machine, buffer.memory.as_mut()) {
            (Machine::Cuda(cuda), Some(Memory::Cuda(memory))) => cuda.clear(memory, bytes),
            #[cfg(feature = "emulation")]
            (Machine::Emulated(emulation), Some(Memory::Emulated(memory))) => emulation.clear(memory, bytes),
            _ => Ok(()),
        }
    }

    /// Makes room for so many values in memory of the host that the device can access by itself.
    pub(crate) fn reserve_host<T: Pod>(&self, host: &mut Host<T>, n: usize) -> Result<()> {
        if host.capacity < n || host.memory.is_none() {
            host.memory = None;
            let capacity = n + n / 4 + 1;
            let bytes = capacity * size_of::<T>();
            host.memory = Some(match &self.machine {
                Machine::Cuda(cuda) => HostMemory::Cuda(cuda.host(bytes)?),
                #[cfg(feature = "emulation")]
                Machine::Emulated(_) => HostMemory::Plain(vec![0; bytes.div_ceil(8)]),
            });
            host.capacity = capacity;
        }
        Ok(())
    }

    /// The values of such memory, once the device is done with it.
    pub(crate) fn host_values<'h, T: Pod>(&self, host: &'h mut Host<T>) -> Result<&'h mut [T]> {
        Ok(match &mut host.memory {
            Some(HostMemory::Cuda(memory)) => bytemuck::cast_slice_mut(memory.bytes()?),
            #[cfg(feature = "emulation")]
            Some(HostMemory::Plain(memory)) => bytemuck::cast_slice_mut(memory),
            None => &mut [],
        })
    }

    /// Waits until everything is done.
    pub(crate) fn wait(&self) -> Result<()> {
        match &self.machine {
            Machine::Cuda(cuda) => cuda.wait(),
            #[cfg(feature = "emulation")]
            Machine::Emulated(_) => Ok(()),
        }
    }

    /// A point in the order of the work.
    pub(crate) fn mark(&self) -> Result<Mark> {
        Ok(match &self.machine {
            Machine::Cuda(cuda) => Mark::Cuda(cuda.mark()?),
            #[cfg(feature = "emulation")]
            Machine::Emulated(_) => Mark::Emulated(std::time::Instant::now()),
        })
    }

    /// Runs a kernel, with so many blocks of so many threads.
    ///
    /// # Safety
    /// The arguments point to memory of this device that is large enough for the kernel, and that
    /// lives until the next download has ended. The kernel's writes do not overlap with what others
    /// read at the same time.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn launch<A: Copy>(
        &self,
        kernel: &Kernel<A>,
        n_blocks: u32,
        n_threads: u32,
        arguments: A,
    ) -> Result<()> {
        if n_blocks == 0 {
            return Ok(());
        }
        // SAFETY: by the caller.
        unsafe {
            match &self.machine {
                Machine::Cuda(cuda) => cuda.launch(kernel, n_blocks, n_threads, arguments),
                #[cfg(feature = "emulation")]
                Machine::Emulated(emulation) => emulation.launch(kernel, n_blocks, n_threads, arguments),
            }
        }
    }
}

/// A point in the order of a device's work.
pub(crate) enum Mark {
    Cuda(CudaMark),
    #[cfg(feature = "emulation")]
    Emulated(std::time::Instant),
}

impl Mark {
    /// The seconds to a later mark, once the device has been waited for; 0 if the driver cannot
    /// tell.
    pub(crate) fn seconds_to(&self, later: &Mark) -> f64 {
        match (self, later) {
            (Mark::Cuda(from), Mark::Cuda(to)) => from.seconds_to(to),
            #[cfg(feature = "emulation")]
            (Mark::Emulated(from), Mark::Emulated(to)) => to.duration_since(*from).as_secs_f64(),
            #[cfg(feature = "emulation")]
            _ => unreachable!("marks of different devices"),
        }
    }
}

/// Where an array is on a device.
#[repr(transparent)]
pub(crate) struct Pointer<T>(u64, PhantomData<fn(T)>);

impl<T> Clone for Pointer<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Pointer<T> {}

impl<T> Pointer<T> {
    /// No array.
    pub(crate) const NULL: Pointer<T> = Pointer(0, PhantomData);

    /// The array that begins so many values later.
    pub(crate) fn plus(self, n: usize) -> Self {
        Pointer(self.0 + (n * size_of::<T>()) as u64, PhantomData)
    }
}

/// An array on a device.
pub(crate) struct Buffer<T> {
    memory: Option<Memory>,
    capacity: usize,
    values: PhantomData<T>,
}

enum Memory {
    Cuda(CudaMemory),
    #[cfg(feature = "emulation")]
    Emulated(EmulatedMemory),
}

impl<T> Default for Buffer<T> {
    fn default() -> Self {
        Buffer { memory: None, capacity: 0, values: PhantomData }
    }
}

impl<T> Buffer<T> {
    pub(crate) fn pointer(&self) -> Pointer<T> {
        let address = match &self.memory {
            Some(Memory::Cuda(memory)) => memory.address(),
            #[cfg(feature = "emulation")]
            Some(Memory::Emulated(memory)) => memory.address(),
            None => 0,
        };
        Pointer(address, PhantomData)
    }
}

/// An array on the host to and from which the device copies by itself.
pub(crate) struct Host<T> {
    memory: Option<HostMemory>,
    capacity: usize,
    values: PhantomData<T>,
}

enum HostMemory {
    Cuda(CudaHost),
    #[cfg(feature = "emulation")]
    Plain(Vec<u64>),
}

impl<T> Default for Host<T> {
    fn default() -> Self {
        Host { memory: None, capacity: 0, values: PhantomData }
    }
}

impl<T> Host<T> {
    /// Bytes on the host.
    pub(crate) fn bytes(&self) -> usize {
        self.capacity * size_of::<T>()
    }
}
