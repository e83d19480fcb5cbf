"""Files as bytes, compressed or not: the first bytes show gzip, not the name."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from tidelog.io.values import Complaint

_GZIP = b"\x1f\x8b"


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
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise Complaint("E0411", f"the gzip data are damaged: {error}", "check that the file is complete").at(
            name
        ) from None
