"""The options of a database: limits of an epoch, and how views follow changes."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from tidelog.errors import Problem, UsageError, quote
from tidelog.limits.interrupts import Interrupts
from tidelog.limits.watch import SizeLimits, Watch
from tidelog.maintain.protocol import EpochOptions
from tidelog.storage.room import spill_folder

_WAYS = {"strategy": ("auto", "update", "bootstrap"), "early_projection": ("auto", "always", "never")}
_SWITCHES = {
    "closures": "pass False to evaluate closures like all other rules, or True",
    "profile": "pass True to record where the time of epochs goes, or False",
    "maintain": "pass True to keep the state for later updates, or False",
}


THE_QUERY = "the query"
"""The work of a watch over a query."""


@dataclass(frozen=True)
class DatabaseOptions(EpochOptions):
    """The options that `Database.options` sets, limits among them; None is no limit."""

    timeout: float | None = None
    max_rows: int | None = None
    memory: int | None = None
    spill: Path | None = None
    profile: bool = False

    def with_options(self, options: Mapping[str, Any]) -> DatabaseOptions:
        """Return these with others set. UsageError for another name or a wrong value (E0603), or for a folder that
        cannot be used (E0656)."""
        known = list(self.to_dict())
        for name, value in options.items():
            _check(name, value, known)
        if isinstance(options.get("memory"), str):
            options = {**options, "memory": size_of(options["memory"])}
        if options.get("spill") is not None:
            options = {**options, "spill": spill_folder(options["spill"])}
        return replace(self, **options)

    def to_dict(self) -> dict[str, Any]:
        """Return the options by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def watch(
        self, sizes: SizeLimits | None = None, interrupts: Interrupts | None = None, work: str = "the epoch"
    ) -> Watch:
        """Return a watch of some work that starts now, over these limits and those of the sizes of relations."""
        limits = self.timeout, self.max_rows, sizes or {}, self.memory
        return Watch(*limits, self.spill, interrupts=interrupts or Interrupts(), work=work)


def _is_size(value: object) -> bool:
    """Return True for a number of bytes, one at least, as a number or a text."""
    if isinstance(value, str):
        try:
            value = size_of(value)
        except ValueError:
            return False
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def size_of(text: str) -> int:
    """Return the bytes, one at least, that a text such as "8GB" says. Raise ValueError for another one."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(?:([kmgt])(i?))?b?\s*", text, re.IGNORECASE)
    number, unit, binary = found.groups() if found else ("0", None, None)
    size = int(float(number) * (1024 if binary else 1000) ** " kmgt".index((unit or " ").lower()))
    if not size:
        raise ValueError(text)
    return size


def _check(name: str, value: object, known: list[str]) -> None:
    """UsageError (E0603) unless there is such an option that can have this value."""
    if name not in known:
        raise UsageError(
            Problem("E0603", f"unknown option {quote(name)}", hint=f"use one of {', '.join(sorted(known))}")
        )
    if name in _WAYS:
        if not isinstance(value, str) or value not in _WAYS[name]:
            first, second, last = (f'"{way}"' for way in _WAYS[name])
            hint = f"use {first}, {second} or {last}"
            raise UsageError(Problem("E0603", f"unknown {name} {quote(value)}", hint=hint))
    elif name in _SWITCHES:
        if not isinstance(value, bool):
            message = f"{name} must be True or False, found {quote(value)}"
            raise UsageError(Problem("E0603", message, hint=_SWITCHES[name]))
    elif name == "memory":
        if not (value is None or _is_size(value)):
            hint = 'pass a number of bytes, a text such as "8GB" or "500 MiB", or None for no limit'
            raise UsageError(Problem("E0603", f"memory must be a size, found {quote(value)}", hint=hint))
    elif name == "spill":
        if not (value is None or isinstance(value, (str, os.PathLike))):
            hint = "pass the path of a folder, or None to keep everything in memory"
            raise UsageError(Problem("E0603", f"spill must be a folder, found {quote(value)}", hint=hint))
    elif name == "threads":
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
            hint = "pass a whole number from 1 on, or None for one thread on each core"
            raise UsageError(Problem("E0603", f"threads must be a positive number, found {quote(value)}", hint=hint))
    elif not (isinstance(value, (int, float)) and value > 0) and (value is not None or name == "switch"):
        is_part = name == "switch"
        hint = (
            "pass a fraction of a bootstrap's time, such as 0.2" if is_part else "pass a number, or None for no limit"
        )
        raise UsageError(Problem("E0603", f"{name} must be a positive number, found {quote(value)}", hint=hint))
