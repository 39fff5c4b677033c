"""Packs the command for people who only unpack it: archive.py BINARY TARGET NAME

Writes NAME.tar.gz, or for Windows NAME.zip, with one folder: the binary, manual pages, completions,
README, changelog and licences. The same input gives the same bytes.
"""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
TEXTS = "README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"
SHELLS = {"bash": "docsphere.bash", "zsh": "_docsphere", "fish": "docsphere.fish", "powershell": "_docsphere.ps1"}
# 1980, before which zip knows no time.
MODIFIED = 315532800


def made_by(binary: Path) -> dict[str, bytes]:
    """Return what the binary itself writes: a package can only be made where it runs."""
    files = {
        f"completions/{name}": subprocess.run([binary, "completions", shell], check=True, capture_output=True).stdout
        for shell, name in SHELLS.items()
    }
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([binary, "man", folder], check=True)
        files |= {f"man/{page.name}": page.read_bytes() for page in Path(folder).iterdir()}
    return files


def tar_gz(folder: str, files: dict[str, bytes], executable: str) -> bytes:
    """Return the files as a tar archive, packed."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size, entry.mtime = len(content), MODIFIED
            entry.mode = 0o755 if name == executable else 0o644
            archive.addfile(entry, io.BytesIO(content))
    return gzip.compress(tar.getvalue(), 9, mtime=0)


def zip_file(folder: str, files: dict[str, bytes]) -> bytes:
    """Return the files as a zip archive."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(files.items()):
            entry = zipfile.ZipInfo(f"{folder}/{name}")
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return packed.getvalue()


def main() -> None:
    binary, target, name = Path(sys.argv[1]).resolve(), sys.argv[2], Path(sys.argv[3])
    files = made_by(binary)
    files |= {text: (REPOSITORY / text).read_bytes() for text in TEXTS}
    files[binary.name] = binary.read_bytes()
    name.parent.mkdir(parents=True, exist_ok=True)
    if "windows" in target:
        name.with_name(name.name + ".zip").write_bytes(zip_file(name.name, files))
    else:
        name.with_name(name.name + ".tar.gz").write_bytes(tar_gz(name.name, files, binary.name))


if __name__ == "__main__":
    main()
