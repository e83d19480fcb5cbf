"""The numbers that `ord` gives: 63 bits of a hash of the value, so that they are the same everywhere and always.

    symbol            the hash of its bytes in UTF-8
    record            the hash of a zero byte and the words of its fields
    branch            the hash of its name in UTF-8, a zero byte and the words of its fields
    nil               0

The hash is BLAKE2b with eight bytes, read as a little-endian number without its highest bit. The word of a field is its
`ord` or, of a number, unsigned or float, its 64 bits, also little-endian. Fields are hashed before the record, so that
long lists need no recursion, and equal values have equal numbers whatever their types are called.

Two values of one type with the same number are an error (E0409, `collision`) where one process meets both. The
evaluators of `reference/` do not look for them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from hashlib import blake2b

from tidelog.errors import DataError, Problem
from tidelog.language.syntax import Value
from tidelog.semantics.values import LARGEST, to_unsigned


def hash_bytes(data: bytes) -> int:
    """Return the number for a text in UTF-8, or for the name and fields of a record."""
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "little") & LARGEST


def text_ordinal(text: str) -> int:
    """Return `ord` of a symbol."""
    return hash_bytes(text.encode("utf-8", "surrogatepass"))


def ordinals(values: Iterable[Value]) -> list[int]:
    """Return `ord` of symbols, records and values with branches. Visit parts that several share once."""
    values = list(values)
    known: dict[int, int] = {id(None): 0}
    for value in values:
        waiting = [value]
        while waiting:
            item = waiting[-1]
            missing = [part for part in item if _is_unknown(part, known)] if isinstance(item, tuple) else []
            if missing:
                waiting += missing
                continue
            if _is_unknown(item, known):
                known[id(item)] = _record_ordinal(item, known) if isinstance(item, tuple) else text_ordinal(str(item))
            waiting.pop()
    return [known[id(value)] for value in values]


def collision(number: int, one: object, other: object) -> DataError:
    """Return the error about two values with one number."""
    message = f"`ord` is {number} for two values, {one!r:.60} and {other!r:.60}"
    hint = "change one of the values; or number values by `autoinc()` in a rule of their own"
    return DataError(Problem("E0409", message, hint=hint))


def _is_unknown(part: object, known: dict[int, int]) -> bool:
    return isinstance(part, (tuple, str)) and id(part) not in known


def _record_ordinal(record: tuple[Value, ...], known: dict[int, int]) -> int:
    """Return `ord` of a record whose records and symbols are known."""
    name = getattr(record, "_name", "").encode()
    words = [
        struct.pack("<d", part)
        if isinstance(part, float)
        else struct.pack("<Q", to_unsigned(part) if isinstance(part, int) else known[id(part)])
        for part in record
    ]
    return hash_bytes(b"".join([name, b"\0", *words]))
