"""Functors and comparisons: those that the kernels know, and Python functions over a batch for the others.

A call-out takes the argument columns as int64 words and returns the positions that have a value (None: all) and the
result columns at full length. Texts can be long, so that it looks at the epoch's limits between rows, and while it
matches a long text. Semantics: docs/reference/language.md.

A functor with several values runs in three levels: a call-out that counts the values of each row, a range over their
numbers, and a call-out that takes the value with the number. The first keeps the values of its batch for the last.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from threading import Thread
from typing import Any, TypeAlias

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import Flags, Words
from tidelog.common.looking import Look
from tidelog.errors import LimitError, Problem
from tidelog.kernels import layout
from tidelog.language.functors import NUMERIC
from tidelog.language.regex import matcher
from tidelog.language.syntax import Kind
from tidelog.semantics import functors as texts
from tidelog.semantics.ordinals import collision, hash_bytes, text_ordinal
from tidelog.semantics.values import NoValueError
from tidelog.storage.dictionary import Dictionary

Mask: TypeAlias = NDArray[numpy.bool_]
CallOut: TypeAlias = Callable[[list[Words], Look], tuple[Mask | None, Sequence[Words]]]

LONGEST = 1 << 26
"""Characters of the longest text that a functor may make."""
_PACE, LONG = 256, 1 << 14
"""After so many rows, or a text of so many characters, a call-out looks at the limits."""
_KINDS: dict[str, tuple[Kind, ...]] = {
    "split": ("symbol", "symbol", "number"),
    "groups": ("symbol", "symbol", "number"),
}
_RESULTS: dict[str, Kind] = {"index_of": "number", "positions": "number"}
_AT_ONCE = 4096
"""Values that are hashed between two looks at the limits."""
_OPERATORS = {
    "+": layout.ADD,
    "-": layout.SUB,
    "*": layout.MUL,
    "/": layout.DIV,
    "%": layout.MOD,
    "^": layout.POW,
    "band": layout.AND,
    "bor": layout.OR,
    "bxor": layout.XOR,
    "bnot": layout.NOT,
    "bshl": layout.SHL,
    "bshr": layout.SHR,
    "bshru": layout.SHRU,
    "land": layout.LAND,
    "lor": layout.LOR,
    "lxor": layout.LXOR,
    "lnot": layout.LNOT,
    "min": layout.MIN,
    "max": layout.MAX,
    "neg": layout.NEG,
    "itof": layout.TO_FLOAT,
    "utof": layout.TO_FLOAT,
    "to_float": layout.TO_FLOAT,
    "ftoi": layout.TO_NUMBER,
    "utoi": layout.TO_NUMBER,
    "to_number": layout.TO_NUMBER,
    "ftou": layout.TO_UNSIGNED,
    "itou": layout.TO_UNSIGNED,
    "to_unsigned": layout.TO_UNSIGNED,
}
KINDS = {"number": layout.NUMBER, "unsigned": layout.UNSIGNED, "float": layout.FLOAT}
_INTEGER = re.compile(r"([+-]?)(?:0x([0-9a-fA-F]{1,999})|0b([01]{1,999})|([0-9]{1,999}))")
_FLOAT = re.compile(r"[+-]?(?:inf|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)")


def value_rows(columns: list[list[Any]], look: Look) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of columns, and look at the limits every now and then."""
    for part in _parts(columns, look):
        yield from zip(*part, strict=True)


def _parts(columns: list[list[Any]], look: Look) -> Iterator[list[list[Any]]]:
    """Yield columns, each with values of one type, in parts of a few rows, or of one where texts are long. Look at the
    limits before each."""
    texts = [column for column in columns if column and isinstance(column[0], str)]
    pace = 1 if any(max(map(len, column)) > LONG for column in texts) else _PACE
    for start in range(0, len(columns[0]) if columns else 0, pace):
        look()
        yield [column[start : start + pace] for column in columns]


def words_of_texts(texts: Sequence[str], dictionary: Dictionary) -> Words:
    """Return the words of symbols."""
    return numpy.array(dictionary.ids_of(texts), numpy.int64)


