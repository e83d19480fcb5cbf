"""Conversions between Arrow arrays and numpy or Python by their buffers.

pyarrow's own `pa.array`, `pa.scalar` and `Array.to_numpy` import pandas where it is installed, which takes longer than
a small program runs. Everything here leaves pandas alone, and numbers are not copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa


def numbers_to_arrow(values: NDArray[Any]) -> pa.Array:
    """Return an int32, int64, uint64 or float64 vector as an Arrow array over the same memory."""
    import pyarrow as pa

    values = np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])


def numbers_to_numpy(array: pa.Array) -> NDArray[Any]:
    """Return the values of an Arrow array of integers or floats (not half ones) over the same memory. Values at nulls
    are undefined."""
    name = {"float": "float32", "double": "float64"}.get(str(array.type), str(array.type))
    if len(array) == 0:
        return np.empty(0, dtype=name)
    # The buffer may be longer, by less than a value as well.
    return np.frombuffer(array.buffers()[1], dtype=name, count=array.offset + len(array))[array.offset :]


def valid_mask(array: pa.Array) -> NDArray[np.bool_]:
    """Return a mask of the entries of an Arrow array that are not null."""
    if not array.null_count:
        return np.ones(len(array), dtype=np.bool_)
    return mask_to_numpy(array.is_valid())


def text_to_arrow(strings: Sequence[str], lengths: NDArray[np.int64] | None = None) -> pa.Array:
    """Return strings as a large_string array. Pass their `lengths` in characters where these are known."""
    return texts_from_spans(*spans_of(strings, lengths))


def spans_of(
    strings: Sequence[str], lengths: NDArray[np.int64] | None = None, errors: str = "strict"
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return strings in UTF-8, one behind the other: their offsets, one more than there are strings, and the bytes.
    `errors` is as for `str.encode`."""
    joined = "".join(strings).encode(errors=errors)
    offsets = np.zeros(len(strings) + 1, dtype=np.int64)
    if lengths is None:
        lengths = np.fromiter(map(len, strings), np.int64, len(strings))
    np.cumsum(lengths, out=offsets[1:])
    if offsets[-1] != len(joined):  # Some characters take several bytes.
        sizes = (len(text.encode(errors=errors)) for text in strings)
        np.cumsum(np.fromiter(sizes, np.int64, len(strings)), out=offsets[1:])
    return offsets, np.frombuffer(joined, np.uint8)


def texts_from_spans(offsets: NDArray[np.int64], content: NDArray[np.uint8]) -> pa.LargeStringArray:
    """Return texts, one between each two offsets, as a large_string array over the same memory."""
    import pyarrow as pa

    return pa.LargeStringArray.from_buffers(len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(content))


def text_spans(array: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return the offsets, one more than there are texts, and the bytes of a string or large_string array."""
    import pyarrow as pa

    _, offsets, content = array.buffers()
    dtype = np.int64 if pa.types.is_large_string(array.type) else np.int32
    if offsets is None or len(array) == 0:
        return np.zeros(len(array) + 1, np.int64), np.empty(0, np.uint8)
    ends = np.frombuffer(offsets, dtype=dtype)[array.offset : array.offset + len(array) + 1]
    return ends.astype(np.int64, copy=False), np.frombuffer(content or b"", dtype=np.uint8)


def is_utf8(texts: pa.Array) -> bool:
    """Return True if the texts of an Arrow array are UTF-8, which Arrow does not check when it takes buffers."""
    import pyarrow as pa

    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def text_scalar(text: str) -> Any:
    """Return a large_string scalar, for compute functions that take one beside arrays."""
    return text_to_arrow([text])[0]


def mask_to_numpy(array: pa.Array) -> NDArray[np.bool_]:
    """Return a boolean array without nulls as a vector. Arrow's own way imports pandas, for a tenth of a second."""
    import pyarrow as pa

    return numbers_to_numpy(array.cast(pa.int8())).astype(np.bool_)


def mask_to_arrow(mask: NDArray[np.bool_]) -> pa.Array:
    """Return a boolean vector as an Arrow array."""
    import pyarrow as pa

    return numbers_to_arrow(mask.astype(np.int8)).cast(pa.bool_())
