"""Other programs for the same job, side by side: time, peak memory, objective.

    python benchmarks/rivals.py CORPUS.jsonl.zst --docs 20000 --k 100,1000 --out DIR

Every run is a process of its own, so that its peak memory is its own. All get the
same matrix (docsphere.TextVectorizer, f32 rows of length one) and one run from
their own seeds; all are told the number of threads but soyclustering, which has
no such option. Loading modules is not part of the seconds, but of the memory. The
objective is the mean cosine similarity of the rows to the direction of the mean
of their cluster, computed here from the labels: the same for everyone. A run that
exceeds the limits is reported as such.

What is compared: docsphere (plain and greedy seeds); scikit-learn's KMeans
(lloyd, elkan); sparsekmeans; soyclustering (in an interpreter of its own:
--soy-python); FAISS spherical k-means after SVD to 256 dimensions, which is
approximate and labelled so.
"""

from __future__ import annotations

import argparse
import importlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy import sparse

APPROXIMATE = "faiss-svd256"


def docsphere(X, k, threads, init):
    from docsphere import SphericalKMeans

    return SphericalKMeans(k, init=init, random_state=0, n_jobs=threads).fit(X).labels_


def scikit_learn(X, k, threads, algorithm):
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    with threadpool_limits(threads):
        return KMeans(k, algorithm=algorithm, n_init=1, max_iter=100, random_state=0).fit(X).labels_


def sparsekmeans(X, k, threads):
    from sparsekmeans import LloydKmeans

    return LloydKmeans(n_clusters=k, n_threads=threads, max_iter=100, random_state=0).fit(X)


def soyclustering(X, k, threads):
    from soyclustering import SphericalKMeans

    model = SphericalKMeans(n_clusters=k, max_iter=100, verbose=0, init="similar_cut", sparsity=None)
    return model.fit_predict(X)


def faiss_svd(X, k, threads):
    import faiss
    from sklearn.decomposition import TruncatedSVD

    faiss.omp_set_num_threads(threads)
    reduced = TruncatedSVD(256, random_state=0).fit_transform(X).astype(np.float32)
    faiss.normalize_L2(reduced)
    kmeans = faiss.Kmeans(256, k, niter=100, spherical=True, seed=0, max_points_per_centroid=10**9)
    kmeans.train(reduced)
    return kmeans.index.search(reduced, 1)[1].ravel()


PROGRAMS = {
    "docsphere": lambda X, k, threads: docsphere(X, k, threads, "plain-k-means++"),
    "docsphere-greedy": lambda X, k, threads: docsphere(X, k, threads, "k-means++"),
    "sklearn-lloyd": lambda X, k, threads: scikit_learn(X, k, threads, "lloyd"),
    "sklearn-elkan": lambda X, k, threads: scikit_learn(X, k, threads, "elkan"),
    "sparsekmeans": sparsekmeans,
    "soyclustering": soyclustering,
    APPROXIMATE: faiss_svd,
}


def objective(X, labels) -> float:
    """Return the mean cosine of rows to the direction of their cluster's sum."""
    labels = np.asarray(labels, dtype=np.int64).ravel()
    known = labels >= 0
    members = sparse.csr_matrix(
        (np.ones(known.sum()), (labels[known], np.flatnonzero(known))), shape=(labels.max() + 1, len(labels))
    )
    sums = members @ X.astype(np.float64)
    return float(np.sqrt(sums.multiply(sums).sum(axis=1)).sum() / len(labels))


MODULES = {
    "docsphere": ["docsphere"],
    "docsphere-greedy": ["docsphere"],
    "sklearn-lloyd": ["sklearn.cluster"],
    "sklearn-elkan": ["sklearn.cluster"],
    "sparsekmeans": ["sparsekmeans"],
    "soyclustering": ["soyclustering"],
    APPROXIMATE: ["faiss", "sklearn.decomposition"],
}