def call_out_of(meaning: Callable[..., Any], kinds: Sequence[Kind], result: Kind, dictionary: Dictionary) -> CallOut:
    """Return the call-out of a function on Python values, which returns None where it has no value; unsigned and float
    results are words."""

    def apply(columns: list[Words], look: Look) -> tuple[Mask | None, Sequence[Words]]:
        values = [
            dictionary.strings(column) if kind == "symbol" else column.tolist()
            for column, kind in zip(columns, kinds, strict=True)
        ]
        results: list[Any] = []
        for part in _parts(values, look):
            results.extend(map(meaning, *part))
        if None not in results:
            words = words_of_texts(results, dictionary) if result == "symbol" else numpy.array(results, numpy.int64)
            return None, (words,)
        mask = numpy.fromiter((value is not None for value in results), bool, len(results))
        if result != "symbol":
            return mask, (numpy.array([value or 0 for value in results], numpy.int64),)
        words = numpy.zeros(len(results), numpy.int64)
        words[mask] = words_of_texts([value for value in results if value is not None], dictionary)
        return mask, (words,)

    return apply


def text_call_out(name: str, arguments: int, dictionary: Dictionary) -> CallOut | None:
    """Return the function for a functor on texts with at most one value, or None if no such functor has the name."""
    meaning = _replace if name == "replace" else texts.ONE.get((name, arguments))
    if meaning is None:
        return None

    def value(*args: Any) -> int | str | None:
        try:
            return meaning(*args)
        except NoValueError:
            return None

    kinds = _KINDS.get(name, ("symbol",) * arguments)
    return call_out_of(value, kinds, _RESULTS.get(name, "symbol"), dictionary)


def _replace(text: str, old: str, new: str) -> str:
    size = len(text) + text.count(old) * (len(new) - len(old)) if old else len(text)
    if size > LONGEST:
        message = f"`replace` would make a symbol of {size:,} characters, the limit is {LONGEST:,}"
        hint = "bound the recursion that makes the text longer; nothing has changed"
        raise LimitError(Problem("E0503", message, hint=hint))
    return texts.replace_text(text, old, new)


def listed_call_outs(name: str, dictionary: Dictionary) -> tuple[CallOut, CallOut]:
    """Return the functions that count the values of a functor with several values, and that take the one with a
    number."""
    meaning = texts.SEVERAL[name]

    def list_values(args: tuple[str, str]) -> list[Any]:
        return [value for value in dict.fromkeys(meaning(*args)) if value is not None]

    return list_call_outs(list_values, ("symbol", "symbol"), _RESULTS.get(name, "symbol"), dictionary)


def list_call_outs(
    listed: Callable[[Any], Sequence[Any]], kinds: Sequence[Kind], result: Kind, dictionary: Dictionary
) -> tuple[CallOut, CallOut]:
    """Return call-outs for a function that lists the values for a tuple of arguments."""
    batch: dict[tuple[Any, ...], Sequence[Any]] = {}

    def rows(columns: Sequence[Words]) -> list[list[Any]]:
        return [
            dictionary.strings(column) if kind == "symbol" else column.tolist()
            for column, kind in zip(columns, kinds, strict=False)
        ]

    def count(columns: list[Words], look: Look) -> tuple[Mask, Sequence[Words]]:
        batch.clear()
        for row in value_rows(rows(columns), look):
            if row not in batch:
                batch[row] = listed(row)
        counts = numpy.array([len(batch[row]) for row in zip(*rows(columns), strict=True)], numpy.int64)
        return counts > 0, (counts,)

    def take(columns: list[Words], look: Look) -> tuple[None, Sequence[Words]]:
        *given, numbers = columns
        found = []
        for row, number in zip(value_rows(rows(given), look), numbers.tolist(), strict=True):
            values = batch.get(row)
            found.append((listed(row) if values is None else values)[number])
        return None, (words_of_texts(found, dictionary) if result == "symbol" else numpy.array(found, numpy.int64),)

    return count, take


def ordinal_call_out(kind: Kind, dictionary: Dictionary) -> CallOut:
    """Return the call-out of `ord` for symbols or records of a kind. It raises DataError (E0409) where two values have
    one number."""

    def apply(columns: list[Words], look: Look) -> tuple[Mask | None, Sequence[Words]]:
        return None, (_ordinals(kind, columns[0], dictionary, look),)

    return apply


