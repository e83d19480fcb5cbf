"""Many cases of one kind are a text beside their test, in sections under lines such as `== mistakes`."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

python = ast.literal_eval
"""The kind of values that stand as Python writes them."""


def listed(text: str) -> list[str]:
    """The kind of texts with commas between them; `none` are no texts."""
    return [] if text == "none" else text.split(", ")


@cache
def _sections(file: Path) -> dict[str, str]:
    parts = re.split(r"(?:^|\n+)== (.*)\n", file.read_text(encoding="utf-8").rstrip("\n"))
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def titles(test: str) -> list[str]:
    """The titles of the sections in the text of a test."""
    return list(_sections(Path(test).with_suffix(".txt")))


def section(test: str, title: str) -> str:
    """The section of this title in the text of a test, which its `__file__` names."""
    return _sections(Path(test).with_suffix(".txt"))[title]


def cases_of(test: str, title: str, *kinds: Callable[[str], Any]) -> list[Any]:
    """The cases of a section, one in a line: its values, with ` ⇒ ` between them, each made by the kind in its place;
    those without a kind are texts as they stand there."""
    found = []
    for line in section(test, title).splitlines():
        values: list[Any] = line.split(" ⇒ ")
        values[: len(kinds)] = [kind(value) for kind, value in zip(kinds, values, strict=False)]
        found.append(tuple(values) if len(values) > 1 else values[0])
    return found


def goldens(test: str, title: str) -> list[tuple[str, str]]:
    """The cases of a section whose texts have several lines: paragraphs of a line, and the text below it."""
    paragraphs = (paragraph.partition("\n") for paragraph in section(test, title).split("\n\n"))
    return [(line, text) for line, _, text in paragraphs]
