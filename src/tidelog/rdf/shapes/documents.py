"""A graph of shapes: its triples and lists, the nodes that are shapes, and the words of SHACL that tidelog knows.

Source: SHACL Core, W3C Recommendation of 2017, https://www.w3.org/TR/shacl/, sections 2.1 and 2.1.5 for the nodes that
are shapes. A shape inside of deactivated ones alone is never asked for, and not read.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from tidelog.errors import DataError, Problem, TidelogError, UsageError
from tidelog.rdf import reader
from tidelog.rdf.documents import Labels
from tidelog.rdf.terms import LIST_FIRST, LIST_REST, NIL, RDFS, TYPE, XSD, ntriples

SH = "http://www.w3.org/ns/shacl#"
VIOLATION = f"{SH}Violation"
SPARQL = f"{SH}SPARQLConstraintComponent"

TARGETS = ("targetClass", "targetNode", "targetObjectsOf", "targetSubjectsOf")
"""Properties that give a shape focus nodes."""
NODE_KINDS = ("BlankNode", "IRI", "Literal", "BlankNodeOrIRI", "BlankNodeOrLiteral", "IRIOrLiteral")
SHAPES = ("node", "property", "not", "qualifiedValueShape")
"""Parameters whose values are shapes."""
SHAPE_LISTS = ("and", "or", "xone")
"""Parameters whose values are lists of shapes."""
BOUNDS = ("minExclusive", "minInclusive", "maxExclusive", "maxInclusive")
COUNTS = ("minCount", "maxCount", "minLength", "maxLength", "qualifiedMinCount", "qualifiedMaxCount")
PAIRS = ("equals", "disjoint", "lessThan", "lessThanOrEquals")
OF_PROPERTIES = ("minCount", "maxCount", "uniqueLang", "lessThan", "lessThanOrEquals", "qualifiedValueShape")
"""Parameters that only property shapes have."""
PARAMETERS = (
    "class", "datatype", "nodeKind", *COUNTS, *BOUNDS, "pattern", "flags", "languageIn", "uniqueLang", *PAIRS,
    *SHAPES, *SHAPE_LISTS, "qualifiedValueShapesDisjoint", "closed", "ignoredProperties", "hasValue", "in",
)  # fmt: skip
SINGLE = (
    "datatype", "nodeKind", *COUNTS, *BOUNDS, "pattern", "flags", "languageIn", "uniqueLang",
    "qualifiedValueShape", "qualifiedValueShapesDisjoint", "closed", "ignoredProperties", "in", "deactivated",
    "severity", "path",
)  # fmt: skip
"""Properties of which a shape has one value at most."""
USELESS_ALONE = {
    **dict.fromkeys(("qualifiedMinCount", "qualifiedMaxCount", "qualifiedValueShapesDisjoint"), "qualifiedValueShape"),
    "flags": "pattern",
    "ignoredProperties": "closed",
}
"""Parameters that say nothing without another one."""
UNSUPPORTED = {
    "target": "targets in SPARQL belong to SHACL's advanced features",
    "js": "constraints in JavaScript belong to SHACL's extensions",
    "expression": "expressions belong to SHACL's advanced features",
}
"""Properties of shapes that tidelog does not validate, and whose neglect hides violations."""
WORDS = frozenset((
    *TARGETS, *PARAMETERS, *UNSUPPORTED, "sparql", "path", "deactivated", "severity", "message",
    # of shapes, without a say in validation
    "name", "description", "order", "group", "defaultValue", "rule",
    # of paths, prefixes, graphs, executables and components
    "inversePath", "alternativePath", "zeroOrMorePath", "oneOrMorePath", "zeroOrOnePath",
    "declare", "prefixes", "prefix", "namespace", "shapesGraph", "entailment", "suggestedShapesGraph",
    "select", "ask", "construct", "update", "returnType",
    "parameter", "optional", "labelTemplate", "validator", "nodeValidator", "propertyValidator",
    # of reports
    "conforms", "result", "shapesGraphWellFormed", "focusNode", "value", "resultPath", "resultMessage",
    "resultSeverity", "sourceShape", "sourceConstraint", "sourceConstraintComponent", "detail",
    # of the advanced features and of JavaScript
    "resultAnnotation", "annotationProperty", "annotationValue", "annotationVarName", "condition", "subject",
    "predicate", "object",
    "filterShape", "nodes", "intersection", "union", "if", "then", "else", "count", "distinct", "min", "max",
    "sum", "groupConcat", "separator", "orderBy", "desc", "limit", "offset", "exists", "minus", "targetValidator",
    "jsFunctionName", "jsLibrary", "jsLibraryURL",
))  # fmt: skip
"""The properties of SHACL and its advanced features. Others have no meaning."""
CLASSES = frozenset((
    "Shape", "NodeShape", "PropertyShape", "PropertyGroup", "NodeKind", "Severity", "PrefixDeclaration", "Validator",
    "AbstractResult", "ValidationReport", "ValidationResult", "ResultAnnotation", "ConstraintComponent", "Parameter",
    "Parameterizable", "Target", "TargetType", "Rule", "TripleRule", "Function", "SPARQLConstraint", "SPARQLExecutable",
    "SPARQLAskExecutable", "SPARQLSelectExecutable", "SPARQLConstructExecutable", "SPARQLUpdateExecutable",
    "SPARQLAskValidator", "SPARQLSelectValidator", "SPARQLFunction", "SPARQLRule", "SPARQLTarget", "SPARQLTargetType",
    "JSConstraint", "JSExecutable", "JSFunction", "JSLibrary", "JSRule", "JSTarget", "JSTargetType", "JSValidator",
))  # fmt: skip
"""The classes of SHACL and its advanced features."""
MEANT = {"shape": "node", "valueShape": "node"}
"""Words that shapes have by mistake, with the ones of SHACL."""


def component(parameter: str) -> str:
    """Return the IRI of the constraint component of a parameter."""
    return f"{SH}{parameter[0].upper()}{parameter[1:]}ConstraintComponent"


# --- the graph -------------------------------------------------------------------------------------------------------


class ShapesGraph:
    """Triples by subject and predicate, and how messages name their terms. `warnings` are about parts that are not
    validated; none if the graph is strict, which refuses these parts."""

    def __init__(self, data: Any, format: str | None, base: str | None, labels: Labels, *, is_strict: bool) -> None:
        self._is_strict = is_strict
        self.warnings: list[Problem] = []
        columns = reader.read_triples(data, format, base, labels, by_file=True)
        texts = (part.to_pylist() for part in (columns.subjects, columns.predicates, columns.objects))
        self._objects: dict[str, dict[str, dict[str, None]]] = {}
        self._ill = columns.ill
        for subject, predicate, value in zip(*texts, strict=True):
            self._objects.setdefault(subject, {}).setdefault(predicate, {})[value] = None

    @property
    def subjects(self) -> tuple[str, ...]:
        return tuple(self._objects)

    def predicates(self, subject: str) -> tuple[str, ...]:
        return tuple(self._objects.get(subject, ()))

    def subclasses(self, iri: str) -> set[str]:
        found = {iri}
        while more := {each for each in self.subjects if found & {*self.objects(each, f"{RDFS}subClassOf")}} - found:
            found |= more
        return found

    def objects(self, subject: str, predicate: str) -> tuple[str, ...]:
        """Return the objects of a subject and a predicate; a name without a colon is one of SHACL."""
        iri = predicate if ":" in predicate else f"{SH}{predicate}"
        return tuple(self._objects.get(subject, {}).get(iri, ()))

    def is_ill(self, literal: str) -> bool:
        """Return True for a literal that is not of its datatype."""
        return literal in self._ill

    def is_list(self, node: str) -> bool:
        """Return True if a node begins a list."""
        return node == NIL or bool(self.objects(node, LIST_FIRST)) or bool(self.objects(node, LIST_REST))

    def members(self, node: str, shape: str, predicate: str) -> tuple[str, ...]:
        """Return the members of a list, a value of a predicate of a shape. Raise DataError (E0674) for other nodes."""
        return tuple(self._members(node, shape, predicate))

    def _members(self, node: str, shape: str, predicate: str) -> Iterator[str]:
        seen = set[str]()
        while node != NIL:
            first, rest = self.objects(node, LIST_FIRST), self.objects(node, LIST_REST)
            if len(first) != 1 or len(rest) != 1 or node in seen:
                reason = f"needs a list, found {self.describe_term(node)}"
                raise self.ill_formed(shape, predicate, reason, "write it as ( … )")
            seen.add(node)
            yield first[0]
            node = rest[0]

    def describe_term(self, term: str) -> str:
        """Return a term for a message: a blank node by its IRIs, so that a reader can find it."""
        if not term.startswith("_:"):
            return ntriples(term)
        if self.is_list(term):
            return "( … )"
        found = [ntriples(each) for each in self.objects(term, "path") if not each.startswith("_:")]
        return f"[ sh:path {found[0]} ]" if found else "[ … ]"

    def ill_formed(self, shape: str, predicate: str, reason: str, hint: str) -> DataError:
        message = f"{self._property(predicate)} of the shape {self.describe_term(shape)} {reason}"
        return DataError(Problem("E0674", message, place="<shapes>", hint=hint))

    def unsupported_part(self, shape: str, predicate: str, reason: str, hint: str) -> UsageError:
        """Return the error about a part of a shape that tidelog does not validate."""
        message = f"{self._property(predicate)} of the shape {self.describe_term(shape)} cannot be validated: {reason}"
        return UsageError(Problem("E0675", message, place="<shapes>", hint=hint))

    def _property(self, predicate: str) -> str:
        return self.describe_term(predicate) if ":" in predicate else f"sh:{predicate}"

    def pass_over(self, error: TidelogError) -> None:
        """Note the error about a part that is not validated as a warning (E0659); raise it if the graph is strict."""
        if self._is_strict:
            raise error
        self.warnings += [replace(each, code="E0659", severity="warning") for each in error.problems]


# --- its shapes ------------------------------------------------------------------------------------------------------


_MARKS = frozenset(f"{SH}{name}" for name in (*TARGETS, *PARAMETERS, *UNSUPPORTED, "sparql", "path"))
_TYPES = frozenset((f"{SH}NodeShape", f"{SH}PropertyShape"))
_TARGETS = frozenset(f"{SH}{name}" for name in TARGETS)


def is_true(literal: str) -> bool:
    """Return True for the literal true. W3C's tests want this term: `"1"^^xsd:boolean` is another one."""
    return literal == f'"true"^^<{XSD}boolean>'


