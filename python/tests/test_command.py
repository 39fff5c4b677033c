"""The command that the wheel has: in all that can be seen of it, it is the binary."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(sys.executable).with_name("docsphere.exe" if os.name == "nt" else "docsphere")
WAYS = {"script": [str(SCRIPT)], "module": [sys.executable, "-m", "docsphere"]}

only_unix = pytest.mark.skipif(os.name == "nt", reason="signals, pipes and terminals of Unix")


@pytest.fixture(params=WAYS)
def installed(request) -> list[str]:
    """The words that run the command of the wheel."""
    return WAYS[request.param]


def outcome(words: list[str], folder: Path) -> tuple[int, bytes, bytes]:
    ended = subprocess.run(words, cwd=folder, capture_output=True, stdin=subprocess.DEVNULL)
    return ended.returncode, without_seconds(ended.stdout), ended.stderr


def without_seconds(text: bytes) -> bytes:
    return re.sub(rb"\d+\.\d+ s\b", b"_ s", text)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--version"], 0),
        (["--help"], 0),
        (["cluster", "--help"], 0),
        (["completions", "zsh"], 0),
        ([], 2),
        (["cluster", "none.txt", "-k", "0"], 2),
        (["cluster", "none.txt", "--\x1b[31m"], 2),
        (["cluster", "none.txt", "-k", "2", "-o", "out"], 1),
    ],
)
def test_output_and_exit_codes_are_those_of_the_binary(installed, command, tmp_path, words, code):
    expected = outcome([command, *words], tmp_path)
    assert expected[0] == code
    assert outcome([*installed, *words], tmp_path) == expected


def test_results_are_those_of_the_binary(installed, command, tmp_path):
    folders = tmp_path / "wheel", tmp_path / "binary"
    seen = []
    for folder, words in zip(folders, (installed, [command]), strict=True):
        folder.mkdir()
        seen.append(outcome([*words, "demo"], folder))
    assert seen[0] == seen[1]
    assert seen[0][0] == 0
    for name in ("assignments.csv", "clusters.json", "model.docsphere", "report.html"):
        ours, theirs = ((folder / "docsphere-demo" / name).read_bytes() for folder in folders)
        assert ours == theirs, name


@only_unix
def test_names_of_files_may_be_any_bytes(installed, tmp_path):
    name = b"caf\xe9.txt"
    Path(os.fsdecode(bytes(tmp_path) + b"/" + name)).write_text("a cat\na dog\na cat\na dog\n")
    for environment in (os.environ, {**os.environ, "LC_ALL": "C"}):
        words = [*map(os.fsencode, installed), b"cluster", name, b"-k", b"2", b"-o", b"out", b"--force", b"--quiet"]
        ended = subprocess.run(words, cwd=tmp_path, capture_output=True, env=environment)
        assert ended.returncode == 0, ended.stderr


@only_unix
def test_a_closed_pipe_is_no_failure_and_a_full_disk_is(installed, tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    ended = subprocess.run([*installed, "completions", "bash"], stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (0, b"")
    if Path("/dev/full").exists():
        with open("/dev/full", "wb") as full:
            ended = subprocess.run([*installed, "completions", "bash"], stdout=full, stderr=subprocess.PIPE)
        assert ended.returncode == 1
        assert b"standard output: cannot write" in ended.stderr


@only_unix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_as_it_ends_the_binary(installed, command, tmp_path, number):
    for words in (installed, [command]):
        words = [*words, "cluster", "-", "--format", "lines", "-k", "2", "-o", "out"]
        running = subprocess.Popen(words, cwd=tmp_path, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        # More than a pipe holds: once it is written, the command reads, and handles signals.
        running.stdin.write(b"a cat sleeps\n" * 100_000)
        running.stdin.flush()
        running.send_signal(number)
        running.wait(60)
        assert running.returncode == 130
        assert running.stderr.read() == b"docsphere: interrupted; nothing was written\n"
        running.stdin.close()
        running.stderr.close()
        assert list(tmp_path.iterdir()) == []


@only_unix
def test_a_terminal_shows_what_the_binary_shows(installed, command, tmp_path):
    pty = pytest.importorskip("pty")

    def shown(words: list[str]) -> bytes:
        ours, terminal = pty.openpty()
        ended = subprocess.Popen([*words, "--help"], cwd=tmp_path, stdout=terminal, stderr=terminal, stdin=terminal)
        os.close(terminal)
        parts = []
        try:
            while part := os.read(ours, 4096):
                parts.append(part)
        except OSError:
            # The other end is closed: how Linux says that this is all.
            pass
        os.close(ours)
        assert ended.wait(60) == 0
        return b"".join(parts)

    assert b"\x1b[" in shown([command])
    assert shown(installed) == shown([command])


def test_the_command_starts_without_numpy_and_scikit_learn():
    ended = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "docsphere", "--version"], capture_output=True, text=True
    )
    assert ended.returncode == 0
    assert "docsphere._docsphere" in ended.stderr
    assert not re.search(r"\b(numpy|scipy|sklearn|tqdm)\b", ended.stderr)
