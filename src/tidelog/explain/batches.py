"""Derivations of tuples: one at a time, and as batches of the instances of a rule, in arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import NamedTuple, TypeVar

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import AnyWords
from tidelog.explain.instances import FlatRule
from tidelog.explain.walks import Key

Made = TypeVar("Made")


@dataclass(frozen=True)
class TupleDerivation:
    """A way to derive a tuple: by an instance of a rule, whose variables have `words`, or, without a rule, by a walk
    along `premises`."""

    flat: FlatRule | None
    words: tuple[int, ...]
    premises: tuple[Key, ...]


class PremiseColumns(NamedTuple):
    """The columns of instances in which they have the tuple of a premise; see Batch."""

    relation: str
    columns: tuple[int, ...]


@dataclass(frozen=True)
class Batch:
    """Instances of one rule: `words` of shape (n, variables), the number of the tuple asked for that each derives, and
    the columns of its premises. Columns behind the variables stand for the `constants`."""

    flat: FlatRule
    words: AnyWords
    numbers: NDArray[numpy.int64]
    premises: tuple[PremiseColumns, ...]
    constants: tuple[int, ...] = ()

    def rows(self, premise: PremiseColumns) -> AnyWords:
        """Return the tuples of a premise, shape (n, arity), one for each instance."""
        return taken(self.words, self.constants, premise.columns)

    def with_premise(self, relation: str, words: tuple[int, ...]) -> Batch:
        """Return the instances with a tuple as one more premise of each."""
        start = self.words.shape[1] + len(self.constants)
        premise = PremiseColumns(relation, tuple(range(start, start + len(words))))
        return replace(self, constants=(*self.constants, *words), premises=(*self.premises, premise))

    def derivations(self, which: NDArray[numpy.int64] | None = None) -> list[TupleDerivation]:
        """Return all instances, or those with some numbers."""
        words = map(tuple, (self.words if which is None else self.words[which]).tolist())
        parts = [(relation, _picker(columns)) for relation, columns in self.premises]
        found: list[TupleDerivation] = []
        for own in words:
            row = own + self.constants
            premises = tuple([Key(name, pick(row)) for name, pick in parts])
            found.append(made(TupleDerivation, flat=self.flat, words=own, premises=premises))
        return found


def made(kind: type[Made], **fields: object) -> Made:
    """Return an object of a frozen dataclass with these fields, the others as its class has them. The `__init__` of
    such a class sets each field by a call of its own, which took a third of the time of a proof of 2,000 steps."""
    found = object.__new__(kind)
    vars(found).update(fields)
    return found


def _picker(columns: tuple[int, ...]) -> Callable[[tuple[int, ...]], tuple[int, ...]]:
    """Return a function that picks some columns of a row."""
    if len(columns) > 1:
        return itemgetter(*columns)
    return lambda row: tuple([row[column] for column in columns])


def taken(words: AnyWords, constants: tuple[int, ...], columns: tuple[int, ...]) -> AnyWords:
    """Return some columns of rows; those behind the last one stand for constants."""
    width = words.shape[1]
    if max(columns, default=0) < width:
        return words[:, list(columns)]
    rows = numpy.empty((len(words), len(columns)), numpy.int64)
    for i, column in enumerate(columns):
        rows[:, i] = words[:, column] if column < width else constants[column - width]
    return rows
