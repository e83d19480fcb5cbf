"""Published figures: tables as JSON in `benchmarks/results`, and the pages that show them.

`python -m benchmarks.published` writes each table into the pages of the documentation, between two comments:

    <!-- figures: bench/lines -->
    ...
    <!-- end of figures -->

`python -m benchmarks.published out/bench.json` first takes the tables of that run. The file's name is that of the
benchmark; a table of the run replaces the published one of the same name.

A document has `tables` by name. A table has `command`, `machine`, `when` and `commit`, each null if nobody recorded
it, and `columns` with a title and, where all numbers have as many, the decimal digits. A cell is a text, a number, a
truth value, null, an object with units as keys and numbers as values, or a list of such cells.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness import ROOT

RESULTS = ROOT / "benchmarks/results"
_BEGIN, _END = "<!-- figures: {} -->", "<!-- end of figures -->"
_PLACE = re.compile(rf"{re.escape(_BEGIN).replace(re.escape('{}'), '([a-z_]+)/([a-z_]+)')}\n.*?{_END}", re.DOTALL)


def main(arguments: Sequence[str] | None = None) -> int:
    """Take the tables of runs, if there are any, and write all tables into the pages; return 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.published", description=__doc__)
    parser.add_argument("runs", metavar="RUN", nargs="*", type=Path, help="JSON of a run whose tables to publish")
    for run in parser.parse_args(arguments).runs:
        take(run, RESULTS)
    for page in pages(ROOT):
        text = page.read_text(encoding="utf-8")
        if (shown := filled(text, RESULTS)) != text:
            page.write_text(shown, encoding="utf-8")
            print(f"wrote {page.relative_to(ROOT)}")
    return 0


def pages(root: Path) -> Iterator[Path]:
    """Yield the pages of a checkout that may show figures."""
    yield root / "README.md"
    yield from (page for page in sorted((root / "docs").rglob("*.md")) if "_build" not in page.parts)


def shown(text: str) -> list[tuple[str, str]]:
    """Return the benchmark and the name of each table that a page shows."""
    return _PLACE.findall(text)


def filled(text: str, results: Path) -> str:
    """Return a page with its tables as `results` has them; raise KeyError for a table that is not there."""

    def fill(place: re.Match[str]) -> str:
        benchmark, name = place.groups()
        table = json.loads((results / f"{benchmark}.json").read_text(encoding="utf-8"))["tables"][name]
        return f"{_BEGIN.format(f'{benchmark}/{name}')}\n\n{markdown(table)}\n\n{_END}"

    return _PLACE.sub(fill, text)


def take(run: Path, results: Path) -> None:
    """Publish the tables of a run in the document of the same name."""
    file = results / run.name
    old = json.loads(file.read_text(encoding="utf-8"))["tables"] if file.exists() else {}
    taken = json.loads(run.read_text(encoding="utf-8"))["tables"]
    results.mkdir(parents=True, exist_ok=True)
    file.write_text(document(old | taken), encoding="utf-8")


def document(tables: Mapping[str, Mapping[str, Any]]) -> str:
    """Return tables as JSON with one row a line, so that a new figure is one changed line."""
    shown = ",\n".join(f"  {_json(name)}: {_table(table)}" for name, table in tables.items())
    return f'{{\n "tables": {{\n{shown}\n }}\n}}\n'


def _table(table: Mapping[str, Any]) -> str:
    fields = [f"   {_json(key)}: {_json(value)}" for key, value in table.items() if key != "rows"]
    rows = ",\n".join(f"    {_json(row)}" for row in table["rows"])
    return "{\n" + ",\n".join([*fields, f'   "rows": [\n{rows}\n   ]']) + "\n  }"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def markdown(table: Mapping[str, Any]) -> str:
    """Return a table as Markdown, with a line below it that says where the figures come from."""
    columns = table["columns"]
    lines = [_row(column["title"] for column in columns), _row("---" for _ in columns)]
    for row in table["rows"]:
        lines.append(_row(_cell(cell, column.get("digits")) for cell, column in zip(row, columns, strict=True)))
    origin = [f"`{table['command']}`" if table["command"] else None, table["machine"], table["when"]]
    if table["commit"]:
        origin.append(f"commit {table['commit']}")
    if any(origin):
        lines += ["", f"*Measured: {', '.join(filter(None, origin))}.*"]
    return "\n".join(lines)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(cell: Any, digits: int | None) -> str:
    match cell:
        case None:
            return ""
        case bool():
            return "yes" if cell else "**no**"
        case int() | float():
            return f"{cell:,}" if digits is None else f"{cell:,.{digits}f}"
        case list():
            return "; ".join(_cell(one, digits) for one in cell)
        case dict():
            return ", ".join(f"{_cell(number, digits)} {unit}" for unit, number in cell.items())
        case _:
            return str(cell)


if __name__ == "__main__":
    sys.exit(main())
