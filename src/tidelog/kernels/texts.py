"""The texts of symbols in one block of memory, and the hash table that finds the words of texts.

`T` describes a table: its fields are named below. Word `w` has the bytes from `places[2 w]` to `places[2 w + 1]` of
the texts; a word without a text has -1 in both. A slot is [32 hash bits | word + 1]: its position comes from the
hash bits, so that a growing table never touches texts. Nothing is removed: a table that loses words is made anew.

Texts come as spans: the texts `i` of `m` are the bytes from `starts[i]` to `ends[i]` behind an address.
"""
# mypy: disable-error-code="no-untyped-def"

from tidelog.kernels.slots import put_slot
from tidelog.kernels.words import (
    HIGH,
    LOW,
    copy_bytes,
    first_bit,
    kernel,
    load,
    load64,
    load_byte,
    load_bytes,
    mix,
    prefetch,
    store64,
    wrap,
)

TEXTS, SIZE, PLACES, COUNT, SLOTS, MASK, USED, FREE, LEFT, FIELDS = range(10)
"""Fields of a table: the address of the texts and how many bytes they have; the address of the places and how many
words there are; the address of the slots, their number less one, and how many are used; the address of words to use
again and how many are left of these, the next one last."""

BATCH = 256
"""So many texts are looked up together, so that their slots and places are in the cache by then."""

_ONES = 0x0101010101010101
_TOPS = -0x7F7F7F7F7F7F7F80  # the highest bit of each byte
_LINE_END, _CARRIAGE_RETURN, _MINUS, _ZERO = 10, 13, 45, 48
_MOST_DIGITS = 18  # that fit a word whatever they are

SKIPPED, SYMBOL, NUMBER, UNSIGNED = range(4)
"""Kinds of fields of a row of text."""
PLACE, ROWS, UNUSUAL = range(3)
"""Fields of the state of `split`: the next byte, the rows so far, and whether the exact reader has to look at them."""


@kernel
def hash_text(text, size):
    """Return the hash of the bytes at an address."""
    h = wrap((size + 1) * -7046029254386353131)
    if size < 8:
        x = 0
        for i in range(size):
            x = (x << 8) | load_byte(text + i)
        return mix(h ^ x)
    last = text + size - 8
    while text < last:
        h = wrap((h ^ load_bytes(text)) * -4658895280553007687)
        h ^= (h >> 32) & LOW
        text += 8
    return mix(h ^ load_bytes(last))


@kernel
def same_text(one, other, size):
    """Return True if so many bytes are the same at two addresses."""
    if size < 8:
        for i in range(size):
            if load_byte(one + i) != load_byte(other + i):
                return False
        return True
    for i in range(0, size - 8, 8):
        if load_bytes(one + i) != load_bytes(other + i):
            return False
    return load_bytes(one + size - 8) == load_bytes(other + size - 8)


@kernel
def slot_of(T, text, size, h):
    """Return the position of the slot that has a text with hash `h`, or of the free one where it belongs."""
    texts, places, slots, mask = T[TEXTS], T[PLACES], T[SLOTS], T[MASK]
    s = (h >> 32) & mask
    while True:
        v = load64(slots, s)
        if v == 0:
            return s
        if ((v ^ h) >> 32) == 0:
            place = 2 * ((v & LOW) - 1)
            start = load64(places, place)
            if load64(places, place + 1) - start == size and same_text(texts + start, text, size):
                return s
        s = (s + 1) & mask


@kernel
def prefetch_texts(T, base, starts, ends, first, stop, hashes):
    """Write the hashes of the texts from `first` to before `stop`, and prefetch their slots, then the places of the
    words in these."""
    slots, mask = T[SLOTS], T[MASK]
    for i in range(first, stop):
        start = load64(starts, i)
        h = hash_text(base + start, load64(ends, i) - start)
        store64(hashes, i - first, h)
        prefetch(slots + ((h >> 32) & mask) * 8)
    for i in range(stop - first):
        h = load64(hashes, i)
        v = load64(slots, (h >> 32) & mask)
        if v != 0 and ((v ^ h) >> 32) == 0:
            prefetch(T[PLACES] + ((v & LOW) - 1) * 16)
    for i in range(stop - first):
        h = load64(hashes, i)
        v = load64(slots, (h >> 32) & mask)
        if v != 0 and ((v ^ h) >> 32) == 0:
            prefetch(T[TEXTS] + load64(T[PLACES], 2 * ((v & LOW) - 1)))


@kernel
def find_texts(T, base, starts, ends, m, words, hashes):
    """Write the words of `m` texts, -1 for those that have none."""
    for first in range(0, m, BATCH):
        stop = min(m, first + BATCH)
        prefetch_texts(T, base, starts, ends, first, stop, hashes)
        for i in range(first, stop):
            start = load64(starts, i)
            s = slot_of(T, base + start, load64(ends, i) - start, load64(hashes, i - first))
            store64(words, i, (load64(T[SLOTS], s) & LOW) - 1)


