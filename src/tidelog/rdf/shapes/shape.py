"""Shapes, read from their graph: targets, path, constraints. Everything that is ill-formed is refused here.

Source: SHACL Core, sections 2 and 4, and the syntax rules of its appendix A.

`Links` say which shapes ask which others: what has to be evaluated, and which violations cannot be known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeAlias

from tidelog.errors import DataError, Problem
from tidelog.language.syntax import Path
from tidelog.rdf.literals import parts, value_of
from tidelog.rdf.shapes.documents import (
    BOUNDS,
    COUNTS,
    NODE_KINDS,
    OF_PROPERTIES,
    PAIRS,
    PARAMETERS,
    SH,
    SHAPE_LISTS,
    SHAPES,
    SINGLE,
    TARGETS,
    UNSUPPORTED,
    USELESS_ALONE,
    VIOLATION,
    ShapesGraph,
    is_deactivated,
    is_true,
    names_of,
    note_unknown,
)
from tidelog.rdf.shapes.paths import read_path
from tidelog.rdf.shapes.queries import QueryReader, ShapeQuery
from tidelog.rdf.shapes.testing import why_wrong
from tidelog.rdf.terms import RDFS, TYPE, XSD, is_iri
from tidelog.rules.graph import components

_KINDS = frozenset(f"{SH}{kind}" for kind in NODE_KINDS)
_STRINGS = ("pattern", "flags")
_TRUTHS = ("uniqueLang", "closed", "qualifiedValueShapesDisjoint", "deactivated")
_IRIS = ("class", "datatype", *PAIRS, "targetClass", "targetSubjectsOf", "targetObjectsOf", "severity")


@dataclass(frozen=True)
class Constraint:
    """A parameter of a shape with its value: a term, or the members of a list."""

    parameter: str
    value: str
    members: tuple[str, ...] = ()


@dataclass(frozen=True)
class ParsedShape:
    """A shape: the term that names it, its path if it is a property shape, its targets as pairs of a property without
    `sh:` and a term, and its constraints."""

    name: str
    path: Path | None
    targets: tuple[tuple[str, str], ...]
    constraints: tuple[Constraint, ...]
    severity: str
    messages: tuple[str, ...]
    is_active: bool
    queries: tuple[ShapeQuery, ...] = ()
    is_partial: bool = False
    """Whether constraints were passed over, or are no views, so that more nodes may fail than are known to."""

    def values(self, parameter: str) -> tuple[str, ...]:
        return tuple(each.value for each in self.constraints if each.parameter == parameter)

    def value(self, parameter: str) -> str | None:
        """Return the value of a parameter that has one at most."""
        return next(iter(self.values(parameter)), None)

    def holds(self, parameter: str) -> bool:
        value = self.value(parameter)
        return value is not None and is_true(value)


def read_shapes(graph: ShapesGraph, prefixes: Mapping[str, str], *, inferred: bool) -> dict[str, ParsedShape]:
    """Return the shapes of a graph by their names, those with targets first. Raise DataError (E0674) for one that is
    ill-formed. Parts that tidelog does not know or validate are passed over: `sh:closed` is one for asserted triples
    alone. Queries may use `prefixes`."""
    classes = graph.subclasses(f"{RDFS}Class")
    names = names_of(graph)
    note_unknown(graph, names)
    queries = QueryReader(graph, prefixes, maintains=inferred)
    found = {name: _Reader(graph, name, classes, queries, inferred).shape() for name in names}
    if not found:
        hint = "pass the graph of shapes, which has sh:NodeShape, sh:targetClass and the like"
        raise DataError(Problem("E0674", "there are no shapes of SHACL here", place="<shapes>", hint=hint))
    return dict(sorted(found.items(), key=lambda pair: not pair[1].targets))


class _Reader:
    """A shape that is being read."""

    def __init__(self, graph: ShapesGraph, name: str, classes: set[str], queries: QueryReader, inferred: bool) -> None:
        self._graph = graph
        self._name = name
        self._classes = classes
        self._queries = queries
        self._inferred = inferred
        self._is_partial = False

    def shape(self) -> ParsedShape:
        graph, name = self._graph, self._name
        if name.startswith('"'):
            raise graph.ill_formed(name, "node", "is used as a shape, but is a literal", "name a shape")
        self._valid_values("deactivated")
        if is_deactivated(graph, name):
            return self._inactive_shape()
        self._pass_over_unsupported()
        path = self._path()
        targets = [(target, value) for target in TARGETS for value in self._valid_values(target)]
        types = {*graph.objects(name, TYPE)}
        if types & self._classes and types & {f"{SH}NodeShape", f"{SH}PropertyShape"}:
            if not is_iri(name):
                raise graph.ill_formed(name, "targetClass", "is the shape itself, a blank node", "name the class")
            targets.append(("targetClass", name))
        constraints = tuple(self._constraints(path is not None))
        severity = next(iter(self._valid_values("severity")), VIOLATION)
        messages = self._valid_values("message")
        queries = [each for each in self._queries.queries(name, path) if isinstance(each, ShapeQuery)]
        self._is_partial |= self._queries.passed_over or any(each.algebra is None for each in queries)
        return ParsedShape(
            name, path, tuple(targets), constraints, severity, messages, True, tuple(queries), self._is_partial
        )

    def _inactive_shape(self) -> ParsedShape:
        """Return a shape that has nothing to validate: its path is one of those that a closed shape allows."""
        path = None
        with suppress(DataError):
            path = self._path()
        return ParsedShape(self._name, path, (), (), VIOLATION, (), False)

    def _path(self) -> Path | None:
        graph, name = self._graph, self._name
        paths = self._valid_values("path")
        types = graph.objects(name, TYPE)
        if not paths and f"{SH}PropertyShape" in types:
            raise graph.ill_formed(name, "path", "is missing", "name the property: sh:path ex:name")
        if paths and f"{SH}NodeShape" in types:
            hint = "make it a sh:PropertyShape, or put the path into a shape of its own behind sh:property"
            raise graph.ill_formed(name, "path", "stands in a node shape", hint)
        return read_path(graph, name, paths[0]) if paths else None

    def _pass_over_unsupported(self) -> None:
        """Pass over the constraints and targets that tidelog does not validate."""
        graph, name = self._graph, self._name
        for predicate in graph.predicates(name):
            word = predicate.removeprefix(SH)
            if word != predicate and word in UNSUPPORTED:
                self._pass_over(word, UNSUPPORTED[word], "write it as a view in SPARQL: store.view(name, query)")

    def _pass_over(self, predicate: str, reason: str, hint: str) -> None:
        self._graph.pass_over(self._graph.unsupported_part(self._name, predicate, reason, hint))
        self._is_partial |= predicate != "target"

    def _constraints(self, is_property: bool) -> Iterator[Constraint]:
        graph, name = self._graph, self._name
        there = {predicate.removeprefix(SH) for predicate in graph.predicates(name)}
        for parameter in filter(there.__contains__, PARAMETERS):
            values = self._valid_values(parameter)
            if values and parameter in OF_PROPERTIES and not is_property:
                hint = "put it into a property shape, with sh:path"
                raise graph.ill_formed(name, parameter, "stands in a node shape", hint)
            if values and (other := USELESS_ALONE.get(parameter)) and not graph.objects(name, other):
                error = graph.ill_formed(name, parameter, f"says nothing without sh:{other}", f"add sh:{other}")
                graph.pass_over(error)
            if parameter == "closed" and not self._inferred and any(map(is_true, values)):
                hint = "leave out inferred=False, or sh:closed"
                self._pass_over("closed", "it cannot be validated over asserted triples alone", hint)
                continue
            for value in values:
                yield Constraint(parameter, value, self._members(parameter, value))
        counts = *graph.objects(name, "qualifiedMinCount"), *graph.objects(name, "qualifiedMaxCount")
        if graph.objects(name, "qualifiedValueShape") and not counts:
            reason = "needs sh:qualifiedMinCount or sh:qualifiedMaxCount beside it"
            raise graph.ill_formed(name, "qualifiedValueShape", reason, "add one, or use sh:node for all values")
        for value in graph.objects(name, "property"):
            if not graph.objects(value, "path"):
                reason = f"needs a property shape, but {graph.describe_term(value)} has no sh:path"
                raise graph.ill_formed(name, "property", reason, "give it a sh:path, or use sh:node")
        for value in graph.objects(name, "node"):
            if graph.objects(value, "path"):
                reason = f"needs a node shape, but {graph.describe_term(value)} has a sh:path"
                raise graph.ill_formed(name, "node", reason, "use sh:property")
        patterns = graph.objects(name, "pattern")
        for pattern in patterns:
            flags = next(iter(graph.objects(name, "flags")), '""')
            reason = why_wrong(parts(pattern)[0], parts(flags)[0])
            if reason:
                hint = "use the regular expressions of SPARQL, without references back"
                raise graph.ill_formed(name, "pattern", f"is no pattern: {reason}", hint)

    def _members(self, parameter: str, value: str) -> tuple[str, ...]:
        if parameter not in (*SHAPE_LISTS, "in", "languageIn", "ignoredProperties"):
            return ()
        members = self._graph.members(value, self._name, parameter)
        needed = {"languageIn": ('texts such as "en"', _is_string), "ignoredProperties": ("IRIs", is_iri)}
        if parameter in needed:
            what, test = needed[parameter]
            wrong = next((each for each in members if not test(each)), None)
            if wrong is not None:
                reason = f"needs a list of {what}, found {self._graph.describe_term(wrong)}"
                raise self._graph.ill_formed(self._name, parameter, reason, "correct the list")
        return members

    def _valid_values(self, predicate: str) -> tuple[str, ...]:
        """Return the values of a predicate, each of the sort that it has to be."""
        graph = self._graph
        values = graph.objects(self._name, predicate)
        if len(values) > 1 and predicate in SINGLE:
            found = ", ".join(map(graph.describe_term, values))
            raise graph.ill_formed(self._name, predicate, f"needs one value, found {found}", "keep one of them")
        what, test = _NEEDED.get(predicate, ("", bool))
        for value in values:
            if not test(value) or (graph.is_ill(value) and predicate != "targetNode"):
                reason = f"needs {what}, found {graph.describe_term(value)}"
                raise graph.ill_formed(self._name, predicate, reason, "correct it")
        return values


def _is_string(term: str) -> bool:
    return term.startswith('"') and parts(term)[2] == f"{XSD}string"


def _is_text(term: str) -> bool:
    return term.startswith('"') and parts(term)[2] in (f"{XSD}string", parts('""@en')[2])


def _is_truth(term: str) -> bool:
    value = value_of(term)
    return value is not None and value[0] == "boolean"


def _is_count(term: str) -> bool:
    return term.startswith('"') and parts(term)[2] == f"{XSD}integer" and value_of(term) is not None


_NEEDED: dict[str, tuple[str, Callable[[str], bool]]] = {
    **dict.fromkeys(_IRIS, ("an IRI", is_iri)),
    **dict.fromkeys(_STRINGS, ("a text", _is_string)),
    **dict.fromkeys(_TRUTHS, ("true or false", _is_truth)),
    **dict.fromkeys(COUNTS, ("an integer", _is_count)),
    **dict.fromkeys(BOUNDS, ("a literal", lambda term: term.startswith('"'))),
    **dict.fromkeys(SHAPES, ("a shape", lambda term: not term.startswith('"'))),
    "nodeKind": (f"one of {', '.join(f'sh:{kind}' for kind in NODE_KINDS)}", _KINDS.__contains__),
    "targetNode": ("an IRI or a literal", lambda term: not term.startswith("_:")),
    "message": ("a text", _is_text),
}
"""For each predicate the sort of value that it needs, in words and as a test."""


# --- links -----------------------------------------------------------------------------------------------------------


Links: TypeAlias = Mapping[str, tuple[tuple[str, str], ...]]
"""For each shape parameters and the shapes that it asks by them."""
_NEGATIVE = ("not", "xone", "qualifiedValueShape")


def siblings(name: str, shapes: Mapping[str, ParsedShape]) -> tuple[str, ...]:
    """Return the shapes to which values of a shape must not conform in order to count for its sh:qualifiedValueShape:
    those of its siblings, if it is disjoint from them."""
    own = shapes[name].value("qualifiedValueShape")
    if own is None or not shapes[name].holds("qualifiedValueShapesDisjoint"):
        return ()
    found = dict[str, None]()
    for parent in shapes.values():
        inner = parent.values("property")
        if name in inner:
            found |= dict.fromkeys(value for each in inner for value in shapes[each].values("qualifiedValueShape"))
    return tuple(each for each in found if each != own)


def links_of(shapes: Mapping[str, ParsedShape]) -> Links:
    return {name: tuple(_links(shape, shapes)) for name, shape in shapes.items()}


def knowable(shapes: Mapping[str, ParsedShape], graph: ShapesGraph) -> Mapping[str, ParsedShape]:
    """Return shapes without the negative constraints whose violations cannot be known. These ask for themselves, or for
    shapes that are partial: a node may fail such a shape without a known violation, and to say that it conforms would
    report violations that there are not. They are passed over, which makes their shapes partial, too."""
    while True:
        links = links_of(shapes)
        cycles = components({name: [inner for _, inner in asked] for name, asked in links.items()})
        numbers = {name: number for number, names in enumerate(cycles) for name in names}
        partial = _partial(shapes, links)
        dropped = dict[str, set[str]]()
        for name, asked in links.items():
            for parameter, inner in asked:
                if parameter not in _NEGATIVE or (numbers[inner] != numbers[name] and inner not in partial):
                    continue
                reason, hint = "it asks for a shape with a part that is not validated", "correct that part first"
                if numbers[inner] == numbers[name]:
                    reason = "the shape asks for itself through a negation"
                    hint = "end the recursion: neither answer would be right, and SHACL leaves it open"
                if parameter not in dropped.setdefault(name, set()):
                    graph.pass_over(graph.unsupported_part(name, parameter, reason, hint))
                    dropped[name].add(parameter)
        if not dropped:
            for name in reported_and_needed(shapes, links)[1]:
                for query in shapes[name].queries:
                    if query.algebra is None:
                        reason = f"another shape asks for it, and its query is no view: {query.reason}"
                        hint = "give the shape targets, or sh:property, so that it is validated alone"
                        graph.pass_over(graph.unsupported_part(name, "sparql", reason, hint))
            return shapes
        shapes = {name: _without_constraints(shape, dropped.get(name, set())) for name, shape in shapes.items()}


def parents(shapes: Mapping[str, ParsedShape], links: Links) -> dict[str, str]:
    """Return the property shapes whose focus nodes are those of a node shape, with that shape: they have no targets,
    and no other shape asks for them."""
    return {
        inner: name
        for inner, ((parameter, name), *others) in _invert_links(links).items()
        if not others and parameter == "property" and shapes[name].path is None and not shapes[inner].targets
    }


def _partial(shapes: Mapping[str, ParsedShape], links: Links) -> set[str]:
    """Return the shapes that are partial, or ask for one that is."""
    asking = _invert_links(links)
    found = {name for name, shape in shapes.items() if shape.is_partial}
    waiting = list(found)
    while waiting:
        more = {name for _, name in asking.get(waiting.pop(), ())} - found
        found |= more
        waiting += more
    return found


def _invert_links(links: Links) -> Mapping[str, Sequence[tuple[str, str]]]:
    """Return for each shape the parameters by which others ask for it, and these."""
    asking: dict[str, list[tuple[str, str]]] = {}
    for name, asked in links.items():
        for parameter, inner in asked:
            asking.setdefault(inner, []).append((parameter, name))
    return asking


def _without_constraints(shape: ParsedShape, parameters: set[str]) -> ParsedShape:
    """Return a shape without the constraints of some parameters, partial if there are any."""
    left = tuple(each for each in shape.constraints if each.parameter not in parameters)
    return replace(shape, constraints=left, is_partial=True) if parameters else shape


def _links(shape: ParsedShape, shapes: Mapping[str, ParsedShape]) -> Iterator[tuple[str, str]]:
    for each in shape.constraints if shape.is_active else ():
        if each.parameter in SHAPES:
            yield each.parameter, each.value
        elif each.parameter in SHAPE_LISTS:
            yield from ((each.parameter, member) for member in each.members)
    if shape.is_active:
        yield from (("qualifiedValueShape", sibling) for sibling in siblings(shape.name, shapes))


def reported_and_needed(shapes: Mapping[str, ParsedShape], links: Links) -> tuple[dict[str, None], dict[str, None]]:
    """Return the active shapes whose violations are reported, and those of which others ask if nodes conform."""
    reported = {name: None for name, shape in shapes.items() if shape.targets and shape.is_active}
    needed = dict[str, None]()
    waiting = [(name, True) for name in reported]
    while waiting:
        name, is_reported = waiting.pop()
        for parameter, inner in links[name]:
            stays = is_reported and parameter == "property"
            into = reported if stays else needed
            if inner not in into and shapes[inner].is_active:
                into[inner] = None
                waiting.append((inner, stays))
    return reported, needed