def _ordinals(kind: Kind, words: Words, dictionary: Dictionary, look: Look) -> Words:
    """Return the numbers of words, and compute those that are missing; those of the parts of records first."""
    waiting = [(kind, words)]
    while waiting:
        kind_now, missing = waiting[-1][0], _words_without_number(*waiting[-1], dictionary)
        parts = [] if kind_now == "symbol" else _missing_parts(kind_now, missing, dictionary)
        if parts:
            waiting += parts
            continue
        for start in range(0, len(missing), _AT_ONCE):
            look()
            _add(kind_now, missing[start : start + _AT_ONCE], dictionary)
        waiting.pop()
    return dictionary.ordinals[kind].of(words)


def _words_without_number(kind: Kind, words: Words, dictionary: Dictionary) -> Words:
    """Return the words whose numbers are missing, each once. That of nil is always there."""
    return dictionary.ordinals[kind].words_without_number(words if kind == "symbol" else words[words != 0])


def _missing_parts(kind: Kind, records: Words, dictionary: Dictionary) -> list[tuple[Kind, Words]]:
    """Return the symbols and records in records whose numbers are missing."""
    columns = [column for _, _, columns in _branches(kind, records, dictionary) for column in columns]
    parts = [(each, _words_without_number(each, part, dictionary)) for each, part in columns if each not in NUMERIC]
    return [(each, part) for each, part in parts if len(part)]


def _add(kind: Kind, words: Words, dictionary: Dictionary) -> None:
    """Compute the numbers of words; those of their parts are there."""
    numbers = numpy.empty(len(words), numpy.int64)
    if kind == "symbol":
        numbers[:] = [text_ordinal(text) for text in dictionary.strings(words)]
    else:
        for rows, name, columns in _branches(kind, words, dictionary):
            fields = [part if each in NUMERIC else dictionary.ordinals[each].of(part) for each, part in columns]
            data = numpy.array(fields, "<i8").T.tobytes()
            size = 8 * len(fields)
            numbers[rows] = [hash_bytes(name + b"\0" + data[i * size : (i + 1) * size]) for i in range(int(rows.sum()))]
    with dictionary.adding:
        pair = dictionary.ordinals[kind].add(words, numbers)
    if pair is not None:
        one, other = (dictionary.decode(word, kind) for word in pair)
        raise collision(int(numbers[words == pair[1]][0]), one, other)


def _branches(
    kind: Kind, records: Words, dictionary: Dictionary
) -> Iterator[tuple[Flags, bytes, list[tuple[Kind, Words]]]]:
    """Yield the records of each branch of a type, as a mask, with the name of the branch and their fields. Other types
    have one branch, without a name."""
    type_ = dictionary.types[kind]
    _, columns = dictionary.unpack(kind, records)
    if not type_.branches:
        kinds = [field.kind for field in type_.fields]
        yield numpy.ones(len(records), numpy.bool_), b"", list(zip(kinds, columns, strict=True))
    for number, branch in enumerate(type_.branches):
        rows = columns[0] == number
        parts = [columns[place][rows] for place in branch.places]
        yield rows, branch.name.encode(), [(field.kind, part) for field, part in zip(branch.fields, parts, strict=True)]


def native(name: str, kind: Kind) -> tuple[int | None, int]:
    """Return the kernels' operator for a functor or comparison on operands of `kind`, or None, and their number for the
    kind.

    For the cast "as", `kind` is that of the result.
    """
    if name == "as" or (name == "ord" and kind in KINDS):
        return layout.COPY, KINDS.get(kind, layout.NUMBER)
    if name in ("=", "!="):
        return layout.COMPARISONS[name], layout.NUMBER
    if kind not in KINDS:
        return None, layout.NUMBER
    if name in layout.COMPARISONS:
        return layout.COMPARISONS[name], KINDS[kind]
    if name in _OPERATORS and (name, kind) != ("to_float", "float"):
        return _OPERATORS[name], KINDS[kind]
    return (layout.COPY, KINDS[kind]) if name == "to_float" else (None, KINDS[kind])


def call_out(name: str, kind: Kind, arguments: int, dictionary: Dictionary) -> CallOut:
    """Return the Python function for a functor with so many arguments, or a comparison, that the kernels do not
    know."""
    if name in _TESTS:
        return _test(_TESTS[name], dictionary)
    if name == "ord":
        return ordinal_call_out(kind, dictionary)
    if name == "to_string":
        return lambda columns, _: (
            None,
            (words_of_texts([_text(w, kind, dictionary) for w in columns[0].tolist()], dictionary),),
        )
    on_texts = text_call_out(name, arguments, dictionary)
    return on_texts if on_texts is not None else call_out_of(*_FUNCTIONS[name], dictionary)


