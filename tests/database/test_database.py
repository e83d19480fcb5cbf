"""The objects that a user holds: changes, transactions, limits and interrupts, errors that leave no trace."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable

import numpy as np
import pytest

import tidelog

TC = """
.decl e(x: number, y: number)
.decl t(x: number, y: number)
t(x, y) :- e(x, y).
t(x, z) :- t(x, y), e(y, z).
"""
COUNTING = ".decl n(x: number)\nn(0).\nn(x + 1) :- n(x)."
PRODUCT = ".decl a(x: number)\n.decl p(x: number, y: number, z: number)\np(x, y, z) :- a(x), a(y), a(z), x + y + z < 0."


@pytest.fixture
def db() -> tidelog.Database:
    database = tidelog.connect()
    database.load(TC)
    database.insert("e", [(1, 2), (2, 3)])
    database.commit()
    return database


def test_changes_wait_for_commit(db: tidelog.Database) -> None:
    db.insert("e", [(3, 4)])
    assert len(db["t"]) == 3
    change = db.commit()
    assert set(change["e"].inserted) == {(3, 4)}
    assert set(change["t"].inserted) == {(3, 4), (2, 4), (1, 4)}
    assert not set(change["t"].deleted)
    assert change.report.impact == 3


def test_a_change_is_net(db: tidelog.Database) -> None:
    db.delete("e", [(2, 3)])
    db.insert("e", [(1, 3)])
    change = db.commit()
    assert set(change["t"].inserted) == set()
    assert set(change["t"].deleted) == {(2, 3)}
    assert list(change) == ["e", "t"]


def test_asserting_what_is_there_and_retracting_what_is_not_change_nothing(db: tidelog.Database) -> None:
    db.insert("e", [(1, 2), (1, 2)])
    db.delete("e", [(9, 9)])
    change = db.commit()
    assert list(change) == []
    assert change.report.bootstraps == 0
    assert [node.strategy for node in change.report.nodes] == ["skip"]


def test_the_last_call_about_a_fact_counts(db: tidelog.Database) -> None:
    db.delete("e", [(1, 2)])
    db.insert("e", [(1, 2), (5, 6)])
    db.delete("e", [(5, 6)])
    assert list(db.commit()) == []


def test_facts_deleted_and_inserted_again_and_again_keep_memory_level(db: tidelog.Database) -> None:
    rows = [(100 + i, 200 + i) for i in range(5_000)]
    sizes = []
    for _ in range(12):
        db.insert("e", rows)
        db.commit()
        db.delete("e", rows)
        db.commit()
        sizes.append(db.stats()["memory"]["rows"])
    assert max(sizes[6:]) <= max(sizes[:6])
    assert sorted(db["t"]) == [(1, 2), (1, 3), (2, 3)]


def test_only_what_depends_on_a_change_is_evaluated_again(db: tidelog.Database) -> None:
    db.load(".decl f(x: number)  .decl g(x: number)  other: g(x) :- f(x), x > 1.")
    db.insert("f", [(1,), (2,)])
    report = db.commit().report
    assert [(n.rules, n.strategy) for n in report.nodes] == [(("r1", "r2"), "skip"), (("other",), "bootstrap")]
    assert set(db["g"]) == {(2,)}


def test_a_transaction_commits_at_its_end(db: tidelog.Database) -> None:
    with db.transaction() as tx:
        tx.insert("e", [(3, 4)])
        tx.delete("e", [(1, 2)])
        assert set(db["e"]) == {(1, 2), (2, 3)}
    assert tx.change is not None
    assert set(tx.change["t"].deleted) == {(1, 2), (1, 3)}
    assert set(db["t"]) == {(2, 3), (3, 4), (2, 4)}


def test_a_transaction_that_raises_leaves_no_trace(db: tidelog.Database) -> None:
    def fails() -> None:
        with db.transaction() as tx:
            tx.insert("e", [(3, 4)])
            raise KeyError("mine")

    with pytest.raises(KeyError):
        fails()
    db.commit()
    assert set(db["t"]) == {(1, 2), (2, 3), (1, 3)}


def test_programs_add_up_and_facts_of_the_text_count_once() -> None:
    db = tidelog.connect()
    db.load(".decl a(x: number)\na(1).")
    db.load(".decl b(x: number)\nb(x) :- a(x).\na(2).")
    db.commit()
    assert set(db["b"]) == {(1,), (2,)}
    db.delete("a", [(1,)])
    db.commit()
    db.load(".decl c(x: number)\nc(x) :- b(x).")
    db.commit()
    assert set(db["c"]) == {(2,)}


def test_a_wrong_program_changes_nothing(db: tidelog.Database) -> None:
    with pytest.raises(tidelog.ProgramError):
        db.load(".decl u(x: number)\nu(x) :- nothing(x).")
    assert db.relations == ("e", "t")
    assert list(db.commit()) == []


def test_the_callers_array_may_change_after_insert(db: tidelog.Database) -> None:
    rows = np.array([[3, 4]])
    db.insert("e", rows)
    rows[:] = 0
    db.commit()
    assert (3, 4) in db["e"]


# --- limits and interrupts -------------------------------------------------------------------------------------------


def refuse(db: tidelog.Database, code: str) -> None:
    """Committing raises LimitError with `code`, also once more; the database is as before and usable."""
    before = {name: set(db[name]) for name in ("e", "t")}
    db.insert("e", [(3, 4)])
    for _ in range(2):
        with pytest.raises(tidelog.LimitError) as caught:
            db.commit()
        assert caught.value.code == code
        assert {name: set(db[name]) for name in ("e", "t")} == before
    db.rollback()
    assert db.relations == ("e", "t")
    db.options(timeout=None, max_rows=None)
    db.insert("e", [(3, 4)])
    db.commit()
    assert (1, 4) in db["t"]


def test_unbounded_recursion_stops_at_the_time_limit(db: tidelog.Database) -> None:
    db.load(COUNTING)
    db.options(timeout=0.2)
    refuse(db, "E0501")


def test_unbounded_recursion_stops_at_the_row_limit(db: tidelog.Database) -> None:
    db.load(COUNTING)
    db.options(max_rows=10_000)
    refuse(db, "E0502")


def test_a_product_without_results_stops_at_the_time_limit(db: tidelog.Database) -> None:
    db.load(PRODUCT)
    db.insert("a", [(i,) for i in range(3_000)])
    db.options(timeout=0.3)
    refuse(db, "E0501")


def test_an_endless_range_stops_at_the_time_limit(db: tidelog.Database) -> None:
    db.load(".decl far(x: number)\nfar(x) :- x = range(0, 2000000000), x < 0.")
    db.options(timeout=0.2)
    refuse(db, "E0501")


def test_recursion_stops_at_the_size_limit_of_a_relation(db: tidelog.Database) -> None:
    db.load(COUNTING + "\n.limitsize n(n=1000)")
    refuse(db, "E0504")


def test_limits_are_on_what_one_epoch_derives(db: tidelog.Database) -> None:
    db.options(max_rows=6)
    db.insert("e", [(3, 4)])
    db.commit()
    db.insert("e", [(4, 5), (5, 6)])  # nine more tuples of t
    with pytest.raises(tidelog.LimitError):
        db.commit()
    assert len(db["t"]) == 6


@pytest.mark.parametrize("program", [COUNTING, PRODUCT])
def test_control_c_leaves_the_database_as_it_was(db: tidelog.Database, program: str) -> None:
    db.load(program)
    if "decl a" in program:
        db.insert("a", [(i,) for i in range(3_000)])
    db.insert("e", [(3, 4)])
    handler = signal.getsignal(signal.SIGINT)
    threading.Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        db.commit()
    assert set(db["t"]) == {(1, 2), (2, 3), (1, 3)}
    assert set(db["e"]) == {(1, 2), (2, 3)}
    assert signal.getsignal(signal.SIGINT) is handler
    db.rollback()
    db.insert("e", [(3, 4)])
    db.commit()
    assert (1, 4) in db["t"]


# --- wrong calls -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "call"),
    [
        ("E0601", lambda db: db["tt"]),
        ("E0601", lambda db: db.insert("tt", [(1, 2)])),
        ("E0601", lambda db: db.commit()["tt"]),
        ("E0603", lambda db: db.options(speed=9)),
        ("E0603", lambda db: db.options(timeout=-1)),
        ("E0603", lambda db: db.options(max_rows="many")),
        ("E0604", lambda db: db.insert_words("e", np.zeros((2, 3), np.int64))),
        ("E0606", lambda db: (db.insert("e", [(8, 9)]), db.transaction())),
        ("E0607", lambda db: db.query("t(1, X) :- t(X, 2)")),
        ("E0609", lambda db: db.subscribe("t", 3)),
        ("E0612", lambda db: db.query("t(1, X)", Y=1)),
        ("E0613", lambda db: db.delete("e(X, Y), X > 1")),
        ("E0613", lambda db: db.delete("e")),
        ("E0601", lambda db: db.clear("ee")),
    ],
)
def test_wrong_calls_say_so(db: tidelog.Database, code: str, call: Callable[[tidelog.Database], object]) -> None:
    with pytest.raises(tidelog.TidelogError) as caught:
        call(db)
    assert caught.value.code == code
    assert caught.value.problems[0].hint


def test_a_subscription_may_be_ended_twice(db: tidelog.Database) -> None:
    seen: list[object] = []
    end = db.subscribe("t", seen.append)
    end()
    end()
    db.insert("e", [(3, 4)])
    db.commit()
    assert seen == []


def test_a_closed_database_says_so(db: tidelog.Database) -> None:
    db.close()
    for call in (lambda: db["t"], db.commit, lambda: db.load(TC), lambda: db.insert("e", [])):
        with pytest.raises(tidelog.UsageError) as caught:
            call()
        assert caught.value.code == "E0602"


# --- queries ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("t(1, X)", {(1, 2), (1, 3)}),
        ("t(X, Y)", {(1, 2), (2, 3), (1, 3)}),
        ("t(_, 3).", {(2, 3), (1, 3)}),
        ("t(X, X)", set()),
        ("e(1, 2)", {(1, 2)}),
        ("e(-1, _)", set()),
    ],
)
def test_queries_match_constants_and_equal_variables(
    db: tidelog.Database, query: str, answer: set[tuple[int, int]]
) -> None:
    assert set(db.query(query)) == answer


def test_queries_over_symbols_and_records() -> None:
    db = tidelog.connect()
    db.load(
        '.type P = [a: number, b: symbol]\n.decl r(p: P, s: symbol, f: float)\nr([1, "x"], "y", 2).\nr(nil, "z", 0.5).'
    )
    db.commit()
    assert set(db.query('r([1, "x"], S, F)')) == {((1, "x"), "y", 2.0)}
    assert set(db.query('r(P, "z", 0.5)')) == {(None, "z", 0.5)}
    assert set(db.query('r(P, "never seen", F)')) == set()


def test_a_query_of_the_wrong_type_is_a_program_error(db: tidelog.Database) -> None:
    with pytest.raises(tidelog.ProgramError):
        db.query('t("one", X)')


def test_statistics_count(db: tidelog.Database) -> None:
    stats = db.stats()
    assert stats["relations"] == {"e": 2, "t": 3}
    assert (stats["epochs"], stats["bootstraps"], stats["word_bits"]) == (1, 1, 32)
    assert set(stats["memory"]) == {"rows", "indexes", "dictionary", "files"}
