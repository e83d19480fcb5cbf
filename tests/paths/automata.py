"""Random paths, and what they mean by automata: an evaluator that shares nothing with tidelog.

`pairs("a/b+|^c", graph, nodes)` reads the text by a grammar of its own into a nondeterministic automaton (Thompson's
construction) over edges that are gone along or against, and searches its product with the graph. To leave out what `*`
or `?` stands behind is a silent step that only `nodes` may take.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

Value = Any
Graph = Mapping[str, Set[tuple[Value, Value]]]


@dataclass
class Automaton:
    """`steps[state]` are (relation, backwards, next state), `silent[state]` are (only at nodes, next state)."""

    steps: list[list[tuple[str, bool, int]]] = field(default_factory=list)
    silent: list[list[tuple[bool, int]]] = field(default_factory=list)

    def state(self) -> int:
        self.steps.append([])
        self.silent.append([])
        return len(self.steps) - 1

    def reached(self, start: int, value: Value, graph: Neighbours, nodes: Set[Value]) -> set[tuple[int, Value]]:
        """All states with all values that can be reached from one."""
        found = {(start, value)}
        waiting = [(start, value)]
        while waiting:
            state, here = waiting.pop()
            after = [(to, here) for only_nodes, to in self.silent[state] if not only_nodes or here in nodes]
            for relation, backwards, to in self.steps[state]:
                after += [(to, other) for other in graph.get((relation, backwards, here), ())]
            waiting += [pair for pair in dict.fromkeys(after) if pair not in found]
            found.update(after)
        return found


Neighbours = dict[tuple[str, bool, Value], set[Value]]


def pairs(text: str, graph: Graph, nodes: Set[Value]) -> set[tuple[Value, Value]]:
    """The pairs of values that the path connects."""
    automaton = Automaton()
    start, end = _Reader(text, automaton).read()
    neighbours: Neighbours = {}
    for name, edges in graph.items():
        for x, y in edges:
            neighbours.setdefault((name, False, x), set()).add(y)
            neighbours.setdefault((name, True, y), set()).add(x)
    values = {value for edges in graph.values() for edge in edges for value in edge} | nodes
    return {
        (value, other)
        for value in values
        for state, other in automaton.reached(start, value, neighbours, nodes)
        if state == end
    }


class _Reader:
    """Recursive descent: choice, sequence, inverse, repetition, from the weakest to the strongest.

    Each method returns the first and the last state; a `^` in front turns everything inside around.
    """

    def __init__(self, text: str, automaton: Automaton) -> None:
        self.tokens = re.findall(r"\w+|\S", text)[::-1]
        self.automaton = automaton

    def next(self) -> str:
        return self.tokens[-1] if self.tokens else ""

    def read(self) -> tuple[int, int]:
        found = self.choice(False)
        assert not self.tokens, f"left over: {self.tokens[::-1]}"
        return found

    def choice(self, backwards: bool) -> tuple[int, int]:
        start, end = self.automaton.state(), self.automaton.state()
        while True:
            first, last = self.sequence(backwards)
            self.automaton.silent[start].append((False, first))
            self.automaton.silent[last].append((False, end))
            if self.next() != "|":
                return start, end
            self.tokens.pop()

    def sequence(self, backwards: bool) -> tuple[int, int]:
        parts = [self.inverse(backwards)]
        while self.next() == "/":
            self.tokens.pop()
            parts.append(self.inverse(backwards))
        parts = parts[::-1] if backwards else parts
        for (_, last), (first, _) in pairwise(parts):
            self.automaton.silent[last].append((False, first))
        return parts[0][0], parts[-1][1]

    def inverse(self, backwards: bool) -> tuple[int, int]:
        if self.next() == "^":
            self.tokens.pop()
            return self.inverse(not backwards)
        return self.repetition(backwards)

    def repetition(self, backwards: bool) -> tuple[int, int]:
        token = self.tokens.pop()
        if token == "(":
            first, last = self.choice(backwards)
            assert self.tokens.pop() == ")"
        else:
            first, last = self.automaton.state(), self.automaton.state()
            self.automaton.steps[first].append((token, backwards, last))
        while self.next() in ("+", "*", "?"):
            sign = self.tokens.pop()
            start, end = self.automaton.state(), self.automaton.state()
            self.automaton.silent[start].append((False, first))
            self.automaton.silent[last].append((False, end))
            if sign in "+*":
                self.automaton.silent[last].append((False, first))
            if sign in "*?":
                self.automaton.silent[start].append((True, end))
            first, last = start, end
        return first, last


# --- random paths ----------------------------------------------------------------------------------------------------


def random_path(rng: random.Random, names: Sequence[str], depth: int = 3) -> str:
    """The text of a path along these relations (or paths in parentheses), with more parentheses than it needs."""
    return _choice(rng, names, depth)


def _choice(rng: random.Random, names: Sequence[str], depth: int) -> str:
    return "|".join(_sequence(rng, names, depth) for _ in range(rng.choices((1, 2, 3), (6, 3, 1))[0]))


def _sequence(rng: random.Random, names: Sequence[str], depth: int) -> str:
    return "/".join(_step(rng, names, depth) for _ in range(rng.choices((1, 2, 3), (5, 4, 1))[0]))


def _step(rng: random.Random, names: Sequence[str], depth: int) -> str:
    inner = f"({_choice(rng, names, depth - 1)})" if depth and rng.random() < 0.45 else rng.choice(names)
    before = "^" * rng.choices((0, 1, 2), (7, 3, 1))[0]
    behind = "".join(rng.choices("+*?", (4, 3, 2), k=rng.choices((0, 1, 2), (5, 4, 1))[0]))
    return f"{before}{inner}{behind}"
