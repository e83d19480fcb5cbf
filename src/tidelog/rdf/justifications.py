"""Justifications: for each inconsistency the asserted triples that it follows from, axioms and data.

The inconsistencies themselves are a relation that the engine maintains. A justification is the set of asserted triples
of a proof of least height, see `explaining`. Such a proof may change with any triple, so all are found again after a
commit, when somebody asks for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy

from tidelog.common.arrays import Words
from tidelog.errors import wrong_argument
from tidelog.io.relation import Relation, WordRows
from tidelog.language.syntax import Column
from tidelog.rdf.data import COLUMNS
from tidelog.storage.dictionary import Dictionary
from tidelog.workspace.change import RelationChange

if TYPE_CHECKING:
    from tidelog.rdf.change import StoreChange

INCONSISTENCIES, JUSTIFICATIONS = "inconsistencies", "justifications"
"""The names of these two views, unless a program has a relation with the name."""
JUSTIFICATION_COLUMNS = (
    *(Column(name, "symbol", "symbol") for name in ("rule", "first", "second", "third")),
    *COLUMNS,
)
_TERMS = 4

StoredTriples: TypeAlias = tuple[tuple[str, str, str], ...]


class Justification(NamedTuple):
    """An inconsistency with the asserted triples that it follows from."""

    rule: str
    """The rule of W3C's tables that finds it."""
    terms: tuple[str, ...]
    """Up to three terms that clash."""
    triples: StoredTriples

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {"rule": self.rule, "terms": list(self.terms), "triples": [list(each) for each in self.triples]}


class Justifications:
    """The view of justifications, as of the last time that it was asked for."""

    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self._of_epoch: tuple[int, Words] = -1, numpy.empty((0, len(JUSTIFICATION_COLUMNS)), numpy.int64)
        dictionary.hold(self)

    def words_in_use(self) -> Iterator[tuple[tuple[Column, ...], Words]]:
        """Yield the words of the view, which the dictionary keeps."""
        yield JUSTIFICATION_COLUMNS, self._of_epoch[1]

    def as_of(self, epoch: int, found: Relation, proven: Callable[[tuple[Any, ...]], StoredTriples]) -> Relation:
        """Return the view as of an epoch whose inconsistencies were `found`; `proven` gives the triples of each."""
        if self._of_epoch[0] != epoch:
            encode = self._dictionary.encode
            rows = [
                [encode(str(part), "symbol") for part in (*row, *triple)] for row in found for triple in proven(row)
            ]
            self._of_epoch = epoch, numpy.array(rows, numpy.int64).reshape(-1, len(JUSTIFICATION_COLUMNS))
        return Relation(JUSTIFICATIONS, WordRows(JUSTIFICATION_COLUMNS, self._dictionary, self._of_epoch[1]))


def track_view(view: Callable[[], Relation]) -> Callable[[StoreChange], RelationChange | None]:
    """Return a function that gives after each commit the change of a view since it was last called."""
    known = view()

    def part(_: StoreChange) -> RelationChange | None:
        nonlocal known
        before, known = known, view()
        inserted, deleted = known - before, before - known
        return RelationChange(inserted, deleted) if len(inserted) or len(deleted) else None

    return part


def justified(view: Relation) -> Iterator[Justification]:
    """Yield the inconsistencies of a view of justifications, sorted, each with its triples. Raise UsageError (E0635)
    for another relation."""
    given: object = view
    if not isinstance(given, Relation) or len(view.columns) != len(JUSTIFICATION_COLUMNS):
        raise wrong_argument("a view", "the relation of `store.justifications()`", view)
    rows = sorted(tuple(map(str, row)) for row in view)
    for (rule, *terms), group in groupby(rows, lambda row: row[:_TERMS]):
        triples = tuple((s, p, o) for *_, s, p, o in group)
        yield Justification(rule, tuple(filter(None, terms)), triples)
