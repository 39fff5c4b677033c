//! Stage 15: conversion to and from matrices of other crates, each behind its own feature.
//!
//! | feature | from | to |
//! |---|---|---|
//! | `sprs` | `CsMatViewI<f32, u32, u64>` without a copy; `CsMatView<f32>`, `CsMatView<f64>` | `CsMatI<f32, u32, u64>`, `CsMat<f32>` of rows and centroids |
//! | `ndarray` | `ArrayView2<f32>`, for example embeddings | |

#[cfg(feature = "ndarray")]
mod ndarray;
#[cfg(feature = "sprs")]
mod sprs;
