//! Bytes to documents: see `readers.rs`.
#![no_main]

use std::sync::LazyLock;

use docsphere_fuzz::{ScratchFile, readers};
use libfuzzer_sys::fuzz_target;

static PLACE: LazyLock<ScratchFile> = LazyLock::new(|| ScratchFile::new("json"));

fuzz_target!(|data: &[u8]| readers::read("json", data, PLACE.folder()));
