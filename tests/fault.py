"""A fault that is planted: see `plant_faults`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """A piece of the source text of a file that is replaced by a wrong one."""

    name: str
    file: str
    right: str
    wrong: str
    tests: str = ""
    """The tests that have to find it; change scripts where it is empty."""
