"""The parts that all known derivations need, against brute force; and `undo` where a tuple has many derivations."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from tests.depth import cases
from tests.explain.test_changes_of_mind import subsets
from tests.explain.test_random_proofs import RULES, small
from tests.generate import Row
from tests.suite import FIRST_SEED, evaluate_naive, loaded
from tidelog.explain import alternatives
from tidelog.explain.alternatives import needed_by_all
from tidelog.explain.derivations import TupleDerivation
from tidelog.explain.search import Cone
from tidelog.explain.views import EngineViews
from tidelog.explain.walks import Key

Ways = dict[Key, list[TupleDerivation]]


def derived(ways: Ways, facts: set[Key], names: dict[int, str], without: object) -> set[Key]:
    """All tuples that known derivations lead to without a fact or a rule, by rounds."""
    done = {fact for fact in facts if fact != without}
    while True:
        more = {
            key
            for key, each in ways.items()
            for way in each
            if names[id(way)] != without and all(premise in done for premise in way.premises)
        }
        if more <= done:
            return done
        done |= more


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + cases(300)))
def test_parts_are_needed_without_which_nothing_leads_to_the_goal(seed: int) -> None:
    rng = random.Random(seed)
    keys = [Key("t", (i,)) for i in range(9)]
    facts = set(rng.sample(keys[1:], 4))
    ways: Ways = {}
    for key in rng.sample(keys, 7):
        premises = (tuple(rng.sample(keys, rng.randrange(4))) for _ in range(rng.randrange(1, 4)))
        ways[key] = [TupleDerivation(None, (), each) for each in premises]
    names = {id(way): rng.choice("abc") for each in ways.values() for way in each}
    goal, parts = keys[0], [*sorted(facts), *"abc"]
    found = needed_by_all(goal, ways, facts, parts, lambda _, way: [names[id(way)]])
    left = {part: derived(ways, facts, names, part) for part in parts}
    assert set(found) == {part for part in parts if goal not in left[part]}
    whole = derived(ways, facts, names, None)
    if goal in whole:
        assert found == {part: len(whole - left[part]) for part in found}


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Cone]]:
    """Every tuple that rules derive counts as one with many derivations. The cones that were so."""
    looked: list[Cone] = []
    sole_ends = alternatives.sole_ends

    def noted(cone: Cone, **options: object) -> Iterator[frozenset[object]]:
        looked.append(cone)
        return sole_ends(cone, **options)  # type: ignore[arg-type]  # They are passed on.

    monkeypatch.setattr(EngineViews, "budget", 0)
    monkeypatch.setattr(alternatives, "sole_ends", noted)
    yield looked
    assert looked


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + cases(8)))
def test_what_ends_tuples_of_many_derivations_is_what_brute_force_finds(seed: int, many: list[Cone]) -> None:
    db, facts, rng = small(seed, 4)
    every = [(name, row) for name, rows in facts.items() for row in sorted(rows)]

    def holds(goal: tuple[str, Row], gone: frozenset[tuple[str, Row]], text: str = RULES) -> bool:
        left = {name: {row for row in rows if (name, row) not in gone} for name, rows in facts.items()}
        return goal[1] in evaluate_naive(text, left)[goal[0]]

    lines = RULES.strip().splitlines()
    for goal in rng.sample([("t", row) for row in db["t"]], min(2, len(db["t"]))):
        expected: list[frozenset[tuple[str, Row]]] = []
        for gone in subsets(every, len(every)):
            if not any(each <= gone for each in expected) and not holds(goal, gone):
                expected.append(gone)
        found = [frozenset(each.facts) for each in db.ways_to_remove(*goal)]
        assert set(found) == set(expected)
        assert [len(each) for each in found] == sorted(map(len, found))
        if goal[1] not in facts["t"]:
            rules = [line for line in lines[1:] if not holds(goal, frozenset(), RULES.replace(line, ""))]
            single = [each.rules for each in db.ways_to_remove(*goal, rules=True) if len(each.rules) == 1]
            assert sorted(single) == [(line.partition(":")[0],) for line in rules]


def test_facts_that_few_tuples_need_come_first(many: list[Cone]) -> None:
    db = loaded(
        ".decl s(x: number) .decl e(x: number, y: number) first: s(0) :- e(9, 9). next: s(y) :- s(x), e(x, y).",
        {"e": [(9, 9), *((i, i + 1) for i in range(5))]},
        strategy="update",
    )
    found = [each.facts for each in db.ways_to_remove("s", (5,))]
    assert found == [(("e", (i, i + 1)),) for i in (4, 3, 2, 1, 0)] + [(("e", (9, 9)),)]
