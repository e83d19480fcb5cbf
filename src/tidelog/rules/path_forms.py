"""The normal form of a path: equal forms are one relation, and its text is the name that they share.

A form is a sequence of edges, each along a relation or against it. Inverses stand at edges only, repetitions of
repetitions are one, alternatives are ordered and each is there once:

    ^(a/b) = ^b/^a    ^^a = a    (a+)+ = a+    (a+)* = (a?)+ = a*    (^a)+ = ^(a+)    a|(b|a) = a|b
    (a|b|a/b)+ = (a|b)+
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from tidelog.language.syntax import Alternation, Inverse, Path, Repeat, RepeatOp, Sequence, Step

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


def shared(form: PathForm) -> PathForm:
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
