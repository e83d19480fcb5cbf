"""Snapshots stay on their epoch, can be read while a commit runs, and end cleanly."""

from __future__ import annotations

import gc
import random
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

import tidelog
from tests.maintain.churn import reclaiming_always
from tests.sharing import plain_kernels, sharing
from tests.snapshots import Copy, compare, meanwhile, problem_of
from tidelog.database.snapshots import Snapshot
from tidelog.errors import ProgramError
from tidelog.io.text_reader import split_text
from tidelog.maintain.frozen import FrozenState
from tidelog.rdf import connect as connect_rdf
from tidelog.storage import dictionary
from tidelog.storage.readers import FrozenRows
from tidelog.storage.stored import StoredRelation
from tidelog.store import StoredDatabase

PROGRAM = """
.decl e(x: number, y: number)
.decl t(x: number, y: number)
.decl far(x: number, y: number)
.decl walk(x: number, y: number)
first: t(x, y) :- e(x, y).
next: t(x, z) :- t(x, y), e(y, z), z < x + 99.
beyond: far(x, y) :- t(x, y), y > x + 2.
walk(x, y) :- e(x, y).
walk(x, z) :- walk(x, y), e(y, z).
"""
WAITING = """
.functor passed(x: number): number
.decl slow(x: number)
slow(@passed(x)) :- t(x, _), walk(x, _), x > 100.
"""


