"""Relations derived on demand: only the tuples that some rule asks for (magic sets).

Of a relation `r` with the qualifier `magic` the columns count that every rule which reads it binds: by constants, by
atoms that it has read before, or by the columns that are themselves demanded of its head. For

    sg(x, y) :- up(x, a), sg(a, b), down(b, y).      q(y) :- sg(7, y).

that is the first column. The rules then become

    #demand.sg(7).      #demand.sg(a) :- #demand.sg(x), up(x, a).
    sg(x, y) :- #demand.sg(x), up(x, a), sg(a, b), down(b, y).

A relation stays whole where it is negated or aggregated, where no column is bound by all of its readers, where no rule
outside of its recursion asks for it, and where demand would lead negation or an aggregate through recursion. Values of
demand are values of tuples, never computed ones, so that demand does not make a program run without end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tidelog.rules.core import (
    AnyRule,
    CoreAtom,
    CoreComparison,
    CoreLiteral,
    CoreRule,
    CoreVariable,
    HyperNode,
    RelationInfo,
    Unpack,
    head_of,
    variables_of,
)

DEMAND = "#demand."
"""How the names of the relations of demanded values begin."""

_Bound = Mapping[str, frozenset[int]]


def on_demand(
    rules: Sequence[AnyRule], wanted: frozenset[str], relations: Mapping[str, RelationInfo]
) -> tuple[list[AnyRule], dict[str, RelationInfo]]:
    """Return the rules with relations of `wanted` derived on demand where that is possible, and the relations of
    demand."""
    bound, asks = _find_demand(rules, wanted, relations)
    made: list[AnyRule] = []
    for rule in rules:
        if isinstance(rule, CoreRule) and rule.head.relation in bound:
            made.append(CoreRule(rule.name, rule.origin, rule.head, (_demand(rule.head, bound), *rule.body), rule.span))
        else:
            made.append(rule)
    numbers: Counter[str] = Counter()
    for ask in asks:
        head = _demand(ask.atom, bound)
        if head not in ask.known:
            stem = f"{head.relation}.{ask.rule.name}"
            numbers[stem] += 1
            made.append(CoreRule(f"{stem}#{numbers[stem]}", ask.rule.origin, head, ask.known, ask.rule.span))
    added = {
        f"{DEMAND}{name}": RelationInfo(
            f"{DEMAND}{name}", tuple(relations[name].columns[i] for i in sorted(columns)), auxiliary=True
        )
        for name, columns in bound.items()
    }
    return made, added


GAIN = 10
"""Demand that begins with a relation has to begin with so many times fewer tuples than the recursion has."""


def worth_demand(
    nodes: Sequence[HyperNode],
    wanted: frozenset[str],
    relations: Mapping[str, RelationInfo],
    sizes: Mapping[str, int],
) -> frozenset[str]:
    """Return those relations of `wanted` for which demand begins with constants of the program, or with few tuples by
    the `sizes` of relations with facts only. Return none if that saves no recursion. Include a closure only if demand
    stays at constants, because otherwise the engine would write more pairs than a closure keeps."""
    largest = _largest(nodes, sizes)
    rules = [rule for node in nodes for rule in node.rules]
    recursive = {name for node in nodes if node.recursive for name in node.relations}
    closed = {name for node in nodes if node.closure is not None or node.mirrors for name in node.relations}
    while True:
        bound, asks = _find_demand(rules, wanted, relations)
        wide = wanted - bound.keys()
        begin: Counter[str] = Counter()
        for ask in asks:
            name, head = ask.atom.relation, _demand(ask.atom, bound)
            inside = ask.rule.head.relation in bound
            if inside:
                wide |= {name} if name in closed and head not in ask.known else set()
            elif any(isinstance(arg, CoreVariable) for arg in head.args):
                few = _few(head, ask.known, sizes)
                wide |= {name} if few is None or name in closed else set()
                begin[name] += few or 0
        wide |= {name for name, few in begin.items() if few * GAIN > largest.get(name, 0)}
        if not wide:
            return wanted if wanted & recursive else frozenset()
        wanted -= wide


def _few(demand: CoreAtom, known: Sequence[CoreLiteral], sizes: Mapping[str, int]) -> int | None:
    """Return an upper bound of the values that a rule demands: the size of the smallest relation of known size that has
    them all. Return None if there is no such relation."""
    needed = set(variables_of(demand))
    atoms = [each for each in known if isinstance(each, CoreAtom) and not each.negated and each.relation in sizes]
    return min((sizes[each.relation] for each in atoms if needed.issubset(variables_of(each))), default=None)


def _largest(nodes: Sequence[HyperNode], sizes: Mapping[str, int]) -> Mapping[str, int]:
    """Return for each derived relation the size of the largest relation of known size that it depends on."""
    largest = dict(sizes)
    for node in nodes:
        found = max((largest.get(name, 0) for name in node.reads), default=0)
        largest.update(dict.fromkeys(node.relations, found))
    return largest


def _find_demand(
    rules: Sequence[AnyRule], wanted: frozenset[str], relations: Mapping[str, RelationInfo]
) -> tuple[_Bound, list[_Ask]]:
    """Return the relations of `wanted` that can be derived on demand, with the columns that all of their readers bind,
    and the demands on them."""
    whole = {name for rule in rules for name, negative in rule.reads if negative}
    derived = {head_of(rule) for rule in rules if isinstance(rule, CoreRule)}
    plain = derived - {head_of(rule) for rule in rules if not isinstance(rule, CoreRule)} - whole
    bound = {name: frozenset(range(len(relations[name].columns))) for name in wanted & plain}
    while True:
        bound = _bound_columns(rules, bound)
        asks = [ask for rule in _readers(rules, bound) for ask in _demands_of(rule, bound)]
        asked = _relations_asked_for(asks, bound)
        if asked == bound.keys():
            return bound, asks
        read = {ask.atom.relation for ask in asks if ask.rule.head.relation != ask.atom.relation}
        kept = asked if read == bound.keys() else read  # what nobody reads is whole, and asks as a whole
        bound = {name: columns for name, columns in bound.items() if name in kept}


@dataclass(frozen=True)
class _Ask:
    """A rule that reads `atom` once `known` holds, which binds some of the atom's columns."""

    rule: CoreRule
    atom: CoreAtom
    known: tuple[CoreLiteral, ...]
    columns: frozenset[int]


