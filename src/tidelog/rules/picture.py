"""The rule graph and its hyper-nodes as a picture.

Hyper-nodes are rounded boxes; the paper's finer ones, components of the rules alone, are the boxes inside, named by
their rules. Arrows lead from what is read to what reads it; dashed red ones mean that it has to be complete first, for
a negation or an aggregate. `outline` decides what is shown, `layout` where, `canvas` puts it into a file.
"""

from __future__ import annotations

import os
import pathlib
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tidelog.errors import Problem, UsageError
from tidelog.rules import outline as seen
from tidelog.rules.canvas import CHARACTER, Box, Curve, Shape, Text, paint, svg
from tidelog.rules.core import CoreProgram
from tidelog.rules.layout import Layout, layout
from tidelog.rules.outline import rule_source

FORMATS = (".svg", ".html", ".png", ".pdf")
MOST_DETAILED = 150
"""Up to this many rules, boxes name their rules."""
MOST_LISTED = 60
"""Up to this many rules, they are written out below the graph."""

_INK, _FAINT, _ARROW, _RED = "#1f2d3d", "#6b7a8c", "#7d8b9a", "#c0392b"
_LOOK = {"node": ("#e6f0fa", "#3a6ea5"), "auxiliary": ("#fdf6e3", "#c9a227"), "given": ("#ffffff", "#b8c2cc")}
_PART = ("#ffffff", "#9dbbdb")
_TITLE, _SMALL = 10.0, 8.5
_LINE, _PAD, _MARGIN = 13.0, 8.0, 26.0
_TITLE_WIDTH, _PART_WIDTH, _RULE_WIDTH = 30, 18, 100
_MOST_TITLES = 8
_LEGEND = ("box: hyper-node, with a bold frame if recursive", "inner box: component of single rules")
_RED_LEGEND = "dashed red: negated or aggregated, so it has to be complete first"


def draw(core: CoreProgram, path: str | os.PathLike[str]) -> None:
    """Draws the rule graph to a file: SVG or HTML without any library, PNG or PDF with matplotlib, by its ending.

    Raises SetupError where matplotlib is needed and missing, and UsageError for another ending.
    """
    file = pathlib.Path(path)
    ending = file.suffix.lower()
    if ending not in FORMATS:
        message = f"a picture has to end in {', '.join(FORMATS)}; this is {file.name!r}"
        raise UsageError(Problem("E0690", message, hint="give the file one of these endings"))
    if ending in (".png", ".pdf"):
        paint(*_composed(core), file)
    else:
        text = picture(core)
        file.write_text(_page(text) if ending == ".html" else text, encoding="utf-8")


def picture(core: CoreProgram) -> str:
    """The rule graph as the text of an SVG file; the same program gives the same text."""
    return svg(*_composed(core), title="rule graph and hyper-nodes")


def _page(text: str) -> str:
    head = '<meta charset="utf-8"><title>rule graph and hyper-nodes</title>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{text}</body></html>\n'


@dataclass(frozen=True)
class _Card:
    """A box of the outline with what is written in it, and where its parts go."""

    box: seen.Box
    title: list[str]
    parts: list[list[str]]
    inside: Layout
    width: float
    height: float


def _composed(core: CoreProgram) -> tuple[list[Shape], float, float]:
    """All shapes, from back to front, with the width and height of the picture."""
    plan = seen.outline(core)
    origins = dict.fromkeys(rule.origin for box in plan.boxes for rule in box.rules)
    cards = [_card(box, detailed=len(origins) <= MOST_DETAILED) for box in plan.boxes]
    given = [index for index, box in enumerate(plan.boxes) if box.sort == "given"]
    ends = [(arrow.source, arrow.target) for arrow in plan.arrows]
    graph = layout([(card.width, card.height) for card in cards], ends, late=given)
    left, top = _MARGIN, _MARGIN - min((p.y - p.size[1] / 2 for p in graph.places), default=0.0)
    for place in graph.places:
        place.x, place.y = place.x + left, place.y + top
    width = max((p.x + p.size[0] / 2 for p in graph.places), default=0.0) + _MARGIN
    bottom = max((p.y + p.size[1] / 2 for p in graph.places), default=0.0) + _MARGIN
    shapes: list[Shape] = [*_curves(graph, plan.arrows)]
    for card, place in zip(cards, graph.places, strict=False):
        shapes += _card_shapes(card, place.x, place.y)
    lines = [*_LEGEND, *([_RED_LEGEND] if any(arrow.negative for arrow in plan.arrows) else [])]
    width = max(width, max(map(len, lines)) * _SMALL * CHARACTER + 2 * _MARGIN)
    for line in lines:
        shapes.append(Text(_MARGIN, bottom, line, _SMALL, _FAINT, centred=False))
        bottom += _LINE
    if len(origins) <= MOST_LISTED:
        listed, width, bottom = _listing(core, width, bottom + _LINE)
        shapes += listed
    return shapes, width, bottom + _MARGIN / 2


