"""The representation of the values of terms, as read off a checked tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tidelog.errors import InternalError, Problem
from tidelog.language.aggregates import AGGREGATES
from tidelog.language.syntax import (
    Aggregate,
    Anonymous,
    Atom,
    Cast,
    Comparison,
    Constant,
    Functor,
    Kind,
    Literal,
    Record,
    Rule,
    Term,
    Variable,
)
from tidelog.language.trees import walk
from tidelog.rules.bench import Bench


def kind_of(term: Term, rule: Rule, bench: Bench) -> Kind:
    """Return the kind of a term of `rule`."""
    match term:
        case Variable(name=name):
            return bench.kind(name, rule)
        case Functor(result=kind) | Constant(kind=kind) | Record(kind=kind) | Cast(kind=kind) if kind:
            return kind
        case Aggregate() as aggregate:
            return result_kind(aggregate)
    raise InternalError(Problem("E0901", f"a term of rule {bench.origin} has no kind: {term!r}", rule.span))


def result_kind(aggregate: Aggregate) -> Kind:
    """Return the kind of an aggregate's value."""
    if aggregate.declared is not None:
        return aggregate.declared.result.kind
    return AGGREGATES[aggregate.op].result or aggregate.result or aggregate.kind or "number"


def local_kinds(body: Iterable[Literal], bench: Bench) -> dict[str, Kind]:
    """Return the kinds of the variables that atoms and equations of an aggregate's body bind.

    Two aggregates of a rule may use one name for variables of different kinds, so the rule's own kinds are not enough.
    """
    kinds: dict[str, Kind] = {}
    for node in walk(body, aggregates=False):
        match node:
            case Atom(relation=relation, args=args):
                for arg, column in zip(args, bench.columns(relation), strict=True):
                    kinds.update(_pattern(arg, column.kind, bench))
            case Comparison(op="=", left=left, right=right, kind=kind) if kind:
                kinds.update(_pattern(left, kind, bench))
                kinds.update(_pattern(right, kind, bench))
    return kinds


def _pattern(term: Term, kind: Kind, bench: Bench) -> Iterator[tuple[str, Kind]]:
    match term:
        case Variable(name=name):
            yield name, kind
        case Record(fields=fields, kind=own, branch=branch) if fields:
            for part, column in zip(fields, bench.records[own or kind].parts(branch), strict=True):
                if not isinstance(part, Anonymous):
                    yield from _pattern(part, column.kind, bench)
