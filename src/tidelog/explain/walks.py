"""Shortest walks: why two nodes are connected by a path, or by a closure, edge by edge.

A path is an automaton whose states are places in the path and whose steps go along tuples of relations, forwards or
backwards. The search goes level by level from the start, over pairs of a node and a state, and stops at the first level
that has the end. The walk is then read backwards. Of several edges it takes the least, so that equal states have equal
walks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Literal, NamedTuple, TypeAlias, assert_never

import numpy

from tidelog.arrays import AnyWords
from tidelog.language.syntax import Alternation, Inverse, Kind, Path, RelationType, Repeat, Sequence, Step
from tidelog.looking import Look
from tidelog.rules.core import ClosureShape
from tidelog.storage.stored import StoredRelation

Form: TypeAlias = Literal["forward", "backward", "loop"]


class Key(NamedTuple):
    """A tuple of a relation, in words; for a path, whose text is in the place of the relation, its two ends."""

    relation: str
    words: tuple[int, ...]


class WalkEdge(NamedTuple):
    """A step of an automaton: from `source` to `target` along a relation."""

    source: int
    relation: str
    form: Form
    target: int


@dataclass(frozen=True)
class Automaton:
    """Walks begin in state 0 and end in one of `ends`; `silent` maps a state to those that it is as well."""

    edges: tuple[WalkEdge, ...]
    silent: Mapping[int, frozenset[int]]
    ends: frozenset[int]


def end_kinds(path: Path, relations: Mapping[str, RelationType]) -> tuple[Kind, Kind]:
    """Return the kinds of the two ends of a checked path."""
    match path:
        case Step(relation=name):
            first, second = relations[name].columns
            return first.kind, second.kind
        case Inverse(path=inner):
            return end_kinds(inner, relations)[::-1]
        case Repeat(path=inner):
            return end_kinds(inner, relations)
        case Sequence(parts=parts):
            return end_kinds(parts[0], relations)[0], end_kinds(parts[-1], relations)[1]
        case Alternation(parts=parts):
            return end_kinds(parts[0], relations)
        case _:
            assert_never(path)


def automaton_of(path: Path) -> Automaton:
    """Return the automaton of a path, by Thompson's construction."""
    numbers = count(2)
    edges: list[WalkEdge] = []
    silent: list[tuple[int, int]] = []

    def add(part: Path, source: int, target: int, backward: bool) -> None:
        match part:
            case Step(relation=name):
                edges.append(WalkEdge(source, name, "backward" if backward else "forward", target))
            case Inverse(path=inner):
                add(inner, source, target, not backward)
            case Alternation(parts=parts):
                for each in parts:
                    add(each, source, target, backward)
            case Sequence(parts=parts):
                between = [next(numbers) for _ in parts[1:]]
                states = [source, *between, target]
                for each, first, last in zip(parts[::-1] if backward else parts, states[:-1], states[1:], strict=True):
                    add(each, first, last, backward)
            case Repeat(path=inner, op=op):
                first, last = next(numbers), next(numbers)
                silent.extend([(source, first), (last, target)])
                if op != "+":
                    silent.append((first, last))
                if op != "?":
                    silent.append((last, first))
                add(inner, first, last, backward)
            case _:
                assert_never(part)

    add(path, 0, 1, False)
    return Automaton(tuple(edges), _closed(silent), frozenset([1]))


def automaton_of_closure(name: str, shape: ClosureShape) -> Automaton:
    """Return the automaton of the pairs of a closure: one step or more along its edges."""
    edges: list[WalkEdge] = []
    for relation, form in [*((each.relation, each.form) for each in shape.sources), (f"{ASSERTED}{name}", "forward")]:
        forms: list[Form] = [form]
        if shape.symmetric and form != "loop":
            forms.append("backward" if form == "forward" else "forward")
        edges += [WalkEdge(source, relation, each, 1) for each in forms for source in (0, 1)]
    return Automaton(tuple(edges), {}, frozenset([1]))


ASSERTED = "#asserted."
"""How the name of the asserted facts of a closure begins, which are edges of it."""


