"""One answer as a picture: the import cycles, each as a ring of modules."""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidelog.errors import Problem, SetupError, how_to_install, is_installed

if TYPE_CHECKING:
    import pyarrow as pa

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