def peak_mb() -> float:
    """Return the greatest resident memory of this process since it was started."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def child(arguments) -> None:
    """Run one program, and print what came of it."""
    X = sparse.load_npz(arguments.matrix)
    for module in MODULES[arguments.program]:
        importlib.import_module(module)
    before = peak_mb()
    start = time.perf_counter()
    labels = PROGRAMS[arguments.program](X, arguments.k, arguments.threads)
    seconds = time.perf_counter() - start
    peak = peak_mb()
    found = {"seconds": seconds, "peak_mb": peak, "before_mb": before, "objective": objective(X, labels)}
    print(json.dumps(found))


def limited(megabytes):
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))

    return limit


def measure(arguments, program, matrix, k) -> dict:
    interpreter = arguments.soy_python if program == "soyclustering" else sys.executable
    if interpreter is None:
        return {"error": "left out: no --soy-python"}
    command = [
        interpreter,
        __file__,
        "--child",
        "--program",
        program,
        "--matrix",
        str(matrix),
        "--k",
        str(k),
        "--threads",
        str(arguments.threads),
    ]
    try:
        ended = subprocess.run(
            command, capture_output=True, text=True, timeout=arguments.limit_s, preexec_fn=limited(arguments.limit_mb)
        )
    except subprocess.TimeoutExpired:
        return {"error": f"over {arguments.limit_s} s"}
    if ended.returncode == 0:
        return json.loads(ended.stdout.splitlines()[-1])
    lines = ended.stderr.strip().splitlines() or [f"exit {ended.returncode}"]
    out_of_memory = any("MemoryError" in line or "bad_alloc" in line or "allocat" in line for line in lines)
    return {"error": f"over {arguments.limit_mb} MB" if out_of_memory else lines[-1][:80]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", nargs="?", type=Path, help='JSON Lines with a field "text", .zst or not')
    parser.add_argument("--docs", type=int, help="only the first documents")
    parser.add_argument("--k", default="100")
    parser.add_argument("--programs", default=",".join(PROGRAMS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--limit-s", type=float, default=300)
    parser.add_argument("--limit-mb", type=int, default=20_000)
    parser.add_argument("--soy-python", help="an interpreter with soyclustering")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--program", help=argparse.SUPPRESS)
    parser.add_argument("--matrix", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        arguments.k = int(arguments.k)
        child(arguments)
        return
    if arguments.corpus is None:
        parser.error("a corpus must be given")
    with tempfile.TemporaryDirectory() as folder:
        matrix = Path(folder) / "rows.npz"
        shape = vectorized(arguments.corpus, arguments.docs, matrix)
        lines = [
            f"{arguments.corpus.name}: {shape[0]:,} rows, {shape[1]:,} terms, {arguments.threads} threads",
            "",
            "| k | program | seconds | peak MB | mean cosine |",
            "|--:|---|--:|--:|--:|",
        ]
        print("\n".join(lines), flush=True)
        too_slow: dict[str, int] = {}
        for k in sorted(map(int, arguments.k.split(","))):
            for program in arguments.programs.split(","):
                if program in too_slow:
                    found = {"error": f"not tried: over the limit at k = {too_slow[program]:,}"}
                else:
                    found = measure(arguments, program, matrix, k)
                if found.get("error", "").startswith("over "):
                    too_slow[program] = k
                label = program + (" (approximate)" if program == APPROXIMATE else "")
                cells = (
                    f"{found['seconds']:.2f} | {found['peak_mb']:.0f} | {found['objective']:.4f}"
                    if "error" not in found
                    else f"{found['error']} | |"
                )
                lines.append(f"| {k:,} | {label} | {cells} |")
                print(lines[-1], flush=True)
        if arguments.out:
            arguments.out.mkdir(parents=True, exist_ok=True)
            name = f"rivals-{arguments.corpus.name.split('.')[0]}-{shape[0]}.md"
            (arguments.out / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def vectorized(corpus: Path, n_docs: int | None, matrix: Path) -> tuple[int, int]:
    """Write the matrix of a corpus, and return its shape."""
    from docsphere import TextVectorizer

    if corpus.suffix == ".zst":
        unpacked = subprocess.run(["zstd", "-dcq", str(corpus)], capture_output=True, check=True).stdout
    else:
        unpacked = corpus.read_bytes()
    # Not splitlines(): a text may hold other ends of lines, such as U+2028.
    records = [record for record in unpacked.decode("utf-8").split("\n") if record]
    texts = [json.loads(record)["text"] for record in records[:n_docs]]
    X = TextVectorizer(n_jobs=-1).fit_transform(texts)
    X = X[np.diff(X.indptr) > 0]
    sparse.save_npz(matrix, X, compressed=False)
    return X.shape


if __name__ == "__main__":
    main()
