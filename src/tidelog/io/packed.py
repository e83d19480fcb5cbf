"""Files as bytes of UTF-8: compressed or not, as the first bytes show, not the name; and from other encodings."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from tidelog.io.values import Complaint

_GZIP = b"\x1f\x8b"
_MEMBER = b"\x1f\x8b\x08"
"""The begin of each part of a file of several parts; the size at the end of the file is that of its last part."""
NOT_UTF8 = 'save the file as UTF-8, or add encoding="latin-1" or the like to `.input`'
_MOST_PACKED = 1_100
"""So many bytes at most become one byte; a size beyond that is not true."""


def file_bytes(path: Path, encoding: str | None = None) -> bytes:
    """Return the content of a file, unpacked, and in UTF-8 if its `encoding` is another one. Raise DataError if it
    cannot be read (E0411), or is not in this encoding (E0408)."""
    try:
        return recoded(unpacked(path.read_bytes(), str(path)), encoding, str(path))
    except OSError as error:
        message, hint = f"the file cannot be read: {error.strerror or error}", "pass a file that you may read"
        raise Complaint("E0411", message, hint).at(str(path)) from None


def unpacked(data: bytes, name: str) -> bytes:
    """Return the bytes that messages call `name`, unpacked if they are packed."""
    if not data.startswith(_GZIP):
        return data
    size = int.from_bytes(data[-4:], "little")
    try:
        if data.find(_MEMBER, 1) < 0 and size < _MOST_PACKED * len(data):
            found = zlib.decompress(data, wbits=31, bufsize=size or 1)  # into one buffer of the right size
            if len(found) == size:
                return found
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise Complaint("E0411", f"the gzip data are damaged: {error}", "check that the file is complete").at(
            name
        ) from None


def recoded(data: bytes, encoding: str | None, name: str) -> bytes:
    """Return a text in UTF-8 that messages call `name`. Raise DataError (E0408) if it is not in its `encoding`; None is
    UTF-8, which the readers check."""
    if encoding is None:
        return data
    try:
        return data.decode(encoding).encode()
    except UnicodeError as error:
        message = f"the file is not in the encoding {encoding}: {error}"
        hint = 'name its own encoding; encoding="latin-1" takes any bytes, and makes one character of each'
        raise Complaint("E0408", message, hint).at(name) from None
