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

The normal form of a path is a sequence of edges, each along a relation or against it. Inverses stand at edges only,
repetitions of repetitions are one, alternatives are ordered and each is there once:

    ^(a/b) = ^b/^a    ^^a = a    (a+)+ = a+    (a+)* = (a?)+ = a*    (^a)+ = ^(a+)    a|(b|a) = a|b
    (a|b|a/b)+ = (a|b)+
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import count
from typing import TypeAlias

from tidelog.common.source import Span
from tidelog.language.paths import steps
from tidelog.language.syntax import (
    Alternation,
    Anonymous,
    Atom,
    Disjunction,
    Inverse,
    Kind,
    Literal,
    Negation,
    Path,
    Repeat,
    RepeatOp,
    Rule,
    Sequence,
    Step,
    Term,
    Variable,
)
from tidelog.language.trees import has_path, in_aggregates, rebuild, rebuild_atom, walk, whole
from tidelog.rules.rewrite_state import RewriteState

PATH, NODES = "#path.", "#nodes."
"""How the names begin of the relations of paths, and of those of the nodes of a type."""


def has_nodes(relation: str) -> bool:
    """Return True if the rows of a relation of paths depend on what counts as a node."""
    return relation.startswith(NODES) or (relation.startswith(PATH) and ("*" in relation or "?" in relation))


@dataclass(frozen=True)
class Edge:
    """A relation along which, or `backward` against which, a path goes: declared, or made of forms."""

    relation: str | Made
    backward: bool = False

    @property
    def text(self) -> str:
        made = self.relation
        operand = made if isinstance(made, str) else made.text if isinstance(made, Repetition) else f"({made.text})"
        return f"^{operand}" if self.backward else operand


PathForm: TypeAlias = tuple[Edge, ...]


@dataclass(frozen=True)
class Repetition:
    """The form `op` + * or ?; `domain` is the type of the nodes that the latter two lead to themselves."""

    text: str
    form: PathForm
    op: RepeatOp
    domain: str | None


@dataclass(frozen=True)
class Union:
    """One of the forms."""

    text: str
    forms: tuple[PathForm, ...]


@dataclass(frozen=True)
class Join:
    """The pairs that a form of several edges connects."""

    text: str
    form: PathForm


Made: TypeAlias = Repetition | Union | Join


def normal_form(path: Path) -> PathForm:
    """Return the form of a checked path."""
    match path:
        case Step(relation=name):
            return (Edge(name),)
        case Inverse(path=inner):
            return inverse(normal_form(inner))
        case Sequence(parts=parts):
            return tuple([edge for part in parts for edge in normal_form(part)])
        case Alternation(parts=parts):
            return _union([normal_form(part) for part in parts])
        case Repeat():
            return _closure(normal_form(path.path), path)


def join(form: PathForm) -> Edge:
    """Return one edge for the whole form; a form and its inverse are one relation."""
    if len(form) == 1:
        return form[0]
    turned = _rather_backward(form)
    form = inverse(form) if turned else form
    return Edge(Join(_text(form), form), turned)