def is_deactivated(graph: ShapesGraph, name: str) -> bool:
    return any(map(is_true, graph.objects(name, "deactivated")))


def names_of(graph: ShapesGraph) -> dict[str, None]:
    """Return the names of the shapes of a graph, without parameters of components and functions. Raise DataError
    (E0674) for malformed lists of shapes."""
    parameters = {value for each in graph.subjects for value in graph.objects(each, "parameter")}
    found = {
        each: None
        for each in graph.subjects
        if each not in parameters
        and (_MARKS.intersection(graph.predicates(each)) or _TYPES.intersection(graph.objects(each, TYPE)))
    }
    unread = _unread(graph, found)
    found = {name: None for name in found if name not in unread}
    waiting = [name for name in found if not is_deactivated(graph, name)]
    while waiting:
        more = [each for each in _inner(graph, waiting.pop()) if each not in found]
        found |= dict.fromkeys(more)
        waiting += [name for name in more if not is_deactivated(graph, name)]
    return found


def _unread(graph: ShapesGraph, names: Iterable[str]) -> set[str]:
    """Return the shapes without targets that deactivated shapes ask for, and those that these ask for."""
    found, waiting = set[str](), [name for name in names if is_deactivated(graph, name)]
    while waiting:
        name = waiting.pop()
        with suppress(DataError):
            more = {each for each in _inner(graph, name) if not _TARGETS.intersection(graph.predicates(each))} - found
            found |= more
            waiting += more
    return found


