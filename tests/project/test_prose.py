"""Plain English in docstrings: the openers and idioms that docs/dev/writing.md rules out.

A docstring begins with a verb, or for a class and a module with a noun phrase, so that a reader learns at once what
a function does.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BESIDE = ("papers", "proofs", "benchmarks", "examples")
"""Folders beside the package that are held to the same."""
RIDDLES = re.compile(r"(What|Who|Whom|Whose|Whoever|Whatever|Whichever|Whether|That (which|what)|Those (that|which))\b")
THIRD_PERSON = re.compile(r"(Returns|Raises|Yields|Takes|Gives|Adds|Makes|Tells|Sets|Gets|Writes|Reads)\b")
NOUNS = re.compile(r"(The|A|An|All|Each|Every|One|Where|How|When|This|These|Those)\b")
IDIOMS = re.compile(
    r"(?<!there )\b(is|are|was|were) none\b(?! of)|\bborn again\b|\bcame and went\b|\bcome and gone\b|\btaken back\b"
    r"|\b(go|goes|going|went) on with\b|\b(heavy words?|yardsticks?|what is suspected)\b"
)


def modules() -> list[Path]:
    return [path for name in ("src/tidelog", *BESIDE) for path in sorted((ROOT / name).rglob("*.py"))]


def docstrings(module: Path) -> Iterator[tuple[int, bool, str]]:
    """Yield the line of each docstring, True if it is that of a function, and its text. Properties are no functions
    here: they are read like attributes."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            text = ast.get_docstring(node)
            decorators = " ".join(map(ast.unparse, getattr(node, "decorator_list", ())))
            is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and "property" not in decorators
            if text:
                yield getattr(node, "lineno", 1), is_function, text


def faults(text: str, is_function: bool) -> list[str]:
    """Return the openers and idioms in a docstring that no docstring may have."""
    openers = (RIDDLES, THIRD_PERSON, NOUNS) if is_function else (RIDDLES, THIRD_PERSON)
    found = [match[0] for pattern in openers if (match := pattern.match(text))]
    return found + [match[0] for match in IDIOMS.finditer(" ".join(text.split()))]


@pytest.mark.parametrize("module", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_docstrings_are_plain(module: Path) -> None:
    found = [(line, faults(text, is_function)) for line, is_function, text in docstrings(module)]
    assert [each for each in found if each[1]] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The rows of a relation.", ["The"]),
        ("What is left of the rows.", ["What"]),
        ("Whether a rule is recursive.", ["Whether"]),
        ("Returns the rows.", ["Returns"]),
        ("Return the rows; a row that is\nborn again counts.", ["born again"]),
        ("Raise UsageError if the folder is none.", ["is none"]),
        ("Return the rows that remain, and None if there are no rows.", []),
    ],
)
def test_riddles_are_found(text: str, found: list[str]) -> None:
    assert faults(text, is_function=True) == found


def test_attributes_are_nouns() -> None:
    """An attribute, whose text stands behind an assignment, returns nothing. The kernels are left out: to edit them
    costs each user a compilation."""
    verbs = re.compile(
        rf'^(?! *(?:def|class) ).*[^:\s]\n *"""((Return|Yield|Raise|Insert)\b|{RIDDLES.pattern}).*', re.MULTILINE
    )
    read = [module for module in modules() if "kernels" not in module.parts]
    found = [(module.name, match[0]) for module in read for match in verbs.finditer(module.read_text(encoding="utf-8"))]
    assert found == []