def _closed(pairs: Iterable[tuple[int, int]]) -> Mapping[int, frozenset[int]]:
    """Return all the states that each state is as well, itself not among them."""
    found: dict[int, set[int]] = defaultdict(set)
    for source, target in pairs:
        found[source].add(target)
    changed = True
    while changed:
        changed = False
        for states in found.values():
            more = {each for state in states for each in found.get(state, ())} - states
            states |= more
            changed |= bool(more)
    return {state: frozenset(states - {state}) for state, states in found.items()}


def shortest_walk(
    automaton: Automaton,
    start: int,
    end: int,
    views: Callable[[str], StoredRelation | None],
    order: Callable[[Key], tuple[str, str]],
    look: Look,
) -> tuple[Key, ...] | None:
    """Return the tuples along a shortest walk between two nodes, in words, or None without a walk. `order` gives the
    sort key of a tuple. Call `look` for each level; it may raise."""
    levels: list[dict[int, set[int]]] = [_with_silent({0: {start}}, automaton)]
    seen = {state: set(nodes) for state, nodes in levels[0].items()}
    while not any(end in levels[-1].get(state, ()) for state in automaton.ends):
        look()
        reached: dict[int, set[int]] = defaultdict(set)
        for edge in automaton.edges:
            nodes = levels[-1].get(edge.source)
            if nodes:
                reached[edge.target] |= _targets(edge, nodes, views(edge.relation))
        fresh = {state: nodes - seen.get(state, set()) for state, nodes in _with_silent(reached, automaton).items()}
        fresh = {state: nodes for state, nodes in fresh.items() if nodes}
        if not fresh:
            return None
        for state, nodes in fresh.items():
            seen.setdefault(state, set()).update(nodes)
        levels.append(fresh)
    walk: list[Key] = []
    states = {state for state in automaton.ends if end in levels[-1].get(state, ())}
    node = end
    for level in levels[-2::-1]:
        node, states, key = _step_before(automaton, level, node, states, views, order)
        walk.append(key)
    return tuple(walk[::-1])


def _step_before(
    automaton: Automaton,
    level: Mapping[int, set[int]],
    node: int,
    states: set[int],
    views: Callable[[str], StoredRelation | None],
    order: Callable[[Key], tuple[str, str]],
) -> tuple[int, set[int], Key]:
    """Return the least edge into a node in one of some states from a level: the node and the states where it begins,
    and its tuple."""
    found: dict[Key, tuple[int, set[int]]] = {}
    for edge in automaton.edges:
        if edge.target not in states and not states & automaton.silent.get(edge.target, frozenset()):
            continue
        for row in _rows_into(edge, node, views(edge.relation)).tolist():
            before = row[0] if edge.form != "backward" else row[-1]
            if before in level.get(edge.source, ()):
                key = Key(edge.relation.removeprefix(ASSERTED), tuple(row))
                found.setdefault(key, (before, set()))[1].add(edge.source)
    least = min(found, key=order)
    return *found[least], least


def _with_silent(level: Mapping[int, set[int]], automaton: Automaton) -> dict[int, set[int]]:
    """Return the nodes of a level by state, also under the states that a state is as well."""
    found: dict[int, set[int]] = defaultdict(set)
    for state, nodes in level.items():
        for each in (state, *automaton.silent.get(state, ())):
            found[each] |= nodes
    return found


def _targets(edge: WalkEdge, nodes: set[int], view: StoredRelation | None) -> set[int]:
    """Return the nodes to which an edge leads from some."""
    if view is None:
        return set()
    column = 1 if edge.form == "backward" else 0
    rows = _near(view, column, nodes)
    return set(rows[:, -1 if edge.form == "forward" else 0].tolist())


def _rows_into(edge: WalkEdge, node: int, view: StoredRelation | None) -> AnyWords:
    """Return the tuples along which an edge leads to a node."""
    if view is None:
        return numpy.empty((0, 2), numpy.int64)
    return _near(view, 1 if edge.form == "forward" else 0, {node})


def _near(view: StoredRelation, column: int, nodes: set[int]) -> AnyWords:
    """Return the rows with one of these words in a column."""
    if view.form == "written" and len(nodes) > 1:
        return view.take(view.select((column,), numpy.array(sorted(nodes), numpy.int64).reshape(-1, 1)))
    parts = [view.near({column: node}) for node in sorted(nodes)]
    return numpy.concatenate([rows[rows[:, column] == node] for rows, node in zip(parts, sorted(nodes), strict=True)])
