"""Databases whose programs have to be the same, such as one that was read and one from the cache of programs."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping
from typing import Any

import tidelog
from tidelog.database.database import Database
from tidelog.functions.callables import GivenFunctions


def difference_of(one: Any, other: Any, place: str = "", seen: dict[tuple[int, int], Any] | None = None) -> str:
    """Return where two objects differ, places in texts included, "" where they do not."""
    seen = {} if seen is None else seen
    if (id(one), id(other)) in seen:
        return ""
    seen[id(one), id(other)] = one, other
    if type(one) is not type(other):
        return f"{place}: {one!r} and {other!r}"
    pairs: list[tuple[str, Any, Any]] = []
    if dataclasses.is_dataclass(one):
        if type(one) is GivenFunctions:
            return ""
        pairs = [(each.name, getattr(one, each.name), getattr(other, each.name)) for each in dataclasses.fields(one)]
    elif isinstance(one, Mapping) and list(one) == list(other):
        pairs = [(str(key), one[key], other[key]) for key in one]
    elif isinstance(one, tuple | list) and len(one) == len(other):
        pairs = [(str(number), *each) for number, each in enumerate(zip(one, other, strict=True))]
    elif one != other and repr(one) != repr(other):  # NaN is another one each time.
        return f"{place}: {one!r} and {other!r}"
    return next(
        (wrong for name, *both in pairs if (wrong := difference_of(both[0], both[1], f"{place}.{name}", seen))), ""
    )


def assert_same_drafts(one: Database, other: Database) -> None:
    """Assert that two databases have the same programs, texts to core rules, with the same places in texts."""
    for part in ("programs", "program"):
        assert not difference_of(getattr(one.workspace, part), getattr(other.workspace, part)), part
    assert not difference_of(one.workspace.draft().core, other.workspace.draft().core)


def change_rules(db: Database, rng: random.Random) -> list[str]:
    """Remove some rules of a database, and add them again; then add rules that copy relations. Return the errors."""
    errors = []
    changes: list[tuple[str, str]] = []
    for rule in rng.sample(texts := [each for each in db.program.texts if each.name], min(3, len(texts))):
        changes.append((str(rule.name), str(rule)))
    for name in rng.sample(names := list(db.program.relations), min(3, len(names))):
        columns = db.program.relations[name].columns
        attributes = ", ".join(f"a{i}: {column.type}" for i, column in enumerate(columns))
        variables = ", ".join(f"a{i}" for i in range(len(columns)))
        new = f"copy_{name.replace('.', '_')}"
        changes.append(("", f".decl {new}({attributes})\n{new}({variables}) :- {name}({variables})."))
    for gone, text in changes:
        try:
            if gone:
                db.rules.remove(gone)
            db.rules.add(text)
        except tidelog.ProgramError as error:
            errors.append(str(error))
    return errors


def assert_same_programs(one: Database, other: Database, seed: str) -> None:
    """Assert that two new databases have the same programs and views, also after the same changes of rules."""
    assert_same_drafts(one, other)
    assert change_rules(one, random.Random(seed)) == change_rules(other, random.Random(seed))
    assert_same_drafts(one, other)
    if one.program.functors:
        return
    assert one.commit().report.bootstraps == other.commit().report.bootstraps
    _assert_same_views(one, other)
    for db in (one, other):
        named = [each for each in db.program.texts if each.name]
        for rule in random.Random(seed).sample(named, min(2, len(named))):
            db.rules.remove(str(rule.name))
        db.commit()
    assert_same_drafts(one, other)
    _assert_same_views(one, other)


def _assert_same_views(one: Database, other: Database) -> None:
    for name in one.relations:
        if "inline" not in one.program.relations[name].qualifiers:
            assert set(one[name]) == set(other[name]), name
