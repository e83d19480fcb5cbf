"""Regular expressions of `match`: ECMAScript's syntax, as `std::regex` in Soufflé reads it, over code points.

`translate_to_re2` reads a pattern and writes it for RE2, which matches in linear time. RE2 spells some of ECMAScript's
signs differently and lacks back-references and look-aheads; so this module reads every part of a pattern, and its
result contains only signs that both readers of RE2's syntax (the package google-re2, and DuckDB for the checker) take
alike. `matcher` compiles with google-re2, which is loaded by the first pattern.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from tidelog.errors import Problem
from tidelog.language.syntax import Comparison, Constant, Functor, Rule
from tidelog.language.trees import walk, whole

LENGTH, DEPTH, REPEATS, SIZE = 10_000, 100, 1_000, 10_000
"""Limits of a pattern: characters, nested groups, the product of nested counted repetitions, and characters and
ranges of characters once these repetitions are written out (those beyond ASCII count four times)."""

_LAST = 0x10FFFF
Ranges: TypeAlias = "list[tuple[int, int]]"

_DIGIT: Ranges = [(0x30, 0x39)]
_LOWER: Ranges = [(0x61, 0x7A)]
_UPPER: Ranges = [(0x41, 0x5A)]
_SPACE: Ranges = [(0x09, 0x0D), (0x20, 0x20)]
_ALPHA = _UPPER + _LOWER
_PUNCT: Ranges = [(0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)]
_WORD = [*_DIGIT, *_ALPHA, (0x5F, 0x5F)]
_NAMED: dict[str, Ranges] = {
    "alnum": _DIGIT + _ALPHA,
    "alpha": _ALPHA,
    "blank": [(0x09, 0x09), (0x20, 0x20)],
    "cntrl": [(0x00, 0x1F), (0x7F, 0x7F)],
    "d": _DIGIT,
    "digit": _DIGIT,
    "graph": [(0x21, 0x7E)],
    "lower": _LOWER,
    "print": [(0x20, 0x7E)],
    "punct": _PUNCT,
    "s": _SPACE,
    "space": _SPACE,
    "upper": _UPPER,
    "w": _WORD,
    "xdigit": [*_DIGIT, (0x41, 0x46), (0x61, 0x66)],
}
_CLASSES = {"d": _DIGIT, "s": _SPACE, "w": _WORD}
_ESCAPES = {"0": 0, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_LINE_ENDS: Ranges = [(0x0A, 0x0A), (0x0D, 0x0D)]


class PatternError(ValueError):
    """A pattern that `match` cannot use; `lacking` if ECMAScript has the feature."""

    def __init__(self, reason: str, *, lacking: bool = False) -> None:
        super().__init__(reason)
        self.lacking = lacking


def translate_to_re2(pattern: str) -> str:
    """Return the pattern in RE2's syntax, without anchors around it. Raise PatternError."""
    return _Reader(pattern).translate()


@lru_cache(maxsize=64)
def grouper(pattern: str) -> Callable[[str], list[str | None]] | None:
    """Return a function that gives, for a text that matches as a whole, the text and those of the pattern's groups.

    A group that took no part has None; other texts give nothing. Return None if the pattern is malformed."""
    import re2

    try:
        options = re2.Options()
        options.log_errors = False
        compiled = re2.compile(_Reader(pattern, groups=True).translate().encode(), options)
    except (PatternError, re2.error):
        return None

    def find(text: str) -> list[str | None]:
        found = compiled.fullmatch(text.encode("utf-8", "surrogatepass"))
        if found is None:
            return []
        parts = (found.group(0), *found.groups())
        return [None if part is None else part.decode("utf-8", "surrogatepass") for part in parts]

    return find


@lru_cache(maxsize=64)
def matcher(pattern: str) -> Callable[[str], bool] | None:
    """Return a function that returns True if a text as a whole matches, or None if the pattern is malformed."""
    import re2

    try:
        options = re2.Options()
        options.log_errors = False
        options.never_capture = True
        compiled = re2.compile(translate_to_re2(pattern).encode(), options)
    except (PatternError, re2.error):
        return None
    whole = compiled.fullmatch
    return lambda text: whole(text.encode("utf-8", "surrogatepass")) is not None


@dataclass(frozen=True)
class _Part:
    """A piece of RE2's syntax, its size written out, and the product of the counts inside of it."""

    text: str
    size: int = 0
    repeats: int = 1


