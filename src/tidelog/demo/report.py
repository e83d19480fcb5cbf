"""The answers of the demo: as a table for the terminal, as a page, and one of them as a picture."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidelog.errors import Problem, SetupError, how_to_install, is_installed

if TYPE_CHECKING:
    import pyarrow as pa

    from tidelog.spark import Counts

_EXAMPLES = 5


@dataclass(frozen=True)
class Answer:
    """A question, the number of its answers, and some examples, the most remarkable first."""

    question: str
    amount: int
    examples: tuple[str, ...]


@dataclass(frozen=True)
class Summary:
    """Input, output and time: facts by relation, answers, seconds by stage."""

    counts: Mapping[str, Counts]
    answers: tuple[Answer, ...]
    stages: Mapping[str, float]


@dataclass(frozen=True)
class _Question:
    """A question: the rows of `view` answer `text`, only those with a `rank` other than 0 if they are `ranked`; the
    examples are shown in a `form`, by descending rank."""

    text: str
    view: str
    form: str
    rank: str = ""
    ranked: bool = False


_QUESTIONS = (
    _Question("Which modules do most others depend on?", "dependents", "{n} ({amount})", "amount", ranked=True),
    _Question("Which modules import nothing?", "standalone", "{m}"),
    _Question("Which modules does no other module import?", "unimported", "{m}"),
    _Question(
        "Which modules import each other while they load?", "cycle_size", "{first} … ({amount} modules)", "amount"
    ),
    _Question("Which modules stand on the longest chains of imports?", "layer", "{m} ({height})", "height"),
    _Question("Which classes are deepest below their roots?", "depth", "{c} ({k})", "k", ranked=True),
    _Question("Which classes have most descendants?", "descendants", "{c} ({amount})", "amount"),
    _Question("Which methods are overridden most often?", "overridden", "{g} ({amount})", "amount"),
    _Question("Which functions are called from most others?", "callers", "{g} ({amount})", "amount"),
    _Question("Which functions call themselves?", "recursive", "{f}"),
    _Question("Which private functions does nobody mention?", "dead", "{f} (line {line})"),
    _Question("Which private attributes are set and never read?", "write_only", "{c}.{x}"),
)


def summarize(counts: Mapping[str, Counts], views: Mapping[str, pa.Table], stages: Mapping[str, float]) -> Summary:
    """Return the answers to all questions, from the views by name."""
    return Summary(counts, tuple(_answer(question, views[question.view]) for question in _QUESTIONS), dict(stages))


def _answer(question: _Question, view: pa.Table) -> Answer:
    rows = [row for row in view.to_pylist() if not question.ranked or row[question.rank]]
    # By name among equals, so that the same data give the same page.
    rows.sort(key=lambda row: tuple(map(str, row.values())))
    if question.rank:
        rows.sort(key=itemgetter(question.rank), reverse=True)
    return Answer(question.text, len(rows), tuple(question.form.format(**row) for row in rows[:_EXAMPLES]))


def as_text(summary: Summary) -> str:
    """Return the summary as tables of text."""
    counts = [
        (name, str(c.read), str(c.accepted), str(c.duplicates), str(c.quarantined))
        for name, c in summary.counts.items()
    ]
    lines = _table(("facts", "read", "accepted", "duplicates", "quarantined"), counts)
    lines.append("")
    for answer in summary.answers:
        lines.append(f"{answer.amount:>7,}  {answer.question}")
        lines += [f"         · {example}" for example in answer.examples]
    return "\n".join(lines)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Yield lines of text; the first column is aligned left, numbers right."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    return [
        "  ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in [head, *rows]
    ]


def as_page(summary: Summary) -> str:
    """Return the summary as an HTML page beside `rules.svg` and `cycles.svg`."""
    facts = sum(count.accepted - count.duplicates for count in summary.counts.values())
    cards = "\n".join(
        f'<section><div class="amount">{answer.amount:,}</div><h3>{escape(answer.question)}</h3><ul>'
        + "".join(f"<li>{escape(example)}</li>" for example in answer.examples)
        + "</ul></section>"
        for answer in summary.answers
    )
    counts = "\n".join(
        f"<tr><td>{escape(name)}</td><td>{c.read:,}</td><td>{c.accepted:,}</td><td>{c.duplicates:,}</td>"
        f"<td>{c.quarantined:,}</td></tr>"
        for name, c in summary.counts.items()
    )
    stages = "\n".join(f"<tr><td>{escape(name)}</td><td>{s:.1f}</td></tr>" for name, s in summary.stages.items())
    style, page = (files("tidelog.demo").joinpath(f"report.{ending}").read_text("utf-8") for ending in ("css", "html"))
    return page.format(style=style, facts=facts, cards=cards, counts=counts, stages=stages)


_COLOURS = ("#1565c0", "#00796b", "#c62828", "#6a1b9a", "#ef6c00", "#2e7d32", "#ad1457", "#4527a0")
_INK, _FAINT, _ARROW = "#1f2933", "#52606d", "#9fb3c8"


def check_packages() -> None:
    """Raise SetupError (E0790) without matplotlib and networkx."""
    for module in ("matplotlib", "networkx"):
        if not is_installed(module):
            raise SetupError(Problem("E0790", f"the picture needs {module}", hint=how_to_install("draw")))


def draw_cycles(imports: pa.Table, file: Path) -> None:
    """Draw the rows (first, m, n) of `imports`: in the cycle named after `first`, m imports n. Write SVG, or the format
    of the ending of `file`. Raise SetupError (E0790) without matplotlib and networkx."""
    check_packages()
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    cycles: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for row in imports.to_pylist():
        cycles[row["first"]].append((row["m"], row["n"]))
    ordered = sorted(cycles.values(), key=lambda edges: (-len(edges), sorted(edges)))
    # Without a date and with fixed ids, the same data give the same file.
    with mpl.rc_context({"svg.hashsalt": "tidelog", "svg.fonttype": "none", "font.family": "sans-serif"}):
        rows = max(4, math.ceil((len(ordered) - 1) / 2))
        figure = Figure(figsize=(15, 1.6 * rows))
        FigureCanvasAgg(figure)
        # The largest cycle has the left half for itself.
        grid = figure.add_gridspec(
            rows, 3, width_ratios=[2, 1, 1], left=0.01, right=0.99, top=0.99, bottom=0.01, wspace=0.02, hspace=0.12
        )
        for i, edges in enumerate(ordered):
            place = grid[:, 0] if i == 0 else grid[(i - 1) // 2, 1 + (i - 1) % 2]
            _ring(figure.add_subplot(place), sorted(edges), _COLOURS[i % len(_COLOURS)], large=i == 0)
        if not ordered:
            figure.text(0.5, 0.5, "no import cycles", ha="center", va="center", color=_FAINT)
        figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None)


def _ring(axes: Any, edges: list[tuple[str, str]], colour: str, large: bool) -> None:
    """Draw one cycle: modules on a ring, larger if more of the others import them; an arrow for each import."""
    import networkx as nx

    graph = nx.DiGraph(edges)
    nodes = sorted(graph)
    # Two modules lie side by side, three and more start at the top.
    turn = math.pi if len(nodes) == 2 else math.pi / 2
    angles = [turn - 2 * math.pi * i / len(nodes) for i in range(len(nodes))]
    places = {node: (math.cos(angle), math.sin(angle)) for node, angle in zip(nodes, angles, strict=True)}
    scale = 26 if large else 12
    sizes = {node: (70 if large else 40) + scale * degree for node, degree in graph.in_degree()}
    nx.draw_networkx_edges(
        graph,
        places,
        ax=axes,
        edge_color=_ARROW,
        width=0.8,
        arrowsize=8,
        node_size=[sizes[node] for node in graph],
        connectionstyle="arc3,rad=0.14",
    )
    nx.draw_networkx_nodes(
        graph, places, nodelist=nodes, ax=axes, node_color=colour, node_size=[sizes[n] for n in nodes], linewidths=0
    )
    away = 1.07 if large else 1.16
    for node, (x, y) in places.items():
        side = "left" if x > 0.1 else "right" if x < -0.1 else "center"
        height = "bottom" if y > 0.95 else "top" if y < -0.95 else "center"
        label = node if node == nodes[0] else node.replace(f"{nodes[0]}.", ".", 1)
        weight = "bold" if node == nodes[0] else "normal"
        axes.text(away * x, away * y, label, ha=side, va=height, fontsize=10, color=_INK, fontweight=weight)
    axes.set_axis_off()
    axes.set(xlim=(-1.5, 1.5), ylim=(-1.25, 1.25), aspect="equal") if large else axes.set(
        xlim=(-3, 3), ylim=(-1.6, 1.6)
    )
