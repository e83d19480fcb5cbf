"""Soft words: functors and tests of texts that programs may also use as names of relations.

Programs that were written for Soufflé have relations with names such as `split` or `lower`. So these words are no
keywords where a text declares a relation of the name, and otherwise only where a term, or a test, has to stand.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from lark import Token

SOFT_WORDS: Mapping[str, str] = {
    **dict.fromkeys(
        ("split", "replace", "lower", "upper", "trim", "index_of", "positions", "groups", "codepoint"),
        "FUNCTION",
    ),
    **dict.fromkeys(("starts_with", "ends_with"), "CONSTRAINT"),
}
"""By word the type of its token."""

_HEADS = frozenset(("", "DOT", "COLON"))
_OPENS = frozenset(("NAME", "BRANCH", "FUNCTION", "CONSTRAINT", "AS", "POSTFIX", "GREATER"))
_BEFORE_TERM = frozenset(("NAME", "PREFIX", "AGGREGATE", "OWN_AGGREGATE", "FOLD"))


def declared(found: Sequence[Token]) -> frozenset[str]:
    """Return the soft words that a text declares as names of relations."""
    names: set[str] = set()
    for i, token in enumerate(found):
        if token.type == "DECL":
            i += 1
            while i < len(found) and found[i].type in ("NAME", "COMMA"):
                names.add(str(found[i]))
                i += 1
    return frozenset(names & SOFT_WORDS.keys())


def type_of(
    found: Sequence[Token], i: int, pairs: Mapping[int, tuple[int, bool]], operators: Collection[str]
) -> str | None:
    """Return the type of the soft word at position `i` before a parenthesis; None for a name. `pairs` has the closing
    brackets by the opening ones, and whether commas stand between them; `operators` are the types of tokens
    that connect terms."""
    kind = SOFT_WORDS[found[i]]
    end, has_comma = pairs.get(i + 1, (len(found), True))
    if kind == "CONSTRAINT" and not has_comma:  # Tests take two terms.
        return None
    start = i
    while True:
        before = found[start - 1].type if start else ""
        after = found[end + 1].type if end + 1 < len(found) else ""
        if kind == "CONSTRAINT":
            return None if before in _HEADS or after == "IF" else kind
        if before in operators or before in _BEFORE_TERM or (after in operators and before not in _HEADS):
            return kind
        opening = _enclosing(found, start)
        if opening is None or found[opening].type == "LBRACE":
            return None
        if found[opening].type == "LBRACKET" or (opening and found[opening - 1].type in _OPENS):
            return kind
        start, end = opening, pairs.get(opening, (len(found), False))[0]  # a term in parentheses, or a group


def _enclosing(found: Sequence[Token], i: int) -> int | None:
    """Return the position of the bracket that position `i` stands in, in its clause."""
    depth = 0
    for j in range(i - 1, -1, -1):
        kind = found[j].type
        if kind in ("RPAR", "RBRACKET", "RBRACE"):
            depth += 1
        elif kind in ("LPAR", "LBRACKET", "LBRACE"):
            if not depth:
                return j
            depth -= 1
        elif kind in ("DOT", "IF"):
            return None
    return None
