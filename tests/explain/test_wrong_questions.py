"""Questions that do not fit, and those at a moment that does not: each has an error that names the question."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

import tidelog
from tests.suite import loaded

PROGRAM = """
.decl e(x: number, y: number)
.decl s(x: number)
.decl p(x: number)
.decl c(x: number, n: number)
.decl hop(x: number, y: number) inline
hop(x, y) :- e(x, y).
start: p(x) :- s(x).
next: p(x) :- hop(x, y), p(y).
count: c(x, n) :- e(x, _), n = count : { e(_, _) }.
"""


def ring(length: int) -> tidelog.Database:
    """Return a database in which a node of a ring has `p` if the next one has it; none has."""
    return loaded(PROGRAM, {"e": [(i, (i + 1) % length) for i in range(length)]})


def code_of(call: Callable[[], object]) -> str:
    with pytest.raises(tidelog.UsageError) as error:
        call()
    return error.value.code


def test_a_tuple_may_be_a_dict() -> None:
    db = ring(3)
    row = {"y": 1, "x": 0}
    assert db.explain("e", row) == db.explain("e", (0, 1))
    assert next(db.ways_to_remove("e", row)).facts == (("e", (0, 1)),)
    assert db.ways_to_remove("e", row)._question == "ways_to_remove of e(0, 1)"
    assert str(db.why_not("p", {"x": 0})) == str(db.why_not("p", (0,)))
    with pytest.raises(tidelog.UsageError, match=r"E0670.*e\(1, 0\) does not hold"):
        db.explain("e", {"x": 1, "y": 0})


# --- depths and members ----------------------------------------------------------------------------------------------


def test_a_missing_tuple_is_explained_once() -> None:
    absence = ring(3).why_not("p", (0,), depth=20)
    assert str(absence).splitlines()[-2:] == [
        "            fails: p(0)",
        "            p(0) does not hold: shown above",
    ]
    assert str(absence).count("fails: p(") == 3
    below = absence.attempts[1].below
    assert below is not None
    assert not below.is_above
    assert json.dumps(absence.to_dict()).count('"above": true') == 1


def test_a_missing_tuple_is_explained_again_where_more_may_stand_below_it() -> None:
    """`b` is missing below `a` at first, where the depth ends, and then beside it."""
    db = loaded(
        ".decl z(x: number) .decl a(x: number) .decl b(x: number) .decl c(x: number) .decl g(x: number) "
        "g(x) :- a(x). g(x) :- b(x). a(x) :- b(x). b(x) :- c(x). c(x) :- z(x)."
    )
    text = str(db.why_not("g", (1,), depth=2))
    assert "shown above" not in text
    assert text.count("b(1) does not hold: no rule derives it") == 2
    assert text.count("c(1) does not hold: no rule derives it") == 1


def test_the_deepest_explanation_of_an_absence() -> None:
    absence = ring(150).why_not("p", (0,), depth=100)
    assert str(absence).count("does not hold") == 101
    assert json.dumps(absence.to_dict()).count('"relation": "p"') == 101
    assert not absence.is_partial


@pytest.mark.parametrize("depth", [-1, 101, 1.5, "3", None])
def test_a_depth_that_is_none_is_rejected(depth: Any) -> None:
    assert code_of(lambda: ring(3).why_not("p", (0,), depth=depth)) == "E0635"


@pytest.mark.parametrize("members", [-1, 1.5, "3"])
def test_a_number_of_members_that_is_none_is_rejected(members: Any) -> None:
    db = ring(3)
    assert code_of(lambda: db.explain("c", (0, 3), members=members)) == "E0635"
    assert code_of(lambda: db.explain("c", (0, 3), members=members, all=True)) == "E0635"
    assert "[3 members]" in str(db.explain("c", (0, 3), members=0))


def test_a_wrong_number_is_named() -> None:
    with pytest.raises(tidelog.UsageError, match=r"E0635.*from 0 to 100 as `depth`, found -1"):
        ring(3).why_not("p", (0,), depth=-1)


# --- relations -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["explain", "why_not", "blame", "ways_to_remove", "ways_to_derive"])
@pytest.mark.parametrize("row", [(0, 1), (0, 2)])
def test_an_inline_relation_has_no_tuples_to_explain(verb: str, row: tuple[int, int]) -> None:
    db = ring(3)
    assert code_of(lambda: getattr(db, verb)("hop", row)) == "E0611"


def test_a_relation_that_is_not_there_yet_or_any_more_is_unknown() -> None:
    db = tidelog.connect()
    db.load(".comp C { .decl a(x: number) .decl b(x: number) b(x) :- a(x). } .init one = C")
    assert code_of(lambda: db.explain("one.b", (1,))) == "E0601"
    db.insert("one.a", [(1,)])
    db.commit()
    db.explain("one.b", (1,))
    db.rules.remove_instance("one")
    db.explain("one.b", (1,))
    db.commit()
    assert code_of(lambda: db.explain("one.b", (1,))) == "E0601"


# --- moments ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "ask"),
    [
        ("ways_to_remove", lambda db: db.ways_to_remove("c", (0, 3))),
        ("ways_to_derive", lambda db: db.ways_to_derive("p", (0,))),
    ],
)
def test_sets_are_not_searched_beside_other_changes(call: str, ask: Callable[[tidelog.Database], object]) -> None:
    db = ring(3)
    db.insert("s", [(9,)])
    with pytest.raises(tidelog.UsageError, match=rf"E0606.*cannot call `{call}\(\)` while other changes are pending"):
        ask(db)
    db.rollback()
    with db.transaction(), pytest.raises(tidelog.UsageError, match=rf"E0625.*cannot call `{call}\(\)` inside"):
        ask(db)
    assert not db.has_pending


@pytest.mark.parametrize(
    ("call", "starts", "ask"),
    [
        ("ways_to_remove", [(1,)], lambda db: db.ways_to_remove("p", (0,))),
        ("ways_to_derive", [], lambda db: db.ways_to_derive("p", (0,))),
    ],
)
def test_changes_of_another_thread_end_no_search(
    call: str, starts: list[tuple[int]], ask: Callable[[tidelog.Database], Any]
) -> None:
    """A set is tried without them, so that it has to wait for them."""
    db = ring(3)
    db.insert("s", starts)
    db.commit()
    expected, found = list(ask(db)), ask(db)
    assert len(expected) > 1
    sets = [next(found)]
    for _ in range(2):
        other = threading.Thread(target=db.insert, args=("s", [(9,)]))
        other.start()
        other.join()
        with pytest.raises(tidelog.UsageError, match=rf"E0606.*cannot call `{call}\(\)` while other changes"):
            next(found)
        db.rollback()
    assert [*sets, *found] == expected
    assert not found.is_partial


def test_an_error_ends_a_search_and_is_not_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    db = ring(3)
    db.insert("s", [(1,)])
    db.commit()
    found = db.ways_to_remove("p", (0,))
    next(found)
    with monkeypatch.context() as patched:
        patched.setattr(tidelog.Database, "_dry_run", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            next(found)
    with pytest.raises(tidelog.UsageError, match=r"E0671.*an error has ended these explanations"):
        next(found)


@pytest.mark.parametrize(
    "ask",
    [
        lambda db: db.explain("c", (0, 3), all=True),
        lambda db: db.ways_to_remove("c", (0, 3)),
        lambda db: db.ways_to_derive("p", (0,)),
    ],
)
def test_explanations_are_those_of_the_epoch_in_which_they_are_asked_for(
    ask: Callable[[tidelog.Database], Any],
) -> None:
    """Also where nothing has been taken of them before the next epoch."""
    db = ring(3)
    fresh, begun = ask(db), ask(db)
    next(begun)
    db.insert("e", [(0, 9)])
    db.commit()
    assert code_of(lambda: next(begun)) == "E0671"
    assert code_of(lambda: next(fresh)) == "E0671"
