"""Reports of a run: rows of the table with the paper's figures beside tidelog's, plots of impact against time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import findings
from benchmarks.harness import BenchmarkError
from benchmarks.rules.updates import Timed

_HEAD = (
    "update",
    "impact",
    "ms",
    "CPU ms",
    "again",
    "fix-point",
    "scratch",
    "ratio",
    "CPU",
    "target",
    "met",
    "hyper-nodes",
    "paper",
)
_WIDTHS = (32, 9, 8, 8, 8, 9, 9, 6, 6, 17, 3, 34, 0)
_NUMERIC = range(1, 9)
_SHOWN = 3
_COLOURS = ("#1565c0", "#ef6c00", "#2e7d32", "#6a1b9a")


def head(group: str) -> str:
    """Return the lines above the rows of a group."""
    line = _row(_HEAD)
    return f"\n{group}\n{line}\n{'-' * len(line)}"


def row(timed: Timed) -> str:
    """Return an update; below one that misses its target stand the costliest hyper-nodes, and the wrong views."""
    cells = (
        timed.step.what,
        f"{timed.impact:,}",
        *(f"{seconds * 1e3:,.1f}" for seconds in _seconds(timed)),
        "" if timed.ratio is None else f"{timed.ratio:.3f}",
        f"{timed.cpu_ratio:.3f}",
        ", ".join(map(str, timed.goals)),
        {True: "yes", False: "NO", None: ""}[timed.met],
        timed.strategies,
        timed.step.paper,
    )
    texts = [_row(cells)]
    if timed.met is False:
        dearest = sorted(timed.nodes, key=lambda node: -node.seconds)[:_SHOWN]
        spent = sum(node.seconds for node in timed.nodes)
        texts += [f"    {n.seconds * 1e3:.1f} ms {n.strategy} {', '.join(n.relations)}: {n.reason}" for n in dearest]
        texts.append(f"    {(timed.wall - spent) * 1e3:.1f} ms outside of the hyper-nodes")
    if timed.wrong:
        texts.append(f"    WRONG, not as evaluated from scratch: {', '.join(timed.wrong)}")
    return "\n".join(texts)


def _seconds(timed: Timed) -> tuple[float, ...]:
    return timed.wall, timed.cpu, timed.again, timed.fixpoint, timed.scratch


def published(updates: Mapping[str, Sequence[Timed]]) -> dict[str, Any]:
    """Return the table of all updates; `ratio` compares CPU seconds with those of an evaluation from scratch."""
    titles = ("case", "update", "impact", "ms", "again, ms", "ratio", "target", "met", "the paper")
    rows = [
        [
            name,
            f"{timed.group}: {timed.step.what}",
            timed.impact,
            round(timed.wall * 1e3, 1),
            round(timed.again * 1e3, 1),
            round(timed.cpu_ratio, 3),
            ", ".join(map(str, timed.goals)),
            timed.met,
            timed.step.paper,
        ]
        for name, some in updates.items()
        for timed in some
    ]
    return findings.table(titles, rows)


def _row(cells: Sequence[str]) -> str:
    padded = (
        cell.rjust(width) if i in _NUMERIC else cell.ljust(width)
        for i, (cell, width) in enumerate(zip(cells, _WIDTHS, strict=True))
    )
    return "  ".join(padded).rstrip()


def draw(title: str, updates: Sequence[Timed], file: Path) -> None:
    """Draw impact against time as SVG, a point for each update and a faint one for evaluation from scratch instead.

    BenchmarkError without matplotlib.
    """
    try:
        import matplotlib as mpl
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise BenchmarkError(f"the plots need {error.name}: pip install 'tidelog[draw]'") from error
    groups = list(dict.fromkeys(timed.group for timed in updates))
    with mpl.rc_context({"svg.hashsalt": "tidelog", "svg.fonttype": "none", "font.family": "sans-serif"}):
        figure = Figure(figsize=(10, 6), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        compared = [timed for timed in updates if timed.fixpoint]
        if compared:
            impacts, seconds = [timed.impact for timed in compared], [timed.fixpoint for timed in compared]
            axes.scatter(impacts, seconds, marker="x", s=16, color="#b0bec5", label="from scratch instead")
        for i, group in enumerate(groups):
            for marker, coming in (("o", True), ("v", False)):
                shown = [t for t in updates if t.group == group and t.step.what.startswith("delete") is not coming]
                if shown:
                    impacts, seconds = [timed.impact for timed in shown], [timed.wall for timed in shown]
                    label, colour = f"{group}, {'added' if coming else 'deleted'}", _COLOURS[i % len(_COLOURS)]
                    axes.scatter(impacts, seconds, marker=marker, s=28, color=colour, alpha=0.8, label=label)
        axes.set_xscale("symlog", linthresh=1)
        axes.set_xlim(left=0)
        axes.set_yscale("log")
        axes.set_xlabel("impact: derived tuples that came and went")
        axes.set_ylabel("seconds")
        axes.set_title(title)
        axes.grid(color="#eceff1")
        figure.legend(loc="outside right upper", fontsize="small", frameon=False)
        file.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(file, metadata={"Date": None})
