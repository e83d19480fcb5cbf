"""The structure of a program that changes, against one that is made from scratch."""

from __future__ import annotations

import random

from tidelog.maintain.structure import Structure
from tidelog.rules.core import CoreAtom, CoreProgram, CoreRule, HyperNode


def node(name: str, reads: list[str]) -> HyperNode:
    rule = CoreRule(name, name, CoreAtom(name, ()), tuple(CoreAtom(each, ()) for each in reads))
    return HyperNode((name,), (rule,), name in reads)


def test_readers_follow_the_hyper_nodes() -> None:
    """Also where nobody asked the structure before: hyper-nodes come, go, change places and read others."""
    rng = random.Random(3)
    names = [f"p{i}" for i in range(12)]
    nodes: list[HyperNode] = []
    structure = Structure(CoreProgram({}, {}, ()), (), ())
    for _ in range(200):
        kept = [each for each in nodes if rng.random() < 0.9]
        free = sorted({*names} - {each.relations[0] for each in kept})
        kept += [node(name, rng.choices(names, k=rng.randrange(4))) for name in rng.sample(free, min(2, len(free)))]
        nodes = rng.sample(kept, len(kept))
        structure = Structure(structure.program, tuple(nodes), tuple(nodes), structure)
        if rng.random() < 0.7:
            expected = {name: tuple(i for i, each in enumerate(nodes) if name in each.reads) for name in names}
            assert {name: structure.readers(name) for name in names} == expected
