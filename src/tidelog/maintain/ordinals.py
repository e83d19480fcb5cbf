"""`ord` of symbols and records for the columns of a batch, see `semantics.ordinals`: each value is hashed once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy

from tidelog.common.arrays import Flags, Words
from tidelog.common.looking import Look
from tidelog.language.functors import NUMERIC
from tidelog.language.syntax import Kind
from tidelog.maintain.calls import CallOut, Mask
from tidelog.semantics.ordinals import collision, hashed, text_ordinal
from tidelog.storage.dictionary import Dictionary

_AT_ONCE = 4096
"""Values that are hashed between two looks at the limits."""


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
        kind_now, missing = waiting[-1][0], _missing(*waiting[-1], dictionary)
        parts = [] if kind_now == "symbol" else _missing_parts(kind_now, missing, dictionary)
        if parts:
            waiting += parts
            continue
        for start in range(0, len(missing), _AT_ONCE):
            look()
            _add(kind_now, missing[start : start + _AT_ONCE], dictionary)
        waiting.pop()
    return dictionary.ordinals[kind].of(words)


def _missing(kind: Kind, words: Words, dictionary: Dictionary) -> Words:
    """Return the words whose numbers are missing, each once. That of nil is always there."""
    return dictionary.ordinals[kind].missing(words if kind == "symbol" else words[words != 0])


def _missing_parts(kind: Kind, records: Words, dictionary: Dictionary) -> list[tuple[Kind, Words]]:
    """Return the symbols and records in records whose numbers are missing."""
    columns = [column for _, _, columns in _branches(kind, records, dictionary) for column in columns]
    parts = [(each, _missing(each, part, dictionary)) for each, part in columns if each not in NUMERIC]
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
            numbers[rows] = [hashed(name + b"\0" + data[i * size : (i + 1) * size]) for i in range(int(rows.sum()))]
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
