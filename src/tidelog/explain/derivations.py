"""The derivations of tuples, in words, over the views of an engine between two epochs.

A tuple of a relation is derived by instances of the rules of that relation, one of a closure or of a path by a walk.
Tuples are asked for in batches: one evaluation for each rule and all tuples, whose instances are arrays.

`KnownStates` keeps the derivations that searches have found since the last epoch: proofs of different tuples have most
of their steps in common, so that the next search begins with these. Nothing of it depends on the order of questions.
Between two derivations that births allow, a search decides by the tuple alone (`ProofSearch.founded_in`), and it asks
for derivations by the same budget whether they are known or not.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import itemgetter
from typing import NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import AnyWords, Words
from tidelog.explain.instances import (
    FlatRule,
    MemberGroup,
    Question,
    flat_rules,
    group_of,
    question_of,
    renamed_literals,
)
from tidelog.explain.views import EngineViews
from tidelog.explain.walks import STEP, Automaton, Key, automaton_of, automaton_of_closure, shortest_walk, steps_into
from tidelog.language.syntax import Aggregate, CheckedProgram, Kind, Literal, Value
from tidelog.limits.watch import Watch
from tidelog.maintain.state import StateVersion
from tidelog.queries.evaluation import Evaluation, Evaluations
from tidelog.rules.selections import ALL, candidates_of
from tidelog.semantics.values import normal
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.rows import positions

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
        return columns_of(self.words, self.constants, premise.columns)

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
            found.append(new_frozen(TupleDerivation, flat=self.flat, words=own, premises=premises))
        return found


def new_frozen(kind: type[Made], **fields: object) -> Made:
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


def columns_of(words: AnyWords, constants: tuple[int, ...], columns: tuple[int, ...]) -> AnyWords:
    """Return some columns of rows; those behind the last one stand for constants."""
    width = words.shape[1]
    if max(columns, default=0) < width:
        return words[:, list(columns)]
    rows = numpy.empty((len(words), len(columns)), numpy.int64)
    for i, column in enumerate(columns):
        rows[:, i] = words[:, column] if column < width else constants[column - width]
    return rows


MOST_KNOWN = 100_000
"""Derivations that are kept for the next question, some 60 MB."""


@dataclass
class Known:
    """Answers about tuples of one state: whether they are asserted `facts`, and the derivation that births have
    `founded` from tuples born before them, None for an asserted fact."""

    stamp: object
    """Words have the same meaning as long as it is equal."""
    facts: dict[Key, bool] = field(default_factory=dict)
    founded: dict[Key, TupleDerivation | None] = field(default_factory=dict)


class KnownStates:
    """The answers about the states of engines, each for as long as its state lasts."""

    def __init__(self) -> None:
        self._states: WeakKeyDictionary[StateVersion, Known] = WeakKeyDictionary()

    def of(self, views: EngineViews) -> Known:
        """Return the answers about the state behind some views: none where words have got other meanings, or once there
        were too many."""
        state = views.state
        known = self._states.get(state.version)
        stamp = state.dictionary.stamp
        if known is None or known.stamp != stamp or len(known.facts) > MOST_KNOWN:
            known = self._states[state.version] = Known(stamp)
        return known


_MANY = 200
"""From so many rows on, kernels find their positions."""


class TupleDerivations:
    """The rules of a checked program, asked for their instances; for as long as that program is the committed one."""

    def __init__(self, checked: CheckedProgram, dictionary: Dictionary) -> None:
        self.checked = checked
        self.dictionary = dictionary
        self.by_head = flat_rules(checked)
        self.known = KnownStates()
        self._questions: dict[tuple[str, frozenset[str]], Evaluations] = {}
        self._groups: dict[tuple[int, Aggregate], MemberGroup] = {}
        self._partial: dict[tuple[int, tuple[Literal, ...]], Question] = {}
        self._paths = {
            premise.relation: premise.atom.path
            for rules in self.by_head.values()
            for flat in rules
            for premise in flat.needed_premises
            if premise.atom.path is not None
        }

    # --- keys --------------------------------------------------------------------------------------------------------

    def kinds(self, relation: str) -> tuple[Kind, ...]:
        """Return the kinds of the columns of a relation, of candidates, or of the ends of a path."""
        path = self._paths.get(relation)
        if path is not None:
            return self._path_kinds[relation]
        return tuple(column.kind for column in self.checked.relations[self.selection_of(relation)].columns)

    @cached_property
    def _path_kinds(self) -> dict[str, tuple[Kind, ...]]:
        rules = (flat for each in self.by_head.values() for flat in each)
        return {
            premise.relation: premise.kinds for flat in rules for premise in flat.needed_premises if premise.atom.path
        }

    def selection_of(self, relation: str) -> str:
        """Return the relation that selects from `relation`, or that itself."""
        return relation.removeprefix(ALL)

    def values(self, key: Key) -> tuple[Value, ...]:
        decode = self.dictionary.decode
        return tuple(decode(word, kind) for word, kind in zip(key.words, self.kinds(key.relation), strict=True))

    def values_of(self, keys: Collection[Key]) -> list[tuple[Value, ...]]:
        """Return the tuples of many keys: faster than one by one."""
        listed = list(keys)
        found: list[tuple[Value, ...]] = [()] * len(listed)
        for name, numbers in _positions_by_relation(listed).items():
            values = self.decode_rows(rows_of([listed[i] for i in numbers]), self.kinds(name))
            for i, row in zip(numbers, values, strict=True):
                found[i] = row
        return found

    def decode_rows(self, rows: Words, kinds: Sequence[Kind]) -> Iterable[tuple[Value, ...]]:
        """Return the values of rows of words, of columns of these kinds."""
        if not kinds:
            return [()] * len(rows)
        columns = [self.dictionary.decode_list(rows[:, i], kind) for i, kind in enumerate(kinds)]
        return zip(*columns, strict=True)

    def sort_key(self, parts: Iterable[object]) -> list[str]:
        """Return what sorts sets of facts, or of names of rules, by relation and values."""
        return sorted(f"{part.relation}{self.values(part)!r}" if isinstance(part, Key) else str(part) for part in parts)

    def rules_of(self, relation: str) -> tuple[str, ...]:
        """Return the names of the rules of a relation; a path has none."""
        return tuple(dict.fromkeys(flat.rule.name for flat in self.by_head.get(relation, ()) if flat.rule.name))

    # --- the views ---------------------------------------------------------------------------------------------------

    def holds(self, views: EngineViews, key: Key) -> bool:
        return bool(views.holds(key.relation, rows_of([key]))[0])

    def are_asserted(self, views: EngineViews, keys: Sequence[Key]) -> list[bool]:
        """Return for each tuple whether it is an asserted fact."""
        found = [False] * len(keys)
        for name, numbers in _positions_by_relation(keys).items():
            if name not in self._paths:
                rows = rows_of([keys[i] for i in numbers])
                for i, row in zip(numbers, views.are_asserted(self.selection_of(name), rows).tolist(), strict=True):
                    found[i] = row
        return found

    def is_walk(self, views: EngineViews, name: str) -> bool:
        """Return True if walks derive the tuples of a relation or path."""
        if name in self._paths:
            return True
        closure = views.closure(name)
        return closure is not None and all(each.relation in self.checked.relations for each in closure.sources)

    def recursive(self, views: EngineViews, name: str) -> frozenset[str]:
        """Return the relations that are recursive with one, that are not derived by walks."""
        node = views.node_of(name)
        if node is None or not node.recursive or self.is_walk(views, name):
            return frozenset()
        return frozenset(node.relations)

    # --- derivations -------------------------------------------------------------------------------------------------

    def automaton(self, views: EngineViews, name: str) -> Automaton:
        """Return the automaton of the walks that derive the pairs of a path or a closure."""
        path = self._paths.get(name)
        if path is not None:
            return automaton_of(path)
        closure = views.closure(name)
        assert closure is not None
        return automaton_of_closure(name, closure)

    def walk(self, views: EngineViews, key: Key, watch: Watch) -> TupleDerivation | None:
        """Return a shortest walk that derives a pair, or None without a walk. Where shown tuples have none, it leads
        along candidates of relations that select, as their recursion reads them."""
        automaton = self.automaton(views, key.relation)
        start, end = key.words

        def order(edge: Key) -> tuple[str, str]:
            return edge.relation, repr(self.values(edge))

        for each in (automaton, along_candidates(automaton, views)):
            edges = shortest_walk(each, start, end, views.near, order, watch.look)
            if edges is not None:
                return TupleDerivation(None, (), edges)
        return None

    def has_steps(self, views: EngineViews, name: str, *, closures: bool) -> bool:
        """Return True if steps of walks derive the tuples of a path, or with `closures` of a relation, or are these
        tuples."""
        return name.startswith(STEP) or name in self._paths or (closures and self.is_walk(views, name))

    def steps(self, views: EngineViews, key: Key, *, candidates: bool = False) -> Iterator[TupleDerivation]:
        """Yield the derivations of the pair of a walk, or of a step of one, by the steps before it; with `candidates`,
        walks lead along those of relations that select, as their recursion reads them."""
        name = key.relation.removeprefix(STEP)
        automaton = self.automaton(views, name)
        if candidates:
            automaton = along_candidates(automaton, views)
        found = steps_into(automaton, name, key, views.near)
        return (TupleDerivation(None, (), premises) for premises in found)

    def prepare_answers(self, views: EngineViews, keys: Sequence[Key], watch: Watch) -> None:
        """Prepare the instances that derive tuples, which may be of several relations."""
        views.prepare_answers(self._evaluations(views, keys), watch)

    def _evaluations(self, views: EngineViews, keys: Sequence[Key]) -> Iterator[tuple[Evaluation, Words]]:
        for name, numbers in _positions_by_relation(keys).items():
            if not self.is_walk(views, name):
                rows, shown = rows_of([keys[i] for i in numbers]), self.selection_of(name)
                for part in self._together(shown, views.candidates_read(shown)).parts:
                    yield part, rows

    def instances(self, views: EngineViews, keys: Sequence[Key], watch: Watch) -> Iterable[Batch]:
        """Yield the instances of all rules that derive tuples of one relation, rule by rule, in their order."""
        shown = self.selection_of(keys[0].relation)
        renamed = views.candidates_read(shown)
        rows = rows_of(keys)
        found = views.answers(self._together(shown, renamed), rows, watch)
        for flat, answers in zip(self.by_head.get(shown, ()), found, strict=True):
            if not len(answers):
                continue
            head, *needed = flat.columns
            encode = self.dictionary.encode
            constants = tuple([encode(normal(value, kind), kind) for value, kind in flat.constants])
            numbers = _positions(columns_of(answers, constants, head), rows)
            names = (
                each.relation if each.atom.path is not None else renamed.get(each.relation, each.relation)
                for each in flat.needed_premises
            )
            yield Batch(flat, answers, numbers, tuple(map(PremiseColumns, names, needed)), constants)

    def _together(self, shown: str, renamed: Mapping[str, str]) -> Evaluations:
        """Return the evaluations of the rules of a relation, in their order; they read others in the place of relations
        that are `renamed`."""
        rules = self.by_head.get(shown, ())
        read = frozenset(each.relation for flat in rules for each in flat.needed_premises if each.relation in renamed)
        if (shown, read) not in self._questions:
            candidates = {renamed[name]: self.checked.relations[name] for name in read}
            questions = [question_of(flat, self.checked, renamed, candidates) for flat in rules]
            self._questions[shown, read] = Evaluations(tuple(each.evaluation for each in questions))
        return self._questions[shown, read]

    def partial(
        self, flat: FlatRule, literals: tuple[Literal, ...], shown: tuple[str, ...], renamed: Mapping[str, str]
    ) -> Question:
        """Return the question for the bindings of a part of a rule with its head bound, which reads others in the place
        of the relations `renamed`."""
        key = flat.number, renamed_literals(literals, renamed)
        if key not in self._partial:
            given = self.checked.relations[flat.head.relation].columns
            candidates = {own: self.checked.relations[name] for name, own in renamed.items()}
            read = {**candidates, **flat.read}
            self._partial[key] = Question(key[1], shown, given, flat.kinds, self.checked, read)
        return self._partial[key]

    def group(self, flat: FlatRule, aggregate: Aggregate) -> MemberGroup:
        key = flat.number, aggregate
        if key not in self._groups:
            self._groups[key] = group_of(aggregate, flat, self.checked)
        return self._groups[key]


def along_candidates(automaton: Automaton, views: EngineViews) -> Automaton:
    """Return an automaton whose walks lead along the candidates of relations that select, which rules of their
    recursion read."""

    def name_to_read(name: str) -> str:
        return name if views.node_of(candidates_of(name)) is None else candidates_of(name)

    return replace(
        automaton, edges=tuple(edge._replace(relation=name_to_read(edge.relation)) for edge in automaton.edges)
    )


def rows_of(keys: Sequence[Key]) -> Words:
    """Return tuples of one relation as rows, int64."""
    return numpy.array([key.words for key in keys], numpy.int64).reshape(len(keys), -1)


def _positions_by_relation(keys: Sequence[Key]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for i, key in enumerate(keys):
        found.setdefault(key.relation, []).append(i)
    return found


def _positions(rows: AnyWords, among: Words) -> NDArray[numpy.int64]:
    """Return for each row its position among others, which are distinct."""
    if len(among) == 1:
        return numpy.zeros(len(rows), numpy.int64)
    if len(rows) >= _MANY:
        return positions(among, rows.astype(numpy.int64))
    places = {tuple(row): i for i, row in enumerate(among.tolist())}
    return numpy.array([places[tuple(row)] for row in rows.tolist()], numpy.int64)
