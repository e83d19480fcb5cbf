"""After a fork: one process writes to a store, and neither sees what the other does in memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tidelog

BEGIN = """
import os, signal, sys, threading, tidelog

def code_of(call):
    try:
        call()
    except tidelog.TidelogError as error:
        return error.code

def forked(child):
    "Run a function in a child, and expect what it returns to be true."
    number = os.fork()
    if not number:
        os._exit(0 if child() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) == 0

db = tidelog.connect(*sys.argv[1:])
db.load(".decl e(x: number, y: number)  .decl t(x: number, y: number)")
db.load("t(x, y) :- e(x, y).  t(x, z) :- t(x, y), e(y, z).")
db.insert("e", [(x, x + 1) for x in range(300)])
db.commit()
db.insert("e", [(300, 301)])
"""
"""A database with a fact that waits. Its blocks are large enough to be mapped."""

STORE = """
def child():
    assert code_of(db.commit) == "E0627"
    assert len(db["e"]) == 300 and db.has_pending
    db.close()
    return True

forked(child)
db.commit()
assert len(db["t"]) == 301 * 302 // 2
"""

MEMORY = """
told, heard = os.pipe()

def child():
    os.read(told, 1)  # the parent has committed
    assert len(db["t"]) == 300 * 301 // 2
    db.delete("e", [(0, 1)])
    assert len(db.commit()["t"].deleted) == 300
    return set(db["e"]) == {(x, x + 1) for x in range(1, 301)}

number = os.fork()
if not number:
    os._exit(0 if child() else 1)
db.insert("e", [(0, 5)])
db.commit()
os.write(heard, b"1")
assert os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) == 0
assert set(db["e"]) == {*((x, x + 1) for x in range(301)), (0, 5)}
db.check()
"""

THREADS = """
begun, end = threading.Event(), threading.Event()

def other():
    with db.transaction():
        begun.set()
        end.wait()

db.rollback()
thread = threading.Thread(target=other, daemon=True)
thread.start()
begun.wait()
forked(lambda: {code_of(call) for call in (db.commit, db.stats, lambda: len(db["e"]))} == {"E0627"})
end.set()
thread.join()
db.insert("e", [(9, 9)])
db.commit()
assert (9, 9) in db["t"]
"""

SNAPSHOTS = """
begun, end = threading.Event(), threading.Event()

def wait(x):
    begun.set()
    end.wait()
    return x

db.rollback()
db.load(".functor wait(x: number): number  .decl waited(x: number)  waited(@wait(x)) :- t(x, 300).")
db.functor("wait", wait)
snapshot, before = db.snapshot(), set(db["t"])

def reads_on():
    assert (0, 300) in snapshot["t"] and set(snapshot["t"]) == before and "waited" not in snapshot
    assert snapshot.explain("t", (0, 2)).facts == (("e", (0, 1)), ("e", (1, 2)))
    assert code_of(lambda: len(db["t"])) == "E0627"
    found = []
    threading.Thread(target=lambda: found.append(len(snapshot.query("t(0, X)")))).run()
    return found == [300]

thread = threading.Thread(target=db.commit, daemon=True)
thread.start()
begun.wait()
forked(reads_on)
end.set()
thread.join()

inside, out = threading.Event(), threading.Event()

def stay():
    with db.engine.readers.passing:
        inside.set()
        out.wait()

thread = threading.Thread(target=stay, daemon=True)
thread.start()
inside.wait()
calls = db.snapshot, snapshot.check, lambda: (0, 1) in snapshot["t"], lambda: snapshot.query("t(0, X)")
forked(lambda: {code_of(call) for call in calls} == {"E0627"})
out.set()
thread.join()
forked(lambda: set(snapshot["t"]) == before and len(db["waited"]) == 300)
"""

ORPHAN = """
lives, alive = os.pipe()
number = os.fork()
if not number:
    os.write(alive, b"x")  # It lets the folder go as soon as it runs.
    os.read(0, 1)  # outlive the parent
    os._exit(0)
os.read(lives, 1)
print(number, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def run(script: str, *arguments: object) -> None:
    ignored = "ignore:This process"  # which 3.12 says where threads are
    command = [sys.executable, "-W", ignored, "-c", BEGIN + script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr  # also of a child


def test_a_child_cannot_commit_to_the_store_of_its_parent(tmp_path: Path) -> None:
    run(STORE, tmp_path)
    with tidelog.connect(tmp_path) as db:
        assert len(db["e"]) == 301


def test_parent_and_child_have_a_database_in_memory_each() -> None:
    run(MEMORY)


def test_a_child_of_a_process_whose_other_thread_was_changing_the_database_is_refused() -> None:
    run(THREADS)


def test_a_child_reads_snapshots_on_unless_another_thread_read_them() -> None:
    run(SNAPSHOTS)


def test_a_child_does_not_keep_the_store_of_a_parent_that_is_gone(tmp_path: Path) -> None:
    command = [sys.executable, "-c", BEGIN + ORPHAN, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        parent.wait()
        with tidelog.connect(tmp_path) as db:  # though the child lives
            assert len(db["e"]) == 300


@pytest.mark.parametrize("replaced", [False, True])
def test_a_store_without_its_lock_commits_nothing(tmp_path: Path, replaced: bool) -> None:
    db = tidelog.connect(tmp_path)
    db.load(".decl e(x: number)")
    db.insert("e", [(1,)])
    db.commit()
    (tmp_path / "lock").unlink()
    other = None
    if replaced:
        other = tidelog.connect(tmp_path)  # a second writer
        other.insert("e", [(3,)])
        other.commit()
    db.insert("e", [(2,)])
    for _ in range(2):
        with pytest.raises(tidelog.UsageError) as caught:
            db.commit()
        assert caught.value.code == "E0628"
        assert str(tmp_path) in str(caught.value)
    assert set(db["e"]) == {(1,)}
    db.close()
    if other is not None:
        other.insert("e", [(4,)])
        other.commit()
        other.close()
    with tidelog.connect(tmp_path) as again:
        assert set(again["e"]) == ({(1,), (3,), (4,)} if replaced else {(1,)})
