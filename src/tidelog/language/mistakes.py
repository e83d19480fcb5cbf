"""Problems of the syntax in words: the expected tokens, the token found, and features that are not supported."""

from __future__ import annotations

from collections.abc import Iterable

from lark import Token

from tidelog.common.source import Span
from tidelog.errors import Problem
from tidelog.language import foreign, lexer
from tidelog.language.aggregates import SPELLINGS
from tidelog.language.declarations import did_you_mean
from tidelog.language.sizes import LIMIT
from tidelog.language.terms import Locate
from tidelog.language.token_types import CLOSING, COMPARISONS, INFIX, OPENING_OF

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
_TERM = frozenset([
    "NAME", "NUMBER", "STRING", "UNDERSCORE", "DOLLAR", "NIL", "LBRACKET", "LPAR",
    "MINUS", "PREFIX", "FUNCTION", "AS", "COUNT", "AGGREGATE",
])  # fmt: skip
_LITERAL = _TERM | {"NOT", "TRUE", "FALSE", "CONSTRAINT", "CARET", "LESS"}
_STEP = frozenset(["NAME", "CARET", "LPAR"])
_BEHIND_STEP = frozenset(["GREATER", "RPAR", "SLASH", "PIPE", "PLUS", "STAR", "QUESTION"])
_PATH_HINT = "make a path of relations, as in `<a/b+|^c>(x, y)`"
_BEHIND_TERM = frozenset(["DOT", "RPAR", "RBRACKET", "RBRACE", "COMMA"])
_DIRECTIVES = frozenset(lexer.DIRECTIVES.values())
_STATEMENT = _DIRECTIVES | {"NAME", "RBRACE"}
_CLOSING_OF = {opening: closing for closing, opening in OPENING_OF.items()}
_GROUPS = (
    (_STATEMENT, "a statement"),
    (_LITERAL, "an atom or a comparison"),
    (_TERM | {"AT"}, "a term"),
    (_TERM, "a term"),
    (COMPARISONS, "a comparison"),
    (INFIX, ""),
    (frozenset(("TRUE", "FALSE", "NAME", "STRING", "NUMBER")), "a value"),
)


def span_of(token: Token, locate: Locate) -> Span:
    return locate(token.start_pos or 0, token.end_pos or 0)


def unexpected_token(tokens: list[Token], start: int, error: int, expected: set[str], locate: Locate) -> Problem:
    """Return the problem of the token at `error` (behind the last one: the end of the text), which does not fit the
    statement that begins at `start`."""
    unclosed = _unclosed_bracket(tokens, start, error, expected, locate)
    if error >= len(tokens):
        if unclosed is not None:
            return unclosed
        last = span_of(tokens[-1], locate)
        place = Span(last.source, last.end, last.end)
        begin = span_of(tokens[start], locate)
        qualifier = _unknown_qualifier(tokens, start, locate)
        if qualifier is not None:
            return qualifier
        message = f"expected {_expected_text(expected)}, found the end of the text"
        hint = foreign.division_hint(last.source.text[last.end :]) or _hint(expected, None, "")
        return Problem("E0101", message, place, notes=((begin, "the statement begins here"),), hint=hint)
    token = tokens[error]
    span = span_of(token, locate)
    if token.type == "UNCLOSED":
        return _unclosed_text(token, span, tokens[error - 1] if error > start else None)
    if tokens[start].type == "DECL" and [str(each) for each in tokens[error : error + 2]] == ["=", "debug_delta"]:
        hint = "no relation shows the rounds of a recursion; count steps in a column of the relation"
        return Problem("E0190", "`debug_delta` is not supported", span_of(tokens[error + 1], locate), hint=hint)
    own_form = (
        _lattice(tokens, start, error, locate)
        or _bare_options(tokens, start, error, locate)
        or _odd_quote(tokens, start, error, locate)
        or _unknown_aggregate(tokens, start, error, locate)
        or unclosed
    )
    if own_form is not None:
        return own_form
    before = tokens[error - 1] if error > start else token
    end = span_of(before, locate).end
    gap = span.source.text[end : span.start] if end <= span.start else ""
    if token.type == "OTHER":
        return _strange_character(token, span, foreign.hint_for(tokens, start, error, gap, expected))
    if "CARET" in expected and expected <= _STEP and token.type in _BEHIND_STEP:
        message = f"the path lacks a step: expected a relation, `^` or `(`, found {_found_text(token)}"
        return Problem("E0113", message, span, hint=_PATH_HINT)
    own = foreign.hint_for(tokens, start, error, gap, expected)
    if own is None and token.type == "LPAR" and before.type == "NAME" and expected & _BEHIND_TERM:
        return _no_functor(before, locate)
    qualifier = _unknown_qualifier(tokens, start, locate)
    if qualifier is not None:
        return qualifier
    hint = own or _hint(expected, token, gap)
    if expected >= COMPARISONS and _repeats_term(tokens, start, error):
        hint = "write two arguments behind a path, as in `p+(x, y)`"
    found = (
        _found_text(token) if span.end > span.start else "the end of the text"
    )  # The dot that ends a query is not written.
    return Problem("E0101", f"expected {_expected_text(expected)}, found {found}", span, hint=hint)


