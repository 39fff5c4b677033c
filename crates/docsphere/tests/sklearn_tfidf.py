"""The TF-IDF matrices of docsphere and of scikit-learn are the same.

    cargo build --release --example vectorize
    python crates/docsphere/tests/sklearn_tfidf.py target/release/examples/vectorize [CORPUS.jsonl.zst N]

Needs numpy, scipy and scikit-learn, and zstandard where a corpus is given. Every check writes a small corpus, runs the binary and
`TfidfVectorizer` on it, and compares vocabulary, places of the nonzeros, and values to 1e-6. With a corpus, its first N documents are compared too.
Prints "N passed, 0 failed"; the exit status is 1 if any failed.
"""

import io
import json
import subprocess
import sys
import tempfile
import traceback
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer

TOLERANCE = 1e-6

WORDS = (
    "sphere cluster document term row centroid label similarity seed iteration exact sparse vector cosine "
    "the of and a is in to don't it's x1 3d 42 1999 3.14 snake_case __init__ e.g. Zürich ÉCOLE straße İstanbul ΣΊΣΥΦΟΣ "
    "東京 北京大学 कि\u0924\u093e\u092c नमस्ते ⓐⓑ ½¾ ①② ﬁne naïve cafe\u0301 مرحبا שלום สวัสดี \U0001d400\U0001d401 Ⅻ ²³ "
    "http://example.org/x?y=1 user@example.com #tag @name 😀 — … “quoted” co-operate a/b\tc\nd U.S.A. R&D C++"
).split(" ")

CASES = {
    "defaults": ({}, []),
    "smooth_idf=False": ({"smooth_idf": False}, ["--idf", "plus-one"]),
    "sublinear_tf": ({"sublinear_tf": True}, ["--sublinear-tf"]),
    "ngram_range=(1, 2)": ({"ngram_range": (1, 2)}, ["--ngrams", "1", "2"]),
    "ngram_range=(2, 3)": ({"ngram_range": (2, 3)}, ["--ngrams", "2", "3"]),
    "min_df=3": ({"min_df": 3}, ["--min-df", "3"]),
    "min_df=0.1": ({"min_df": 0.1}, ["--min-df", "0.1"]),
    "max_df=20": ({"max_df": 20}, ["--max-df", "20"]),
    "max_df=0.25": ({"max_df": 0.25}, ["--max-df", "0.25"]),
    "min_df and max_df": ({"min_df": 2, "max_df": 0.5}, ["--min-df", "2", "--max-df", "0.5"]),
    "everything": (
        {"ngram_range": (1, 3), "min_df": 2, "max_df": 0.5, "sublinear_tf": True, "smooth_idf": False},
        ["--ngrams", "1", "3", "--min-df", "2", "--max-df", "0.5", "--sublinear-tf", "--idf", "plus-one"],
    ),
}


class Failure(Exception):
    """A check that did not hold."""


def random_documents(rng, count):
    """Documents with rare and frequent words, repeated ones, and some without any."""
    weights = 1 / np.arange(1, len(WORDS) + 1) ** 0.7
    order = rng.permutation(len(WORDS))
    documents = []
    for _ in range(count):
        chosen = rng.choice(order, rng.integers(0, 25), p=weights / weights.sum())
        documents.append(" ".join(WORDS[i] for i in chosen))
    return documents + ["", "!", "the the the the the"]


