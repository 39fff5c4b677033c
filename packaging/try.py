"""Installs packages where nothing is installed, and runs the demo there: try.py FOLDER VERSION KIND...

KIND is wheel, sdist, archive or deb. The source distribution is built, which takes minutes; pip
downloads what the Python package depends on.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
# What the demo writes, as the tests of the command know it.
GOLDEN = REPOSITORY / "crates/docsphere-cli/tests/golden/demo-assignments.csv"
IS_WINDOWS = os.name == "nt"
EXE = ".exe" if IS_WINDOWS else ""

IN_PYTHON = """
import sys, docsphere
texts = ["a cat purrs", "the cat sleeps, a cat purrs", "stocks fall", "stocks rise, stocks fall"]
X = docsphere.TextVectorizer().fit_transform(texts)
labels = docsphere.SphericalKMeans(2, n_init=10, random_state=0).fit_predict(X)
assert labels[0] == labels[1] != labels[2] == labels[3], labels
assert docsphere.__version__ == sys.argv[1], docsphere.__version__
"""


def only(folder: Path, pattern: str) -> Path:
    """Return the one file of this pattern."""
    found = sorted(folder.glob(pattern))
    assert len(found) == 1, f"{folder}: one {pattern} is expected, there are {len(found)}"
    return found[0]


def try_command(words: list[str | Path], version: str, folder: Path) -> None:
    """Run the command with nothing but itself: no compiler, no other Python, no variables."""
    folder.mkdir()
    kept = ("SYSTEMROOT", "TEMP") if IS_WINDOWS else ()
    environment = {name: os.environ[name] for name in kept} | {"PATH": str(folder)}

    def run(*more: str) -> str:
        ended = subprocess.run(
            [*words, *more], cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, encoding="utf-8"
        )
        return ended.stdout

    assert run("--version") == f"docsphere {version}\n"
    assert "480 documents" in run("demo")
    assert (folder / "docsphere-demo" / "assignments.csv").read_bytes() == GOLDEN.read_bytes()
    # The features that are no part of a small build.
    run("export", "docsphere-demo", "--table", "table.xlsx")
    run("export", "docsphere-demo", "--table", "table.parquet")
    run("export", "docsphere-demo", "--png", "map.png")


def try_python(package: Path, version: str, place: Path) -> None:
    """Install a Python package into an environment of its own; try module and command; remove it."""
    home = place / "environment"
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    programs = home / ("Scripts" if IS_WINDOWS else "bin")
    python = programs / f"python{EXE}"
    subprocess.run([python, "-m", "pip", "install", "--quiet", package], check=True)
    command = programs / f"docsphere{EXE}"
    try_command([command], version, place / "script")
    try_command([python, "-m", "docsphere"], version, place / "module")
    subprocess.run([python, "-c", IN_PYTHON, version], check=True, cwd=place)
    subprocess.run([python, "-m", "pip", "uninstall", "--quiet", "--yes", "docsphere"], check=True)
    assert not command.exists(), f"{command} is left behind"


def try_archive(package: Path, version: str, place: Path) -> None:
    """Unpack the archive, and try the command where it is."""
    with zipfile.ZipFile(package) if package.suffix == ".zip" else tarfile.open(package) as archive:
        archive.extractall(place)
    (folder,) = place.iterdir()
    for name in ("man/docsphere-cluster.1", "completions/_docsphere", "LICENSE-MIT"):
        assert (folder / name).stat().st_size > 0
    try_command([folder / f"docsphere{EXE}"], version, place / "demo")


def try_deb(package: Path, version: str, place: Path) -> None:
    """Unpack the Debian package: to install it would need root, and change this machine."""
    root = place / "root"
    subprocess.run(["dpkg-deb", "--extract", package, root], check=True)
    fields = subprocess.run(["dpkg-deb", "--field", package], check=True, stdout=subprocess.PIPE, encoding="utf-8")
    assert f"\nVersion: {version}-1\n" in fields.stdout
    assert "\nDepends:" not in fields.stdout, "a static binary needs nothing"
    for name in ("man/man1/docsphere-cluster.1.gz", "bash-completion/completions/docsphere", "doc/docsphere/copyright"):
        assert (root / "usr/share" / name).stat().st_size > 0
    try_command([root / "usr/bin/docsphere"], version, place / "demo")


def main() -> None:
    dist, version, kinds = Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3:]
    known = {
        "wheel": (f"docsphere-{version}-*.whl", try_python),
        "sdist": (f"docsphere-{version}.tar.gz", try_python),
        "archive": (f"docsphere-{version}-*.zip" if IS_WINDOWS else f"docsphere-{version}-*.tar.gz", try_archive),
        "deb": (f"docsphere_{version}-1_*.deb", try_deb),
    }
    for kind in kinds:
        pattern, attempt = known[kind]
        package = only(dist, pattern)
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
            attempt(package, version, Path(place))
        print(f"{package.name}: installed, and its demo is right", flush=True)


if __name__ == "__main__":
    main()
