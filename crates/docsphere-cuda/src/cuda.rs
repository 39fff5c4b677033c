//! A GPU, through the CUDA driver, which is loaded when a device is opened.
//!
//! This module is where foreign code runs. Every operation goes to one stream, in order, so memory
//! is never freed, read or written before what was asked for earlier is done.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::{
    CudaContext, CudaEvent, CudaFunction, CudaSlice, CudaStream, DevicePtr, DeviceRepr, DriverError,
    LaunchConfig, PinnedHostSlice, PushKernelArg, result, sys,
};
use cudarc::nvrtc::Ptx;

use crate::arguments::{Kernel, NAMES};
use crate::compile::kernel_image;
use crate::device::Options;
use crate::error::{Error, Result};

/// The least compute capability: Turing.
const MIN_CAPABILITY: (u32, u32) = (7, 5);

pub(crate) struct Cuda {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    /// By number.
    functions: Vec<CudaFunction>,
    name: String,
    n_multiprocessors: u32,
    /// Whether the driver can tell the time between two events.
    tells_time: bool,
    staging: Mutex<Staging>,
}

/// Memory through which everything goes to the device: the device reads some parts of it by itself
/// while the host fills others. Copies from memory of other kinds would wait for the stream.
#[derive(Default)]
struct Staging {
    /// Those that nobody fills, the one that was sent first in front.
    parts: VecDeque<Part>,
    n_parts: usize,
}

struct Part {
    host: PinnedHostSlice<u8>,
    is_read: CudaEvent,
}

/// The size of a part: enough that threads share the work of filling it.
const PART_BYTES: usize = 2 << 20;

/// How many there are: the small arrays with which a step begins take one each.
const N_PARTS: usize = 8;

/// The first driver that has the function by which cudarc asks for the time between two events: it
/// panics if there is none.
const TELLS_TIME: i32 = 12_080;

/// Bytes on the device.
pub(crate) struct CudaMemory {
    slice: CudaSlice<u8>,
    address: u64,
}

/// Bytes of the host that the device can access.
pub(crate) struct CudaHost(PinnedHostSlice<u8>);

/// The arguments of a kernel.
struct Passed<A>(A);

// SAFETY: arguments are plain structs of numbers and addresses (`arguments.rs`), laid out as in C.
unsafe impl<A: Copy> DeviceRepr for Passed<A> {}

/// What a driver's error means.
fn failed(call: &'static str) -> impl Fn(DriverError) -> Error {
    move |error| Error::Driver { call, message: format!("{:?}", error.0) }
}

impl Cuda {
    pub(crate) fn open(options: &Options) -> Result<Cuda> {
        // SAFETY: only loads the library, whose name is the driver's.
        if !unsafe { cudarc::driver::sys::is_culib_present() } {
            return Err(Error::NoDriver);
        }
        let no_device = |error: DriverError| Error::NoDevice(format!("{:?}", error.0));
        result::init().map_err(no_device)?;
        let context = CudaContext::new(options.ordinal).map_err(no_device)?;
        // SAFETY: there is one stream, see the module.
        unsafe { context.disable_event_tracking() };
        let name = context.name().map_err(failed("a query"))?;
        let (major, minor) = context.compute_capability().map_err(failed("a query"))?;
        let capability = (major as u32, minor as u32);
        if capability < MIN_CAPABILITY {
            return Err(Error::TooOld { name, capability });
        }
        let attribute = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
        let n_multiprocessors = context.attribute(attribute).map_err(failed("a query"))? as u32;
        let image = kernel_image(capability, options.cache.as_deref())?;
        let module = context.load_module(Ptx::from_binary(image)).map_err(failed("loading the kernels"))?;
        let function = |name: &&str| module.load_function(name).map_err(failed("loading a kernel"));
        let functions = NAMES.iter().map(function).collect::<Result<Vec<CudaFunction>>>()?;
        let stream = context.new_stream().map_err(failed("making a stream"))?;
        let mut version = 0;
        // SAFETY: the driver writes one number.
        unsafe { sys::cuDriverGetVersion(&mut version) }.result().map_err(failed("a query"))?;
        let tells_time = version >= TELLS_TIME;
        let staging = Mutex::default();
        Ok(Cuda { context, stream, functions, name, n_multiprocessors, tells_time, staging })
    }

    pub(crate) fn name(&self) -> String {
        self.name.clone()
    }

    pub(crate) fn n_multiprocessors(&self) -> u32 {
        self.n_multiprocessors
    }

    pub(crate) fn free_bytes(&self) -> Result<usize> {
        self.context.bind_to_thread().map_err(failed("a query"))?;
        Ok(self.context.mem_get_info().map_err(failed("a query"))?.0)
    }

    pub(crate) fn memory(&self, bytes: usize) -> Result<CudaMemory> {
        let refused = |error: DriverError| match error.0 {
            sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY => Error::OutOfMemory { bytes },
            _ => failed("an allocation")(error),
        };
        // SAFETY: any bytes are values of the types that buffers have, and kernels write what they
        // read.
        let slice = unsafe { self.stream.alloc::<u8>(bytes.max(1)) }.map_err(refused)?;
        let address = slice.device_ptr(&self.stream).0;
        Ok(CudaMemory { slice, address })
    }

