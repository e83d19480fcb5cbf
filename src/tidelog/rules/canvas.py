"""Flat shapes, and two ways to put them into a file: as SVG text without any library, or painted with matplotlib."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import TypeAlias

from tidelog.errors import Problem, SetupError, how_to_install

CHARACTER = 0.602
"""The width of a character of the monospaced font, in font sizes."""
_FONT = "DejaVu Sans Mono, Menlo, Consolas, monospace"
_DASHES = (4.0, 3.0)
_MOST_PIXELS = 16_000


@dataclass(frozen=True)
class Box:
    """A rounded rectangle around its centre. `tip` is shown under the pointer, where there is one."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    line: str
    radius: float = 6.0
    thickness: float = 1.0
    tip: str = ""


@dataclass(frozen=True)
class Curve:
    """A smooth line through the points from left to right, with an arrow head at its end."""

    points: tuple[tuple[float, float], ...]
    line: str
    dashed: bool = False
    thickness: float = 1.0


@dataclass(frozen=True)
class Text:
    """A line of text; `x`, `y` is the middle of its left end, or its centre if `centred`."""

    x: float
    y: float
    text: str
    size: float
    colour: str
    bold: bool = False
    centred: bool = True


Shape: TypeAlias = Box | Curve | Text


def svg(shapes: Sequence[Shape], width: float, height: float, title: str) -> str:
    """The shapes as the text of an SVG file, in units of points; y grows downwards."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.1f} {height:.1f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img" font-family="{_FONT}">',
        f"<title>{escape(title)}</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        *map(_element, shapes),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _element(shape: Shape) -> str:
    match shape:
        case Box():
            left, top = shape.x - shape.width / 2, shape.y - shape.height / 2
            tip = f"<title>{escape(shape.tip)}</title>" if shape.tip else ""
            return (
                f'<rect x="{left:.1f}" y="{top:.1f}" width="{shape.width:.1f}" height="{shape.height:.1f}" '
                f'rx="{shape.radius}" fill="{shape.fill}" stroke="{shape.line}" stroke-width="{shape.thickness}">'
                f"{tip}</rect>"
            )
        case Curve():
            x, y = shape.points[0]
            path = f"M{x:.1f} {y:.1f}"
            for one, other in pairwise(shape.points):
                middle = (one[0] + other[0]) / 2
                path += f" C{middle:.1f} {one[1]:.1f} {middle:.1f} {other[1]:.1f} {other[0]:.1f} {other[1]:.1f}"
            dashes = f' stroke-dasharray="{_DASHES[0]} {_DASHES[1]}"' if shape.dashed else ""
            head = " ".join(f"{px:.1f},{py:.1f}" for px, py in _head(shape))
            return (
                f'<path d="{path}" fill="none" stroke="{shape.line}" stroke-width="{shape.thickness}"{dashes}/>'
                f'<polygon points="{head}" fill="{shape.line}"/>'
            )
        case Text():
            weight = ' font-weight="bold"' if shape.bold else ""
            anchor = ' text-anchor="middle"' if shape.centred else ""
            return (
                f'<text x="{shape.x:.1f}" y="{shape.y + shape.size * 0.35:.1f}" font-size="{shape.size}" '
                f'fill="{shape.colour}"{weight}{anchor} xml:space="preserve">{escape(shape.text)}</text>'
            )


def _head(curve: Curve) -> tuple[tuple[float, float], ...]:
    """The corners of the arrow head; curves arrive horizontally."""
    x, y = curve.points[-1]
    long, wide = 5.0 + curve.thickness, 2.0 + curve.thickness
    return (x, y), (x - long, y - wide), (x - long, y + wide)


def paint(shapes: Sequence[Shape], width: float, height: float, file: pathlib.Path) -> None:
    """Writes the shapes as PNG or PDF, by the ending of `file`. Raises SetupError without matplotlib."""
    try:
        from matplotlib.figure import Figure
        from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon
        from matplotlib.path import Path
    except ImportError:
        hint = f"{how_to_install('draw')}, or write an .svg file, which needs nothing"
        message = f"a {file.suffix} picture needs matplotlib, which is not installed"
        raise SetupError(Problem("E0790", message, hint=hint)) from None
    figure = Figure(figsize=(width / 72, height / 72))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    for order, shape in enumerate(shapes):
        match shape:
            case Box(x=x, y=y, width=wide, height=high, radius=radius):
                style = f"round,pad=0,rounding_size={radius}"
                corner = (x - wide / 2, y - high / 2)
                patch = FancyBboxPatch(corner, wide, high, style, facecolor=shape.fill, edgecolor=shape.line)
                patch.set(linewidth=shape.thickness, zorder=order)
                axes.add_patch(patch)
            case Curve(points=points, line=line):
                corners, codes = [points[0]], [Path.MOVETO]
                for one, other in pairwise(points):
                    middle = (one[0] + other[0]) / 2
                    corners += [(middle, one[1]), (middle, other[1]), other]
                    codes += [Path.CURVE4] * 3
                dashes = (0, _DASHES) if shape.dashed else "solid"
                look = {"edgecolor": line, "linewidth": shape.thickness, "linestyle": dashes, "facecolor": "none"}
                axes.add_patch(PathPatch(Path(corners, codes), zorder=order, **look))
                axes.add_patch(Polygon(_head(shape), closed=True, color=line, linewidth=0, zorder=order))
            case Text(x=x, y=y):
                across = "center" if shape.centred else "left"
                weight = "bold" if shape.bold else "normal"
                font = {"family": "DejaVu Sans Mono", "size": shape.size, "weight": weight}
                axes.text(
                    x,
                    y,
                    shape.text,
                    fontdict=font,
                    color=shape.colour,
                    ha=across,
                    va="center_baseline",
                    zorder=order,
                    parse_math=False,
                )
    figure.savefig(file, format=file.suffix[1:].lower(), dpi=min(144.0, 72 * _MOST_PIXELS / max(width, height)))
