"""The rule graph and its hyper-nodes as a picture, written in DOT, the language of Graphviz, and laid out by Graphviz.

Hyper-nodes are rounded boxes; the paper's finer ones, components of the rules alone, are the boxes inside, named by
their rules. Arrows lead from relations to their readers; dashed red ones mean that it has to be complete first, for a
negation or an aggregate. `outline` decides the contents.
"""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tidelog.durable.whole_files import write_whole
from tidelog.errors import Problem, SetupError, UsageError, how_to_install, is_installed, wrong_argument
from tidelog.rules.core import CoreProgram
from tidelog.rules.outline import Box, Outline, describe, is_written, outline, rule_source

FORMATS = (".dot", ".svg", ".html", ".png", ".pdf")
MOST_DETAILED = 150
"""Up to this many rules, boxes name their rules."""
MOST_LISTED = 60
"""Up to this many rules, they are written out below the graph."""

_TITLE_WIDTH, _PART_WIDTH, _RULE_WIDTH = 30, 18, 100
_MOST_TITLES = 8
_FAINT, _RED = "#6b7a8c", "#c0392b"
_FONT = 'fontname="DejaVu Sans Mono,Menlo,Consolas,monospace"'
_PLAIN = (
    'shape=box height=0.3 margin="0.1,0.04" style="rounded,filled" fillcolor="#ffffff" color="#b8c2cc" fontsize=9'
    f' fontcolor="{_FAINT}"'
)
_AUXILIARY = 'fillcolor="#fdf6e3" color="#c9a227"'
_CLUSTER = (
    'labelloc=t labeljust=c style="rounded,filled" fillcolor="#e6f0fa" color="#3a6ea5" fontcolor="#1f2d3d" fontsize=11'
)
_PART = 'color="#9dbbdb" fontcolor="#1f2d3d"'
_LEGEND = ("box: hyper-node, with a bold frame if recursive", "inner box: component of single rules")
_RED_LEGEND = "dashed red: negated or aggregated, so it has to be complete first"


def draw(core: CoreProgram, path: str | os.PathLike[str]) -> None:
    """Write the rule graph to a file: as DOT text, or as Graphviz lays it out, by the ending of the file.

    Raise UsageError (E0690) for another ending, and SetupError (E0790) where pygraphviz is needed and missing.
    """
    write_picture(lambda: dot(core), path, "rule graph and hyper-nodes")


class RuleGraph:
    """The rule graph of a program: a picture in a notebook where pygraphviz is installed, else text."""

    def __init__(self, core: CoreProgram) -> None:
        self._core = core

    @property
    def dot(self) -> str:
        """Return the graph in DOT, the language of Graphviz."""
        return dot(self._core)

    @property
    def svg(self) -> str:
        """Return the graph as SVG. Raise SetupError (E0790) if pygraphviz is not installed."""
        text = _laid_out(self.dot, "svg").decode()
        return text[text.index("<svg") :]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the graph to a file, by its ending, see `draw`."""
        draw(self._core, path)

    def _repr_svg_(self) -> str | None:
        return self.svg if is_installed("pygraphviz") else None

    def __repr__(self) -> str:
        return describe(self._core)


def write_picture(dot_text: Callable[[], str], path: str | os.PathLike[str], title: str) -> None:
    """Write a text for Graphviz to a file, as it is or laid out, by the ending of the file. Raise as `draw`."""
    given: object = path
    if not isinstance(given, (str, os.PathLike)):
        raise wrong_argument("a picture", "the path of a file", given)
    file = Path(path)
    ending = file.suffix.lower()
    if ending not in FORMATS:
        message = f"expected a picture file ending in {', '.join(FORMATS)}, found {file.name!r}"
        raise UsageError(Problem("E0690", message, hint="rename the file to one of these endings"))
    text = dot_text()
    if ending == ".dot":
        write_whole(file, text.encode())
    elif ending == ".html":
        svg = _laid_out(text, "svg").decode()
        write_whole(file, _page(svg[svg.index("<svg") :], title).encode())
    else:
        write_whole(file, _laid_out(text, ending[1:]))


def _laid_out(text: str, form: str) -> bytes:
    """Return the picture in a form that Graphviz writes."""
    try:
        from pygraphviz import AGraph
    except ImportError:
        message = f"a picture in {form.upper()} needs pygraphviz, which is not installed"
        hint = f"{how_to_install('draw')}, or write a .dot file, which needs no package"
        raise SetupError(Problem("E0790", message, hint=hint)) from None
    with _without_warnings():
        graph = AGraph(string=text)
        graph.layout("dot")
        return bytes(graph.draw(format=form))


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Keep messages of C libraries off the terminal: the Fontconfig in the wheel is older than many configurations of
    fonts, and warns of each element that it does not know."""
    sys.stderr.flush()
    terminal, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, 2)
        yield
    finally:
        os.dup2(terminal, 2)
        os.close(terminal)
        os.close(nothing)


