"""Words and signs of other languages, and what to write in place of them."""

from __future__ import annotations

import re
from itertools import pairwise

from lark import Token

from tidelog.language import lexer
from tidelog.language.aggregates import SPELLINGS
from tidelog.language.token_types import CLOSING, COMPARISONS, OPENING

_SIGNS = {
    "==": "write `=`",
    "<>": "write `!=`",
    ":=": "write `=`, or `:-` behind a head",
    "<-": "write `:-`",
    "->": "write the head first, then `:-` and the body",
    "=<": "write `<=`",
    "=>": "write `>=`, or for a rule the head first, then `:-` and the body",
    "**": "write `^`",
    "<<": "write `bshl`",
    ">>": "write `bshr`, or `bshru` for a shift without sign",
    "&&": "write `,` for a conjunction",
    "||": "write `;` for a disjunction",
    "\\+": "write `!` for a negation",
    "..": "write `x = range(1, 4)` for 1, 2 and 3",
    "/=": "write `!=`",
    "=\\": "write `!=`",
    "≠": "write `!=`",
    "≤": "write `<=`",
    "≥": "write `>=`",
    "∧": "write `,` for a conjunction",
    "∨": "write `;` for a disjunction",
    "¬": "write `!` for a negation",
    "←": "write `:-`",
    "::": "write a dot: `a.x` is the name `x` in the instance `a` of a component",
    "++": "write `cat(a, b)`, or `a + b` for symbols",
    "--": "write comments behind `//`",
    "?-": "ask with `.output`, or with `db.query` in Python",
    "&": "write `,` for a conjunction, `band` for bits",
    "|": "write `;` for a disjunction, `bor` for bits",
    "~": "write `!` for a negation, `bnot` for bits",
}
_WORDS = {
    "not": "write `!` for a negation",
    "and": "write `,` for a conjunction",
    "or": "write `;` for a disjunction",
    "is": "write `=`",
    "mod": "write `%`",
    "if": "write `:-`",
    "where": "write `,` and the condition as a literal",
    "like": "write `match(pattern, text)`, or `contains(part, text)`",
    "in": "write an alternative for each value: `(x = 1 ; x = 2)`",
    "exists": "write the atom alone: a body asks whether values exist",
    "forall": "negate a relation of the exceptions",
    "True": "write `true`",
    "False": "write `false`",
}
FUNCTORS = {
    **dict.fromkeys(("concat", "concatenate", "join"), "cat"),
    **dict.fromkeys(("len", "length", "char_length", "str_length"), "strlen"),
    **dict.fromkeys(("substring", "slice", "mid"), "substr"),
    **dict.fromkeys(("toupper", "to_upper", "ucase", "uppercase"), "upper"),
    **dict.fromkeys(("tolower", "to_lower", "lcase", "lowercase"), "lower"),
    **dict.fromkeys(("strip", "btrim"), "trim"),
    **dict.fromkeys(("indexof", "strpos", "position", "instr", "locate", "find"), "index_of"),
    **dict.fromkeys(("startswith", "has_prefix", "prefix"), "starts_with"),
    **dict.fromkeys(("endswith", "has_suffix", "suffix"), "ends_with"),
    **dict.fromkeys(("regexp_extract", "regexp_match", "captures"), "groups"),
    **dict.fromkeys(("split_part", "explode", "string_split"), "split"),
    **dict.fromkeys(("int", "integer", "toint", "to_int", "tonumber", "parse_int"), "to_number"),
    **dict.fromkeys(("str", "tostring", "string"), "to_string"),
    **dict.fromkeys(("float", "double", "tofloat"), "to_float"),
    **dict.fromkeys(("least",), "min"),
    **dict.fromkeys(("greatest",), "max"),
}
"""Functions in small letters, and the functors that do the same."""
TYPES = {
    **dict.fromkeys(("int", "integer", "long", "int32", "int64", "i32", "i64", "bigint", "bool", "boolean"), "number"),
    **dict.fromkeys(("uint", "uint32", "uint64", "u32", "u64", "usize"), "unsigned"),
    **dict.fromkeys(("double", "real", "f32", "f64", "decimal"), "float"),
    **dict.fromkeys(("string", "str", "text", "varchar", "char"), "symbol"),
}
"""Types in small letters, and those that have the same values."""
QUALIFIERS = {
    **dict.fromkeys(
        ("btree_min", "lattice_min"), "write `min(c)` behind the declaration, for the attribute to select by"
    ),
    **dict.fromkeys(
        ("btree_max", "lattice_max"), "write `max(c)` behind the declaration, for the attribute to select by"
    ),
    **dict.fromkeys(("rbtset", "hashset", "trie"), "remove it: relations have one representation"),
    "lattice": "write `min(c)` or `max(c)` behind the declaration, or subsumption rules",
}
"""Qualifiers of other languages or versions, and what to write in place of them."""
UNKNOWN_DIRECTIVES = {
    ".strict": "remove it: the planner orders the atoms of each rule by sizes",
    ".debug_delta": "no relation shows the rounds of a recursion; count steps in a column of the relation",
    ".export": "write `.output` for a relation to write; names of components' relations are seen everywhere",
}
"""Directives that have no like here, and what to do about them."""
DIRECTIVES = {".import": ".include", ".relation": ".decl", ".predicate": ".decl", ".declare": ".decl"}
"""Directives, and those that do the same."""
_DIVISION = re.compile(r"[^\S\n]*//[^\S\n]*[\w(-]")


