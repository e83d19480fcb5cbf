"""Files as bytes, compressed or not: the first bytes show gzip, not the name."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from tidelog.io.values import Complaint

_GZIP = b"\x1f\x8b"
_MEMBER = b"\x1f\x8b\x08"
"""The begin of each part of a file of several parts; the size at the end of the file is that of its last part."""
_MOST_PACKED = 1_100
"""So many bytes at most become one byte; a size beyond that is not true."""


def file_bytes(path: Path) -> bytes:
    """Return the content of a file, unpacked. Raise DataError (E0411) if it cannot be read."""
    try:
        return unpacked(path.read_bytes(), str(path))
    except OSError as error:
        raise Complaint("E0411", f"the file cannot be read: {error.strerror or error}").at(str(path)) from None


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
