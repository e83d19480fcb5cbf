"""Property paths of SHACL: read from a graph of shapes, spelled as in SPARQL, and turned into rules.

Rules follow a path from its first nodes only, the focus nodes: so `*` reaches a focus node itself, whether or not the
graph has it, and costs nothing elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from tidelog.language.syntax import Alternation, Inverse, Path, Repeat, RepeatOp, Sequence, Step
from tidelog.rdf.shapes.documents import SH, ShapesGraph
from tidelog.rdf.sparql.bodies import ViewBody, ViewRules
from tidelog.rdf.terms import LIST_FIRST, LIST_REST, NIL, is_iri

_REPEATS: dict[str, RepeatOp] = {"zeroOrMorePath": "*", "oneOrMorePath": "+", "zeroOrOnePath": "?"}
_NAMES: dict[str, str] = {op: name for name, op in _REPEATS.items()}
_TOKEN = re.compile(r"<([^>]*)>|([()/|^*+?])")


def read_path(graph: ShapesGraph, shape: str, node: str, within: tuple[str, ...] = ()) -> Path:
    """Return the path that a node of a graph of shapes is. Raise DataError (E0674)."""
    if is_iri(node) and not graph.is_list(node):
        return Step(node)
    if node.startswith('"') or node in within:
        reason = "is no property path" if node not in within else "is a property path that contains itself"
        raise graph.ill_formed(shape, "path", reason, "use an IRI, a list, or a node with sh:inversePath and the like")

    def again(inner: str) -> Path:
        return read_path(graph, shape, inner, (*within, node))

    if graph.is_list(node):
        parts = tuple(map(again, graph.members(node, shape, "path")))
        if len(parts) < 2:
            raise graph.ill_formed(shape, "path", "is a sequence of fewer than two paths", "write the path alone")
        return Sequence(parts)
    found = [
        (name, value) for name in (*_REPEATS, "inversePath", "alternativePath") for value in graph.objects(node, name)
    ]
    if len(found) != 1:
        reason = "is a node that is no property path" if not found else "is a node with several property paths"
        raise graph.ill_formed(shape, "path", reason, "give the node one of sh:inversePath, sh:alternativePath …")
    name, value = found[0]
    if name == "inversePath":
        return Inverse(again(value))
    if name == "alternativePath":
        parts = tuple(map(again, graph.members(value, shape, "path")))
        if len(parts) < 2:
            raise graph.ill_formed(shape, "path", "has fewer than two alternatives", "write the path alone")
        return Alternation(parts)
    return Repeat(again(value), _REPEATS[name])


def path_text(path: Path, inner: bool = False) -> str:
    """Return a path as SPARQL writes it, with IRIs in full; brackets around one that is part of another."""
    match path:
        case Step(relation=iri):
            return f"<{iri}>"
        case Inverse(path=part):
            return f"^{path_text(part, True)}"
        case Repeat(path=part, op=op):
            text = path_text(part, True)
            return f"({text}){op}" if text[0] == "^" or text[-1] in _NAMES else f"{text}{op}"
        case Sequence(parts=parts) | Alternation(parts=parts):
            text = ("/" if isinstance(path, Sequence) else "|").join(path_text(part, True) for part in parts)
            return f"({text})" if inner else text


def path_triples(text: str, new: Callable[[], str]) -> tuple[str, list[tuple[str, str, str]]]:
    """Return the node that stands for an IRI or a spelled path, and the triples of its structure; `new` names blank
    nodes."""
    if not text.startswith(("<", "^", "(")):
        return text, []
    tokens = [match[0] for match in _TOKEN.finditer(text)]
    triples: list[tuple[str, str, str]] = []

    def add_triple(predicate: str, value: str) -> str:
        node = new()
        triples.append((node, f"{SH}{predicate}", value))
        return node

    def members(nodes: list[str]) -> str:
        rest = NIL
        for node in reversed(nodes):
            cell = new()
            triples.extend([(cell, LIST_FIRST, node), (cell, LIST_REST, rest)])
            rest = cell
        return rest

    def level(mark: str, inner: Callable[[], str], put_all: Callable[[list[str]], str]) -> str:
        nodes = [inner()]
        while tokens and tokens[0] == mark:
            tokens.pop(0)
            nodes.append(inner())
        return nodes[0] if len(nodes) == 1 else put_all(nodes)

    def alternatives() -> str:
        return level("|", sequence, lambda nodes: add_triple("alternativePath", members(nodes)))

    def sequence() -> str:
        return level("/", step, members)

    def step() -> str:
        token = tokens.pop(0)
        if token == "^":
            return add_triple("inversePath", step())
        node = token[1:-1]
        if token == "(":
            node = alternatives()
            tokens.pop(0)
        while tokens and tokens[0] in _NAMES:
            node = add_triple(_NAMES[tokens.pop(0)], node)
        return node

    return alternatives(), triples


def forward(path: Path, *, is_reversed: bool = False) -> Path:
    """Return a path, or the one from its end to its beginning, in which Inverse is around single steps only."""
    match path:
        case Step():
            return Inverse(path) if is_reversed else path
        case Inverse(path=inner):
            return forward(inner, is_reversed=not is_reversed)
        case Repeat(path=inner, op=op):
            return Repeat(forward(inner, is_reversed=is_reversed), op)
        case Alternation(parts=parts):
            return Alternation(tuple(forward(part, is_reversed=is_reversed) for part in parts))
        case Sequence(parts=parts):
            found = tuple(forward(part, is_reversed=is_reversed) for part in parts)
            return Sequence(found[::-1] if is_reversed else found)


class PathRules:
    """Turns paths of `forward` into bodies of rules, with relations of their own for repetitions."""

    def __init__(self, rules: ViewRules, relation: Callable[[str], str]) -> None:
        self._rules = rules
        self._relation = relation
        self._count = 0

    def bodies(self, path: Path, source: str, start: str, end: str) -> Iterator[str]:
        """Yield the bodies in which a path leads from a variable to another one. `source` are literals that bind the
        first: nothing is followed from elsewhere."""
        match path:
            case Step(relation=iri):
                yield f"{self._relation(iri)}({start}, {end})"
            case Inverse(path=Step(relation=iri)):
                yield f"{self._relation(iri)}({end}, {start})"
            case Alternation(parts=parts):
                for part in parts:
                    yield from self.bodies(part, source, start, end)
            case Sequence(parts=(only,)):
                yield from self.bodies(only, source, start, end)
            case Sequence(parts=(first, *rest)):
                self._count += 1
                middle = f"v_{self._count}"
                for body in self.bodies(first, source, start, middle):
                    for other in self.bodies(Sequence(tuple(rest)), f"{source}, {body}", middle, end):
                        yield f"{body}, {other}"
            case Repeat(path=part, op=op):
                yield f"{self._repetition(part, op, source, start)}({start}, {end})"
            case _:
                raise AssertionError(path)

    def _repetition(self, part: Path, op: str, source: str, start: str) -> str:
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
