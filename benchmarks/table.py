"""The table of a run, one row per line, with the peers and the parts of the time below each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks import findings
from benchmarks.harness import Line

_HEAD = ("case", "what", "sizes", "wall s", "CPU s", "runs", "peak MB", "target", "met")
_WIDTHS = (12, 38, 6, 8, 8, 4, 8, 26, 3)
_NUMERIC = (3, 4, 5, 6)


def head() -> str:
    """Return the line above the table, and a rule below it."""
    return f"{_row(_HEAD)}\n{'-' * len(_row(_HEAD))}"


def row(line: Line) -> str:
    """Return a line of the table; below it, for wrong sizes, those found and those expected."""
    measured = line.measured
    sizes = ("exact" if line.exact else "WRONG") if line.expected else ""
    met = {True: "yes", False: "NO", None: ""}[line.met]
    target = ", ".join(map(str, line.targets))
    seconds = f"{measured.wall:.3f}", f"{measured.cpu:.3f}"
    cells = (
        line.case,
        line.what,
        sizes,
        *seconds,
        str(measured.runs),
        f"{measured.peak / 1e6:,.0f}",
        target,
        met,
    )
    texts = [_row(cells)]
    for peer, other in line.peers.items():
        texts.append(f"    {peer} {other.wall:.2f} s, {other.cpu:.2f} s of CPU: {line.ratio(peer):.1f} times tidelog's")
    if measured.details:
        texts.append("    " + ", ".join(f"{name} {value:,.3g}" for name, value in measured.details.items()))
    if not line.exact:
        found = {"tidelog": measured, **line.peers}
        sizes_found = "; ".join(f"{engine} found {dict(m.sizes)}" for engine, m in found.items())
        texts.append(f"    expected {dict(line.expected)}; {sizes_found}")
    return "\n".join(texts)


def published(lines: Sequence[Line]) -> dict[str, Any]:
    """Return the table that a run publishes; numbers have three digits behind the point."""
    titles = (
        "case", "what", "size", "wall s", "CPU s", "peak MB", "target", "met", "peer", "peer, CPU s", "times tidelog",
        "besides",
    )  # fmt: skip
    return findings.table(titles, [_published(line) for line in lines])


def _published(line: Line) -> list[Any]:
    measured, peers = line.measured, line.peers
    per_tuple = measured.details.get("bytes_per_tuple")
    return [
        line.case,
        line.what,
        [measured.sizes[name] for name in line.expected],
        round(measured.wall, 3),
        round(measured.cpu, 3),
        round(measured.peak / 1e6),
        ", ".join(map(str, line.targets)),
        line.met,
        [*peers],
        [round(peer.cpu, 3) for peer in peers.values()],
        [round(line.ratio(peer), 1) for peer in peers],
        None if per_tuple is None else {"bytes per tuple": round(per_tuple)},
    ]


def _row(cells: tuple[str, ...]) -> str:
    padded = (
        cell.rjust(width) if i in _NUMERIC else cell.ljust(width)
        for i, (cell, width) in enumerate(zip(cells, _WIDTHS, strict=True))
    )
    return "  ".join(padded).rstrip()
