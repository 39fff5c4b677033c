"""How well do clusters match known labels? docsphere beside scikit-learn, on labelled corpora.

    make quality QUALITY_CORPORA="a.jsonl.zst b.jsonl"
    python benchmarks/quality.py target/release/docsphere CORPUS.jsonl.zst... [--docs N] [--seeds N] [--try OPTIONS]... [--sklearn] [--csv FILE]

Every corpus is JSON Lines with "text" and "label"; k is the number of labels. docsphere runs with each set of options of --try ("" for the defaults, which is
what runs without any), and with --sklearn also scikit-learn: TfidfVectorizer() and KMeans(k) as they come, and the same behind a truncated SVD to 100
dimensions, as in scikit-learn's user guide. Prints a table in Markdown: NMI / ARI / accuracy (under the best one-to-one mapping of clusters to labels) for each
corpus, means over the seeds; then the mean over the corpora, the spread (the mean of the standard deviations of NMI over the seeds), and the seconds of all
corpora. --csv writes every single run, with its objective. Needs scikit-learn and zstandard.
"""

import argparse
import csv
import io
import json
import subprocess
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


def run_docsphere(binary, options):
    """A function that clusters texts with these options: labels, objective per document, seconds of the whole job."""

    def run(texts, k, seed):
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
                labels = [int(row["cluster"]) for row in csv.DictReader(file)]
            objective = json.loads((out / "clusters.json").read_text(encoding="utf-8"))["objective"]
            return labels, objective / len(texts), seconds

    return run


def run_sklearn(n_dimensions):
    """A function that clusters texts with scikit-learn; with a number of dimensions, behind a truncated SVD."""

    def run(texts, k, seed):
        from sklearn.cluster import KMeans
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import Normalizer

        steps = [TfidfVectorizer()]
        if n_dimensions:
            steps += [TruncatedSVD(n_dimensions, random_state=seed), Normalizer(copy=False)]
        start = time.perf_counter()
        labels = make_pipeline(*steps, KMeans(k, random_state=seed)).fit_predict(texts)
        return list(labels), None, time.perf_counter() - start

    return run


def accuracy(truth, labels):
    """The share of documents with the right label, if clusters are mapped to labels one to one as well as possible."""
    from scipy.optimize import linear_sum_assignment

    truth, labels = np.unique(truth, return_inverse=True)[1], np.asarray(labels)
    counts = np.zeros((truth.max() + 1, labels.max() + 1), dtype=int)
    has_label = labels >= 0
    np.add.at(counts, (truth[has_label], labels[has_label]), 1)
    return counts[linear_sum_assignment(-counts)].sum() / len(truth)


def main():
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("corpora", nargs="+", type=Path)
    parser.add_argument("--docs", type=int, help="at most so many documents of each corpus")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sklearn", action="store_true", help="scikit-learn, too")
    parser.add_argument("--try", dest="tries", action="append", help="a set of options of docsphere cluster, in one argument; may be given several times")
    parser.add_argument("--csv", type=Path, help="writes every run into this file")
    args = parser.parse_args()

    programs = {f"`{options}`" if options else "defaults": run_docsphere(args.binary, options.split()) for options in args.tries or [""]}
    if args.sklearn:
        programs |= {"scikit-learn, TF-IDF and KMeans": run_sklearn(None), "scikit-learn, LSA and KMeans": run_sklearn(100)}
    data = [(path.name.split(".")[0], *read(path, args.docs)) for path in args.corpora]
    names = [f"{name}, k = {len(set(truth))}" for name, _, truth in data]
    print("| | " + " | ".join(names) + " | mean | spread | seconds |")
    print("|---" * (len(names) + 1) + "|--:|--:|--:|", flush=True)
    rows = [["program", "corpus", "seed", "nmi", "ari", "accuracy", "objective", "seconds"]]
    for program, run in programs.items():
        cells, means, spreads, total = [], [], [], 0.0
        for corpus, texts, truth in data:
            scores = []
            for seed in range(args.seeds):
                labels, objective, seconds = run(texts, len(set(truth)), seed)
                found = (normalized_mutual_info_score(truth, labels), adjusted_rand_score(truth, labels), accuracy(truth, labels))
                scores.append(found)
                total += seconds / args.seeds
                rows.append([program, corpus, seed, *(f"{score:.4f}" for score in found), "" if objective is None else f"{objective:.6f}", f"{seconds:.2f}"])
            mean = np.mean(scores, axis=0)
            cells.append(" / ".join(f"{score:.3f}" for score in mean))
            means.append(mean)
            spreads.append(np.std([score[0] for score in scores]))
        mean = " / ".join(f"{score:.3f}" for score in np.mean(means, axis=0))
        print(f"| {program} | {' | '.join(cells)} | {mean} | {np.mean(spreads):.3f} | {total:.1f} |", flush=True)
    if args.csv:
        with open(args.csv, "w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)


if __name__ == "__main__":
    main()
