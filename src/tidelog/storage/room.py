"""The memory that there is, looked at before more is requested: Linux gives out memory that it does not have, and ends
the process that then uses it.

`Room` is what the arrays of a database may take. Beyond it, they go into files (`spilling`), where the user has named a
folder for them.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol
from weakref import WeakSet

from tidelog.storage.spilling import SpillFile

LARGE = 1 << 24
"""Bytes. Smaller requests are not checked."""
_LEAST = 1 << 20
"""Bytes. Where there is a folder for files, smaller requests are not checked."""
_SHARE = 7 / 8
"""The part of the limit that arrays may fill before they go into files. The rest is for everything else."""
_ROOT = Path("/")


def check_room(more: int, limit: int | None = None) -> None:
    """Raise MemoryError if the process would have more than `limit` bytes with `more` of them, or if the system has
    fewer left."""
    if more < LARGE:
        return
    if limit is not None and resident() + more > limit:
        raise MemoryError(f"{shown(more)} more would pass the limit of {shown(limit)}")
    left = available()
    if left is not None and more > left:
        raise MemoryError(f"{shown(more)} more are needed, and the system has {shown(left)} left")


class Spillable(Protocol):
    """Memory that can move into a file."""

    def spill(self) -> None:
        """Move into a file, at the same address. MemoryError changes nothing."""


class Room:
    """The memory that the arrays of a database may take: the process may have `limit` bytes, or if that is None, what
    the system has left. Arrays that do not fit go into files in `folder`, unless that is None."""

    def __init__(self) -> None:
        self.limit: int | None = None
        self.folder: Path | None = None
        self._cold: Callable[[], Iterable[Spillable]] | None = None
        self._thread = 0
        self._files: WeakSet[SpillFile] = WeakSet()
        self._process = os.getpid()

    def check(self, more: int) -> None:
        """Raise MemoryError if there are not so many bytes, and no folder for files."""
        if self.folder is None:
            check_room(more, self.limit)

    def has(self, more: int) -> bool:
        """Return True if there are so many bytes, or can be: cold arrays move into files before others. The room has a
        `folder`."""
        if more < _LEAST or self._fits(more):
            return True
        if self._cold is not None and self._thread == threading.get_ident():
            for each in self._cold():
                each.spill()
                if self._fits(more):
                    return True
        return False

    def _fits(self, more: int) -> bool:
        most = self._most()
        return most is None or resident() + more <= most * _SHARE

    def _most(self) -> int | None:
        """Return the bytes that the process may have."""
        left = available()
        return self.limit if left is None else min(self.limit or sys.maxsize, resident() + left)

    @property
    def budget(self) -> int | None:
        """The bytes that the process may have if arrays that do not fit go into files, else None."""
        return None if self.folder is None else self._most()

    @contextmanager
    def cooling(self, cold: Callable[[], Iterable[Spillable]]) -> Iterator[None]:
        """Let this thread move arrays that are `cold`, the coldest first, into files inside the block. No other thread
        writes them meanwhile."""
        self._cold, self._thread = cold, threading.get_ident()
        try:
            yield
        finally:
            self._cold = None

    def file(self, size: int) -> SpillFile:
        """Return a file of `size` bytes. SpillError where the disk has no room for it."""
        assert self.folder is not None
        file = SpillFile(self.folder)
        file.reserve(size)
        self._files.add(file)
        self._process = os.getpid()
        return file

    @property
    def in_files(self) -> int:
        """The bytes that lie in files."""
        return sum(file.size for file in list(self._files))

    @property
    def is_apart(self) -> bool:
        """Return True if another process wrote the files. A fork shares them, so that neither could change them."""
        return self._process != os.getpid() and self.in_files > 0


def resident() -> int:
    """Return the bytes of memory that the process has at the moment, without pages of files, which the system can drop;
    0 where the system does not say so."""
    try:
        pages, shared = map(int, (_ROOT / "proc/self/statm").read_text().split()[1:3])
    except OSError:
        return 0
    return (pages - shared) * os.sysconf("SC_PAGE_SIZE")


def available() -> int | None:
    """Return the bytes that the system, or the control group of the process, has left; None where nobody says so."""
    if not sys.platform.startswith("linux"):
        return None
    return min([*_of_system("MemAvailable", "SwapFree"), *_of_groups()], default=None)


def installed() -> int | None:
    """Return the bytes that the system, or the control group of the process, has in all, whoever uses them; None where
    nobody says so."""
    if not sys.platform.startswith("linux"):
        return None
    limits = []
    for limit, _ in _groups():
        with suppress(OSError, ValueError):
            limits.append(int(limit.read_text()))
    return min([*_of_system("MemTotal"), *limits], default=None)


def _of_system(*parts: str) -> Iterator[int]:
    """Yield the bytes of parts of the system's memory, together."""
    with suppress(OSError, KeyError, ValueError):
        lines = (_ROOT / "proc/meminfo").read_text().splitlines()
        fields = {name: value for name, _, value in (line.partition(":") for line in lines)}
        yield 1024 * sum(int(fields[name].split()[0]) for name in parts)


def _of_groups() -> Iterator[int]:
    """Yield what each control group of the process has left; pages of files that it can drop are left."""
    for limit, used in _groups():
        with suppress(OSError, ValueError):
            lines = (limit.parent / "memory.stat").read_text().splitlines()
            statistics = dict(line.split() for line in lines)
            droppable = sum(int(statistics.get(f"{kind}_file", 0)) for kind in ("active", "inactive"))
            yield int(limit.read_text()) - int(used.read_text()) + droppable


def _groups() -> Iterator[tuple[Path, Path]]:
    """Yield for each control group of the process the files with its limit and with what it uses."""
    with suppress(OSError, ValueError):
        for line in (_ROOT / "proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if not controllers:
                base, most, used = _ROOT / "sys/fs/cgroup", "memory.max", "memory.current"
            elif "memory" in controllers.split(","):
                base, most, used = _ROOT / "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
            else:
                continue
            group = base / path.lstrip("/")
            for folder in (group, *(each for each in group.parents if each == base or base in each.parents)):
                yield folder / most, folder / used


def shown(size: int) -> str:
    """Return bytes for a reader."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"
