"""Clients that read, write and follow `tidelog serve`: the state that each subscriber replays must be the view at every
epoch that is compared, and no acknowledged transaction may be missing or there twice.

The store has a program analysis where its input is there, and a generated graph otherwise. Beside these views, each
writer has counters of its own: a transaction with an idempotency key adds ten, and takes ten old ones away. With
`--kill N`, the server is killed so many times under load. Clients send again what was not answered, and subscribers go
on behind their last epoch.

    python -m benchmarks.server --minutes 10
    python -m benchmarks.server --minutes 4 --kill 100
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy

from benchmarks.endpoint import resident
from benchmarks.harness import BenchmarkError
from benchmarks.server.clients import DEADLINE, FACTS, KEPT, Clients, ServerProcess
from benchmarks.server.subscribers import follow
from tidelog.store import StoredDatabase

_READ_TARGET, _COMMIT_TARGET = 0.020, 0.050
"""Seconds that 99 of 100 take at most."""
_SWITCH = 0.0005
"""Seconds after which a client's thread lets another run: they should wait for the server, not for each other."""
_ALIVE = 1.0
"""Seconds that a server has at least before it is killed: clients that only ever saw it start would give up."""
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


def drive(store: Path, names: tuple[str, ...], seconds: float, kills: int) -> dict[str, Any]:
    """Run all clients for some seconds, and kill the server so often; return the figures, in seconds and bytes. Raise
    BenchmarkError for a wrong answer."""
    sys.setswitchinterval(_SWITCH)
    server, context = ServerProcess(store), multiprocessing.get_context("spawn")
    last, ended, answers = context.Value("q", 0), context.Event(), context.Queue()
    clients = Clients(server.port, names, last)
    (begun, first), memory = clients.begin(), list[int]()
    subscribers = context.Process(target=follow, args=(server.port, last, ended, answers), daemon=True)
    subscribers.start()
    readers, writers = clients.start()
    end, steps = time.monotonic() + seconds, max(kills, 10)
    for i in range(steps):
        if clients.ended.wait(max(_ALIVE, (end - time.monotonic()) / (steps - i))):
            break
        memory.append(resident(server.process.pid))
        if i < kills:
            server.kill()
            server.start()
    clients.stopped.set()
    for thread in writers:
        thread.join(DEADLINE)
    clients.ended.set()
    ended.set()
    for thread in readers:
        thread.join(DEADLINE)
    compared = answers.get(timeout=4 * DEADLINE)
    if clients.errors:
        raise clients.errors[0]
    if not isinstance(compared, int):
        raise BenchmarkError(compared)
    epochs, total = clients.total()
    made = clients.acknowledged.values()
    if (epochs - begun, total) != (sum(made), 1 + FACTS * sum(min(n, KEPT) for n in made)):
        raise BenchmarkError(f"{total} counters after {epochs - begun} epochs and {clients.acknowledged}")
    server.process.terminate()
    server.process.wait()
    found = clients.figures
    read, slow_read = numpy.quantile(found.reads, [0.5, 0.99]).tolist()
    commit, slow_commit = numpy.quantile(found.commits, [0.5, 0.99]).tolist()
    return {
        "reads": len(found.reads), "read": read, "slow_read": slow_read, "read_target": _READ_TARGET,
        "commits": len(found.commits), "commit": commit, "slow_commit": slow_commit, "commit_target": _COMMIT_TARGET,
        "first_commit": first,  # It has to load what later ones find in memory, and is not among them.
        "epochs": epochs, "compared": compared, "kills": kills, "repeated": found.repeated,
        "memory": memory[:: max(1, len(memory) // 10)],
        "load_of_machine": os.getloadavg()[0],
    }  # fmt: skip


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
        figures = drive(store, names, 60 * arguments.minutes, arguments.kill)
    sys.stdout.write(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
