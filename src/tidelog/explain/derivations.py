"""The derivations of tuples, in words, over the views of an engine between two epochs.

A tuple of a relation is derived by instances of the rules of that relation, one of a closure or of a path by a walk.
Tuples are asked for in batches: one evaluation for each rule and all tuples.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy
from numpy.typing import NDArray

from tidelog.arrays import AnyWords, Words
from tidelog.explain.groups import MemberGroup, group_of
from tidelog.explain.instances import FlatRule, Question, flat_rules, question_of, rows_of_premise
from tidelog.explain.views import EngineViews
from tidelog.explain.walks import (
    STEP,
    Automaton,
    Key,
    automaton_of,
    automaton_of_closure,
    shortest_walk,
    steps_into,
)
from tidelog.language.syntax import Aggregate, CheckedProgram, Constant, Kind, Literal, Value
from tidelog.limits.watch import Watch
from tidelog.rules.selections import ALL
from tidelog.semantics.values import normal
from tidelog.storage.dictionary import Dictionary


@dataclass(frozen=True)
class TupleDerivation:
    """A way to derive a tuple: by an instance of a rule, whose variables have `words`, or, without a rule, by a walk
    along `premises`."""

    flat: FlatRule | None
    words: tuple[int, ...]
    premises: tuple[Key, ...]


@dataclass(frozen=True)
class Batch:
    """Instances of one rule: `words` of shape (n, variables), the number of the tuple asked for that each derives, and
    for each premise its tuples, of shape (n, arity)."""

    flat: FlatRule
    words: AnyWords
    numbers: NDArray[numpy.int64]
    premises: tuple[tuple[str, AnyWords], ...]

    def derivation(self, i: int) -> TupleDerivation:
        """Return instance number i."""
        keys = tuple(Key(name, tuple(rows[i].tolist())) for name, rows in self.premises)
        return TupleDerivation(self.flat, tuple(self.words[i].tolist()), keys)

    def derivations(self) -> list[TupleDerivation]:
        """Return all instances."""
        words = list(map(tuple, self.words.tolist()))
        columns = [[Key(name, tuple(row)) for row in rows.tolist()] for name, rows in self.premises]
        premises = zip(*columns, strict=True) if columns else [()] * len(words)
        return [TupleDerivation(self.flat, own, keys) for own, keys in zip(words, premises, strict=True)]


class TupleDerivations:
    """The rules of a checked program, asked for their instances; for as long as that program is the committed one."""

    def __init__(self, checked: CheckedProgram, dictionary: Dictionary) -> None:
        self.checked = checked
        self.dictionary = dictionary
        self.by_head = flat_rules(checked)
        self._questions: dict[tuple[int, frozenset[str]], Question] = {}
        self._groups: dict[tuple[int, Aggregate], MemberGroup] = {}
        self._partial: dict[tuple[int, tuple[Literal, ...]], Question] = {}
        self._paths = {
            premise.relation: premise.atom.path
            for rules in self.by_head.values()
            for flat in rules
            for premise in flat.needed
            if premise.atom.path is not None
        }

    # --- keys --------------------------------------------------------------------------------------------------------

    def kinds(self, relation: str) -> tuple[Kind, ...]:
        """Return the kinds of the columns of a relation, of candidates, or of the ends of a path."""
        path = self._paths.get(relation)
        if path is not None:
            return self._path_kinds[relation]
        return tuple(column.kind for column in self.checked.relations[self.shown(relation)].columns)

    @cached_property
    def _path_kinds(self) -> dict[str, tuple[Kind, ...]]:
        rules = (flat for each in self.by_head.values() for flat in each)
        return {premise.relation: premise.kinds for flat in rules for premise in flat.needed if premise.atom.path}

    def shown(self, relation: str) -> str:
        """Return the relation that selects from `relation`, or that itself."""
        return relation.removeprefix(ALL)

    def values(self, key: Key) -> tuple[Value, ...]:
        """Return the tuple of a key."""
        decode = self.dictionary.decode
        return tuple(decode(word, kind) for word, kind in zip(key.words, self.kinds(key.relation), strict=True))

    def values_of(self, keys: Collection[Key]) -> list[tuple[Value, ...]]:
        """Return the tuples of many keys: faster than one by one."""
        listed = list(keys)
        found: list[tuple[Value, ...]] = [()] * len(listed)
        for name, numbers in _grouped(listed).items():
            values = self.decoded(rows_of([listed[i] for i in numbers]), self.kinds(name))
            for i, row in zip(numbers, values, strict=True):
                found[i] = row
        return found

    def decoded(self, rows: Words, kinds: Sequence[Kind]) -> Iterable[tuple[Value, ...]]:
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
        """Return True if a relation has a tuple."""
        return bool(views.holds(key.relation, rows_of([key]))[0])

    def asserted(self, views: EngineViews, keys: Sequence[Key]) -> list[bool]:
        """Return for each tuple whether it is an asserted fact."""
        found = [False] * len(keys)
        for name, numbers in _grouped(keys).items():
            if name not in self._paths:
                rows = rows_of([keys[i] for i in numbers])
                for i, row in zip(numbers, views.asserted(self.shown(name), rows).tolist(), strict=True):
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
        """Return a shortest walk that derives a pair, or None without a walk."""
        automaton = self.automaton(views, key.relation)
        start, end = key.words

        def order(edge: Key) -> tuple[str, str]:
            return edge.relation, repr(self.values(edge))

        edges = shortest_walk(automaton, start, end, views.near, order, watch.look)
        return None if edges is None else TupleDerivation(None, (), edges)

    def has_steps(self, views: EngineViews, name: str, *, closures: bool) -> bool:
        """Return True if steps of walks derive the tuples of a path, or with `closures` of a relation, or are these
        tuples."""
        return name.startswith(STEP) or name in self._paths or (closures and self.is_walk(views, name))

    def steps(self, views: EngineViews, key: Key) -> Iterator[TupleDerivation]:
        """Yield the derivations of the pair of a walk, or of a step of one, by the steps before it."""
        name = key.relation.removeprefix(STEP)
        found = steps_into(self.automaton(views, name), name, key, views.near)
        return (TupleDerivation(None, (), premises) for premises in found)

    def bring(self, views: EngineViews, keys: Sequence[Key], watch: Watch) -> None:
        """Prepare the instances that derive tuples, which may be of several relations."""
        asked = []
        for name, numbers in _grouped(keys).items():
            if not self.is_walk(views, name):
                shown, rows = self.shown(name), rows_of([keys[i] for i in numbers])
                questions = [self._question(flat, views.candidates_read(shown)) for flat in self.by_head.get(shown, ())]
                asked += [(question.evaluation, rows) for question in questions]
        views.bring(asked, watch)

    def instances(self, views: EngineViews, keys: Sequence[Key], watch: Watch) -> Iterable[Batch]:
        """Yield the instances of all rules that derive tuples of one relation, rule by rule, in their order."""
        name = keys[0].relation
        shown = self.shown(name)
        rows = rows_of(keys)
        for flat in self.by_head.get(shown, ()):
            renamed = views.candidates_read(shown)
            answers = self._question(flat, renamed).answers(views, rows, watch)
            if not len(answers):
                continue
            constants = self._constants(flat)
            heads = rows_of_premise(flat.head, answers, constants)
            numbers = _positions(heads, rows)
            premises = tuple(
                (
                    premise.relation
                    if premise.atom.path is not None
                    else renamed.get(premise.relation, premise.relation),
                    rows_of_premise(premise, answers, constants),
                )
                for premise in flat.needed
            )
            yield Batch(flat, answers, numbers, premises)

    def _question(self, flat: FlatRule, renamed: dict[str, str]) -> Question:
        used = frozenset(each.relation for each in flat.needed if each.relation in renamed)
        key = flat.number, used
        if key not in self._questions:
            relations = self.checked.relations
            candidates = {renamed[name]: relations[name] for name in used}
            self._questions[key] = question_of(flat, self.checked, renamed, candidates)
        return self._questions[key]

    def partial(self, flat: FlatRule, body: tuple[Literal, ...], shown: tuple[str, ...]) -> Question:
        """Return the question for the bindings of a part of a rule with its head bound."""
        key = flat.number, body
        if key not in self._partial:
            given = self.checked.relations[flat.head.relation].columns
            self._partial[key] = Question(body, shown, given, flat.kinds, self.checked, flat.read)
        return self._partial[key]

    def group(self, flat: FlatRule, aggregate: Aggregate) -> MemberGroup:
        """Return the question for the members of an aggregate of a rule."""
        key = flat.number, aggregate
        if key not in self._groups:
            self._groups[key] = group_of(aggregate, flat, self.checked)
        return self._groups[key]

    def _constants(self, flat: FlatRule) -> dict[tuple[object, Kind], int]:
        """Return the words of the constants of the atoms of a rule that has an instance."""
        return {
            (source.value, kind): self.dictionary.encode(normal(source.value, kind), kind)
            for premise in (flat.head, *flat.needed)
            for source, kind in zip(premise.arguments, premise.kinds, strict=True)
            if isinstance(source, Constant)
        }


def rows_of(keys: Sequence[Key]) -> Words:
    """Return tuples of one relation as rows, int64."""
    return numpy.array([key.words for key in keys], numpy.int64).reshape(len(keys), -1)


def _grouped(keys: Sequence[Key]) -> dict[str, list[int]]:
    """Return the positions of keys by relation."""
    found: dict[str, list[int]] = {}
    for i, key in enumerate(keys):
        found.setdefault(key.relation, []).append(i)
    return found


def _positions(rows: AnyWords, among: AnyWords) -> NDArray[numpy.int64]:
    """Return for each row its position among others, which are distinct."""
    if len(among) == 1:
        return numpy.zeros(len(rows), numpy.int64)
    places = {tuple(row): i for i, row in enumerate(among.tolist())}
    return numpy.array([places[tuple(row)] for row in rows.tolist()], numpy.int64)
