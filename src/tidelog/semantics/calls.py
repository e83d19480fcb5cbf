"""Calls of functions in Python, as messages about them show them."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tidelog.common.source import Span
from tidelog.errors import LimitError, Problem, UsageError
from tidelog.functions.importing import UnfitError
from tidelog.language.syntax import FunctorType
from tidelog.semantics.values import Scalar

PASSED = (MemoryError, KeyboardInterrupt, LimitError)
"""Exceptions out of a call that are no errors of the function: the system has no memory, Ctrl-C, and a limit that is
looked at between the values of a generator. All others are, also SystemExit: a functor does not end the process."""


@dataclass(frozen=True)
class CallSite:
    """The rule that calls a functor, by its name, and its place."""

    rule: str = ""
    span: Span | None = None


def raised(declared: FunctorType, args: Sequence[Scalar], error: BaseException, site: CallSite | None) -> UsageError:
    """Return the error (E0647) for one that a function has raised, or (E0648) for a value that does not fit."""
    if isinstance(error, UnfitError):
        message = f"{within(site)}{call_text(declared, args)} {error}"
        return UsageError(Problem("E0648", message, place(declared, site), hint=error.hint))
    message = f"{within(site)}{call_text(declared, args)} raised {error_text(error)}"
    hint = "mend the function, or let it return None where there is no value; nothing has changed"
    return UsageError(Problem("E0647", message, place(declared, site), hint=hint))


def impure(declared: FunctorType, site: CallSite) -> UsageError:
    """Return the error (E0643) for a function that gave a value, and later another one for the same arguments."""
    message = f"{within(site)}`@{declared.name}` is not pure: its value for a derivation that goes is another one now"
    hint = "let it return the same value for the same arguments, or leave `remember=False` out; nothing has changed"
    return UsageError(Problem("E0643", message, place(declared, site), hint=hint))


def error_text(error: BaseException) -> str:
    """Return the type and the text of an error, and where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f", in {Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""
    text = str(error)
    return f"{type(error).__name__}{': ' if text else ''}{text}{where}"


def place(declared: FunctorType, site: CallSite | None) -> Span | None:
    """Return the place of a rule, or where there is none that of the functor's declaration."""
    return site.span if site is not None and site.span is not None else declared.span


def within(site: CallSite | None) -> str:
    """Return the name of a rule as messages begin with it."""
    return f"in rule {site.rule}, " if site is not None and site.rule else ""


def call_text(declared: FunctorType, args: Sequence[Scalar]) -> str:
    """Return a call as a message shows it."""
    return f"`@{declared.name}({values_text(args)})`"


def values_text(values: Sequence[Scalar]) -> str:
    """Return values as a message shows them."""
    shown = ", ".join(f'"{each}"' if isinstance(each, str) else str(each) for each in values)
    return shown if len(shown) <= 200 else shown[:199] + "…"
