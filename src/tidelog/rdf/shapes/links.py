"""Which shapes ask which others: what has to be evaluated, and recursion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from tidelog.errors import Problem, UsageError
from tidelog.rdf.shapes.shape import ParsedShape
from tidelog.rdf.shapes.vocabulary import SHAPE_LISTS, SHAPES
from tidelog.rdf.terms import is_iri
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
    """Return the links of shapes. Raise UsageError (E0675) for recursion through negation."""
    found = {name: tuple(_links(shape, shapes)) for name, shape in shapes.items()}
    cycles = components({name: [inner for _, inner in links] for name, links in found.items()})
    numbers = {name: number for number, names in enumerate(cycles) for name in names}
    for name, links in found.items():
        for parameter, inner in links:
            if parameter in _NEGATIVE and numbers[inner] == numbers[name]:
                shown = f"<{name}>" if is_iri(name) else "without a name"
                message = f"the shape {shown} asks for itself through sh:{parameter}"
                hint = "end the recursion: neither answer would be right, and SHACL leaves it open"
                raise UsageError(Problem("E0675", message, place="<shapes>", hint=hint))
    return found


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
