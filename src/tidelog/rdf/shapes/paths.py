"""Property paths of SHACL: read from a graph of shapes, spelled as in SPARQL, and turned into rules.

Rules follow a path from its first nodes only, the focus nodes: so `*` reaches a focus node itself, whether or not the
graph has it, and costs nothing elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from tidelog.rdf.shapes.documents import ShapesGraph
from tidelog.rdf.shapes.vocabulary import SH
from tidelog.rdf.sparql.bodies import ViewBody, ViewRules
from tidelog.rdf.terms import RDF, is_iri

_REPEATS = {"zeroOrMorePath": "*", "oneOrMorePath": "+", "zeroOrOnePath": "?"}
_NAMES = {op: name for name, op in _REPEATS.items()}
_TOKEN = re.compile(r"<([^>]*)>|([()/|^*+?])")


@dataclass(frozen=True)
class Property:
    """A step along a property, or against it."""

    iri: str
    inverse: bool = False


@dataclass(frozen=True)
class Chain:
    """Paths behind one another."""

    parts: tuple[ShapePath, ...]


@dataclass(frozen=True)
class Choice:
    """Paths of which one is taken."""

    parts: tuple[ShapePath, ...]


@dataclass(frozen=True)
class RepeatedPath:
    """A path several times: `*`, `+` or `?`."""

    part: ShapePath
    op: str


@dataclass(frozen=True)
class Backward:
    """A path from its end to its beginning."""

    part: ShapePath


ShapePath: TypeAlias = Property | Chain | Choice | RepeatedPath | Backward


def read_path(graph: ShapesGraph, shape: str, node: str, within: tuple[str, ...] = ()) -> ShapePath:
    """Return the path that a node of a graph of shapes is. Raise DataError (E0674)."""
    if is_iri(node) and not graph.is_list(node):
        return Property(node)
    if node.startswith('"') or node in within:
        reason = "is no property path" if node not in within else "is a property path that contains itself"
        raise graph.ill_formed(shape, "path", reason, "use an IRI, a list, or a node with sh:inversePath and the like")

    def again(inner: str) -> ShapePath:
        return read_path(graph, shape, inner, (*within, node))

    if graph.is_list(node):
        parts = tuple(map(again, graph.members(node, shape, "path")))
        if len(parts) < 2:
            raise graph.ill_formed(shape, "path", "is a sequence of fewer than two paths", "write the path alone")
        return Chain(parts)
    found = [
        (name, value) for name in (*_REPEATS, "inversePath", "alternativePath") for value in graph.objects(node, name)
    ]
    if len(found) != 1:
        reason = "is a node that is no property path" if not found else "is a node with several property paths"
        raise graph.ill_formed(shape, "path", reason, "give the node one of sh:inversePath, sh:alternativePath …")
    name, value = found[0]
    if name == "inversePath":
        return Backward(again(value))
    if name == "alternativePath":
        parts = tuple(map(again, graph.members(value, shape, "path")))
        if len(parts) < 2:
            raise graph.ill_formed(shape, "path", "has fewer than two alternatives", "write the path alone")
        return Choice(parts)
    return RepeatedPath(again(value), _REPEATS[name])


def spelled(path: ShapePath, inner: bool = False) -> str:
    """Return a path as SPARQL writes it, with IRIs in full; brackets around one that is part of another."""
    match path:
        case Property(iri=iri):
            return f"<{iri}>"
        case Backward(part=part):
            return f"^{spelled(part, True)}"
        case RepeatedPath(part=part, op=op):
            text = spelled(part, True)
            return f"({text}){op}" if text[0] == "^" or text[-1] in _NAMES else f"{text}{op}"
        case Chain(parts=parts) | Choice(parts=parts):
            text = ("/" if isinstance(path, Chain) else "|").join(spelled(part, True) for part in parts)
            return f"({text})" if inner else text


def path_triples(text: str, new: Callable[[], str]) -> tuple[str, list[tuple[str, str, str]]]:
    """Return the node that stands for an IRI or a spelled path, and the triples of its structure; `new` names blank
    nodes."""
    if not text.startswith(("<", "^", "(")):
        return text, []
    tokens = [match[0] for match in _TOKEN.finditer(text)]
    triples: list[tuple[str, str, str]] = []

    def put(predicate: str, value: str) -> str:
        node = new()
        triples.append((node, f"{SH}{predicate}", value))
        return node

    def members(nodes: list[str]) -> str:
        rest = f"{RDF}nil"
        for node in reversed(nodes):
            cell = new()
            triples.extend([(cell, f"{RDF}first", node), (cell, f"{RDF}rest", rest)])
            rest = cell
        return rest

    def level(mark: str, inner: Callable[[], str], put_all: Callable[[list[str]], str]) -> str:
        nodes = [inner()]
        while tokens and tokens[0] == mark:
            tokens.pop(0)
            nodes.append(inner())
        return nodes[0] if len(nodes) == 1 else put_all(nodes)

    def alternatives() -> str:
        return level("|", sequence, lambda nodes: put("alternativePath", members(nodes)))

    def sequence() -> str:
        return level("/", step, members)

    def step() -> str:
        token = tokens.pop(0)
        if token == "^":
            return put("inversePath", step())
        node = token[1:-1]
        if token == "(":
            node = alternatives()
            tokens.pop(0)
        while tokens and tokens[0] in _NAMES:
            node = put(_NAMES[tokens.pop(0)], node)
        return node

    return alternatives(), triples


def reversed_path(path: ShapePath) -> ShapePath:
    """Return a path from its end to its beginning, with no Backward in it."""
    match path:
        case Property(iri=iri, inverse=inverse):
            return Property(iri, not inverse)
        case Chain(parts=parts):
            return Chain(tuple(reversed_path(part) for part in reversed(parts)))
        case Choice(parts=parts):
            return Choice(tuple(map(reversed_path, parts)))
        case RepeatedPath(part=part, op=op):
            return RepeatedPath(reversed_path(part), op)
        case Backward(part=part):
            return forward(part)


def forward(path: ShapePath) -> ShapePath:
    """Return a path with no Backward in it."""
    match path:
        case Property():
            return path
        case Chain(parts=parts):
            return Chain(tuple(map(forward, parts)))
        case Choice(parts=parts):
            return Choice(tuple(map(forward, parts)))
        case RepeatedPath(part=part, op=op):
            return RepeatedPath(forward(part), op)
        case Backward(part=part):
            return reversed_path(part)


class PathRules:
    """Turns paths without Backward into bodies of rules, with relations of their own for repetitions."""

    def __init__(self, rules: ViewRules, relation: Callable[[str], str]) -> None:
        self._rules = rules
        self._relation = relation
        self._count = 0

    def bodies(self, path: ShapePath, source: str, start: str, end: str) -> Iterator[str]:
        """Yield the bodies in which a path leads from a variable to another one. `source` are literals that bind the
        first: nothing is followed from elsewhere."""
        match path:
            case Property(iri=iri, inverse=inverse):
                ends = f"{end}, {start}" if inverse else f"{start}, {end}"
                yield f"{self._relation(iri)}({ends})"
            case Choice(parts=parts):
                for part in parts:
                    yield from self.bodies(part, source, start, end)
            case Chain(parts=(only,)):
                yield from self.bodies(only, source, start, end)
            case Chain(parts=(first, *rest)):
                self._count += 1
                middle = f"v_{self._count}"
                for body in self.bodies(first, source, start, middle):
                    for other in self.bodies(Chain(tuple(rest)), f"{source}, {body}", middle, end):
                        yield f"{body}, {other}"
            case RepeatedPath(part=part, op=op):
                yield f"{self._repeated(part, op, source, start)}({start}, {end})"
            case _:
                raise AssertionError(path)

    def _repeated(self, part: ShapePath, op: str, source: str, start: str) -> str:
        """Return the relation of a repeated path from the nodes of a variable."""
        self._count += 1
        first, reach = (self._rules.name(f"{sort}_{self._count}") for sort in ("first", "reach"))
        self._rules.declare(first, ["x"])
        self._rules.declare(reach, ["x", "y"])
        self._derive(f"{first}({start})", source)
        if op != "+":
            self._derive(f"{reach}(v_x, v_x)", f"{first}(v_x)")
        if op != "*":
            for body in self.bodies(part, f"{first}(v_x)", "v_x", "v_y"):
                self._derive(f"{reach}(v_x, v_y)", f"{first}(v_x), {body}")
        if op != "?":
            for body in self.bodies(part, f"{reach}(v_x, v_m)", "v_m", "v_y"):
                self._derive(f"{reach}(v_x, v_y)", f"{reach}(v_x, v_m), {body}")
        return reach

    def _derive(self, head: str, body: str) -> None:
        self._rules.derive(head, ViewBody((body,)))
