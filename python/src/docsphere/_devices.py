"""GPUs: what has to be ready before the compiled part looks for one."""

from __future__ import annotations

import ctypes
import os
from importlib.util import find_spec
from pathlib import Path

from . import _docsphere


def prepare(device: str) -> None:
    """Say where compiled kernels are kept, and load the compiler of kernels if it came as a Python package."""
    if device == "cpu":
        return
    caches = os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME")
    folder = Path(caches) if caches else Path.home() / ".cache"
    if folder.is_absolute():
        _docsphere.keep_kernels_in(folder / "docsphere")
    for library in _packaged_compilers():
        try:
            # From now on it is found by its name.
            ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
            return
        except OSError:
            continue


def _packaged_compilers() -> list[Path]:
    """Return the libraries of the packages nvidia-cuda-nvrtc, the latest first."""
    spec = find_spec("nvidia")
    folders = [] if spec is None or spec.submodule_search_locations is None else spec.submodule_search_locations
    found = [path for folder in folders for path in Path(folder).glob("*/lib/libnvrtc.so.*")]
    found += [path for folder in folders for path in Path(folder).glob("*/bin/**/nvrtc64_*_0.dll")]
    return sorted((path for path in found if "builtins" not in path.name), key=lambda path: path.name, reverse=True)
