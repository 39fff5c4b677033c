//! The assignment of docsphere on CUDA devices.
//!
//! [`Device`] is a device, or its emulation in tests; [`Engine`] holds rows, centroids and what is
//! known of each document on a device, and finds labels there; [`Pairs`] compares centroids with
//! each other. Labels and similarities are those of docsphere's definitions, bit for bit:
//! `kernels/scan.cu` has the bounds and their proof. [`Seeker`] finds the documents that new seeds
//! bring nearer.
//!
//! Nothing is linked: the driver, and NVRTC, which compiles the kernels, are loaded when a device
//! is opened. Without them, opening fails.
//!
//! This crate is a part of docsphere, and its interface changes with it.

mod arguments;
#[allow(unsafe_code)]
mod compile;
#[allow(unsafe_code)]
mod cuda;
mod device;
#[cfg(feature = "emulation")]
#[allow(unsafe_code)]
mod emulated;
mod engine;
mod error;

pub use compile::{ARCHITECTURES, kernel_image, source};
pub use device::{Device, Options, Transferred};
pub use engine::{
    Block, Changes, Compared, Counts, Deltas, Engine, Improved, Moves, Pairs, Rival, Seconds, Seeker, Sparse,
    Step,
};
pub use error::{Error, Result};
