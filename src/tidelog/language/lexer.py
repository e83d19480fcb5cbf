"""Text to tokens.

One regular expression cuts the text; a second look at the words of the language decides by their neighbours whether
they are keywords (`count : {…}`) or as a plain name (`count` as a variable or attribute), so that few words are
reserved. The tokens are Lark's; `start_pos` and `end_pos` are offsets in the text given. Turning offsets into spans and
reporting problems is the caller's (statements.py).
"""

from __future__ import annotations

import re

from lark import Token

from tidelog.language.aggregates import AGGREGATES, SPELLINGS
from tidelog.language.token_types import (
    INFIX,
    OPENING,
    OPENING_OF,
    OPERATORS,
    SOFT_WORDS,
    declared_soft_words,
    is_in_list,
    mark_own_aggregates,
    soft_type,
)

_TOKEN = re.compile(
    r"""
      (?P<DOC>     ///(?!/)[^\n]* | //<[^\n]* | /\*\*(?![*/])(?s:.*?)\*/ )
    | (?P<SKIP>    [\s\ufeff]+ | //[^\n]* | /\*(?s:.*?)\*/ )
    | (?P<NAME>    choice-domain\b | _\?+(?!\w) | \??[^\W\d](?:\w|\?(?=\w|\s*\{))* )
    | (?P<BRANCH>  \$\s*\??[^\W\d][\w?]*(?:\.\??[^\W\d][\w?]*)* )
    | (?P<NUMBER>  \d+\.\d+\.\d+\.\d+\b | \d+\.\d\w* (?:(?<=[eE])[+-]\d\w*)? | \d[\d]*[eE][+-]\d\w* | \d\w* )
    | (?P<STRING>  "[^"\\\n]*(?:\\[^\n][^"\\\n]*)*" )
    | (?P<DIRECTIVE> \.[^\W\d]\w* )
    | (?P<UNCLOSED> "[^\n]* | /\*(?s:.*) )
    | (?P<OPERATOR> :- | <= | >= | != | <: | [.,;:!@()\[\]{}|=<>+\-*/%^?] )
    | (?P<OTHER>   (?s:.) )
    """,
    re.VERBOSE,
)

_OPERATORS = {
    ":-": "IF", "<=": "LESS_EQUAL", ">=": "GREATER_EQUAL", "!=": "NOT_EQUAL", "<:": "SUBTYPE", ".": "DOT",
    ",": "COMMA", ";": "SEMICOLON", ":": "COLON", "!": "NOT", "@": "AT", "(": "LPAR", ")": "RPAR", "[": "LBRACKET",
    "]": "RBRACKET", "{": "LBRACE", "}": "RBRACE", "|": "PIPE", "=": "EQUAL", "<": "LESS", ">": "GREATER",
    "+": "PLUS", "-": "MINUS", "*": "STAR", "/": "SLASH", "%": "PERCENT", "^": "CARET",
    "?": "QUESTION",
}  # fmt: skip

DIRECTIVES = {
    ".decl": "DECL",
    ".type": "TYPE",
    ".number_type": "OLD_TYPE",
    ".symbol_type": "OLD_TYPE",
    ".input": "IO",
    ".output": "IO",
    ".printsize": "IO",
    ".limitsize": "IO",
    ".plan": "PLAN",
    ".pragma": "PRAGMA",
    ".comp": "COMP",
    ".init": "INIT",
    ".override": "OVERRIDE",
    ".functor": "FUNCTOR",
    ".aggregate": "AGGREGATE_DECL",
}
DIRECTIVE_TYPES = frozenset({*DIRECTIVES.values(), "UNSUPPORTED", "UNKNOWN"})
"""The types of tokens that begin a directive."""
UNSUPPORTED_DIRECTIVES = {
    ".include": "the directive .include without the preprocessor",
    ".once": "the directive .once without the preprocessor",
    ".lattice": "lattices",
}

