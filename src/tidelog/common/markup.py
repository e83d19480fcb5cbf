"""Tables and bars in HTML, for notebooks. Every text is escaped here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_LOOKS = {
    "+": ' style="background-color:#dafbe1;color:#116329"',
    "-": ' style="background-color:#ffebe9;color:#a40e26"',
    "": "",
}
"""The looks of rows that were inserted and deleted, readable on light and dark pages."""
_LONGEST = 200


def table(caption: str, heads: Iterable[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table. Texts of more than 200 characters are cut."""
    return _table(caption, heads, (_row(row, "") for row in rows))


def change_table(caption: str, heads: Iterable[str], rows: Iterable[tuple[str, Sequence[object]]]) -> str:
    """Return a table of changed rows, each with its sign, "+", "-" or none, which has a column of its own."""
    return _table(caption, ("", *heads), (_row((sign, *row), _LOOKS[sign]) for sign, row in rows))


def progress_bar(text: str, done: int, of: int | None) -> str:
    """Return a bar that is filled as far as `done` of so many, with a text behind it; an endless one without `of`."""
    state = "" if of is None else f' value="{done}" max="{of}"'
    return f"<progress{state}></progress> {escape(_cut(text))}"


def _table(caption: str, heads: Iterable[str], rows: Iterable[str]) -> str:
    head = "".join(f"<th>{escape(each)}</th>" for each in heads)
    caption = f"<caption>{escape(caption)}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _row(cells: Iterable[object], look: str) -> str:
    return "<tr>" + "".join(f"<td{look}>{escape(_cut(str(cell)))}</td>" for cell in cells) + "</tr>"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
