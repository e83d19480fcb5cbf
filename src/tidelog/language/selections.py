"""Relations that select: which of the tuples derived for a relation it shows.

A declaration says so (`min(d)`, `choice-domain v`), a head (`dist(y, min(d + w)) :- …`), or a subsumption rule
(`d(x, c1) <= d(x, c2) :- c2 <= c1.`). `selections_of` makes one `Selection` of each, `selection_problems` finds those
that contradict each other. A subsumption rule that compares all that its tuples differ in is a minimum, a maximum or a
front; any other one stays a condition on two tuples.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from tidelog.common.source import Span
from tidelog.errors import Problem
from tidelog.language.declarations import Scheme, article, did_you_mean
from tidelog.language.functors import NUMERIC
from tidelog.language.problems import note
from tidelog.language.syntax import (
    Atom,
    Comparison,
    Disjunction,
    Functor,
    Kind,
    RelationType,
    Rule,
    SelectionClause,
    SelectOp,
    Variable,
)

SelectionForm: TypeAlias = Literal["best", "front", "dominance", "choice"]
Order: TypeAlias = tuple[int, SelectOp]
"""A column, and whether its least or its greatest values are the best."""


@dataclass(frozen=True)
class Selection:
    """The tuples that a relation shows, of all that are derived for it.

    best: for each key the first by `orders`, one after the other. front: those that no other one of their key is at
    least as good as in all of `orders`. dominance: those that no other one dominates by one of `rules`, without being
    dominated by them. choice: such that no two agree in all columns of one of `domains`. `keys` are the columns that
    tuples which compete with each other share.
    """

    relation: str
    form: SelectionForm
    keys: tuple[int, ...] = ()
    orders: tuple[Order, ...] = ()
    domains: tuple[tuple[int, ...], ...] = ()
    rules: tuple[Rule, ...] = ()
    span: Span | None = None

    @property
    def title(self) -> str:
        """The construct in words of the language."""
        names = {"choice": "`choice-domain`", "dominance": "subsumption", "front": "subsumption"}
        return names.get(self.form) or " and ".join(f"`{op}`" for op in dict.fromkeys(op for _, op in self.orders))


def with_selections(atom: Atom) -> Atom:
    """Return the head that an atom is: arguments `min(t)` and `max(t)` are terms to select by."""
    selects: list[Order] = []
    args = list(atom.args)
    for i, term in enumerate(args):
        match term:
            case Functor(name="min" | "max" as op, args=(inner,)):
                args[i] = inner
                selects.append((i, "max" if op == "max" else "min"))
    return replace(atom, args=tuple(args), selects=tuple(selects)) if selects else atom


def selections_of(
    relations: Mapping[str, RelationType], rules: Iterable[Rule], subsumptions: Iterable[Rule]
) -> dict[str, Selection]:
    found = {name: _selection_of_clauses(relation) for name, relation in relations.items() if relation.selections}
    for rule in rules:
        for head in rule.heads:
            if head.selects and head.relation not in found:
                found[head.relation] = _best(relations[head.relation], head.selects, head.span)
    by_relation: dict[str, list[Rule]] = {}
    for rule in subsumptions:
        by_relation.setdefault(rule.heads[0].relation, []).append(rule)
    for name, own in by_relation.items():
        found[name] = _dominance(relations[name], own)
    return found


def _columns(relation: RelationType, attributes: Iterable[str]) -> tuple[int, ...]:
    names = [column.name for column in relation.columns]
    return tuple(names.index(attribute) for attribute in attributes)


def _selection_of_clauses(relation: RelationType) -> Selection:
    clauses = relation.selections
    if clauses[0].op == "choice":
        domains: dict[frozenset[str], tuple[int, ...]] = {}
        for clause in clauses:
            domains.setdefault(frozenset(clause.attributes), _columns(relation, dict.fromkeys(clause.attributes)))
        return Selection(relation.name, "choice", domains=tuple(domains.values()), span=clauses[0].span)
    orders = tuple((_columns(relation, clause.attributes)[0], clause.op) for clause in clauses)
    return _best(relation, orders, clauses[0].span)


def _best(relation: RelationType, orders: tuple[Order, ...], span: Span | None) -> Selection:
    return Selection(relation.name, "best", _others(relation, orders), orders, span=span)


def _others(relation: RelationType, orders: tuple[Order, ...]) -> tuple[int, ...]:
    """Return the columns without an order."""
    ordered = {column for column, _ in orders}
    return tuple(i for i in range(len(relation.columns)) if i not in ordered)


# --- subsumption rules -----------------------------------------------------------------------------------------------


def _dominance(relation: RelationType, rules: Sequence[Rule]) -> Selection:
    """Return the selection of subsumption rules: a minimum, a maximum or a front where one rule says so."""
    span = rules[0].span
    orders = _orders(relation, rules[0]) if len(rules) == 1 else None
    if orders is not None:
        return Selection(
            relation.name, "best" if len(orders) == 1 else "front", _others(relation, orders), orders, span=span
        )
    return Selection(relation.name, "dominance", rules=tuple(rules), span=span)


def _orders(relation: RelationType, rule: Rule) -> tuple[Order, ...] | None:
    """Return the orders that a subsumption rule compares by, if it has the shape of a minimum, a maximum or a front."""
    pairs = _pairs(rule)
    if pairs is None or any(isinstance(literal, Disjunction) for literal in rule.body):
        return None
    found: dict[int, SelectOp] = {}
    for literal in rule.body:
        position = _find_order(literal, pairs)
        if position is None or position[0] in found or relation.columns[position[0]].kind not in NUMERIC:
            return None
        found[position[0]] = position[1]
        if isinstance(literal, Comparison) and literal.op in ("<", ">") and len(pairs) > 1:
            return None
    return tuple(sorted(found.items())) if found.keys() == pairs.keys() else None


def _pairs(rule: Rule) -> dict[int, tuple[str, str]] | None:
    """Return the variables of the worse and the better tuple in the columns in which they differ, if all of their
    arguments are variables, each of which stands in one column."""
    worse, better = rule.heads
    pairs: dict[int, tuple[str, str]] = {}
    names: list[str] = []
    for i, (one, other) in enumerate(zip(worse.args, better.args, strict=True)):
        if not isinstance(one, Variable) or not isinstance(other, Variable):
            return None
        names += {one.name, other.name}
        if one.name != other.name:
            pairs[i] = one.name, other.name
    return pairs if len(set(names)) == len(names) else None


def _find_order(literal: object, pairs: Mapping[int, tuple[str, str]]) -> Order | None:
    """Return the column that a literal compares and its better values, None for any other literal."""
    if not isinstance(literal, Comparison) or literal.op not in ("<", "<=", ">", ">="):
        return None
    if not isinstance(literal.left, Variable) or not isinstance(literal.right, Variable):
        return None
    small, large = literal.left.name, literal.right.name
    if literal.op in (">", ">="):
        small, large = large, small
    for column, (worse, better) in pairs.items():
        if (small, large) == (better, worse):
            return column, "min"
        if (small, large) == (worse, better):
            return column, "max"
    return None


# --- problems --------------------------------------------------------------------------------------------------------


def selection_problems(scheme: Scheme, rules: Sequence[Rule]) -> list[Problem]:
    """Return what is wrong with the selections of declarations and rules (E0250 to E0253)."""
    problems = [
        problem
        for relation in scheme.relations.values()
        if relation.selections
        for problem in _clause_problems(relation, scheme)
    ]
    ways: dict[str, list[tuple[str, Span | None]]] = {}
    for relation in scheme.relations.values():
        if relation.selections:
            ways[relation.name] = [(_text(relation.selections), relation.selections[0].span)]
    for rule in rules:
        if rule.subsumes:
            problems += _subsumption_problems(rule)
        for head in rule.heads:
            if not (rule.subsumes or head.selects) or head.relation not in scheme.relations:
                continue
            relation = scheme.relations[head.relation]
            if len(relation.columns) != len(head.args):
                continue
            if rule.subsumes and head is rule.heads[0]:
                ways.setdefault(head.relation, []).append(("subsumption", rule.span))
            elif head.selects:
                problems += _order_problems(relation, head)
                text = ", ".join(f"{op}({relation.columns[i].name})" for i, op in head.selects)
                ways.setdefault(head.relation, []).append((text, head.span))
    for name, found in ways.items():
        problems += _conflicts(scheme.relations[name], found)
    return problems


def _text(clauses: Sequence[SelectionClause]) -> str:
    """Return the selections of a declaration as they are written."""
    return f"{'choice-domain ' if clauses[0].op == 'choice' else ''}{', '.join(map(str, clauses))}"


def two_ways(name: str, clauses: Sequence[SelectionClause], span: Span | None) -> Problem:
    """Return the problem (E0253) of a relation that selects by its `clauses`, and in another way at `span`."""
    return _two_ways(name, _text(clauses), clauses[0].span, span)


def _two_ways(name: str, first: str, place: Span | None, span: Span | None) -> Problem:
    written = first if first == "subsumption" else f"`{first}`"
    hint = "select in one way; several orders stand in one list: `min(a), min(b)`"
    hint = "keep the domains, or the other selection" if first.startswith("choice-domain") else hint
    return Problem("E0253", f"`{name}` selects in two ways", span, note(place, f"{written} here"), hint)


def _clause_problems(relation: RelationType, scheme: Scheme) -> Iterator[Problem]:
    columns = {column.name: column for column in relation.columns}
    ordered: set[str] = set()
    for clause in relation.selections:
        for name in clause.attributes:
            if name not in columns:
                others = f"name an attribute: {', '.join(columns)}" if columns else "remove it: there are no attributes"
                hint = did_you_mean(name, columns) or others
                yield Problem("E0250", f"`{relation.name}` has no attribute `{name}`", clause.span, hint=hint)
            elif clause.op == "choice":
                continue  # a domain, or an attribute in one, may stand twice
            elif name in ordered:
                hint = "name each attribute once"
                yield Problem("E0250", f"`{name}` is named twice in a selection", clause.span, hint=hint)
            elif columns[name].kind not in (*NUMERIC, "?"):
                place = scheme.places.get((relation.name, name))
                yield _no_order(relation, name, columns[name].kind, clause.op, clause.span, place)
            ordered.add(name)


def _order_problems(relation: RelationType, head: Atom) -> Iterator[Problem]:
    for i, op in head.selects:
        column = relation.columns[i]
        if column.kind not in (*NUMERIC, "?"):
            yield _no_order(relation, column.name, column.kind, op, head.args[i].span, None)


def _no_order(
    relation: RelationType, name: str, kind: Kind, op: SelectOp, span: Span | None, place: Span | None
) -> Problem:
    message = f"`{op}` selects by numbers, but `{name}` of `{relation.name}` is {article(kind)}"
    hint = "select by a number, an unsigned or a float, or write a subsumption rule"
    return Problem("E0251", message, span, note(place, "declared here"), hint)


def _subsumption_problems(rule: Rule) -> Iterator[Problem]:
    worse, better = rule.heads
    if worse.relation != better.relation:
        message = f"a tuple of `{better.relation}` cannot dominate one of `{worse.relation}`"
        yield Problem("E0252", message, better.span, hint=f"compare two tuples of `{worse.relation}`")


def _conflicts(relation: RelationType, ways: Sequence[tuple[str, Span | None]]) -> Iterator[Problem]:
    """Yield a problem for the first way to select that contradicts another one, or the qualifiers of the relation."""
    first, *others = ways
    for text, span in others:
        if text != first[0]:
            yield _two_ways(relation.name, *first, span)
            return
    closed = next((word for word in ("inline", "eqrel") if word in relation.qualifiers), None)
    if closed is not None:
        message = f"`{relation.name}` selects, and is `{closed}`"
        yield Problem("E0253", message, first[1], hint=f"remove `{closed}`, or the selection")
