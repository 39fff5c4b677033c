"""Sustained load on `docsphere serve`: requests of every kind for a long time, slow clients beside them.

Starts the server itself on a free port of 127.0.0.1, and asks only that server. Each client asks one request
after the other on one connection. Slow clients ask for all points and read a few bytes per second. Writes one row per
kind of request (answers, p50 and p99) and one row per memory sample:

    python3 benchmarks/serve_sustained.py --command target/release/docsphere --result OUT \
        --requests 200000 --clients 16 --slow 50 --csv raw.csv --memory memory.csv

Needs Python 3.10 and nothing else; Linux, for the memory.
"""

import argparse
import asyncio
import csv
import random
import re
import time
from collections import Counter, defaultdict
from pathlib import Path
from urllib.parse import quote

from serve_load import percentile, start_server

WORDS = ["the", "love", "work", "today", "new phone", '"good morning"', "rain", "school", "twitter", "sleep", "con"]

COLUMNS = ["kind", "requests", "answered_200", "answered_503", "answered_other", "no_answer", "p50_s", "p99_s", "max_s"]
MEMORY_COLUMNS = ["seconds", "requests", "resident_mb", "open_files"]


def request(draw: random.Random, n_documents: int, n_clusters: int) -> tuple[str, str]:
    """A kind of request and its address."""
    word, cluster = quote(draw.choice(WORDS)), draw.randrange(n_clusters)
    kinds = [
        ("search", f"/api/documents?q={word}", 40),
        ("search in a cluster", f"/api/documents?q={word}&cluster={cluster}", 15),
        ("late page", f"/api/documents?q={word}&page={draw.randrange(400)}", 10),
        ("cluster", f"/api/documents?cluster={cluster}&page={draw.randrange(3)}", 15),
        ("document", f"/api/documents/{draw.randrange(n_documents)}", 15),
        ("hits by cluster", f"/api/hits?q={word}", 4),
        ("page", "/", 1),
    ]
    kind, address, _ = draw.choices(kinds, [weight for *_, weight in kinds])[0]
    return kind, address


async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, address: str) -> int:
    writer.write(f"GET {address} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    await writer.drain()
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(re.search(rb"content-length: (\d+)", head.lower()).group(1))
    await reader.readexactly(length)
    return int(head.split(b" ")[1])


class Load:
    """All clients and what they have seen."""

    def __init__(self, args: argparse.Namespace, pid: int, port: int):
        self.args, self.pid, self.port, self.n_left = args, pid, port, args.requests
        self.statuses: dict[str, Counter] = defaultdict(Counter)
        self.seconds: dict[str, list[float]] = defaultdict(list)
        self.memory: list[list] = []
        self.start = time.monotonic()

    async def client(self, number: int) -> None:
        draw, streams = random.Random(number), None
        while self.n_left > 0:
            self.n_left -= 1
            kind, address = request(draw, self.args.documents, self.args.clusters)
            start = time.monotonic()
            try:
                if streams is None:
                    streams = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 26)
                status = await asyncio.wait_for(exchange(*streams, f"127.0.0.1:{self.port}", address), 120)
            except (OSError, EOFError, asyncio.TimeoutError):
                status = 0
                if streams:
                    streams[1].close()
                streams = None
            self.statuses[kind][status] += 1
            self.seconds[kind].append(time.monotonic() - start)

    async def slow_client(self) -> None:
        while self.n_left > 0:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
                writer.write(f"GET /api/points HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n\r\n".encode())
                while self.n_left > 0 and await reader.read(64):
                    await asyncio.sleep(1)
                writer.close()
            except OSError:
                pass
            await asyncio.sleep(0.1)

    async def sample_memory(self) -> None:
        while self.n_left > 0:
            self.note_memory()
            await asyncio.sleep(self.args.every)

    def note_memory(self) -> None:
        status = Path(f"/proc/{self.pid}/status").read_text()
        resident = int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1)) / 1024
        n_files = len(list(Path(f"/proc/{self.pid}/fd").iterdir()))
        n_done = self.args.requests - self.n_left
        self.memory.append([f"{time.monotonic() - self.start:.1f}", n_done, f"{resident:.1f}", n_files])

    async def run(self) -> None:
        clients = [self.client(number) for number in range(self.args.clients)]
        slow = [self.slow_client() for _ in range(self.args.slow)]
        await asyncio.gather(*clients, *slow, self.sample_memory())
        self.note_memory()


def rows(load: Load) -> list[list]:
    found = []
    for kind in [*sorted(load.statuses), "all"]:
        kinds = sorted(load.statuses) if kind == "all" else [kind]
        statuses = sum((load.statuses[one] for one in kinds), Counter())
        seconds = [second for one in kinds for second in load.seconds[one]]
        n, ok, busy, none = len(seconds), statuses[200], statuses[503], statuses[0]
        times = [percentile(seconds, 0.5), percentile(seconds, 0.99), max(seconds)]
        found.append([kind, n, ok, busy, n - ok - busy - none, none, *(f"{value:.4f}" for value in times)])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", required=True, help="the docsphere command")
    parser.add_argument("--result", required=True, help="a result folder with a search index")
    parser.add_argument("--documents", type=int, default=1_000_000, help="documents of the result")
    parser.add_argument("--clusters", type=int, default=1_000, help="clusters of the result")
    parser.add_argument("--requests", type=int, default=100_000, help="requests of all clients together")
    parser.add_argument("--clients", type=int, default=16, help="clients that ask as fast as they are answered")
    parser.add_argument("--slow", type=int, default=50, help="clients that read a few bytes per second")
    parser.add_argument("--every", type=float, default=5, help="seconds between memory samples")
    parser.add_argument("--csv", required=True, help="file for a row per kind of request")
    parser.add_argument("--memory", required=True, help="file for memory samples")
    args = parser.parse_args()
    server, port = start_server(args.command, args.result)
    try:
        load = Load(args, server.pid, port)
        asyncio.run(load.run())
    finally:
        server.kill()
        server.wait()
    for path, columns, content in [(args.csv, COLUMNS, rows(load)), (args.memory, MEMORY_COLUMNS, load.memory)]:
        with open(path, "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(content)
    for row in rows(load):
        print(" ".join(f"{name}={value}" for name, value in zip(COLUMNS, row, strict=True)))
    print(f"{load.memory[0]} ... {load.memory[-1]}")


if __name__ == "__main__":
    main()
