"""Copies of documents: how many there are, what finding them costs, what leaving them out does.

    python3 benchmarks/duplicates.py target/release/docsphere OUT.csv corpus.jsonl.zst:K ...

Clusters each corpus with ``--duplicates keep``, ``drop`` and ``weight`` in turn, and writes one line
per run: counts, CPU seconds, peak memory, and the agreement with the labels of the documents
(normalized mutual information, arithmetic mean; -1 without labels), over all documents, copies
included. The options after ``--`` are passed on to ``docsphere cluster``.
"""

from __future__ import annotations

import csv
import json
import math
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

WAYS = [
    ("keep", []),
    ("drop", ["--duplicates", "drop"]),
    ("drop", ["--duplicates", "drop", "--duplicate-similarity", "1"]),
    ("weight", ["--duplicates", "weight"]),
]
FIELDS = [
    "corpus",
    "k",
    "seed",
    "way",
    "similarity",
    "documents",
    "copies",
    "equal",
    "cpu_seconds",
    "vectorize_seconds",
    "peak_mb",
    "objective",
    "nmi",
]


def entropy(counts: Counter) -> float:
    total = sum(counts.values())
    return -sum(count / total * math.log(count / total) for count in counts.values())


def nmi(labels: list[str], clusters: list[str]) -> float:
    both, first, second = Counter(zip(labels, clusters, strict=True)), Counter(labels), Counter(clusters)
    mean = (entropy(first) + entropy(second)) / 2
    return (entropy(first) + entropy(second) - entropy(both)) / mean if mean > 0 else 1.0


def labels_of(corpus: Path) -> list[str]:
    lines = subprocess.run(["zstd", "-dcq", corpus], capture_output=True, check=True).stdout
    return [json.loads(line).get("label", "") for line in lines.splitlines()]


def run(binary: str, corpus: Path, k: str, way: str, given: list[str], more: list[str]) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "out")
        before = os.times()
        words = [binary, "cluster", corpus, "-k", k, "-o", out, "-q", "--no-report", *given, *more]
        subprocess.run(words, check=True)
        after = os.times()
        clusters = json.loads((out / "clusters.json").read_text())
        trace = json.loads((out / "trace.json").read_text())
        with open(out / "assignments.csv", newline="") as file:
            found = [line["cluster"] for line in csv.DictReader(file)]
    labels = labels_of(corpus)
    duplicates = clusters.get("duplicates", {})
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return {
        "corpus": corpus.name.partition(".")[0],
        "k": k,
        "seed": clusters["seed"],
        "way": way,
        "similarity": duplicates.get("similarity", ""),
        "documents": len(found),
        "copies": duplicates.get("n_copies", ""),
        "equal": duplicates.get("n_equal", ""),
        "cpu_seconds": round(cpu, 2),
        "vectorize_seconds": round(trace["seconds"]["vectorize"], 2),
        "peak_mb": (trace["peak_memory_bytes"] or 0) // 1_000_000,
        "objective": round(clusters["objective"], 1),
        "nmi": round(nmi(labels, found), 4) if any(labels) else -1,
    }


def main() -> None:
    given = sys.argv[1:]
    at = given.index("--") if "--" in given else len(given)
    (binary, table, *corpora), more = given[:at], given[at + 1 :]
    with open(table, "a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if file.tell() == 0:
            writer.writeheader()
        for corpus in corpora:
            path, _, k = corpus.rpartition(":")
            # In turn, so that what else the machine does falls on all of them.
            for way, options in WAYS:
                writer.writerow(run(binary, Path(path), k, way, options, more))
                file.flush()


if __name__ == "__main__":
    main()
