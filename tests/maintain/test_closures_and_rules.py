"""Closures while their rules and those around them come and go."""

from __future__ import annotations

import pytest

from tests.closure_stories import BASE, CLOSED, COMPOSED, EDGES, LINEAR, SHOWN, Story
from tests.generate import Row


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
    assert not any(name.startswith("#path") for name in story.db.engine.views)


def test_what_shows_a_path_shows_another() -> None:
    story = Story(SHOWN, e=EDGES, f=[(1, 1), (2, 3)])
    assert story.step("shown: v(x, y) :- f+(x, y).", remove="shown", insert={"e": [(4, 1)]}) == {"v": "bootstrap"}
    assert story.before["v"] == {(1, 1), (2, 3)}
    assert story.step(insert={"f": [(3, 2)]}) == {"v": "update"}
    assert story.step("more: v(x, y) :- e(x, y).", delete={"f": [(2, 3)]}) == {"v": "update"}


def test_what_comes_to_show_a_path_has_lost_none_of_its_pairs() -> None:
    story = Story(f"{SHOWN} other: w(x, y) :- e+(x, y).", e=EDGES)
    story.step(remove="shown")
    story.step(SHOWN, delete={"e": EDGES})  # The change of `v` is checked as well: there is none.
    assert story.mirrors == {"v": "#path.e+", "w": "#path.e+"}
    story.step(insert={"e": EDGES})


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


@pytest.mark.parametrize("strategy", ["update", "auto"])
def test_an_empty_closure_comes_to_show_a_path(strategy: str) -> None:
    story = Story("step: v(x, z) :- v(x, y), v(y, z).", strategy, f=[(4, 4)])
    assert story.closures == {"v"}
    story.step("shown: v(x, y) :- f+(x, y).", remove="step")
    assert story.closures == {"#path.f+"}
    assert story.mirrors == {"v": "#path.f+"}
    story.step(insert={"f": [(4, 5)]})
    assert story.before["v"] == {(4, 4), (4, 5)}


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
