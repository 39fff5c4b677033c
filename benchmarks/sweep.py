"""Which number of clusters do the measures of a sweep choose, beside the number of labels?

    python benchmarks/sweep.py target/release/docsphere CORPUS.jsonl.zst... [--csv FILE] [--options "OPTIONS OF SWEEP"]

Every corpus is JSON Lines with "text" and "label". Prints a table in Markdown: for each corpus the number of labels, the number of clusters with the greatest
value of each measure alone, the recommendation with its range, and by which factor it is off. --csv writes the measures of every number of clusters. Needs
zstandard for files that end in .zst.
"""

import argparse
import csv
import io
import json
import math
import resource
import subprocess
import tempfile
from pathlib import Path

from quality import opened

MEASURES = ["mean_similarity", "silhouette", "simplified_silhouette", "margin"]
COLUMNS = ["corpus", "n_documents", "n_labels", "n_clusters", *MEASURES]
COLUMNS += [f"{kind}_{name}" for kind in ("halves", "seeds") for name in ("ari", "ari_least", "ari_greatest", "nmi")]
COLUMNS += ["objective", "smallest", "largest"]


def labels_of(path):
    with opened(path) as stream:
        records = map(json.loads, io.TextIOWrapper(stream, "utf-8"))
        return len({record["label"] for record in records if "label" in record})


def swept(binary, path, options, folder):
    """The sweep of a corpus, and the CPU seconds that it took."""
    words = [binary, "sweep", path, "-o", Path(folder) / "out", "--force", "--no-report", "--json"]
    words += ["--representatives", "0", "--least-typical", "0", *options]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rows_of(name, n_labels, found):
    for entry in found["results"]:
        row = {"corpus": name, "n_documents": found["n_documents"], "n_labels": n_labels}
        row |= {column: entry.get(column) for column in COLUMNS[3:] if column in entry}
        for kind in ("halves", "seeds"):
            row |= {f"{kind}_{key}": value for key, value in (entry.get(kind) or {}).items()}
        yield row


def greatest(rows, column):
    rows = [row for row in rows if row.get(column) is not None]
    return max(rows, key=lambda row: row[column])["n_clusters"] if rows else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("corpora", nargs="+", type=Path)
    parser.add_argument("--csv", type=Path)
    parser.add_argument("--options", default="", help="options of docsphere sweep, in one word")
    args = parser.parse_args()
    alone = ["silhouette", "margin", "halves_ari", "seeds_ari"]
    titles = ["corpus", "documents", "labels", "silhouette", "margin", "halves", "seeds", "recommended", "range", "off by", "CPU s"]
    print("| " + " | ".join(titles) + " |\n|---" + "|--:" * (len(titles) - 1) + "|", flush=True)
    everything, factors = [], []
    for path in args.corpora:
        name, n_labels = path.name.split(".")[0], labels_of(path)
        with tempfile.TemporaryDirectory() as folder:
            found, seconds = swept(args.binary, path, args.options.split(), folder)
        rows = list(rows_of(name, n_labels, found))
        everything += rows
        advice = found.get("recommendation") or {}
        k = advice.get("n_clusters")
        factor = max(k / n_labels, n_labels / k) if k else math.nan
        factors.append(factor)
        cells = [name, found["n_documents"], n_labels, *(greatest(rows, column) for column in alone), k]
        cells += [f"{advice.get('from')} to {advice.get('to')}", f"{factor:.1f}", f"{seconds:.0f}"]
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)
    mean = math.exp(sum(map(math.log, factors)) / len(factors))
    print(f"\nThe recommendation is off by a factor of {mean:.1f} (geometric mean), {max(factors):.1f} at worst.")
    if args.csv:
        with open(args.csv, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(everything)


if __name__ == "__main__":
    main()
