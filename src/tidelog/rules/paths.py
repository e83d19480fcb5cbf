"""Rewriting of an atom with a path to atoms of plain relations, some of them auxiliary, with rules of these shapes.

    <a/^b>(x, y)    a(x, #node1), b(y, #node1)                        in the rule itself, for its only sequence
    <a/^b>(x, y)    c(x, y)                                           for each of several sequences
    a+              c(x, y) :- a(x, y).      c(x, z) :- c(x, y), a(y, z).
    a*              c(x, y) :- a(x, y).      c(x, z) :- c(x, y), a(y, z).     c(x, x) :- #nodes.t(x).
    a?              c(x, y) :- a(x, y).      c(x, x) :- #nodes.t(x).
    a|^b            c(x, y) :- a(x, y).      c(x, y) :- b(y, x).
    a/b             c(x, y) :- a(x, m1), b(m1, y).                     where one of the others needs it

The auxiliary relation of a path is called `#path.` and its normal form, so that equal parts of paths are one relation
in the whole program and keep their rows when rules change. A sequence in a rule derives a tuple once for each way
between its ends, and for several sequences these numbers multiply: so each of them is a relation, in which a pair is
there once. A sequence alone, or from or to a constant, stays in the rule, where the other literals bind its ends. What
a sequence repeats is a relation as well: a/b/a/b is (a/b)/(a/b). `#nodes.t` holds the values of the type t in binary
relations that no rule derives: the nodes that `*` and `?` lead to themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count

from tidelog.common.source import Span
from tidelog.language.paths import steps
from tidelog.language.syntax import (
    Aggregate,
    Anonymous,
    Atom,
    Disjunction,
    Kind,
    Literal,
    Negation,
    Rule,
    Term,
    Variable,
)
from tidelog.language.trees import rebuild, rebuild_atom, rebuild_term, walk, whole
from tidelog.rules.bench import Bench
from tidelog.rules.path_forms import NODES, PATH, Made, PathForm, Repetition, Union, join, normal_form, shared

_X, _Y, _Z = Variable("x"), Variable("y"), Variable("z")
MOST_STEPS = 8
"""Longer sequences are cut into relations of their own, because plans of long bodies are expensive to make."""


def paths(rule: Rule, bench: Bench) -> tuple[Rule, ...]:
    """Return the rule without paths. The bench gets rules of auxiliary relations that the program lacks."""
    if not any(isinstance(node, Atom) and node.path is not None for node in walk(whole(rule))):
        return (rule,)
    rewriting = _Rewriting(bench, rule.span, _several(rule.body))
    heads = tuple([rebuild_atom(head, rewriting.term) for head in rule.heads])
    return (replace(rule, heads=heads, body=rewriting.body(rule.body)),)


@dataclass
class _Rewriting:
    """`span` is the place of the path in hand; `several` is True if the body of the rule has several sequences."""

    bench: Bench
    span: Span | None
    several: bool

    # --- literals ----------------------------------------------------------------------------------------------------

    def body(self, body: Iterable[Literal], *, single: bool = False) -> tuple[Literal, ...]:
        """Return the body with plain atoms, one for each path if `single`: an aggregate ranges over pairs, not over the
        nodes between them."""
        return tuple(part for literal in body for part in self.literal(literal, single))

    def literal(self, literal: Literal, single: bool) -> tuple[Literal, ...]:
        match literal:
            case Atom(path=path) if path is not None:
                return tuple(self.atoms(rebuild_atom(literal, self.term), single))
            case Negation(atom=Atom(path=path) as atom) if path is not None:
                return (replace(literal, atom=self.atoms(rebuild_atom(atom, self.term), single=True)[0]),)
            case Disjunction(alternatives=alternatives):
                return (
                    replace(literal, alternatives=tuple([self.body(each, single=single) for each in alternatives])),
                )
        return (rebuild(literal, self.term),)

    def term(self, term: Term) -> Term | None:
        """Return the term with the bodies of its aggregates rewritten."""
        if not isinstance(term, Aggregate):
            return None
        target = None if term.target is None else rebuild_term(term.target, self.term)
        return replace(term, target=target, body=self.body(term.body, single=True))

    def atoms(self, atom: Atom, single: bool) -> list[Atom]:
        """Return the atoms that stand for one with a path."""
        assert atom.path is not None
        self.span = atom.span
        form = normal_form(atom.path)
        begin, end = atom.args
        free = all(isinstance(each, Variable | Anonymous) for each in atom.args)
        if single or (self.several and free):
            form = (join(form),)
        form = _cut(form)
        form = shared(form) if free else form
        found = self.along(form, begin, end, lambda kind: self.bench.variable("node", kind))
        if any(step.relation in self.bench.recursive for step in steps(atom.path)):
            self.bench.recursive |= {each.relation for each in found}
        return found

    def along(self, form: PathForm, begin: Term, end: Term, fresh: Callable[[Kind], Variable]) -> list[Atom]:
        """Return the atoms that lead from `begin` to `end`, with `fresh` variables of these kinds between them."""
        atoms = []
        for i, edge in enumerate(form):
            name = self.relation(edge.relation)
            columns = self.bench.columns(name)
            last = end if i == len(form) - 1 else fresh(columns[0 if edge.backward else 1].kind)
            atoms.append(self.atom(name, last, begin) if edge.backward else self.atom(name, begin, last))
            begin = last
        return atoms

    # --- auxiliary relations -----------------------------------------------------------------------------------------

    def relation(self, made: str | Made) -> str:
        """Return the name of a relation; the bench gets its rules if the program lacks them."""
        if isinstance(made, str):
            return made
        name = f"{PATH}{made.text}"
        if name not in self.bench.shared:
            self.define(name, made)
        return name

    def define(self, name: str, made: Made) -> None:
        """Declare the relation of a form and leave its rules, the same whichever rule of the user needs them first."""
        forms = made.forms if isinstance(made, Union) else (made.form,)
        if isinstance(made, Repetition) and made.op != "?":
            forms = ((join(made.form),),)
        bodies = [self.along(shared(_cut(form)), _X, _Y, _between()) for form in forms]
        kinds = self.kinds(bodies[0])
        self.bench.share(name, [("x", kinds["x"]), ("y", kinds["y"])])
        for body in bodies:
            self.leave(name, self.atom(name, _X, _Y), body)
        if isinstance(made, Repetition):
            if made.op != "?":
                onward = self.atom(bodies[0][0].relation, _Y, _Z)
                self.leave(name, self.atom(name, _X, _Z), [self.atom(name, _X, _Y), onward])
            nodes = None if made.op == "+" else self.nodes(made.domain or "", kinds["x"])
            if nodes is not None:
                self.leave(name, self.atom(name, _X, _X), [self.atom(nodes, _X)])

    def nodes(self, domain: str, kind: Kind) -> str | None:
        """Return the relation of the nodes of a type; None if the program has none."""
        name = f"{NODES}{domain}"
        columns = self.bench.nodes.get(domain, ())
        if columns and name not in self.bench.shared:
            self.bench.share(name, [("x", kind)])
            for relation, position in columns:
                body = self.atom(relation, _X, _Y) if position == 0 else self.atom(relation, _Y, _X)
                # with a name of its own, so that it stays the same rule when other relations come and go
                self.leave(f"{name}.{relation}.{position}", self.atom(name, _X), [body])
        return name if columns else None

    def leave(self, name: str, head: Atom, body: Sequence[Atom]) -> None:
        """Leave a rule on the bench."""
        self.bench.pending.append(Rule(name, (head,), tuple(body), self.kinds(body), span=self.span))

    def atom(self, relation: str, *args: Term) -> Atom:
        return Atom(relation, args, span=self.span)

    def kinds(self, body: Iterable[Atom]) -> dict[str, Kind]:
        """Return the kinds of the variables of atoms that have only variables."""
        return {
            arg.name: column.kind
            for atom in body
            for arg, column in zip(atom.args, self.bench.columns(atom.relation), strict=True)
            if isinstance(arg, Variable)
        }


def _between() -> Callable[[Kind], Variable]:
    """Return variables for the nodes between two ends."""
    names = map("m{}".format, count(1))
    return lambda _: Variable(next(names))


def _several(body: Iterable[Literal]) -> bool:
    """Return True if more than one of the atoms that a body derives from is a sequence."""
    nodes = list(walk(body, aggregates=False))
    negated = {id(node.atom) for node in nodes if isinstance(node, Negation)}
    atoms = [node for node in nodes if isinstance(node, Atom) and id(node) not in negated]
    return sum(len(normal_form(atom.path)) > 1 for atom in atoms if atom.path is not None) > 1


def _cut(form: PathForm) -> PathForm:
    """Return the form with at most MOST_STEPS edges."""
    while len(form) > MOST_STEPS:
        pieces = [form[i : i + MOST_STEPS] for i in range(0, len(form), MOST_STEPS)]
        form = tuple([join(piece) for piece in pieces])
    return form
