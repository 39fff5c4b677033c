"""How well do clusters match known labels? docsphere beside scikit-learn, on labelled corpora.

    make quality QUALITY_CORPORA="a.jsonl.zst b.jsonl"
    python benchmarks/quality.py target/release/docsphere CORPUS.jsonl.zst... [--docs N] [--seeds N] [--jobs N] [--try OPTIONS]... [--sklearn] [--csv FILE]

Every corpus is JSON Lines with "text" and "label"; k is the number of labels. docsphere runs with each set of options of --try ("" for the defaults, which is
what runs without any), and with --sklearn also scikit-learn: TfidfVectorizer() and KMeans(k) as they come; and both ways of its user guide ("Clustering text
documents using k-means"): the words in at least five documents and at most half of them, without stop words, then the best of five runs of KMeans; or a truncated
SVD to 100 dimensions (LSA) and one run.

Prints two tables in Markdown, means over the seeds. The first: NMI / ARI / accuracy (under the best one-to-one mapping of clusters to labels) per corpus, the mean
over the corpora, and the spread (the mean of the standard deviations of NMI over the seeds). The second: objective and CPU seconds (user and system, on one
thread, from texts to result) per corpus. The objective is that of the labels on docsphere's default rows, whatever rows and centroids the labels come from, so
that it is the same quantity for all programs: the lengths of the clusters' sums of rows, added up, per document. --csv writes every run as soon as it ends; runs
that the file already has are not repeated. Needs scikit-learn, and zstandard for
files that end in .zst.
"""

import argparse
import csv
import gzip
import io
import json
import multiprocessing
import os
import resource
import subprocess
import tempfile
import time
from pathlib import Path

# One thread everywhere, so that CPU seconds of programs compare. Read when NumPy is loaded.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np

COLUMNS = ["program", "corpus", "seed", "nmi", "ari", "accuracy", "objective", "seconds"]


def opened(path):
    """The bytes of a file, decompressed by its name."""
    if path.suffix == ".gz":
        return gzip.open(path)
    if path.suffix == ".zst":
        import zstandard

        return zstandard.open(path)
    return open(path, "rb")


class LabelledCorpus:
    """Texts and labels, in a seeded random order, since some files are sorted by label."""

    def __init__(self, path, n_docs, binary, folder):
        import scipy.sparse

        with opened(path) as stream:
            records = [json.loads(line) for line in io.TextIOWrapper(stream, "utf-8")]
        records = [record for record in records if "label" in record]
        order = np.random.default_rng(0).permutation(len(records))[: n_docs or len(records)]
        self.name = path.name.split(".")[0]
        self.texts = [records[i]["text"] for i in order]
        self.truth = np.unique([str(records[i]["label"]) for i in order], return_inverse=True)[1]
        self.k = int(self.truth.max()) + 1
        self.file = Path(folder) / f"{self.name}.jsonl"
        self.file.write_text("".join(json.dumps({"text": text}) + "\n" for text in self.texts), encoding="utf-8")
        rows = Path(folder) / f"{self.name}-rows"
        subprocess.run([binary, "vectorize", self.file, "-o", rows, "--quiet"], check=True)
        self.rows = scipy.sparse.load_npz(rows / "matrix.npz").astype(np.float64)

    def scores(self, labels):
        """NMI, ARI, accuracy, objective."""
        from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

        agreement = normalized_mutual_info_score(self.truth, labels), adjusted_rand_score(self.truth, labels)
        return [*agreement, accuracy(self.truth, labels), self.objective(labels)]

    def objective(self, labels):
        import scipy.sparse

        members = np.flatnonzero(labels >= 0)
        entries = np.ones(len(members)), (labels[members], members)
        sums = scipy.sparse.csr_matrix(entries, shape=(labels.max() + 1, len(labels))) @ self.rows
        return float(np.sqrt(sums.multiply(sums).sum(axis=1)).sum()) / len(labels)


def accuracy(truth, labels):
    """The share of documents with the right label, if clusters are mapped to labels one to one as well as possible."""
    from scipy.optimize import linear_sum_assignment

    counts = np.zeros((truth.max() + 1, labels.max() + 1), dtype=int)
    has_label = labels >= 0
    np.add.at(counts, (truth[has_label], labels[has_label]), 1)
    return counts[linear_sum_assignment(-counts)].sum() / len(truth)


def run_docsphere(binary, options):
    """A function that clusters a corpus with these options: labels, and CPU seconds of the whole job."""

    def run(corpus, seed):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out"
            command = [binary, "cluster", corpus.file, "-k", str(corpus.k), "-o", out, "--seed", str(seed), "--threads", "1", "--quiet", *options]
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            with open(out / "assignments.csv", newline="", encoding="utf-8") as file:
                return np.array([int(row["cluster"]) for row in csv.DictReader(file)]), seconds

    return run


