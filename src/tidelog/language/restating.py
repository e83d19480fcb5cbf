"""A text that is loaded again: which of its statements are there already, and which earlier statements it replaces.

The new text comes last. Statements that are there already stay where they are, so that what was made of them stays
valid, except facts: those are stated anew. Texts of statements decide, without the names that rules got by themselves.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields, replace
from typing import Any

from tidelog.language.components import expand
from tidelog.language.plain_statements import states_fact
from tidelog.language.syntax import Program, Rule

_SORTS = tuple(each.name for each in fields(Program) if each.name not in ("rules", "components", "instances"))
"""The sorts of statements that declare something."""


def replace_statements(
    programs: Sequence[Program], new: Program, earlier: Program | None = None
) -> tuple[tuple[Program, ...], Program]:
    """Return the programs without what a new one replaces, and the new one without what they state already.

    A rule replaces the one that was written with its name, a component the one of its name. Everything that `earlier`
    states goes as well, unless the new one states it. Raise ProgramError for wrong components.
    """
    components = {each.type.name for text in (new, earlier) if text for each in text.components}
    rest = [
        replace(program, components=tuple(each for each in program.components if each.type.name not in components))
        for program in programs
    ]
    expanded = expand((*rest, new), set(map(id, rest)))[-1]
    before = None if earlier is None else expand((*rest, earlier), set(map(id, rest)))[-1]
    keys = set(map(_key, expanded.rules))
    names = {name: text for name, text in keys if name is not None}
    facts = {_key(rule) for rule in expanded.rules if states_fact(rule)}
    old_keys = set() if before is None else set(map(_key, before.rules)) - keys
    old = {sort: _texts(before, sort) - _texts(expanded, sort) for sort in _SORTS}

    def stays(rule: Rule) -> bool:
        name, text = key = _key(rule)
        if key in old_keys or (key in facts and states_fact(rule)):
            return False
        return name is None or names.get(name, text) == text

    kept = [
        replace(
            program,
            rules=tuple(rule for rule in program.rules if stays(rule)),
            **{sort: _without(getattr(program, sort), old[sort]) for sort in _SORTS},
        )
        for program in rest
    ]
    there = {each for program in kept for rule in program.rules for each in (_key(rule), (None, _key(rule)[1]))}
    known = {sort: {text for program in kept for text in _texts(program, sort)} for sort in _SORTS}
    added = replace(
        expanded,
        rules=tuple(rule for rule in _distinct(expanded.rules) if _key(rule) not in there),
        **{sort: _without(getattr(expanded, sort), known[sort]) for sort in _SORTS},
    )
    return tuple(each for each in kept if each != Program()), added


def _distinct(rules: Iterable[Rule]) -> Iterable[Rule]:
    """Return the rules without those that a text states twice, which would be there twice only at the first time."""
    return {_key(rule): rule for rule in rules}.values()


def _key(rule: Rule) -> tuple[str | None, str]:
    """Return the name of a rule, None where it got it by itself, and its text."""
    return rule.name if _has_own_name(rule) else None, str(replace(rule, name=None))


def _texts(program: Program | None, sort: str) -> set[str]:
    return set() if program is None else set(map(str, getattr(program, sort)))


def _without(statements: Iterable[Any], texts: Collection[str]) -> tuple[Any, ...]:
    return tuple(each for each in statements if str(each) not in texts)


def _has_own_name(rule: Rule) -> bool:
    """Return True if the text of a rule names it, or an instance of a component has it, whose rules have fixed
    names."""
    if rule.name is None or rule.span is None or "." in rule.name:
        return rule.name is not None
    text = rule.span.text
    return re.match(rf"{re.escape(rule.name)}\s*:(?!-)", text) is not None
