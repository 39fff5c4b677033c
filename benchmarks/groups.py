#!/usr/bin/env python3
"""Whether groups of clusters agree with the labels of documents, and how much structure their tree has.

    python benchmarks/groups.py target/release/docsphere bbc.jsonl:20,60 arxiv.jsonl:50,168 --until .

Each corpus is a JSON Lines file with the fields `text` and, if known, `label`, and the numbers of
clusters to try. Labels are cut at the text of `--until`: "rec.autos" becomes "rec".
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import random
import subprocess
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

N_RANDOM = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", help="the command docsphere")
    parser.add_argument("corpora", nargs="+", metavar="FILE:K,K")
    parser.add_argument("--until", default=None, help="use labels up to this text only")
    options = parser.parse_args()
    print("| corpus | k | groups | largest | balanced | structure | groups and labels |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for corpus in options.corpora:
        path, _, numbers = corpus.rpartition(":")
        for k in numbers.split(","):
            print(line(options.command, Path(path), k, options.until), flush=True)


def line(command: str, corpus: Path, k: str, until: str | None) -> str:
    """Cluster a corpus, and return a line of the table."""
    with tempfile.TemporaryDirectory() as home:
        out = Path(home) / "out"
        subprocess.run([command, "cluster", corpus, "-k", k, "-o", out, "--quiet", "--no-report"], check=True)
        groups = json.loads((out / "groups.json").read_text())
        clusters = json.loads((out / "clusters.json").read_text())["clusters"]
        with open(out / "assignments.csv", newline="") as lines:
            labels = [int(row["cluster"]) for row in csv.DictReader(lines)]
    tree = Tree(groups, [cluster["size"] for cluster in clusters])
    n_groups = max(1, round(math.sqrt(len(tree.merges) + 1)))
    shares = [max(tree.sizes[node] for node in tree.cut(n_groups, limit)) / tree.sizes[-1] for limit in (2, 1 / 3)]
    agreement = agreement_of(tree, tree.cut(n_groups, 1 / 3), labels, labels_of(corpus, until))
    numbers = f"{n_groups} | {shares[0]:.2f} | {shares[1]:.2f} | {tree.structure(n_groups):.2f}"
    return f"| {corpus.stem} | {k} | {numbers} | {agreement} |"


class Tree:
    """A merge tree. Nodes are numbered: first the clusters, then the merges."""

    def __init__(self, groups: dict, sizes: list[int]) -> None:
        self.k = len(sizes)
        self.merges = groups["merges"]
        self.sizes = list(sizes)
        for merge in self.merges:
            self.sizes.append(self.sizes[merge["left"]] + self.sizes[merge["right"]])

    def cut(self, n_groups: int, limit: float) -> list[int]:
        """Return the nodes of the groups; a larger share than the limit is split first."""
        parts = [self.k + len(self.merges) - 1]
        while len(parts) < n_groups:
            large = [part for part in parts if part >= self.k and self.sizes[part] > limit * self.sizes[-1]]
            part = max(large, key=lambda node: (self.sizes[node], node)) if large else max(parts)
            parts.remove(part)
            parts += [self.merges[part - self.k][side] for side in ("left", "right")]
        return parts

    def structure(self, n_groups: int) -> float:
        """Return the mean squared height of the merges above the groups, by that of all."""
        squares = [merge["height"] ** 2 for merge in self.merges]
        above = squares[len(squares) - (n_groups - 1) :]
        return sum(above) / len(above) / (sum(squares) / len(squares)) if above else 0.0

    def clusters(self, node: int) -> list[int]:
        """Return the clusters below a node."""
        found, stack = [], [node]
        while stack:
            node = stack.pop()
            if node < self.k:
                found.append(node)
            else:
                stack += [self.merges[node - self.k][side] for side in ("left", "right")]
        return found


def labels_of(corpus: Path, until: str | None) -> list[str] | None:
    """Return the labels of all documents, or None if some have none."""
    with open(corpus, encoding="utf-8") as lines:
        labels = [json.loads(line).get("label") for line in lines]
    if None in labels:
        return None
    return [label.split(until)[0] if until else label for label in labels]


def agreement_of(tree: Tree, nodes: list[int], clusters: list[int], labels: list[str] | None) -> str:
    """Return how much groups say about labels, from random groups (0) to the clusters themselves (1)."""
    if labels is None:
        return ""
    counts: dict[int, Counter[str]] = defaultdict(Counter)
    for cluster, label in zip(clusters, labels, strict=True):
        counts[cluster][label] += 1
    group_of = {cluster: group for group, node in enumerate(nodes) for cluster in tree.clusters(node)}
    groups = list(group_of.values())
    at_random = []
    for seed in range(N_RANDOM):
        random.Random(seed).shuffle(groups)
        at_random.append(information(dict(zip(group_of, groups, strict=True)), counts))
    least = sum(at_random) / N_RANDOM
    most = information({cluster: cluster for cluster in group_of}, counts)
    return f"{(information(group_of, counts) - least) / max(most - least, 1e-9):.2f}"


def information(group_of: dict[int, int], counts: dict[int, Counter[str]]) -> float:
    """Return the mutual information of groups and labels."""
    joint: dict[int, Counter[str]] = defaultdict(Counter)
    for cluster, group in group_of.items():
        joint[group] += counts[cluster]
    of_labels = sum(joint.values(), Counter())
    total = sum(of_labels.values())

    def entropy(numbers: list[int]) -> float:
        return -sum(number / total * math.log(number / total) for number in numbers if number)

    of_groups = [sum(labels.values()) for labels in joint.values()]
    of_both = [number for labels in joint.values() for number in labels.values()]
    return entropy(of_groups) + entropy(list(of_labels.values())) - entropy(of_both)


if __name__ == "__main__":
    main()