@kernel
def add_texts(T, base, starts, ends, m, words, hashes):
    """Write the words of `m` texts, for which there is room; new texts get the words to use again, then the next
    ones."""
    slots, places, texts = T[SLOTS], T[PLACES], T[TEXTS]
    for first in range(0, m, BATCH):
        stop = min(m, first + BATCH)
        prefetch_texts(T, base, starts, ends, first, stop, hashes)
        for i in range(first, stop):
            start = load64(starts, i)
            size, h = load64(ends, i) - start, load64(hashes, i - first)
            s = slot_of(T, base + start, size, h)
            word = (load64(slots, s) & LOW) - 1
            if word < 0:
                if T[LEFT] > 0:
                    T[LEFT] -= 1
                    word = load64(T[FREE], T[LEFT])
                else:
                    word = T[COUNT]
                    T[COUNT] += 1
                copy_bytes(texts + T[SIZE], base + start, size)
                store64(places, 2 * word, T[SIZE])
                T[SIZE] += size
                store64(places, 2 * word + 1, T[SIZE])
                store64(slots, s, (h & HIGH) | (word + 1))
                T[USED] += 1
            store64(words, i, word)


@kernel
def append_texts(T, base, starts, ends, m):
    """Give the next `m` words to different texts that have none yet, and for which there is room; a start of -1 is a
    word without a text."""
    slots, places, mask = T[SLOTS], T[PLACES], T[MASK]
    for i in range(m):
        word, start, end = T[COUNT], load64(starts, i), load64(ends, i)
        T[COUNT] += 1
        if start < 0:
            store64(places, 2 * word, -1)
            store64(places, 2 * word + 1, -1)
            continue
        size = end - start
        copy_bytes(T[TEXTS] + T[SIZE], base + start, size)
        store64(places, 2 * word, T[SIZE])
        T[SIZE] += size
        store64(places, 2 * word + 1, T[SIZE])
        h = hash_text(base + start, size)
        put_slot(slots, mask, (h & HIGH) | (word + 1))
        T[USED] += 1


@kernel
def move_slots(T, slots, mask):
    """Write the slots of a table to an empty block of `mask` + 1 slots."""
    for i in range(T[MASK] + 1):
        v = load64(T[SLOTS], i)
        if v != 0:
            put_slot(slots, mask, v)


@kernel
def measure_texts(T, words, m, offsets, w):
    """Write where the texts of `m` words would begin and end, one behind the other: m + 1 offsets."""
    end = 0
    store64(offsets, 0, 0)
    for i in range(m):
        place = 2 * load(words, i, w)
        end += load64(T[PLACES], place + 1) - load64(T[PLACES], place)
        store64(offsets, i + 1, end)


@kernel
def copy_texts(T, words, m, offsets, target, w):
    """Write the texts of `m` words at their offsets."""
    for i in range(m):
        start = load64(offsets, i)
        source = T[TEXTS] + load64(T[PLACES], 2 * load(words, i, w))
        copy_bytes(target + start, source, load64(offsets, i + 1) - start)


@kernel
def end_of_field(text, end, delimiter):
    """Return the address of the first delimiter or end of a line from `text` on, or else `end`."""
    delimiters, lines = wrap(_ONES * delimiter), _ONES * _LINE_END
    while text + 8 <= end:
        x = load_bytes(text)
        a, b = x ^ delimiters, x ^ lines
        zeros = (wrap(a - _ONES) & ~a | wrap(b - _ONES) & ~b) & _TOPS
        if zeros != 0:
            return text + (first_bit(zeros) >> 3)
        text += 8
    while text < end:
        byte = load_byte(text)
        if byte in (delimiter, _LINE_END):
            return text
        text += 1
    return end


@kernel
def number_of(text, end):
    """Return the number that the bytes from `text` to before `end` show, and whether they do: digits, perhaps behind a
    minus."""
    first = text
    if first < end and load_byte(first) == _MINUS:
        first += 1
    if first == end or end - first > _MOST_DIGITS:
        return 0, False
    value = 0
    for place in range(first, end):
        digit = load_byte(place) - _ZERO
        if digit < 0 or digit > 9:
            return 0, False
        value = 10 * value + digit
    return (value if first == text else -value), True


@kernel
def split(state, text, size, delimiter, kinds, targets, width, exact, blank, words, arity, starts, ends, most):
    """Split at most `most` rows of a text of `size` bytes into `width` fields, from the state on. Field `j` is of the
    kind `kinds[j]`: numbers go to column `targets[j]` of the row-major `words`, spans of symbols to `starts` and
    `ends`, row by row.

    If `exact`, a row has no more fields. A blank line is a row if `blank`. Stop at a row that shows no such fields.
    """
    place, row, spans = text + state[PLACE], state[ROWS], 0
    stop, until = text + size, row + most
    while place < stop and row < until:
        begin = place
        for j in range(width):
            last = end_of_field(place, stop, delimiter)
            at_end = last == stop or load_byte(last) == _LINE_END
            end = last
            if at_end and end > place and load_byte(end - 1) == _CARRIAGE_RETURN:
                end -= 1
            if at_end and j == 0 and end == begin and not blank:
                place = last + 1
                break
            if at_end and j < width - 1:
                state[UNUSUAL] = 1
                return
            kind = load64(kinds, j)
            if kind == SYMBOL:
                store64(starts, spans, place - text)
                store64(ends, spans, end - text)
                spans += 1
            elif kind != SKIPPED:
                value, fits = number_of(place, end)
                if not fits or (kind == UNSIGNED and load_byte(place) == _MINUS):
                    state[UNUSUAL] = 1
                    return
                store64(words, row * arity + load64(targets, j), value)
            place = last + 1
            if j == width - 1:
                while not at_end:
                    if exact:
                        state[UNUSUAL] = 1
                        return
                    last = end_of_field(place, stop, delimiter)
                    at_end = last == stop or load_byte(last) == _LINE_END
                    place = last + 1
                row += 1
                state[PLACE], state[ROWS] = place - text, row
        state[PLACE] = place - text
