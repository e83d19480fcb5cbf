"""Random change scripts over values with branches: patterns and constructors in facts, bodies, heads and negations.

Rules build values only from relations below their heads, so that every program ends; recursive rules take values apart.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tests.generate import Row
from tests.scripts import Script, scripted
from tidelog.language.branches import branch_class

TYPES = """
.type List = Nil {} | Cons { head: number, tail: List }
.type Tree = Leaf {} | Node { left: Tree, items: List, right: Tree } | Sign { text: symbol, color: Color }
.type Color = Red {} | Green {}
.type Pair = [color: Color, list: List]
"""
BRANCHES: Mapping[str, Mapping[str, tuple[tuple[str, str], ...]]] = {
    "List": {"Nil": (), "Cons": (("head", "number"), ("tail", "List"))},
    "Tree": {
        "Leaf": (),
        "Node": (("left", "Tree"), ("items", "List"), ("right", "Tree")),
        "Sign": (("text", "symbol"), ("color", "Color")),
    },
    "Color": {"Red": (), "Green": ()},
}
PAIR = ("Color", "List")
GIVEN = {"a": ("List",), "b": ("Tree",), "c": ("Color", "number"), "e": ("List", "List"), "p": ("Pair",)}
DERIVED = {"d": ("List",), "f": ("List", "List"), "g": ("Tree",), "h": ("Pair", "List"), "m": ("number", "Color")}
LEVELS = {**dict.fromkeys(GIVEN, 0), "d": 1, "f": 1, "m": 1, "g": 2, "h": 2}
COLUMNS = {**GIVEN, **DERIVED}


def terms_script(seed: int) -> Script:
    """The script of a seed."""
    rng = random.Random(f"terms {seed}")
    declarations = [
        f".decl {name}({', '.join(f'x{i}: {type_}' for i, type_ in enumerate(types))})"
        for name, types in COLUMNS.items()
    ]
    rules = list(dict.fromkeys(rule_for(rng) for _ in range(rng.randint(4, 9))))
    some = [name for name in COLUMNS if name in GIVEN or rng.random() < 0.3]
    pool: dict[str, list[Row]] = {
        name: [tuple(ground(rng, type_, 2) for type_ in COLUMNS[name]) for _ in range(7)] for name in some
    }
    return replace(scripted(rng, "\n".join([TYPES, *declarations]), rules, pool), seed=seed)


def ground(rng: random.Random, type_: str, depth: int) -> Any:
    """A value of a type."""
    match type_:
        case "number":
            return rng.randrange(3)
        case "symbol":
            return rng.choice(("", "s", "(,"))
        case "Pair":
            return None if rng.random() < 0.15 else tuple(ground(rng, each, depth) for each in PAIR)
    branches = BRANCHES[type_]
    name = rng.choice(list(branches) if depth else [name for name, fields in branches.items() if not fields])
    fields = branches[name]
    return branch_class(name, tuple(each for each, _ in fields))(*(ground(rng, each, depth - 1) for _, each in fields))


@dataclass
class Names:
    """The variables of a rule that have values, by type."""

    rng: random.Random
    known: dict[str, list[str]] = field(default_factory=dict)

    def pattern(self, type_: str, depth: int) -> str:
        """A pattern, whose variables are known from now on."""
        rng, known = self.rng, self.known.setdefault(type_, [])
        if rng.random() < 0.15:
            return "_"
        if rng.random() < 0.3 and known:
            return rng.choice(known)
        if rng.random() < 0.55 or not depth:
            known.append(f"{type_[0].lower()}{len(known)}")
            return known[-1]
        return self.constructed(type_, lambda part: self.pattern(part, depth - 1))

    def value(self, type_: str, depth: int) -> str:
        """A term of values that are known; a constant where there are none."""
        known = self.known.get(type_, [])
        if known and (not depth or self.rng.random() < 0.6):
            return self.rng.choice(known)
        if not depth:
            return written(ground(self.rng, type_, 0))
        return self.constructed(type_, lambda part: self.value(part, depth - 1))

    def constructed(self, type_: str, part: Any) -> str:
        if type_ == "Pair":
            return f"[{', '.join(map(part, PAIR))}]"
        if type_ not in BRANCHES:
            return written(ground(self.rng, type_, 0))
        name = self.rng.choice(list(BRANCHES[type_]))
        parts = ", ".join(part(each) for _, each in BRANCHES[type_][name])
        return f"${name}({parts})" if parts or self.rng.random() < 0.5 else f"${name}"


def written(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if value is None:
        return "nil"
    if isinstance(value, tuple):
        name = getattr(value, "_name", None)
        parts = ", ".join(map(written, value))
        return f"[{parts}]" if name is None else f"${name}({parts})"
    return str(value)


def rule_for(rng: random.Random) -> str:
    head = rng.choice(list(DERIVED))
    readable = [name for name in COLUMNS if LEVELS[name] < LEVELS[head] or (name == head and rng.random() < 0.6)]
    names = Names(rng)
    read = [rng.choice(readable) for _ in range(rng.choice((1, 1, 2, 2, 3)))]
    body = [f"{name}({', '.join(names.pattern(type_, 2) for type_ in COLUMNS[name])})" for name in read]
    for type_, known in list(names.known.items()):
        if type_ in BRANCHES and known and rng.random() < 0.3:
            one = rng.choice(known)
            body.append(f"{one} {rng.choice(('!=', '='))} {names.value(type_, 1)}")
        if type_ in BRANCHES and known and rng.random() < 0.2:
            body.append(f"{names.constructed(type_, lambda part: names.pattern(part, 1))} = {known[0]}")
    if rng.random() < 0.3:
        name = rng.choice([name for name in COLUMNS if LEVELS[name] < LEVELS[head]])
        args = [rng.choice((names.value(type_, 1), "_")) for type_ in COLUMNS[name]]
        body.insert(rng.randint(0, len(body)), f"!{name}({', '.join(args)})")
    if rng.random() < 0.15 and names.known.get("Color"):
        body.append(f"0 < count : {{ p([{names.known['Color'][0]}, $Cons(_, _)]) }}")
    depth = 0 if head in read else rng.choice((0, 1, 2))
    args = [names.value(type_, depth) for type_ in COLUMNS[head]]
    return f"{head}({', '.join(args)}) :- {', '.join(body)}."