    pub(crate) fn host(&self, bytes: usize) -> Result<CudaHost> {
        // SAFETY: bytes may be anything. Cached, since the host reads and writes them often.
        let host = unsafe { self.context.alloc_pinned_with_flags::<u8>(bytes.max(1), 0) };
        host.map(CudaHost).map_err(failed("an allocation on the host"))
    }

    /// Sends so many bytes. `fill` writes those of a range, one range after the other.
    pub(crate) fn upload(
        &self,
        memory: &mut CudaMemory,
        n_bytes: usize,
        fill: &mut dyn FnMut(Range<usize>, &mut [u8]),
    ) -> Result<()> {
        for start in (0..n_bytes).step_by(PART_BYTES) {
            let end = n_bytes.min(start + PART_BYTES);
            let mut part = self.free_part()?;
            part.is_read.synchronize().map_err(failed("a copy to the device"))?;
            let host = part.host.as_mut_slice().map_err(failed("a copy to the device"))?;
            let bytes = &mut host[..end - start];
            fill(start..end, bytes);
            let (address, stream) = (memory.address + start as u64, self.stream.cu_stream());
            // SAFETY: there is room for these bytes on both sides, and the host's memory is not
            // touched before the event that follows, which whoever takes the part waits for.
            unsafe { result::memcpy_htod_async(address, bytes, stream) }
                .and_then(|()| part.is_read.record(&self.stream))
                .map_err(failed("a copy to the device"))?;
            self.staging().parts.push_back(part);
        }
        Ok(())
    }

    /// A part that the device has read, or will have once its event has come.
    fn free_part(&self) -> Result<Part> {
        let mut staging = self.staging();
        if staging.n_parts >= N_PARTS
            && let Some(part) = staging.parts.pop_front()
        {
            return Ok(part);
        }
        staging.n_parts += 1;
        let is_read = self.context.new_event(None).map_err(failed("an event"))?;
        Ok(Part { host: self.host(PART_BYTES)?.0, is_read })
    }

    fn staging(&self) -> MutexGuard<'_, Staging> {
        self.staging.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn download(&self, memory: &CudaMemory, start: usize, bytes: &mut [u8]) -> Result<()> {
        let view = memory.slice.slice(start..start + bytes.len());
        self.stream.memcpy_dtoh(&view, bytes).map_err(failed("a copy from the device"))?;
        self.wait()
    }

    pub(crate) fn download_host(&self, memory: &CudaMemory, host: &mut CudaHost, bytes: usize) -> Result<()> {
        let host = host.0.as_mut_slice().map_err(failed("a copy from the device"))?;
        // SAFETY: there is room for these bytes on both sides, and they are read after the wait.
        unsafe { result::memcpy_dtoh_async(&mut host[..bytes], memory.address, self.stream.cu_stream()) }
            .map_err(failed("a copy from the device"))?;
        self.wait()
    }

    pub(crate) fn clear(&self, memory: &mut CudaMemory, bytes: Range<usize>) -> Result<()> {
        let mut view = memory.slice.slice_mut(bytes);
        self.stream.memset_zeros(&mut view).map_err(failed("clearing memory"))
    }

    pub(crate) fn wait(&self) -> Result<()> {
        self.stream.synchronize().map_err(failed("waiting for the device"))
    }

    pub(crate) fn mark(&self) -> Result<CudaMark> {
        let flags = Some(sys::CUevent_flags::CU_EVENT_DEFAULT);
        let event = if self.tells_time { Some(self.stream.record_event(flags)) } else { None };
        event.transpose().map(CudaMark).map_err(failed("an event"))
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
        let size =
            LaunchConfig { grid_dim: (n_blocks, 1, 1), block_dim: (n_threads, 1, 1), shared_mem_bytes: 0 };
        let arguments = Passed(arguments);
        // SAFETY: the type of the arguments is the kernel's; the rest by the caller.
        let launched = unsafe {
            self.stream.launch_builder(&self.functions[kernel.number]).arg(&arguments).launch(size)
        };
        launched.map(drop).map_err(failed(NAMES[kernel.number]))
    }
}

/// A point in the order of the stream, if the driver can tell its time.
pub(crate) struct CudaMark(Option<CudaEvent>);

impl CudaMark {
    pub(crate) fn seconds_to(&self, later: &CudaMark) -> f64 {
        let (Some(from), Some(to)) = (&self.0, &later.0) else { return 0.0 };
        from.elapsed_ms(to).map_or(0.0, |ms| f64::from(ms) / 1e3)
    }
}

impl CudaMemory {
    pub(crate) fn address(&self) -> u64 {
        self.address
    }
}

impl CudaHost {
    pub(crate) fn bytes(&mut self) -> Result<&mut [u8]> {
        self.0.as_mut_slice().map_err(failed("waiting for the device"))
    }
}
