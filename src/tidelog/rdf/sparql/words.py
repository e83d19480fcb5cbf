"""Words of a text of SPARQL: enough of its syntax to see which kind of text it is and where its operations end.

pyoxigraph parses and checks; this only tells keywords from strings, IRIs, names and comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_WORD = re.compile(
    r"""(?P<comment>\#[^\r\n]*)
    |(?P<iri><[^\s<>"{}|^`\\]*>)
    |(?P<string>\"\"\"(?:[^"\\]|\\.|\"(?!\"\"))*+(?:\"\"\")?|'''(?:[^'\\]|\\.|'(?!''))*+(?:''')?
        |"(?:[^"\\\r\n]|\\.)*+"?|'(?:[^'\\\r\n]|\\.)*+'?)
    |(?P<variable>[?$]\w+)
    |(?P<language>@[A-Za-z][A-Za-z0-9-]*)
    |(?P<name>:(?:[\w:%-]|\\.|\.(?=[\w:%\\-]))*)
    |(?P<word>\w[\w.-]*+(?P<local>:(?:[\w:%-]|\\.|\.(?=[\w:%\\-]))*+)?)
    |(?P<mark>[][{}();])""",
    re.VERBOSE | re.DOTALL,
)
"""Each character is read once, so that the time is in proportion to the text: a string that does not end goes on to the
end of its line, or of the text."""
_KEYWORD = re.compile(r"[A-Za-z_]\w*")
_ALL = re.compile(r"SELECT\s*(?:DISTINCT|REDUCED)?\s*(\*)", re.IGNORECASE)
_FORMS = ("SELECT", "ASK", "CONSTRUCT", "DESCRIBE")
_OPERATIONS = ("INSERT", "DELETE", "WITH", "LOAD", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY")


@dataclass(frozen=True)
class Word:
    """A word with its kind, its place in the text, and the number of braces around it."""

    kind: str
    text: str
    start: int
    end: int
    depth: int

    def is_keyword(self, *keywords: str) -> bool:
        """Return True if this is one of some keywords, which are in capitals."""
        return self.kind == "word" and self.text.upper() in keywords

    def is_mark(self, mark: str) -> bool:
        """Return True if this is a certain brace, bracket or semicolon."""
        return self.kind == "mark" and self.text == mark


def words(text: str) -> list[Word]:
    """Return the words of a text, without comments. A closing brace has the depth of its opening one."""
    return list(_words(text))


def _words(text: str) -> Iterator[Word]:
    depth = 0
    for match in _WORD.finditer(text):
        kind = str(match.lastgroup)
        if kind == "comment":
            continue
        if kind == "word" and match["local"] is None:
            for part in _KEYWORD.finditer(text, match.start(), match.end()):
                yield Word(kind, part[0], part.start(), part.end(), depth)
            continue
        depth -= match[0] == "}"
        yield Word("name" if kind == "word" else kind, match[0], match.start(), match.end(), depth)
        depth += match[0] == "{"


def after_prologue(found: list[Word]) -> list[Word]:
    """Return the words behind declarations of prefixes, of a base and of a version."""
    i = 0
    while i < len(found) and found[i].is_keyword("PREFIX", "BASE", "VERSION"):
        i += 3 if found[i].is_keyword("PREFIX") else 2
    return found[i:]


def is_query(text: str) -> bool:
    """Return True if a text is a query in SPARQL, or meant as one, and not the body of a rule."""
    found = words(text)
    rest = after_prologue(found)
    if any(word.kind == "variable" and word.text[0] == "?" for word in rest) or len(found) > len(rest):
        return True
    # `select(x)` is a relation: behind a form of SPARQL, no bracket comes without a variable.
    return len(rest) > 1 and rest[0].is_keyword(*_FORMS) and not rest[1].is_mark("(")


def asks(text: str) -> bool:
    """Return True if a text begins as a query in SPARQL."""
    rest = after_prologue(words(text))
    return bool(rest) and rest[0].is_keyword(*_FORMS)


def is_update(text: str) -> bool:
    """Return True if a text is an update in SPARQL."""
    rest = after_prologue(words(text))
    return len(rest) > 1 and rest[0].is_keyword(*_OPERATIONS) and not rest[1].is_mark("(")


def has_dataset(text: str) -> bool:
    """Return True if a query names the graphs that it asks, by FROM."""
    return any(word.depth == 0 and word.is_keyword("FROM") for word in words(text))


def variables(text: str) -> list[str]:
    """Return the names of the variables of a query in the order of the text."""
    return list(dict.fromkeys(word.text[1:] for word in words(text) if word.kind == "variable"))


def selects_all(text: str) -> bool:
    """Return True for `SELECT *`, whose columns pyoxigraph gives in an order of its own."""
    rest = after_prologue(words(text))
    return bool(rest) and _ALL.match(text, rest[0].start) is not None


def selecting(text: str, names: list[str]) -> str:
    """Return a query with `SELECT *` as one that names its columns. Without columns it stays as it is."""
    found = _ALL.match(text, after_prologue(words(text))[0].start)
    assert found is not None
    columns = " ".join(f"?{name}" for name in names) or "*"
    return f"{text[: found.start(1)]} {columns} {text[found.end(1) :]}"