@pytest.fixture(params=["memory", "store"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tidelog.Database]:
    with tidelog.connect() if request.param == "memory" else tidelog.connect(tmp_path / "db") as database:
        database.load(PROGRAM)
        chain(database, 0, 6)
        database.commit()
        yield database


def chain(db: tidelog.Database, start: int, stop: int) -> None:
    db.insert("e", [(x, x + 1) for x in range(start, stop)])


def same(snapshot: Snapshot, copy: Copy) -> None:
    compare(snapshot, copy, random.Random(1))


class Gate:
    """A functor that waits, so that a commit stays in the middle."""

    def __init__(self) -> None:
        self.reached, self.opened = threading.Event(), threading.Event()

    def __call__(self, value: int) -> int:
        self.reached.set()
        assert self.opened.wait(60)
        return value


@contextmanager
def committing(db: tidelog.Database) -> Iterator[Future[Any]]:
    """Inside, another thread is in the middle of a commit, which has already derived tuples of `t`."""
    gate = Gate()
    db.load(WAITING)
    db.functor("passed", gate)
    db.insert("e", [(101, 102)])
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(db.commit)
        try:
            assert gate.reached.wait(60)
            yield future
            assert not future.done()
        finally:
            gate.opened.set()
        future.result()


# --- while a commit runs ---------------------------------------------------------------------------------------------


def test_readers_do_not_wait_for_a_commit(db: tidelog.Database) -> None:
    before, old = Copy.of(db), db.snapshot()
    with committing(db):
        new = db.snapshot()
        for snapshot in (old, new):
            same(snapshot, before)
            assert (101, 102) not in snapshot["t"]
            assert snapshot.explain("far", (0, 5)).height == 6
            assert "slow" not in snapshot
            assert list(snapshot.query("t(0, X), far(X, Y)"))
        old.check()
    assert new.epoch == old.epoch < db.snapshot().epoch
    assert (101, 102) in db.snapshot()["t"]
    same(new, before)


def test_an_epoch_that_is_on_the_disk_and_not_yet_in_memory_is_not_the_last_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of a snapshot is that of its rows: a client of a server that reads them goes on behind it."""
    with StoredDatabase(tmp_path / "db") as db, ThreadPoolExecutor(1) as pool:
        db.load(PROGRAM)
        db.commit()
        seal, found = db.keeper.seal, []

        def read() -> tuple[int, int]:
            with db.snapshot() as snapshot:
                return snapshot.epoch, len(snapshot["e"])

        def sealed(*arguments: Any) -> None:
            seal(*arguments)
            found.append(pool.submit(read).result(60))

        monkeypatch.setattr(db.keeper, "seal", sealed)
        for start in (0, 6):
            chain(db, start, start + 6)
            db.commit()
            found.append(read())
        assert found == [(1, 0), (2, 6), (2, 6), (3, 12)]


def test_a_snapshot_that_was_made_during_a_commit_and_read_after_the_next_one_stays(db: tidelog.Database) -> None:
    before = Copy.of(db)
    with committing(db):
        snapshot = db.snapshot()
    db.delete("e", [(2, 3)])
    db.commit()
    same(snapshot, before)


def test_births_that_a_running_commit_has_changed_are_gone(db: tidelog.Database) -> None:
    with committing(db):
        late = db.snapshot()
        assert problem_of(late.check).code == "E0618"
    assert problem_of(late.check).code == "E0618"
    db.snapshot().check()


def test_rows_are_found_while_the_slots_of_a_relation_move() -> None:
    db = tidelog.connect()
    db.load(".decl e(x: number, y: number)")
    chain(db, 0, 800)
    db.commit()
    chain(db, 800, 2_400)
    moving = []

    def read() -> None:
        moving.append(db.engine.asserted["e"]._splitting)
        with db.snapshot() as snapshot:  # The memory of slots that another one has would stay where it is.
            relation = snapshot["e"]
            assert len(relation) == 800
            assert all((x, x + 1) in relation for x in range(0, 800, 7))
            assert (801, 802) not in relation

    with plain_kernels(), meanwhile(read, ("storage/stored.py", "kernels/sets.py"), 50):
        db.commit()
    assert any(moving)
    assert len(db.snapshot()["e"]) == 2_400


@pytest.mark.parametrize(("count", "epochs"), [(1, 25), (3, 5)])
def test_threads_that_read_while_others_commit_see_whole_epochs(count: int, epochs: int) -> None:
    """Epoch `i` has the facts of a block of 50, so that all of its views follow from the number of the epoch. Updates
    take one thread, and bootstraps several."""
    db = tidelog.connect()
    db.options(strategy="update" if count == 1 else "bootstrap")
    db.load(PROGRAM)
    db.commit()
    ended = threading.Event()

    def read() -> int:
        count = 0
        while not ended.is_set() or not count:
            with db.snapshot() as snapshot:
                block = snapshot.epoch - 1
                expected = {(x, x + 1) for x in range(100 * block, 100 * block + 50)} if block > 0 else set()
                assert set(snapshot["e"]) == expected
                for name in ("t", "walk"):
                    assert len(snapshot[name]) == len(expected) * (len(expected) + 1) // 2
                    assert ((100 * block, 100 * block + 50) in snapshot[name]) is (block > 0)
                assert len(snapshot.query(f"t({100 * block}, X)")) == len(expected)
                count += 1
        return count

    with sharing(count) as seen, ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read) for _ in range(4)]
        try:
            for block in range(1, epochs):
                db.clear("e")
                chain(db, 100 * block, 100 * block + 50)
                db.commit()
        finally:
            ended.set()
        assert all(reader.result() for reader in readers)
    assert max(seen, default=1) == count
    assert db.stats()["updates" if count == 1 else "bootstraps"] >= 2 * epochs - 2
    db.check()


def test_threads_that_look_symbols_up_while_others_add_some(monkeypatch: pytest.MonkeyPatch) -> None:
    """Symbols are many: they are in a table, and text files are split by a kernel that looks them up there."""
    monkeypatch.setattr(dictionary, "_BULK", 0)
    db = tidelog.connect()
    db.load(".decl name(x: symbol, y: number) .decl long(x: symbol) long(x) :- name(x, y), y > 9.")
    db.insert("name", [(f"first {i}", i) for i in range(20)])
    db.commit()
    snapshot, ended = db.snapshot(), threading.Event()
    expected = {(f"first {i}", i) for i in range(20)}

    def read(number: int) -> int:
        count = 0
        while not ended.is_set() or not count:
            assert set(snapshot["name"]) == expected
            assert ("first 3", 3) in snapshot["name"]
            assert (f"never {number} {count}", 3) not in snapshot["name"]
            assert set(snapshot.query("name(X, 12)")) == {("first 12", 12)}
            assert set(snapshot.query(f'name(X, Y), X != "new {number} {count}", Y > 17')) == {
                ("first 18", 18),
                ("first 19", 19),
            }
            count += 1
        return count

    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read, number) for number in range(4)]
        try:
            for epoch in range(12):
                rows = [(f"epoch {epoch} row {i}", i) for i in range(300)]
                if epoch % 2:
                    text = "".join(f"{x}\t{y}\n" for x, y in rows).encode()
                    columns, known = db.program.relations["name"].columns, db.workspace.dictionary
                    words = split_text(text, 0, "\t", columns, [0, 1], known, exact=True, blank=False)
                    assert words is not None
                    db.insert_words("name", words)
                else:
                    db.insert("name", rows)
                db.commit()
        finally:
            ended.set()
        assert all(reader.result() for reader in readers)
    assert set(db["name"]) == expected | {(f"epoch {e} row {i}", i) for e in range(12) for i in range(300)}
    assert len(set(snapshot["long"])) == 10
    db.check()


# --- over other epochs -----------------------------------------------------------------------------------------------


def test_rules_and_relations_of_a_snapshot_stay(db: tidelog.Database) -> None:
    before, snapshot = Copy.of(db), db.snapshot()
    db.rules.remove("beyond")
    db.rules.add(".decl more(x: number) more(x) :- e(x, _). beyond: far(x, y) :- e(y, x).")
    db.commit()
    same(snapshot, before)
    assert (list(snapshot.rules), "more" in snapshot) == (["first", "next", "beyond", "r1", "r2"], False)
    assert str(snapshot.rules["beyond"]).endswith("y > x + 2.")
    assert snapshot.explain("far", (0, 3)).rules == ("first", "next", "beyond")
    assert snapshot.hyper_nodes != db.hyper_nodes
    assert problem_of(lambda: snapshot["more"]).code == "E0601"
    snapshot.check()
    assert set(db["far"]) == {(y, x) for x, y in db["e"]}


def test_changes_that_do_not_last_are_in_no_snapshot(db: tidelog.Database) -> None:
    before, old = Copy.of(db), db.snapshot()
    chain(db, 6, 60)
    pending = db.snapshot()
    db.options(max_rows=20)
    assert problem_of(db.commit).code == "E0502"
    failed = db.snapshot()
    db.options(max_rows=None)
    db.rollback()
    with db.what_if() as trial:
        trial.delete("e", [(2, 3)])
    assert trial.change is not None
    assert set(trial.change["t"].deleted)
    for snapshot in (old, pending, failed, db.snapshot()):
        same(snapshot, before)
        snapshot.check()
    assert old.epoch == db.snapshot().epoch


def test_tuples_that_die_and_return_stay_in_a_snapshot(db: tidelog.Database) -> None:
    kept = []
    for epoch in range(6):
        kept.append((db.snapshot(), Copy.of(db)))
        if epoch % 2:
            chain(db, 2, 4)
        else:
            db.delete("e", [(2, 3), (3, 4)])
        db.commit()
    for snapshot, copy in kept:
        same(snapshot, copy)
        assert len(snapshot.explain("t", (0, 1)).facts) == 1
        snapshot.check()
    assert [snapshot.epoch - kept[0][0].epoch for snapshot, _ in kept] == list(range(6))


def test_closures_of_a_snapshot_stay() -> None:
    db = tidelog.connect()
    db.load(".decl e(x: number, y: number) .decl t(x: number, y: number)")
    db.load("t(x, y) :- e(x, y). t(x, z) :- t(x, y), t(y, z).")
    chain(db, 0, 6)
    db.commit()
    assert db.stats()["forms"]["t"] != "rows"
    unread, read = db.snapshot(), db.snapshot()
    before = Copy.of(db)
    assert (0, 6) in read["t"]
    chain(db, 6, 9)
    db.delete("e", [(2, 3)])
    db.commit()
    for snapshot in (unread, read):
        same(snapshot, before)
        assert len(snapshot.explain("t", (1, 5)).facts) == 4
        with ThreadPoolExecutor(4) as pool:
            for future in [pool.submit(snapshot.check) for _ in range(4)]:
                future.result()
    assert (0, 6) not in db["t"]


def test_groups_over_a_closure_stay() -> None:
    db = tidelog.connect()
    db.load(
        ".decl e(x: number, y: number) .decl t(x: number, y: number) .decl n(x: number) .decl c(x: number, k: number)"
    )
    db.load("t(x, y) :- e(x, y). t(x, z) :- t(x, y), t(y, z). c(x, k) :- n(x), k = count : { t(x, _) }.")
    chain(db, 0, 6)
    db.insert("n", [(0,), (2,), (9,)])
    db.commit()
    unread, read = db.snapshot(), db.snapshot()
    before = Copy.of(db)
    assert set(read.query("c(X, K), n(X)")) == {(0, 6), (2, 4), (9, 0)}
    db.delete("e", [(2, 3)])
    db.insert("n", [(1,)])
    db.commit()
    assert set(db["c"]) == {(0, 2), (1, 1), (2, 0), (9, 0)}
    for snapshot in (unread, read):
        same(snapshot, before)
        snapshot.explain("c", (0, 6)).check()
        assert set(snapshot.query("c(X, K), n(X)")) == {(0, 6), (2, 4), (9, 0)}
        snapshot.check()


def test_wider_words_leave_a_snapshot_alone(db: tidelog.Database) -> None:
    before, snapshot = Copy.of(db), db.snapshot()
    db.insert("e", [(6, 2**40)])
    db.commit()
    assert db.stats()["word_bits"] == 64
    same(snapshot, before)
    assert (0, 2**40) in db["walk"]
    assert (0, 2**40) not in snapshot["walk"]
    assert list(snapshot.query(f"t({2**40}, X)")) == []
    assert set(snapshot.query("t(4, X), far(Y, X)")) == {(x, y) for x in (5, 6) for y in range(x - 2)}
    snapshot.check()


@pytest.mark.parametrize("bulk", [False, True])
def test_no_sweep_takes_the_words_of_a_snapshot(bulk: bool) -> None:
    with reclaiming_always() as patch:
        if bulk:
            patch.setattr(dictionary, "_BULK", 0)  # Symbols are kept as if they were many.
        db = tidelog.connect()
        db.load(".type P = [x: symbol] .decl name(x: symbol) .decl pair(p: P) pair([x]) :- name(x).")
        first = [(f"first {i}",) for i in range(50)]
        db.insert("name", first)
        db.commit()
        snapshot = db.snapshot()
        for epoch in range(4):
            db.clear("name")
            db.insert("name", [(f"{epoch} {i}",) for i in range(50)])
            db.commit()
        assert set(snapshot["name"]) == set(first)
        assert set(snapshot["pair"]) == {(row,) for row in first}
        assert snapshot.explain("pair", (("first 7",),)).facts == (("name", ("first 7",)),)
        snapshot.check()
        size = db.workspace.dictionary.size
        snapshot.close()
        db.insert("name", [("another",)])
        db.commit()
        db.commit()
        assert db.workspace.dictionary.size < size / 2


def test_a_query_shows_only_the_relations_that_it_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    frozen: list[StoredRelation] = []
    freeze = FrozenState.rows

    def noted(state: FrozenState, stored: StoredRelation) -> FrozenRows:
        frozen.append(stored)
        return freeze(state, stored)

    monkeypatch.setattr(FrozenState, "rows", noted)
    db = tidelog.connect()
    db.load(PROGRAM)
    chain(db, 0, 6)
    db.commit()
    with db.snapshot() as snapshot:
        assert set(snapshot.query("e(0, y)")) == {(0, 1)}
        shown = snapshot._plans().views
        assert {id(stored) for stored in frozen} == {id(db.engine.views["e"])}
        assert len(shown) == len(db.engine.views)
        assert rows_of(shown) == rows_of(db.engine.views)
        snapshot.check()


def rows_of(relations: Mapping[str, StoredRelation]) -> dict[str, set[tuple[int, ...]]]:
    return {name: set(map(tuple, each.words().tolist())) for name, each in relations.items()}


def test_queries_keep_their_meaning_as_long_as_declarations_stay() -> None:
    """Also while an older snapshot has other declarations."""
    db = tidelog.connect()
    other = ".decl f(x: number, y: number)"
    db.load(PROGRAM)
    db.load(other + "  f(1, 2).")
    db.commit()
    old = db.snapshot()
    assert set(old.query("f(1, x)")) == {(1, 2)}
    db.load("", replace=other + "  f(1, 2).")
    db.commit()
    db.load('.decl f(x: symbol, y: number)  f("1", 3).')
    db.commit()
    with db.snapshot() as new:
        for _ in range(2):
            assert set(old.query("f(1, x)")) == {(1, 2)}
            assert set(new.query('f("1", x)')) == {("1", 3)}
            with pytest.raises(ProgramError, match="E02"):
                new.query("f(1, x)")


def test_a_store_that_is_opened_again_has_snapshots_with_its_epochs(tmp_path: Path) -> None:
    with tidelog.connect(tmp_path / "db") as db:
        db.load(PROGRAM)
        chain(db, 0, 6)
        db.commit()
        before, number = Copy.of(db), db.snapshot().epoch
    with tidelog.connect(tmp_path / "db") as db:
        snapshot = db.snapshot()
        assert snapshot.epoch == number
        db.delete("e", [(2, 3)])
        db.commit()
        assert db.snapshot().epoch == number + 1
        same(snapshot, before)
        assert snapshot.blame("t", (0, 6)).epoch == db.blame("t", (0, 1)).epoch
        snapshot.check()


def test_the_certificate_of_a_snapshot_is_that_of_its_epoch(db: tidelog.Database, tmp_path: Path) -> None:
    snapshot = db.snapshot()
    db.clear("e")
    db.commit()
    snapshot.save_certificate(tmp_path / "certificate")
    tidelog.check_certificate(tmp_path / "certificate")
    views = pyarrow.parquet.read_table(tmp_path / "certificate/views/number-number.parquet")
    assert views.num_rows == sum(len(snapshot[name]) for name in ("e", "t", "far", "walk"))


def test_a_snapshot_has_the_options_of_its_beginning(db: tidelog.Database) -> None:
    before = db.snapshot()
    db.options(timeout=1e-9)
    assert problem_of(db.snapshot().check).code == "E0501"
    before.check()


# --- its end ---------------------------------------------------------------------------------------------------------


def test_a_closed_snapshot_says_so(db: tidelog.Database) -> None:
    with db.snapshot() as snapshot:
        relation, answer = snapshot["t"], snapshot.query("t(0, X)")
    snapshot.close()
    reads: list[Callable[[], object]] = [
        lambda: snapshot["t"], lambda: snapshot.asserted("e"), lambda: snapshot.query("t(0, X)"), snapshot.check,
        lambda: snapshot.explain("t", (0, 1)), lambda: set(relation), lambda: len(relation), lambda: (0, 1) in relation,
    ]  # fmt: skip
    for read in reads:
        problem = problem_of(read)
        assert (problem.code, problem.message) == ("E0602", "the snapshot is closed")
    assert len(set(answer)) == 6
    other = db.snapshot()
    assert len(other["t"]) == len(db["t"]) == 21


def test_a_snapshot_outlives_its_database(db: tidelog.Database) -> None:
    before, snapshot = Copy.of(db), db.snapshot()
    db.close()
    same(snapshot, before)
    assert snapshot.explain("t", (0, 2)).facts == (("e", (0, 1)), ("e", (1, 2)))
    assert problem_of(db.snapshot).code == "E0602"


def test_a_snapshot_that_nobody_has_any_more_keeps_nothing(db: tidelog.Database) -> None:
    for read in (True, False):
        snapshot = db.snapshot()
        if read:
            snapshot.explain("far", (0, 5))
            list(snapshot.query("t(0, X), far(X, Y)"))
        with db.workspace.dictionary.alone() as alone:
            assert not alone
        del snapshot
        gc.collect()
        with db.workspace.dictionary.alone() as alone:
            assert alone
    assert db._frozen is not None
    assert db._frozen() is None


def test_a_closed_snapshot_keeps_nothing(db: tidelog.Database) -> None:
    snapshot, other = db.snapshot(), db.snapshot()
    list(snapshot.query("t(0, X), far(X, Y)"))
    snapshot.close()
    assert len(other["t"]) == 21
    other.close()
    gc.collect()
    assert db._frozen is not None
    assert db._frozen() is None


def test_snapshots_of_one_epoch_share_their_state(db: tidelog.Database) -> None:
    one, other = db.snapshot(), db.snapshot()
    assert one._require_epoch() is other._require_epoch()
    db.commit()
    chain(db, 6, 7)
    db.commit()
    assert db.snapshot()._require_epoch() is not one._require_epoch()


# --- what it does not do ---------------------------------------------------------------------------------------------


def test_verbs_that_change_a_database_are_refused(db: tidelog.Database) -> None:
    snapshot = db.snapshot()
    calls: list[Callable[[], object]] = [
        lambda: snapshot.insert("e", [(1, 2)]), snapshot.commit, lambda: snapshot.transaction(dry_run=True),
        lambda: snapshot.ways_to_remove("t", (0, 1)), lambda: snapshot.options(timeout=1),
        lambda: snapshot.load(PROGRAM),
        lambda: snapshot.rules.add("far(x, x) :- e(x, _)."), lambda: snapshot.rules.remove("first"),
        lambda: snapshot.rules.remove_instance("first"),
    ]  # fmt: skip
    for call in calls:
        problem = problem_of(call)
        assert (problem.code, "a snapshot never changes" in problem.message) == ("E0615", True)
        assert problem.hint
    assert not hasattr(snapshot, "inserts")
    assert not db.has_pending


def test_each_verb_of_a_database_reads_a_snapshot_or_is_refused(db: tidelog.Database) -> None:
    snapshot = db.snapshot()
    others = {
        "births",
        "engine",
        "has_pending",
        "keeper",
        "numbered",
        "opening",
        "sealing",
        "snapshot",
        "stats",
        "folder",
    }
    lacking = [name for name in dir(db) if name[0] != "_" and name not in others and not hasattr(snapshot, name)]
    assert lacking == []


def test_other_databases_have_no_snapshots() -> None:
    with connect_rdf(rules=None) as store:
        problem = problem_of(store.snapshot)
    assert (problem.code, "a Store has no snapshots" in problem.message) == ("E0614", True)
