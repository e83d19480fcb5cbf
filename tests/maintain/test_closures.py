"""Closures while facts and options change, how they are read, and what a user holds."""

from __future__ import annotations

from typing import Any

import pytest

import tidelog
from tests.allocations import Budget
from tests.closure_stories import BASE, CLOSED, COMPOSED, DECLARATIONS, EDGES, LINEAR, RULES, SHOWN, STRATEGIES, Story
from tidelog.kernels import differences
from tidelog.maintain.strategies import situation

# --- facts that come and go ------------------------------------------------------------------------------------------


@STRATEGIES
@RULES
def test_edges_come_and_go(rules: str, strategy: str) -> None:
    story = Story(rules, strategy, e=EDGES, f=[(4, 6), (6, 4)], n=[(2,)])
    name = "v" if rules == SHOWN else "t"
    assert name in story.unwritten
    for insert, delete in (
        ([(4, 1)], []),
        ([], [(2, 3)]),
        ([(2, 3), (7, 8)], [(3, 4), (6, 6)]),
        ([(3, 4)], [(4, 1), (1, 2), (7, 8)]),
    ):
        step = story.step(insert={"e": insert, "n": [(len(insert),)]}, delete={"e": delete, "f": [(6, 4)]})
        assert step[name] == (strategy if strategy != "auto" else step[name])
    assert name in story.unwritten
    story.step(delete={"e": [(2, 3), (3, 4), (6, 6)], "f": [(4, 6)], "n": [(1,), (2,)]})
    story.step(insert={"e": EDGES})


def test_what_nothing_concerns_is_skipped() -> None:
    story = Story(f"{BASE} {COMPOSED} {SHOWN}", e=EDGES)
    assert story.step(insert={"f": [(1, 1)]}) == {"t": "skip", "v": "skip"}
    assert story.step(insert={"e": [(1, 3)]}) == {"t": "update", "v": "skip"}


