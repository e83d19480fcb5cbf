"""How long work is stopped: it calls a `Look` now and then, which raises where it has to end."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Look: TypeAlias = Callable[[], object]
"""Raises where a limit is reached or Ctrl-C was pressed."""


def unlimited() -> None:
    """Look at no limit."""
