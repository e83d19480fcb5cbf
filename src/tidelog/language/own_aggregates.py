"""Which names begin an aggregate that a program declares: `p95` in `y = p95 x : { … }` and `p95(x, w) : { … }`.

The declaration may stand in another text, so the neighbours decide. An aggregate ends in `: {` or `: atom(`. In front
of that stands a term, and in front of the term a name, which nothing else puts there.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from lark import Token

from tidelog.language.soft_words import SOFT_WORDS

_OPENS = {"RPAR": "LPAR", "RBRACKET": "LBRACKET", "RBRACE": "LBRACE"}
_OPERAND = frozenset(("NAME", "NUMBER", "STRING", "UNDERSCORE", "NIL", "BRANCH"))
_CALLS = frozenset(("FUNCTION", "AS", "BRANCH"))
_BEFORE_TERM = frozenset(("LPAR", "LBRACKET", "LBRACE", "AT", "IF", "SEMICOLON", "PREFIX"))
_IN_LISTS = frozenset(("NAME", "COMMA", "EQUAL", "SUBTYPE", "PIPE", "COLON", "RPAR"))
_LISTS = frozenset(("IO", "OVERRIDE", "CHOICE", "DECL", "INIT", "TYPE", "OLD_TYPE", "FUNCTOR", "AGGREGATE_DECL"))
"""Statements that may end in a name, behind which a clause begins."""


def settle(found: list[Token], colons: Sequence[int], operators: Collection[str], words: Collection[str]) -> None:
    """Give the names before the terms that end at `colons` the type OWN_AGGREGATE. `operators` are the types of tokens
    that connect terms, `words` no names of aggregates."""
    for colon in reversed(colons):  # A token may become two.
        i = _name_before(found, colon, operators)
        if i is not None and str(found[i]) not in words and _may_stand(found, i, operators):
            found[i] = found[i].update(type="OWN_AGGREGATE")


def _name_before(found: list[Token], colon: int, operators: Collection[str]) -> int | None:
    """Return the position of the name in front of the term that ends at `colon`, if there is one."""
    i = colon - 1
    while i > 0:
        kind = found[i].type
        if kind in _OPENS:
            i = _opening(found, i)
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
                return _located(found, i - 1)
            i -= before in _CALLS
        elif kind not in _OPERAND:
            return None
        if i <= 0 or found[i - 1].type == "NAME":
            return i - 1 if i > 0 else None
        if found[i - 1].type not in operators and found[i - 1].type != "PREFIX":
            return None
        while i > 0 and (found[i - 1].type in operators or found[i - 1].type == "PREFIX"):
            i -= 1
        i -= 1
    return None


def _located(found: list[Token], i: int) -> int:
    """Make two tokens of the `@name` at position `i`, a located argument that is an aggregate; return the position of
    the name."""
    token = found[i]
    start = token.start_pos or 0
    name = Token("NAME", str(token)[1:], (token.end_pos or 0) - len(token) + 1, end_pos=token.end_pos)
    found[i : i + 1] = [Token("AT", "@", start, end_pos=start + 1), name]
    return i + 1


def _opening(found: Sequence[Token], i: int) -> int:
    """Return the position of the bracket that the one at `i` closes; -1 without one."""
    depth = 0
    while i >= 0:
        kind = found[i].type
        depth += (kind in _OPENS) - (kind in _OPENS.values())
        if depth == 0:
            return i
        i -= 1
    return -1


def _may_stand(found: Sequence[Token], i: int, operators: Collection[str]) -> bool:
    """Return True if a term may stand at position `i`: not behind a list of names that ends a directive."""
    before = found[i - 1].type if i else "DOT"
    if before in _BEFORE_TERM:
        return True
    if before not in operators and before != "COMMA" and before not in ("AGGREGATE", "OWN_AGGREGATE", "FOLD"):
        return False
    return not in_list(found, i)


def in_list(found: Sequence[Token], i: int) -> bool:
    """Return True if position `i` is in a list of names, or behind one, with which a directive ends."""
    j = i - 1
    while j >= 0 and found[j].type in _IN_LISTS:
        j = _opening(found, j) - 1 if found[j].type == "RPAR" else j - 1
    return j >= 0 and found[j].type in _LISTS
