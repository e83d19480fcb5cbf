"""Where compiled kernels are kept: a folder per user, per state of the kernels' sources and per version of numba.

A folder's time stamp says when a process last began to use it. Who makes a new folder removes those that nobody has
used for long.
"""

from __future__ import annotations

import hashlib
import os
import pathlib
import shutil
import tempfile
import time
from contextlib import suppress

import numba
import numpy

LONG = 30 * 24 * 3600.0
"""Seconds."""


def use_cache() -> None:
    """Point numba to the folder, unless NUMBA_CACHE_DIR names one; if it cannot be written, to a temporary one."""
    if "NUMBA_CACHE_DIR" not in os.environ:
        numba.config.CACHE_DIR = _folder()  # type: ignore[attr-defined]  # numba fills its config at run time


def _folder() -> str:
    sources = sorted(pathlib.Path(__file__).parent.glob("*.py"))
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sources))
    digest.update(f"{numba.__version__} {numpy.__version__}".encode())
    base = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache")
    folder = base / "tidelog" / f"kernels-{digest.hexdigest()[:16]}"
    try:
        is_new = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return tempfile.mkdtemp(prefix="tidelog-kernels-")
    if is_new:
        remove_unused(folder.parent)
    return str(folder)


def remove_unused(base: pathlib.Path) -> None:
    """Remove the folders in `base` that no process has begun to use for long. What cannot be removed stays.

    Several processes may do so at once. One that has run for longer does not miss its folder: numba makes it again.
    """
    with suppress(OSError):
        for folder in base.glob("kernels-*"):
            if time.time() - folder.lstat().st_mtime > LONG:
                shutil.rmtree(folder, ignore_errors=True)
