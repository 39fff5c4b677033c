"""From a compressed corpus to a TF-IDF matrix in memory: docsphere beside scikit-learn, same settings, same machine, in turn.

    cargo build --release --package docsphere --example vectorize
    python benchmarks/vectorize_speed.py target/release/examples/vectorize CORPUS.jsonl.zst... [--runs 3] [--threads 2]

Both read JSON Lines with a field "text", cut it by scikit-learn's default pattern, keep all terms, and weigh with smoothed idf. Wall-clock seconds; docsphere's are those of the whole
process. Fails unless both have the same shape and the same number of nonzeros. Needs scikit-learn and zstandard.
"""

import argparse
import io
import json
import statistics
import subprocess
import time
from pathlib import Path

import zstandard
from sklearn.feature_extraction.text import TfidfVectorizer

SAME_SETTINGS = "--sklearn --idf smooth".split()


def ours(binary, corpus, threads):
    start = time.perf_counter()
    command = [binary, corpus, "none", "--threads", str(threads), *SAME_SETTINGS]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    seconds = time.perf_counter() - start
    return [int(number) for number in printed.split()[:3]], seconds


def theirs(corpus):
    start = time.perf_counter()
    with open(corpus, "rb") as raw:
        stream = zstandard.ZstdDecompressor().stream_reader(raw)
        texts = (json.loads(line)["text"] for line in io.TextIOWrapper(stream, "utf-8"))
        matrix = TfidfVectorizer().fit_transform(texts)
    return matrix, time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("corpora", nargs="+", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    print(f"{'corpus':<14}{'rows':>10}{'terms':>10}{'nonzeros':>12}{'docsphere':>11}{'sklearn':>9}{'ratio':>7}", flush=True)
    for corpus in args.corpora:
        our_seconds, their_seconds = [], []
        for _ in range(args.runs):
            a, seconds = ours(args.binary, corpus, args.threads)
            our_seconds.append(seconds)
            b, seconds = theirs(corpus)
            their_seconds.append(seconds)
            assert a == [*b.shape, b.nnz], (a, b.shape, b.nnz)
        we, they = statistics.median(our_seconds), statistics.median(their_seconds)
        name = corpus.name.split(".")[0]
        print(f"{name:<14}{a[0]:>10}{a[1]:>10}{a[2]:>12}{we:>11.2f}{they:>9.2f}{they / we:>7.1f}", flush=True)


if __name__ == "__main__":
    main()