def _page(svg: str, title: str) -> str:
    head = f'<meta charset="utf-8"><title>{title}</title>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{svg}</body></html>\n'


def dot(core: CoreProgram) -> str:
    """Return the rule graph as DOT text; the same program gives the same text."""
    plan = outline(core)
    detailed = len({rule.origin for box in plan.boxes for rule in box.rules}) <= MOST_DETAILED
    lines = [
        "digraph {",
        f'rankdir=LR compound=true labelloc=b labeljust=l {_FONT} fontsize=9 fontcolor="{_FAINT}"',
        'tooltip="rule graph and hyper-nodes"',
        f"label={_quote_left_aligned(_below(core, plan))}",
        f"node [{_FONT} {_PLAIN}]",
        'edge [color="#7d8b9a" arrowsize=0.6]',
    ]
    for number, box in enumerate(plan.boxes):
        lines += _cluster(number, box, detailed) if box.sort == "node" else [_plain(number, box)]
    lines += _arrows(plan)
    return "\n".join([*lines, "}\n"])


def _below(core: CoreProgram, plan: Outline) -> list[str]:
    """Return the lines below the graph: the legend, and the user's rules unless they are many."""
    lines = [*_LEGEND, *([_RED_LEGEND] if any(arrow.negative for arrow in plan.arrows) else [])]
    first = {rule.origin: rule for node in core.nodes for rule in node.rules if is_written(rule)}
    if len({rule.origin for node in core.nodes for rule in node.rules}) > MOST_LISTED:
        return lines
    rules = [textwrap.shorten(rule_source(rule), _RULE_WIDTH, placeholder=" …") for rule in first.values()]
    return [*lines, "", *rules]


def _title(box: Box) -> list[str]:
    names = box.titles if len(box.titles) <= _MOST_TITLES else (*box.titles[: _MOST_TITLES - 1], "…")
    return textwrap.wrap(", ".join(names), _TITLE_WIDTH, break_long_words=False, break_on_hyphens=False)


def _tip(box: Box) -> str:
    rules = [rule for rule in box.rules if is_written(rule)] if box.sort == "node" else box.rules
    return "\n".join(dict.fromkeys(map(rule_source, rules)))


def _plain(number: int, box: Box) -> str:
    look = f" {_AUXILIARY}" if box.sort == "auxiliary" else ""
    return f"{_part(number, 0)} [label={quote_lines(_title(box))} tooltip={quote_lines([_tip(box)])}{look}]"


def _cluster(number: int, box: Box, detailed: bool) -> Iterator[str]:
    tip = quote_lines([_tip(box)])
    width = 2.2 if box.recursive else 1.0
    yield f"subgraph cluster_{number} {{"
    yield f"{_CLUSTER} penwidth={width} label={quote_lines(_title(box))} tooltip={tip}"
    count = len({rule.origin for rule in box.rules})
    texts = [", ".join(part) for part in box.parts] if detailed else [f"{count} rule{'s' if count > 1 else ''}"]
    for part, text in enumerate(texts):
        wrapped = textwrap.wrap(text, _PART_WIDTH, break_long_words=False)
        yield f"{_part(number, part)} [label={quote_lines(wrapped)} tooltip={tip} {_PART}]"
    for source, target in box.links if detailed else ():
        yield f"{_part(number, source)} -> {_part(number, target)}"
    yield "}"


def _arrows(plan: Outline) -> Iterator[str]:
    for arrow in plan.arrows:
        ends = [
            f'l{end}="cluster_{number}"'
            for end, number in (("tail", arrow.source), ("head", arrow.target))
            if plan.boxes[number].sort == "node"
        ]
        look = [f'color="{_RED}" style=dashed'] if arrow.negative else []
        yield f"{_part(arrow.source, 0)} -> {_part(arrow.target, 0)} [{' '.join([*ends, *look])}]"


def _part(box: int, part: int) -> str:
    return f"b{box}_{part}"


def quote_lines(lines: Sequence[str]) -> str:
    """Return a string of DOT with these centred lines; Graphviz takes `\\` and HTML entities in it for commands."""
    return '"' + "\\n".join(map(_escape_text, lines)) + '"'


def _quote_left_aligned(lines: Sequence[str]) -> str:
    """Return a string of DOT with these lines, each aligned to the left."""
    return '"' + "".join(f"{_escape_text(line)}\\l" for line in lines) + '"'


def _escape_text(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;").replace("\n", "\\n")
