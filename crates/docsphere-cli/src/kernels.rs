//! Where compiled kernels of GPUs are kept: in the folder for caches of the system.

use std::env::var_os;
use std::path::PathBuf;

/// Says where, if the system has such a folder.
pub(crate) fn keep() {
    let folder = |name| var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let caches = match cfg!(windows) {
        true => folder("LOCALAPPDATA"),
        false => folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache"))),
    };
    if let Some(caches) = caches {
        docsphere::keep_kernels_in(caches.join("docsphere"));
    }
}
