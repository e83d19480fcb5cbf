"""A graph of shapes: the triples of a source, and the lists in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tidelog.errors import DataError, Problem, TidelogError, UsageError
from tidelog.rdf import reader
from tidelog.rdf.documents import Labels
from tidelog.rdf.shapes.vocabulary import SH
from tidelog.rdf.terms import RDF, ntriples

_FIRST, _REST, _NIL = f"{RDF}first", f"{RDF}rest", f"{RDF}nil"


class ShapesGraph:
    """Triples by subject and predicate, and how messages name their terms. `warnings` are about parts that are not
    validated; none if the graph is strict, which refuses these parts."""

    def __init__(self, data: Any, format: str | None, base: str | None, labels: Labels, *, is_strict: bool) -> None:
        self._is_strict = is_strict
        self.warnings: list[Problem] = []
        columns = reader.read(data, format, base, labels, by_file=True)
        texts = (part.to_pylist() for part in (columns.subjects, columns.predicates, columns.objects))
        self._objects: dict[str, dict[str, dict[str, None]]] = {}
        self._ill = columns.ill
        for subject, predicate, value in zip(*texts, strict=True):
            self._objects.setdefault(subject, {}).setdefault(predicate, {})[value] = None

    @property
    def subjects(self) -> tuple[str, ...]:
        """Return all subjects."""
        return tuple(self._objects)

    def predicates(self, subject: str) -> tuple[str, ...]:
        """Return the predicates of a subject."""
        return tuple(self._objects.get(subject, ()))

    def objects(self, subject: str, predicate: str) -> tuple[str, ...]:
        """Return the objects of a subject and a predicate; a name without a colon is one of SHACL."""
        iri = predicate if ":" in predicate else f"{SH}{predicate}"
        return tuple(self._objects.get(subject, {}).get(iri, ()))

    def is_ill(self, literal: str) -> bool:
        """Return True for a literal that is not of its datatype."""
        return literal in self._ill

    def is_list(self, node: str) -> bool:
        """Return True if a node begins a list."""
        return node == _NIL or bool(self.objects(node, _FIRST)) or bool(self.objects(node, _REST))

    def members(self, node: str, shape: str, predicate: str) -> tuple[str, ...]:
        """Return the members of a list, a value of a predicate of a shape. Raise DataError (E0674) for other nodes."""
        return tuple(self._members(node, shape, predicate))

    def _members(self, node: str, shape: str, predicate: str) -> Iterator[str]:
        seen = set[str]()
        while node != _NIL:
            first, rest = self.objects(node, _FIRST), self.objects(node, _REST)
            if len(first) != 1 or len(rest) != 1 or node in seen:
                raise self.ill_formed(shape, predicate, f"needs a list, found {self.shown(node)}", "write it as ( … )")
            seen.add(node)
            yield first[0]
            node = rest[0]

    def shown(self, term: str) -> str:
        """Return a term for a message: a blank node by its IRIs, so that a reader can find it."""
        if not term.startswith("_:"):
            return ntriples(term)
        if self.is_list(term):
            return "( … )"
        found = [ntriples(each) for each in self.objects(term, "path") if not each.startswith("_:")]
        return f"[ sh:path {found[0]} ]" if found else "[ … ]"

    def ill_formed(self, shape: str, predicate: str, reason: str, hint: str) -> DataError:
        """Return the error about a value of a predicate of a shape."""
        message = f"{self._property(predicate)} of the shape {self.shown(shape)} {reason}"
        return DataError(Problem("E0674", message, place="<shapes>", hint=hint))

    def unsupported(self, shape: str, predicate: str, reason: str, hint: str) -> UsageError:
        """Return the error about a part of a shape that tidelog does not validate."""
        message = f"{self._property(predicate)} of the shape {self.shown(shape)} cannot be validated: {reason}"
        return UsageError(Problem("E0675", message, place="<shapes>", hint=hint))

    def _property(self, predicate: str) -> str:
        return self.shown(predicate) if ":" in predicate else f"sh:{predicate}"

    def pass_over(self, error: TidelogError) -> None:
        """Note the error about a part that is not validated as a warning (E0659); raise it if the graph is strict."""
        if self._is_strict:
            raise error
        self.warnings += [replace(each, code="E0659", severity="warning") for each in error.problems]
