"""The guide runs."""

from __future__ import annotations

import re
from pathlib import Path

REPOSITORY = Path(__file__).parents[3]


def test_the_guide_runs(cluster, tmp_path, monkeypatch, capsys):
    (tmp_path / "crates").symlink_to(REPOSITORY / "crates")
    monkeypatch.chdir(tmp_path)
    page = (REPOSITORY / "docs" / "guide" / "ray.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    assert len(blocks) == 4
    exec("\n".join(blocks), {"__name__": "guide"})
    shown = capsys.readouterr().out
    assert "True" in shown.splitlines()[0]
    assert (tmp_path / "everyday" / "report.html").exists()


def test_the_guide_is_linked():
    assert "docs/guide/ray.md" in (REPOSITORY / "README.md").read_text(encoding="utf-8")
