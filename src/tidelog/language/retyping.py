"""Rules that have types only once they are written in another way.

`with_field_equalities` makes equalities between records one for each pair of fields, and solves those between `nil` and
others. `with_types_apart` gives a variable that has other types in the alternatives of a disjunction a name for each.
As in Soufflé, each alternative is a rule of its own. With `.decl byte(v: unsigned)` and `.decl word(v: number)`,
`a(as(v, number)) :- (byte(v) ; word(v)).` becomes
`a(head_1) :- (byte(v), head_1 = as(v, number) ; word(v_1), head_1 = as(v_1, number)).` So it stays one rule, in which
each name has one type.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from tidelog.errors import Problem
from tidelog.language.declarations import Scheme
from tidelog.language.kinds import infer
from tidelog.language.syntax import (
    Anonymous,
    Body,
    Comparison,
    Disjunction,
    Kind,
    Literal,
    Record,
    Rule,
    Term,
    Truth,
    Variable,
)
from tidelog.language.trees import (
    FreshNames,
    Replacement,
    alternatives,
    combinations,
    in_aggregates,
    is_simple,
    occurrences,
    rebuild,
    rebuild_atom,
    variables,
    walk,
    whole,
)

# --- equalities -------------------------------------------------------------------------------------------------------


_LARGEST = 2_000
"""A conjunction with more nodes keeps its variables: records in records double with each of them."""


def with_field_equalities(rule: Rule) -> Rule:
    """Return the rule with `[a, b] = [c, d]` as `a = c, b = d`, `[a, b] != [c, d]` as `a != c ; b != d`,
    `nil = nil` as true, and `nil = [a, b]` as false. A variable that only stands for a record gives way to it:
    `r = [a, b], r = [c, d]` becomes `[a, b] = [c, d]` first."""
    uses = Counter(variable.name for variable in occurrences(whole(rule)))

    def body(literals: Body) -> Body:
        return tuple(part for literal in _with_records(literals, uses) for part in parts(literal))

    def parts(literal: Literal) -> Body:
        match literal:
            case Comparison("=", Anonymous(), Record(branch=None)) | Comparison("=", Record(branch=None), Anonymous()):
                return (Truth(True, span=literal.span),)
            case Comparison("=" | "!=", Record(left, branch=None), Record(right, branch=None)) if not (left and right):
                return (Truth((left == right) == (literal.op == "="), span=literal.span),)
            case Comparison(op=op, left=Record(tuple(left), branch=None), right=Record(tuple(right), branch=None)):
                if len(left) != len(right) or op not in ("=", "!="):
                    return (literal,)
                if op == "!=":
                    differ = [parts(Comparison(op, a, b, span=literal.span)) for a, b in zip(left, right, strict=True)]
                    return differ[0] if len(differ) == 1 else (Disjunction(tuple(differ), span=literal.span),)
                pairs = [(a, b) for a, b in zip(left, right, strict=True) if not _anonymous(a, b)]
                return body(tuple(Comparison("=", a, b, span=literal.span) for a, b in pairs))
            case Disjunction(alternatives=alternatives):
                apart = tuple(body(alternative) or (Truth(True),) for alternative in alternatives)
                return (replace(literal, alternatives=apart),)
            case _:
                return (rebuild(literal, change),)

    change = in_aggregates(body)
    return replace(rule, heads=tuple(rebuild_atom(head, change) for head in rule.heads), body=body(rule.body))


def _with_records(literals: Body, uses: Counter[str]) -> Body:
    """Return a conjunction in which records stand in place of the variables that are equal to them. These are variables
    that the rule, with so many `uses` of each, has in equalities and inequalities of the conjunction only."""
    here = Counter(name for literal in literals for name in _find_compared_variables(literal))
    names = {name for name, number in here.items() if 1 < number == uses[name]}
    found = list(literals)
    while names and (equation := next(_equations(found, names), None)) is not None:
        literal, name, record = equation

        def change(term: Term, name: str = name, record: Record = record) -> Term | None:
            return record if isinstance(term, Variable) and term.name == name else None

        found = [rebuild(other, change) for other in found if other is not literal]
        names.remove(name)
        if sum(1 for _ in walk(found)) > _LARGEST:
            return literals
    return tuple(found)


def _find_compared_variables(literal: Literal) -> Iterator[str]:
    """Yield the variables that are operands of a literal `=` or `!=`, or fields of records there."""
    match literal:
        case Comparison(op="=" | "!=", left=left, right=right):
            yield from _fields((left, right))


def _fields(terms: Iterable[Term]) -> Iterator[str]:
    waiting = [*terms]
    while waiting:
        match waiting.pop():
            case Variable(name=name):
                yield name
            case Record(fields=tuple(fields)):
                waiting.extend(fields)


def _equations(literals: list[Literal], names: set[str]) -> Iterator[tuple[Literal, str, Record]]:
    """Yield the equations of one of the variables with a record that does not contain it."""
    for literal in literals:
        match literal:
            case Comparison("=", Variable(name), Record(branch=None) as record) | Comparison(
                "=", Record(branch=None) as record, Variable(name)
            ) if name in names and name not in {each.name for each in occurrences([record])}:
                yield literal, name, record


def _anonymous(*terms: Term) -> bool:
    return any(isinstance(term, Anonymous) for term in terms)


# --- alternatives -----------------------------------------------------------------------------------------------------


_MOST = 1_000
"""The most literals of all alternatives together that are typed apart."""


def with_types_apart(rule: Rule, scheme: Scheme, names: FreshNames) -> tuple[Rule, list[Problem]] | None:
    """Return the rule with a variable for each type that a name has in the alternatives of its body, or the problems
    that alternatives have by themselves. Return None if there is only one alternative, or if there are too many."""
    number = combinations(rule.body)
    if number < 2 or number * len(rule.body) > _MOST:
        return None
    rules = [replace(rule, body=body) for body in alternatives(rule.body)]
    passed = [infer(each, scheme) for each in rules]
    if problems := [problem for _, found in passed for problem in found]:
        return rule, problems
    kinds: dict[str, Kind] = {}
    apart: list[dict[str, str]] = []
    for checked, _ in passed:
        own = variables(whole(checked), aggregates=False)
        other = [name for name in own if kinds.setdefault(name, checked.kinds[name]) != checked.kinds[name]]
        apart.append({name: names.fresh(name) for name in other})
    values = _Values(names, frozenset(name for renamed in apart for name in renamed))
    heads = tuple([replace(head, args=tuple(map(values.outside, head.args))) for head in rule.heads])
    bodies = [
        tuple([rebuild(literal, _make_copier(renamed)) for literal in (*each.body, *values.equations)])
        for each, renamed in zip(rules, apart, strict=True)
    ]
    return replace(rule, heads=heads, body=(Disjunction(tuple(bodies), span=rule.span),)), []


@dataclass
class _Values:
    """The arguments of heads with a variable that is `apart`: each alternative gives their values by itself."""

    names: FreshNames
    apart: frozenset[str]
    equations: list[Comparison] = field(default_factory=list)

    def outside(self, term: Term) -> Term:
        """Return an argument, or the variable that stands for it."""
        if self.apart.isdisjoint(variables([term])):
            return term
        variable = Variable(self.names.fresh("head", str(term)), span=term.span)
        self.equations.append(Comparison("=", variable, term, span=term.span))
        return variable


def _make_copier(renamed: Mapping[str, str]) -> Replacement:
    """Return a function that renames variables, and copies all other leaves: `infer` gives each a type of its own."""

    def change(term: Term) -> Term | None:
        if isinstance(term, Variable):
            return replace(term, name=renamed.get(term.name, term.name))
        return replace(term) if is_simple(term) else None

    return change
