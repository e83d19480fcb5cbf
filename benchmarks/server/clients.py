"""Clients that read and write `tidelog serve`, and the process of the server."""

from __future__ import annotations

import http.client
import json
import random
import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

from benchmarks.harness import BenchmarkError
from tidelog.serve.running import address_of, open_listener

FACTS = 10
"""Facts of a transaction."""
KEPT = 100
"""Transactions of a writer whose facts stay: each one deletes the facts of the one that was so many before."""
READERS, WRITERS = 50, 5
DEADLINE = 60.0
"""Seconds until a request has to be answered, also while the server is started again."""
MOST = 100_000
"""Rows of a page at most."""
_REST = 0.2
"""Seconds between two reads of a client, and between two commits of a writer."""


class ServerProcess:
    """`tidelog serve` on a port that stays."""

    def __init__(self, store: Path) -> None:
        with open_listener("127.0.0.1", 0, False) as listener:
            self.port = int(address_of(listener).rpartition(":")[2])
        self._command = [sys.executable, "-m", "tidelog", "serve", str(store), "--port", str(self.port)]
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self.process = Popen(self._command, stdout=PIPE, text=True)
        assert self.process.stdout is not None
        if not self.process.stdout.readline():
            raise BenchmarkError("the server does not start")

    def kill(self) -> None:
        """Kill it without a warning."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


class Asking:
    """Requests to the server on a port, from any thread."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._kept = threading.local()

    def connection(self) -> http.client.HTTPConnection:
        """Return a new connection."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE)

    def ask(self, method: str, path: str, body: str | None = None, key: str | None = None) -> Any:
        """Return the answer to a request; send it again while the server is not there. Raise BenchmarkError for an
        answer that is an error."""
        headers = {"Content-Type": "application/json"} | ({} if key is None else {"Idempotency-Key": key})
        end = time.monotonic() + DEADLINE
        while True:
            try:
                connection = self._kept.__dict__.setdefault("connection", self.connection())
                connection.request(method, path, body, headers)
                response = connection.getresponse()
                found = json.loads(response.read())
            except (OSError, http.client.HTTPException, ValueError):
                self._kept.__dict__.clear()
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)
                continue
            if response.status != 200:
                raise BenchmarkError(f"{method} {path} answered {response.status}: {found}")
            return found

    def rows(self, relation: str) -> tuple[int, set[tuple[Any, ...]]]:
        """Return an epoch, and the rows of a relation then, page by page."""
        found = self.ask("GET", f"/v1/relations/{relation}?limit={MOST}")
        rows = set(map(tuple, found["rows"]))
        while found["cursor"] is not None:
            found = self.ask("GET", f"/v1/relations/{relation}?limit={MOST}&cursor={found['cursor']}")
            rows.update(map(tuple, found["rows"]))
        return found["epoch"], rows


@dataclass
class ClientFigures:
    """Seconds of reads and commits, and how many transactions had happened when they were sent again."""

    reads: list[float] = field(default_factory=list)
    commits: list[float] = field(default_factory=list)
    repeated: int = 0


class Clients:
    """The threads that read until `ended` and write until `stopped`. `last` gets the number of the last epoch."""

    def __init__(self, port: int, names: tuple[str, ...], last: Any) -> None:
        self._asking = Asking(port)
        self._names = names
        self._last = last
        self.ended, self.stopped = threading.Event(), threading.Event()
        self.figures = ClientFigures()
        self.acknowledged: dict[int, int] = {}
        """The last number of each writer that the server has confirmed."""
        self.errors: list[BaseException] = []

    def begin(self) -> tuple[int, float]:
        """Make the first commit, of a counter that no writer has; return its epoch and seconds."""
        start = time.monotonic()
        answer = self._asking.ask("POST", "/v1/transactions", json.dumps({"insert": {"counter": [[-1, 0, 0]]}}))
        return answer["epoch"], time.monotonic() - start

    def total(self) -> tuple[int, int]:
        """Return the last epoch, and the number of counters then."""
        found = self._asking.ask("POST", "/v1/query", json.dumps({"query": "counter(w, n, p)", "limit": 1}))
        return found["epoch"], found["total"]

    def start(self) -> tuple[list[threading.Thread], list[threading.Thread]]:
        """Start all readers and writers, and return them."""
        readers = [threading.Thread(target=self._guarded, args=(self._read, i), daemon=True) for i in range(READERS)]
        writers = [threading.Thread(target=self._guarded, args=(self._write, i), daemon=True) for i in range(WRITERS)]
        for each in (*readers, *writers):
            each.start()
        return readers, writers

    def _guarded(self, work: Callable[[int], None], number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            self.errors.append(error)
            self.ended.set()

    def _read(self, number: int) -> None:
        rng = random.Random(number)
        while not self.ended.wait(_REST * rng.random() * 2):
            writer = rng.randrange(WRITERS)
            known = self.acknowledged.get(writer, 0)
            start = time.monotonic()
            if rng.random() < 0.8 and known:
                n = rng.randint(max(1, known - KEPT // 2), known)
                found = self._asking.ask("GET", f"/v1/relations/seen?filter[writer]={writer}&filter[n]={n}")
                if found["rows"] != [[writer, n]]:
                    raise BenchmarkError(f"transaction {n} of writer {writer} is missing")
            else:
                self._asking.ask("GET", f"/v1/relations/{rng.choice(self._names)}?limit=1")
            self.figures.reads.append(time.monotonic() - start)

    def _write(self, number: int) -> None:
        n = 0
        while not self.stopped.wait(_REST):
            n += 1
            changes = {"insert": {"counter": _rows(number, n)}}
            if n > KEPT:
                changes["delete"] = {"counter": _rows(number, n - KEPT)}
            start = time.monotonic()
            answer = self._asking.ask("POST", "/v1/transactions", json.dumps(changes), uuid.uuid4().hex)
            self.figures.commits.append(time.monotonic() - start)
            self.figures.repeated += answer.get("repeated", False)
            self.acknowledged[number] = n
            with self._last.get_lock():
                self._last.value = max(self._last.value, answer["epoch"])


def _rows(writer: int, n: int) -> list[list[int]]:
    return [[writer, n, part] for part in range(FACTS)]
