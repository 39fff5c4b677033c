"""Counts the instructions of each kernel under callgrind, and compares them with instructions.csv.

    make instructions             fails if a kernel takes more than 1 % more than is written
    make instructions UPDATE=1    writes the counts of this version of the compiler

The counts are those of `crates/docsphere-bench/benches/kernels.rs`: one call of each, on one thread,
with the vector instructions that callgrind knows (AVX2 at most; the machine must have them). Two
counts of one program are equal, whatever the machine, its load and its number of cores; only
`vectorize`, whose hash tables have random seeds, varies by 0.1 %. They depend on the compiler, so
each version has its own numbers, and a version without numbers is refused; and a little on the C
library, which copies memory.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
NUMBERS = Path(__file__).with_name("instructions.csv")
FIELDS = ("rustc", "kernel", "instructions")
# The greatest share by which a count may rise.
SPREAD = 0.01
# Numbers are of this target alone.
TARGET = "x86_64-unknown-linux-gnu"


def output_of(*words: str) -> str:
    """Return what a program prints, or end with its error."""
    return subprocess.run(words, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout


def program() -> str:
    """Build the bench, and return its path."""
    words = ["cargo", "bench", "--package", "docsphere-bench", "--bench", "kernels", "--no-run", "--quiet"]
    lines = output_of(*words, "--message-format", "json").splitlines()
    found = [path for line in lines for path in re.findall(r'"executable":"([^"]*/kernels-[^"]*)"', line)]
    assert len(found) == 1, found
    return found[0]


def count(bench: str, kernel: str) -> int:
    """Return the instructions of one call of a kernel."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["valgrind", "--tool=callgrind", "--collect-atstart=no", "--toggle-collect=kernels::counted*"]
        out = Path(folder) / "callgrind.out"
        words += [f"--callgrind-out-file={out}", bench, "--count", kernel]
        ended = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", check=False)
        if ended.returncode != 0:
            sys.exit(f"{kernel}: {' '.join(words)} failed:\n{ended.stdout}")
        counted = int(re.search(r"^summary: (\d+)|^totals: (\d+)", out.read_text(), re.M)[0].split()[1])
    assert counted > 0, f"{kernel}: nothing was counted: is the function kernels::counted still there?"
    return counted


def read_numbers() -> list[dict[str, str]]:
    """Return the lines of the file of numbers."""
    with NUMBERS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write_numbers(rustc: str, counts: dict[str, int]) -> None:
    """Replace the lines of a version of the compiler."""
    lines = [line for line in read_numbers() if line["rustc"] != rustc] if NUMBERS.exists() else []
    lines += [{"rustc": rustc, "kernel": kernel, "instructions": str(n)} for kernel, n in counts.items()]
    with NUMBERS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


def compare(expected: dict[str, int], counts: dict[str, int]) -> bool:
    """Print all counts beside the expected ones. Whether none is too great, missing or unknown."""
    is_well = True
    print(f"{'kernel':<20}{'expected':>14}{'now':>14}{'change':>9}")
    for kernel in sorted(expected.keys() | counts.keys()):
        before, now = expected.get(kernel), counts.get(kernel)
        change = now / before - 1 if before and now else None
        remark = ""
        if change is None:
            remark, is_well = "  there are no numbers" if now else "  is gone", False
        elif change > SPREAD:
            remark, is_well = f"  RISES BY MORE THAN {SPREAD:.0%}", False
        elif change < -SPREAD:
            remark = "  falls: make instructions UPDATE=1 keeps it"
        shown = "" if change is None else f"{change:+.2%}"
        print(f"{kernel:<20}{before or '':>14}{now or '':>14}{shown:>9}{remark}")
    return is_well


def main() -> None:
    """Count, then compare or write."""
    parser = argparse.ArgumentParser(description="Counts the instructions of each kernel.")
    parser.add_argument("--update", action="store_true", help="write the counts of this toolchain")
    args = parser.parse_args()
    if shutil.which("valgrind") is None:
        sys.exit("make instructions needs valgrind; NOTHING WAS COUNTED")
    version = output_of("rustc", "-vV")
    rustc = re.search(r"^release: (.*)$", version, re.M)[1]
    if f"host: {TARGET}" not in version:
        sys.exit(f"the numbers are of {TARGET}; NOTHING WAS COUNTED")
    bench = program()
    # Without the sets of vector instructions that callgrind does not know.
    kernels = output_of("valgrind", "--quiet", "--tool=none", bench, "--names").split()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        counts = dict(zip(kernels, pool.map(lambda kernel: count(bench, kernel), kernels), strict=True))
    if args.update:
        write_numbers(rustc, counts)
        print(f"{NUMBERS.name}: {len(counts)} counts of rustc {rustc}")
        return
    numbers = read_numbers()
    expected = {line["kernel"]: int(line["instructions"]) for line in numbers if line["rustc"] == rustc}
    if not expected:
        known = ", ".join(sorted({line["rustc"] for line in numbers}))
        sys.exit(f"{NUMBERS.name} has counts of rustc {known}, not of {rustc}; CONTRIBUTING.md says how to add them")
    if not compare(expected, counts):
        sys.exit("instructions: more than expected")


if __name__ == "__main__":
    main()
