"""Random statements of Python, made by the rules of a text file, and run one after the other."""

from __future__ import annotations

import copy
import datetime
import decimal
import enum
import fractions
import itertools
import pathlib
import pickle
import random
import re
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy
import pandas
import polars
import pyarrow

import tidelog
from tests.database.test_wrong_arguments import has_advice
from tidelog.errors import CertificateRejected, InternalError, ProofRejected, TidelogError


class OwnError(Exception):
    """An exception of the caller's own, which comes through a call."""


class Unprintable:
    """An object that fails to show itself."""

    def __repr__(self) -> str:
        raise OwnError


def broken(*rows: Any) -> Iterator[Any]:
    """Yield rows, and then fail."""
    yield from rows
    raise OwnError


def nested(depth: int) -> Any:
    """Return a chain of records."""
    found: Any = None
    for _ in range(depth):
        found = ("a", found)
    return found


_MODULES = (
    copy, datetime, decimal, duckdb, enum, fractions, itertools, numpy, pandas, pathlib, pickle, polars, pyarrow,
    tidelog,
)  # fmt: skip
NAMES = {each.__name__: each for each in (*_MODULES, OwnError, Unprintable, broken, nested)}
"""What statements may name."""
SOURCE = Path(tidelog.__file__).parent

_WEIGHTED = re.compile(r"(?:(\d+)\* )?(.+)")


class Rules:
    """The alternatives of each name in text files, see tests/fuzz/verbs/databases.txt. Those of a later file come in
    place of those of an earlier one."""

    def __init__(self, *paths: Path) -> None:
        self.alternatives: dict[str, list[str]] = {}
        self.weights: dict[str, list[int]] = {}
        texts = [path.read_text(encoding="utf-8") for path in paths]
        for part in (part for text in texts for part in re.split(r"\n(?=\w)", text)[1:]):
            name, *lines = part.splitlines()
            weighted = [_WEIGHTED.findall(each)[0] for line in lines if line for each in line[2:].split("   ")]
            self.alternatives[name] = ["" if text == "\\" else text for _, text in weighted]
            self.weights[name] = [int(weight or 1) for weight, _ in weighted]

    def expand(self, name: str, rng: random.Random, made: Callable[[str], str | None]) -> str:
        """Return an alternative, in which names are replaced by what `made` makes of them, or by alternatives."""
        found = made(name)
        if found is not None:
            return found
        text = rng.choices(self.alternatives[name], self.weights[name])[0]
        return re.sub(r"\$(\w+)", lambda match: self._part(match, rng, made), text)

    def _part(self, match: re.Match[str], rng: random.Random, made: Callable[[str], str | None]) -> str:
        name = match[1]
        found = made(name)
        return found if found is not None else self.expand(name, rng, made) if name in self.alternatives else match[0]


def step(
    statement: str,
    known: dict[str, Any],
    state: Callable[[], dict[str, Any]],
    changing: re.Pattern[str],
    asking: re.Pattern[str],
    *,
    must_end_well: bool = False,
) -> str:
    """Run a statement; return what is wrong with it, or "". One that ends well may change something if `changing` finds
    its verb; one that `asking` finds lets packets arrive, also where it ends by an error."""
    before, ends_well = state(), False
    try:
        exec(statement, known)
        ends_well = True
    except TidelogError as error:
        if must_end_well or (isinstance(error, CertificateRejected) and "db.check()" in statement):
            return f"{type(error).__name__}: {error}"
        says_why = isinstance(error, ProofRejected | CertificateRejected)
        if isinstance(error, InternalError) or not (says_why or has_advice(error)):
            return f"{type(error).__name__} without a hint: {error}"
    except (OwnError, KeyboardInterrupt, SystemExit) as error:
        if not isinstance(error, OwnError):
            raise
    except BaseException as error:  # Polars panics by one that is no Exception.
        trace = traceback.extract_tb(error.__traceback__)
        last = max((place for place, each in enumerate(trace) if each.filename == "<string>"), default=0)
        asks_for_none = isinstance(error, AttributeError) and trace[-1].name == "__getattr__"
        if asks_for_none and not must_end_well:
            return ""
        if must_end_well or any(SOURCE in Path(each.filename).parents for each in trace[last:]):  # else by an argument
            return f"{type(error).__name__} in {Path(trace[-1].filename).name}, {trace[-1].name}: {error}"
    if (ends_well and changing.search(statement)) or asking.search(statement):
        return ""
    after = state()
    return "" if after == before else f"{'reading' if ends_well else 'an error'} changed {difference(before, after)}"


def difference(before: Any, after: Any) -> str:
    """Return the part of a state that is another one now."""
    changed = [key for key in before.keys() | after.keys() if before.get(key) != after.get(key)]
    return "; ".join(f"{key}: {before.get(key)!s:.300} to {after.get(key)!s:.300}" for key in sorted(changed))


def shrunk(statements: Sequence[str], problem: str, run: Callable[[Sequence[str]], str]) -> list[str]:
    """Return the statements without those that the problem does not need."""
    small = list(statements)
    for number in reversed(range(len(small))):
        fewer = small[:number] + small[number + 1 :]
        if sort_of(run(fewer)) == sort_of(problem):
            small = fewer
    return small


def sort_of(problem: str) -> str:
    """Return the beginning of a problem, which smaller cases share."""
    return problem[:60]
