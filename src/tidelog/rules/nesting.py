"""Every value that is computed or built gets a literal of its own: afterwards all arguments are variables or constants.

a(x + 1)               ->  a(#v1), #v1 = x + 1
h([x, y]) :- …         ->  h(#v1) :- …, #v1 = [x, y]
[x, 1] = [2, y]        ->  x = 2, 1 = y
cat(a, b, c) = t       ->  #v1 = cat(a, b), t = cat(#v1, c)

Before that, `casts` turns casts between record types of equal layout into equations: the fields of one record make
another one, because records of different types have numbers of their own.

    s(as(x, S)) :- r(x).  ->  s(#v1) :- r(x), (x = nil, #v1 = nil ; x = [#v2, #v3], #v1 = [#v2, #v3]).

All other casts keep the word, and stay.
"""

from __future__ import annotations

from dataclasses import replace

from tidelog.language.syntax import (
    Aggregate,
    Anonymous,
    Atom,
    Cast,
    Comparison,
    Constant,
    Disjunction,
    Functor,
    Kind,
    Literal,
    Negation,
    Record,
    Rule,
    Term,
    Variable,
)
from tidelog.language.trees import is_simple, rebuild, rebuild_atom, rebuild_term, walk, whole
from tidelog.rules.rewrite_state import RewriteState, kind_of


def casts(rule: Rule, state: RewriteState) -> tuple[Rule, ...]:
    """Return the rule with equations in place of casts between record types."""
    if not any(isinstance(node, Cast) and node.kind in state.records for node in walk(whole(rule), aggregates=False)):
        return (rule,)
    work = _Casts(rule, state)
    heads = tuple([rebuild_atom(head, work.term) for head in rule.heads])
    added, work.added = work.added, []
    return (replace(rule, heads=heads, body=(*work.body(rule.body), *added)),)


class _Casts:
    """The rewriting of one rule, with the literals that it `added` for a literal or the heads."""

    def __init__(self, rule: Rule, state: RewriteState) -> None:
        self.rule = rule
        self.state = state
        self.added: list[Literal] = []

    def body(self, body: tuple[Literal, ...]) -> tuple[Literal, ...]:
        found: list[Literal] = []
        for literal in body:
            if isinstance(literal, Disjunction):
                found.append(replace(literal, alternatives=tuple(map(self.body, literal.alternatives))))
                continue
            outside, self.added = self.added, []
            found += [rebuild(literal, self.term), *self.added]
            self.added = outside
        return tuple(found)

    def term(self, term: Term) -> Term | None:
        """Return the variable for a cast between record types; None for other terms."""
        if isinstance(term, Aggregate):
            return term
        if not isinstance(term, Cast) or isinstance(term.term, Anonymous):
            return None
        if term.kind is None or term.kind not in self.state.records:
            return None
        source = kind_of(term.term, self.rule, self.state)
        if source == term.kind:
            return None
        given, made = rebuild_term(term.term, self.term), self.state.variable("v", term.kind)
        self.added.append(self.equal(given, source, made, term.kind))
        return made

    def equal(self, one: Term, kind: Kind, other: Variable, other_kind: Kind) -> Literal:
        """Return the literal that holds for records of two types with equal fields, and for `nil` of both."""
        first, second, inner = list[Term](), list[Term](), list[Literal]()
        columns = zip(self.state.records[kind].fields, self.state.records[other_kind].fields, strict=True)
        for column, other_column in columns:
            field = self.state.variable("v", column.kind)
            first.append(field)
            if column.kind == other_column.kind:
                second.append(field)
            else:
                second.append(made := self.state.variable("v", other_column.kind))
                inner.append(self.equal(field, column.kind, made, other_column.kind))
        nothing = (
            _equal_terms(one, Record(None, kind), kind),
            _equal_terms(other, Record(None, other_kind), other_kind),
        )
        both = (
            _equal_terms(one, Record(tuple(first), kind), kind),
            _equal_terms(other, Record(tuple(second), other_kind), other_kind),
        )
        return Disjunction((nothing, (*both, *inner)))


