"""The folder in which tidelog keeps what it can make again: compiled kernels and programs, the parser's tables."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """Return the folder that TIDELOG_CACHE_DIR names, or `tidelog` in the user's folder of caches (XDG_CACHE_HOME, or
    `~/.cache`). Raise RuntimeError for a user without a home."""
    if named := os.environ.get("TIDELOG_CACHE_DIR"):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tidelog"
