"""The memory that there is, looked at before more is requested: Linux gives out memory that it does not have, and ends
the process that then uses it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

LARGE = 1 << 24
"""Bytes: smaller requests are not looked at."""
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


def resident() -> int:
    """Return the bytes of memory that the process has at the moment; 0 where the system does not say so."""
    try:
        pages = int((_ROOT / "proc/self/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def available() -> int | None:
    """Return the bytes that the system, or the control group of the process, has left; None where nobody says so."""
    if not sys.platform.startswith("linux"):
        return None
    return min([*_of_system(), *_of_groups()], default=None)


def _of_system() -> Iterator[int]:
    """Yield what the system has left, swap included."""
    with suppress(OSError, KeyError, ValueError):
        lines = (_ROOT / "proc/meminfo").read_text().splitlines()
        fields = {name: value for name, _, value in (line.partition(":") for line in lines)}
        yield 1024 * sum(int(fields[name].split()[0]) for name in ("MemAvailable", "SwapFree"))


def _of_groups() -> Iterator[int]:
    """Yield what each control group of the process has left; pages of files that it can drop are left."""
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
                with suppress(OSError, ValueError):
                    statistics = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
                    droppable = int(statistics.get("inactive_file", 0))
                    yield int((folder / most).read_text()) - int((folder / used).read_text()) + droppable


def shown(size: int) -> str:
    """Return bytes for a reader."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size} bytes"