def hint_for(tokens: list[Token], start: int, error: int, gap: str, expected: set[str]) -> str | None:
    """Return what to write in place of the token at `error`, or of those beside it; None if it is of no other language.

    The statement begins at `start`; `gap` is the text in front of the token, `expected` what could stand there.
    """
    token = tokens[error]
    before = tokens[error - 1] if error > start else None
    near = tokens[max(0, error - 1) : error + 2]
    signs = [f"{one}{other}" for one, other in pairwise(near) if one.end_pos == other.start_pos]
    words = [str(each) for each in tokens[max(start, error - 1) : error + 1] if each.type == "NAME"]
    found = next((_SIGNS[each] for each in (*signs, str(token)) if each in _SIGNS), None)
    found = found or next((_WORDS[each] for each in words if each in _WORDS), None)
    if found is not None or before is None:
        return found or _at_the_begin(tokens, error)
    if tokens[start].type == "IO" and error == start + 1 and token.type == "LPAR":
        return f"write `{tokens[start]} r`; the parentheses behind the name have options"
    if token.type == "STAR" and error + 1 < len(tokens) and tokens[error + 1].type == "NAME":
        return "write a record with its fields, as in `r = [x, y]`; no sign takes it apart"
    if error == start + 1 and f".{before}" in lexer.DIRECTIVES and before.type == "NAME":
        return f"directives begin with a dot: `.{before}`"
    if _within_not(tokens, start, error):
        return _WORDS["not"]
    if division_hint(gap):
        return division_hint(gap)
    if token.type in COMPARISONS and "DOT" in expected and _compares(tokens, start, error):
        return "write two comparisons: `a < x, x < b`"
    fold = next((each for each in reversed(tokens[start:error]) if each.type == "FOLD"), None)
    if fold is not None and (token.type == "COMMA" or (token.type, before.type) == ("LBRACE", "COLON")):
        return f"write the state to begin with between the colon and a comma: `{fold} x : 0, {{ … }}`"
    if token.type == "LBRACE" and str(before) in SPELLINGS:
        return aggregate_form(str(before))
    if token.type == "COLON" and "IF" in expected:
        return "write `:-`"
    if token.type == "DOT" and expected == {"IF"}:
        return "write `:-` for a rule; `a(x) <= a(y) :- body` is a subsumption"
    if expected == {"COLON"} and tokens[start].type == "DECL":
        return "write each attribute with its type, as in `x: number`"
    if tokens[start].type == "DECL" and token.type == "SEMICOLON":
        return "put `,` between two attributes"
    return None


def division_hint(gap: str) -> str | None:
    """Return a hint if the text behind a token is a comment that looks like a divisor."""
    return "write `/` to divide: `//` begins a comment" if _DIVISION.match(gap) else None


def _at_the_begin(tokens: list[Token], error: int) -> str | None:
    token = tokens[error]
    if token.type == "IF":
        return _SIGNS["?-"]
    if token.type in ("COLON", "LESS_EQUAL") and error >= 2 and tokens[error - 2].type == "TYPE":
        return "write `<:` for a subtype"
    return _SIGNS["--"] if token.type in ("PERCENT", "MINUS") or token == "#" else None


def aggregate_form(word: str) -> str:
    """Return how an aggregate is written."""
    return "write `count : { body }`" if word == "count" else f"write `{word} x : {{ body }}`"


def _within_not(tokens: list[Token], start: int, error: int) -> bool:
    """Return True if the token stands between the brackets of `not(…)`."""
    depth = 0
    for i in range(error - 1, start, -1):
        depth += tokens[i].type in CLOSING
        if tokens[i].type == "LPAR":
            if depth == 0 and str(tokens[i - 1]) == "not":
                return True
            depth = max(0, depth - 1)
    return False


def _compares(tokens: list[Token], start: int, error: int) -> bool:
    """Return True if the literal of the token has a comparison before it."""
    depth = 0
    for i in range(error - 1, start, -1):
        kind = tokens[i].type
        depth += (kind in CLOSING) - (kind in OPENING)
        if depth < 0 or (depth == 0 and kind in ("COMMA", "SEMICOLON", "IF")):
            return False
        if depth == 0 and kind in COMPARISONS:
            return True
    return False
