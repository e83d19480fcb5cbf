"""The 128 rules of LUBM: the starred and the # rules come and go, each set as one transaction."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks import lubm
from benchmarks.rules.campus import campuses
from benchmarks.rules.updates import Goal, Pair, State, Step

_ZODIACEDGE = {("starred", True): "1.6 s", ("starred", False): "2.3 s", ("#", True): "0.14 s", ("#", False): "0.05 s"}


def published(folder: Path) -> Iterator[Pair]:
    """Yield the pairs on the published facts of one university."""
    yield from _pairs(folder, "LUBM 1", lubm.facts(folder / "lubm1/lubm1.nt.gz"), (Goal("seconds", 0.03),))


def generated(folder: Path, triples: int) -> Iterator[Pair]:
    """Yield the pairs on at least as many generated facts."""
    facts = campuses(triples, seed=1)
    count = sum(len(data) for data in facts.values())
    yield from _pairs(folder, f"LUBM-like, {count:,} facts", facts, (Goal("ratio", 0.3),))


def _pairs(folder: Path, group: str, facts: Mapping[str, Any], goals: tuple[Goal, ...]) -> Iterator[Pair]:
    rules = json.loads((folder / "lubm1/rules.json").read_text())
    lines = lubm.program(rules, "all rules").splitlines()
    texts = [line for line in lines if not line.startswith(".decl")]
    named = {f"u{i}": f"u{i}: {text}" for i, text in enumerate(texts)}
    declarations = "\n".join(line for line in lines if line.startswith(".decl"))
    more = State(declarations, named, {n: data for n, data in facts.items() if f".decl {n}(" in declarations})
    for mark, position in (("starred", 0), ("#", 1)):
        names = [f"u{i}" for i, rule in enumerate(rules) if rule[position]]
        steps = [
            Step(f"{verb} the {len(names)} {mark} rules", _ZODIACEDGE[mark, verb == "add"], goals)
            for verb in ("add", "delete")
        ]
        yield Pair(group, more.without(*names), more, *steps)