def run_sklearn(pipeline):
    """A function that clusters a corpus with a pipeline of scikit-learn, made for a k and a seed."""

    def run(corpus, seed):
        steps = pipeline(corpus.k, seed)
        start = time.process_time()
        labels = steps.fit_predict(corpus.texts)
        return labels, time.process_time() - start

    return run


def sklearn_programs():
    from sklearn.cluster import KMeans
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Normalizer

    def defaults(k, seed):
        return make_pipeline(TfidfVectorizer(), KMeans(k, random_state=seed))

    def words():
        return TfidfVectorizer(max_df=0.5, min_df=5, stop_words="english")

    def guide(k, seed):
        return make_pipeline(words(), KMeans(k, max_iter=100, n_init=5, random_state=seed))

    def lsa(k, seed):
        steps = [words(), TruncatedSVD(100, random_state=seed), Normalizer(copy=False)]
        return make_pipeline(*steps, KMeans(k, max_iter=100, n_init=1, random_state=seed))

    pipelines = {
        "scikit-learn, TF-IDF and KMeans": defaults,
        "scikit-learn, TF-IDF and KMeans of its guide": guide,
        "scikit-learn, LSA and KMeans of its guide": lsa,
    }
    return {name: run_sklearn(pipeline) for name, pipeline in pipelines.items()}


class Runs:
    """All runs so far: scores and seconds by program, corpus and seed; in memory, and in a CSV file if there is one."""

    def __init__(self, path):
        self.path, self.found = path, {}
        if path and path.exists():
            with open(path, newline="", encoding="utf-8") as file:
                for program, corpus, seed, *values in list(csv.reader(file))[1:]:
                    self.found[program, corpus, int(seed)] = [float(value) for value in values]
        elif path:
            self.append(COLUMNS)

    def append(self, row):
        with open(self.path, "a", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerow(row)

    def complete(self, programs, corpora, n_seeds, n_jobs):
        """Executes the runs that are missing, `n_jobs` at a time."""
        global tasks
        keys = [(program, corpus, seed) for program in programs for corpus in corpora for seed in range(n_seeds)]
        tasks = [(program, programs[program], corpus, seed) for program, corpus, seed in keys if (program, corpus.name, seed) not in self.found]
        # Forked, so that texts and functions need not travel; one task per process, so that none
        # inherits a heap.
        with multiprocessing.get_context("fork").Pool(n_jobs, maxtasksperchild=1) as pool:
            for number, texts in pool.imap_unordered(execute, range(len(tasks)), chunksize=1):
                program, _, corpus, seed = tasks[number]
                self.found[program, corpus.name, seed] = [float(text) for text in texts]
                if self.path:
                    self.append([program, corpus.name, seed, *texts])


tasks = []


def execute(number):
    """One task: its number, and its scores and seconds as they are written."""
    _, run, corpus, seed = tasks[number]
    labels, seconds = run(corpus, seed)
    return number, [f"{score:.4f}" for score in corpus.scores(labels)] + [f"{seconds:.2f}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("corpora", nargs="+", type=Path)
    parser.add_argument("--docs", type=int, help="at most so many documents of each corpus")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time, each on one thread")
    parser.add_argument("--sklearn", action="store_true", help="scikit-learn, too")
    parser.add_argument("--try", dest="tries", action="append", help="a set of options of docsphere cluster, in one argument; may be given several times")
    parser.add_argument("--csv", type=Path, help="adds every run to this file, and takes those from it that it already has; remove it to measure again")
    args = parser.parse_args()

    programs = {f"`{options}`" if options else "defaults": run_docsphere(args.binary, options.split()) for options in args.tries or [""]}
    programs |= sklearn_programs() if args.sklearn else {}
    runs = Runs(args.csv)
    with tempfile.TemporaryDirectory() as folder:
        corpora = [LabelledCorpus(path, args.docs, args.binary, folder) for path in args.corpora]
        runs.complete(programs, corpora, args.seeds, args.jobs)
        head = "| | " + " | ".join(f"{corpus.name}, k = {corpus.k}" for corpus in corpora)
        print(head + " | mean | spread |\n" + "|---" * (len(corpora) + 1) + "|--:|--:|", flush=True)
        costs = []
        for program in programs:
            found = np.array([[runs.found[program, corpus.name, seed] for seed in range(args.seeds)] for corpus in corpora])
            means = found.mean(axis=1)
            cells = [" / ".join(f"{score:.3f}" for score in mean[:3]) for mean in [*means, means.mean(axis=0)]]
            print(f"| {program} | {' | '.join(cells)} | {found[:, :, 0].std(axis=1).mean():.3f} |", flush=True)
            costs.append([program] + [f"{mean[3]:.4f}, {mean[4]:.1f} s" for mean in means] + [f"{means[:, 4].sum():.1f}"])
    print(f"\nObjective, CPU seconds:\n\n{head} | seconds of all |\n" + "|---" * (len(corpora) + 1) + "|--:|")
    for cells in costs:
        print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
