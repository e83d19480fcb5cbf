"""Reports of a run: aligned tables for people, JSON for programs (see docs/reference/cli.md)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tidelog.errors import DataError, Problem, TidelogError

if TYPE_CHECKING:
    from tidelog.maintain.protocol import Report


def print_json(document: Mapping[str, Any]) -> None:
    """Print `document` as JSON; numbers that JSON lacks (NaN, infinities) become strings. Raise DataError (E0106) for
    records that are nested too deeply."""
    from tidelog.io.json_values import plain

    try:
        print(json.dumps(plain(document), indent=2, ensure_ascii=False, allow_nan=False))
    except RecursionError:
        hint = "print CSV, or write a JSON file with .output"
        raise DataError(Problem("E0106", "a record is nested too deeply to be printed as JSON", hint=hint)) from None


def failure(error: TidelogError, status: int) -> dict[str, Any]:
    """Return the document that `--json` prints for `error`, with the exit code `status`."""
    return {"ok": False, "exit": status, "errors": [problem.to_dict() for problem in error.problems]}


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return `rows` under `header` as text with aligned columns: numbers to the right, everything else to the left."""
    if not rows:
        return "  ".join(header)
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(len(header[i]), *(len(row[i]) for row in cells)) for i in range(len(header))]
    right = [all(isinstance(row[i], int | float) for row in rows) for i in range(len(header))]

    def line(texts: Sequence[str]) -> str:
        aligned = (t.rjust(w) if r else t.ljust(w) for t, w, r in zip(texts, widths, right, strict=True))
        return "  ".join(aligned).rstrip()

    return "\n".join([line(header), line(["-" * width for width in widths]), *map(line, cells)])


def stats(report: Report, sizes: Mapping[str, Any]) -> str:
    """Return the text of `--stats`: hyper-nodes in the order of evaluation, then `sizes` as `db.stats()` gives them."""
    nodes = table(
        ("rules", "strategy", "reason", "seconds", "impact"),
        [(node.rules, node.strategy, node.reason, node.seconds, node.impact) for node in report.nodes],
    )
    total = (
        f"{report.seconds:.3f} s, {report.bootstraps} evaluated from scratch, {report.updates} updated, "
        f"{report.impact:,} tuples changed"
    )
    return "\n".join([nodes, "", total, "", table(("what", "value"), list(_flat(sizes)))])


def _flat(document: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield the entries of nested mappings, `a.b` for the entry b of a."""
    for key, value in document.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _cell(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.3f}"
    if isinstance(value, tuple | list):
        return " ".join(str(part) for part in value)
    return str(value)