def _unclosed_bracket(
    tokens: list[Token], start: int, error: int, expected: set[str], locate: Locate
) -> Problem | None:
    """Return the problem of the innermost bracket that is open in front of the token at `error`, if the rest of the
    statement does not close it: a functor's brackets may be wrong only because those before them are."""
    opened: list[int] = []
    for i in range(start, len(tokens)):
        kind = tokens[i].type
        if i >= error and (kind == "IF" or kind in _DIRECTIVES or (kind == "DOT" and not _is_inside(tokens, i))):
            break
        if kind in _CLOSING_OF:
            opened.append(i)
        elif opened and kind == _CLOSING_OF[tokens[opened[-1]].type]:
            opened.pop()
    before = [i for i in opened if i < error]
    if not before:
        return None
    bracket = tokens[before[-1]]
    is_functor = error < len(tokens) and tokens[error].type == "LPAR" and tokens[error - 1].type == "NAME"
    if _CLOSING_OF[bracket.type] not in expected and not is_functor:
        return None
    closing = _SYMBOLS[_CLOSING_OF[bracket.type]]
    behind = [span_of(token, locate) for token in tokens[error : error + 1]]  # The dot that ends a query is empty.
    notes = tuple((span, f"`{closing}` is missing in front of this") for span in behind if span.end > span.start)
    return Problem("E0101", f"`{bracket}` is not closed", span_of(bracket, locate), notes, f"close it with `{closing}`")


def _is_inside(tokens: list[Token], position: int) -> bool:
    """Return True if a dot is a part of something, as in `1..3` and `127.0.0.1`."""
    end = tokens[position].end_pos
    return any(each.type in ("NUMBER", "DOT") and each.start_pos == end for each in tokens[position + 1 : position + 2])


def _odd_quote(tokens: list[Token], start: int, error: int, locate: Locate) -> Problem | None:
    """Return the problem of a string without its second quote that ends at the first one of the next string, as in
    `a("b, "c").`: the last string of the line has no end then."""
    if error == start or tokens[error - 1].type != "STRING":
        return None
    place = span_of(tokens[error - 1], locate)
    end = place.source.text.find("\n", place.start)
    for token in tokens[error:]:
        span = span_of(token, locate)
        if span.source is not place.source or not place.end <= span.start < (end if end >= 0 else span.start + 1):
            return None
        if token.type == "UNCLOSED" and token.startswith('"'):
            last = Span(span.source, span.start, span.start + 1)
            notes = ((last, "the last quote of the line, which opens another one"),)
            hint = 'close it with " in front of the next string; write \\" for a quote inside of one'
            return Problem("E0103", "the string lacks its second quote", place, notes, hint)
    return None


def _unknown_aggregate(tokens: list[Token], start: int, error: int, locate: Locate) -> Problem | None:
    """Return the problem of `word : { … }`, `word x : { … }` and `word { … }` where the word is no aggregate."""
    kinds = [token.type for token in tokens[error - 1 : error + 2]]
    if error <= start + 1 or kinds[0] != "NAME" or not any(token.type == "IF" for token in tokens[start:error]):
        return None
    name = tokens[error - 1]
    begins = kinds[1] in ("COLON", "LBRACE") and kinds[1:] != ["COLON", "COLON"]
    if str(name) in SPELLINGS or not (begins or kinds[1:] == ["NAME", "COLON"]):
        return None
    hint = _suggestion(str(name), SPELLINGS)
    return Problem("E0101", f"there is no aggregate `{name}`", span_of(name, locate), hint=hint)