def _card(box: seen.Box, *, detailed: bool) -> _Card:
    names = box.titles if len(box.titles) <= _MOST_TITLES else (*box.titles[: _MOST_TITLES - 1], "…")
    title = textwrap.wrap(", ".join(names), _TITLE_WIDTH, break_long_words=False, break_on_hyphens=False)
    parts: list[list[str]] = []
    if box.sort == "node":
        count = len(dict.fromkeys(rule.origin for rule in box.rules))
        texts = [", ".join(part) for part in box.parts] if detailed else [f"{count} rule{'s' if count > 1 else ''}"]
        parts = [textwrap.wrap(text, _PART_WIDTH, break_long_words=False) for text in texts]
    links = box.links if detailed else ()
    sizes = [(_wide(part, _SMALL) + 10, len(part) * (_LINE - 1) + 5) for part in parts]
    inside = layout(sizes, links, gap=(22.0, 5.0))
    columns = [place.x + place.size[0] / 2 for place in inside.places]
    rows = [side for place in inside.places for side in (place.y - place.size[1] / 2, place.y + place.size[1] / 2)]
    size = _TITLE if box.sort == "node" else _SMALL
    width = max(_wide(title, size), max(columns, default=0.0)) + 2 * _PAD
    height = len(title) * _LINE + (max(rows) - min(rows) + _PAD if rows else 0.0) + 1.5 * _PAD
    return _Card(box, title, parts, inside, width, height)


def _wide(lines: Sequence[str], size: float) -> float:
    return max(map(len, lines), default=0) * size * CHARACTER


def _card_shapes(card: _Card, x: float, y: float) -> list[Shape]:
    """The shapes of a card whose centre is at `x`, `y`."""
    fill, line = _LOOK[card.box.sort]
    tip = "\n".join(dict.fromkeys(rule_source(rule) for rule in card.box.rules))
    thickness = 2.2 if card.box.recursive else 1.0
    shapes: list[Shape] = [Box(x, y, card.width, card.height, fill, line, thickness=thickness, tip=tip)]
    node = card.box.sort == "node"
    row = y - card.height / 2 + _PAD * 0.75 + _LINE / 2
    for text in card.title:
        shapes.append(Text(x, row, text, _TITLE if node else _SMALL, _INK if node else _FAINT, bold=node))
        row += _LINE
    if not card.parts:
        return shapes
    places = card.inside.places
    across = x - max(place.x + place.size[0] / 2 for place in places) / 2
    down = row - _LINE / 2 + _PAD * 0.75 - min(place.y - place.size[1] / 2 for place in places)
    for place in places:
        place.x, place.y = place.x + across, place.y + down
    links = [seen.Arrow(source, target, negative=False) for source, target in card.box.links]
    shapes += [replace(curve, thickness=0.8) for curve in _curves(card.inside, links[: len(card.inside.routes)])]
    for part, place in zip(card.parts, places, strict=False):
        shapes.append(Box(place.x, place.y, *place.size, *_PART, radius=4.0, tip=tip))
        for number, text in enumerate(part):
            height = place.y + (number - (len(part) - 1) / 2) * (_LINE - 1)
            shapes.append(Text(place.x, height, text, _SMALL, _INK))
    return shapes


def _curves(graph: Layout, arrows: Sequence[seen.Arrow]) -> list[Curve]:
    """A curve for each route. Those that meet at a box are spread over its side, in the order of their other ends."""
    leaving, arriving = _ports(graph, first=True), _ports(graph, first=False)
    curves = []
    for number, (route, arrow) in enumerate(zip(graph.routes, arrows, strict=True)):
        source, target = graph.places[route[0]], graph.places[route[-1]]
        points = [(source.x + source.size[0] / 2, source.y + leaving[number])]
        for index in route[1:-1]:
            place = graph.places[index]
            points += [(place.x - place.size[0] / 2, place.y), (place.x + place.size[0] / 2, place.y)]
        points.append((target.x - target.size[0] / 2, target.y + arriving[number]))
        curves.append(Curve(tuple(points), _RED if arrow.negative else _ARROW, dashed=arrow.negative))
    return curves


def _ports(graph: Layout, *, first: bool) -> dict[int, float]:
    """For each route how far from the middle of the box's side it starts (`first`) or ends."""
    at: dict[int, list[int]] = {}
    for number, route in enumerate(graph.routes):
        at.setdefault(route[0] if first else route[-1], []).append(number)
    ports = {}
    for index, numbers in at.items():
        numbers.sort(key=lambda number: graph.places[graph.routes[number][1 if first else -2]].y)
        step = min(9.0, graph.places[index].size[1] * 0.7 / len(numbers))
        for row, number in enumerate(numbers):
            ports[number] = (row - (len(numbers) - 1) / 2) * step
    return ports


def _listing(core: CoreProgram, width: float, top: float) -> tuple[list[Shape], float, float]:
    """The user's rules in columns below `top`; the width and the lower end of the picture with them."""
    first = {rule.origin: rule for node in core.nodes for rule in node.rules if not rule.name.startswith("#")}
    texts = [textwrap.shorten(rule_source(rule), _RULE_WIDTH, placeholder=" …") for rule in first.values()]
    column = _wide(texts, _SMALL) + _MARGIN
    count = max(1, int((width - _MARGIN) // column)) if texts else 1
    height = -(-len(texts) // count)
    shapes: list[Shape] = []
    for number, text in enumerate(texts):
        x, y = _MARGIN + number // height * column, top + number % height * _LINE
        shapes.append(Text(x, y, text, _SMALL, _INK, centred=False))
    return shapes, max(width, column + _MARGIN), top + height * _LINE
