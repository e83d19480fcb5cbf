"""The values that the columns of recursive relations can have at most, for the groups of aggregates in the recursion.

An aggregate has to be complete before the recursion reads it, so its groups cannot come from the recursion itself. For

    q(x) :- p(x, m), m > count : { f(y), y < x }.        p(x, m) :- q(y), e(y, x, m).

the groups are taken from relations of a lower stratum that contain at least the same values:

    #values.p(x, m) :- #values.q(y), e(y, x, m).         #values.q(x) :- #values.p(x, m).

They have the *bounded* columns of the recursive relations, those whose values no rule computes from values of the same
recursion, except by counting up or down to a limit. Their rules are the recursive rules without aggregates, calls of
functors in Python, and columns that are not bounded. The values of all members stand for that of a `min`, `max` or
`any`. Groups too many do no harm: the rule reads only those that it has.

Facts asserted for a recursive relation are values of its columns. They belong into a relation of their own, `#facts.p`,
which `p(x, m) :- #facts.p(x, m)` and `#values.p(x, m) :- #facts.p(x, m)` read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tidelog.language.counters import counters_in
from tidelog.language.paths import steps
from tidelog.language.syntax import (
    Aggregate,
    Atom,
    Cast,
    Column,
    Comparison,
    Constant,
    Disjunction,
    Functor,
    Kind,
    Literal,
    Negation,
    Record,
    RelationType,
    Rule,
    Term,
    Truth,
    Variable,
)
from tidelog.language.trees import rebuild, rebuild_term, variables, walk, whole
from tidelog.rules.bench import Bench
from tidelog.rules.grounding import evaluable, grounded
from tidelog.rules.kinds import local_kinds, result_kind

VALUES, FACTS = "#values.", "#facts."
"""How the names of relations begin that have the values of another one, and its facts."""

_FEW = 1 << 16
"""Values that relations of values may have although the recursion may not."""

Bounded = Mapping[str, tuple[int, ...]]
"""The bounded columns of recursive relations."""


@dataclass(frozen=True)
class Reached:
    """The values that the relations of a recursion can have at most: the rules of the recursion, their bounded columns,
    and the rules and relations that derive the values of these columns."""

    own: tuple[Rule, ...]
    columns: Bounded
    rules: tuple[Rule, ...]
    relations: Mapping[str, RelationType]


def facts_of(name: str) -> str:
    """Return the relation of the facts that are asserted for a relation."""
    return f"{FACTS}{name}"


def reached(names: Collection[str], own: Sequence[Rule], bench: Bench) -> Reached:
    """Return the values that the relations of a recursion can have at most; `own` are the rules that derive them."""
    relations = bench.relations
    columns = _bounded(names, own, bench)
    rules: list[Rule] = []
    added: dict[str, RelationType] = {}
    for name, kept in columns.items():
        info = relations[name]
        if kept:
            shape = tuple(info.columns[i] for i in kept)
            added[f"{VALUES}{name}"] = RelationType(f"{VALUES}{name}", shape)
            added[facts_of(name)] = RelationType(facts_of(name), info.columns)
            rules += _of_facts(info, kept)
    for rule in own:
        weaker = relaxed(rule, columns, bench)
        for i, head in enumerate(rule.heads):
            kept = columns.get(head.relation, ())
            if kept:
                made = Atom(f"{VALUES}{head.relation}", tuple(head.args[i] for i in kept), span=head.span)
                name = f"{VALUES}{head.relation}.{rule.name}.{i}"
                rules.append(replace(weaker, name=name, heads=(made,)))
    return Reached(tuple(own), columns, tuple(rules), added)


def _of_facts(info: RelationType, kept: Iterable[int]) -> tuple[Rule, Rule]:
    """Return the rules that read the facts of a relation."""
    args = tuple(Variable(f"x{i}", span=info.span) for i in range(len(info.columns)))
    kinds = {arg.name: column.kind for arg, column in zip(args, info.columns, strict=True)}
    facts = (Atom(facts_of(info.name), args, span=info.span),)
    values = Atom(f"{VALUES}{info.name}", tuple(args[i] for i in kept), span=info.span)
    head = Atom(info.name, args, span=info.span)
    return (
        Rule(facts_of(info.name), (head,), facts, kinds, span=info.span),
        Rule(f"{VALUES}{info.name}", (values,), facts, kinds, span=info.span),
    )


# --- rules without the recursion -------------------------------------------------------------------------------------


def relaxed(rule: Rule, columns: Bounded, bench: Bench) -> Rule:
    """Return a rule that holds at least where `rule` does, and reads values instead of the recursive relations
    `columns`, if it reads any of these."""
    if _is_independent(rule, columns):
        return rule
    relaxing = _Relaxing(columns, bench, set(variables(whole(rule), aggregates=False)), {**rule.kinds})
    body = evaluable(tuple(relaxing.body(rule.body)))
    return replace(rule, body=body, kinds=relaxing.kinds, plan=())


@dataclass
class _Relaxing:
    """Relaxes the body of a rule with the variables `outside` of aggregates, and notes the `kinds` of new variables."""

    columns: Bounded
    bench: Bench
    outside: set[str]
    kinds: dict[str, Kind]
    members_of: int = 0

    def body(self, body: Iterable[Literal]) -> Iterator[Literal]:
        for literal in body:
            match literal:
                case Disjunction(alternatives=alternatives):
                    weaker = tuple(tuple(self.body(each)) or (Truth(True),) for each in alternatives)
                    yield replace(literal, alternatives=weaker)
                case Comparison(op="=", left=Aggregate() as aggregate, right=value):
                    yield from self.members(aggregate, value)
                case Comparison(op="=", left=value, right=Aggregate() as aggregate):
                    yield from self.members(aggregate, value)
                case _ if _cannot_stay(literal):
                    pass  # a function is called for no other arguments than those of the program
                case _ if self.columns.keys().isdisjoint(_reads([literal])):
                    yield literal
                case Atom(relation=name, args=args, path=None) if self.columns[name]:
                    yield Atom(f"{VALUES}{name}", tuple(args[i] for i in self.columns[name]), span=literal.span)

    def members(self, aggregate: Aggregate, value: Term) -> Iterator[Literal]:
        """Yield literals that hold for each value of an aggregate that is the value of a member; none for others."""
        if aggregate.op not in ("min", "max", "any") or aggregate.target is None:
            return
        if any(isinstance(part, Atom) and part.path is not None for part in walk(aggregate.body)):
            return
        self.members_of += 1
        number = self.members_of
        kinds = local_kinds(aggregate.body, self.bench)

        def apart(term: Term) -> Term | None:
            if not isinstance(term, Variable) or term.name in self.outside:
                return None
            name = f"{term.name}#{number}"
            self.kinds[name] = kinds.get(term.name) or self.kinds[term.name]
            return replace(term, name=name)

        target = rebuild_term(aggregate.target, apart)
        yield from self.body(rebuild(literal, apart) for literal in aggregate.body)
        yield Comparison("=", value, target, kind=aggregate.kind or result_kind(aggregate), span=aggregate.span)


def _reads(body: Iterable[Literal]) -> Iterator[str]:
    for node in walk(body):
        if isinstance(node, Atom):
            yield from [each.relation for each in steps(node.path)] if node.path is not None else [node.relation]


# --- bounded columns -------------------------------------------------------------------------------------------------


def _bounded(names: Collection[str], own: Sequence[Rule], bench: Bench) -> Bounded:
    """Return the bounded columns of recursive relations: the largest sets that all rules keep."""
    relations = bench.relations
    columns: Bounded = {name: tuple(range(len(relations[name].columns))) for name in sorted(names)}
    while True:
        now: Bounded = columns
        for rule in own:
            values = _Values(rule, columns, bench)
            for head in rule.heads:
                shape = relations[head.relation].columns
                kept = tuple(i for i in now.get(head.relation, ()) if values.has(head.args[i], shape[i]))
                now = {**now, head.relation: kept} if head.relation in names else now
        if now == columns:
            return columns
        columns = now


class _Values:
    """The variables of a rule whose values come unchanged from bounded columns (`plain`), and those that have finitely
    many values whatever the recursion holds (`steady`)."""

    def __init__(self, rule: Rule, columns: Bounded, bench: Bench) -> None:
        self.independent = _is_independent(rule, columns)
        self.body = relaxed(rule, columns, bench).body
        self.known = grounded(self.body)
        outside = tuple(each for each in self.body if not any(name.startswith(VALUES) for name in _reads([each])))
        self.steady = grounded(evaluable(outside))
        size = -1
        while len(self.steady) > size:
            size = len(self.steady)
            self.steady |= {name for name, value in _equations(self.body) if self._closed(value)}
        self.plain = grounded([each for each in self.body if not _computes(each)], self.steady)

    def has(self, term: Term, column: Column) -> bool:
        """Return True if a head's `term` has bounded values."""
        if self.independent:
            return True
        if not self.known.issuperset(variables([term])) or _cannot_stay(term):
            return False
        return self._closed(term) or self._copied(term) or (column.kind == "number" and self._counts(term))

    def _closed(self, term: Term) -> bool:
        """Return True if the term has finitely many values whatever the recursion holds."""
        match term:
            case Functor(name="%" | "band", args=(_, Constant(value=int(most)))) if 0 <= most <= _FEW:
                return True  # a rest, or some bits, of whatever there is
            case Functor(name="land" | "lor" | "lxor" | "lnot"):
                return True
            case Functor(args=parts) | Record(fields=tuple(parts)):
                return all(map(self._closed, parts))
            case Cast(term=inner):
                return self._closed(inner)
            case Variable(name=name):
                return name in self.steady
        return isinstance(term, Constant | Record)

    def _copied(self, term: Term) -> bool:
        """Return True if the term is a value of a bounded column, or the least or the greatest of some."""
        match term:
            case Functor(name="min" | "max", args=parts):
                return all(self._closed(part) or self._copied(part) for part in parts)
            case Cast(term=inner):
                return self._copied(inner)
        return isinstance(term, Variable) and term.name in self.plain

    def _counts(self, term: Term) -> bool:
        """Return True if the term is a value, plus or minus a constant, up or down to a limit."""
        same = {term}
        for literal in self.body:
            match literal:
                case Comparison(op="=", left=left, right=right) if term in (left, right):
                    same |= {left, right}
        for step in same:
            match step:
                case Functor(name="+" | "-" as sign, args=(Variable(name=name) as start, Constant(value=int(by)))):
                    if name in self.plain and self._limited({*same, start}, up=(sign == "+") == (by > 0)):
                        return True
        return False

    def _limited(self, terms: Collection[Term], *, up: bool) -> bool:
        """Return True if the body compares one of the terms with a limit from outside of the recursion."""
        for literal in self.body:
            match literal:
                case Comparison(op="<" | "<=", left=left, right=right):
                    low, high = left, right
                case Comparison(op=">" | ">=", left=left, right=right):
                    low, high = right, left
                case _:
                    continue
            value, limit = (low, high) if up else (high, low)
            if value in terms and self.steady.issuperset(variables([limit])):
                return True
        return False


def _cannot_stay(tree: Term | Literal) -> bool:
    """Return True for a part of a rule that rules of values cannot have."""
    parts = walk([tree])
    return any(isinstance(part, Aggregate) or (isinstance(part, Functor) and part.declared) for part in parts) or any(
        counters_in([tree])
    )


def _is_independent(rule: Rule, columns: Bounded) -> bool:
    """Return True if a rule has all of its tuples before the recursion begins, the same each time."""
    return columns.keys().isdisjoint(_reads(rule.body)) and not any(counters_in(whole(rule)))


def _equations(body: Iterable[Literal]) -> Iterator[tuple[str, Term]]:
    for literal in body:
        match literal:
            case Comparison(op="=", left=left, right=right):
                yield from (
                    (one.name, other) for one, other in ((left, right), (right, left)) if isinstance(one, Variable)
                )


def _computes(literal: Literal) -> bool:
    """Return True if a literal may make new values."""
    match literal:
        case Comparison(left=left, right=right):
            return any(isinstance(part, Functor | Record) for part in walk([left, right]))
        case Disjunction(alternatives=alternatives):
            return any(_computes(each) for alternative in alternatives for each in alternative)
        case Negation():
            return True
    return False
