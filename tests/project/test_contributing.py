"""CONTRIBUTING.md leads to places that exist, and its recipes name all files that know their examples."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPES = re.findall(r"^### (To add .*?)\n\nExample: `(\w+)`\.\n(.*?)(?=^##|\Z)", PAGE, flags=re.M | re.S)


def knows(file: Path, text: str, example: str) -> bool:
    """Return True if a module is named after the example, imports such a module, has the example as a string, or names
    the function that adds it."""
    imported = rf"^from tidelog\.\S*\b{example}\S* import|^from tidelog\.\S+ import .*\b{example}\b|^    {example},$"
    named = re.match(rf"{example}(_|$)", file.stem) is not None
    added = re.search(rf"\badd_{example}\b", text) is not None
    return named or added or f'"{example}"' in text or re.search(imported, text, flags=re.M) is not None


def test_recipes_name_the_files_that_know_their_examples() -> None:
    assert len(RECIPES) >= 5
    texts = {file: file.read_text(encoding="utf-8") for file in (ROOT / "src").rglob("*.py")}
    wrong = []
    for title, example, steps in RECIPES:
        listed = set(re.findall(r"^- `(src/\S+)`", steps, flags=re.M))
        found = {str(file.relative_to(ROOT)) for file, text in texts.items() if knows(file, text, example)}
        wrong += [f"{title}: does not list {file}" for file in sorted(found - listed)]
        wrong += [f"{title}: lists {file}, which does not know `{example}`" for file in sorted(listed - found)]
    assert not wrong, "\n".join(wrong)


def test_places_exist() -> None:
    rows = re.findall(r"^\| .*\? \| (.*) \|$", PAGE, flags=re.M)
    places = [place for row in rows for place in re.findall(r"`(\S+\.py)`", row)]
    assert len(places) >= 8
    assert [place for place in places if not (ROOT / "src/tidelog" / place).exists()] == []
    others = re.findall(r"`((?:tests|docs)/[^`*]+)`", PAGE) + re.findall(r"\]\(([^)]+)\)", PAGE)
    assert [place for place in others if not (ROOT / place).exists()] == []
