//! What the programs share: each is one line.

pub use docsphere_fuzzed::{ScratchFile, target};
pub use libfuzzer_sys::fuzz_target;

/// The program of a target.
#[macro_export]
macro_rules! target {
    ($name:literal) => {
        static PLACE: std::sync::LazyLock<$crate::ScratchFile> =
            std::sync::LazyLock::new(|| $crate::ScratchFile::new($name));

        $crate::fuzz_target!(|data: &[u8]| ($crate::target($name).run)(data, PLACE.folder()));
    };
}
