"""Witnesses: the members that give a `min`, a `max`, an `any` or an `argmin` its value.

For `s = min z : { talk(p, z, _), z >= now }` a rule also needs a member whose value is `s`:

    talk(p, #witness0_z, _), #witness0_z >= now, #witness0_z = s

The tuples of these atoms are premises of the rule's instances, so that a proof continues below them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tidelog.language.syntax import Aggregate, Atom, Comparison, Kind, Literal, Negation, Record, Term, Variable
from tidelog.language.trees import outermost, rebuild, rebuild_term, variables

WITNESSED = ("min", "max", "any")
"""The aggregates whose value is that of a member."""
_EXTREMES = {"argmin": "min", "argmax": "max"}


@dataclass(frozen=True)
class Witness:
    """A member of the aggregate in condition number `condition` of a rule: `literals` that hold for it."""

    condition: int
    literals: tuple[Literal, ...]


def witness_of(
    literal: Literal, condition: int, around: frozenset[str], kinds: Mapping[str, Kind], made: Mapping[str, str]
) -> tuple[Witness | None, dict[str, Kind]]:
    """Return what holds for the member that gives the first aggregate of a literal its value, and the kinds of its
    variables; None if the body of the aggregate is no conjunction with a tuple, or if the rule has the tuple already:
    then the checker has `made` a variable for the value. `around` are the variables outside of aggregates."""
    aggregate = next(outermost([literal]), None)
    if aggregate is None or aggregate.target is None or not _is_plain(aggregate):
        return None, {}
    value = _name_of(aggregate, literal)
    if value is not None and made.get(value.name) == "value":
        return None, {}
    own = {name: f"#witness{condition}_{name}" for name in variables([aggregate]) if name not in around}
    added = {new: kinds[old] for old, new in own.items() if old in kinds}

    def change(term: Term) -> Term | None:
        return replace(term, name=own[term.name]) if isinstance(term, Variable) and term.name in own else None

    def equal(stem: str, value: Aggregate, term: Term) -> list[Literal]:
        kind = value.result or value.kind or "number"
        name = _name_of(value, literal)
        named: list[Literal] = []
        if name is None:
            name = Variable(f"#{stem}{condition}")
            added[name.name] = kind
            named.append(Comparison("=", name, value, kind=kind, span=value.span))
        return [*named, Comparison("=", rebuild_term(term, change), name, kind=kind, span=value.span)]

    body = [rebuild(each, change) for each in aggregate.body]
    target = aggregate.target
    if aggregate.op in _EXTREMES:
        assert isinstance(target, Record)
        assert target.fields is not None
        target, rank = target.fields
        kind = aggregate.target.kind or "number"  # type: ignore[union-attr]  # It is a record.
        least = Aggregate(_EXTREMES[aggregate.op], rank, aggregate.body, kind, kind, span=aggregate.span)  # type: ignore[arg-type]
        body += equal("rank", least, rank)
    body += equal("value", aggregate, target)
    return Witness(condition, tuple(body)), added


def _is_plain(aggregate: Aggregate) -> bool:
    """Return True if the value of an aggregate is that of a member, and its body a conjunction with a tuple."""
    if aggregate.op not in (*WITNESSED, *_EXTREMES) or next(outermost(aggregate.body), None) is not None:
        return False
    kept = all(isinstance(each, Atom | Comparison | Negation) for each in aggregate.body)
    return kept and any(isinstance(each, Atom) for each in aggregate.body)


def _name_of(aggregate: Aggregate, literal: Literal) -> Variable | None:
    """Return the variable that a literal gives the value of an aggregate."""
    if not isinstance(literal, Comparison) or literal.op != "=":
        return None
    for one, other in ((literal.left, literal.right), (literal.right, literal.left)):
        if isinstance(one, Variable) and other is aggregate:
            return one
    return None
