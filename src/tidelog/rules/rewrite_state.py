"""The state that the rewrites of one rule share, and the kinds of the terms that they read.

Names made here start with "#" and are built from the name of the user's rule, so that a rule keeps its auxiliary
relations when other rules change; those of shared relations describe their contents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tidelog.errors import InternalError, Problem
from tidelog.language.aggregates import AGGREGATES
from tidelog.language.syntax import (
    Aggregate,
    Anonymous,
    Atom,
    Cast,
    Column,
    Comparison,
    Constant,
    Functor,
    Kind,
    Literal,
    Record,
    RecordType,
    RelationType,
    Rule,
    Term,
    Variable,
)
from tidelog.language.trees import walk
from tidelog.rules.core import AggregateRule, RelationInfo


@dataclass
class RewriteState:
    """The state of one user's rule while it is rewritten. `recursive` names the relations that depend on a head of the
    rule and on which a head depends.

    The rewrites leave their results here, besides the rules that they return: `pending` rules, which go through all
    rewrites themselves, `aggregates`, and the `auxiliary` relations of both. `shared` are auxiliary relations that
    belong to no rule alone; all states of a program have the same. `nodes` are the columns (relation, position) whose
    values are the nodes of a type. `bounded` returns the columns of recursive relations that relations of values have.
    """

    origin: str
    relations: Mapping[str, RelationType]
    records: Mapping[str, RecordType]
    recursive: frozenset[str] = frozenset()
    pending: list[Rule] = field(default_factory=list)
    aggregates: list[AggregateRule] = field(default_factory=list)
    auxiliary: dict[str, RelationInfo] = field(default_factory=dict)
    kinds: dict[str, Kind] = field(default_factory=dict)
    shared: dict[str, RelationInfo] = field(default_factory=dict)
    nodes: Mapping[str, Iterable[tuple[str, int]]] = field(default_factory=dict)
    bounded: Callable[[], Mapping[str, tuple[int, ...]]] = dict
    _numbers: Counter[str] = field(default_factory=Counter)

    def number(self, stem: str) -> int:
        """Return the next number, from 1, of the things called `stem`."""
        self._numbers[stem] += 1
        return self._numbers[stem]

    def variable(self, stem: str, kind: Kind) -> Variable:
        """Return a variable that occurs nowhere yet."""
        name = f"#{stem}{self.number('variable ' + stem)}"
        self.kinds[name] = kind
        return Variable(name)

    def relation(self, name: str, columns: Iterable[tuple[str, Kind]]) -> str:
        """Declare the auxiliary relation `name` with these names and kinds of columns."""
        self.auxiliary[name] = _info(name, columns)
        return name

    def share(self, name: str, columns: Iterable[tuple[str, Kind]]) -> None:
        """Declare an auxiliary relation for all rules of the program."""
        self.shared[name] = _info(name, columns)

    def columns(self, relation: str) -> tuple[Column, ...]:
        """Return the columns of a relation, auxiliary or not."""
        info = self.auxiliary.get(relation) or self.shared.get(relation)
        return info.columns if info else self.relations[relation].columns

    def kind(self, name: str, rule: Rule) -> Kind:
        """Return the kind of a variable of `rule`."""
        return self.kinds[name] if name in self.kinds else rule.kinds[name]


def _info(name: str, columns: Iterable[tuple[str, Kind]]) -> RelationInfo:
    return RelationInfo(name, tuple(Column(column, kind, kind) for column, kind in columns), auxiliary=True)


def kind_of(term: Term, rule: Rule, state: RewriteState) -> Kind:
    """Return the kind of a term of `rule`."""
    match term:
        case Variable(name=name):
            return state.kind(name, rule)
        case Functor(result=kind) | Constant(kind=kind) | Record(kind=kind) | Cast(kind=kind) if kind:
            return kind
        case Aggregate() as aggregate:
            return result_kind(aggregate)
    raise InternalError(Problem("E0901", f"a term of rule {state.origin} has no kind: {term!r}", rule.span))


def result_kind(aggregate: Aggregate) -> Kind:
    """Return the kind of an aggregate's value."""
    if aggregate.declared is not None:
        return aggregate.declared.result.kind
    return AGGREGATES[aggregate.op].result or aggregate.result or aggregate.kind or "number"


def local_kinds(body: Iterable[Literal], state: RewriteState) -> dict[str, Kind]:
    """Return the kinds of the variables that atoms and equations of an aggregate's body bind.

    Two aggregates of a rule may use one name for variables of different kinds, so the rule's own kinds are not enough.
    """
    kinds: dict[str, Kind] = {}
    for node in walk(body, aggregates=False):
        match node:
            case Atom(relation=relation, args=args):
                for arg, column in zip(args, state.columns(relation), strict=True):
                    kinds.update(_pattern(arg, column.kind, state))
            case Comparison(op="=", left=left, right=right, kind=kind) if kind:
                kinds.update(_pattern(left, kind, state))
                kinds.update(_pattern(right, kind, state))
    return kinds


def _pattern(term: Term, kind: Kind, state: RewriteState) -> Iterator[tuple[str, Kind]]:
    match term:
        case Variable(name=name):
            yield name, kind
        case Record(fields=fields, kind=own, branch=branch) if fields:
            for part, column in zip(fields, state.records[own or kind].parts(branch), strict=True):
                if not isinstance(part, Anonymous):
                    yield from _pattern(part, column.kind, state)
