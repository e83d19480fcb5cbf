"""Readers and a writer at `tidelog rdf serve`: each answer must be that of one commit, and the memory must stay flat.

The writer moves counters from n to n + 1, and with them their class, whose superclass follows. So the number of a
commit says what each query has to answer. A reader checks that all values in an answer are those of one commit. It must
not be older than the last one that the writer had confirmed when the query was sent. Some answers are large.

    python -m benchmarks.endpoint --seconds 300
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any
from urllib.parse import quote, urlsplit

import numpy

from benchmarks.harness import BenchmarkError

_COUNTERS = 20
_PREFIX = "PREFIX : <http://example.org/> "
_ONTOLOGY = """@prefix : <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Even rdfs:subClassOf :Counter . :Odd rdfs:subClassOf :Counter . :next rdfs:subPropertyOf :near .
"""
_STEP = f"""{_PREFIX} DELETE {{ ?x :value ?n . ?x a ?class }} INSERT {{ ?x :value ?more . ?x a ?other }}
WHERE {{ ?x :value ?n ; a ?class BIND(?n + 1 AS ?more) BIND(IF(?class = :Even, :Odd, :Even) AS ?other) }}"""
VALUES = f"{_PREFIX} SELECT ?x ?n ?class {{ ?x a :Counter ; :value ?n ; a ?class }}"
_JOIN = (
    f"{_PREFIX} SELECT ?n (COUNT(?y) AS ?number) {{ ?x a :Counter ; :value ?n ; :owns ?y . ?y :near ?z }} GROUP BY ?n"
)
_LARGE = f"{_PREFIX} SELECT ?y ?z ?n {{ ?y :near ?z . ?y :owner ?x . ?x :value ?n }}"
_LARGE_SHARE = 0.02
_EACH = 10
"""Readings of the memory."""


@dataclass
class EndpointRun:
    """The figures of a run. Times in seconds, memory in bytes."""

    commits: int = 0
    queries: int = 0
    large: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    """CPU time of the server with its processes."""
    query_times: list[float] = field(default_factory=list)
    commit_times: list[float] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)

    def figures(self) -> dict[str, float]:
        """Return the figures by name."""
        middle, slow = numpy.quantile(self.query_times, [0.5, 0.99]).tolist()
        half, last = numpy.quantile(self.commit_times, [0.5, 0.99]).tolist()
        return {
            "seconds": self.seconds, "server_cpu": self.cpu,
            "commits": self.commits, "commits_per_second": self.commits / self.seconds,
            "commit": half, "slow_commit": last,
            "queries": self.queries, "large_answers": self.large, "queries_per_second": self.queries / self.seconds,
            "query": middle, "slow_query": slow,
            "memory_first": self.memory[1], "memory_last": self.memory[-1], "memory_most": max(self.memory),
        }  # fmt: skip


class Client:
    """A connection to the server."""

    def __init__(self, address: str) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=120)

    def ask(self, query: str) -> list[tuple[str, ...]]:
        """Return the rows of an answer."""
        headers = {"Accept": "application/sparql-results+json"}
        found = json.loads(self._send("GET", f"/sparql?query={quote(query)}", None, headers))
        names = found["head"]["vars"]
        return [tuple(row[name]["value"] for name in names) for row in found["results"]["bindings"]]

    def update(self, text: str) -> None:
        """Run an update."""
        self._send("POST", "/update", text.encode(), {"Content-Type": "application/sparql-update"})

    def _send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> bytes:
        self._connection.request(method, path, body, headers)
        response = self._connection.getresponse()
        found = response.read()
        if response.status not in (200, 204):
            raise BenchmarkError(f"{method} answered {response.status}: {found.decode()[:500]}")
        return found


class Load:
    """The readers and the writer."""

    def __init__(self, address: str, owned: int) -> None:
        self._address = address
        self._owned = owned
        self._confirmed = self._begun = 0
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self.run = EndpointRun()

    def drive(self, seconds: float, readers: int, process: int) -> EndpointRun:
        """Read and write for some seconds. Raise BenchmarkError for a wrong answer."""
        start = time.monotonic()
        with ThreadPoolExecutor(readers + 1) as pool:
            work = [pool.submit(self._read, i) for i in range(readers)] + [pool.submit(self._write)]
            try:
                for i in range(_EACH):
                    while time.monotonic() < start + seconds * (i + 1) / _EACH:
                        for each in work:
                            if each.done():
                                each.result()
                        self._ended.wait(0.1)
                    self.run.memory.append(resident(process))
            finally:
                self._ended.set()
            for each in work:
                each.result()
        self.run.seconds = time.monotonic() - start
        self.run.cpu = _cpu(process)
        return self.run

    def _write(self) -> None:
        client = Client(self._address)
        while not self._ended.is_set():
            self._begun += 1
            start = time.monotonic()
            client.update(_STEP)
            self.run.commit_times.append(time.monotonic() - start)
            self._confirmed += 1
            self.run.commits += 1

    def _read(self, seed: int) -> None:
        client, rng = Client(self._address), random.Random(seed)
        while not self._ended.is_set():
            query = _LARGE if rng.random() < _LARGE_SHARE else rng.choice((VALUES, _JOIN))
            least, start = self._confirmed, time.monotonic()
            rows = client.ask(query)
            taken = time.monotonic() - start
            self.check(query, rows, least, self._begun)
            with self._lock:
                self.run.queries += 1
                self.run.large += query == _LARGE
                self.run.query_times += [] if query == _LARGE else [taken]

    def check(self, query: str, rows: list[tuple[str, ...]], least: int, most: int) -> None:
        """Raise BenchmarkError if the rows are not those of one commit with a number from `least` to `most`."""
        found = {int(row[{VALUES: 1, _JOIN: 0, _LARGE: 2}[query]]) for row in rows}
        if len(found) != 1 or not least <= min(found) <= most:
            raise BenchmarkError(f"expected one number from {least} to {most}, found {sorted(found)}: {query}")
        number = found.pop()
        own = "http://example.org/Odd" if number % 2 else "http://example.org/Even"
        counters = [f"http://example.org/c{i}" for i in range(_COUNTERS)]
        if query == VALUES:
            kinds = (own, "http://example.org/Counter")
            expected: Any = sorted((each, str(number), kind) for each in counters for kind in kinds)
            right = sorted(rows) == expected
        elif query == _JOIN:
            right = rows == [(str(number), str(_COUNTERS * self._owned))]
        else:
            right = len(set(rows)) == len(rows) == _COUNTERS * self._owned
        if not right:
            raise BenchmarkError(f"a wrong answer at number {number}: {str(rows)[:500]}")


def resident(process: int) -> int:
    """Return the bytes of memory that a process has for itself, and its children; what they share counts in part."""
    children = Path(f"/proc/{process}/task/{process}/children")
    others = [int(each) for each in children.read_text("ascii").split()] if children.exists() else []
    return sum(_proportional(each) for each in (process, *others))


def _proportional(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text("ascii").splitlines()
    except OSError:  # It has ended.
        return 0
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def _cpu(process: int) -> float:
    """Return the CPU time of a process and of its children that have ended."""
    fields = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def data(owned: int) -> str:
    """Return the triples in Turtle: each counter owns some nodes, which are near the next ones."""
    lines = [_ONTOLOGY]
    for i in range(_COUNTERS):
        lines.append(f":c{i} a :Even ; :value 0 .")
        lines += [f":c{i} :owns :n{i}-{j} . :n{i}-{j} :owner :c{i} ; :next :n{i}-{j + 1} ." for j in range(owned)]
    return "\n".join(lines)


@contextmanager
def served(owned: int) -> Iterator[tuple[str, int]]:
    """Serve the triples in a process of its own; yield the address and the number of the process."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "counters.ttl"
        file.write_text(data(owned), "utf-8")
        command = [sys.executable, "-m", "tidelog", "rdf", "serve", str(file), "--rules", "rdfs", "--port", "0"]
        with Popen(command, stdout=PIPE, text=True) as server:
            try:
                assert server.stdout is not None
                line = server.stdout.readline()
                yield line.split(" at ")[1].partition("/sparql")[0], server.pid
            finally:
                server.terminate()


def run(seconds: float, readers: int, owned: int) -> EndpointRun:
    """Return the figures of a run. Raise BenchmarkError for a wrong answer."""
    with served(owned) as (address, process):
        return Load(address, owned).drive(seconds, readers, process)


def main(arguments: list[str] | None = None) -> int:
    """Run it and print the figures as JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.endpoint", description="readers and a writer")
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--readers", type=int, default=20)
    parser.add_argument("--owned", type=int, default=1_000, help="nodes of each of the 20 counters")
    asked = parser.parse_args(arguments)
    print(json.dumps(run(asked.seconds, asked.readers, asked.owned).figures(), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