UNSUPPORTED_FUNCTORS = {
    "recursive_iteration_cnt": "no view depends on the rounds of a recursion; count steps in a column of the relation",
}
"""Functors of Soufflé that are not supported, each with a hint."""

_RESERVED = {
    "_": "UNDERSCORE", "true": "TRUE", "false": "FALSE", "nil": "NIL",
    "bnot": "PREFIX", "lnot": "PREFIX", "lor": "LOR", "lxor": "LXOR", "land": "LAND",
    "bor": "BOR", "bxor": "BXOR", "band": "BAND", "bshl": "SHIFT", "bshr": "SHIFT", "bshru": "SHIFT",
}  # fmt: skip
_FUNCTIONS = (
    "cat", "strlen", "substr", "ord", "to_number", "to_string", "to_float", "to_unsigned",
    "itof", "ftoi", "utof", "ftou", "itou", "utoi", "range", "autoinc",
)  # fmt: skip
_BEFORE_PARENTHESIS = {
    **dict.fromkeys((*_FUNCTIONS, *UNSUPPORTED_FUNCTORS), "FUNCTION"),
    "as": "AS",
    "match": "CONSTRAINT",
    "contains": "CONSTRAINT",
}
NO_NAMES = frozenset(
    {*_BEFORE_PARENTHESIS, "min", "max", *(word for form in AGGREGATES.values() for word in form.reserved)}
)
"""Words that are no names where a parenthesis follows, as it does in every declaration."""
NO_NODES = "no_nodes"
"""The qualifier of relations whose values are no nodes of paths."""
QUALIFIERS = frozenset([
    "brie", "btree", "btree_delete", "eqrel", "overridable", "inline", "no_inline", "magic", "no_magic",
    NO_NODES, "input", "output", "printsize",
])  # fmt: skip
FUNCTIONS = (
    frozenset(
        {word for word, kind in (*_BEFORE_PARENTHESIS.items(), *SOFT_WORDS.items()) if kind == "FUNCTION"}
        | {"min", "max"}
    )
    - UNSUPPORTED_FUNCTORS.keys()
)
WORDS = frozenset({*_RESERVED, *_BEFORE_PARENTHESIS, *SPELLINGS}) - {"_", "autoinc", *UNSUPPORTED_FUNCTORS}
"""Words that mean something to the language at some place."""

_CHOICE = "choice-domain"
_CALLED_PLAINLY = frozenset({*_RESERVED, *_BEFORE_PARENTHESIS, *SPELLINGS})
"""Behind `@` these are terms of a located argument: no program declares a functor of such a name."""
_SPECIAL = frozenset({"stateful", *_RESERVED, *_BEFORE_PARENTHESIS, *SOFT_WORDS, *SPELLINGS, *QUALIFIERS, _CHOICE})
_STARTS_TERM = frozenset([
    "NAME", "NUMBER", "STRING", "UNDERSCORE", "NIL", "LBRACKET", "MINUS", "PREFIX",
    "FUNCTION", "AS", "AGGREGATE", "COUNT", "BRANCH", "DOLLAR", "FOLD",
])  # fmt: skip
_BEFORE_TERM = SPELLINGS.keys() | _RESERVED.keys()
_ENDS_TERM = frozenset(("DOT", "NAME", "RPAR", "RBRACKET", "RBRACE", "STRING", "NUMBER"))
_CALLED = re.compile(r"(?:\.[^\W\d]\w*)*\s*[(:]")
_ENDS_OPERAND = frozenset(("NAME", "NUMBER", "STRING", "RPAR", "RBRACKET", "RBRACE"))
_REPEATED = frozenset(("NAME", "RPAR", "PLUS", "STAR", "QUESTION"))
"""The tokens before a sign that repeats a path; elsewhere `?` is a name."""
_CALL = re.compile(r"\s*\(")
_DIRECTS = re.compile(r"[^\S\n]*\"|[^\S\n]+[\w?]")
"""Text behind the word of a directive, where it does not end a name such as `instance.output`."""
_STATEFUL = re.compile(r"[^\S\n]+stateful\b")
_REPEATS = frozenset(("PLUS", "STAR", "QUESTION"))


