"""Contradictions of literals: rules dt-not-type and dt-diff of OWL 2 RL, and dt-eq for stores that ask for it.

Whether a literal is well-typed, in a datatype, or has the value of another one is true in all graphs. Internal
relations keep such facts once the triples ask for them, and never lose them; instances read them:

    ILL      a literal and its datatype, of which it is not:     false if a triple has it
    OUTSIDE  a literal and a datatype that lacks its value:      false if it has the datatype as a class
    UNLIKE   two literals of different values:                   false if they are the same
    EQUAL    two literals of one value:                          the same
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy

from tidelog.common.arrays import Words
from tidelog.rdf.data import Triples
from tidelog.rdf.names import EQUAL, ILL, OUTSIDE, UNLIKE, Names
from tidelog.rdf.specialise import RuleInstance
from tidelog.rdf.tables import FALSE, Triple
from tidelog.rdf.terms import SAME_AS, TYPE
from tidelog.rdf.values import DATATYPES, LiteralValue, differ, is_outside, value_of

if TYPE_CHECKING:
    from tidelog.workspace.change import Change

Facts = tuple[str, bool, Words]


class Literals:
    """The literals of a store, with what is known of their values. With `equal`, those of one value are the same."""

    def __init__(self, triples: Triples, names: Names, *, equal: bool) -> None:
        self._triples = triples
        self._names = names
        self._equal = equal
        self._first: dict[LiteralValue, str] = {}
        """For each value the first literal that has it."""

    def recall(self) -> None:
        """Learn the values of all literals, of a store that comes back."""
        if self._equal:
            objects = numpy.unique(self._triples.matching(None, None, None, asserted=True)[:, 2])
            for term in self._triples.dictionary.strings(self._literals(objects)):
                value = value_of(term)
                if value is not None:
                    self._first.setdefault(value, term)

    def of_rows(self, predicate: str, rows: Words) -> Iterator[Facts]:
        """Yield facts about the literals among the objects of asserted triples of a property."""
        ill = self._triples.ill
        if ill:
            words = {self._triples.dictionary.find(term, "symbol"): term for term in ill}
            found = [int(word) for word in numpy.unique(rows[:, 1]) if int(word) in words]
            if found:
                self._names.with_ill.setdefault(predicate, None)
                yield self._facts(ILL, [(words[word], ill[words[word]]) for word in found])
        if self._equal:
            terms = self._triples.dictionary.strings(self._literals(numpy.unique(rows[:, 1])))
            same = [
                (self._first.setdefault(value, term), term) for term in terms if (value := value_of(term)) is not None
            ]
            pairs = [pair for pair in same if pair[0] != pair[1]]
            if pairs:
                yield self._facts(EQUAL, pairs)

    def learn(self, change: Change, *, derives_same: bool) -> list[Facts]:
        """Return facts that are new about literals that an epoch has made the same, or has put into datatypes. Rules
        may derive what is the same (`derives_same`)."""
        found: list[Facts] = []
        same = self._names.property(SAME_AS)
        # A closure of asserted pairs has literals only where somebody says so, and may have more pairs than fit.
        if same in change and derives_same:
            rows = change[same].inserted.words_in(self._triples.dictionary)
            if rows is not None and len(rows):
                both = self._triples.are_literals(rows[:, 0]) & self._triples.are_literals(rows[:, 1])
                texts = [self._triples.dictionary.strings(column) for column in rows[both].T]
                found += self._new(UNLIKE, (pair for pair in zip(*texts, strict=True) if differ(*pair)))
        for datatype in DATATYPES.keys() & self._names.classes.keys():
            name = self._names.classes[datatype]
            if name in change:
                rows = change[name].inserted.words_in(self._triples.dictionary)
                terms = self._triples.dictionary.strings(self._literals(rows[:, 0])) if rows is not None else []
                new = self._new(OUTSIDE, ((term, datatype) for term in terms if is_outside(term, datatype)))
                if new:
                    self._names.with_outside.setdefault(datatype, None)
                found += new
        return found

    def _literals(self, words: Words) -> Words:
        found: Words = words[self._triples.are_literals(words)]
        return found

    def _new(self, predicate: str, pairs: Iterable[tuple[str, str]]) -> list[Facts]:
        """Return the facts of pairs that the store does not have, if there are any."""
        found = list(pairs)
        if not found:  # The relation stays undeclared: rules read it as soon as it is there.
            return []
        name, asserts, words = self._facts(predicate, found)
        stored = self._triples.stored(name, asserted=True)
        new = words if stored is None else words[stored.find(words) < 0]
        return [(name, asserts, new)] if len(new) else []

    def _facts(self, predicate: str, pairs: list[tuple[str, str]]) -> Facts:
        encode = self._triples.dictionary.encode
        words = [[encode(text, "symbol") for text in pair] for pair in pairs]
        return self._names.property(predicate), True, numpy.array(words, numpy.int64).reshape(-1, 2)


def instances_of_literals(names: Names) -> Iterator[RuleInstance]:
    """Yield the rules that read the facts about literals."""
    for predicate in names.with_ill:
        body = (Triple("?x", predicate, "?y"), Triple("?y", ILL, "?d"))
        yield RuleInstance("dt-not-type", Triple("?y", FALSE, "?d"), body, ())
    for datatype in names.with_outside:
        body = (Triple("?x", TYPE, datatype), Triple("?x", OUTSIDE, datatype))
        yield RuleInstance("dt-not-type", Triple("?x", FALSE, datatype), body, ())
    if UNLIKE in names.properties:
        body = (Triple("?x", SAME_AS, "?y"), Triple("?x", UNLIKE, "?y"))
        yield RuleInstance("dt-diff", Triple("?x", FALSE, "?y"), body, ())