def _bound_columns(rules: Sequence[AnyRule], bound: _Bound) -> dict[str, frozenset[int]]:
    """Return the columns that all readers bind, of the relations that have such columns."""
    found = dict(bound)
    waiting = _readers(rules, bound)
    concerned: dict[str, dict[int, CoreRule]] = {}
    for rule in waiting:
        for name in (rule.head.relation, *(name for name, _ in rule.reads)):
            concerned.setdefault(name, {})[id(rule)] = rule
    while True:
        now = dict(found)
        for rule in waiting:
            for ask in _demands_of(rule, found):
                now[ask.atom.relation] &= ask.columns
        now = {name: columns for name, columns in now.items() if columns}
        changed = [name for name, columns in found.items() if now.get(name) != columns]
        if not changed:
            return found
        waiting = [*{number: rule for name in changed for number, rule in concerned.get(name, {}).items()}.values()]
        found = now


def _readers(rules: Sequence[AnyRule], bound: _Bound) -> list[CoreRule]:
    """Return the rules that read relations on demand: the others demand nothing."""
    return [rule for rule in rules if isinstance(rule, CoreRule) and any(name in bound for name, _ in rule.reads)]


def _relations_asked_for(asks: Sequence[_Ask], bound: _Bound) -> set[str]:
    """Return the relations that are read from outside, directly or through others."""
    asked = {ask.atom.relation for ask in asks if ask.rule.head.relation not in bound}
    size = -1
    while size != len(asked):
        size = len(asked)
        asked |= {ask.atom.relation for ask in asks if ask.rule.head.relation in asked}
    return asked


def _demand(atom: CoreAtom, bound: _Bound) -> CoreAtom:
    """Return the demand for an atom."""
    columns = sorted(bound[atom.relation])
    return CoreAtom(f"{DEMAND}{atom.relation}", tuple(atom.args[column] for column in columns))


def _demands_of(rule: CoreRule, bound: _Bound) -> Iterator[_Ask]:
    """Return the demands of a rule on relations on demand, in the order of evaluation: first atoms connected to known
    variables, then atoms of relations on demand, then all others."""
    waiting = [literal for literal in rule.body if not (isinstance(literal, CoreAtom) and literal.negated)]
    left = sum(isinstance(literal, CoreAtom) and literal.relation in bound for literal in waiting)
    known: list[CoreLiteral] = [_demand(rule.head, bound)] if rule.head.relation in bound else []
    names = {variable for literal in known for variable in variables_of(literal)}
    while left:
        literal = min(waiting, key=lambda each: _rank(each, names, bound))
        if _rank(literal, names, bound) == _NEVER:
            return
        if isinstance(literal, CoreAtom) and literal.relation in bound:
            columns = frozenset(
                i for i, arg in enumerate(literal.args) if not isinstance(arg, CoreVariable) or arg in names
            )
            yield _Ask(rule, literal, tuple(known), columns)
            left -= 1
        waiting.remove(literal)
        known.append(literal)
        names.update(variables_of(literal))


_NEVER = 5


def _rank(literal: CoreLiteral, names: set[CoreVariable], bound: _Bound) -> int:
    """Return the rank of a literal in the order of evaluation once `names` are known: the smallest comes first,
    computed values have _NEVER."""
    match literal:
        case CoreAtom(relation=relation):
            near = any(not isinstance(value, CoreVariable) or value in names for value in literal.values)
            return (2 if near else 4) if relation in bound else (1 if near else 3)
        case CoreComparison():
            return 0 if names.issuperset(variables_of(literal)) else _NEVER
        case Unpack(source=source):
            return 0 if not isinstance(source, CoreVariable) or source in names else _NEVER
    return _NEVER
