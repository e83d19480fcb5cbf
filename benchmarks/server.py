"""Clients that read, write and follow `tidelog serve`: the state that each subscriber replays must be the view at every
epoch that is compared, and no acknowledged transaction may be missing or there twice.

The store has a program analysis where its input is there, and a generated graph otherwise. Beside these views, each
writer adds counters of its own, by transactions of ten facts with idempotency keys. With `--kill N`, the server is
killed so many times under load. Clients send again what was not answered, and subscribers go on behind their last
epoch.

    python -m benchmarks.server --minutes 10
    python -m benchmarks.server --minutes 4 --kill 100
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import numpy

from benchmarks.endpoint import resident
from benchmarks.harness import BenchmarkError
from tidelog.client.exchange import events_of
from tidelog.serve.running import address_of, listening
from tidelog.store import StoredDatabase

FACTS = 10
"""Facts of a transaction."""
READ_TARGET, COMMIT_TARGET = 0.020, 0.050
"""Seconds that 99 of 100 take at most."""
_DEADLINE = 60.0
_SILENCE = 3.0
_COUNTERS = """
.decl counter(writer: number, n: number, part: number)
.decl seen(writer: number, n: number)
seen: seen(w, n) :- counter(w, n, _).
"""
_GRAPH = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
base: path(x, y) :- edge(x, y).
step: path(x, z) :- path(x, y), edge(y, z).
"""
_CHAIN = 1_000
_READERS, _WRITERS, _SUBSCRIBERS = 50, 5, 5
_REST = 0.2
"""Seconds between two reads of a client, and between two commits of a writer."""


@dataclass
class ServerRun:
    """The figures of a run. Times in seconds, memory in bytes."""

    reads: list[float] = field(default_factory=list)
    commits: list[float] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)
    first_commit: float = 0.0
    """The commit that has to load what later ones find in memory; it is not among the others."""
    epochs: int = 0
    compared: int = 0
    kills: int = 0
    repeated: int = 0

    def figures(self) -> dict[str, float]:
        """Return the figures by name."""
        read, slow_read = numpy.quantile(self.reads, [0.5, 0.99]).tolist()
        commit, slow_commit = numpy.quantile(self.commits, [0.5, 0.99]).tolist()
        return {
            "reads": len(self.reads), "read": read, "slow_read": slow_read, "read_target": READ_TARGET,
            "commits": len(self.commits), "commit": commit, "slow_commit": slow_commit, "commit_target": COMMIT_TARGET,
            "first_commit": self.first_commit,
            "epochs": self.epochs, "compared": self.compared, "kills": self.kills, "repeated": self.repeated,
            "memory_first": self.memory[0], "memory_last": self.memory[-1],
            "load_of_machine": os.getloadavg()[0],
        }  # fmt: skip


class ServerProcess:
    """`tidelog serve` on a port that stays."""

    def __init__(self, store: Path) -> None:
        with listening("127.0.0.1", 0, False) as listener:
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


