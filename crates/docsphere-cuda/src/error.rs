//! What can go wrong on a device.

/// The result of an operation on a device.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a device cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The driver's library is not on this machine.
    #[error("no CUDA driver was found")]
    NoDriver,
    /// The driver knows of no device.
    #[error("the CUDA driver has found no device ({0})")]
    NoDevice(String),
    /// NVRTC is not on this machine, and the kernels are not in the cache.
    #[error(
        "NVRTC was not found, which compiles the kernels: install the CUDA toolkit, or the Python \
         package nvidia-cuda-nvrtc, and put its folder on the path of shared libraries"
    )]
    NoCompiler,
    /// The device is too old.
    #[error("{name} has compute capability {}.{}, but at least 7.5 is needed", .capability.0, .capability.1)]
    TooOld {
        /// The name of the device.
        name: String,
        /// Its compute capability.
        capability: (u32, u32),
    },
    /// The kernels do not compile.
    #[error("the kernels could not be compiled: {0}")]
    Compiler(String),
    /// The memory of the device is full.
    #[error("the device has no room for {bytes} bytes more")]
    OutOfMemory {
        /// The size of what was asked for.
        bytes: usize,
    },
    /// The numbers of the kernels are too small for this.
    #[error("too many {what} for the device: {got}, at most {most} are possible")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many there are.
        got: usize,
        /// How many are possible.
        most: usize,
    },
    /// The driver reports an error: the device is lost, a kernel ran for too long, or the like.
    #[error("the CUDA driver failed in {call}: {message}")]
    Driver {
        /// The operation.
        call: &'static str,
        /// The driver's message.
        message: String,
    },
}
