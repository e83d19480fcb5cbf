"""Impact against time, one point per update, as SVG."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

_COLOURS = ("#4477aa", "#66ccee", "#228833", "#ccbb44", "#ee6677")


def impact(found: Mapping[str, Any], path: Path) -> None:
    """Draw the epochs of one program: colour is the size, shape the kind, hollow what bootstrapped."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    sizes = list(dict.fromkeys(epoch["size"] for epoch in found["epochs"]))
    for size, colour in zip(sizes, _COLOURS, strict=False):
        for kind, marker in (("delete", "v"), ("insert", "^")):
            for whole in (False, True):
                points = [
                    (max(1, epoch["impact"]), epoch["cpu"])
                    for epoch in found["epochs"]
                    if (epoch["size"], epoch["kind"], epoch["bootstraps"] > 0) == (size, kind, whole)
                ]
                if points:
                    label = f"{kind} {size:,}" + (", bootstrapped" if whole else "")
                    face = "none" if whole else colour
                    x, y = zip(*points, strict=True)
                    axes.scatter(x, y, s=24, marker=marker, facecolors=face, edgecolors=colour, label=label)
    axes.axhline(found["scratch_cpu"], color="black", linewidth=1, label="from scratch")
    axes.set(
        xscale="log", yscale="log", xlabel="derived tuples that came or went", ylabel="CPU seconds", title=found["name"]
    )
    axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    figure.savefig(path, format="svg", metadata={"Date": None})
