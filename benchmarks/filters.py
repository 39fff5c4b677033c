"""Filters and hits of `docsphere serve`, and what a page loads first.

Adds a made-up date and category to the documents of a corpus, clusters them, asks the server, and asks SQLite
the same with indexes over the columns. Prints a row per question and appends it to a CSV file:

    python3 benchmarks/filters.py --command target/release/docsphere --corpus tweets.jsonl.zst --work w --csv raw.csv

Needs Python 3.10 and zstd; the sqlite3 of Python must have FTS5. A result in the folder of --work is used again.
"""

import argparse
import csv
import http.client
import json
import os
import random
import re
import shutil
import sqlite3
import statistics
import subprocess
import time
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

COLUMNS = ["who", "question", "answers", "bytes", "p50_ms", "max_ms", "repeats"]

KINDS = ["news", "sport", "music", "film", "food", "travel", "science", "health", "money", "games", "art", "law"]


def make_table(corpus: Path, table: Path) -> None:
    """Write the documents with a day of five years and one of twelve kinds, the first ones more often."""
    random.seed(1)
    weights = [1 / (rank + 1) for rank in range(len(KINDS))]
    source = subprocess.Popen(["zstd", "-dc", corpus], stdout=subprocess.PIPE)
    with open(table, "w", encoding="utf-8") as out:
        for line in source.stdout:
            record = json.loads(line)
            day = date(2020, 1, 1) + timedelta(days=int(1826 * random.random() ** 0.7))
            kind = random.choices(KINDS, weights)[0]
            out.write(json.dumps({"id": record["id"], "text": record["text"], "day": str(day), "kind": kind}) + "\n")


def prepare(args: argparse.Namespace) -> Path:
    args.work.mkdir(parents=True, exist_ok=True)
    table, out = args.work / "table.jsonl", args.work / "out"
    if not table.exists():
        make_table(args.corpus, table)
    if not out.exists():
        options = ["-k", str(args.clusters), "-o", out, "--keep", "day,kind", "--index", "--effort", "fast"]
        subprocess.run([args.command, "cluster", table, *options, "--max-iter", "5"], check=True)
    return out


def start_server(command: str, result: Path) -> tuple[subprocess.Popen, int, float]:
    start = time.monotonic()
    server = subprocess.Popen([command, "serve", result, "--port", "0"], stdout=subprocess.PIPE, text=True)
    line = server.stdout.readline()
    port = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
    if not port:
        server.kill()
        raise SystemExit(f"the server did not start: {line!r}")
    return server, int(port.group(1)), time.monotonic() - start


def timed(repeats: int, ask) -> tuple[list[float], object]:
    seconds, answer = [], None
    for _ in range(repeats):
        start = time.monotonic()
        answer = ask()
        seconds.append(1000 * (time.monotonic() - start))
    return seconds, answer


def get(port: int, path: str) -> bytes:
    with closing(http.client.HTTPConnection("127.0.0.1", port)) as connection:
        connection.request("GET", path)
        response = connection.getresponse()
        body = response.read()
        assert response.status == 200, (path, response.status, body[:200])
        return body


def row(who: str, question: str, seconds: list[float], answers: object, n_bytes: object) -> dict:
    p50, most = f"{statistics.median(seconds):.1f}", f"{max(seconds):.1f}"
    return dict(zip(COLUMNS, [who, question, answers, n_bytes, p50, most, len(seconds)], strict=True))


def questions(columns: dict) -> list[tuple[str, dict, str]]:
    """Return paths, with the same as words and values for SQL."""
    days, kinds = (column["bins"]["labels"] for column in columns["columns"])
    some_days = range(len(days) // 2, len(days) // 2 + 6)
    two_kinds = [kinds.index("sport"), kinds.index("law")]
    day_bins, kind_bins = (",".join(map(str, bins)) for bins in (some_days, two_kinds))
    dated = {"days": (days[some_days[0]], days[some_days[-1] + 1])}
    kinded = {"kinds": ("sport", "law")}
    filters = [("", {}), (f"&bins=0:{day_bins}", dated), (f"&bins=1:{kind_bins}", kinded)]
    filters.append((f"&bins=0:{day_bins}&bins=1:{kind_bins}", dated | kinded))
    asked = []
    for words in ("", "climate ", "the ", "cong"):
        for bins, values in filters:
            for route in ("documents", "hits"):
                asked.append((f"/api/{route}?q={words.replace(' ', '+')}{bins}", values, words))
    asked.append((f"/api/documents?cluster=0{filters[3][0]}", dated | kinded, ""))
    return asked


def by_sql(database: sqlite3.Connection, values: dict, words: str, repeats: int) -> tuple[list[float], object]:
    """Count hits by cluster with the columns in the table, each with an index."""
    tests, bound = ["1"], []
    if "days" in values:
        tests.append("c0 >= ? AND c0 < ?")
        bound.extend(values["days"])
    if "kinds" in values:
        tests.append("c1 IN (?, ?)")
        bound.extend(values["kinds"])
    if words.strip():
        tests.append("number IN (SELECT rowid FROM words WHERE words MATCH ?)")
        bound.append(f'"{words.strip()}"' if words.endswith(" ") else f'"{words}" *')
    query = f"SELECT cluster, count(*) FROM documents WHERE {' AND '.join(tests)} GROUP BY cluster"
    seconds, found = timed(repeats, lambda: database.execute(query, bound).fetchall())
    return seconds, sum(n for _, n in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", required=True, help="the docsphere command")
    parser.add_argument("--corpus", required=True, type=Path, help="JSON Lines, compressed with zstd")
    parser.add_argument("--work", required=True, type=Path, help="a folder for the table and the result")
    parser.add_argument("--clusters", type=int, default=1000, help="the number of clusters")
    parser.add_argument("--repeats", type=int, default=9, help="how often each question is asked")
    parser.add_argument("--csv", help="the file to append to")
    args = parser.parse_args()
    out = prepare(args)
    columns = json.loads((out / "columns.json").read_text())
    asked = questions(columns)
    rows = []

    def add(found: dict) -> None:
        rows.append(found)
        print(" ".join(f"{name}={value}" for name, value in found.items()), flush=True)

    server, port, seconds = start_server(args.command, out)
    try:
        add(row("server", "start", [1000 * seconds], "", ""))
        for path in ("/", "/api/points"):
            seconds, body = timed(args.repeats, lambda path=path: get(port, path))
            add(row("server", path, seconds, "", len(body)))
        for path, _, _ in asked:
            seconds, body = timed(args.repeats, lambda path=path: get(port, path))
            add(row("server", path, seconds, json.loads(body)["total"], len(body)))
        memory = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{server.pid}/status").read_text())
        add(row("server", "peak memory, kB", [0], memory.group(1), ""))
    finally:
        server.kill()
        server.wait()
    indexed = args.work / "indexed.sqlite"
    if not indexed.exists():
        shutil.copy(out / "documents.sqlite", indexed)
        with closing(sqlite3.connect(indexed)) as database:
            database.execute("CREATE INDEX by_c0 ON documents (c0, cluster)")
            database.execute("CREATE INDEX by_c1 ON documents (c1, cluster)")
            database.execute("ANALYZE documents")
            database.commit()
    with closing(sqlite3.connect(indexed)) as database:
        for path, values, words in asked:
            if path.startswith("/api/hits") and (values or words):
                add(row("SQL", path, *by_sql(database, values, words, args.repeats), ""))
    if args.csv:
        is_new = not os.path.exists(args.csv)
        with open(args.csv, "a", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            if is_new:
                writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