class _Reader:
    """A recursive descent over one pattern; each method reads the construct of its name, from `_at` on.

    With `groups`, the result has the same groups, and repetitions that are as short as possible stay so.
    """

    def __init__(self, pattern: str, *, groups: bool = False) -> None:
        self._pattern = pattern
        self._groups = groups
        self._at = 0
        self._depth = 0

    def translate(self) -> str:
        """Return the pattern in RE2's syntax. Raise PatternError if it is malformed or too long."""
        if len(self._pattern) > LENGTH:
            raise PatternError(f"it has {len(self._pattern):,} characters, the limit is {LENGTH:,}")
        part = self._disjunction()
        if self._at < len(self._pattern):
            raise PatternError(f"`)` at character {self._at + 1} closes no group")
        return part.text

    def _next(self, text: str) -> bool:
        """Return True if `text` comes next, and read it."""
        found = self._pattern.startswith(text, self._at)
        self._at += len(text) if found else 0
        return found

    def _take(self, missing: str) -> str:
        if self._at >= len(self._pattern):
            raise PatternError(missing)
        self._at += 1
        return self._pattern[self._at - 1]

    # --- groups ------------------------------------------------------------------------------------------------------

    def _disjunction(self) -> _Part:
        parts = [self._alternative()]
        while self._next("|"):
            parts.append(self._alternative())
        return self._make_part("|".join(part.text for part in parts), parts)

    def _alternative(self) -> _Part:
        parts: list[_Part] = []
        while self._at < len(self._pattern) and self._pattern[self._at] not in "|)":
            parts.append(self._term())
        return self._make_part("".join(part.text for part in parts), parts)

    def _make_part(self, text: str, parts: list[_Part]) -> _Part:
        """Return the part that `parts` make up. Raise PatternError if it is too large when written out."""
        size = sum(part.size for part in parts)
        if size > SIZE:
            raise PatternError(f"it is too large: written out it has more than {SIZE:,} characters")
        return _Part(text, size, max((part.repeats for part in parts), default=1))

    def _term(self) -> _Part:
        for sign, text in (("^", r"\A"), ("$", r"\z"), (r"\b", r"\b"), (r"\B", r"\B")):
            if self._next(sign):
                return _Part(text, 1)
        part = self._atom()
        while (counts := self._quantifier()) is not None:
            shortest = self._next("?")  # of no account where nobody asks for groups: the whole text has to match
            part = self._repeat_part(part, *counts, "?" if shortest and self._groups else "")
        return part

    def _atom(self) -> _Part:
        start = self._at
        sign = self._take("")
        if sign == "(":
            return self._group(start)
        if sign == "[":
            return self._bracket(start)
        if sign in "*+?{":
            raise PatternError(f"`{sign}` at character {start + 1} repeats nothing")
        if sign == ".":
            return _class(_LINE_ENDS, negative=True)
        if sign != "\\":
            return _class([(ord(sign), ord(sign))])
        found = self._escape()
        return _class([(found, found)]) if isinstance(found, int) else _class(found)

    def _group(self, start: int) -> _Part:
        if self._next("?=") or self._next("?!"):
            sign = self._pattern[start : start + 3]
            raise PatternError(f"look-aheads such as `{sign}…)` are not supported", lacking=True)
        plain = not self._next("?")
        if not plain and not self._next(":"):
            raise PatternError(f"`(?` at character {start + 1} begins no group: write `(…)` or `(?:…)`")
        self._depth += 1
        if self._depth > DEPTH:
            raise PatternError(f"its groups are nested more than {DEPTH} levels deep")
        inside = self._disjunction()
        self._depth -= 1
        if not self._next(")"):
            raise PatternError(f"`(` at character {start + 1} is not closed")
        return _Part(f"({'' if plain and self._groups else '?:'}{inside.text})", inside.size + 1, inside.repeats)

    # --- repetitions -------------------------------------------------------------------------------------------------

    def _quantifier(self) -> tuple[int, int | None] | None:
        """Return the least and the most repetitions of the quantifier that comes next, None if there is none."""
        counts: tuple[int, int | None] | None = None
        for sign, meaning in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if counts is None and self._next(sign):
                counts = meaning
        if counts is None and self._next("{"):
            counts = self._braces(self._at - 1)
        return counts

    def _braces(self, start: int) -> tuple[int, int | None]:
        wrong = PatternError(f"`{{` at character {start + 1} begins no repetition: write {{3}}, {{3,}} or {{3,5}}")
        least = self._count()
        if least is None:
            raise wrong
        most = self._count() if (comma := self._next(",")) else least
        if not self._next("}") or (most is not None and most < least):
            raise wrong
        return least, most if most is not None or comma else least

    def _count(self) -> int | None:
        start = self._at
        while self._at < len(self._pattern) and self._pattern[self._at] in "0123456789":
            self._at += 1
        digits = self._pattern[start : self._at].lstrip("0")
        if len(digits) > len(str(REPEATS)):
            raise PatternError(f"it repeats a part more than {REPEATS:,} times")
        return int(digits or "0") if start < self._at else None

    def _repeat_part(self, part: _Part, least: int, most: int | None, shortest: str) -> _Part:
        times = max(least, most or 0, 1)
        if part.repeats * times > REPEATS:
            raise PatternError(f"it repeats a part more than {REPEATS:,} times, nested counts multiplied")
        signs = {(0, None): "*", (1, None): "+", (0, 1): "?"}
        sign = signs.get((least, most)) or f"{{{least},{'' if most is None else most}}}"
        written_out = _Part("", max(1, part.size) * times, part.repeats * times)
        return self._make_part(f"(?:{part.text}){sign}{shortest}", [written_out])

    # --- characters --------------------------------------------------------------------------------------------------

    def _escape(self) -> int | Ranges:
        """Return the character or the class of the signs behind a backslash."""
        sign = self._take(r"a backslash at its end escapes nothing; write \\ for a backslash")
        if sign in _CLASSES:
            return _CLASSES[sign]
        if sign.lower() in _CLASSES:
            return _inverse(_CLASSES[sign.lower()])
        if sign == "0":
            return 0
        if sign in "123456789":
            raise PatternError(rf"back-references such as `\{sign}` are not supported", lacking=True)
        if sign == "c":
            return ord(self._take(r"`\c` needs a letter")) % 32
        if sign in "xu":
            return self._hexadecimal(sign)
        return _ESCAPES.get(sign, ord(sign))

    def _hexadecimal(self, sign: str) -> int:
        length = 2 if sign == "x" else 4
        digits = self._pattern[self._at : self._at + length]
        if len(digits) < length or set(digits) - set("0123456789abcdefABCDEF"):
            raise PatternError(rf"`\{sign}` needs {length} hexadecimal digits")
        self._at += length
        return int(digits, 16)

    def _bracket(self, start: int) -> _Part:
        """Read `[…]`: characters, ranges, escapes, and POSIX's names of classes in brackets of their own."""
        negative = self._next("^")
        ranges: Ranges = []
        while not self._next("]"):
            found = self._member(start)
            ranges += [(found, found)] if isinstance(found, int) else found
            follows = self._pattern[self._at : self._at + 2]
            if not follows.startswith("-") or follows == "-]":
                continue
            self._at += 1
            end = self._member(start)
            if not isinstance(found, int) or not isinstance(end, int) or end < found:
                raise PatternError(f"the `[` at character {start + 1} has a range without two characters in order")
            ranges[-1] = (found, end)
        return _class(ranges, negative)

    def _member(self, start: int) -> int | Ranges:
        """Return a character or a class inside brackets."""
        sign = self._take(f"`[` at character {start + 1} is not closed")
        if sign == "\\":
            if self._next("b"):
                return 8
            return self._escape()
        kind = self._pattern[self._at : self._at + 1] if sign == "[" else ""
        if kind not in (":", ".", "=") or not kind:
            return ord(sign)
        end = self._pattern.find(f"{kind}]", self._at + 1)
        if end < 0:
            raise PatternError(f"`[{kind}` at character {self._at} is not closed by `{kind}]`")
        name = self._pattern[self._at + 1 : end]
        self._at = end + 2
        if kind == ":" and name.lower() in _NAMED:
            return _NAMED[name.lower()]
        if kind != ":" and len(name) == 1:
            return ord(name)
        raise PatternError(f"there is no class `[{kind}{name:.40}{kind}]`")


