"""Regular paths: each relation is binary, and each step ends in the type in which the next begins.

A path has two ends, each with a type and the column that it comes from. Where parts meet, some value must be able to
have the types of both; where parts are alternatives, an end has the type that is wide enough for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from typing import TypeAlias

from tidelog.common.source import Span
from tidelog.errors import Problem
from tidelog.language.declarations import BROKEN, Scheme, article
from tidelog.language.problems import how_many, note
from tidelog.language.syntax import Alternation, Atom, Inverse, Kind, Path, Repeat, Sequence, Step


@dataclass(frozen=True)
class End:
    """One end of a path: its type, the primitive type of this, and the column of a step that it comes from."""

    type: str
    kind: Kind
    column: str
    step: Step

    @property
    def text(self) -> str:
        return f"column `{self.column}` of `{self.step.relation}`"


Typed: TypeAlias = tuple[Path, End, End]
"""A path with the domains of its repetitions, and its two ends."""


def steps(path: Path | None) -> Iterator[Step]:
    return (part for part in _parts(path) if isinstance(part, Step))


def repeats(path: Path | None) -> Iterator[Repeat]:
    """Return the repetitions in a path, each before those inside it."""
    return (part for part in _parts(path) if isinstance(part, Repeat))


def readings(atom: Atom) -> Iterator[Atom | Step]:
    """Return the places at which an atom reads relations: itself, or the steps of its path."""
    return iter((atom,)) if atom.path is None else steps(atom.path)


def _parts(path: Path | None) -> Iterator[Path]:
    waiting = [path] if path is not None else []
    while waiting:
        part = waiting.pop()
        yield part
        match part:
            case Inverse(path=inner) | Repeat(path=inner):
                waiting.append(inner)
            case Sequence(parts=parts) | Alternation(parts=parts):
                waiting += reversed(parts)


def type_path(path: Path, scheme: Scheme, problems: list[Problem]) -> Typed | None:
    """Return the path with its types, or None and the `problems`. Skip relations that are not declared."""
    wrong: dict[str, Step] = {}
    for step in steps(path):
        if len(_columns(step, scheme)) != 2:
            wrong.setdefault(step.relation, step)
    problems += [_not_binary(step, scheme) for step in wrong.values() if step.relation in scheme.relations]
    return None if wrong else _Types(scheme, problems).path(path)


def _columns(step: Step, scheme: Scheme) -> tuple[object, ...]:
    relation = scheme.relations.get(step.relation)
    return relation.columns if relation is not None else ()


def _not_binary(step: Step, scheme: Scheme) -> Problem:
    relation = scheme.relations[step.relation]
    columns = how_many(len(relation.columns), "column")
    message = f"a path needs relations with two columns, but `{step.relation}` has {columns}"
    hint = f"derive a relation of two columns from `{step.relation}`, and use that in the path"
    return Problem("E0223", message, step.span, note(relation.span, "declared here"), hint)


@dataclass(frozen=True)
class _Types:
    scheme: Scheme
    problems: list[Problem]

    def path(self, path: Path) -> Typed | None:
        match path:
            case Step(relation=name):
                ends = [End(c.type, c.kind, c.name, path) for c in self.scheme.relations[name].columns]
                return path, ends[0], ends[1]
            case Inverse(path=inner):
                found = self.path(inner)
                return found and (replace(path, path=found[0]), found[2], found[1])
            case Repeat():
                return self._repeat(path)
            case Sequence(parts=parts) | Alternation(parts=parts):
                found_parts = [self.path(part) for part in parts]
                typed_parts = [part for part in found_parts if part is not None]
                if len(typed_parts) < len(parts):
                    return None
                whole = replace(path, parts=tuple(part[0] for part in typed_parts))
                combine = self._sequence if isinstance(whole, Sequence) else self._choice
                return combine(whole, typed_parts)

    def _repeat(self, path: Repeat) -> Typed | None:
        found = self.path(path.path)
        if found is None:
            return None
        inner, begin, end = found
        if not self._meet(end, begin):
            message = f"`{path}` repeats a path that does not end in the type that it begins with"
            hint = "repeat only paths that begin and end in the same type, as `(a/^a)+` does for every `a`"
            self._report_mixed_types(message, begin, end, hint, path.span)
            return None
        if path.op == "+":
            return replace(path, path=inner), begin, end
        domain = self._wider(begin, end)
        return replace(path, path=inner, domain=domain.type), domain, domain

    def _sequence(self, path: Path, parts: list[Typed]) -> Typed | None:
        for (_, _, end), (_, begin, _) in pairwise(parts):
            if not self._meet(end, begin):
                hint = "write `^` before a step to read its relation backwards"
                self._report_mixed_types("the steps of the path do not fit together", end, begin, hint)
                return None
        return path, parts[0][1], parts[-1][2]

    def _choice(self, path: Path, parts: list[Typed]) -> Typed | None:
        for _, begin, end in parts[1:]:
            for first, other in ((parts[0][1], begin), (parts[0][2], end)):
                if first.kind != other.kind and BROKEN not in (first.kind, other.kind):
                    hint = "begin and end all alternatives in the same types; `^` reads a step backwards"
                    self._report_mixed_types("the alternatives of the path do not fit together", first, other, hint)
                    return None
        begin = reduce(self._wider, [begin for _, begin, _ in parts])
        return path, begin, reduce(self._wider, [end for _, _, end in parts])

    def _meet(self, one: End, other: End) -> bool:
        """Return True if a value can have both types."""
        if BROKEN in (one.kind, other.kind):
            return True
        return one.kind == other.kind and self.scheme.has_common_subtype((one.type, other.type))

    def _wider(self, one: End, other: End) -> End:
        """Return the end whose type contains both, or one of their common primitive type."""
        if self.scheme.flows(other.type, one.type):
            return one
        return other if self.scheme.flows(one.type, other.type) else replace(one, type=one.kind)

    def _report_mixed_types(self, message: str, one: End, other: End, hint: str, span: Span | None = None) -> None:
        kinds = one.kind != other.kind
        texts = [f"{end.text} is {article(end.kind) if kinds else f'of type `{end.type}`'}" for end in (one, other)]
        notes = [(one.step.span, texts[0])] if span is None else []
        notes += [
            (self.scheme.places.get((end.step.relation, end.column)), f"{text}, declared here")
            for end, text in zip((one, other), texts, strict=True)
        ]
        shown = tuple((place, text) for place, text in notes if place is not None)
        message = f"{message}: {texts[0]}, but {texts[1]}"
        self.problems.append(Problem("E0224", message, span or other.step.span, shown, hint))
