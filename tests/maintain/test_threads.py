"""Several threads give the views, counts, births and rounds of one, whatever the interleaving, and stop like one."""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence
from contextlib import nullcontext
from functools import partial

import numpy
import pytest

import tidelog
from tests.depth import cases
from tests.maintain.stopping import Error, at_looks, fails_without_trace, limit
from tests.mixtures import mixture_for
from tests.mixtures import run as run_mixture
from tests.recount import supports_in
from tests.scripts import run, script_for
from tests.sharing import Seen, interleaved, sharing
from tests.suite import FIRST_SEED, births_in_embedded, births_in_reference, difference, random_cases
from tidelog.errors import LimitError, UsageError
from tidelog.kernels import layout
from tidelog.maintain import threads
from tidelog.maintain.threads import Ledgers
from tidelog.storage.catalog import Catalog
from tidelog.storage.memory import Block
from tidelog.storage.stored import StoredRelation

COUNTS = (2, 3, 7, 16)
PROGRAM = """
.decl e(x: number, y: number)
.decl t(x: number, y: number)
.decl u(x: number, y: number, z: number)
t(x, y) :- e(x, y).
t(x, z) :- t(x, y), t(y, z), x != z.
u(x, y, x + y) :- t(x, y), e(y, z), !t(z, x).
"""


def edges(seed: int, nodes: int = 90, count: int = 200) -> list[tuple[int, int]]:
    rng = random.Random(f"edges {seed}")
    return [(rng.randrange(nodes), rng.randrange(nodes)) for _ in range(count)]


def database(facts: Sequence[tuple[int, ...]], **options: object) -> tidelog.Database:
    db = tidelog.connect()
    db.options(closures=False, **options)
    db.load(PROGRAM)
    db.insert("e", facts)
    return db


def twins(facts: Sequence[tuple[int, ...]]) -> tuple[tidelog.Database, tidelog.Database]:
    """Two databases with the same facts, evaluated, which follow changes by updates; the first one on one thread."""
    found = database(facts, strategy="update", threads=1), database(facts, strategy="update")
    for db in found:
        db.commit()
    return found


def changed(db: tidelog.Database, gone: Sequence[tuple[int, ...]], came: Sequence[tuple[int, ...]]) -> None:
    """Delete and insert facts by an update."""
    db.delete("e", gone)
    db.insert("e", came)
    report = db.commit().report
    assert (report.bootstraps, report.updates) == (0, 2)


BOTH = {layout.CHARGE, layout.CREDIT}
"""The tasks of threads when an update deletes and inserts."""


def marks(db: tidelog.Database) -> dict[str, object]:
    return {name: (dict(db.births(name)), supports_in(db, name)) for name in db.relations}


@pytest.mark.parametrize("maintain", [True, False])
@pytest.mark.parametrize("count", COUNTS)
def test_marks_are_those_of_one_thread(count: int, maintain: bool) -> None:
    alone = database(edges(count, 80, 240), threads=1, maintain=maintain)
    alone.commit()
    db = database(edges(count, 80, 240), maintain=maintain)
    with sharing(count) as seen:
        change = db.commit()
    assert max(seen) == count
    assert {"t", "u"} <= set(change)
    assert marks(db) == marks(alone)
    assert db.stats()["rounds"] == alone.stats()["rounds"]
    assert db.stats()["relations"] == alone.stats()["relations"]
    db.check()


