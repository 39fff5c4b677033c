"""The tutorial runs."""

from __future__ import annotations

import re

import pytest

from conftest import REPOSITORY


def test_the_tutorial_runs(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: the tutorial is LEFT OUT").use("Agg")
    (tmp_path / "crates").symlink_to(REPOSITORY / "crates")
    monkeypatch.chdir(tmp_path)
    page = (REPOSITORY / "docs" / "guide" / "python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    assert len(blocks) == 7
    exec("\n".join(blocks), {"__name__": "tutorial"})
    shown = capsys.readouterr().out
    assert shown.startswith("20,000 texts, ")
    assert "bread" in shown.splitlines()[-2] or "dough" in shown.splitlines()[-2]
    assert shown.splitlines()[-1].startswith("20000 [")
    assert (tmp_path / "clusters.png").stat().st_size > 10_000
    assert (tmp_path / "notes.docsphere").exists()
    assert (tmp_path / "notes.html").exists() and (tmp_path / "notes" / "report.html").exists()
