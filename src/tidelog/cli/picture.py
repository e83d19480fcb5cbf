"""Draws the rule graph of a program with its hyper-nodes, as SVG, without any library.

A box stands for a hyper-node (relations that depend on each other, with their rules) or for a relation that is only
given; arrows lead from what is read to what is derived. Auxiliary relations of the rewrites are not shown: their arrows
are drawn through. Layers are longest paths from the given relations; within a layer, boxes stand near what they read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from tidelog.rules.core import AggregateRule, Atom, CoreProgram, HyperNode

CHARACTER, LINE, PADDING = 7.3, 17, 10
LAYER_GAP, BOX_GAP, MARGIN = 70, 26, 24
ROW = 6  # a box names at most this many relations or rules in one line

STYLE = """
    text { font: 12px ui-monospace, monospace; fill: #1f2933 }
    .title { font-weight: bold }
    .rules { fill: #52606d }
    .box { fill: #e3f2fd; stroke: #1565c0 }
    .recursive { fill: #fff3e0; stroke: #e65100; stroke-width: 2.5 }
    .given { fill: #f5f7fa; stroke: #9aa5b1 }
    .edge { fill: none; stroke: #7b8794 }
    .nonmonotone { stroke: #c62828; stroke-dasharray: 6 4 }
"""


@dataclass(frozen=True)
class Box:
    """What is drawn at one place. `reads` maps the boxes read, by index, to whether through negation or an aggregate."""

    title: tuple[str, ...]
    rules: tuple[str, ...]
    form: str
    reads: Mapping[int, bool]

    @property
    def width(self) -> float:
        return max(len(line) for line in (*self.title, *self.rules)) * CHARACTER + 2 * PADDING

    @property
    def height(self) -> float:
        return (len(self.title) + len(self.rules)) * LINE + 2 * PADDING


def draw(core: CoreProgram) -> str:
    """The picture of `core` as the text of an SVG file; the same program gives the same text."""
    boxes = rule_graph(core)
    places = _place(boxes)
    width = max((x + boxes[i].width for i, (x, _) in places.items()), default=0) + MARGIN
    height = max((y + boxes[i].height for i, (_, y) in places.items()), default=0) + MARGIN + 2 * LINE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img">',
        "<title>rule graph and hyper-nodes</title>",
        f"<style>{STYLE}</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="#7b8794"/></marker></defs>',
        *(_edge(boxes, places, i, j, through) for i, box in enumerate(boxes) for j, through in box.reads.items()),
        *(_box(box, *places[i]) for i, box in enumerate(boxes)),
        f'<text class="rules" x="{MARGIN}" y="{height - LINE:.0f}">grey: given · blue: derived · orange: recursive · '
        "dashed: negation or aggregate</text>",
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def rule_graph(core: CoreProgram) -> list[Box]:
    """The boxes of `core`, given relations first, each hyper-node after those that it reads."""
    shown = [node for node in core.nodes if not _is_auxiliary(core, node)]
    derived = {relation for node in core.nodes for relation in node.relations}
    given = [name for name, info in core.relations.items() if name not in derived and not info.auxiliary]
    index = {name: i for i, name in enumerate(given)}
    for i, node in enumerate(shown, len(given)):
        index.update(dict.fromkeys(node.relations, i))

    sources: dict[str, dict[str, bool]] = {}  # auxiliary relation -> shown relations behind it
    boxes = [Box((name,), (), "given", {}) for name in given]
    for node in core.nodes:
        reads: dict[str, bool] = {}
        for name, through in _reads(node):
            for source, before in sources.get(name, {name: False}).items():
                reads[source] = reads.get(source, False) or through or before
        if _is_auxiliary(core, node):
            sources.update(dict.fromkeys(node.relations, reads))
            continue
        here = index[node.relations[0]]
        places: dict[int, bool] = {}
        for name, through in reads.items():
            if name in index and index[name] != here:
                places[index[name]] = places.get(index[name], False) or through
        names = [name for name in node.relations if not core.relations[name].auxiliary]
        rules = sorted({rule.origin for rule in node.rules}, key=lambda name: (len(name), name))
        form = "recursive" if node.recursive else "box"
        boxes.append(Box(_lines(names), _lines(rules), form, places))
    return boxes


def _is_auxiliary(core: CoreProgram, node: HyperNode) -> bool:
    return all(core.relations[name].auxiliary for name in node.relations)


def _reads(node: HyperNode) -> Iterable[tuple[str, bool]]:
    """The relations that the rules of `node` read, each with whether through negation or an aggregate."""
    for rule in node.rules:
        if isinstance(rule, AggregateRule):
            yield rule.inner, True
            yield rule.outer, False
        else:
            yield from ((literal.relation, literal.negated) for literal in rule.body if isinstance(literal, Atom))


def _lines(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(" ".join(names[i : i + ROW]) for i in range(0, len(names), ROW))


def _place(boxes: Sequence[Box]) -> dict[int, tuple[float, float]]:
    """The upper left corner of each box, by index."""
    layer = [0] * len(boxes)
    for i, box in enumerate(boxes):
        layer[i] = 1 + max((layer[j] for j in box.reads), default=-1)
    places: dict[int, tuple[float, float]] = {}
    y = float(MARGIN)
    for level in range(max(layer, default=-1) + 1):
        members = [i for i in range(len(boxes)) if layer[i] == level]
        wanted = {i: _mean([places[j][0] + boxes[j].width / 2 for j in boxes[i].reads]) for i in members}
        x = float(MARGIN)
        for i in sorted(members, key=lambda i: (wanted[i], i)):
            x = max(x, wanted[i] - boxes[i].width / 2)
            places[i] = (x, y)
            x += boxes[i].width + BOX_GAP
        y += max(boxes[i].height for i in members) + LAYER_GAP
    return places


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _edge(
    boxes: Sequence[Box], places: Mapping[int, tuple[float, float]], target: int, source: int, through: bool
) -> str:
    start_x = places[source][0] + boxes[source].width / 2
    start_y = places[source][1] + boxes[source].height
    end_x, end_y = places[target][0] + boxes[target].width / 2, places[target][1]
    middle = (start_y + end_y) / 2
    form = "edge nonmonotone" if through else "edge"
    return (
        f'<path class="{form}" marker-end="url(#tip)" d="M{start_x:.1f} {start_y:.1f} '
        f'C{start_x:.1f} {middle:.1f} {end_x:.1f} {middle:.1f} {end_x:.1f} {end_y:.1f}"/>'
    )


def _box(box: Box, x: float, y: float) -> str:
    parts = [
        f'<rect class="{box.form}" x="{x:.1f}" y="{y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="6"/>'
    ]
    for i, line in enumerate((*box.title, *box.rules)):
        form = "title" if i < len(box.title) else "rules"
        baseline = y + PADDING + (i + 0.75) * LINE
        parts.append(f'<text class="{form}" x="{x + PADDING:.1f}" y="{baseline:.1f}">{escape(line)}</text>')
    return "\n".join(parts)
