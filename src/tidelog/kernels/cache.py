"""Where compiled kernels are kept: a folder per user, per state of the kernels' sources and per version of numba."""

from __future__ import annotations

import hashlib
import os
import pathlib
import tempfile

import numba
import numpy


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
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return str(folder)
    except OSError:
        return tempfile.mkdtemp(prefix="tidelog-kernels-")