def run(binary, documents, flags, folder):
    """The matrix and the vocabulary that the binary writes."""
    source, target, terms = folder / "in.jsonl", folder / "out.npz", folder / "terms.txt"
    source.write_text("".join(json.dumps({"text": text}) + "\n" for text in documents), encoding="utf-8")
    command = [binary, source, target, "--sklearn", "--vocabulary", terms, *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure(f"exit status {done.returncode}: {done.stderr.strip()}")
    return sp.csr_matrix(sp.load_npz(target)), terms.read_text(encoding="utf-8").split("\n")[:-1]


def check(binary, documents, options, flags):
    """Compares the two; the greatest difference of a value."""
    vectorizer = TfidfVectorizer(**options)
    expected = sp.csr_matrix(vectorizer.fit_transform(documents))
    expected.sort_indices()
    with tempfile.TemporaryDirectory() as folder:
        got, terms = run(binary, documents, flags, Path(folder))
    if terms != list(vectorizer.get_feature_names_out()):
        differing = sorted(set(terms) ^ set(vectorizer.get_feature_names_out()))
        raise Failure(f"vocabularies differ, {len(differing)} terms: {differing[:10]}")
    if got.shape != expected.shape:
        raise Failure(f"shape {got.shape}, expected {expected.shape}")
    if not (np.array_equal(got.indptr, expected.indptr) and np.array_equal(got.indices, expected.indices)):
        raise Failure("nonzeros stand in other places")
    largest = float(np.abs(got.data - expected.data).max(initial=0))
    if not largest <= TOLERANCE:
        raise Failure(f"values differ by up to {largest}")
    return largest


def check_paper(binary, documents):
    """The default weights, tf * ln(N / df), written out."""
    counts = TfidfVectorizer(use_idf=False, norm=None)
    matrix = counts.fit_transform(documents).toarray()
    weight = np.log(len(documents) / (matrix > 0).sum(axis=0))
    matrix = matrix * weight
    length = np.sqrt((matrix**2).sum(axis=1, keepdims=True))
    expected = np.divide(matrix, length, out=np.zeros_like(matrix), where=length > 0)[:, weight > 0]
    with tempfile.TemporaryDirectory() as folder:
        got, _ = run(binary, documents, ["--idf", "paper"], Path(folder))
    largest = float(np.abs(got.toarray() - expected).max(initial=0))
    if not largest <= TOLERANCE:
        raise Failure(f"values differ by up to {largest}")


def check_max_features(binary, documents):
    """With a limit: as many terms, and none left out that is more frequent than one kept (ties are open in scikit-learn)."""
    counts = TfidfVectorizer(use_idf=False, norm=None)
    total = np.asarray(counts.fit_transform(documents).sum(axis=0)).ravel()
    total = dict(zip(counts.get_feature_names_out(), total))
    for limit in [1, 10, 50]:
        best = sorted(total, key=lambda term: (-total[term], term))[:limit]
        vectorizer = TfidfVectorizer(vocabulary=sorted(best))
        expected = vectorizer.fit_transform(documents)
        reference = TfidfVectorizer(max_features=limit).fit(documents)
        chosen = sorted(total[term] for term in reference.get_feature_names_out())
        with tempfile.TemporaryDirectory() as folder:
            flags = ["--idf", "smooth", "--max-terms", str(limit)]
            got, terms = run(binary, documents, flags, Path(folder))
        if terms != sorted(best) or sorted(total[term] for term in terms) != chosen:
            raise Failure(f"other terms are kept with a limit of {limit}")
        largest = float(np.abs((got - expected).toarray()).max(initial=0))
        if not largest <= TOLERANCE:
            raise Failure(f"values differ by up to {largest}")


def check_word_characters(binary):
    """Every character of Unicode that this Python knows counts as part of a word, or not, in both.

    Characters that lower-casing changes are left out: there the two only have to agree on the lower-case ones."""
    import unicodedata

    known = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    known = [c for c in known if unicodedata.category(c) != "Cn" and c.lower() == c]
    documents = ["".join(f"a{c}b " for c in known[start : start + 1000]) for start in range(0, len(known), 1000)]
    check(binary, documents, {}, ["--idf", "smooth"])


def check_standard_input(binary, documents):
    """What comes through a pipe gives the same matrix as the file."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        expected, _ = run(binary, documents, [], folder)
        target = folder / "piped.npz"
        with open(folder / "in.jsonl", "rb") as file:
            command = [binary, "-", target, "--sklearn", "--format", "jsonl"]
            subprocess.run(command, stdin=file, capture_output=True, check=True)
        if (sp.load_npz(target) != expected).nnz:
            raise Failure("the matrices differ")


def first_documents(path, count):
    """The first documents of a compressed corpus."""
    import zstandard

    with open(path, "rb") as file:
        lines = io.TextIOWrapper(zstandard.ZstdDecompressor().stream_reader(file), encoding="utf-8")
        return [json.loads(line)["text"] for line, _ in zip(lines, range(count))]


def main():
    binary = sys.argv[1]
    warnings.filterwarnings("ignore", message="Upper case characters found")
    rng = np.random.default_rng(7)
    small, large = random_documents(rng, 60), random_documents(rng, 3000)
    checks = []
    for name, (options, flags) in CASES.items():
        flags = flags if "--idf" in flags else ["--idf", "smooth", *flags]
        for size, documents in [("small", small), ("large", large)]:
            if "max_df" in options and isinstance(options["max_df"], int) and size == "large":
                continue
            checks.append((f"{name}, {size}", lambda d=documents, o=options, f=flags: check(binary, d, o, f)))
    checks.append(("the paper's weights", lambda: check_paper(binary, small)))
    checks.append(("max_features", lambda: check_max_features(binary, large)))
    checks.append(("standard input", lambda: check_standard_input(binary, small)))
    checks.append(("every character", lambda: check_word_characters(binary)))
    if len(sys.argv) == 4:
        documents = first_documents(sys.argv[2], int(sys.argv[3]))
        for name in ["defaults", "smooth_idf=False", "min_df and max_df", "everything"]:
            options, flags = CASES[name]
            flags = flags if "--idf" in flags else ["--idf", "smooth", *flags]
            checks.append((f"{name}, corpus", lambda o=options, f=flags: check(binary, documents, o, f)))
    n_failed = 0
    for name, run_check in checks:
        try:
            largest = run_check()
            if "corpus" in name:
                print(f"{name}: greatest difference {largest:.2e}")
        except Failure as failure:
            n_failed += 1
            print(f"FAILED {name}: {failure}")
        except Exception:
            n_failed += 1
            print(f"FAILED {name}:\n{traceback.format_exc()}")
    print(f"{len(checks) - n_failed} passed, {n_failed} failed")
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
