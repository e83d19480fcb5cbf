"""Queries from a schema, for the schemas that come without a workload.

In the manner of gMark and with the bounds that its schema files ask for: three or four conjuncts in a chain or a star,
each of one to three words of two to four symbols, every second one under a star where that fits the types, and up to
four variables in the head. Words are walks over the types of the schema, so that each of them can match.
"""

from __future__ import annotations

import random

from benchmarks.graphs.gmark import Conjunct, Path, Query, Step, Word
from benchmarks.graphs.schema import Schema

_CONJUNCTS, _WORDS, _LENGTHS, _ARITIES = (3, 4), (1, 3), (2, 4), (0, 4)
_STAR = 0.5
_TRIES = 100


def generate(schema: Schema, count: int, seed: int) -> list[Query]:
    """Return so many queries, the same ones for the same seed."""
    rng = random.Random(seed)
    walks = _Walks(schema, rng)
    return [_query(number, walks, rng) for number in range(count)]


def _query(number: int, walks: _Walks, rng: random.Random) -> Query:
    kinds = {"x0": walks.any_type()}
    chain = rng.random() < 0.5
    body = []
    for i in range(rng.randint(*_CONJUNCTS)):
        source, target = f"x{i if chain else 0}", f"x{i + 1}"
        path, kinds[target] = walks.path(kinds[source])
        body.append(Conjunct(path, source, target))
    head = rng.sample(sorted(kinds), min(rng.randint(*_ARITIES), len(kinds)))
    return Query(number, tuple(head), (tuple(body),))


class _Walks:
    """Walks over the types of a schema, forwards and backwards along its kinds of edges."""

    def __init__(self, schema: Schema, rng: random.Random) -> None:
        self.rng = rng
        self.steps: dict[int, list[tuple[Step, int]]] = {}
        for edge in schema.edges:
            name = schema.symbols[edge.symbol]
            self.steps.setdefault(edge.source, []).append((Step(name), edge.target))
            self.steps.setdefault(edge.target, []).append((Step(name, inverse=True), edge.source))

    def any_type(self) -> int:
        return self.rng.choice(sorted(self.steps))

    def path(self, start: int) -> tuple[Path, int]:
        """Return a path from a type, and the type that it leads to; under a star it leads back."""
        starred = self.rng.random() < _STAR
        word, end = self._back(start) if starred else self._walk(start)
        words = [word]
        for _ in range(self.rng.randint(*_WORDS) - 1):
            tries = (self._walk(start) for _ in range(_TRIES))
            words += [next((other for other, last in tries if last == end), word)]
        return Path(tuple(dict.fromkeys(words)), starred), end

    def _back(self, start: int) -> tuple[Word, int]:
        """Return a walk that ends at its beginning; a step and its inverse is always one."""
        step, _ = self.rng.choice(self.steps[start])
        tries = (self._walk(start) for _ in range(_TRIES))
        return next((walk for walk in tries if walk[1] == start), ((step, Step(step.symbol, not step.inverse)), start))

    def _walk(self, start: int) -> tuple[Word, int]:
        word, here = [], start
        for _ in range(self.rng.randint(*_LENGTHS)):
            step, here = self.rng.choice(self.steps[here])
            word.append(step)
        return tuple(word), here
