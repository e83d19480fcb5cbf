"""`warnings`: those of the language, and those that show in compiled rules only."""

from __future__ import annotations

from collections.abc import Iterator

from tidelog.errors import Problem
from tidelog.language import lints
from tidelog.language.syntax import CheckedProgram
from tidelog.rules.core import CoreProgram, Obstacle
from tidelog.rules.selections import ALL


def warnings(checked: CheckedProgram, core: CoreProgram) -> list[Problem]:
    """Return the warnings of a program, except those that comments hide."""
    return [*lints.warnings(checked), *lints.without_hidden(_dominated_read_warnings(core))]


def _dominated_read_warnings(core: CoreProgram) -> Iterator[Problem]:
    """Yield a warning for each recursion that reads dominated tuples."""
    for node in core.nodes:
        reading: dict[Obstacle, list[str]] = {}
        for candidates in node.relations if node.recursive else ():
            name = candidates.removeprefix(ALL)
            if candidates != name and name in core.obstacles:
                reading.setdefault(core.obstacles[name], []).append(f"`{name}`")
        for obstacle, names in reading.items():
            message = f"the recursion of {' and '.join(names)} reads dominated tuples: {obstacle}"
            yield Problem("E0298", message, obstacle.span, hint=obstacle.hint, severity="warning")
