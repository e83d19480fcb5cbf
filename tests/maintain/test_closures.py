"""Hyper-nodes that are closures in the engine: what becomes of them when facts, rules and options change.

A `Story` goes from commit to commit. After each, the views are those of naive evaluation, the recount finds no mistake,
the certificate is accepted (every third time), and the change before, read only now, is the exact difference of its
epoch.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from typing import Any

import pytest

import tidelog
from tests.generate import Row
from tests.recount import asserted_in, mistakes, state_of
from tests.suite import evaluate_naive, views
from tidelog.errors import LimitError
from tidelog.maintain import closures as closures_module
from tidelog.maintain import engine as engine_module
from tidelog.maintain.closures import Closures
from tidelog.maintain.limits import Watch
from tidelog.storage import closure as closure_module
from tidelog.storage.closure import ClosedRelation

DECLARATIONS = "".join(f".decl {name}(x: number, y: number)\n" for name in "eftuvw") + ".decl n(x: number)\n"
EDGES = [(1, 2), (2, 3), (3, 4), (6, 6)]
CLOSED = {(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4), (6, 6)}
BASE, COMPOSED = "base: t(x, y) :- e(x, y).", "step: t(x, z) :- t(x, y), t(y, z)."
LINEAR, SHOWN = "step: t(x, z) :- t(x, y), e(y, z).", "shown: v(x, y) :- e+(x, y)."
Facts = Mapping[str, list[Row]]


class Story:
    """A database with everything that has happened to it."""

    def __init__(self, rules: str, strategy: str = "update", declarations: str = DECLARATIONS, **facts: list[Row]):
        self.declarations = declarations
        self.db = tidelog.connect()
        self.db.load(declarations + rules)
        self.db.options(strategy=strategy)
        self.looked = 0
        for name, rows in facts.items():
            self.db.insert(name, rows)
        self.change = self.db.commit()
        self.held = {name: self.db[name] for name in self.db.relations}
        self.before = self.right()
        self.expected = {name: (rows, set()) for name, rows in self.before.items() if rows}

    def step(
        self, add: str = "", remove: str = "", insert: Facts | None = None, delete: Facts | None = None
    ) -> dict[str, str]:
        """One epoch; the strategy of each relation that was looked at."""
        with self.db.transaction() as transaction:
            for name, rows in (delete or {}).items():
                transaction.delete(name, rows)
            for name, rows in (insert or {}).items():
                transaction.insert(name, rows)
            for name in remove.split():
                transaction.rules.remove(name)
            if add:
                transaction.rules.add(add)
        self.read()
        assert transaction.change is not None
        self.change = transaction.change
        now = self.right()
        self.expected, self.before = differences(self.before, now), now
        assert not any("#" in name for node in self.change.report.nodes for name in node.relations)
        return {name: node.strategy for node in self.change.report.nodes for name in node.relations}

    def read(self) -> None:
        """The last change, however late, is what its epoch did."""
        found = {name: (set(self.change[name].inserted), set(self.change[name].deleted)) for name in self.change}
        assert found == self.expected

    def right(self) -> dict[str, set[Row]]:
        """The views, which are those of the rules and facts that there are."""
        facts = asserted_in(self.db)
        found = views(self.db)
        text = self.declarations + "\n".join(self.db.rules[name] for name in self.db.rules)
        assert found == evaluate_naive(text, {name: facts[name] for name in self.db.relations})
        assert {name: set(rows) for name, rows in self.held.items()} == {name: found[name] for name in self.held}
        assert mistakes(self.db, state_of(self.db), facts) == ""
        self.looked += 1
        if self.looked % 3 == 0:
            self.db.check()
        return found

    @property
    def closures(self) -> set[str]:
        """The relations that are kept as closures."""
        return set(self.db._engine.closures)

    @property
    def unwritten(self) -> set[str]:
        """The relations without rows."""
        return {name for name, stored in self.db._engine.views.items() if isinstance(stored, ClosedRelation)}

    @property
    def mirrors(self) -> dict[str, str]:
        """The relations that show the closure of a path."""
        return dict(self.db._engine.mirrors)

    def reason(self, name: str) -> str:
        (reason,) = [node.reason for node in self.change.report.nodes if name in node.relations]
        return reason


def differences(before: dict[str, set[Row]], now: dict[str, set[Row]]) -> dict[str, tuple[set[Row], set[Row]]]:
    return {name: (rows - before[name], before[name] - rows) for name, rows in now.items() if rows != before[name]}


STRATEGIES = pytest.mark.parametrize("strategy", ["update", "bootstrap", "auto"])
RULES = pytest.mark.parametrize(
    "rules",
    [
        f"{BASE} {COMPOSED}",
        f"{BASE} {LINEAR}",
        f"{BASE} {COMPOSED} t(x, y) :- t(y, x).",
        f"{BASE} t(x, z) :- t(x, y), t(y, z), x != z. t(x, x) :- n(x).",
        f"{BASE} {COMPOSED} t(x, y) :- f(x, y), x < y.",
        SHOWN,
    ],
    ids=["composed", "linear", "symmetric", "irreflexive", "base", "path"],
)


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
    monkeypatch.setattr(engine_module, "_ALWAYS_WORTH", 0.0)
    story = Story(f"{BASE} {COMPOSED}", "auto", e=EDGES)
    story.db.options(switch=1e-9)
    assert story.step(insert={"e": [(4, 1)]})["t"] == "bootstrap"
    assert "an update was given up" in story.reason("t")


def test_a_large_change_is_a_rebuild() -> None:
    story = Story(f"{BASE} {COMPOSED}", "auto", e=EDGES)
    assert story.step(insert={"e": [(i, -i) for i in range(10, 120)]})["t"] == "bootstrap"
    assert story.step(delete={"e": [(50, -50)]})["t"] == "update"


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
        story.step(**change)  # type: ignore[arg-type]
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


# --- rules that come and go ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spoils",
    [
        "spoils: t(x, z) :- t(x, y), f(y, z).",
        "spoils: t(x, x) :- t(x, _).",
        "spoils: t(x, z) :- t(x, y), t(y, z), n(y).",
        "u(x, y) :- t(x, y). spoils: t(x, y) :- u(y, x), f(x, y).",
    ],
)
def test_a_rule_spoils_a_closure_and_goes_again(spoils: str) -> None:
    story = Story(f"{BASE} {COMPOSED}", e=EDGES, f=[(4, 5), (5, 1)], n=[(2,)])
    assert story.step(spoils)["t"] == "bootstrap"
    assert story.closures == set()
    story.step(insert={"e": [(4, 1)]}, delete={"f": [(4, 5)]})
    assert story.step(remove="spoils")["t"] == "update"
    assert story.closures == set()
    story.db.options(strategy="bootstrap")
    assert story.step(delete={"e": [(4, 1)]})["t"] == "bootstrap"
    assert story.closures == {"t"}
    story.db.options(strategy="update")
    assert story.step(insert={"e": [(4, 2)]})["t"] == "update"


def test_the_only_step_goes_and_comes() -> None:
    story = Story(f"{BASE} {COMPOSED}", e=EDGES)
    assert story.step(remove="step") == {"t": "drop"}
    assert story.before["t"] == set(EDGES)
    assert story.step(COMPOSED) == {"t": "update"}
    assert story.before["t"] == CLOSED


@pytest.mark.parametrize(
    ("flag", "other"),
    [("flag: t(x, y) :- t(y, x).", COMPOSED), ("", "step: t(x, z) :- t(x, y), t(y, z), x != z.")],
    ids=["symmetric", "irreflexive"],
)
@pytest.mark.parametrize("reader", ["", "w(x, x) :- t(x, x)."])
def test_a_closure_becomes_another(flag: str, other: str, reader: str) -> None:
    story = Story(f"{BASE} {COMPOSED} {reader}", e=[*EDGES, (4, 2)])
    assert story.step(f"{flag} {other if not flag else ''}", remove="step" if not flag else "")["t"] == "bootstrap"
    assert story.reason("t") == "its closure could not be kept"
    assert story.closures == {"t"}
    assert story.step(insert={"e": [(7, 7)]}, delete={"e": [(2, 3)]})["t"] == "update"
    story.step("" if flag else COMPOSED, remove="flag" if flag else "step", insert={"e": [(2, 3)]})
    assert story.closures == {"t"}
    assert story.step(delete={"e": [(7, 7), (3, 4)]})["t"] == "update"


def test_base_rules_come_and_go_and_edges_with_them() -> None:
    story = Story(f"{BASE} {COMPOSED}", e=EDGES, f=[(4, 5), (5, 4), (2, 1)], n=[(8,)])
    for add, remove in (
        ("f: t(x, y) :- f(x, y).", ""),
        ("less: t(x, y) :- f(y, x), x < y. loop: t(x, x) :- n(x).", ""),
        ("turned: t(y, x) :- f(x, y).", "f base"),
        (BASE, "less"),
        ("", "turned loop"),
    ):
        assert story.step(add, remove, insert={"f": [(len(add) % 7, 3)]})["t"] == "update"
    assert story.unwritten == {"t"}


def test_a_source_that_is_derived_loses_its_rules() -> None:
    story = Story(f"{COMPOSED} t(x, y) :- u(x, y). below: u(x, y) :- e(x, y).", e=EDGES, u=[(4, 1)])
    assert story.step(remove="below", delete={"e": [(2, 3)]}) == {"u": "drop", "t": "update"}
    assert story.before["t"] == {(4, 1)}
    assert story.step("below: u(y, x) :- e(x, y).")["t"] == "update"


def test_a_closure_and_its_source_go_together() -> None:
    story = Story(f"{COMPOSED} top: t(x, y) :- u(x, y). below: u(x, y) :- e(x, y).", e=EDGES)
    assert story.step(remove="step top below", delete={"e": [(1, 2)]}) == {"t": "drop", "u": "drop"}
    assert story.closures == set()
    assert story.step(f"{BASE} {COMPOSED}") == {"t": "update"}
    assert story.closures == {"t"}


def test_a_closure_with_facts_loses_its_rules() -> None:
    story = Story(f"{BASE} {COMPOSED}", e=EDGES, t=[(4, 5)])
    assert story.step(remove="base step", insert={"t": [(5, 6)]}) == {"t": "drop"}
    assert story.before["t"] == {(4, 5), (5, 6)}
    assert story.step(f"{BASE} {LINEAR}") == {"t": "update"}
    assert story.closures == set()


def test_a_closure_that_is_read_loses_its_rules() -> None:
    story = Story(f"{BASE} {COMPOSED} w(x, y) :- t(y, x).", e=EDGES)
    assert story.step(remove="base step") == {"t": "drop", "w": "update"}
    assert story.before["w"] == set()
    assert story.step(insert={"t": [(1, 2)]}) == {"w": "update"}


@pytest.mark.parametrize("later", [[], [(4, 1)]], ids=["alone", "with its edges"])
def test_what_shows_a_path_loses_its_rule(later: list[Row]) -> None:
    story = Story(f"{SHOWN} other: w(x, y) :- e+(x, y).", e=EDGES)
    assert story.mirrors == {"v": "#path.e+", "w": "#path.e+"}
    assert story.step(remove="shown", insert={"e": later}, delete={"e": later and [(2, 3)]})["v"] == "drop"
    assert story.before["v"] == set()
    story.step(insert={"v": [(9, 9)]}, delete={"e": [(1, 2)]})
    assert story.step(remove="other")["w"] == "drop"
    assert story.closures == set()
    assert not any(name.startswith("#path") for name in story.db._engine.views)


def test_what_shows_a_path_shows_another() -> None:
    story = Story(SHOWN, e=EDGES, f=[(1, 1), (2, 3)])
    assert story.step("shown: v(x, y) :- f+(x, y).", remove="shown", insert={"e": [(4, 1)]}) == {"v": "bootstrap"}
    assert story.before["v"] == {(1, 1), (2, 3)}
    assert story.step(insert={"f": [(3, 2)]}) == {"v": "update"}
    assert story.step("more: v(x, y) :- e(x, y).", delete={"f": [(2, 3)]}) == {"v": "update"}


@pytest.mark.parametrize("edges", [[], EDGES], ids=["empty", "with pairs"])
@pytest.mark.parametrize("reader", ["", "w(x, y) :- v(x, y), f(x, y).", "w(x, z) :- <e+>(x, y), f(y, z)."])
def test_what_shows_a_path_becomes_a_closure_itself(edges: list[Row], reader: str) -> None:
    story = Story(f"{SHOWN} {reader} keeps: u(x, y) :- e+(x, y).", e=edges, f=[(1, 2), (2, 3)])
    story.step("own: v(x, y) :- f(x, y). closes: v(x, z) :- v(x, y), v(y, z).", remove="shown")
    assert "v" in story.closures
    assert "v" not in story.mirrors
    assert story.before["v"] == {(1, 2), (2, 3), (1, 3)}
    story.step(insert={"e": [(1, 5), (5, 2)], "f": [(3, 1)]})
    story.step(delete={"e": [(1, 2), (5, 2)], "f": [(2, 3)]})
    story.step(SHOWN, remove="own closes")
    story.step(insert={"e": [(5, 1)]})


def test_a_closure_is_merged_with_others_and_split_again() -> None:
    rules = f"{BASE} {COMPOSED} u(x, y) :- t(y, x). u(x, z) :- u(x, y), u(y, z)."
    story = Story(rules, e=EDGES, f=[(4, 3), (3, 2), (1, 1)])
    assert story.closures == {"t", "u"}
    assert story.step("merges: t(x, y) :- u(x, y), f(x, y).") == {"t": "bootstrap", "u": "bootstrap"}
    assert story.closures == set()
    assert story.step(insert={"e": [(4, 5)]}, delete={"f": [(4, 3)]}) == {"t": "update", "u": "update"}
    assert story.step(remove="merges") == {"t": "update", "u": "update"}
    assert story.step(delete={"e": [(4, 5)]}) == {"t": "update", "u": "update"}
    story.db.options(strategy="bootstrap")
    assert story.step(insert={"e": [(4, 1)]}) == {"t": "bootstrap", "u": "bootstrap"}
    assert story.closures == {"t", "u"}
    story.db.options(strategy="update")
    assert story.step(delete={"e": [(4, 1)]}) == {"t": "update", "u": "update"}


def test_a_part_of_a_former_hyper_node_shows_a_path() -> None:
    """Negation takes the coarse node apart while both are empty: v is to show a path that no rule has to read."""
    rules = "one: v(x, y) :- w(x, y), f(x, y). two: w(x, y) :- v(y, x)."
    story = Story(rules, e=EDGES)
    assert story.step(SHOWN, remove="one", insert={"f": [(1, 1)]})["v"] == "update"
    story = Story(rules, e=EDGES)
    step = story.step(f"{SHOWN} two: w(x, y) :- e(x, y), !v(y, x).", remove="one two")
    assert step["v"] == "bootstrap"
    assert story.before["v"] == CLOSED
    story.step(insert={"e": [(4, 1)]})


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


# --- limits, interrupts, faults --------------------------------------------------------------------------------------


def fingerprint(db: tidelog.Database) -> object:
    return state_of(db), db.hyper_nodes, sorted(db._engine.closures), db._engine.mirrors


RICH = (
    f"{BASE} {COMPOSED} {SHOWN} u(x, y) :- t(y, x). u(x, z) :- u(x, y), u(y, z), x != z. w(x, z) :- u(x, y), f(y, z)."
)


def refuse(story: Story, **change: Any) -> None:
    """A limit stops the epoch, and nothing has changed."""
    before = fingerprint(story.db)
    with pytest.raises(LimitError):
        story.step(**change)
    assert fingerprint(story.db) == before
    story.right()


def stopping(call: int, error: Callable[[], BaseException]) -> Callable[..., None]:
    """A function that raises when it is called for the `call`-th time."""
    calls = 0

    def look(*_: object) -> None:
        nonlocal calls
        calls += 1
        if calls == call:
            raise error()

    return look


def stop_everywhere(
    story: Story, patched: Callable[[pytest.MonkeyPatch, int], None], monkeypatch: pytest.MonkeyPatch
) -> int:
    """Let an epoch fail at one place after the other, with no trace, until it succeeds; how often it has failed."""
    before = fingerprint(story.db)
    for call in range(1, 500):
        with monkeypatch.context() as patch:
            patched(patch, call)
            try:
                with story.db.transaction() as transaction:
                    transaction.insert("e", [(4, 1), (7, 8)])
                    transaction.delete("e", [(2, 3), (6, 6)])
                break
            except (KeyboardInterrupt, LimitError, RuntimeError):
                pass
        assert fingerprint(story.db) == before
    assert transaction.change is not None
    story.read()
    now = story.right()
    story.change, story.expected, story.before = transaction.change, differences(story.before, now), now
    story.step(delete={"e": [(4, 1)]})
    return call - 1


@STRATEGIES
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_stopped_at_every_look(strategy: str, error: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closure_module, "_AT_ONCE", 0)
    story = Story(RICH, strategy, e=EDGES, f=[(4, 6)])
    stops = stop_everywhere(story, lambda patch, call: patch.setattr(Watch, "look", stopping(call, error)), monkeypatch)
    assert stops > 10


@pytest.mark.parametrize(
    ("owner", "name", "least"),
    [
        (Closures, "show", 1),
        (Closures, "mirror", 1),
        (Closures, "follow", 3),
        (Closures, "history", 4),
        (closures_module, "_edges", 4),
        (engine_module._Epoch, "note", 2),
        (closure_module.Closure, "_balance", 3),
        (closure_module.Closure, "_make_room", 3),
    ],
)
def test_a_fault_behind_any_step_leaves_no_trace(
    owner: object, name: str, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = getattr(owner, name)

    def patched(patch: pytest.MonkeyPatch, call: int) -> None:
        stop, over = stopping(call, lambda: RuntimeError("a fault of the test")), []

        def faulty(*args: Any, **options: Any) -> Any:
            found = original(*args, **options)
            if not over:
                try:
                    stop()
                except RuntimeError:
                    over.append(True)  # taking back may use the same function
                    raise
            return found

        patch.setattr(owner, name, faulty)

    assert stop_everywhere(Story(RICH, e=EDGES, f=[(4, 6)]), patched, monkeypatch) >= least


def test_the_time_limit() -> None:
    story = Story(RICH, e=EDGES, f=[(4, 6)])
    story.db.options(timeout=1e-9)
    refuse(story, insert={"e": [(4, 1)]})
    story.db.options(timeout=None)
    story.step(insert={"e": [(7, 8)]})


def test_the_row_limit_is_on_what_the_epoch_derives() -> None:
    story = Story(f"{BASE} {COMPOSED}", e=EDGES)
    story.db.options(max_rows=4)
    story.step(insert={"e": [(4, 5)]})
    refuse(story, insert={"e": [(5, 7)]})
    story.step(delete={"e": [(6, 6)]})


@pytest.mark.parametrize("name", ["t", "v"])
def test_the_size_limit_of_a_closure(name: str) -> None:
    story = Story(f"{BASE} {COMPOSED} {SHOWN} .limitsize {name}(n=8)", e=EDGES)
    refuse(story, insert={"e": [(4, 1)]})
    story.step(insert={"e": [(7, 8)]})


def test_control_c_while_a_closure_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closure_module, "_AT_ONCE", 10)
    story = Story(f"{BASE} {COMPOSED}", e=EDGES)
    look = Watch.look

    def pressed(self: Watch, rows: int = 0, doing: str = "") -> None:
        signal.raise_signal(signal.SIGINT)
        look(self, rows, doing)

    with monkeypatch.context() as patch:
        patch.setattr(Watch, "look", pressed)
        before = fingerprint(story.db)
        with pytest.raises(KeyboardInterrupt), story.db.transaction() as transaction:
            transaction.insert("e", [(i, i + 1) for i in range(10, 30)])
    assert fingerprint(story.db) == before
    story.step(insert={"e": [(i, i + 1) for i in range(10, 30)]})


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
