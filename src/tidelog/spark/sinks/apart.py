"""Places that a sink replaces: none of them may be, or contain, a place that something else needs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeAlias

from tidelog.spark.sinks.sink import wrong
from tidelog.spark.sources.readers import is_address

Place: TypeAlias = tuple[str, str | os.PathLike[str]]
"""The kind of a place, such as "sink", and its path."""


def check_apart(written: Sequence[Place], kept: Sequence[Place]) -> None:
    """Raise UsageError (E0686) if one of the `written` folders would replace another one, one of the `kept` places, or
    the working directory."""
    others = [*kept, ("working directory", os.getcwd())]
    for i, (what, path) in enumerate(written):
        for other, place in (*written[:i], *written[i + 1 :], *others):
            if _comparable(place).startswith(_comparable(path)):
                message = f"the {what} at {os.fspath(path)} would replace the {other} at {os.fspath(place)}"
                raise wrong(what, message, "give each sink a folder of its own")


def _comparable(path: str | os.PathLike[str]) -> str:
    """Return a path with a slash at its end: of local files the real one, because links are replaced by what they
    name, and `file:` is no other file system."""
    text = os.fspath(path)
    if is_address(path):
        scheme, _, rest = text.partition(":")
        if scheme.lower() != "file":
            return f"{text.rstrip('/')}/"
        text = f"/{rest.lstrip('/')}"
    return f"{os.path.realpath(text).rstrip('/')}/"
