"""The normal form of a path: equal forms are one relation, and `str` of a form is the name that they share.

A form is a sequence of edges, each along a relation or against it. Inverses stand at edges only, repetitions of
repetitions are one, alternatives are ordered and each is there once:

    ^(a/b) = ^b/^a    ^^a = a    (a+)+ = a+    (a+)* = (a?)+ = a*    (^a)+ = ^(a+)    a|(b|a) = a|b
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from tidelog.language.syntax import Choice, Inverse, Path, Repeat, Sequence, Step


@dataclass(frozen=True)
class Edge:
    """A relation along which, or `backward` against which, a path goes: declared, or made of a form."""

    relation: Made
    backward: bool = False

    def __str__(self) -> str:
        return f"^{_operand(self.relation)}" if self.backward else _operand(self.relation)


Form: TypeAlias = tuple[Edge, ...]


@dataclass(frozen=True)
class Closure:
    """The form `op` + * or ?; `domain` is the type of the nodes that the latter two lead to themselves."""

    form: Form
    op: str
    domain: str | None

    def __str__(self) -> str:
        inner = form_text(self.form)
        single = len(self.form) == 1 and not self.form[0].backward
        return f"{inner if single else f'({inner})'}{self.op}"


@dataclass(frozen=True)
class Union:
    """One of the forms."""

    forms: tuple[Form, ...]

    def __str__(self) -> str:
        return "|".join(map(form_text, self.forms))


@dataclass(frozen=True)
class Join:
    """The pairs that a form of several edges connects."""

    form: Form

    def __str__(self) -> str:
        return form_text(self.form)


Made: TypeAlias = str | Closure | Union | Join


def normal_form(path: Path) -> Form:
    """The form of a checked path."""
    match path:
        case Step(relation=name):
            return (Edge(name),)
        case Inverse(path=inner):
            return inverse(normal_form(inner))
        case Sequence(parts=parts):
            return tuple(edge for part in parts for edge in normal_form(part))
        case Choice(parts=parts):
            return _union([normal_form(part) for part in parts])
        case Repeat():
            return _closure(normal_form(path.path), path)


def inverse(form: Form) -> Form:
    """The form read backwards."""
    return tuple(replace(edge, backward=not edge.backward) for edge in reversed(form))


def form_text(form: Form) -> str:
    """The form as a path of the language."""
    return "/".join(map(str, form))


def _operand(made: Made) -> str:
    return f"({made})" if isinstance(made, Union | Join) else str(made)


def _union(forms: list[Form]) -> Form:
    flat: dict[str, Form] = {}
    for form in forms:
        for part in _alternatives(form):
            flat.setdefault(form_text(part), part)
    if len(flat) == 1:
        return next(iter(flat.values()))
    turned = _rather_backward(flat.values())
    kept = [inverse(part) for part in flat.values()] if turned else list(flat.values())
    return (Edge(Union(tuple(sorted(kept, key=form_text))), turned),)


def _alternatives(form: Form) -> tuple[Form, ...]:
    match form:
        case (Edge(relation=Union(forms=forms), backward=backward),):
            return tuple(map(inverse, forms)) if backward else forms
    return (form,)


def _closure(form: Form, path: Repeat) -> Form:
    match form:
        case (Edge(relation=Closure(form=inner, op=op, domain=domain), backward=backward),):
            op = op if op == path.op else "*"
            return (Edge(Closure(inner, op, path.domain or domain), backward),)
    turned = _rather_backward([form])
    return (Edge(Closure(inverse(form) if turned else form, path.op, path.domain), turned),)


def _rather_backward(forms: Iterable[Form]) -> bool:
    """Whether there are fewer edges against their relations in the inverses."""
    edges = [edge for form in forms for edge in form]
    return 2 * sum(edge.backward for edge in edges) > len(edges)