def test_an_update_that_takes_too_long_becomes_a_rebuild(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(situation, "_ALWAYS_WORTH", 0.0)
    story = Story(f"{BASE} {COMPOSED}", "auto", e=EDGES)
    story.db.options(switch=1e-9)
    assert story.step(insert={"e": [(4, 1)]})["t"] == "bootstrap"
    assert "an update was given up" in story.reason("t")


def test_a_large_change_is_a_rebuild() -> None:
    story = Story(f"{BASE} {COMPOSED}", "auto", e=EDGES)
    assert story.step(insert={"e": [(i, -i) for i in range(10, 120)]})["t"] == "bootstrap"
    assert story.step(delete={"e": [(50, -50)]})["t"] == "update"


class Requests(Budget):
    """All requests for memory are granted; `largest` is the number of bytes of one."""

    def __init__(self) -> None:
        super().__init__(0)
        self.largest = 0

    def ask(self, size: int) -> bool:
        self.largest = max(self.largest, size)
        return True


@pytest.mark.parametrize("early", [False, True])
def test_the_first_edges_are_neither_compared_nor_are_their_pairs_written(
    early: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one component has 25 million pairs: to compare takes a step for each, to write them 200 MB."""

    def compared(*given: Any) -> None:
        raise AssertionError("the empty closure was compared with the new one")

    monkeypatch.setattr(differences, "changed", compared)
    db = tidelog.connect()
    db.load(f"{DECLARATIONS} t(x, y) :- e(x, y). t(x, y) :- t(y, x). t(x, z) :- t(x, y), t(y, z).")
    if early:
        db.commit()
    db.insert("e", [(i, i + 1) for i in range(4_999)])
    with (requests := Requests()):
        change = db.commit()
        assert len(change["t"].inserted) == len(db["t"]) == 5_000 * 5_000
    assert requests.largest < 5_000 * 5_000, "there is memory for all pairs"
    monkeypatch.undo()
    db.insert("e", [(5_000, 5_001)])
    assert len(db.commit()["t"].inserted) == 4
    assert change["t"].inserted.to_arrow().num_rows == 5_000 * 5_000  # as it was then


# --- asserted facts --------------------------------------------------------------------------------------------------


def test_facts_of_a_non_linear_closure_are_edges() -> None:
    story = Story(f"{BASE} {COMPOSED}", e=EDGES, t=[(4, 5)])
    assert story.closures == {"t"}
    assert (1, 5) in story.before["t"]
    assert story.step(insert={"t": [(5, 1)]}) == {"t": "update"}
    assert story.step(delete={"t": [(4, 5)], "e": [(1, 2)]}) == {"t": "update"}
    assert story.unwritten == {"t"}


def test_facts_of_a_linear_closure_are_none_so_that_it_falls_back() -> None:
    story = Story(f"{BASE} {LINEAR}", e=EDGES)
    assert story.unwritten == {"t"}
    assert story.step(insert={"t": [(9, 1)]}) == {"t": "bootstrap"}
    assert story.reason("t") == "its closure could not be kept"
    assert story.closures == set()
    assert (9, 4) in story.before["t"]
    assert story.step(insert={"t": [(4, 8)]}) == {"t": "update"}
    assert (3, 8) not in story.before["t"]
    assert story.step(delete={"t": [(9, 1), (4, 8)]}) == {"t": "update"}
    assert story.closures == set()
    story.db.options(strategy="bootstrap")
    assert story.step(insert={"e": [(4, 1)]}) == {"t": "bootstrap"}
    assert story.closures == {"t"}
    story.db.options(strategy="update")
    assert story.step(delete={"e": [(4, 1)]}) == {"t": "update"}
    assert story.before["t"] == CLOSED


def test_facts_of_what_shows_a_path_make_it_a_relation_of_its_own() -> None:
    story = Story(SHOWN, e=EDGES)
    assert story.mirrors == {"v": "#path.e+"}
    assert story.unwritten == {"v", "#path.e+"}
    assert story.step(insert={"v": [(8, 9)], "e": [(4, 1)]}) == {"v": "update"}
    assert story.mirrors == {}
    assert story.unwritten == {"#path.e+"}
    assert story.step(delete={"v": [(8, 9)], "e": [(1, 2)]}) == {"v": "update"}
    assert story.step(insert={"v": [(1, 1)], "e": [(1, 2)]}) == {"v": "update"}


# --- readers ---------------------------------------------------------------------------------------------------------


@STRATEGIES
@RULES
def test_pairs_stay_unwritten_when_a_rule_reads_them(rules: str, strategy: str) -> None:
    story = Story(rules, strategy, e=EDGES, f=[(4, 6), (6, 4)], n=[(2,)])
    name = "v" if rules == SHOWN else "t"
    for change in (
        {"add": f"reader: w(x, z) :- {name}(x, y), f(y, z)."},
        {"insert": {"e": [(4, 2)]}},
        {"delete": {"e": [(2, 3), (6, 6)]}},
        {"insert": {"e": [(2, 3)]}, "add": f"other: u(x, y) :- f(x, y), !{name}(y, x)."},
        {"remove": "reader other", "delete": {"e": [(1, 2)]}},
        {"insert": {"e": [(1, 2)]}},
    ):
        story.step(**change)
        assert story.unwritten == ({"v", "#path.e+"} if rules == SHOWN else {"t"})


def test_a_reader_is_added_while_edges_change() -> None:
    story = Story(f"{BASE} {COMPOSED}", e=EDGES, f=[(4, 6)])
    step = story.step("w(x, z) :- t(x, y), f(y, z).", insert={"e": [(4, 1)]}, delete={"e": [(2, 3)]})
    assert step == {"t": "update", "w": "update"}
    assert story.before["w"] == {(3, 6)}


def test_a_reader_of_what_shows_a_path_is_added_while_edges_change() -> None:
    story = Story(SHOWN, e=EDGES, f=[(4, 6)])
    step = story.step("w(x, z) :- v(x, y), f(y, z).", insert={"e": [(4, 1)]}, delete={"e": [(2, 3)]})
    assert step == {"v": "update", "w": "update"}
    assert story.mirrors == {"v": "#path.e+"}
    assert story.step(delete={"e": [(3, 4)]}) == {"v": "update", "w": "update"}


def test_closures_over_closures_stay_unwritten() -> None:
    rules = f"{BASE} {COMPOSED} {SHOWN} u(x, y) :- t(y, x). u(x, y) :- f(x, y). u(x, z) :- u(x, y), u(y, z)."
    story = Story(f"{rules} w(x, y) :- v(x, y). w(x, z) :- w(x, y), w(y, z).", e=EDGES, f=[(4, 4)])
    assert story.closures == {"t", "u", "w", "#path.e+"}
    assert story.unwritten == {"t", "u", "v", "w", "#path.e+"}
    for insert, delete in (([(4, 1)], []), ([], [(2, 3)]), ([(2, 3)], [(4, 1)])):
        assert set(story.step(insert={"e": insert}, delete={"e": delete}).values()) <= {"update", "skip"}
    assert story.unwritten == {"t", "u", "v", "w", "#path.e+"}


# --- options ---------------------------------------------------------------------------------------------------------


@RULES
def test_recognition_is_switched_off_and_on(rules: str) -> None:
    story = Story(rules, e=EDGES, f=[(4, 6), (6, 4)], n=[(2,)])
    assert story.closures
    story.db.options(closures=False)
    story.step()
    assert (story.closures, story.unwritten, story.mirrors) == (set(), set(), {})
    assert "its closure could not be kept" in {node.reason for node in story.change.report.nodes}
    assert set(story.step(insert={"e": [(4, 1)]}).values()) == {"update"}
    story.db.options(closures=True)
    assert set(story.step(delete={"e": [(2, 3)]}).values()) == {"update"}
    story.db.options(strategy="bootstrap")
    story.step(insert={"e": [(2, 3)]})
    assert story.closures
    story.db.options(strategy="update")
    story.step(delete={"e": [(4, 1)]})


def test_both_ways_give_the_same_births_or_none() -> None:
    story = Story(f"{BASE} {COMPOSED}", e=[(1, 2), (2, 3), (3, 1), (3, 4)])
    births = {row: birth for row, (birth, count) in story.db.births("t").items() if count == 0}
    assert births == {
        **dict.fromkeys([(1, 2), (2, 3), (3, 1), (3, 4)], 1),
        **dict.fromkeys([(1, 3), (2, 1), (2, 4), (3, 2)], 4),
        **dict.fromkeys([(1, 1), (2, 2), (3, 3), (1, 4)], 6),
    }


# --- words -----------------------------------------------------------------------------------------------------------


def test_a_database_with_closures_is_widened() -> None:
    story = Story(f"{BASE} {COMPOSED} {SHOWN} u(x * 2, y) :- f(x, y).", e=EDGES, f=[(1, 1)])
    assert story.db.stats()["word_bits"] == 32
    story.step(insert={"e": [(4, 2**40)]})
    assert story.db.stats()["word_bits"] == 64
    story.step(insert={"e": [(2**40, 1)]}, delete={"e": [(2, 3)]})
    assert story.unwritten >= {"t", "v"}


def test_a_rule_widens_behind_a_closure_that_has_changed() -> None:
    """The epoch is taken back and begun again, and with it what it did to the closure."""
    story = Story(f"{BASE} {COMPOSED} u(y * 65536 * 65536, 1) :- t(9, y).", e=EDGES)
    assert story.db.stats()["word_bits"] == 32
    story.step(insert={"e": [(4, 9), (9, 1)]}, delete={"e": [(2, 3)]})
    assert story.db.stats()["word_bits"] == 64
    story.step(delete={"e": [(9, 1)]})


@pytest.mark.parametrize(
    ("kind", "a", "b", "c"),
    [
        ("symbol", "a", "", "é"),
        ("float", 0.5, -1.25, float("inf")),
        ("unsigned", 0, 2**64 - 1, 7),
        ("Pair", (1, 2), None, (-1, 0)),
    ],
)
def test_nodes_of_all_kinds(kind: str, a: Any, b: Any, c: Any) -> None:
    declarations = ".type Pair = [a: number, b: number]\n"
    declarations += "".join(f".decl {name}(x: {kind}, y: {kind})\n" for name in "etv")
    story = Story(f"{BASE} {COMPOSED} {SHOWN}", "update", declarations, e=[(a, b), (b, c)])
    assert story.before["t"] == story.before["v"] == {(a, b), (b, c), (a, c)}
    story.step(insert={"e": [(c, a)]})
    assert len(story.before["v"]) == 9
    story.step(delete={"e": [(a, b)]})
    assert (c, c) not in story.db["t"]
    assert (b, a) in story.db["v"]


# --- what a user holds -----------------------------------------------------------------------------------------------


def test_changes_and_relations_are_read_late() -> None:
    story = Story(f"{BASE} {COMPOSED} {SHOWN}", e=EDGES)
    db = story.db
    changes = [db.commit()]
    relation = db["t"]
    for insert, delete in (([(4, 1)], []), ([], [(1, 2)]), ([(2, 2)], [(3, 4)])):
        db.insert("e", insert)
        db.delete("e", delete)
        changes.append(db.commit())
    assert set(relation) == set(db["v"]) == {(2, 2), (2, 3), (4, 1), (6, 6)}
    assert set(changes[0]) == set()
    cycle = {(x, y) for x in (1, 2, 3, 4) for y in (1, 2, 3, 4)}
    for name in ("t", "v"):
        assert set(changes[1][name].inserted) == cycle - CLOSED
        assert set(changes[2][name].deleted) == cycle - {(2, 3), (3, 4), (4, 1), (2, 4), (2, 1), (3, 1)}
        assert set(changes[3][name].inserted) == {(2, 2)}


def test_the_first_change_is_read_after_the_closure_has_changed() -> None:
    db = tidelog.connect()
    db.load(DECLARATIONS + f"{BASE} {COMPOSED} {SHOWN}")
    db.insert("e", EDGES)
    first = db.commit()
    db.delete("e", EDGES[:2])
    second = db.commit()
    db.rules.remove("base")
    db.rules.remove("shown")
    db.rules.remove("step")
    third = db.commit()
    db.insert("e", EDGES)
    db.commit()
    for name in ("t", "v"):
        assert set(first[name].inserted) == CLOSED
        assert set(second[name].deleted) == CLOSED - {(3, 4), (6, 6)}
        assert set(third[name].deleted) == {(3, 4), (6, 6)}


def test_a_subscriber_hears_of_a_closure() -> None:
    story = Story(f"{BASE} {COMPOSED} {SHOWN}", e=EDGES)
    heard = []
    story.db.subscribe("v", lambda change: heard.append((set(change.inserted), set(change.deleted))))
    story.step(insert={"e": [(6, 1)]}, delete={"e": [(2, 3)]})
    story.step(insert={"e": [(1, 1)]}, delete={"e": [(1, 2)]})
    assert heard[0] == ({(6, 1), (6, 2)}, {(1, 3), (1, 4), (2, 3), (2, 4)})
    assert heard[1] == ({(1, 1)}, {(1, 2), (6, 2)})
