"""Load on `docsphere serve`: many connections at once, each asking for the same query.

Starts the server itself, once per query and number of connections, on a free port of 127.0.0.1, and asks only
that server. Prints one row per measurement and appends it to a CSV file:

    python3 benchmarks/serve_load.py --command target/release/docsphere --result OUT \
        --connections 100,600 --query the --query "of the" --label after --csv raw.csv

Needs Python 3.10 and nothing else; Linux, for the peak memory.
"""

import argparse
import asyncio
import csv
import os
import re
import statistics
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

COLUMNS = [
    "label", "query", "connections", "requests", "answered_200", "answered_503", "answered_other", "no_answer",
    "share_200", "p50_s", "p99_s", "max_s", "wall_s", "peak_memory_mb",
]  # fmt: skip


@dataclass
class Seen:
    """What happened to the requests of one measurement."""

    statuses: Counter = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)


async def ask(port: int, address: str, limit_s: float) -> int:
    """One request on a connection of its own. Returns the status, 0 if there was no whole answer."""

    async def exchange() -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(f"GET {address} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode())
            await writer.drain()
            answer = await reader.read(-1)
        finally:
            writer.close()
        head = re.match(rb"HTTP/1\.1 (\d{3}) ", answer)
        return int(head.group(1)) if head else 0

    try:
        return await asyncio.wait_for(exchange(), limit_s)
    except (OSError, asyncio.TimeoutError):
        return 0


async def client(port: int, address: str, n_requests: int, limit_s: float, seen: Seen) -> None:
    for _ in range(n_requests):
        start = time.monotonic()
        status = await ask(port, address, limit_s)
        seen.statuses[status] += 1
        seen.seconds.append(time.monotonic() - start)


async def load(port: int, address: str, n_connections: int, n_requests: int, limit_s: float) -> Seen:
    seen = Seen()
    clients = [client(port, address, n_requests, limit_s, seen) for _ in range(n_connections)]
    await asyncio.gather(*clients)
    return seen


def start_server(command: str, result: str) -> tuple[subprocess.Popen, int]:
    server = subprocess.Popen([command, "serve", result, "--port", "0"], stdout=subprocess.PIPE, text=True)
    line = server.stdout.readline()
    port = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
    if not port:
        server.kill()
        raise SystemExit(f"the server did not start: {line!r}")
    return server, int(port.group(1))


def peak_memory_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status).group(1)) / 1024


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def measure(args: argparse.Namespace, query: str, n_connections: int) -> dict:
    server, port = start_server(args.command, args.result)
    try:
        address = f"/api/documents?q={quote(query)}"
        start = time.monotonic()
        seen = asyncio.run(load(port, address, n_connections, args.requests, args.limit))
        wall_s = time.monotonic() - start
        peak_mb = peak_memory_mb(server.pid)
    finally:
        server.kill()
        server.wait()
    n = sum(seen.statuses.values())
    ok, busy, none = seen.statuses[200], seen.statuses[503], seen.statuses[0]
    values = [
        args.label, query, n_connections, n, ok, busy, n - ok - busy - none, none,
        f"{ok / n:.4f}", f"{statistics.median(seen.seconds):.3f}", f"{percentile(seen.seconds, 0.99):.3f}",
        f"{max(seen.seconds):.3f}", f"{wall_s:.2f}", f"{peak_mb:.0f}",
    ]  # fmt: skip
    return dict(zip(COLUMNS, values, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", required=True, help="the docsphere command")
    parser.add_argument("--result", required=True, help="a result folder with a search index")
    parser.add_argument("--connections", default="100,600", help="connections at once, a list")
    parser.add_argument("--requests", type=int, default=2, help="requests per connection, one after the other")
    parser.add_argument("--query", action="append", help="what to search for; may be repeated (default: the)")
    parser.add_argument("--limit", type=float, default=120, help="seconds after which a client gives up")
    parser.add_argument("--label", default="", help="first column of the CSV file")
    parser.add_argument("--csv", help="the file to append to")
    args = parser.parse_args()
    rows = []
    for query in args.query or ["the"]:
        for n_connections in map(int, args.connections.split(",")):
            rows.append(measure(args, query, n_connections))
            print(" ".join(f"{name}={value}" for name, value in rows[-1].items()), flush=True)
    if args.csv:
        is_new = not os.path.exists(args.csv)
        with open(args.csv, "a", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            if is_new:
                writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
