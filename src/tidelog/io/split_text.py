"""Large text files without quotes, split by a kernel that gives symbols their words as they come.

It reads columns of numbers, unsigned numbers and symbols between delimiters of one byte. Other columns, and numbers
that are not plain digits, are for the readers of `text_reader`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tidelog.common.arrays import Words
from tidelog.kernels import texts
from tidelog.kernels.calling import expect
from tidelog.language.syntax import Column
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.memory import Pinned

_KINDS = {"number": texts.NUMBER, "unsigned": texts.UNSIGNED, "symbol": texts.SYMBOL}
_FIELDS = 1 << 14
"""Fields that are split in one call, at least a row: their places are in the cache when their words are looked up."""


def split_text(
    data: bytes,
    start: int,
    delimiter: str,
    columns: Sequence[Column],
    order: Sequence[int],
    dictionary: Dictionary,
    *,
    exact: bool,
    blank: bool,
) -> Words | None:
    """Return the words of the rows of UTF-8 from byte `start` on: int64 of shape (rows, columns). None if a row has
    another form than the kernel knows, or the columns are not of its kinds.

    Column `i` is field `order[i]` of a row. If `exact`, a row has no other fields. A blank line is a row if `blank`.
    """
    code = delimiter.encode()
    known = all(column.kind in _KINDS for column in columns)
    if len(code) != 1 or code in b"\r\n" or not known or len(set(order)) < len(order):
        return None
    expect(len(data))
    has_symbols = any(column.kind == "symbol" for column in columns)
    table = dictionary.table_for(len(data)) if has_symbols else None
    if has_symbols and table is None:
        return None
    width, arity = max(order) + 1, len(columns)
    kinds, targets = np.full(width, texts.SKIPPED), np.zeros(width, np.int64)
    for position, (field, column) in enumerate(zip(order, columns, strict=True)):
        kinds[field], targets[field] = _KINDS[column.kind], position
    symbols = targets[kinds == texts.SYMBOL]
    most = max(1, _FIELDS // width)
    spans = np.empty((2, most * len(symbols)), np.int64)
    state = np.zeros(3, np.int64)
    content = np.frombuffer(data, np.uint8)
    fixed = [Pinned(array) for array in (content, kinds, targets, spans[0], spans[1])]
    text, *rest = (each.address for each in fixed)
    size, words = len(data) - start, np.empty((most, arity), np.int64)
    held = Pinned(words)
    while state[texts.PLACE] < size:
        first = int(state[texts.ROWS])
        if first + most > len(words):
            words = _longer(words, first, most, size / max(1, int(state[texts.PLACE])))
            held = Pinned(words)
        fields, places = (code[0], *rest[:2], width, exact, blank), (held.address, arity, *rest[2:])
        texts.split(state, text + start, size, *fields, *places, most)
        if state[texts.UNUSUAL]:
            return None
        stop = int(state[texts.ROWS])
        if table is not None:
            found = (stop - first) * len(symbols)
            with dictionary.adding:
                new = table.add_spans(content[start:], spans[0, :found], spans[1, :found])
            words[first:stop, symbols] = new.reshape(stop - first, len(symbols))
    return words[: int(state[texts.ROWS])]


def _longer(words: Words, rows: int, most: int, share: float) -> Words:
    """Return an array with the first `rows` rows of `words`, and room for `most` more; these are one of `share` equal
    parts of a file, if those ahead are like it."""
    room = max(rows + most, int(rows * min(share * 1.02, 8)), 3 * rows // 2)
    longer = np.empty((room, words.shape[1]), np.int64)
    longer[:rows] = words[:rows]
    return longer
