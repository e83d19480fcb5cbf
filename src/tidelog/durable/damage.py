"""Damage: files whose content or kind is wrong raise DataError (E0682) with the name of the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tidelog.durable.files import Files, checksum
from tidelog.errors import DataError, Problem


def damaged(place: Path | str, what: str) -> DataError:
    """Return the error (E0682) for a damaged state folder."""
    hint = "restore the folder from a copy, or begin with an empty folder"
    return DataError(Problem("E0682", f"the state folder is damaged: {what}", place=str(place), hint=hint))


@contextmanager
def unharmed(files: Files, place: str) -> Iterator[None]:
    """Raise DataError (E0682) if a file is missing inside the block, or is not a file."""
    try:
        yield
    except OSError as error:
        # The number of the error says less: a folder that is read gives one or another, by the file system.
        if _is_file(files, place):
            raise
        raise damaged(files.place(place), error.strerror or str(error)) from None


def _is_file(files: Files, place: str) -> bool:
    """Return True if there is a file of this name; also where the file system does not say."""
    try:
        return files.kind(place) == "file"
    except OSError as error:
        return not isinstance(error, (FileNotFoundError, NotADirectoryError))


def compare(files: Files, place: str, found: str, expected: str) -> None:
    """Raise DataError (E0682) unless the checksum of a file is the one that it had."""
    if found != expected:
        raise damaged(files.place(place), "the checksum is wrong")


def intact(files: Files, place: str, expected: str) -> bytes:
    """Return the contents of a file with the checksum `expected`. Raise DataError (E0682), OSError."""
    with unharmed(files, place):
        data = files.read(place)
    compare(files, place, checksum(data), expected)
    return data
