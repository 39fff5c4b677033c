//! Files that appear whole or not at all.
//!
//! The content goes to a temporary file in the target's folder, is synced to disk, and is then
//! renamed to the target. A reader of the target sees the old content or the new, never a part, and
//! a failed or killed write leaves the old file as it was.
//!
//! A killed process leaves its temporary file behind. The name of that file carries the process id
//! and a hash of the target's name, and a living process holds a lock on it. So the next write to
//! the same target recognises the leftovers of dead processes and removes them.

use std::fs::{self, DirEntry, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::fail_points::fail_point;

/// Suffix of the names of all temporary files and folders.
pub const TEMPORARY_SUFFIX: &str = ".tmp";

const PREFIX: &str = ".docsphere-";

/// Prefix of the names of all temporary files and folders of a process, so that a program that
/// stops early can find and remove its own.
///
/// ```
/// assert_eq!(docsphere::temporary_prefix(17), ".docsphere-17-");
/// ```
pub fn temporary_prefix(process: u32) -> String {
    format!("{PREFIX}{process}-")
}

/// Whether a file has the name of a temporary file of any process.
///
/// ```
/// assert!(docsphere::is_temporary_name(".docsphere-17-aBc.tmp"));
/// assert!(!docsphere::is_temporary_name(".docsphere-notes.tmp"));
/// ```
pub fn is_temporary_name(name: &str) -> bool {
    let middle = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_suffix(TEMPORARY_SUFFIX));
    let process = middle.and_then(|middle| middle.split_once('-')).map(|(process, _)| process);
    process.is_some_and(|process| !process.is_empty() && process.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Number of random characters in the name of a temporary file.
const RANDOM_CHARS: usize = 6;

/// The part of the names of temporary files that stands for the name of their target. Its length
/// is fixed, because names of files are limited.
fn target_tag(target: &Path) -> String {
    let name = target.file_name().unwrap_or_default();
    format!("{:08x}", crc32fast::hash(name.as_encoded_bytes()))
}

/// Removes the temporary files that killed processes left for a target. If in doubt, a process
/// counts as alive.
fn remove_left_behind(folder: &Path, tag: &str) {
    if !Path::new("/proc/self").exists() {
        return;
    }
    let is_left = |entry: &DirEntry| {
        entry.file_name().to_str().and_then(|name| process_of(name, tag)).is_some_and(|process| {
            entry.file_type().is_ok_and(|kind| kind.is_file())
                && !Path::new(&format!("/proc/{process}")).exists()
                // A process of another container is not listed under /proc, but holds the lock.
                && File::open(entry.path()).is_ok_and(|found| found.try_lock().is_ok())
        })
    };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten().filter(is_left) {
        // A leftover that cannot be removed does no harm.
        let _ = fs::remove_file(entry.path());
    }
}

/// The process that gave a temporary file its name, if it did so for the target with this tag.
fn process_of(name: &str, tag: &str) -> Option<u32> {
    let middle = name.strip_prefix(PREFIX)?.strip_suffix(TEMPORARY_SUFFIX)?;
    let (process, rest) = middle.split_once('-')?;
    let random = rest.strip_prefix(tag)?.strip_prefix('-')?;
    let is_random = random.len() == RANDOM_CHARS && random.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_number = process.bytes().all(|byte| byte.is_ascii_digit());
    if is_random && is_number { process.parse().ok() } else { None }
}

/// Size of the write buffer.
const BUFFER_BYTES: usize = 1 << 18;

/// Writes `path` with the output of `write`, which may also seek in the file that it is given.
///
/// An existing regular file is replaced. If `path` is a symbolic link, the file it points to is
/// replaced.
///
/// # Errors
/// Those of `write`, and those of the system; the target is then untouched and no other file is
/// left behind. Also if `path` is a folder, a device, or not a possible file name.
pub(crate) fn write_atomically(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> Result<()>,
) -> Result<()> {
    replace(path, write).map_err(|error| error.at_path(path))
}

/// Writes a file atomically, replacing a regular file that is already there.
///
/// # Errors
/// [`ErrorKind::Io`](crate::ErrorKind::Io) if the system cannot write it, or `path` names a folder
/// or a device. An existing file is then untouched.
pub fn write_whole(path: impl AsRef<Path>, content: &[u8]) -> Result<()> {
    write_atomically(path.as_ref(), |out| out.write_all(content).map_err(write_error))
}

fn replace(path: &Path, write: impl FnOnce(&mut BufWriter<&File>) -> Result<()>) -> Result<()> {
    let target = final_target(path).map_err(write_error)?;
    let folder = match target.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    if !folder.is_dir() {
        let message = format!("there is no folder {}", folder.display());
        return Err(write_error(io::Error::new(io::ErrorKind::NotFound, message)));
    }
    let tag = target_tag(&target);
    remove_left_behind(folder, &tag);
    let mut builder = tempfile::Builder::new();
    let prefix = format!("{}{tag}-", temporary_prefix(std::process::id()));
    builder.prefix(&prefix).suffix(TEMPORARY_SUFFIX).rand_bytes(RANDOM_CHARS);
    #[cfg(unix)]
    {
        // Temporary files are private by default; this one becomes an ordinary file, so let the
        // umask decide.
        use std::os::unix::fs::PermissionsExt;
        // A replaced file passes on its permissions: a private file stays private.
        let mode = fs::metadata(&target).map_or(0o666, |old| old.permissions().mode() & 0o777);
        builder.permissions(fs::Permissions::from_mode(mode));
    }
    let temporary = builder.tempfile_in(folder).map_err(write_error)?;
    // Held as long as this process writes. On other systems a lock would block the writer.
    let _ = cfg!(unix).then(|| temporary.as_file().try_lock());

    let mut out = BufWriter::with_capacity(BUFFER_BYTES, temporary.as_file());
    write(&mut out)?;
    out.flush().map_err(write_error)?;
    drop(out);
    fail_point("file written");
    temporary.as_file().sync_all().map_err(write_error)?;
    fail_point("file synced");
    temporary.persist(&target).map_err(|error| write_error(error.error))?;
    fail_point("file in place");
    // The new name is in place; some file systems cannot sync a folder, and then there is nothing
    // to undo.
    #[cfg(unix)]
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    Ok(())
}

/// The regular file to replace or create, with symbolic links resolved.
fn final_target(path: &Path) -> io::Result<PathBuf> {
    let refusal = match fs::metadata(path) {
        Ok(found) if found.is_file() => return fs::canonicalize(path),
        Ok(found) if found.is_dir() => "it is a folder, not a file",
        // Renaming over a device or a pipe would destroy it.
        Ok(_) => "it exists and is not a regular file",
        Err(_) if path.file_name().is_none() => "the path does not name a file",
        Err(_) => return Ok(path.to_owned()),
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, refusal))
}

fn write_error(source: io::Error) -> Error {
    Error::io("write", source)
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, SeekFrom};

    use super::*;

    fn put(path: &Path, content: &[u8]) -> Result<()> {
        write_whole(path, content)
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_created_and_replaced_and_may_be_written_out_of_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.bin");
        put(&path, b"first").unwrap();
        write_atomically(&path, |out| {
            let mut steps = || {
                out.write_all(b"__cond")?;
                out.seek(SeekFrom::Start(0))?;
                out.write_all(b"se")?;
                out.seek(SeekFrom::End(0))
            };
            steps().map(drop).map_err(write_error)
        })
        .unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert_eq!(names(folder.path()), ["a.bin"]);
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.bin");
        put(&path, b"old").unwrap();
        let error = write_atomically(&path, |out| {
            out.write_all(b"half of the new").map_err(write_error)?;
            Err(Error::malformed("test", "a", "b"))
        })
        .unwrap_err();
        assert_eq!(error.to_string(), format!("{}: not valid test: expected a, found b", path.display()));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(folder.path()), ["a.bin"]);
    }

    #[test]
    fn targets_that_are_no_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let shown = folder.path().display();
        assert_eq!(
            put(folder.path(), b"").unwrap_err().to_string(),
            format!("{shown}: cannot write: it is a folder, not a file")
        );
        assert_eq!(
            put(&folder.path().join("none/a.bin"), b"").unwrap_err().to_string(),
            format!("{shown}/none/a.bin: cannot write: there is no folder {shown}/none")
        );
        for unnamed in ["", "missing/.."] {
            let error = put(Path::new(unnamed), b"").unwrap_err().to_string();
            assert!(error.ends_with("cannot write: the path does not name a file"), "{error}");
        }
        assert_eq!(names(folder.path()), [""; 0]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn leftovers_of_dead_processes_for_the_same_target_are_removed_and_nothing_else() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.bin");
        let (tag, other) = (target_tag(&path), target_tag(Path::new("b.bin")));
        // No process has this number; the highest possible one is 4194304.
        let dead = 999_999_999;
        let kept = [
            format!(".docsphere-{}-{tag}-aB3dE6.tmp", std::process::id()),
            format!(".docsphere-{dead}-{other}-aB3dE6.tmp"),
            format!(".docsphere-{dead}-{tag}-aB3dE.tmp"),
            format!(".docsphere-{dead}-{tag}-aB3-E6.tmp"),
            format!(".docsphere-{dead}-{tag}-locked.tmp"),
            format!(".docsphere-+{dead}-{tag}-aB3dE6.tmp"),
            format!(".docsphere-{dead}-aB3dE6.tmp"),
        ];
        let left = format!(".docsphere-{dead}-{tag}-aB3dE6.tmp");
        for name in kept.iter().chain([&left]) {
            fs::write(folder.path().join(name), b"half").unwrap();
        }
        let link = format!(".docsphere-{dead}-{tag}-linked.tmp");
        symlink(&kept[1], folder.path().join(&link)).unwrap();
        // A process of another container: not under /proc, but it holds the lock.
        let locked = File::open(folder.path().join(&kept[4])).unwrap();
        locked.try_lock().unwrap();
        put(&path, b"new").unwrap();
        let mut wanted: Vec<String> = kept.to_vec();
        wanted.extend([link, "a.bin".to_owned()]);
        wanted.sort();
        assert_eq!(names(folder.path()), wanted);
    }

    #[cfg(unix)]
    #[test]
    fn a_temporary_file_is_locked_and_named_after_its_process_and_target() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.bin");
        write_atomically(&path, |_| {
            let [name] = &names(folder.path())[..] else { panic!("one temporary file") };
            assert!(is_temporary_name(name), "{name}");
            assert_eq!(process_of(name, &target_tag(&path)), Some(std::process::id()));
            let other = File::open(folder.path().join(name)).unwrap();
            assert!(matches!(other.try_lock(), Err(fs::TryLockError::WouldBlock)));
            Ok(())
        })
        .unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link_a_device_is_safe_and_the_umask_decides_the_permissions() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        put(&file, b"old").unwrap();
        symlink("file", &link).unwrap();
        put(&link, b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"new");

        let plain = folder.path().join("plain");
        fs::write(&plain, b"").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&file), mode(&plain));

        let error = put(Path::new("/dev/null"), b"").unwrap_err().to_string();
        assert_eq!(error, "/dev/null: cannot write: it exists and is not a regular file");
    }
}
