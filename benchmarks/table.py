"""The table: one row per line of a run; what the peers needed and the parts of the time are below it."""

from __future__ import annotations

from benchmarks.harness import Line

_HEAD = ("case", "what", "sizes", "wall s", "CPU s", "runs", "peak MB", "target", "met")
_WIDTHS = (12, 38, 6, 8, 8, 4, 8, 26, 3)
_NUMERIC = (3, 4, 5, 6)


def head() -> str:
    """The line above the table, and a rule below it."""
    return f"{_row(_HEAD)}\n{'-' * len(_row(_HEAD))}"


def row(line: Line) -> str:
    """A line of the table; where sizes are wrong, what they are and should be is said below."""
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


def _row(cells: tuple[str, ...]) -> str:
    padded = (
        cell.rjust(width) if i in _NUMERIC else cell.ljust(width)
        for i, (cell, width) in enumerate(zip(cells, _WIDTHS, strict=True))
    )
    return "  ".join(padded).rstrip()
