"""The folders of compiled kernels: one per state of the kernels' sources and per version of Python and numba.

A folder can be copied, or be part of an image, and may be one that cannot be written. It can have code for several
kinds of processors. The time stamp of a folder is the time when a process
last began to use it. The process that makes a new folder removes those that no process has used for long.

A wheel made by `make wheel` has such a folder, too, with code for all processors of x86-64-v3 (Haswell, Zen and later).
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import sys
import time
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from tidelog.common.cache_folder import cache_folder

LONG = 30 * 24 * 3600.0
"""Seconds."""


_WITHOUT_KERNELS = ("background", "calling", "compiling", "loader", "places")
"""Modules that have no influence on the machine code, or on how it is kept."""

SUFFIX = ".kernel"
"""How the names of files of kernels end."""


@functools.cache
def _name() -> str:
    sources = [path for path in sorted(Path(__file__).parent.glob("*.py")) if path.stem not in _WITHOUT_KERNELS]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources))
    digest.update(f"{sys.implementation.cache_tag} {version('numba')}".encode())
    return f"kernels-{digest.hexdigest()[:16]}"


def folder_of_kernels() -> Path:
    """Return the folder for kernels compiled from these sources: in the folder that NUMBA_CACHE_DIR names, or in
    tidelog's folder of caches. It may not be there yet."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    try:
        return (Path(named) if named else cache_folder()) / _name()
    except RuntimeError:  # a user without a home
        return Path("/nonexistent") / _name()


def folder_in_package() -> Path:
    """Return the folder that a wheel brings for the same sources and versions, if it brings one."""
    return Path(__file__).with_name("machine_code") / _name()


def use_folder(folder: Path) -> None:
    """Make a folder of kernels, or take note that it is in use; one that cannot be written stays as it is."""
    with suppress(OSError):
        is_new = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        if is_new:
            remove_unused(folder.parent)


def remove_unused(base: Path) -> None:
    """Remove the folders in `base` that no process has begun to use for long. What cannot be removed stays.

    Several processes may do so at once. One that has run for longer does not miss its folder: it makes that
    again.
    """
    with suppress(OSError):
        for folder in base.glob("kernels-*"):
            if time.time() - folder.lstat().st_mtime > LONG:
                shutil.rmtree(folder, ignore_errors=True)