class ServerLoad:
    """The clients of a server."""

    def __init__(self, server: ServerProcess, names: tuple[str, ...]) -> None:
        self._server = server
        self._names = names
        self.ended, self.stopped = threading.Event(), threading.Event()
        self.run = ServerRun()
        self.acknowledged: dict[int, int] = {}
        """The last number of each writer that the server has confirmed."""
        self.errors: list[BaseException] = []
        self.last = 0
        """The number of the last confirmed epoch."""

    def begin(self) -> float:
        """Make the first commit, of a counter that no writer has; return its seconds."""
        start = time.monotonic()
        self.ask("POST", "/v1/transactions", json.dumps({"insert": {"counter": [[-1, 0, 0]]}}))
        return time.monotonic() - start

    def start(self) -> list[threading.Thread]:
        """Start all clients."""
        work: list[tuple[Callable[[int], None], int]] = []
        work += [(self._read, i) for i in range(_READERS)]
        work += [(self._write, i) for i in range(_WRITERS)]
        work += [(self._follow, i) for i in range(_SUBSCRIBERS)] + [(self._stall, 0)]
        threads = [threading.Thread(target=self._guarded, args=each, daemon=True) for each in work]
        for each in threads:
            each.start()
        return threads

    def _guarded(self, work: Any, number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            self.errors.append(error)
            self.ended.set()

    def ask(self, method: str, path: str, body: str | None = None, key: str | None = None) -> Any:
        """Return the answer to a request; send it again while the server is not there."""
        headers = {"Content-Type": "application/json"} | ({} if key is None else {"Idempotency-Key": key})
        end = time.monotonic() + _DEADLINE
        while True:
            try:
                kept = _CONNECTIONS.__dict__
                connection = kept.setdefault("one", self._connection())
                connection.request(method, path, body, headers)
                response = connection.getresponse()
                found = json.loads(response.read())
            except (OSError, http.client.HTTPException, ValueError):
                _CONNECTIONS.__dict__.pop("one", None)
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)
                continue
            if response.status != 200:
                raise BenchmarkError(f"{method} {path} answered {response.status}: {found}")
            return found

    def _connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self._server.port, timeout=_DEADLINE)

    def _read(self, number: int) -> None:
        rng = random.Random(number)
        while not self.ended.wait(_REST * rng.random() * 2):
            writer = rng.randrange(_WRITERS)
            known = self.acknowledged.get(writer, 0)
            start = time.monotonic()
            if rng.random() < 0.8 and known:
                n = rng.randint(1, known)
                found = self.ask("GET", f"/v1/relations/seen?filter[writer]={writer}&filter[n]={n}")
                if found["rows"] != [[writer, n]]:
                    raise BenchmarkError(f"transaction {n} of writer {writer} is missing")
            else:
                self.ask("GET", f"/v1/relations/{rng.choice(self._names)}?limit=1")
            self.run.reads.append(time.monotonic() - start)

    def _write(self, number: int) -> None:
        n = 0
        while not self.stopped.wait(_REST):
            n += 1
            rows = [[number, n, part] for part in range(FACTS)]
            start = time.monotonic()
            answer = self.ask("POST", "/v1/transactions", json.dumps({"insert": {"counter": rows}}), uuid.uuid4().hex)
            self.run.commits.append(time.monotonic() - start)
            self.run.repeated += answer.get("repeated", False)
            self.acknowledged[number] = n
            self.last = max(self.last, answer["epoch"])

    def _follow(self, number: int) -> None:
        """Replay the changes of a view from its beginning; compare it with the view whenever they are of one epoch."""
        first = self.ask("GET", "/v1/relations/counter?limit=100000")
        state, at, checked = set(map(tuple, first["rows"])), first["epoch"], time.monotonic()
        heard = time.monotonic()
        while not (self.ended.is_set() and at >= self.last):
            if time.monotonic() > heard + _DEADLINE:
                raise BenchmarkError(f"subscriber {number} hears of nothing behind epoch {at}")
            try:
                # It ends where nothing happens for some time, and asks again.
                connection = http.client.HTTPConnection("127.0.0.1", self._server.port, timeout=_SILENCE)
                connection.request("GET", "/v1/changes?relation=counter", headers={"Last-Event-ID": str(at)})
                for name, data in events_of(line.decode().rstrip() for line in connection.getresponse()):
                    if name == "missed" or (name == "change" and data["epoch"] != at + 1):
                        raise BenchmarkError(f"subscriber {number} at epoch {at} got {name} of {data['epoch']}")
                    if name != "change":
                        continue
                    at, heard = data["epoch"], time.monotonic()
                    self._apply(state, data["changes"].get("counter", {"inserted": [], "deleted": []}))
                    if time.monotonic() > checked + 1 + number / 5:
                        self._compare(state, at)
                        checked = time.monotonic()
                    if self.ended.is_set() and at >= self.last:
                        break
            except (OSError, http.client.HTTPException, ValueError):
                time.sleep(0.05)
        final = self.ask("GET", "/v1/relations/counter?limit=100000")
        if len(final["rows"]) < final["total"]:
            return
        if set(map(tuple, final["rows"])) != state:
            raise BenchmarkError(f"subscriber {number} has another state at the end")

    @staticmethod
    def _apply(state: set[Any], change: Any) -> None:
        inserted, deleted = (set(map(tuple, change[key])) for key in ("inserted", "deleted"))
        if inserted & state or not deleted <= state:
            raise BenchmarkError("a change came twice")
        state -= deleted
        state |= inserted

    def _compare(self, state: set[Any], at: int) -> None:
        found = self.ask("GET", "/v1/relations/counter?limit=100000")
        if found["epoch"] == at and found["total"] <= 100_000:
            if set(map(tuple, found["rows"])) != state:
                raise BenchmarkError(f"the view at epoch {at} is not what its changes make")
            self.run.compared += 1

    def _stall(self, _: int) -> None:
        """Follow, and read nothing."""
        connection = self._connection()
        connection.request("GET", "/v1/changes?since=0")
        self.ended.wait()
        connection.close()


