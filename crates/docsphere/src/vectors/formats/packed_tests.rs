//! Files that are packed, damaged, or no files at all.

use std::fs;

use super::{Format, read_as, trials};
use crate::compression::write_packed;
use crate::error::Error;

/// A bag of words, packed with gzip.
fn packed_text() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("packed.gz");
    let text = b"3\n6\n2\n1 1 0.5\n3 4 1\n";
    write_packed(&path, |out| out.write_all(text).map_err(|source| Error::io("write", source))).unwrap();
    fs::read(path).unwrap()
}

#[test]
fn damage_is_reported_with_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("docword.gz");
    let packed = packed_text();
    let mut damaged = packed.clone();
    let last = damaged.len() - 8; // the checksum
    damaged[last] ^= 1;
    for bytes in [&packed[..packed.len() - 1], &damaged, &[&packed[..], b"garbage"].concat()] {
        fs::write(&path, bytes).unwrap();
        for &format in Format::ALL {
            let error = read_as(&path, format).unwrap_err().to_string();
            assert!(error.starts_with(path.to_str().unwrap()), "{error}");
        }
        let error = read_as(&path, Format::BagOfWords).unwrap_err().to_string();
        let expected = "docword.gz: not valid gzip: expected undamaged compressed data, found ";
        assert!(error.contains(expected), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let (_, rows) = trials::matrices().pop().unwrap();
    for (format, file) in [(Format::Npz, "a.npz"), (Format::MatrixMarket, "a.mtx.gz")] {
        let path = folder.path().join(file);
        super::write(&path, &rows).unwrap();
        let mut cat = std::process::Command::new("cat")
            .arg(&path)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let pipe = cat.stdout.take().unwrap();
        let number = std::os::fd::AsRawFd::as_raw_fd(&pipe);
        assert_eq!(read_as(format!("/dev/fd/{number}"), format).unwrap(), rows);
        cat.wait().unwrap();
    }
}
