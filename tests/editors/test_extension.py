"""The extension for Visual Studio Code: its grammar knows the words of the language. Its own tests need Node.js."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tidelog.language.aggregates import SPELLINGS
from tidelog.language.lexer import DIRECTIVES, FUNCTIONS, QUALIFIERS, WORDS
from tidelog.version import __version__

EXTENSION = Path(__file__).parents[2] / "editors/vscode"
OLD = {"input", "output", "printsize"}
"""Qualifiers that are words of directives as well."""


def loaded(name: str) -> Any:
    return json.loads((EXTENSION / name).read_text("utf-8"))


def test_its_files_exist() -> None:
    package = loaded("package.json")
    contributed = package["contributes"]
    (language,), (grammar,) = contributed["languages"], contributed["grammars"]
    assert loaded(language["configuration"])["comments"]["lineComment"] == "//"
    assert loaded(grammar["path"])["scopeName"] == grammar["scopeName"]
    assert (EXTENSION / package["main"]).is_file()
    assert package["version"] == __version__


def test_its_grammar_knows_each_word() -> None:
    text = (EXTENSION / "syntaxes/datalog.tmLanguage.json").read_text("utf-8")
    words = {*(each[1:] for each in DIRECTIVES), *FUNCTIONS, *SPELLINGS, *WORDS, *(QUALIFIERS - OLD)}
    assert {word for word in words if not re.search(rf"[(|.]{re.escape(word)}[)|\\]", text)} == set()