def tokens(
    text: str, comments: list[tuple[int, Token]] | None = None, soft: frozenset[str] = frozenset()
) -> list[Token]:
    """Return all tokens of `text`. Text that begins no token has the type UNCLOSED (a string or comment without end) or
    OTHER (a single character). A directive has the type DIRECTIVES, UNSUPPORTED or UNKNOWN. `comments` gets the
    documentation comments, each with the number of tokens before it. `soft` are the soft words that are names of
    relations by declarations elsewhere."""
    found: list[Token] = []
    special: list[int] = []
    repeated: list[int] = []
    colons: list[int] = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind == "SKIP":
            continue
        value = match[0]
        start = match.start()
        if kind == "DOC":
            if comments is not None:
                comments.append((len(found), Token(kind, value, start, end_pos=match.end())))
            continue
        if kind == "OPERATOR":
            kind = _OPERATORS[value]
            if kind == "QUESTION" and not (found and _repeats(text, match.end(), found[-1])):
                kind = "NAME"
            if kind == "LBRACE" and found and found[-1].type == "COLON":
                colons.append(len(found) - 1)
            if kind == "LPAR" and found:
                if len(found) > 3 and found[-2].type == "COLON" and found[-1].type == "NAME":
                    colons.append(len(found) - 2)
                if found[-1].type in _REPEATS:
                    repeated.append(len(found))
                elif (
                    len(found) > 1
                    and found[-1].type == "NAME"
                    and found[-2].type == "AT"
                    and found[-1] not in _CALLED_PLAINLY
                ):
                    _merge_call(found, special)
        elif kind == "NAME":
            if len(found) > 1 and found[-1].type == found[-2].type == "AT":
                start, value, kind = found[-2].start_pos or 0, f"@@{value}", "FOLD"
                del found[-2:]
            elif value in _SPECIAL:
                special.append(len(found))
        elif kind == "DIRECTIVE":
            if _qualifies(text, match.end(), value, found):
                first = found.pop()
                start, value, kind = first.start_pos or 0, f"{first}{value}", "NAME"
                if special and special[-1] == len(found):
                    special.pop()
            else:
                kind = _directive(text, start, value, found)
            if kind is None:
                # a clause ends here and the next begins without a space: a(1).b(2).
                found.append(Token("DOT", ".", start, end_pos=start + 1))
                start, value, kind = start + 1, value[1:], "NAME"
                if value in _SPECIAL:
                    special.append(len(found))
        elif kind == "OTHER" and value == "$":
            kind = "DOLLAR"
        found.append(Token(str(kind), value, start, end_pos=match.end()))
    if repeated:
        _assign_postfix(found, repeated)
    if special:
        _assign_types(found, special, soft)
    if colons:
        mark_own_aggregates(found, colons, _CALLED_PLAINLY)
    return found


def _merge_call(found: list[Token], special: list[int]) -> None:
    """Make one token of the sign and the name of `@name(`, the call of a functor that the program declares."""
    name, sign = found.pop(), found.pop()
    if special and special[-1] > len(found):
        special.pop()
    found.append(Token("FUNCTION", f"@{name}", sign.start_pos, end_pos=name.end_pos))


def _repeats(text: str, end: int, before: Token) -> bool:
    """Return True if the `?` that ends at `end` repeats the path that the token before it ends."""
    return before.type in _REPEATED and not (before.type == "RPAR" and _CALL.match(text, end))


