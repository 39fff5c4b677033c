"""How well do clusters match known labels? docsphere beside scikit-learn, on labelled corpora.

    cargo build --release --package docsphere-cli
    python benchmarks/quality.py target/release/docsphere CORPUS.jsonl.zst... [--docs N] [--seeds N] [--only docsphere|sklearn] [-- OPTIONS OF docsphere cluster]
    python benchmarks/quality.py target/release/docsphere CORPUS.jsonl.zst... --try= --try="--init random" --try="--stem english --n-init 5"

Every corpus is JSON Lines with "id", "text" and "label"; k is the number of labels. For each seed, docsphere runs with its defaults (or the options given), and
scikit-learn with TfidfVectorizer() and KMeans(k) as they come. Prints normalised mutual information and adjusted Rand index, means over the seeds, and seconds.
With --try, docsphere alone runs with one set of options after the other, and a table in Markdown compares them. Needs scikit-learn and zstandard.
"""

import argparse
import csv
import io
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np


def read(path, n_docs):
    """Texts and labels of a corpus, in a seeded random order, since some files are sorted by label."""
    import zstandard

    with open(path, "rb") as raw:
        stream = zstandard.ZstdDecompressor().stream_reader(raw) if path.suffix == ".zst" else raw
        records = [json.loads(line) for line in io.TextIOWrapper(stream, "utf-8")]
    records = [record for record in records if "label" in record]
    order = np.random.default_rng(0).permutation(len(records))[: n_docs or len(records)]
    return [records[i]["text"] for i in order], [records[i]["label"] for i in order]


def run_docsphere(binary, texts, k, seed, options):
    with tempfile.TemporaryDirectory() as folder:
        corpus, out = Path(folder) / "corpus.jsonl", Path(folder) / "out"
        with open(corpus, "w", encoding="utf-8") as file:
            for text in texts:
                file.write(json.dumps({"text": text}) + "\n")
        start = time.perf_counter()
        command = [binary, "cluster", corpus, "-k", str(k), "-o", out, "--seed", str(seed), "--quiet", *options]
        subprocess.run(command, check=True)
        seconds = time.perf_counter() - start
        with open(out / "assignments.csv", newline="", encoding="utf-8") as file:
            return [int(row["cluster"]) for row in csv.DictReader(file)], seconds


def run_sklearn(texts, k, seed):
    from sklearn.cluster import KMeans
    from sklearn.feature_extraction.text import TfidfVectorizer

    start = time.perf_counter()
    labels = KMeans(k, random_state=seed).fit_predict(TfidfVectorizer().fit_transform(texts))
    return list(labels), time.perf_counter() - start


def compare(binary, corpora, n_docs, n_seeds, tries):
    """A table of option sets by corpora: NMI / ARI, means over the seeds; and how much seeds matter, the mean of the standard deviations of NMI."""
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    data = [(path.name.split(".")[0], *read(path, n_docs)) for path in corpora]
    names = [f"{name}, k = {len(set(truth))}" for name, _, truth in data]
    print("| options | " + " | ".join(names) + " | mean | spread | seconds |")
    print("|---" * (len(names) + 1) + "|--:|--:|--:|", flush=True)
    for options in tries:
        cells, means, spreads, total = [], [], [], 0.0
        for _, texts, truth in data:
            scores = []
            for seed in range(n_seeds):
                labels, seconds = run_docsphere(binary, texts, len(set(truth)), seed, options.split())
                scores.append((normalized_mutual_info_score(truth, labels), adjusted_rand_score(truth, labels)))
                total += seconds / n_seeds
            nmi, ari = np.mean(scores, axis=0)
            cells.append(f"{nmi:.3f} / {ari:.3f}")
            means.append((nmi, ari))
            spreads.append(np.std([score[0] for score in scores]))
        nmi, ari = np.mean(means, axis=0)
        name = f"`{options}`" if options else "defaults"
        print(f"| {name} | {' | '.join(cells)} | {nmi:.3f} / {ari:.3f} | {np.mean(spreads):.3f} | {total:.1f} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("corpora", nargs="+", type=Path)
    parser.add_argument("--docs", type=int, help="at most so many documents of each corpus")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", choices=["docsphere", "sklearn"])
    parser.add_argument("--try", dest="tries", action="append", help="a set of options of docsphere cluster, in one argument; may be given several times")
    own, options = sys.argv[1:], []
    if "--" in own:
        own, options = own[: own.index("--")], own[own.index("--") + 1 :]
    args = parser.parse_args(own)
    if args.tries:
        compare(args.binary, args.corpora, args.docs, args.seeds, args.tries)
        return
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    print(f"{'corpus':<18}{'docs':>8}{'k':>5}  {'program':<11}{'NMI':>7}{'ARI':>7}{'seconds':>9}", flush=True)
    means = {}
    for path in args.corpora:
        texts, truth = read(path, args.docs)
        k = len(set(truth))
        for program in ["docsphere", "sklearn"]:
            if args.only and program != args.only:
                continue
            scores = []
            for seed in range(args.seeds):
                if program == "docsphere":
                    labels, seconds = run_docsphere(args.binary, texts, k, seed, options)
                else:
                    labels, seconds = run_sklearn(texts, k, seed)
                nmi, ari = normalized_mutual_info_score(truth, labels), adjusted_rand_score(truth, labels)
                scores.append((nmi, ari, seconds))
            nmi, ari, seconds = np.mean(scores, axis=0)
            means.setdefault(program, []).append((nmi, ari))
            name = path.name.split(".")[0]
            print(f"{name:<18}{len(texts):>8}{k:>5}  {program:<11}{nmi:>7.3f}{ari:>7.3f}{seconds:>9.2f}", flush=True)
    for program, scores in means.items():
        nmi, ari = np.mean(scores, axis=0)
        print(f"{'mean':<18}{'':>8}{'':>5}  {program:<11}{nmi:>7.3f}{ari:>7.3f}")


if __name__ == "__main__":
    main()