def _text(word: int, kind: Kind, dictionary: Dictionary) -> str:
    value = dictionary.decode(word, kind)
    return repr(value) if isinstance(value, float) else str(value)


# --- comparisons of symbols ------------------------------------------------------------------------------------------


def _matches(pattern: str, text: str, look: Look) -> bool | None:
    matches = matcher(pattern)
    if matches is None or len(text) <= LONG:
        return None if matches is None else matches(text)
    return _run_beside(lambda: matches(text), look)


def _run_beside(work: Callable[[], bool], look: Look) -> bool:
    """Return the result of `work`, which lets other threads run, while this thread looks at the limits.

    One that is stopped is left to end by itself: it is a match, whose time is bounded.
    """
    results: list[bool] = []
    worker = Thread(target=lambda: results.append(work()), daemon=True)
    worker.start()
    while True:
        worker.join(0.05)
        look()
        if not worker.is_alive():
            return results[0]


_TESTS: dict[str, Callable[[str, str, Look], bool | None]] = {
    "<": lambda a, b, _: a < b,
    "<=": lambda a, b, _: a <= b,
    ">": lambda a, b, _: a > b,
    ">=": lambda a, b, _: a >= b,
    "contains": lambda a, b, _: a in b,
    "!contains": lambda a, b, _: a not in b,
    "starts_with": lambda a, b, _: a.startswith(b),
    "!starts_with": lambda a, b, _: not a.startswith(b),
    "ends_with": lambda a, b, _: a.endswith(b),
    "!ends_with": lambda a, b, _: not a.endswith(b),
    "match": _matches,
    "!match": lambda a, b, look: _matches(a, b, look) is False,
}


def _test(test: Callable[[str, str, Look], bool | None], dictionary: Dictionary) -> CallOut:
    def apply(columns: list[Words], look: Look) -> tuple[Mask, Sequence[Words]]:
        rows = value_rows([dictionary.strings(column) for column in columns], look)
        return numpy.fromiter((bool(test(a, b, look)) for a, b in rows), bool, len(columns[0])), ()

    return apply


# --- functors on symbols ---------------------------------------------------------------------------------------------


def _to_integer(text: str, low: int, high: int) -> int | None:
    """Return the integer that a text spells, or None if it spells none from `low` to `high`."""
    match = _INTEGER.fullmatch(text)
    if match is None:
        return None
    sign, hexadecimal, binary, decimal = match.groups()
    digits, base = (hexadecimal, 16) if hexadecimal else (binary, 2) if binary else (decimal, 10)
    value = int(digits, base) * (-1 if sign == "-" else 1)
    return value if low <= value <= high else None


def _to_unsigned(text: str) -> int | None:
    value = _to_integer(text, 0, 2**64 - 1)
    return None if value is None else (value + 2**63) % 2**64 - 2**63


def _to_float(text: str) -> int | None:
    return int(numpy.float64(float(text) + 0.0).view(numpy.int64)) if _FLOAT.fullmatch(text) else None


def _concatenate(a: str, b: str) -> str:
    if len(a) + len(b) > LONGEST:
        message = f"`cat` would make a symbol of {len(a) + len(b):,} characters, the limit is {LONGEST:,}"
        hint = "bound the recursion that makes the text longer; nothing has changed"
        raise LimitError(Problem("E0503", message, hint=hint))
    return a + b


_FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Kind, ...], Kind]] = {
    "cat": (_concatenate, ("symbol", "symbol"), "symbol"),
    "strlen": (len, ("symbol",), "number"),
    "substr": (
        lambda text, start, length: text[start : start + length] if start >= 0 and length > 0 else "",
        ("symbol", "number", "number"),
        "symbol",
    ),
    "codepoint": (lambda text: ord(text[0]) if text else 0, ("symbol",), "number"),
    "min": (min, ("symbol", "symbol"), "symbol"),
    "max": (max, ("symbol", "symbol"), "symbol"),
    "to_number": (lambda text: _to_integer(text, -(2**63), 2**63 - 1), ("symbol",), "number"),
    "to_unsigned": (_to_unsigned, ("symbol",), "number"),
    "to_float": (_to_float, ("symbol",), "number"),
}
"""Name -> function on Python values, kinds of the arguments, kind of the result; unsigned and float results are
words."""