def _no_functor(name: Token, locate: Locate) -> Problem:
    """Return the problem of a name with arguments where a term stands."""
    hint = _suggestion(str(name), lexer.FUNCTIONS, foreign.FUNCTORS.get(name.lower()))
    hint = foreign.aggregate_form(str(name)) if str(name) in SPELLINGS else hint
    return Problem("E0101", f"there is no functor `{name}`", span_of(name, locate), hint=hint)


def _unknown_qualifier(tokens: list[Token], start: int, locate: Locate) -> Problem | None:
    """Return the problem of a statement that begins with a single name, in the line where a declaration ends."""
    first = tokens[start]
    if first.type != "NAME" or start == 0 or (start + 1 < len(tokens) and tokens[start + 1].type in ("LPAR", "COLON")):
        return None
    declares = next((t for t in reversed(tokens[:start]) if t.type in ("DECL", "DOT", "IF", "IO", "TYPE")), None)
    span, last = span_of(first, locate), span_of(tokens[start - 1], locate)
    if declares is None or declares.type != "DECL" or "\n" in span.source.text[last.end : span.start]:
        return None
    if first in lexer.QUALIFIERS:
        hint = f"write `{first}` in front of `choice-domain`, `min(…)` or `max(…)`"
        return Problem("E0101", f"the qualifier `{first}` stands behind a selection", span, hint=hint)
    hint = foreign.QUALIFIERS.get(str(first)) or _suggestion(str(first), lexer.QUALIFIERS)
    return Problem("E0101", f"there is no qualifier `{first}`", span, hint=hint)


def _lattice(tokens: list[Token], start: int, error: int, locate: Locate) -> Problem | None:
    """Return the problem of an attribute `x: Interval<>` of a lattice, in a declaration with an error."""
    if tokens[start].type != "DECL" or tokens[error].type not in ("LESS", "SEMICOLON"):
        return None
    for i in range(error, len(tokens) - 1):
        if tokens[i].type in ("RPAR", "DOT", "DECL"):
            break
        if tokens[i].type == "LESS" and tokens[i + 1].type == "GREATER" and tokens[i - 1].type == "NAME":
            hint = "select by `min(…)` or `max(…)` behind the declaration, or by subsumption rules"
            place = span_of(tokens[i - 1], locate)
            return Problem(
                "E0190", f"the attribute of the lattice `{tokens[i - 1]}<>` is not supported", place, hint=hint
            )
    return None


def _bare_options(tokens: list[Token], start: int, error: int, locate: Locate) -> Problem | None:
    """Return the problem of options without parentheses, as in `.output a IO=stdout` and `.output a "a.csv"`."""
    option = tokens[start].type == "NAME" and error == start + 1 and tokens[error].type == "EQUAL"
    file = tokens[start].type == "STRING" and error == start
    first = next((i for i in range(start - 1, -1, -1) if tokens[i].type not in ("NAME", "COMMA")), -1)
    if not (option or file) or first < 0 or first == start - 1 or tokens[first].type != "IO":
        return None
    given = f"{tokens[start]}=…" if option else f"filename={tokens[start]}"
    hint = f"put them into parentheses: `{tokens[first]} {tokens[first + 1]}({given})`"
    message = f"the options of `{tokens[first]} {tokens[first + 1]}` have no parentheses"
    return Problem("E0101", message, span_of(tokens[start], locate), hint=hint)


def _suggestion(word: str, words: Iterable[str], own: str | None = None, known: Iterable[str] | None = None) -> str:
    """Return the hint for a word: to write `own`, or the nearest of the `known` words, or one of `words`."""
    if own is not None:
        return f"did you mean `{own}`?"
    return did_you_mean(word, words if known is None else known) or f"use one of {', '.join(sorted(words))}"


