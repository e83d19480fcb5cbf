"""Random programs through random changes: the checker accepts what the engine keeps, and judges every corruption as an
enumeration of all derivations does."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.certificate.alter import Altered, absent_row, altered, judged, verdict
from tests.depth import cases
from tests.scripts import Follower, script_for
from tests.suite import FIRST_SEED, loaded, random_cases
from tidelog.rules.core import AggregateRule, CoreRule, HyperNode


@pytest.mark.parametrize("first", range(FIRST_SEED, FIRST_SEED + cases(4), 2))
def test_random_programs(first: int) -> None:
    for case in random_cases(2, 5_000_000 + first):
        sound = altered(loaded(case.text, case.facts))
        assert verdict(sound) == set(), case
        for label, changed in corruptions(sound, random.Random(case.seed)):
            assert verdict(changed) == judged(changed), f"{label}\n{case}"


@pytest.mark.parametrize("first", range(FIRST_SEED, FIRST_SEED + cases(3), 3))
def test_random_scripts(first: int) -> None:
    for seed in range(first, first + 3):
        script = script_for(600_000 + seed)
        follower = Follower(script, ("update", "auto", "bootstrap")[seed % 3])
        for epoch in script.epochs:
            follower.follow(epoch)
            assert verdict(altered(follower.db)) == set(), script
        sound = altered(follower.db)
        for label, changed in corruptions(sound, random.Random(seed)):
            assert verdict(changed) == judged(changed), f"{label}\n{script}"


def corruptions(sound: Altered, rng: random.Random) -> Iterator[tuple[str, Altered]]:
    """A certificate with one thing changed; those that change what is said are sure to be judged wrong."""
    filled = [name for name, view in sound.views.items() if view]
    for name in rng.sample(filled, min(2, len(filled))):
        row = rng.choice(list(sound.views[name]))
        changed = sound.without(name, row)
        assert judged(changed)
        yield f"{name} without {row}", changed
    for name in rng.sample(list(sound.views), 2):
        new = absent_row(sound, name, rng)
        if new is not None:
            changed = sound.with_row(name, new, rng.choice([0, 1, 1000]))
            assert judged(changed)
            yield f"{name} with {new}", changed
    asserted = [name for name, rows in sound.facts.items() if rows]
    if asserted:
        name = rng.choice(asserted)
        rows = sorted(sound.facts[name], key=repr)
        yield f"a fact of {name} less", sound.with_facts(name, rng.sample(rows, len(rows) - 1))
    recursive = [name for node in sound.program.nodes if node.recursive for name in node.relations if sound.views[name]]
    if recursive:
        name = rng.choice(recursive)
        births = list(sound.views[name].values())
        yield f"births of {name} shuffled", sound.with_births(name, rng.sample(births, len(births)))
        yield f"births of {name} all alike", sound.with_births(name, [7] * len(births))
    rules = [rule for node in sound.program.nodes for rule in node.rules]
    if rules:
        rule = rng.choice(rules)
        yield f"without the rule {rule}", with_rules(sound, [other for other in rules if other is not rule])


def with_rules(sound: Altered, rules: list[CoreRule | AggregateRule]) -> Altered:
    """The certificate for other rules of the same relations; strata stay what they are."""
    nodes = tuple(HyperNode((), (rule,), False) for rule in rules)  # the checker reads the rules only
    return replace(sound, program=replace(sound.program, nodes=nodes))
