"""What an import brings along, and what it does without."""

from __future__ import annotations

import subprocess
import sys

import pytest

import docsphere


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


def test_workers_import_neither_scikit_learn_nor_pandas():
    ended = run("""
import sys
import docsphere._executors
assert not {"sklearn", "pandas", "joblib"} & set(sys.modules), sorted(sys.modules)
docsphere.SphericalKMeans
assert "sklearn" in sys.modules
""")
    assert ended.returncode == 0, ended.stderr


def test_without_ray_everything_works_but_what_needs_it():
    ended = run("""
import sys
sys.modules["ray"] = None
import docsphere
for name in docsphere.__all__:
    getattr(docsphere, name)
print("all there")
import docsphere.ray
""")
    assert ended.stdout == "all there\n"
    assert "ImportError: docsphere.ray needs Ray, which is not installed: pip install docsphere[ray]" in ended.stderr


def test_names_are_listed_before_they_are_used():
    ended = run("import docsphere; assert set(docsphere.__all__) <= set(dir(docsphere))")
    assert ended.returncode == 0, ended.stderr
    with pytest.raises(AttributeError, match="module 'docsphere' has no attribute 'kmeans'"):
        _ = docsphere.kmeans
