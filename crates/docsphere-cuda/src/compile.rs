//! The kernels as an image for one architecture: from the cache, or compiled by NVRTC.
//!
//! NVRTC takes seconds, so images are kept on disk. The name of a file has a checksum of everything
//! that the image depends on, and the file one of the image: a damaged file is compiled again.

use std::ffi::CString;
use std::path::Path;
use std::{fs, io};

use cudarc::nvrtc::{result, sys};

use crate::error::{Error, Result};

/// The compute capabilities for which kernels are tested to compile: Turing, Ampere, Ada, Hopper,
/// Blackwell.
pub const ARCHITECTURES: &[(u32, u32)] = &[(7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (12, 0)];

/// The files of the kernels, each after those that it includes.
const FILES: &[&str] = &[
    include_str!("../kernels/device.h"),
    include_str!("../kernels/arguments.h"),
    include_str!("../kernels/similarity.h"),
    include_str!("../kernels/documents.cu"),
    include_str!("../kernels/postings.cu"),
    include_str!("../kernels/sums.cu"),
    include_str!("../kernels/centroids.cu"),
    include_str!("../kernels/collect.cu"),
    include_str!("../kernels/deltas.cu"),
    include_str!("../kernels/pairs.cu"),
    include_str!("../kernels/scan.cu"),
    include_str!("../kernels/seeds.cu"),
];

/// All kernels as one source.
pub fn source() -> String {
    let mut source = String::new();
    for line in FILES.iter().flat_map(|file| file.lines()) {
        // Only the emulation needs other files.
        if !line.starts_with("#include \"") && line != "#pragma once" {
            source.push_str(line);
            source.push('\n');
        }
    }
    source
}

/// The kernels for a compute capability.
///
/// # Errors
/// [`Error::NoCompiler`] if they are not in the cache, and NVRTC is not on this machine;
/// [`Error::Compiler`].
pub fn kernel_image(capability: (u32, u32), cache: Option<&Path>) -> Result<Vec<u8>> {
    let source = source();
    let options = [
        format!("--gpu-architecture=sm_{}{}", capability.0, capability.1),
        "--std=c++17".to_owned(),
        "--device-as-default-execution-space".to_owned(),
    ];
    let key = crc32fast::hash(format!("{options:?}{source}").as_bytes());
    let file =
        cache.map(|folder| folder.join(format!("kernels-sm{}{}-{key:08x}", capability.0, capability.1)));
    if let Some(image) = file.as_deref().and_then(read) {
        return Ok(image);
    }
    let image = compiled(&source, &options)?;
    // A cache that cannot be written costs time, nothing else.
    if let Some(file) = file {
        let _ = write(&file, &image);
    }
    Ok(image)
}

/// The image in a file; `None` if there is none, or if it is damaged.
fn read(file: &Path) -> Option<Vec<u8>> {
    let mut image = fs::read(file).ok()?;
    let checksum = u32::from_le_bytes(*image.last_chunk()?);
    image.truncate(image.len() - 4);
    (crc32fast::hash(&image) == checksum).then_some(image)
}

/// Writes a file that appears whole, or not at all.
fn write(file: &Path, image: &[u8]) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let unfinished = file.with_extension(std::process::id().to_string());
    let bytes = [image, &crc32fast::hash(image).to_le_bytes()].concat();
    let written = fs::write(&unfinished, bytes).and_then(|()| fs::rename(&unfinished, file));
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    written
}

fn compiled(source: &str, options: &[String]) -> Result<Vec<u8>> {
    // SAFETY: only loads the library, whose name is NVRTC's.
    if !unsafe { sys::is_culib_present() } {
        return Err(Error::NoCompiler);
    }
    let failed = |error: result::NvrtcError| Error::Compiler(error.to_string());
    let text = CString::new(source).expect("the kernels are text");
    let program = result::create_program(&text, Some(c"docsphere.cu")).map_err(failed)?;
    // SAFETY: the program was created above, and is destroyed once, after its last use; the source
    // outlives it.
    unsafe {
        let image = match result::compile_program(program, options) {
            Ok(()) => image_of(program).map_err(failed),
            Err(_) => Err(Error::Compiler(log_of(program))),
        };
        let _ = result::destroy_program(program);
        image
    }
}

/// The image of a compiled program.
///
/// # Safety
/// The program exists, and has been compiled.
unsafe fn image_of(program: sys::nvrtcProgram) -> std::result::Result<Vec<u8>, result::NvrtcError> {
    let mut size = 0;
    // SAFETY: by the caller; NVRTC writes as many bytes as it has said.
    unsafe {
        sys::nvrtcGetCUBINSize(program, &mut size).result()?;
        let mut image = vec![0u8; size];
        sys::nvrtcGetCUBIN(program, image.as_mut_ptr().cast()).result()?;
        Ok(image)
    }
}

/// What the compiler says of a program.
///
/// # Safety
/// The program exists.
unsafe fn log_of(program: sys::nvrtcProgram) -> String {
    // SAFETY: by the caller.
    let log = unsafe { result::get_program_log(program) }.unwrap_or_default();
    let bytes: Vec<u8> = log.into_iter().map(|byte| byte as u8).take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_image_is_not_used() {
        let folder = std::env::temp_dir().join(format!("docsphere-kernels-{}", std::process::id()));
        let file = folder.join("image");
        write(&file, b"an image").unwrap();
        assert_eq!(read(&file).as_deref(), Some(&b"an image"[..]));
        let mut bytes = fs::read(&file).unwrap();
        bytes[3] ^= 1;
        fs::write(&file, bytes).unwrap();
        assert_eq!(read(&file), None);
        fs::write(&file, b"abc").unwrap();
        assert_eq!(read(&file), None);
        fs::remove_dir_all(&folder).unwrap();
    }

    /// Every kernel, for every architecture: needs NVRTC, but no device.
    #[test]
    fn the_kernels_compile() {
        for &capability in ARCHITECTURES {
            match kernel_image(capability, None) {
                Ok(image) => assert!(image.starts_with(b"\x7fELF"), "{capability:?}"),
                Err(Error::NoCompiler) if std::env::var_os("DOCSPHERE_NEEDS_NVRTC").is_none() => {
                    return eprintln!("NVRTC is not on this machine: the kernels are NOT compiled for GPUs");
                }
                Err(error) => panic!("{capability:?}: {error}"),
            }
        }
    }
}
