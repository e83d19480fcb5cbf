"""A graph before a change and after it, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
import networkx as nx
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

Edge = tuple[str, str]


@dataclass(frozen=True)
class State:
    """One state to draw: edges by kind, and the nodes that get the colour of a kind."""

    title: str
    edges: Mapping[str, Sequence[Edge]]
    marked: Mapping[str, Iterable[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Style:
    """The look of a kind of edges or nodes."""

    colour: str
    line: Literal["solid", "dashed", "dotted"] = "solid"
    width: float = 1.4


def pairs(rows: Iterable[tuple[object, ...]]) -> list[Edge]:
    """Return the rows of a relation with two columns as sorted edges."""
    return sorted((str(start), str(end)) for start, end in rows)


_PLAIN, _INK = "#cfd8dc", "#1f2933"


def draw(file: Path, states: Sequence[State], styles: Mapping[str, Style]) -> None:
    """Draw the states with the same places for the same nodes, as SVG; the same states give the same file."""
    everything = nx.DiGraph(edge for state in states for edges in state.edges.values() for edge in sorted(edges))
    places = nx.spring_layout(everything, k=0.9, seed=3)
    with mpl.rc_context({"svg.hashsalt": "tidelog", "svg.fonttype": "none", "font.family": "sans-serif"}):
        figure = Figure(figsize=(6.5 * len(states), 6), layout="constrained")
        FigureCanvasAgg(figure)
        for state, axes in zip(states, figure.subplots(1, len(states)), strict=True):
            _panel(axes, state, places, styles)
        lines = [Line2D([], [], color=s.colour, linestyle=s.line, lw=s.width, label=kind) for kind, s in styles.items()]
        figure.legend(handles=lines, loc="outside lower center", ncols=len(lines), frameon=False)
        file.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(file, format="svg", metadata={"Date": None})


def _panel(axes: Any, state: State, places: Mapping[str, Any], styles: Mapping[str, Style]) -> None:
    colours = dict.fromkeys(places, _PLAIN)
    for kind, nodes in state.marked.items():
        colours.update(dict.fromkeys(nodes, styles[kind].colour))
    graph = nx.DiGraph()
    graph.add_nodes_from(places)
    nx.draw_networkx_nodes(graph, places, ax=axes, node_color=[colours[node] for node in graph], node_size=900)
    nx.draw_networkx_labels(graph, places, ax=axes, font_size=9, font_color=_INK)
    for kind, edges in state.edges.items():
        style = styles[kind]
        nx.draw_networkx_edges(
            nx.DiGraph(sorted(edges)),
            places,
            ax=axes,
            edge_color=style.colour,
            style=style.line,
            width=style.width,
            node_size=900,
            connectionstyle="arc3,rad=0.12",
        )
    axes.set_title(state.title)
    axes.margins(0.12)
    axes.set_axis_off()
