"""Random programs on the embedded engine, compared with the reference; and what random programs are."""

from __future__ import annotations

import random

import pytest

from tests.suite import (
    FIRST_SEED,
    checked,
    difference,
    disagreement,
    evaluate_embedded,
    evaluate_naive,
    halves,
    loaded,
    random_cases,
    shuffled,
    views,
)
from tidelog.reference import seminaive
from tidelog.rules import compile_program

PROGRAMS, CHUNK = 2000, 100


@pytest.mark.parametrize("first", range(FIRST_SEED, FIRST_SEED + PROGRAMS, CHUNK))
def test_views_are_those_of_the_reference(first: int) -> None:
    for case in random_cases(CHUNK, first):
        problem = disagreement(case, evaluate_embedded)
        assert not problem, f"{problem}\n{case}"


@pytest.mark.parametrize("first", range(FIRST_SEED, FIRST_SEED + 400, CHUNK))
def test_births_and_counts_are_those_of_the_reference(first: int) -> None:
    for case in random_cases(CHUNK, first):
        tables = seminaive.evaluate(compile_program(checked(case.text)), case.facts)
        db = loaded(case.text, case.facts)
        problem = difference(
            {name: db._births(name) for name in case.derived}, {name: tables[name] for name in case.derived}
        )
        assert not problem, f"{problem}\n{case}"


def test_facts_of_two_commits_are_as_those_of_one() -> None:
    for case in random_cases(100, FIRST_SEED + 2_000_000):
        first, second = halves(case.facts, random.Random(case.seed))
        problem = difference(views(loaded(case.text, first, second)), evaluate_embedded(case.text, case.facts))
        assert not problem, f"{problem}\n{case}"


def test_order_of_rules_and_of_facts_does_not_matter() -> None:
    for case in random_cases(100, FIRST_SEED + 3_000_000):
        rng = random.Random(case.seed)
        other = shuffled(case, rng)
        facts = {name: rng.sample(sorted(rows, key=repr), len(rows)) for name, rows in case.facts.items()}
        problem = difference(evaluate_embedded(other.text, facts), evaluate_embedded(case.text, case.facts))
        assert not problem, f"{problem}\n{case}\n--- shuffled\n{other.text}"


def test_most_random_programs_derive_something() -> None:
    programs, derived, filled, fruitful = 500, 0, 0, 0
    for case in random_cases(programs, FIRST_SEED):
        found = evaluate_naive(case.text, case.facts)
        views_filled = sum(bool(found[name]) for name in case.derived)
        derived += len(case.derived)
        filled += views_filled
        fruitful += views_filled > 0
    assert fruitful >= 0.95 * programs
    assert filled >= 0.8 * derived