def share_repeated_parts(form: PathForm) -> PathForm:
    """Return the form with one edge for each of its parts, of at least two edges, if all of them are one and the same
    relation: `a/b/a/b` is `(a/b)/(a/b)`, and `a/b/^b/^a` is `(a/b)/^(a/b)`."""
    for size in range(2, len(form) // 2 + 1):
        if len(form) % size == 0:
            parts = tuple([join(form[i : i + size]) for i in range(0, len(form), size)])
            if len({part.relation for part in parts}) == 1:
                return parts
    return form


def _text(form: PathForm) -> str:
    """Return the form as a path of the language. Stop at auxiliary relations, which know their own text."""
    return "/".join([edge.text for edge in form])


def inverse(form: PathForm) -> PathForm:
    return tuple([Edge(edge.relation, not edge.backward) for edge in reversed(form)])


def _union(forms: Iterable[PathForm]) -> PathForm:
    flat = {_text(part): part for form in forms for part in _alternatives(form)}
    if len(flat) == 1:
        return next(iter(flat.values()))
    edges = [edge for part in flat.values() for edge in part]
    turned = 2 * sum(edge.backward for edge in edges) > len(edges)
    kept = {_text(part): part for part in map(inverse, flat.values())} if turned else flat
    return (Edge(Union("|".join(sorted(kept)), tuple([kept[text] for text in sorted(kept)])), turned),)


def _alternatives(form: PathForm) -> tuple[PathForm, ...]:
    match form:
        case (Edge(relation=Union(forms=forms), backward=backward),):
            return tuple(map(inverse, forms)) if backward else forms
    return (form,)


def _closure(form: PathForm, path: Repeat) -> PathForm:
    turned = False
    op, domain = path.op, path.domain
    match form:
        case (Edge(relation=Repetition() as inner, backward=turned),):
            form, op, domain = inner.form, op if op == inner.op else "*", domain or inner.domain
    if op != "?":
        form = _union(_generators(_alternatives(form)))
    if _rather_backward(form):
        form, turned = inverse(form), not turned
    text = _text(form)
    single = len(form) == 1 and not form[0].backward
    return (Edge(Repetition(f"{text if single else f'({text})'}{op}", form, op, domain), turned),)


def _generators(forms: Iterable[PathForm]) -> list[PathForm]:
    """Return the forms without those that are sequences of others, which a closure need not name."""
    found: list[PathForm] = []
    for form in sorted(forms, key=len):
        ends = {0}  # of what sequences of those found are, from the start of the form
        for end in range(1, len(form) + 1):
            if any(end - len(part) in ends and form[end - len(part) : end] == part for part in found):
                ends.add(end)
        if len(form) not in ends:
            found.append(form)
    return found


def _rather_backward(form: PathForm) -> bool:
    """Return True if the inverse of a form has fewer edges against their relations, or as many and the smaller text."""
    before, after = sum(edge.backward for edge in form), sum(not edge.backward for edge in form)
    return before > after or (before == after and _text(inverse(form)) < _text(form))


# --- the rewriting ----------------------------------------------------------------------------------------------------


_X, _Y, _Z = Variable("x"), Variable("y"), Variable("z")
MOST_STEPS = 8
"""Longer sequences are cut into relations of their own, because plans of long bodies are expensive to make."""


def paths(rule: Rule, state: RewriteState) -> tuple[Rule, ...]:
    """Return the rule without paths. The state gets rules of auxiliary relations that the program lacks."""
    if not has_path(whole(rule)):
        return (rule,)
    rewriting = _Rewriting(state, rule.span, _has_several_sequences(rule.body))
    heads = tuple([rebuild_atom(head, rewriting.term) for head in rule.heads])
    return (replace(rule, heads=heads, body=rewriting.body(rule.body)),)


@dataclass
class _Rewriting:
    """`span` is the place of the path in hand; `several` is True if the body of the rule has several sequences."""

    state: RewriteState
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
        return in_aggregates(lambda body: self.body(body, single=True))(term)

    def atoms(self, atom: Atom, single: bool) -> list[Atom]:
        """Return the atoms that stand for one with a path."""
        assert atom.path is not None
        self.span = atom.span
        form = normal_form(atom.path)
        begin, end = atom.args
        free = all(isinstance(each, Variable | Anonymous) for each in atom.args)
        if single or (self.several and free):
            form = (join(form),)
        form = _cut_long(form)
        form = share_repeated_parts(form) if free else form
        found = self.along(form, begin, end, lambda kind: self.state.variable("node", kind))
        if any(step.relation in self.state.recursive for step in steps(atom.path)):
            self.state.recursive |= {each.relation for each in found}
        return found

    def along(self, form: PathForm, begin: Term, end: Term, fresh: Callable[[Kind], Variable]) -> list[Atom]:
        """Return the atoms that lead from `begin` to `end`, with `fresh` variables of these kinds between them."""
        atoms = []
        for i, edge in enumerate(form):
            name = self.relation(edge.relation)
            columns = self.state.columns(name)
            last = end if i == len(form) - 1 else fresh(columns[0 if edge.backward else 1].kind)
            atoms.append(self.atom(name, last, begin) if edge.backward else self.atom(name, begin, last))
            begin = last
        return atoms

    # --- auxiliary relations -----------------------------------------------------------------------------------------

    def relation(self, made: str | Made) -> str:
        """Return the name of a relation; the state gets its rules if the program lacks them."""
        if isinstance(made, str):
            return made
        name = f"{PATH}{made.text}"
        if name not in self.state.shared:
            self.define(name, made)
        return name

    def define(self, name: str, made: Made) -> None:
        """Declare the relation of a form and leave its rules, the same whichever rule of the user needs them first."""
        forms = made.forms if isinstance(made, Union) else (made.form,)
        if isinstance(made, Repetition) and made.op != "?":
            forms = ((join(made.form),),)
        bodies = [self.along(share_repeated_parts(_cut_long(form)), _X, _Y, _fresh_nodes()) for form in forms]
        kinds = self.kinds(bodies[0])
        self.state.share(name, [("x", kinds["x"]), ("y", kinds["y"])])
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
        columns = self.state.nodes.get(domain, ())
        if columns and name not in self.state.shared:
            self.state.share(name, [("x", kind)])
            for relation, position in columns:
                body = self.atom(relation, _X, _Y) if position == 0 else self.atom(relation, _Y, _X)
                # with a name of its own, so that it stays the same rule when other relations come and go
                self.leave(f"{name}.{relation}.{position}", self.atom(name, _X), [body])
        return name if columns else None

    def leave(self, name: str, head: Atom, body: list[Atom]) -> None:
        """Leave a rule in the state."""
        self.state.pending.append(Rule(name, (head,), tuple(body), self.kinds(body), span=self.span))

    def atom(self, relation: str, *args: Term) -> Atom:
        return Atom(relation, args, span=self.span)

    def kinds(self, body: Iterable[Atom]) -> dict[str, Kind]:
        """Return the kinds of the variables of atoms that have only variables."""
        return {
            arg.name: column.kind
            for atom in body
            for arg, column in zip(atom.args, self.state.columns(atom.relation), strict=True)
            if isinstance(arg, Variable)
        }


def _fresh_nodes() -> Callable[[Kind], Variable]:
    """Return variables for the nodes between two ends."""
    names = map("m{}".format, count(1))
    return lambda _: Variable(next(names))


def _has_several_sequences(body: Iterable[Literal]) -> bool:
    """Return True if more than one of the atoms that a body derives from is a sequence."""
    nodes = list(walk(body, aggregates=False))
    negated = {id(node.atom) for node in nodes if isinstance(node, Negation)}
    atoms = [node for node in nodes if isinstance(node, Atom) and id(node) not in negated]
    return sum(len(normal_form(atom.path)) > 1 for atom in atoms if atom.path is not None) > 1


def _cut_long(form: PathForm) -> PathForm:
    """Return the form with at most MOST_STEPS edges."""
    while len(form) > MOST_STEPS:
        pieces = [form[i : i + MOST_STEPS] for i in range(0, len(form), MOST_STEPS)]
        form = tuple([join(piece) for piece in pieces])
    return form
