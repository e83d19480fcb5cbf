"""Something else in the place of a file: a folder, an empty one or not, a pipe, a socket, a device, links."""

from __future__ import annotations

import os
import shutil
import socket
import stat
from collections.abc import Callable
from pathlib import Path


def _gone(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _socket(path: Path) -> None:
    before = os.open(".", os.O_RDONLY)
    os.chdir(path.parent)  # The name of a socket is short.
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.fchdir(before)
        os.close(before)


def _full_folder(path: Path) -> None:
    path.mkdir()
    (path / "within").write_text("1\n")


def _text(path: Path) -> None:
    path.write_text("1\n")


_MAKE: dict[str, Callable[[Path], object]] = {
    "a folder": Path.mkdir,
    "a full folder": _full_folder,
    "a file": _text,
    "a pipe": os.mkfifo,
    "a socket": _socket,
    "a link to nothing": lambda path: path.symlink_to("nowhere"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link to an endless file": lambda path: path.symlink_to("/dev/zero"),
}
if os.geteuid() == 0:
    _MAKE["a device"] = lambda path: os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 5))

KINDS = tuple(_MAKE)


def put(kind: str, path: Path) -> None:
    """Put something of a kind in the place of a file or folder."""
    _gone(path)
    _MAKE[kind](path)