def _equal_terms(one: Term, other: Term, kind: Kind) -> Comparison:
    return Comparison("=", one, other, kind)


_NEVER = Comparison("=", Constant(0, "number"), Constant(1, "number"), "number")
_FOLDED = ("cat", "min", "max")  # functors of any number of arguments; in the core language they have two


def nesting(rule: Rule, state: RewriteState) -> tuple[Rule, ...]:
    """Return the rule with flat atoms, and with equations `variable = functor, record or cast of flat arguments`."""
    flat = _Flat(rule, state)
    for literal in rule.body:
        flat.literal(literal)
    heads = tuple([flat.atom(head) for head in rule.heads])
    return (replace(rule, heads=heads, body=tuple(flat.body)),)


class _Flat:
    """A flat body in the making."""

    def __init__(self, rule: Rule, state: RewriteState) -> None:
        self.rule = rule
        self.state = state
        self.body: list[Literal] = []

    def literal(self, literal: Literal) -> None:
        match literal:
            case Atom():
                place = len(self.body)
                self.body.insert(place, self.atom(literal))
            case Negation(atom=atom):
                self.body.append(replace(literal, atom=self.atom(atom)))
            case Comparison(op="=", left=left, right=right):
                self._equation(left, right, literal)
            case Comparison(left=left, right=right):
                self.body.append(replace(literal, left=self._simple(left), right=self._simple(right)))
            case _:
                self.body.append(literal)

    def atom(self, atom: Atom) -> Atom:
        return replace(atom, args=tuple([self._simple(arg) for arg in atom.args]))

    def _equation(self, left: Term, right: Term, literal: Comparison) -> None:
        left, right = self._core(left), self._core(right)
        if isinstance(left, Record) and isinstance(right, Record) and left.branch != right.branch:
            self.body.append(_NEVER)
            return
        if (
            isinstance(left, Record)
            and isinstance(right, Record)
            and left.fields is not None
            and right.fields is not None
        ):
            columns = self.state.records[kind_of(left, self.rule, self.state)].parts(left.branch)
            for one, other, column in zip(left.fields, right.fields, columns, strict=True):
                self._equation(one, other, replace(literal, kind=column.kind))
            return
        if is_simple(right):
            left, right = right, left
        left = self._simple(left)
        right = right if is_simple(right) else self._flat(right)
        self.body.append(replace(literal, left=left, right=right))

    def _simple(self, term: Term) -> Term:
        """Return a variable or constant with the value of `term`; the body gets the literals that compute it."""
        term = self._core(term)
        if not isinstance(term, Functor | Record | Cast) or is_simple(term):
            return term
        kind = kind_of(term, self.rule, self.state)
        flat = self._flat(term)
        variable = self.state.variable("v", kind)
        self.body.append(Comparison("=", variable, flat, kind=kind, span=term.span))
        return variable

    def _flat(self, term: Term) -> Term:
        """Return the term with simple arguments."""
        match term:
            case Functor(name=name, args=args) if name in _FOLDED and len(args) > 2:
                middle = (len(args) + 1) // 2
                halves = (args[:middle], args[middle:])
                parts = [replace(term, args=half) if len(half) > 1 else half[0] for half in halves]
                return replace(term, args=tuple([self._simple(part) for part in parts]))
            case Functor(args=args):
                return replace(term, args=tuple([self._simple(arg) for arg in args]))
            case Record(fields=fields) if fields is not None:
                return replace(term, fields=tuple([self._simple(field) for field in fields]))
            case Cast(term=inner):
                return replace(term, term=self._simple(inner))
        return term

    def _core(self, term: Term) -> Term:
        """Return the term without casts that change nothing and without a minus sign in front of a number."""
        while isinstance(term, Cast) and term.kind == kind_of(term.term, self.rule, self.state):
            term = term.term
        match term:
            case Functor(name="neg", args=(Constant(value=int() | float() as value) as constant,), result=kind):
                if value != 0 and kind != "unsigned" and value != -(2**63):
                    return replace(constant, value=-value, kind=kind)
        return term