def _inner(graph: ShapesGraph, name: str) -> list[str]:
    """Return the shapes that a shape asks for. Raise DataError (E0674)."""
    inner = [value for parameter in SHAPES for value in graph.objects(name, parameter)]
    for parameter in SHAPE_LISTS:
        for node in graph.objects(name, parameter):
            inner += graph.members(node, name, parameter)
    return inner


def note_unknown(graph: ShapesGraph, names: Collection[str]) -> None:
    """Note the words of SHACL's namespace that do not exist, see `ShapesGraph.pass_over`: SHACL gives them no meaning.
    Deactivated shapes are not looked into."""
    unread = _unread(graph, names)
    for subject in graph.subjects:
        if (subject in unread and subject not in names) or is_deactivated(graph, subject):
            continue
        used = ((graph.predicates(subject), WORDS, ""), (graph.objects(subject, TYPE), CLASSES, "the type "))
        for iris, known, sort in used:
            for word in (iri.removeprefix(SH) for iri in iris if iri.startswith(SH)):
                if word not in known:
                    message = f"{sort}sh:{word} of {graph.describe_term(subject)} is unknown, and says nothing"
                    problem = Problem("E0674", message, place="<shapes>", hint=_advice(word, known))
                    graph.pass_over(DataError(problem))


def _advice(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, known, 1)
    meant = MEANT.get(word) or next(iter(near), None)
    return f"did you mean sh:{meant}?" if meant else "use the words of SHACL 1.0"