@pytest.mark.parametrize("count", COUNTS)
def test_an_update_leaves_the_marks_of_one_thread(count: int) -> None:
    facts = edges(count, 80, 240)
    alone, db = twins(facts)
    for gone, came in ((facts[:20], []), ([], facts[:10]), (facts[40:60], edges(0, 80, 20)), (facts[60:], [])):
        changed(alone, gone, came)
        with sharing(count) as seen:
            changed(db, gone, came)
        assert max(seen) == count
        assert set(seen.tasks) <= BOTH
        assert not gone or set(seen.tasks) == BOTH
        assert marks(db) == marks(alone)
        assert db.stats()["rounds"] == alone.stats()["rounds"]
        assert db.stats()["relations"] == alone.stats()["relations"]
    db.check()


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + cases(6)))
def test_any_interleaving(seed: int) -> None:
    facts = edges(seed, 12, 24)
    alone = database(facts, threads=1)
    alone.commit()
    db = database(facts)
    with interleaved(), sharing(COUNTS[seed % 3]) as seen:
        db.commit()
    assert max(seen) > 1
    assert marks(db) == marks(alone)


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + cases(20)))
def test_any_interleaving_of_an_update(seed: int) -> None:
    facts = edges(seed, 12, 24)
    alone, db = twins(facts)
    gone, came = facts[seed % 3 : 20 : 4], edges(seed + 1, 12, 6)
    changed(alone, gone, came)
    with interleaved(), sharing(COUNTS[seed % 3]) as seen:
        changed(db, gone, came)
    assert max(seen) > 1
    assert set(seen.tasks) == BOTH
    assert marks(db) == marks(alone)


