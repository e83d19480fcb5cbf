"""Shortest walks: why two nodes are connected by a path, or by a closure, edge by edge.

A path is an automaton whose states are places in the path and whose steps go along tuples of relations, forwards or
backwards. The search goes level by level from the start, over pairs of a node and a state, and stops at the first level
that has the end. The walk is then read backwards. Of several edges it takes the least, so that equal states have equal
walks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Literal, NamedTuple, TypeAlias, assert_never

import numpy

from tidelog.common.arrays import AnyWords, Words
from tidelog.common.looking import Look
from tidelog.language.syntax import Alternation, Inverse, Kind, Path, RelationType, Repeat, Sequence, Step
from tidelog.rules.core import ClosureShape

Form: TypeAlias = Literal["forward", "backward", "loop"]
Near: TypeAlias = Callable[[str, tuple[int, ...], Words], AnyWords]
"""Returns the rows of a relation whose columns are one of some groups of words."""


class Key(NamedTuple):
    """A tuple of a relation, in words; for a path, whose text is in the place of the relation, its two ends."""

    relation: str
    words: tuple[int, ...]


EdgeOrder: TypeAlias = Callable[[Key], tuple[str, str]]


class WalkEdge(NamedTuple):
    """A step of an automaton: from `source` to `target` along a relation."""

    source: int
    relation: str
    form: Form
    target: int

    @property
    def ends(self) -> tuple[int, int]:
        """The columns in which tuples have the beginning and the end of the edge."""
        return {"forward": (0, 1), "backward": (1, 0), "loop": (0, 0)}[self.form]


@dataclass(frozen=True)
class Automaton:
    """Walks begin in state 0 and end in one of `ends`; `silent` maps a state to those that it is as well."""

    edges: tuple[WalkEdge, ...]
    silent: Mapping[int, frozenset[int]]
    ends: frozenset[int]

    def states_of(self, state: int) -> frozenset[int]:
        """Return a state, and those that it is as well."""
        return self.silent.get(state, frozenset()) | {state}


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
    return Automaton(tuple(edges), _all_states(silent), frozenset([1]))


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


def _all_states(pairs: Iterable[tuple[int, int]]) -> Mapping[int, frozenset[int]]:
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
    automaton: Automaton, start: int, end: int, near: Near, order: EdgeOrder, look: Look
) -> tuple[Key, ...] | None:
    """Return the tuples along a shortest walk between two nodes, in words, or None without a walk. `order` gives the
    sort key of a tuple. Call `look` for each level; it may raise."""
    nodes = _with_silent({0: {start}}, automaton)
    seen = {state: set(each) for state, each in nodes.items()}
    levels: list[_Level] = []
    while not any(end in nodes.get(state, ()) for state in automaton.ends):
        look()
        levels.append([(edge, _rows_from(edge, nodes, near)) for edge in automaton.edges if edge.source in nodes])
        reached: dict[int, set[int]] = defaultdict(set)
        for edge, rows in levels[-1]:
            reached[edge.target] |= set(rows[:, edge.ends[1]].tolist())
        fresh = {state: each - seen.get(state, set()) for state, each in _with_silent(reached, automaton).items()}
        nodes = {state: each for state, each in fresh.items() if each}
        if not nodes:
            return None
        for state, each in nodes.items():
            seen.setdefault(state, set()).update(each)
    walk: list[Key] = []
    states = {state for state in automaton.ends if end in nodes.get(state, ())}
    node = end
    for level in levels[::-1]:
        node, states, key = _step_before(automaton, level, node, states, order)
        walk.append(key)
    return tuple(walk[::-1])


_Level: TypeAlias = list[tuple[WalkEdge, AnyWords]]
"""The tuples along which each edge leads from the nodes that a search has reached."""


def _step_before(
    automaton: Automaton, level: _Level, node: int, states: set[int], order: EdgeOrder
) -> tuple[int, set[int], Key]:
    """Return the least edge into a node in one of some states from a level: the node and the states where it begins,
    and its tuple."""
    found: dict[Key, tuple[int, set[int]]] = {}
    for edge, rows in level:
        if states.isdisjoint(automaton.states_of(edge.target)):
            continue
        first, last = edge.ends
        for row in rows[rows[:, last] == node].tolist():
            key = Key(edge.relation.removeprefix(ASSERTED), tuple(row))
            found.setdefault(key, (row[first], set()))[1].add(edge.source)
    least = min(found, key=order)
    return *found[least], least


STEP = "#step."
"""How the name of the steps of a walk begins: tuples of its first node, a later node, and the state there."""


def is_step(key: Key) -> bool:
    """Return True for a step of a walk."""
    return key.relation.startswith(STEP)


def steps_into(automaton: Automaton, name: str, key: Key, near: Near) -> Iterator[tuple[Key, ...]]:
    """Yield for a pair of nodes the last steps of its walks, and for a step those before it with the edge between; one
    at the start needs nothing."""
    if key.relation == name:
        start, end = key.words
        yield from ((Key(f"{STEP}{name}", (start, end, state)),) for state in sorted(automaton.ends))
        return
    start, node, state = key.words
    if node == start and state in automaton.states_of(0):
        yield ()
    for edge in automaton.edges:
        if state in automaton.states_of(edge.target):
            first, last = edge.ends
            for row in near(edge.relation, (last,), numpy.array([[node]], numpy.int64)).tolist():
                step = Key(f"{STEP}{name}", (start, row[first], edge.source))
                yield step, Key(edge.relation.removeprefix(ASSERTED), tuple(row))


def _with_silent(level: Mapping[int, set[int]], automaton: Automaton) -> dict[int, set[int]]:
    """Return the nodes of a level by state, also under the states that a state is as well."""
    found: dict[int, set[int]] = defaultdict(set)
    for state, nodes in level.items():
        for each in automaton.states_of(state):
            found[each] |= nodes
    return found


def _rows_from(edge: WalkEdge, nodes: Mapping[int, set[int]], near: Near) -> AnyWords:
    """Return the tuples along which an edge leads from the nodes in its state."""
    return near(edge.relation, (edge.ends[0],), numpy.array(sorted(nodes[edge.source]), numpy.int64).reshape(-1, 1))
