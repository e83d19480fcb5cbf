"""Every value that is computed or built gets a literal of its own: afterwards all arguments are variables or constants.

a(x + 1)               ->  a(#v1), #v1 = x + 1
h([x, y]) :- …         ->  h(#v1) :- …, #v1 = [x, y]
[x, 1] = [2, y]        ->  x = 2, 1 = y
cat(a, b, c) = t       ->  #v1 = cat(a, b), t = cat(#v1, c)
"""

from __future__ import annotations

from dataclasses import replace

from tidelog.language.syntax import (
    Atom,
    Cast,
    Comparison,
    Constant,
    Functor,
    Literal,
    Negation,
    Record,
    Rule,
    Term,
)
from tidelog.language.trees import is_simple
from tidelog.rules.bench import Bench
from tidelog.rules.kinds import kind_of

_NEVER = Comparison("=", Constant(0, "number"), Constant(1, "number"), "number")
_FOLDED = ("cat", "min", "max")  # functors of any number of arguments; in the core language they have two


def nesting(rule: Rule, bench: Bench) -> tuple[Rule, ...]:
    """Return the rule with flat atoms, and with equations `variable = functor, record or cast of flat arguments`."""
    flat = _Flat(rule, bench)
    for literal in rule.body:
        flat.literal(literal)
    heads = tuple([flat.atom(head) for head in rule.heads])
    return (replace(rule, heads=heads, body=tuple(flat.body)),)


class _Flat:
    """A flat body in the making."""

    def __init__(self, rule: Rule, bench: Bench) -> None:
        self.rule = rule
        self.bench = bench
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
            columns = self.bench.records[kind_of(left, self.rule, self.bench)].parts(left.branch)
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
        kind = kind_of(term, self.rule, self.bench)
        flat = self._flat(term)
        variable = self.bench.variable("v", kind)
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
        while isinstance(term, Cast) and term.kind == kind_of(term.term, self.rule, self.bench):
            term = term.term
        match term:
            case Functor(name="neg", args=(Constant(value=int() | float() as value) as constant,), result=kind):
                if value != 0 and kind != "unsigned" and value != -(2**63):
                    return replace(constant, value=-value, kind=kind)
        return term