def test_ledgers_that_are_full(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads then apply them and go on."""
    facts = edges(7, 100, 350)
    alone, db = twins(facts)
    changed(alone, facts[:150], [])
    monkeypatch.setattr("tidelog.maintain.threads.ENTRIES", 3 * 600)
    applied = counting_calls(monkeypatch, Ledgers, "apply")
    with sharing(3) as seen:
        changed(db, facts[:150], [])
    assert len(applied) > len(seen.tasks) > 2
    assert marks(db) == marks(alone)


def counting_calls(patch: pytest.MonkeyPatch, owner: type, name: str) -> list[None]:
    """A list that gets an entry for each call of a method."""
    calls: list[None] = []
    method = getattr(owner, name)

    def counted(*arguments: object) -> object:
        calls.append(None)
        return method(*arguments)

    patch.setattr(owner, name, counted)
    return calls


@pytest.mark.parametrize("deleting", [False, True])
def test_a_plan_is_shared_once_it_turns_out_to_be_long(deleting: bool) -> None:
    """The thread that has begun it goes on with its bindings."""
    text = """
    .decl a(x: number, y: number)
    .decl b(x: number, y: number)
    .decl t(x: number, y: number)
    t(x, z) :- a(x, y), b(y, z).
    """
    some, many = [(x, x % 7) for x in range(1_300)], [(y, 10 * y + z) for y in range(7) for z in range(30)]

    def follow(threads: int) -> tidelog.Database:
        db = tidelog.connect()
        db.options(threads=threads, strategy="update")
        db.load(text)
        db.insert("a", [*some, (-1, 0)] if deleting else [(-1, 0)])
        db.insert("b", many)
        db.commit()
        with sharing(threads, 2_000) as seen:
            (db.delete if deleting else db.insert)("a", some)
            report = db.commit().report
        assert (report.bootstraps, report.updates) == (0, 1)
        assert seen.tasks == ([] if threads == 1 else [layout.CHARGE if deleting else layout.CREDIT])
        return db

    assert marks(follow(2)) == marks(follow(1))


def test_removals_when_memory_runs_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread then does all of them."""
    called: list[tuple[int, int]] = []
    works = [partial(lambda number, hashes: called.append((number, hashes)), number) for number in range(9)]

    def fail(size: int) -> Block:
        raise MemoryError

    monkeypatch.setattr(threads, "Block", fail)
    threads.share_removals(works, threads.SHARED_FROM, 3, 8)
    assert called == [(number, 8) for number in range(9)]


def test_random_programs() -> None:
    shared = 0
    for number, case in enumerate(random_cases(cases(24))):
        with sharing(COUNTS[number % 4]) as seen:
            found = births_in_embedded(case.text, case.facts)
        problem = difference(found, births_in_reference(case.text, case.facts))
        assert not problem, f"{problem}\n{case}"
        shared += max(seen, default=1) > 1
    assert shared > cases(20)


@pytest.mark.parametrize("strategy", ["bootstrap", "update", "auto"])
def test_random_scripts(strategy: str) -> None:
    shared: list[set[int]] = []
    for seed in range(FIRST_SEED, FIRST_SEED + cases(14)):
        with sharing(COUNTS[seed % 4]) as seen:
            problem = run(script_for(seed), strategy)
        assert not problem, f"{problem}\n{script_for(seed)}"
        shared.append(set(seen.tasks) if max(seen, default=1) > 1 else set())
    wanted = {layout.INSERT} if strategy == "bootstrap" else BOTH
    assert sum(tasks >= wanted for tasks in shared) > cases(5)


@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize("count", [2, 3])
def test_searches_by_cost_beside_shared_work(count: int, joined: bool) -> None:
    """A search runs on one thread, alone or with rounds behind it; threads share the work before and after."""
    text = """
    .decl e(x: number, y: number)
    .decl far(x: number, y: number, w: number)
    .decl d(x: number, c: number) min(c)
    .decl pair(x: number, y: number)
    far(x, z, x + z) :- e(x, y), e(y, z).
    d(0, 0).
    d(y, c + w) :- d(x, c), far(x, y, w).
    pair(x, y) :- d(x, c), d(y, c).
    """
    text += "d(y, c + b) :- d(x, c), d(z, b), far(x, y, z)." if joined else ""

    def started(threads: int) -> tidelog.Database:
        db = tidelog.connect()
        db.options(threads=threads)
        db.load(text)
        db.insert("e", edges(count, 120, 360))
        return db

    alone, db = started(1), started(count)
    alone.commit()
    with sharing(count) as seen:
        db.commit()
    assert max(seen) == count
    assert len(db["pair"]) > len(db["d"]) > 100
    assert marks(db) == marks(alone)
    assert db.stats()["rounds"] == alone.stats()["rounds"]
    db.check()


@pytest.mark.parametrize("strategy", ["bootstrap", "update"])
def test_all_constructs(strategy: str) -> None:
    shared = set()
    for seed in range(FIRST_SEED, FIRST_SEED + cases(2)):
        with sharing(COUNTS[seed % 4]) as seen:
            problem = run_mixture(mixture_for(seed), strategy)
        assert not problem, f"{problem}\n{mixture_for(seed)}"
        shared |= set(seen.tasks)
    assert strategy == "bootstrap" or shared >= BOTH


def test_words_widen_in_the_middle() -> None:
    """Rows that do not fit into 32 bits make the epoch begin anew with 64."""
    far = 2**31 - 50
    facts = [(x + far, y + far) for x, y in edges(0)] + edges(1)
    db, alone = database(facts), database(facts, threads=1)
    alone.commit()
    with sharing(3) as seen:
        db.commit()
    assert max(seen) == 3
    assert db.engine.catalog.bits == 64
    assert marks(db) == marks(alone)


def test_words_widen_in_the_middle_of_an_update() -> None:
    """The epoch begins anew with 64 bits, and without a trace of the first attempt."""
    facts, far = edges(0), 2**31 - 50
    alone, db = twins(facts)
    for widened in (alone, db):
        with sharing(3) if widened is db else nullcontext(Seen()) as seen:
            changed(widened, facts[:20], [(x + far, y + far) for x, y in edges(1, 90, 60)])
        assert widened.engine.catalog.bits == 64
        assert widened is alone or (max(seen) == 3 and set(seen.tasks) == BOTH)
    assert marks(db) == marks(alone)


@pytest.mark.parametrize("error", [limit, KeyboardInterrupt], ids=["limit", "interrupt"])
def test_an_update_stopped_anywhere_leaves_no_trace(error: Error, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.maintain.update.WORK_BEFORE_LOOK", 500)
    facts = edges(3, 40, 90)
    alone, db = twins(facts)
    changed(alone, facts[:30], edges(4, 40, 30))

    def attempt() -> tidelog.Change:
        db.delete("e", facts[:30])
        db.insert("e", edges(4, 40, 30))
        return db.commit()

    with sharing(3) as seen:
        change, failures = fails_without_trace(db, attempt, at_looks(error))
    assert failures > 5
    assert change.report.bootstraps == 0
    assert max(seen) == 3
    assert set(seen.tasks) == BOTH
    assert marks(db) == marks(alone)
    db.check()


@pytest.mark.parametrize("error", [limit, KeyboardInterrupt], ids=["limit", "interrupt"])
def test_a_commit_stopped_anywhere_leaves_no_trace(error: Error, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.maintain.bootstrap._WORK_BEFORE_LOOK", 500)
    db = database(edges(3, 40, 60), strategy="bootstrap")
    db.commit()

    def attempt() -> tidelog.Change:
        db.insert("e", edges(4, 40, 60))
        return db.commit()

    with sharing(3) as seen:
        _, failures = fails_without_trace(db, attempt, at_looks(error))
    assert failures > 5
    assert max(seen) == 3
    db.check()


def test_a_limit_stops_all_threads() -> None:
    db = database(edges(4, 300, 900), max_rows=20_000)
    with sharing(4), pytest.raises(LimitError) as caught:
        db.commit()
    assert caught.value.code == "E0502"
    assert len(db["t"]) == 0
    db.options(max_rows=None)
    with sharing(4):
        db.commit()
    db.check()


def test_an_error_in_another_thread_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory that runs out in a thread that extends an index."""
    from tidelog.storage.catalog import Index

    db = database(edges(5))
    grow, calls = Index.grow, [0]

    def fail(self: Index, status: int) -> None:
        calls[0] += 1
        if calls[0] == 3:
            raise MemoryError
        grow(self, status)

    monkeypatch.setattr(Index, "grow", fail)
    with sharing(3), pytest.raises(LimitError) as caught:
        db.commit()
    assert caught.value.code == "E0503"
    monkeypatch.undo()
    with sharing(3):
        db.commit()
    db.check()


@pytest.mark.parametrize("most", [0, 1, 20])
def test_the_system_starts_no_more_threads(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also between two parts of a plan, when another thread has begun with rows that nobody else has."""
    db, alone = database(edges(6, 200, 600)), database(edges(6, 200, 600), threads=1)
    alone.commit()
    start, started = threading.Thread.start, [0]

    def limited(thread: threading.Thread) -> None:
        if started[0] == most:
            raise RuntimeError("can't start new thread")
        started[0] += 1
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", limited)
    with sharing(4):
        db.commit()
    assert started[0] == most
    assert marks(db) == marks(alone)
    started[0] = 0
    for each in (alone, db):
        each.options(strategy="update")
        with sharing(1 if each is alone else 4):
            changed(each, edges(6, 200, 600)[:60], edges(7, 200, 20))
    assert started[0] == most
    assert marks(db) == marks(alone)


def test_counts_stay_at_the_most() -> None:
    from tidelog.kernels.threads import count_one

    block = Block(64)
    view = block.view(numpy.int32, 2)
    view[:] = layout.MOST_COUNTED - 1, 5
    works = [lambda: [count_one(block.address, i % 2) for i in range(200)]] * 4
    threads.together(works, lambda: None, lambda: None)
    assert view.tolist() == [layout.MOST_COUNTED, 405]


def test_gaps_are_closed() -> None:
    """Numbers that threads have reserved and not used, in the middle and at the end."""
    stored = StoredRelation(Catalog(), 1)
    stored.insert(numpy.arange(40).reshape(-1, 1))
    for number in (*range(10, 20), *range(35, 40)):  # As if nobody had written these.
        _forget(stored, number)
    own = numpy.zeros((2, layout.O_WORDS), numpy.int64)
    own[:, [layout.O_NEXT, layout.O_END]] = (10, 20), (35, 40)
    threads.close_gaps(stored, 40, own)
    assert stored.rows == 25
    assert sorted(stored.words()[:, 0].tolist()) == [*range(10), *range(20, 35)]
    assert (stored.find(numpy.array([[12], [36]])) == -1).all()
    assert (stored.take(stored.find(numpy.arange(20, 35).reshape(-1, 1)))[:, 0] == numpy.arange(20, 35)).all()


def _forget(stored: StoredRelation, number: int) -> None:
    """Empty the slot of a row."""
    slots, mask = stored._slots.view(numpy.int32, stored._slot_count), stored._slot_count - 1
    slots[(slots & mask) == number + 1] = mask + 1  # A tombstone, which no look-up stops at.


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "two"])
def test_a_wrong_number_of_threads(wrong: object) -> None:
    with pytest.raises(UsageError, match="threads must be a positive number") as caught:
        tidelog.connect().options(threads=wrong)
    assert caught.value.code == "E0603"
