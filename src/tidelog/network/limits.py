"""The bounds on what a node takes from others: on each field of a packet, on memory and on work.

A field beyond its bound makes a packet malformed, so it never reaches the journal. `Limits` are a node's own. They
count memory and work in units that do not depend on the machine, so a journal replays to the same state.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tidelog.errors import Problem, UsageError, quote, surrogate_in, wrong_argument

LARGEST_COUNT = 2**63 - 1
"""Of the numbers in messages: heights, versions, sequence numbers."""

MOST_INCARNATIONS = 2**20

LONGEST_NAME = 255
"""Bytes of the name of a node in UTF-8."""

LONGEST_RULE = 2**16
"""Characters of a rule that travels, and of its name."""

MOST_LITERALS = 200
"""Literals and terms with brackets in a rule that travels: joins recurse over them."""

LONGEST_TEXT = 2**20
"""Characters of a symbol."""

DEEPEST = 100
"""Levels of records within records in a tuple."""

MOST_ASKED = 100
"""Tuples in a question why a node has them."""

MOST_REASONS = 500
"""Reasons in an answer to that."""

MOST_NEEDED = 1000
"""Tuples that one reason names."""

MOST_MEMBERS = 3
"""Members of a group that a reason names."""

LARGEST_ANSWER = 2**20
"""The reasons of an answer together, as `weigh` estimates them."""

MOST_QUESTIONS = 20
"""Questions of one peer that a node answers in a turn."""

VERSION_STEP = 2**32
"""How far the version of a rule may be above all known ones: whoever jumps to the last version ends all changes."""


@dataclass(frozen=True)
class Limits:
    """Bounds on the memory and work that others cause at a node.

    memory   bytes that the tuples of one peer may take, by a rough estimate; more are not acknowledged
    peers    nodes to know of
    rules    names of rules that others have changed
    steps    tuples looked at while joining one tuple of others with a rule, and in all joins of one step with a rule
             that has travelled. A step is about a microsecond
    rows     derivations by one rule that has travelled
    senders  the nodes from which changes of rules are taken; None: all
    names    the names of rules that others may change; None: all
    """

    memory: int = 256 * 2**20
    peers: int = 4096
    rules: int = 256
    steps: int = 5_000_000
    rows: int = 1_000_000
    senders: frozenset[str] | None = None
    names: frozenset[str] | None = None

    def __post_init__(self) -> None:
        """Raise UsageError (E0624) if a limit is not a positive number, or names are not texts."""
        for name in ("memory", "peers", "rules", "steps", "rows"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                message = f"the limit `{name}` must be a positive integer, found {quote(value)}"
                raise UsageError(Problem("E0624", message, hint="leave it out for the default"))
        for name in ("senders", "names"):
            value = getattr(self, name)
            if value is None:
                continue
            try:
                found = None if isinstance(value, str) else tuple(value)
            except (TypeError, NotImplementedError):  # A sparse matrix raises the second.
                found = None
            if found is None or not all(isinstance(each, str) for each in found):
                message = f"the limit `{name}` must be a set of texts, found {quote(value)}"
                raise UsageError(Problem("E0624", message, hint="leave it out to allow all"))
            object.__setattr__(self, name, frozenset(found))

    def to_json(self) -> dict[str, Any]:
        """Return the limits as JSON can hold them."""
        sets = {name: None if (each := getattr(self, name)) is None else sorted(each) for name in ("senders", "names")}
        return {**self.__dict__, **sets}


def is_name(value: object) -> bool:
    """Return whether a value can be the name of a node: a text in UTF-8 without NUL that is not too long."""
    if type(value) is not str or len(value) > LONGEST_NAME or "\0" in value:
        return False
    return surrogate_in(value) is None and len(value.encode()) <= LONGEST_NAME


def checked_name(name: str) -> str:
    """Return the name. Raise UsageError (E0624) if no node can have it."""
    if not is_name(name):
        message = f"{quote(name)} is not a name for a node"
        hint = f"use a text of at most {LONGEST_NAME} bytes in UTF-8, without NUL"
        raise UsageError(Problem("E0624", message, hint=hint))
    return name


def checked_names(names: Iterable[str], what: str) -> list[str]:
    """Return the names. Raise UsageError if these cannot be iterated (E0635; `what` names the argument), or are not
    names of nodes (E0624)."""
    try:
        found = iter(names)
    except (TypeError, NotImplementedError):
        raise wrong_argument(what, "a list of names", names) from None
    return [checked_name(name) for name in found]


def checked_seconds(seconds: float) -> float:
    """Return the seconds. Raise UsageError (E0635) if that is not a number, or below 0."""
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 <= seconds < float("inf"):
        raise wrong_argument("a time", "a number of seconds, 0 or more", seconds)
    return seconds


def is_sendable(row: tuple[Any, ...]) -> bool:
    """Return whether the values of a tuple are within the bounds of a packet."""
    level: list[Any] = list(row)
    for _ in range(DEEPEST):
        if any(type(value) is str and len(value) > LONGEST_TEXT for value in level):
            return False
        level = [part for value in level if type(value) is tuple for part in value]
        if not level:
            return True
    return False


def unwritable(row: tuple[Any, ...]) -> str | None:
    """Return a text of a tuple, or of its records, that UTF-8 cannot express; None if it has none."""
    level: list[Any] = list(row)
    while level:
        for value in level:
            if type(value) is str and surrogate_in(value) is not None:
                return value
        level = [part for value in level if type(value) is tuple for part in value]
    return None


def weigh(row: tuple[Any, ...]) -> int:
    """Return an estimate of the memory of a tuple, in bytes."""
    total = 64 + 8 * len(row)
    for value in row:
        if type(value) is str:
            total += 56 + 2 * len(value)
        elif type(value) is tuple:
            total += weigh(value)
        else:
            total += 32
    return total


class OverrunError(Exception):
    """A join has taken more steps, or made more or larger tuples, than its meter allows."""


class Meter:
    """A counter of steps that raises OverrunError when none are left. With `steps` None it only counts."""

    def __init__(self, steps: int | None) -> None:
        self._left = steps

    def spend(self) -> None:
        if self._left is not None:
            self._left -= 1
            if self._left < 0:
                raise OverrunError
