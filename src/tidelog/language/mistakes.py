"""Problems of the syntax in words: the expected tokens, the token found, and features that are not supported."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import pairwise

from lark import Token

from tidelog.errors import Problem
from tidelog.language import lexer
from tidelog.language.nesting import LIMIT
from tidelog.language.terms import Locate
from tidelog.source import Span

_SYMBOLS = {kind: text for text, kind in lexer._OPERATORS.items()}
_WORDS = {
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "a string",
    "UNDERSCORE": "`_`",
    "TRUE": "`true`",
    "FALSE": "`false`",
    "$END": "the end of the text",
}
_TERM = frozenset(
    [
        "NAME",
        "NUMBER",
        "STRING",
        "UNDERSCORE",
        "NIL",
        "LBRACKET",
        "LPAR",
        "MINUS",
        "PREFIX",
        "FUNCTION",
        "AS",
        "COUNT",
        "AGGREGATE",
    ]
)
_LITERAL = _TERM | {"NOT", "TRUE", "FALSE", "CONSTRAINT", "CARET", "LESS"}
_STEP = frozenset(["NAME", "CARET", "LPAR"])
_BEHIND_STEP = frozenset(["GREATER", "RPAR", "SLASH", "PIPE", "PLUS", "STAR", "QUESTION"])
_PATH_HINT = "make a path of relations, as in `<a/b+|^c>(x, y)`"
_INFIX = frozenset(
    ["PLUS", "MINUS", "STAR", "SLASH", "PERCENT", "CARET", "LOR", "LXOR", "LAND", "BOR", "BXOR", "BAND", "SHIFT"]
)
_COMPARISON = frozenset(["EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"])
_STATEMENT = frozenset(
    ["NAME", "DECL", "TYPE", "OLD_TYPE", "IO", "PLAN", "PRAGMA", "COMP", "INIT", "OVERRIDE", "RBRACE"]
)
_GROUPS = (
    (_STATEMENT, "a statement"),
    (_LITERAL, "an atom or a comparison"),
    (_TERM | {"AT"}, "a term"),
    (_TERM, "a term"),
    (_COMPARISON, "a comparison"),
    (_INFIX, ""),
    (frozenset(("TRUE", "FALSE", "NAME", "STRING", "NUMBER")), "a value"),
)


def span_of(token: Token, locate: Locate) -> Span:
    return locate(token.start_pos or 0, token.end_pos or 0)


def unexpected(tokens: list[Token], start: int, error: int, expected: set[str], locate: Locate) -> Problem:
    """Return the problem of the token at `error` (behind the last one: the end of the text), which does not fit the
    statement that begins at `start`."""
    if error >= len(tokens):
        last = span_of(tokens[-1], locate)
        place = Span(last.source, last.end, last.end)
        begin = span_of(tokens[start], locate)
        message = f"expected {_expected(expected)}, found the end of the text"
        return Problem(
            "E0101", message, place, notes=((begin, "the statement begins here"),), hint=_hint(expected, None)
        )
    token = tokens[error]
    span = span_of(token, locate)
    if token.type == "UNCLOSED":
        return _unclosed(token, span)
    feature = _unsupported(tokens, start, error)
    if feature is not None:
        return Problem("E0190", f"{feature} not supported yet", span)
    if token.type == "OTHER":
        return _strange(token, span, _foreign(tokens, start, error))
    if "CARET" in expected and expected <= _STEP and token.type in _BEHIND_STEP:
        message = f"the path lacks a step: expected a relation, `^` or `(`, found {_found(token)}"
        return Problem("E0113", message, span, hint=_PATH_HINT)
    before = tokens[error - 1] if error > start else token
    if token.type == "LPAR" and before.type == "NAME" and "DOT" in expected and str(before) not in _FOREIGN:
        close = [_FOREIGN_FUNCTORS.get(before.lower()) or "", *get_close_matches(str(before), lexer.FUNCTIONS, 1)]
        own = next(filter(None, close), None)
        known = f"did you mean `{own}`?" if own else f"use one of {', '.join(sorted(lexer.FUNCTIONS))}"
        return Problem("E0101", f"there is no functor `{before}`", span_of(before, locate), hint=known)
    hint = _foreign(tokens, start, error) or _hint(expected, token)
    if expected >= _COMPARISON and _repeats_term(tokens, start, error):
        hint = "write two arguments behind a path, as in `p+(x, y)`"
    return Problem("E0101", f"expected {_expected(expected)}, found {_found(token)}", span, hint=hint)


def unknown_directive(token: Token, locate: Locate) -> Problem:
    known = {*lexer.DIRECTIVES, *lexer.UNSUPPORTED_DIRECTIVES}
    close = get_close_matches(str(token), known, 1)
    hint = f"did you mean `{close[0]}`?" if close else f"use one of {', '.join(sorted(lexer.DIRECTIVES))}"
    return Problem("E0107", f"unknown directive `{_shown(token)}`", span_of(token, locate), hint=hint)


def unsupported_directive(token: Token, locate: Locate) -> Problem:
    feature = lexer.UNSUPPORTED_DIRECTIVES[str(token)]
    verb = "are" if feature.endswith("s") else "is"
    return Problem("E0190", f"{feature} {verb} not supported yet", span_of(token, locate))


def too_deep(span: Span) -> Problem:
    message = f"this is nested in more than {LIMIT} levels"
    return Problem("E0106", message, span, hint="split off the inner parts as variables or relations")


def _unclosed(token: Token, span: Span) -> Problem:
    if token.startswith("/*"):
        return Problem(
            "E0103", "the comment is not closed", Span(span.source, span.start, span.start + 2), hint="close it with */"
        )
    return Problem(
        "E0103", "the string is not closed in its line", span, hint='close it with "; write \\n for a line break'
    )


_FOREIGN = {
    "==": "write `=`",
    "<>": "write `!=`",
    ":=": "write `=`, or `:-` behind a head",
    "<-": "write `:-`",
    "->": "write the head first, then `:-` and the body",
    "&&": "write `,` for a conjunction",
    "||": "write `;` for a disjunction",
    "\\+": "write `!` for a negation",
    "not": "write `!` for a negation",
    "and": "write `,` for a conjunction",
    "or": "write `;` for a disjunction",
    "is": "write `=`",
    "mod": "write `%`",
}
"""Words and signs of other languages, and what to write in place of them."""
_FOREIGN_FUNCTORS = {
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
"""Functions of other languages, in small letters, and the functors that do the same."""


def _foreign(tokens: list[Token], start: int, error: int) -> str | None:
    """Return a hint if the token at `error`, or the one before it, is a word or part of a sign of another language."""
    near = tokens[max(start, error - 1) : error + 2]
    signs = [f"{one}{other}" for one, other in pairwise(near) if one.end_pos == other.start_pos]
    words = [str(token) for token in near[:2] if token.type == "NAME"]
    return next((_FOREIGN[each] for each in (*signs, *words) if each in _FOREIGN), None)


def _strange(token: Token, span: Span, foreign: str | None) -> Problem:
    character = str(token)
    shown = f"character `{character}`" if character.isprintable() else f"character U+{ord(character):04X}"
    hint = "write strings in double quotes" if character in "'`‘’“”" else foreign
    return Problem("E0102", f"unexpected {shown}", span, hint=hint)


def _unsupported(tokens: list[Token], start: int, error: int) -> str | None:
    """Return the feature that the token at `error` looks like, with its verb; None if it is just wrong."""
    token = tokens[error]
    before = tokens[error - 1].type if error > start else ""
    if token.type == "DOLLAR":
        return "algebraic types and counters (`$`) are"
    if token.type == "LBRACE" and tokens[start].type == "TYPE":
        return "algebraic types are"
    if token.type == "LPAR" and before == "NAME" and error >= 2 and tokens[error - 2].type == "AT":
        return "user-defined functors are"
    return None


def _repeats_term(tokens: list[Token], start: int, error: int) -> bool:
    """Return True if `p+(x)` or `p*(x)` stands in front of the token at `error`."""
    depth = 0
    for i in range(error - 1, start + 1, -1):
        kind = tokens[i].type
        depth += (kind == "RPAR") - (kind == "LPAR")
        if depth <= 0:
            return kind == "LPAR" and tokens[i - 1].type in ("PLUS", "STAR") and tokens[i - 2].type == "NAME"
    return False


def _expected(kinds: Iterable[str]) -> str:
    """Return the kinds of tokens in words, with terms and operators as groups."""
    left = set(kinds)
    parts = []
    for group, name in _GROUPS:
        if group <= left:
            left -= group
            parts.append(name)
    if "a term" in parts:
        left -= {"AT"}
    if {"DOT", "IF"} <= left:  # Behind a first atom nearly nobody meant a subsumption rule.
        left -= {"LESS_EQUAL"}
    parts += [
        _WORDS[kind] if kind in _WORDS else f"`{_SYMBOLS[kind]}`"
        for kind in sorted(left & (_WORDS.keys() | _SYMBOLS.keys()))
    ]
    parts = [part for part in parts if part]
    if len(parts) > 1:
        return f"{', '.join(parts[:-1])} or {parts[-1]}"
    return parts[0] if parts else "something else"


def _found(token: Token) -> str:
    if token.type == "STRING":
        return f"the string {_shown(token)}"
    if (
        token.type in ("FUNCTION", "AS", "CONSTRAINT", "AGGREGATE", "COUNT", "QUALIFIER", "CHOICE")
        or str(token) in lexer.WORDS
    ):
        return f"the word `{token}`"
    return f"`{_shown(token)}`"


def _shown(token: Token) -> str:
    text = str(token)
    return text if len(text) <= 40 else f"{text[:30]}…"


def _hint(expected: set[str], token: Token | None) -> str | None:
    if token is not None and str(token) in lexer.WORDS and "NAME" in expected:
        return f"choose another name; `{token}` is a word of the language"
    if token is not None and "CARET" in expected and expected <= _STEP:
        return _PATH_HINT if token.type != "LPAR" else "put a path of several steps into `<` and `>`: `<^(a/b)>(x, y)`"
    if token is not None and (token.type == "POSTFIX" or (token.type in ("LESS", "CARET") and expected <= _STATEMENT)):
        return "use a path only as a literal of a body, not in a head or a term"
    if expected == {"DOT"} or (
        "DOT" in expected and (token is None or token.type in ("NAME", *lexer.DIRECTIVES.values()))
    ):
        return "end each fact and rule with a dot"
    return None