_CONNECTIONS = threading.local()


def _prepare(store: Path, data: Path | None) -> tuple[str, ...]:
    """Make the store; return the names of some views."""
    with StoredDatabase(store) as db:
        if data is not None and (data / "doop").is_dir():
            from benchmarks import doop
            from tidelog.io import read_facts

            db.load(data / "doop" / "doop.dl")
            for directive in db.program.directives:
                if directive.name == "input":
                    relation = db.program.relations[directive.relation]
                    facts = read_facts(directive.options, data / "doop", relation, db.dictionary)
                    db.insert_words(relation.name, facts)
            names = tuple(doop.SIZES)
        else:
            db.load(_GRAPH)
            db.insert("edge", [(i, i + 1) for i in range(_CHAIN)])
            names = ("edge", "path")
        db.load(_COUNTERS)
        db.commit()
    return names


def drive(store: Path, names: tuple[str, ...], seconds: float, kills: int) -> ServerRun:
    """Run all clients for some seconds, and kill the server so often. Raise BenchmarkError for a wrong answer."""
    server = ServerProcess(store)
    load = ServerLoad(server, names)
    load.run.first_commit = load.begin()
    threads, end = load.start(), time.monotonic() + seconds
    for i in range(max(kills, 10)):
        pause = (end - time.monotonic()) / (max(kills, 10) - i)
        if load.ended.wait(max(0.0, pause)):
            break
        load.run.memory.append(resident(server.process.pid))
        if i < kills:
            server.kill()
            server.start()
            load.run.kills += 1
    load.stopped.set()
    for thread in threads[_READERS : _READERS + _WRITERS]:
        thread.join(_DEADLINE)
    load.ended.set()
    for thread in threads:
        thread.join(_DEADLINE)
    if load.errors:
        raise load.errors[0]
    found = load.ask("POST", "/v1/query", json.dumps({"query": "counter(w, n, p)", "limit": 100_000}))
    load.run.epochs = found["epoch"]
    if found["total"] != 1 + FACTS * sum(load.acknowledged.values()):
        raise BenchmarkError(f"{found['total']} counters after {load.acknowledged}")
    server.process.terminate()
    server.process.wait()
    return load.run


def main() -> None:
    """Run the load that the arguments describe, and write its figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=0.5)
    parser.add_argument("--kill", type=int, default=0, metavar="N")
    parser.add_argument("--generated", action="store_true", help="take the generated graph in any case")
    arguments = parser.parse_args()
    data = os.environ.get("TIDELOG_DATA")
    with tempfile.TemporaryDirectory() as name:
        store = Path(name) / "store"
        names = _prepare(store, None if arguments.generated or data is None else Path(data))
        run = drive(store, names, 60 * arguments.minutes, arguments.kill)
    sys.stdout.write(json.dumps(run.figures(), indent=1) + "\n")


if __name__ == "__main__":
    main()
