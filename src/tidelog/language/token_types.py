"""Types of tokens in sets, and words whose type depends on their neighbours.

Soft words are functors and tests of texts that programs may also use as names of relations. Programs that were written
for Soufflé have relations with names such as `split` or `lower`. So these words are no keywords where a text declares a
relation of the name, and otherwise only where a term, or a test, has to stand.

A name may begin an aggregate that a program declares: `p95` in `y = p95 x : { … }` and `p95(x, w) : { … }`. The
declaration may stand in another text, so the neighbours decide. An aggregate ends in `: {` or `: atom(`. In front of
that stands a term, and in front of the term a name, which nothing else puts there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from lark import Token

OPENING_OF: Mapping[str, str] = {"RPAR": "LPAR", "RBRACKET": "LBRACKET", "RBRACE": "LBRACE"}
"""By the type of a closing bracket that of the opening one."""
OPENING, CLOSING = frozenset(OPENING_OF.values()), frozenset(OPENING_OF)
INFIX = frozenset(
    ["PLUS", "MINUS", "STAR", "SLASH", "PERCENT", "CARET", "LOR", "LXOR", "LAND", "BOR", "BXOR", "BAND", "SHIFT"]
)
COMPARISONS = frozenset(["EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"])
OPERATORS = INFIX | COMPARISONS
"""The types of tokens that connect terms."""

# --- soft words -------------------------------------------------------------------------------------------------------


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
_BEFORE_SOFT_TERM = frozenset(("NAME", "PREFIX", "AGGREGATE", "OWN_AGGREGATE", "FOLD"))


def declared_soft_words(found: Sequence[Token]) -> frozenset[str]:
    """Return the soft words that a text declares as names of relations."""
    names: set[str] = set()
    for i, token in enumerate(found):
        if token.type == "DECL":
            i += 1
            while i < len(found) and found[i].type in ("NAME", "COMMA"):
                names.add(str(found[i]))
                i += 1
    return frozenset(names & SOFT_WORDS.keys())


def soft_type(found: Sequence[Token], i: int, pairs: Mapping[int, tuple[int, bool]]) -> str | None:
    """Return the type of the soft word at position `i` before a parenthesis; None for a name. `pairs` has the closing
    brackets by the opening ones, and whether commas stand between them."""
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
        if before in OPERATORS or before in _BEFORE_SOFT_TERM or (after in OPERATORS and before not in _HEADS):
            return kind
        opening = _find_enclosing_bracket(found, start)
        if opening is None or found[opening].type == "LBRACE":
            return None
        if found[opening].type == "LBRACKET" or (opening and found[opening - 1].type in _OPENS):
            return kind
        start, end = opening, pairs.get(opening, (len(found), False))[0]  # a term in parentheses, or a group


def _find_enclosing_bracket(found: Sequence[Token], i: int) -> int | None:
    """Return the position of the bracket that position `i` stands in, in its clause."""
    depth = 0
    for j in range(i - 1, -1, -1):
        kind = found[j].type
        if kind in CLOSING:
            depth += 1
        elif kind in OPENING:
            if not depth:
                return j
            depth -= 1
        elif kind in ("DOT", "IF"):
            return None
    return None


# --- aggregates of programs -------------------------------------------------------------------------------------------

_OPERAND = frozenset(("NAME", "NUMBER", "STRING", "UNDERSCORE", "NIL", "BRANCH"))
_CALLS = frozenset(("FUNCTION", "AS", "BRANCH"))
_BEFORE_TERM = frozenset(("LPAR", "LBRACKET", "LBRACE", "AT", "IF", "SEMICOLON", "PREFIX"))
_IN_LISTS = frozenset(("NAME", "COMMA", "EQUAL", "SUBTYPE", "PIPE", "COLON", "RPAR"))
_LISTS = frozenset(("IO", "OVERRIDE", "CHOICE", "DECL", "INIT", "TYPE", "OLD_TYPE", "FUNCTOR", "AGGREGATE_DECL"))
"""Statements that may end in a name, behind which a clause begins."""


def mark_own_aggregates(found: list[Token], colons: Sequence[int], words: Collection[str]) -> None:
    """Give the names before the terms that end at `colons` the type OWN_AGGREGATE. `words` are no names of
    aggregates."""
    for colon in reversed(colons):  # A token may become two.
        i = _name_before(found, colon)
        if i is not None and str(found[i]) not in words and _may_stand(found, i):
            found[i] = found[i].update(type="OWN_AGGREGATE")


def _name_before(found: list[Token], colon: int) -> int | None:
    """Return the position of the name in front of the term that ends at `colon`, if there is one."""
    i = colon - 1
    while i > 0:
        kind = found[i].type
        if kind in OPENING_OF:
            i = _find_opening_bracket(found, i)
            before = found[i - 1].type if i > 0 else ""
            if found[i].type == "LPAR" and before == "NAME":
                if i > 1 and found[i - 2].type == "NAME" and SOFT_WORDS.get(found[i - 1]) == "FUNCTION":
                    found[i - 1] = found[i - 1].update(type="FUNCTION")
                    return i - 2
                return i - 1
            if (
                before == "FUNCTION"
                and found[i - 1].startswith("@")
                and i > 1
                and found[i - 2].type in ("LPAR", "COMMA")
            ):
                return _split_located(found, i - 1)
            i -= before in _CALLS
        elif kind not in _OPERAND:
            return None
        if i <= 0 or found[i - 1].type == "NAME":
            return i - 1 if i > 0 else None
        if found[i - 1].type not in OPERATORS and found[i - 1].type != "PREFIX":
            return None
        while i > 0 and (found[i - 1].type in OPERATORS or found[i - 1].type == "PREFIX"):
            i -= 1
        i -= 1
    return None


def _split_located(found: list[Token], i: int) -> int:
    """Make two tokens of the `@name` at position `i`, a located argument that is an aggregate; return the position of
    the name."""
    token = found[i]
    start = token.start_pos or 0
    name = Token("NAME", str(token)[1:], (token.end_pos or 0) - len(token) + 1, end_pos=token.end_pos)
    found[i : i + 1] = [Token("AT", "@", start, end_pos=start + 1), name]
    return i + 1


def _find_opening_bracket(found: Sequence[Token], i: int) -> int:
    """Return the position of the bracket that the one at `i` closes; -1 without one."""
    depth = 0
    while i >= 0:
        kind = found[i].type
        depth += (kind in OPENING_OF) - (kind in OPENING)
        if depth == 0:
            return i
        i -= 1
    return -1


def _may_stand(found: Sequence[Token], i: int) -> bool:
    """Return True if a term may stand at position `i`: not behind a list of names that ends a directive."""
    before = found[i - 1].type if i else "DOT"
    if before in _BEFORE_TERM:
        return True
    if before not in OPERATORS and before != "COMMA" and before not in ("AGGREGATE", "OWN_AGGREGATE", "FOLD"):
        return False
    return not is_in_list(found, i)


def is_in_list(found: Sequence[Token], i: int) -> bool:
    """Return True if position `i` is in a list of names, or behind one, with which a directive ends."""
    j = i - 1
    while j >= 0 and found[j].type in _IN_LISTS:
        j = _find_opening_bracket(found, j) - 1 if found[j].type == "RPAR" else j - 1
    return j >= 0 and found[j].type in _LISTS
