"""Results as files, and whether they are the same."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path


def command_result(command: str, inputs: list[Path], output: Path, *options: str) -> Path:
    """Cluster files with the command ``docsphere``."""
    arguments = [command, "cluster", *map(str, inputs), "--output", str(output), "--quiet", *options]
    subprocess.run(arguments, check=True)
    return output


def assignments(folder: Path, ending: str = "csv") -> str:
    """The assignments of a result, in one file or in parts."""
    whole = folder / f"assignments.{ending}"
    if whole.exists():
        return whole.read_text(encoding="utf-8")
    parts = [part.read_text(encoding="utf-8") for part in sorted((folder / "assignments").glob(f"part-*.{ending}"))]
    if ending == "csv":
        parts[1:] = [part.partition("\n")[2] for part in parts[1:]]
    return "".join(parts)


def assert_same(folder: Path, expected: Path) -> None:
    """Compare all files of two results, but for seconds and what lies on the page."""
    assert assignments(folder) == assignments(expected)
    assert (folder / "model.docsphere").read_bytes() == (expected / "model.docsphere").read_bytes()
    for name in ("clusters.json", "groups.json", "map.json"):
        assert json.loads((folder / name).read_text()) == json.loads((expected / name).read_text()), name
    ours, theirs = (json.loads((each / "trace.json").read_text())["iterations"] for each in (folder, expected))
    for record, other in zip(ours, theirs, strict=True):
        for name in ("iteration", "moved_docs", "changed_clusters", "objective", "max_squared_movement"):
            assert record[name] == other[name], name
    assert (folder / "report.html").stat().st_size > 100_000
