"""Random programs on the embedded engine, compared with the reference."""

from __future__ import annotations

import random

import pytest

from tests.depth import cases
from tests.suite import (
    FIRST_SEED,
    Suite,
    births_in_embedded,
    births_in_reference,
    chunks,
    difference,
    disagreement,
    evaluate_embedded,
    halves,
    loaded,
    random_cases,
    shuffled,
    views,
)

BEHIND = FIRST_SEED + Suite.random_programs
"""The suite has those before in `test_programs.py`."""


@pytest.mark.parametrize("seeds", chunks(BEHIND, 100, 25))
def test_views_are_those_of_the_reference(seeds: range) -> None:
    for case in random_cases(len(seeds), seeds[0]):
        problem = disagreement(case, evaluate_embedded)
        assert not problem, f"{problem}\n{case}"


@pytest.mark.parametrize("seeds", chunks(FIRST_SEED, 50, 25))
def test_births_and_counts_are_those_of_the_reference(seeds: range) -> None:
    for case in random_cases(len(seeds), seeds[0]):
        found = births_in_embedded(case.text, case.facts)
        problem = difference(found, births_in_reference(case.text, case.facts))
        assert not problem, f"{problem}\n{case}"


def test_facts_of_two_commits_are_as_those_of_one() -> None:
    for case in random_cases(cases(30), FIRST_SEED + 2_000_000):
        first, second = halves(case.facts, random.Random(case.seed))
        problem = difference(views(loaded(case.text, first, second)), evaluate_embedded(case.text, case.facts))
        assert not problem, f"{problem}\n{case}"


def test_order_of_rules_and_of_facts_does_not_matter() -> None:
    for case in random_cases(cases(30), FIRST_SEED + 3_000_000):
        rng = random.Random(case.seed)
        other = shuffled(case, rng)
        facts = {name: rng.sample(sorted(rows, key=repr), len(rows)) for name, rows in case.facts.items()}
        problem = difference(evaluate_embedded(other.text, facts), evaluate_embedded(case.text, case.facts))
        assert not problem, f"{problem}\n{case}\n--- shuffled\n{other.text}"
