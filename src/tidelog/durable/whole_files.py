"""Files that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tidelog.errors import DataError, Problem


def write_whole(path: Path, data: bytes) -> None:
    """Write a file, as `whole_file` does."""
    with whole_file(path) as place:
        place.write_bytes(data)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Provide a path to write to: at the end of the block, its file takes the place of `path`, with the same rights.

    If the block raises, `path` is as before. What is no file, such as a pipe, is written in place. Raise DataError
    (E0412) for an OSError of the block.
    """
    with report_write_errors(path):
        target = _target(path)
        if target.exists() and not target.is_file():
            yield target
            return
        temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            yield temporary
            if target.exists():
                shutil.copymode(target, temporary)
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)


def _target(path: Path) -> Path:
    try:
        return Path(os.path.realpath(path))  # A link stays one.
    except ValueError as error:
        raise DataError(
            Problem("E0412", f"the file cannot be written: {error}", place=str(path), hint="write to another place")
        ) from None


@contextmanager
def report_write_errors(path: Path) -> Iterator[None]:
    """Raise DataError (E0412) for an OSError of the block, which writes to a path."""
    try:
        yield
    except OSError as error:
        message = f"the file cannot be written: {error.strerror or error}"
        hint = "write to another place"
        if not path.parent.is_dir():
            hint = f"create the folder {path.parent}"
        elif error.errno == errno.ENOSPC:
            hint = "make room on the disk, or write to another one"
        raise DataError(Problem("E0412", message, hint=hint, place=str(path))) from None
