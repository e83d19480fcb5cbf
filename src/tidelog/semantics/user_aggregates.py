"""Aggregates in Python: the folding of one group, with its errors.

The step gets the members of a group in ascending order, so that equal groups have equal values whatever the step does.
The value is that of `finish`, or the last state. None and NaN are no value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from tidelog.errors import Problem, UsageError
from tidelog.functions.callables import GivenAggregate, GivenFunction
from tidelog.language.branches import make_branch
from tidelog.language.syntax import PRIMITIVES, Constant, FunctorType, Record, Term
from tidelog.rules.core import OwnAggregate
from tidelog.semantics.user_functors import (
    PASSED,
    WRONG,
    CallSite,
    check_signature,
    error_text,
    fit,
    function_of,
    misfit_text,
    place,
    values_text,
    within,
)
from tidelog.semantics.values import Scalar, normal


@dataclass(frozen=True)
class Folding:
    """The functions of an aggregate, as they are called."""

    init: Callable[[], Any]
    step: Callable[..., Any]
    merge: Callable[[Any, Any], Any] | None = None
    inverse: Callable[..., Any] | None = None
    finish: Callable[[Any], Any] | None = None


def aggregate_of(declared: FunctorType) -> GivenAggregate:
    """Return the functions of a declared aggregate. Raise UsageError (E0645) where none were given, (E0646) if they
    have stated other types."""
    given = declared.given.aggregates.get(declared.name)
    if given is None:
        hint = f'give them with `db.aggregate("{declared.name}", init, step)` or `tidelog run --functors FILE.py`'
        message = f"the aggregate `{declared.name}` has no functions"
        raise UsageError(Problem("E0645", message, declared.span, hint=hint))
    check_signature(declared, given)
    return given


def given_of(declared: FunctorType) -> GivenFunction | GivenAggregate:
    """Return the function for a functor, or the functions of an aggregate. Raise UsageError (E0645, E0646)."""
    return aggregate_of(declared) if declared.aggregate else function_of(declared)


def folding_of(own: OwnAggregate) -> Folding:
    """Return the functions of an aggregate of a rule. Raise UsageError (E0645, E0646)."""
    if own.start is not None:
        function = function_of(own.declared)
        if function.several or function.vectorized:
            message = f"{own.word} folds with {function.place}, which does not return one value for single values"
            hint = f"give the functor `{own.declared.name}` a function that returns the next state"
            raise UsageError(Problem("E0646", message, own.declared.span, hint=hint))
        value = start_value(own.start)
        return Folding(lambda: value, function.function)
    given = aggregate_of(own.declared)
    init = given.init
    return Folding(
        init if callable(init) else lambda: deepcopy(init), given.step, given.merge, given.inverse, given.finish
    )


def start_value(term: Term) -> Scalar:
    """Return the value of a term of constants."""
    if isinstance(term, Constant):
        return normal(term.value, term.kind or "number")
    assert isinstance(term, Record)
    if term.fields is None:
        return None
    parts = tuple(map(start_value, term.fields))
    return parts if term.branch is None else make_branch(term.branch, parts)


def in_order(own: OwnAggregate, rows: Iterable[Sequence[Scalar]]) -> list[tuple[Scalar, ...]]:
    """Return the operands of the members of a group in ascending order, one column after the other."""
    found = map(tuple, rows)
    if all(column.kind in PRIMITIVES for column in own.operands):
        return sorted(found)
    return sorted(found, key=_rank)


def _rank(value: Scalar) -> Any:
    """Return what orders values among which are records: `nil` first, branches by their names."""
    if value is None:
        return (0,)
    if isinstance(value, tuple):
        return (1, type(value).__name__, *map(_rank, value))
    return value


@dataclass(frozen=True)
class Group:
    """The folding of one group of a rule. `keys` gives the values of the group for messages."""

    own: OwnAggregate
    site: CallSite | None = None
    keys: Callable[[], Sequence[Scalar]] = tuple

    def init(self, folding: Folding) -> Any:
        """Return the state without members. Raise UsageError (E0647)."""
        return self.call("first state", folding.init)

    def after(self, function: str, folding: Folding, state: Any, rows: Iterable[tuple[Scalar, ...]]) -> Any:
        """Return the state after the steps, or the inverses, for some members. Raise UsageError (E0647)."""
        step = folding.step if function == "step" else folding.inverse
        assert step is not None
        row: tuple[Scalar, ...] = ()
        try:
            for row in rows:
                state = step(state, *row)
        except PASSED:
            raise
        except BaseException as error:
            raise self._call_error(function, f" for {values_text(row)}", error) from error
        return state

    def value(self, folding: Folding, state: Any) -> Scalar:
        """Return the value of a state, None for no value. Raise UsageError (E0647), (E0648) if it does not fit."""
        result = state if folding.finish is None else self.call("finish", folding.finish, state)
        if result is None:
            return None
        declared = self.own.declared
        found = fit(result, declared.result)
        if found is WRONG:
            message = f"{within(self.site)}`{self.own.word}`{self._group_text()} gave {misfit_text(result, declared)}"
            hint = "let `finish` return a value of the declared type, or None" if self.own.start is None else None
            raise UsageError(Problem("E0648", message, place(declared, self.site), hint=hint))
        return found

    def merge(self, folding: Folding, states: Iterable[Any]) -> Any:
        """Return the state of the members of several states together. Raise UsageError (E0647)."""
        assert folding.merge is not None
        whole = self.init(folding)
        for state in states:
            whole = self.call("merge", folding.merge, whole, state)
        return whole

    def call(self, part: str, function: Callable[..., Any], *args: Any) -> Any:
        """Return the result of one of the functions. Raise UsageError (E0647) if it raises."""
        try:
            return function(*args)
        except PASSED:
            raise
        except BaseException as error:
            raise self._call_error(part, "", error) from error

    def changed_value_error(self, folding: Folding, followed: Scalar, read: Scalar) -> UsageError:
        """Return the error (E0644) for a group that has another value after changes than when it is read."""
        inverse = folding.inverse is not None
        wrong = "inverse of {} does not undo its step" if inverse else "merge of {} is not the state of both groups"
        message = (
            f"{within(self.site)}the {wrong.format(f'`{self.own.word}`')}{self._group_text(',')}: "
            f"the value is {followed!r} after changes, {read!r} when the members are read again"
        )
        part = "inverse" if inverse else "merge"
        hint = f"keep exact states, such as integers or `fractions.Fraction`, or give no {part}; nothing has changed"
        return UsageError(Problem("E0644", message, place(self.own.declared, self.site), hint=hint))

    def _call_error(self, part: str, of: str, error: BaseException) -> UsageError:
        text = f"the {part} of `{self.own.word}`{of}{self._group_text()} raised {error_text(error)}"
        hint = "mend the function; nothing has changed"
        return UsageError(
            Problem("E0647", f"{within(self.site)}{text}", place(self.own.declared, self.site), hint=hint)
        )

    def _group_text(self, comma: str = "") -> str:
        keys = self.keys()
        return f"{comma} in the group {values_text(keys)}" if keys else ""


def fold_group(
    own: OwnAggregate,
    rows: Iterable[Sequence[Scalar]],
    site: CallSite | None = None,
    keys: Callable[[], Sequence[Scalar]] = tuple,
) -> Scalar:
    """Return the value of a group of members with these operands, equal ones included, None for no value. Raise
    UsageError (E0645 to E0648); `site` and `keys` are for messages."""
    members = in_order(own, rows)
    if not members:
        return None if own.start is None else start_value(own.start)
    folding, group = folding_of(own), Group(own, site, keys)
    return group.value(folding, group.after("step", folding, group.init(folding), members))
