"""The files around the code: they parse, and agree with each other."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
import tomllib
import yaml

from conftest import REPOSITORY

VERSION = tomllib.loads((REPOSITORY / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
TARGETS = set(
    re.findall(
        r"^([a-z-]+):(?!=)",
        "\n".join((REPOSITORY / name).read_text(encoding="utf-8") for name in ("Makefile", "packaging/packages.mk")),
        re.MULTILINE,
    )
)


def loaded(name: str) -> dict:
    return yaml.safe_load((REPOSITORY / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["ci", "release"])
def test_workflows_run_targets_that_exist_with_actions_of_a_stated_version(name):
    workflow = loaded(f".github/workflows/{name}.yml")
    jobs = workflow["jobs"]
    # YAML reads the key "on" as true.
    assert set(workflow) == {"name", True, "permissions", "env", "jobs"} | ({"concurrency"} if name == "ci" else set())
    for job in jobs.values():
        needed = job.get("needs", [])
        assert {needed} <= set(jobs) if isinstance(needed, str) else set(needed) <= set(jobs)
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step.get("uses", "a/b@v1"))
            for target in re.findall(r"make (?:--\w+ )?([a-z][a-z-]*)", step.get("run", "")):
                assert target in TARGETS, target
            for kinds in job.get("strategy", {}).get("matrix", {}).get("include", []):
                assert {f"dist-{kind}" for kind in kinds.get("kinds", "").split()} <= TARGETS


@pytest.mark.parametrize("path", sorted((REPOSITORY / ".github").rglob("*.yml")), ids=lambda path: path.name)
def test_files_of_the_forge_are_yaml(path):
    assert yaml.safe_load(path.read_text(encoding="utf-8"))


def test_the_citation_has_the_version():
    assert loaded("CITATION.cff")["version"] == VERSION


def test_the_site_has_every_page():
    docs = REPOSITORY / "docs"
    listed = re.findall(r"\]\(([^)]+)\)", (docs / "SUMMARY.md").read_text(encoding="utf-8"))
    there = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")} - {"SUMMARY.md"}
    assert sorted(listed) == sorted(there)


def test_one_maturin_builds_for_tests_and_releases():
    def pinned(name: str) -> set[str]:
        return set(re.findall(r"^maturin==.*$", (REPOSITORY / name).read_text(encoding="utf-8"), re.MULTILINE))

    assert pinned("packaging/requirements.txt") == pinned("python/tests/requirements.txt") != set()


def test_the_package_has_the_licences():
    for name in ("LICENSE-MIT", "LICENSE-APACHE"):
        assert (REPOSITORY / "python" / name).read_bytes() == (REPOSITORY / name).read_bytes()


def test_scripts_of_packaging_can_be_read():
    for script in sorted((REPOSITORY / "packaging").glob("*.sh")):
        subprocess.run(["sh", "-n", script], check=True)
    for script in sorted((REPOSITORY / "packaging").glob("*.py")):
        compile(script.read_bytes(), script, "exec")


def test_the_list_of_crates_has_what_the_command_links(tmp_path):
    file = tmp_path / "crates.cdx.json"
    subprocess.run([sys.executable, REPOSITORY / "packaging/sbom.py", "x86_64-unknown-linux-gnu", file], check=True)
    bill = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert (bill["bomFormat"], bill["metadata"]["component"]["version"]) == ("CycloneDX", VERSION)
    components = {component["name"]: component for component in bill["components"]}
    assert {"docsphere", "docsphere-result", "rayon", "zstd-sys", "libsqlite3-sys"} <= set(components)
    # What only tests or builds is not linked.
    assert not {"proptest", "cc", "docsphere-testkit"} & set(components)
    assert all(len(part.get("hashes", [{}])[0].get("content", "0" * 64)) == 64 for part in components.values())
    assert all("licenses" in part for part in components.values())