def unknown_directive(token: Token, locate: Locate) -> Problem:
    word, known = str(token), (*lexer.DIRECTIVES, *lexer.UNSUPPORTED_DIRECTIVES)
    hint = foreign.UNKNOWN_DIRECTIVES.get(word)
    hint = hint or _suggestion(word, lexer.DIRECTIVES, foreign.DIRECTIVES.get(word), known)
    return Problem("E0107", f"unknown directive `{_short_text(token)}`", span_of(token, locate), hint=hint)


def unsupported_directive(token: Token, locate: Locate) -> Problem:
    feature = lexer.UNSUPPORTED_DIRECTIVES[str(token)]
    verb = "are" if feature.endswith("s") else "is"
    hint = "leave it out; docs/reference/differences.md says what else differs from Soufflé"
    return Problem("E0190", f"{feature} {verb} not supported yet", span_of(token, locate), hint=hint)


def too_deep(span: Span) -> Problem:
    message = f"this is nested in more than {LIMIT} levels"
    return Problem("E0106", message, span, hint="split off the inner parts as variables or relations")


def _unclosed_text(token: Token, span: Span, before: Token | None) -> Problem:
    if token.startswith("/*"):
        return Problem(
            "E0103", "the comment is not closed", Span(span.source, span.start, span.start + 2), hint="close it with */"
        )
    hint = 'close it with "; write \\n for a line break'
    if before is not None and before.type in ("NAME", "NUMBER") and before.end_pos == token.start_pos:
        hint = f'open the string with " in front of `{before}`'
    return Problem("E0103", "the string is not closed in its line", span, hint=hint)


def _strange_character(token: Token, span: Span, foreign: str | None) -> Problem:
    character = str(token)
    shown = f"character `{character}`" if character.isprintable() else f"character U+{ord(character):04X}"
    hint = "write strings in double quotes" if character in "'`‘’“”" else foreign
    return Problem("E0102", f"unexpected {shown}", span, hint=hint)


def _repeats_term(tokens: list[Token], start: int, error: int) -> bool:
    """Return True if `p+(x)` or `p*(x)` stands in front of the token at `error`."""
    depth = 0
    for i in range(error - 1, start + 1, -1):
        kind = tokens[i].type
        depth += (kind == "RPAR") - (kind == "LPAR")
        if depth <= 0:
            return kind == "LPAR" and tokens[i - 1].type in ("PLUS", "STAR") and tokens[i - 2].type == "NAME"
    return False


def _expected_text(kinds: Iterable[str]) -> str:
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


def _found_text(token: Token) -> str:
    if token.type == "STRING":
        return f"the string {_short_text(token)}"
    if (
        token.type in ("FUNCTION", "AS", "CONSTRAINT", "AGGREGATE", "COUNT", "QUALIFIER", "CHOICE")
        or str(token) in lexer.WORDS
    ):
        return f"the word `{token}`"
    return f"`{_short_text(token)}`"


def _short_text(token: Token) -> str:
    text = str(token)
    return text if len(text) <= 40 else f"{text[:30]}…"


def _hint(expected: set[str], token: Token | None, gap: str) -> str | None:
    if token is not None and str(token) in lexer.WORDS and "NAME" in expected:
        return f"choose another name; `{token}` is a word of the language"
    if token is not None and "CARET" in expected and expected <= _STEP:
        return _PATH_HINT if token.type != "LPAR" else "put a path of several steps into `<` and `>`: `<^(a/b)>(x, y)`"
    if token is not None and (token.type == "POSTFIX" or (token.type in ("LESS", "CARET") and expected <= _STATEMENT)):
        return "use a path only as a literal of a body, not in a head or a term"
    if token is not None and token.type == "STAR" and expected == {"NAME"}:
        return "name each relation, with commas between them"
    if token is not None and token.type in CLOSING and "DOT" in expected:
        return "remove it, or open a bracket before it"
    if token is not None and token.type == "NAME" and {"DOT", "SEMICOLON"} <= expected and "\n" not in gap:
        return "put `,` between two literals, or a dot behind the rule"
    if expected == {"DOT"} or ("DOT" in expected and (token is None or token.type in _DIRECTIVES | {"NAME"})):
        return "end each fact and rule with a dot"
    return None
