"""One way to forge a certificate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

Change = Callable[[Path], object]


@dataclass(frozen=True)
class Forgery:
    """`change` forges a folder: it does `what`, somewhere. `covers` names what it forges."""

    where: str
    what: str
    covers: str
    change: Change

    def __str__(self) -> str:
        return f"{self.where} {self.what}"
