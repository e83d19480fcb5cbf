"""Which shapes ask which others: what has to be evaluated, and constraints whose violations cannot be known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from tidelog.rdf.shapes.documents import ShapesGraph
from tidelog.rdf.shapes.shape import ParsedShape
from tidelog.rdf.shapes.vocabulary import SHAPE_LISTS, SHAPES
from tidelog.rules.components import components

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
    """Return the links of shapes."""
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
                    graph.pass_over(graph.unsupported(name, parameter, reason, hint))
                    dropped[name].add(parameter)
        if not dropped:
            for name in reached(shapes, links)[1]:
                for query in shapes[name].queries:
                    if query.algebra is None:
                        reason = f"another shape asks for it, and its query is no view: {query.reason}"
                        hint = "give the shape targets, or sh:property, so that it is validated alone"
                        graph.pass_over(graph.unsupported(name, "sparql", reason, hint))
            return shapes
        shapes = {name: _without(shape, dropped.get(name, set())) for name, shape in shapes.items()}


def parents(shapes: Mapping[str, ParsedShape], links: Links) -> dict[str, str]:
    """Return the property shapes whose focus nodes are those of a node shape, with that shape: they have no targets,
    and no other shape asks for them."""
    return {
        inner: name
        for inner, ((parameter, name), *others) in _asking(links).items()
        if not others and parameter == "property" and shapes[name].path is None and not shapes[inner].targets
    }


def _partial(shapes: Mapping[str, ParsedShape], links: Links) -> set[str]:
    """Return the shapes that are partial, or ask for one that is."""
    asking = _asking(links)
    found = {name for name, shape in shapes.items() if shape.is_partial}
    waiting = list(found)
    while waiting:
        more = {name for _, name in asking.get(waiting.pop(), ())} - found
        found |= more
        waiting += more
    return found


def _asking(links: Links) -> Mapping[str, Sequence[tuple[str, str]]]:
    """Return for each shape the parameters by which others ask for it, and these."""
    asking: dict[str, list[tuple[str, str]]] = {}
    for name, asked in links.items():
        for parameter, inner in asked:
            asking.setdefault(inner, []).append((parameter, name))
    return asking


def _without(shape: ParsedShape, parameters: set[str]) -> ParsedShape:
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


def reached(shapes: Mapping[str, ParsedShape], links: Links) -> tuple[dict[str, None], dict[str, None]]:
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