def _qualifies(text: str, end: int, word: str, before: list[Token]) -> bool:
    """Return True if `.word`, which ends at `end`, belongs to the name before it, as in `instance.relation`. After an
    operator that name is a variable: `x = y.b(1)` is the end of a clause and the beginning of another one. The C
    preprocessor leaves spaces before the dot of an atom."""
    if not before or before[-1].type != "NAME" or before[-1] in _RESERVED:
        return False
    called = _CALLED.match(text, end) is not None
    gap = text[before[-1].end_pos : end - len(word)]
    if gap and (gap.strip(" \t") or word in DIRECTIVES or _CALL.match(text, end) is None):
        return False
    if word in DIRECTIVES and not called:
        of_functor = [token.type for token in before[-3:]] == ["RPAR", "COLON", "NAME"]
        return _DIRECTS.match(text, end) is None or (of_functor and _STATEFUL.match(text, end) is not None)
    operators = [str(token) if token in _RESERVED else token.type for token in before[-3:-1]]
    behind = operators[-1] if operators else "DOT"
    if behind == "LESS" and (len(operators) < 2 or operators[0] not in _ENDS_OPERAND):
        return True  # the path `<a.b/c>`
    if behind == "GREATER" and _ends_instance(before):
        return True
    if behind == "CARET" and _begins_path(before):
        return True
    if behind == "LESS_EQUAL" and _dominates(before):
        return True  # the second head of `a.b(x) <= a.b(y) :- …`
    return not called or (behind not in OPERATORS and behind not in _RESERVED)


def _begins_path(before: list[Token]) -> bool:
    """Return True if the signs `^` before the last token have no operand on their left: `^a.b(x, y)` is a path."""
    first = next((token.type for token in reversed(before[:-1]) if token.type != "CARET"), "DOT")
    return first not in _ENDS_OPERAND


def _dominates(before: list[Token]) -> bool:
    """Return True if a head and `<=` stand before the last token: no body has begun since the last clause."""
    if len(before) < 3 or before[-3].type != "RPAR":
        return False
    return next((token.type == "DOT" for token in reversed(before) if token.type in ("DOT", "IF")), True)


def _ends_instance(before: list[Token]) -> bool:
    """Return True if `.init name = component<…>` stands before the last token."""
    i = len(before) - 3
    while i >= 0 and before[i].type in ("NAME", "COMMA"):
        i -= 1
    return [token.type for token in before[max(0, i - 4) : i + 1]] == ["INIT", "NAME", "EQUAL", "NAME", "LESS"]


def _directive(text: str, start: int, word: str, before: list[Token]) -> str | None:
    """Return the type of a directive, None if `word` is the end of a clause and a name."""
    if word in DIRECTIVES:
        return DIRECTIVES[word]
    if word in UNSUPPORTED_DIRECTIVES:
        return "UNSUPPORTED"
    if not before or before[-1].type == "DOT":
        return "UNKNOWN"
    first_in_line = "\n" in text[before[-1].end_pos : start]
    return "UNKNOWN" if first_in_line else None


def _assign_postfix(found: list[Token], openings: list[int]) -> None:
    """Make the signs of `p+(x, y)`, `p*(x, y)` and `p?(x)` POSTFIX; no term has a comma, or `?`, there."""
    brackets = _brackets(found)
    for opening in openings:
        first = opening
        while first and found[first - 1].type in _REPEATS:
            first -= 1
        signs = range(first, opening)
        comma = brackets.get(opening, (0, False))[1]
        if first and found[first - 1].type == "NAME" and (comma or any(found[i].type == "QUESTION" for i in signs)):
            for i in signs:
                found[i] = found[i].update(type="POSTFIX")


