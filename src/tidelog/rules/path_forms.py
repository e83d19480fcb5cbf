"""The normal form of a path: equal forms are one relation, and its text is the name that they share.

A form is a sequence of edges, each along a relation or against it. Inverses stand at edges only, repetitions of
repetitions are one, alternatives are ordered and each is there once:

    ^(a/b) = ^b/^a    ^^a = a    (a+)+ = a+    (a+)* = (a?)+ = a*    (^a)+ = ^(a+)    a|(b|a) = a|b
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from tidelog.language.syntax import Choice, Inverse, Path, Repeat, Sequence, Step


@dataclass(frozen=True)
class Edge:
    """A relation along which, or `backward` against which, a path goes: declared, or made of forms."""

    relation: str | Made
    backward: bool = False

    @property
    def text(self) -> str:
        made = self.relation
        operand = made if isinstance(made, str) else made.text if isinstance(made, Closure) else f"({made.text})"
        return f"^{operand}" if self.backward else operand


Form: TypeAlias = tuple[Edge, ...]


@dataclass(frozen=True)
class Closure:
    """The form `op` + * or ?; `domain` is the type of the nodes that the latter two lead to themselves."""

    text: str
    form: Form
    op: str
    domain: str | None


@dataclass(frozen=True)
class Union:
    """One of the forms."""

    text: str
    forms: tuple[Form, ...]


@dataclass(frozen=True)
class Join:
    """The pairs that a form of several edges connects."""

    text: str
    form: Form


Made: TypeAlias = Closure | Union | Join


def normal_form(path: Path) -> Form:
    """The form of a checked path."""
    match path:
        case Step(relation=name):
            return (Edge(name),)
        case Inverse(path=inner):
            return _inverse(normal_form(inner))
        case Sequence(parts=parts):
            return tuple([edge for part in parts for edge in normal_form(part)])
        case Choice(parts=parts):
            return _union([normal_form(part) for part in parts])
        case Repeat():
            return _closure(normal_form(path.path), path)


def join(form: Form) -> Edge:
    """One edge for the whole form."""
    return form[0] if len(form) == 1 else Edge(Join(_text(form), form))


def _text(form: Form) -> str:
    """The form as a path of the language. Made relations know theirs, so this does not go down into them."""
    return "/".join([edge.text for edge in form])


def _inverse(form: Form) -> Form:
    return tuple([Edge(edge.relation, not edge.backward) for edge in reversed(form)])


def _union(forms: Iterable[Form]) -> Form:
    flat = {_text(part): part for form in forms for part in _alternatives(form)}
    if len(flat) == 1:
        return next(iter(flat.values()))
    turned = _rather_backward(flat.values())
    kept = {_text(part): part for part in map(_inverse, flat.values())} if turned else flat
    return (Edge(Union("|".join(sorted(kept)), tuple([kept[text] for text in sorted(kept)])), turned),)


def _alternatives(form: Form) -> tuple[Form, ...]:
    match form:
        case (Edge(relation=Union(forms=forms), backward=backward),):
            return tuple(map(_inverse, forms)) if backward else forms
    return (form,)


def _closure(form: Form, path: Repeat) -> Form:
    turned = False
    op, domain = path.op, path.domain
    match form:
        case (Edge(relation=Closure() as inner, backward=turned),):
            form, op, domain = inner.form, op if op == inner.op else "*", domain or inner.domain
        case _ if _rather_backward([form]):
            form, turned = _inverse(form), True
    text = _text(form)
    single = len(form) == 1 and not form[0].backward
    return (Edge(Closure(f"{text if single else f'({text})'}{op}", form, op, domain), turned),)


def _rather_backward(forms: Iterable[Form]) -> bool:
    """Whether there are fewer edges against their relations in the inverses."""
    edges = [edge for form in forms for edge in form]
    return 2 * sum(edge.backward for edge in edges) > len(edges)
