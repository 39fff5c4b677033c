//! Available and allowed vector instructions.

use serde::{Deserialize, Serialize};

use crate::names::impl_names;

/// Which vector instructions the library may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Simd {
    /// The widest that the machine has.
    #[default]
    Auto,
    /// None beyond the build's target.
    Scalar,
    /// x86-64 with AVX2.
    Avx2,
    /// x86-64 with AVX-512 F and BW.
    Avx512,
    /// AArch64.
    Neon,
}

impl Simd {
    /// All values.
    pub const ALL: &'static [Simd] = &[Simd::Auto, Simd::Scalar, Simd::Avx2, Simd::Avx512, Simd::Neon];

    /// The name in messages and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Simd::Auto => "auto",
            Simd::Scalar => "scalar",
            Simd::Avx2 => "avx2",
            Simd::Avx512 => "avx512",
            Simd::Neon => "neon",
        }
    }

    /// Whether this machine has these instructions.
    pub fn is_available(self) -> bool {
        Level::of(self).is_some()
    }
}

impl_names!(Simd, "simd");

/// Instructions that this machine has. Only [`Level::of`] makes one, after detecting them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Level(pub(super) Simd);

impl Level {
    /// The level for a request; `None` if the machine does not support it.
    pub(crate) fn of(wish: Simd) -> Option<Self> {
        let has = match wish {
            Simd::Auto => {
                return [Simd::Avx512, Simd::Avx2, Simd::Neon, Simd::Scalar].into_iter().find_map(Level::of);
            }
            Simd::Scalar => true,
            #[cfg(target_arch = "x86_64")]
            Simd::Avx2 => is_x86_feature_detected!("avx2"),
            #[cfg(target_arch = "x86_64")]
            Simd::Avx512 => is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw"),
            // Every AArch64 machine has it.
            #[cfg(target_arch = "aarch64")]
            Simd::Neon => true,
            #[allow(unreachable_patterns)]
            _ => false,
        };
        has.then_some(Level(wish))
    }
}