def _assign_types(found: list[Token], special: list[int], soft: frozenset[str]) -> None:
    """Give the words at the positions `special` their types; last first, because a word looks at the tokens behind
    it."""
    brackets: dict[int, tuple[int, bool]] | None = None
    names = soft | (declared_soft_words(found) if any(found[i] in SOFT_WORDS for i in special) else frozenset())
    for i in reversed(special):
        word = str(found[i])
        following = found[i + 1].type if i + 1 < len(found) else ""
        before = found[i - 1].type if i else "DOT"
        kind = _RESERVED.get(word)
        if kind is None and following == "LPAR":
            kind = _BEFORE_PARENTHESIS.get(word)
        if following == "LPAR" and word in SOFT_WORDS and word not in names:
            brackets = brackets if brackets is not None else _brackets(found)
            kind = soft_type(found, i, brackets)
        if kind is None and word in SPELLINGS:
            if word == "count":
                kind = _count(found, i, before)
            elif following == "LPAR":
                brackets = brackets if brackets is not None else _brackets(found)
                kind = _before_parenthesis(found, i, word, brackets)
            elif following in _STARTS_TERM and before != "DOT" and not is_in_list(found, i):
                kind = "AGGREGATE"
        if word == _CHOICE:
            kind = "CHOICE"
        if kind is None and word in QUALIFIERS and following not in ("LPAR", "COLON") and before in ("RPAR", "NAME"):
            kind = "QUALIFIER" if before == "RPAR" or _after_qualifier(found, i) else None
        if word == "stateful" and following != "COLON":
            kind = "STATEFUL" if [t.type for t in found[max(0, i - 3) : i]] == ["RPAR", "COLON", "NAME"] else kind
        if kind is not None:
            found[i] = found[i].update(type=kind)


def _count(found: list[Token], i: int, before: str) -> str | None:
    """Return the type of `count` before `:`. It begins an aggregate before `{` or an atom, unless it names a rule or an
    attribute."""
    if before == "LBRACE" and (i < 2 or found[i - 2].type not in ("COLON", "COMMA")):
        return None  # The first rule of a component.
    ahead = [t.type for t in found[i + 1 : i + 4]]
    in_term = before not in _ENDS_TERM or (i > 0 and str(found[i - 1]) in _BEFORE_TERM)
    braces = ahead[:2] in (["COLON", "LBRACE"], ["COLON", "LESS"], ["COLON", "CARET"])
    atom = ahead in (["COLON", "NAME", "LPAR"], ["COLON", "NAME", "POSTFIX"])
    return "COUNT" if in_term and (braces or atom) and not is_in_list(found, i) else None


def _before_parenthesis(found: list[Token], i: int, word: str, brackets: dict[int, tuple[int, bool]]) -> str | None:
    """Return the type of a word before `(`: `min(a, b)` is a functor, `min (a) : {…}` an aggregate, `median(a)` a
    name."""
    close, comma = brackets.get(i + 1, (len(found), False))
    after = found[close + 1].type if close + 1 < len(found) else ""
    if word in ("min", "max") and comma:
        return "FUNCTION"
    if after == "COLON" or after in INFIX or word in SPELLINGS[word].reserved:
        return "AGGREGATE"
    return "FUNCTION" if word in ("min", "max") else None


def _brackets(found: list[Token]) -> dict[int, tuple[int, bool]]:
    """Return for each opening bracket the position of the closing one, and True if a comma stands between at the same
    level."""
    pairs: dict[int, tuple[int, bool]] = {}
    opened: list[int] = []
    commas: set[int] = set()
    for i, token in enumerate(found):
        kind = token.type
        if kind in OPENING:
            opened.append(i)
        elif kind in OPENING_OF:
            if opened:
                start = opened.pop()
                pairs[start] = (i, start in commas)
        elif kind == "COMMA" and opened:
            commas.add(opened[-1])
        elif kind == "DOT":
            opened.clear()
    return pairs


def _after_qualifier(found: list[Token], i: int) -> bool:
    """Return True if only qualifiers stand between the closing parenthesis of a declaration and position `i`."""
    i -= 1
    while i >= 0 and found[i].type == "NAME" and str(found[i]) in QUALIFIERS:
        i -= 1
    return i >= 0 and found[i].type == "RPAR"
