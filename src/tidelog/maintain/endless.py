"""The cycle by which a selection has no end: tuples that follow from themselves, better each time round.

An epoch that a limit has stopped in a recursion asks for it, to say why. From the best tuples so far the rules derive
what improves on them, step by step, and each improvement knows the tuple that it follows from. Where one of these has
the key of the improvement, the steps between them are a cycle that improves (the walk to the root, in Cherkassky and
Goldberg, Negative-Cycle Detection Algorithms, 1999).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy

from tidelog.common.arrays import AnyWords
from tidelog.common.source import Span
from tidelog.errors import LimitError, Problem
from tidelog.language.syntax import Kind
from tidelog.limits.watch import Watch
from tidelog.maintain.bootstrap import bootstrap, internal_atoms
from tidelog.maintain.machine import Inputs
from tidelog.maintain.structure import user_relations
from tidelog.maintain.threads import WidenError
from tidelog.rules.core import (
    Computation,
    CoreAtom,
    CoreComparison,
    CoreRule,
    CoreValue,
    CoreVariable,
    HyperNode,
    Pack,
)
from tidelog.rules.monotone import shifts
from tidelog.storage.record_text import row_text
from tidelog.storage.stored import StoredRelation

_SO_FAR, _FRONT, _STEP = "#so_far.", "#front.", "#step."
_SECONDS = 3.0
"""So long may the search for a cycle take."""
_WIDTH = 256
"""Improvements that are followed at a time, the best ones: those of a cycle without end get ahead of all others."""
_NAMED = 3
"""Relations that a message names."""
_SHOWN = 6
"""Tuples of a cycle that a message shows."""

_WAY_OUT = "remove the cycle, or bound the values to select by; nothing has changed"

_Row: TypeAlias = tuple[int, ...]


def with_relations(error: LimitError, node: HyperNode) -> LimitError:
    """Return the error of a limit with the relations of the hyper-node in which it was reached."""
    problem = error.problems[0]
    if problem.code not in ("E0501", "E0502", "E0503"):
        return error
    return LimitError(replace(problem, message=f"{problem.message}{relations_text(node)}"))


def relations_text(node: HyperNode) -> str:
    """Return the end of a message that names the relations of the hyper-node under evaluation; "" if it only prepares
    other ones."""
    names = [f"`{name}`" for name in user_relations(node.relations)]
    if not names:
        return ""
    if len(names) > _NAMED:
        names[_NAMED:] = [f"{len(names) - _NAMED} more"]
    derived = " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)
    return f", while it derived {derived}"


def explain_limit(
    error: LimitError, node: HyperNode, inputs: Inputs, so_far: Mapping[str, AnyWords] | None = None
) -> LimitError:
    """Return the error of a limit that was reached in a hyper-node with the rules that make new values in it. Where it
    selects, look for a cycle that improves on the best tuples `so_far` of its relations, and show that instead."""
    problem = error.problems[0]
    if problem.notes:
        return error
    if so_far is not None and not any(each.front or each.domains for each in node.selects):
        with suppress(LimitError, MemoryError, WidenError):
            search = _Cycles(node, inputs, so_far)
            cycle = search.find_cycle()
            if cycle:
                return LimitError(replace(problem, notes=tuple(search.describe(cycle)), hint=_WAY_OUT))
    return LimitError(replace(problem, notes=tuple(_rules_with_new_values(node))))


def refuse_endless(node: HyperNode, inputs: Inputs, so_far: Mapping[str, AnyWords]) -> None:
    """Raise LimitError (E0506) if a cycle improves the tuples `so_far` of a hyper-node, and will do so for ever."""
    if not shifts(node):
        return
    with suppress(MemoryError, WidenError):
        search = _Cycles(node, inputs, so_far)
        try:
            cycle = search.find_cycle()
        except LimitError:  # It takes too long.
            return
        if cycle:
            message = f"the selection of `{cycle[0].relation}` has no end"
            raise LimitError(Problem("E0506", message, notes=tuple(search.describe(cycle)), hint=_WAY_OUT))


def _rules_with_new_values(node: HyperNode) -> Iterator[tuple[Span, str]]:
    """Yield the places of the recursive rules that make new values, each with what they do."""
    internal, seen = frozenset(node.relations), set[Span]()
    for rule in node.rules:
        if not isinstance(rule, CoreRule) or rule.span is None or rule.span in seen:
            continue
        made = {each.target for each in rule.body if isinstance(each, (Computation, Pack))}
        if internal_atoms(rule, internal) and not made.isdisjoint(rule.head.args):
            seen.add(rule.span)
            yield rule.span, f"this recursive rule makes new values of `{user_relations([rule.head.relation])[0]}`"


@dataclass(frozen=True)
class _Improvement:
    """A tuple that `rule` derives from the one `before` it; of those so far it has neither."""

    relation: str
    row: _Row
    rule: CoreRule | None = None
    before: _Improvement | None = None


@dataclass(frozen=True)
class _Step:
    """A rule of a hyper-node as a way from a tuple of `body` to one of `head`. The relation `goal` gets the tuples of
    `head` that improve, each with the one of `body`."""

    head: str
    body: str
    goal: str
    rule: CoreRule


class _Cycles:
    """The search for a cycle of one hyper-node."""

    def __init__(self, node: HyperNode, inputs: Inputs, so_far: Mapping[str, AnyWords]) -> None:
        watch = inputs.watch
        self.inputs = replace(inputs, watch=Watch(_SECONDS, interrupts=watch.interrupts), round=0, threads=1)
        self.selections = {each.shown: each for each in node.selects}
        self.shown = {each.candidates: each.shown for each in node.selects}
        self.so_far = {name: self.store(words) for name, words in so_far.items()}
        self.kinds: dict[str, list[Kind]] = {}
        self.steps: list[_Step] = []
        self.rules: list[CoreRule] = []
        internal = frozenset(node.relations)
        for rule in node.rules:
            for i in internal_atoms(rule, internal) if isinstance(rule, CoreRule) else ():
                assert isinstance(rule, CoreRule)
                self.add(rule, i, internal)
        self.best: dict[tuple[str, _Row], _Improvement] = {}

    def store(self, words: AnyWords) -> StoredRelation:
        """Return a relation with these rows."""
        stored = StoredRelation(self.inputs.catalog, words.shape[1], counted=False)
        stored.insert(words.astype(numpy.int64))
        return stored

    def add(self, rule: CoreRule, i: int, internal: frozenset[str]) -> None:
        """Add the steps of a rule from the tuples of its body atom `i`."""
        read = rule.body[i]
        assert isinstance(read, CoreAtom)
        head, body = (self.shown.get(name, name) for name in (rule.head.relation, read.relation))
        step = _Step(head, body, f"{_STEP}{len(self.steps)}", rule)
        self.steps.append(step)
        self.kinds[head] = [arg.kind for arg in rule.head.args]
        literals = [
            replace(each, relation=f"{_FRONT if j == i else _SO_FAR}{self.shown.get(each.relation, each.relation)}")
            if isinstance(each, CoreAtom) and each.relation in internal
            else each
            for j, each in enumerate(rule.body)
        ]
        for improving in self.improving_when(head, rule.head.args):
            derived = CoreAtom(step.goal, (*rule.head.args, *read.args))
            name = f"{step.goal}.{len(self.rules)}"
            self.rules.append(CoreRule(name, rule.origin, derived, (*literals, *improving)))

    def improving_when(self, head: str, args: tuple[CoreValue, ...]) -> Iterator[tuple[CoreAtom | CoreComparison, ...]]:
        """Yield the conditions under which a tuple improves on those so far: it is better than the one of its key by an
        order, and as good by those before it; in a relation that does not select, it is new."""
        selection = self.selections.get(head)
        if selection is None:
            yield (CoreAtom(f"{_SO_FAR}{head}", args, negated=True),)
            return
        others = {column: CoreVariable(f"#{column}", kind) for column, _, kind in selection.orders}
        atom = CoreAtom(f"{_SO_FAR}{head}", tuple(others.get(i, arg) for i, arg in enumerate(args)))
        for rank, (column, op, kind) in enumerate(selection.orders):
            equal = (CoreComparison("=", kind, args[c], others[c]) for c, _, kind in selection.orders[:rank])
            better = CoreComparison("<" if op == "min" else ">", kind, args[column], others[column])
            yield atom, *equal, better

    def find_cycle(self) -> list[_Improvement]:
        """Return the tuples of a cycle, one and a better one of its key at the ends; empty where none is found. Raise
        LimitError after some seconds, WidenError, KeyboardInterrupt."""
        front = self.so_far
        while any(map(len, front.values())):
            found: dict[str, list[_Row]] = {name: [] for name in front}
            for step, row, before in self.improvements(front):
                cycle = self.note_improvement(step, row, before)
                if cycle:
                    return cycle
                found[step.head].append(row)
            self.inputs.watch.look()
            shapes = {name: (-1, stored.arity) for name, stored in self.so_far.items()}
            front = {
                name: self.store(numpy.array(rows, numpy.int64).reshape(shapes[name])) for name, rows in found.items()
            }
        return []

    def improvements(self, front: Mapping[str, StoredRelation]) -> Iterator[tuple[_Step, _Row, _Row]]:
        """Yield the best improvements that follow from tuples of `front`, each with the one that it follows from."""
        inputs = self.inputs
        relations = dict(inputs.relations)
        relations |= {f"{_SO_FAR}{name}": stored for name, stored in self.so_far.items()}
        relations |= {f"{_FRONT}{name}": stored for name, stored in front.items()}
        for step in self.steps:
            arity = self.so_far[step.head].arity + self.so_far[step.body].arity
            relations[step.goal] = StoredRelation(inputs.catalog, arity, counted=False)
        node = HyperNode(tuple(step.goal for step in self.steps), tuple(self.rules), recursive=False)
        bootstrap(node, replace(inputs, relations=relations))
        for step in self.steps:
            rows, width = self.best_rows(step.head, relations[step.goal].words()), self.so_far[step.head].arity
            for row in rows.tolist():
                yield step, tuple(row[:width]), tuple(row[width:])

    def best_rows(self, relation: str, rows: AnyWords) -> AnyWords:
        """Return the first rows by the first order of a relation."""
        if len(rows) <= _WIDTH or relation not in self.selections:
            return rows[:_WIDTH]
        column, op, kind = self.selections[relation].orders[0]
        values = numpy.array(self.inputs.dictionary.decode_list(rows[:, column], kind))
        order = numpy.argsort(values, kind="stable")
        return rows[order[:_WIDTH] if op == "min" else order[-_WIDTH:]]

    def note_improvement(self, step: _Step, row: _Row, before: _Row) -> list[_Improvement]:
        """Note an improvement, unless a better one is known; return the cycle that it closes."""
        known = self.best.get((step.head, self.key(step.head, row)))
        if known is not None and not self.is_better(step.head, row, known.row):
            return []
        last = self.best.get((step.body, self.key(step.body, before)))
        if last is None or last.row != before:
            last = _Improvement(step.body, before)
        new = _Improvement(step.head, row, step.rule, last)
        key, chain = self.key(step.head, row), [new]
        each: _Improvement | None = last
        while each is not None:
            chain.append(each)
            if each.relation == step.head and self.key(step.head, each.row) == key:
                return chain[::-1]
            each = each.before
        self.best[step.head, key] = new
        return []

    def key(self, relation: str, row: _Row) -> _Row:
        """Return the values of a tuple by which others compete with it: all, where its relation does not select."""
        selection = self.selections.get(relation)
        return row if selection is None else tuple(row[i] for i in selection.keys)

    def is_better(self, relation: str, row: _Row, other: _Row) -> bool:
        """Return True if a tuple is better than another one of its key."""
        selection = self.selections.get(relation)
        decode = self.inputs.dictionary.decode
        for column, op, kind in () if selection is None else selection.orders:
            value, than = (decode(each[column], kind) for each in (row, other))
            if value != than:
                return (value < than) == (op == "min")  # type: ignore[operator]  # Both are numbers.
        return False

    def describe(self, cycle: list[_Improvement]) -> Iterator[tuple[Span, str]]:
        """Yield the rule that closes a cycle, with the cycle as a text: its tuples, of many the first ones and the
        last."""
        decode, rule = self.inputs.dictionary.decode, cycle[-1].rule
        tuples = [row_text(each.relation, map(decode, each.row, self.kinds[each.relation])) for each in cycle]
        if len(tuples) > _SHOWN:
            tuples[_SHOWN - 1 : -1] = [f"{len(tuples) - _SHOWN} more"]
        if rule is not None and rule.span is not None:
            yield rule.span, f"a cycle improves `{cycle[0].relation}`: {', then '.join(tuples)}"
