"""Plain English in docstrings: none has an idiom that docs/dev/writing.md rules out.

People judge whether a docstring is true and reads well: a test of its first word passes wrong sentences.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("src/tidelog", "papers", "proofs", "benchmarks", "examples")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
IDIOMS = re.compile(
    r"(?<!there )\b(is|are|was|were) none\b(?! of)|\bborn again\b|\bcame and went\b|\bcome and gone\b|\btaken back\b"
    r"|\b(go|goes|going|went) on with\b|\b(heavy words?|yardsticks?|what is suspected)\b"
)


def idioms(text: str) -> list[str]:
    """Return the idioms in a docstring, wherever its lines break."""
    return [match[0] for match in IDIOMS.finditer(" ".join(text.split()))]


def test_docstrings_have_no_idioms() -> None:
    found = []
    for file in (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))):
        text = file.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if idioms(text) else ():
            if isinstance(node, DOCUMENTED):
                place = f"{file.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"
                found += [f"{place}: {idiom}" for idiom in idioms(ast.get_docstring(node) or "")]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Return the rows; a row that is\nborn again counts.", ["born again"]),
        ("Raise UsageError if the folder is none.", ["is none"]),
        ("Return the rows that remain, and None if there are no rows.", []),
    ],
)
def test_idioms_are_found(text: str, found: list[str]) -> None:
    assert idioms(text) == found


def test_attributes_are_nouns() -> None:
    """An attribute, whose text stands behind an assignment, returns nothing. The kernels are left out: to edit them
    costs each user a compilation."""
    verbs = re.compile(r'^(?! *(?:def|class) ).*[^:\s]\n *"""(Return|Yield|Raise|Insert)\b.*', re.MULTILINE)
    read = [module for module in (ROOT / "src/tidelog").rglob("*.py") if "kernels" not in module.parts]
    found = [(module.name, match[0]) for module in read for match in verbs.finditer(module.read_text(encoding="utf-8"))]
    assert found == []