def _class(ranges: Ranges, negative: bool = False) -> _Part:
    """Return the class of the characters in `ranges`, or of all others."""
    for low, high in ranges:
        if low == high and 0xD800 <= low <= 0xDFFF:
            raise PatternError("it names half of a surrogate pair, which no text holds")
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1] and not negative:
        code = ranges[0][0]
        return _Part(_spell_character(code), 1 if code < 0x80 else 4)
    ranges = _inverse(ranges) if negative else ranges
    if not ranges:
        return _Part(rf"[^\x{{0}}-\x{{{_LAST:x}}}]", 1)  # RE2 has no empty brackets
    text = "".join(_spell_character(low) + (f"-{_spell_character(high)}" if high > low else "") for low, high in ranges)
    return _Part(f"[{text}]", sum(1 if high < 0x80 else 4 for _, high in ranges))


def _spell_character(code: int) -> str:
    return chr(code) if code < 0x80 and chr(code).isalnum() else rf"\x{{{code:x}}}"


def _inverse(ranges: Ranges) -> Ranges:
    found: Ranges = []
    start = 0
    for low, high in sorted(ranges):
        if low > start:
            found.append((start, low - 1))
        start = max(start, high + 1)
    return [*found, (start, _LAST)] if start <= _LAST else found


_HINT = r"write a backslash of the expression as \\ in a string"
_LACKING = "write several literals with `match`, `contains` or `substr`: patterns run in linear time"


def pattern_problems(rule: Rule) -> list[Problem]:
    """Return a problem for each constant pattern that is not a regular expression."""
    problems: list[Problem] = []
    for node in walk(whole(rule)):
        match node:
            case (
                Comparison(op="match" | "!match" as word, left=Constant(value=str(text)) as pattern)
                | Functor(name="groups" as word, args=(Constant(value=str(text)) as pattern, *_))
            ):
                try:
                    translate_to_re2(text)
                except PatternError as error:
                    message = f"`{word.lstrip('!')}` expects an ECMAScript regular expression: {error}"
                    problems.append(Problem("E0222", message, pattern.span, hint=_LACKING if error.lacking else _HINT))
            case _:
                pass
    return problems
