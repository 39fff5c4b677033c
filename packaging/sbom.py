"""Lists the crates that a released binary consists of, as CycloneDX: sbom.py TARGET FILE"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import tomllib

REPOSITORY = Path(__file__).parents[1]
REGISTRY = "registry+"


def crates_of(target: str) -> set[tuple[str, str]]:
    """Return name and version of everything that is linked, without what only builds."""
    words = "cargo tree --locked --package docsphere-cli --features full --edges normal --prefix none --format {p}"
    shown = subprocess.run(
        [*words.split(), "--target", target], cwd=REPOSITORY, check=True, capture_output=True, text=True
    ).stdout
    return {(line.split()[0], line.split()[1].removeprefix("v")) for line in shown.splitlines() if line}


def licences() -> dict[tuple[str, str], str]:
    """Return the licence of every crate of the workspace and its dependencies."""
    words = ["cargo", "metadata", "--locked", "--all-features", "--format-version", "1"]
    shown = subprocess.run(words, cwd=REPOSITORY, check=True, capture_output=True).stdout
    packages = json.loads(shown)["packages"]
    return {(package["name"], package["version"]): package["license"] for package in packages if package["license"]}


def component(name: str, version: str, licence: str | None, locked: dict) -> dict:
    """Return a crate as CycloneDX describes it."""
    described = {"type": "library", "name": name, "version": version, "purl": f"pkg:cargo/{name}@{version}"}
    if licence is not None:
        # Older crates separate their licences by a slash.
        described["licenses"] = [{"expression": licence.replace("/", " OR ")}]
    if "checksum" in locked:
        described["hashes"] = [{"alg": "SHA-256", "content": locked["checksum"]}]
    return described


def main() -> None:
    target, file = sys.argv[1], Path(sys.argv[2])
    lock = tomllib.loads((REPOSITORY / "Cargo.lock").read_text(encoding="utf-8"))
    locked = {(package["name"], package["version"]): package for package in lock["package"]}
    known = licences()
    crates = crates_of(target)
    (version,) = (version for name, version in crates if name == "docsphere-cli")
    components = [
        component(*crate, known.get(crate), locked[crate]) for crate in sorted(crates) if crate[0] != "docsphere-cli"
    ]
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "docsphere", "version": version}},
        "components": components,
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(bill, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
