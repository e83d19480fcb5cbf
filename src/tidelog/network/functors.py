"""Functors and aggregates in Python at a node: its own functions, and their results as long as derivations use them.

A node calls only functions that its own user has given. Rules that travel name functors; no function ever travels. The
results are part of the node's state: a node that restarts derives the same from them, also where a function would give
another value by now. What a function raises counts as its result, until the rules change.

The result of a group counts for these members, by a digest of them: a node neither stores nor sends members again.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from tidelog.errors import Problem, UsageError
from tidelog.functions.callables import GivenFunctions
from tidelog.language.syntax import FunctorType, Kind, RecordType
from tidelog.network.limits import Meter, OverrunError, is_sendable, unwritable
from tidelog.network.program import LocalAggregate, NodeRow
from tidelog.network.values import has_kind, shown_value, stored_value
from tidelog.rules.core import OwnAggregate
from tidelog.semantics.ordinals import collision, ordinals
from tidelog.semantics.user_aggregates import fold_group
from tidelog.semantics.user_functors import (
    PASSED,
    CallSite,
    call_error,
    call_on_rows,
    call_text,
    fit_result,
    function_of,
    misfit_text,
    within,
)

FunctorCall: TypeAlias = tuple[str, NodeRow]
"""A functor, without its `@`, and arguments; or the word of an aggregate, and a digest of a group's members."""
Results: TypeAlias = "tuple[Any, ...] | Problem"
"""The values for some arguments, or why there are none."""


_MOST_ORDINALS = 1 << 20
"""Values whose `ord` a node remembers at a time."""


class FailedError(OverrunError):
    """The error about a functor without a result; `problem` is for the user."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem


class NodeFunctors:
    """The functions of a node, and results by call.

    `known` are the functors that have a function here. `made` are the results since the last `begin`, for the journal.
    """

    def __init__(self, given: GivenFunctions) -> None:
        if given.libraries:
            message = f"a node cannot use the library `{given.libraries[0].name}`"
            hint = (
                "call it from functions in Python: rules of other nodes could pass a function of C what it crashes on"
            )
            raise UsageError(Problem("E0603", message, hint=hint))
        self.given = given
        self.known = _names(given)
        self.made: dict[FunctorCall, Results] = {}
        self._results: dict[FunctorCall, Results] = {}
        self._uses: Counter[FunctorCall] = Counter()
        self._ordinals: dict[tuple[Kind, int], Any] = {}

    def begin(self) -> None:
        """Begin a step of the node: forget results that no derivation uses."""
        for call in self.made:
            if not self._uses[call]:
                self._results.pop(call, None)
        self.made = {}

    def use(self, call: FunctorCall) -> None:
        """Note that another derivation uses the results of a call."""
        self._uses[call] += 1

    def drop(self, call: FunctorCall) -> None:
        """Note that one derivation less uses the results of a call; forget them with the next step."""
        self._uses[call] -= 1
        if not self._uses[call]:
            del self._uses[call]
            self.made.setdefault(call, self._results[call])

    def results(
        self, declared: FunctorType, args: NodeRow, rule: str, meter: Meter, records: Mapping[str, RecordType]
    ) -> tuple[Any, ...]:
        """Return the values for some arguments, all as nodes store them. Raise FailedError if the
        node lacks the function, or the function raises or returns what does not fit."""

        def call() -> tuple[Any, ...]:
            try:
                return self._call_function(replace(declared, given=self.given), args, CallSite(rule), meter, records)
            except OverrunError:
                message = f"in rule {rule}, {call_text(declared, args)} has more values than this node's limits allow"
                hint = "return fewer values, or raise the limit `steps`"
                raise UsageError(Problem("E0507", message, hint=hint)) from None

        return self._cached_results((declared.name, args), call)

    def value(
        self,
        call: FunctorCall,
        rule: LocalAggregate,
        group: NodeRow,
        members: Sequence[NodeRow],
        records: Mapping[str, RecordType],
    ) -> tuple[Any, ...]:
        """Return the value of a group as nodes store it, or nothing; `call` is `fold_call` of its members. Raise
        FailedError if the node lacks the functions, or one raises or returns what does not fit."""
        assert rule.own is not None
        own = replace(rule.own, declared=replace(rule.own.declared, given=self.given))

        def show_values(row: NodeRow, kinds: Iterable[str]) -> list[Any]:
            return [shown_value(value, kind, records) for value, kind in zip(row, kinds, strict=True)]

        def fold() -> tuple[Any, ...]:
            kinds = [column.kind for column in own.operands]
            rows = [show_values(row, kinds) for row in members]
            found = fold_group(own, rows, CallSite(rule.origin), lambda: show_values(group, own.keys))
            stored = stored_value(found, own.declared.result.kind, records)
            if found is not None and (not has_kind(stored, own.declared.result.kind, records) or unwritable((stored,))):
                message = f"in rule {rule.origin}, `{own.word}` gave {misfit_text(found, own.declared)}"
                raise UsageError(Problem("E0648", message, hint="let `finish` return a value of the declared type"))
            if not is_sendable((stored,)):
                message = f"in rule {rule.origin}, `{own.word}` gave a value that is too large to send to other nodes"
                raise UsageError(Problem("E0507", message, hint="return shorter texts, or records of fewer levels"))
            return () if found is None else (stored,)

        return self._cached_results(call, fold)

    def ordinal(self, value: Any, kind: Kind, records: Mapping[str, RecordType]) -> int:
        """Return `ord` of a stored symbol or record. Raise FailedError (E0409) if it is that of another value, among
        the last ones that the node has met."""
        (number,) = ordinals([shown_value(value, kind, records)])
        if len(self._ordinals) >= _MOST_ORDINALS:
            self._ordinals.clear()
        other = self._ordinals.setdefault((kind, number), value)
        if other != value:
            raise FailedError(collision(number, other, value).problems[0])
        return number

    def knows(self, call: FunctorCall) -> bool:
        return call in self._results

    def _cached_results(self, call: FunctorCall, make: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        """Return the results of a call, made by `make` if they are not there. Raise FailedError if the call failed."""
        found = self._results.get(call)
        if found is None:
            try:
                found = make()
            except UsageError as error:
                problem = error.problems[0]
                lacking = problem.code == "E0645"
                hint = "pass the function, or its module, as `functors` of this node" if lacking else problem.hint
                found = Problem(problem.code, problem.message, hint=hint)
            self._results[call] = self.made[call] = found
        if isinstance(found, Problem):
            raise FailedError(found)
        return found

    def _call_function(
        self, declared: FunctorType, args: NodeRow, site: CallSite, meter: Meter, records: Mapping[str, RecordType]
    ) -> tuple[Any, ...]:
        given, result = function_of(declared), declared.result
        pairs = zip(args, declared.parameters, strict=True)
        values: list[Any] = [shown_value(value, column.kind, records) for value, column in pairs]
        found: list[Any] = []
        if given.vectorized:
            found = call_on_rows(declared, given, [values], site)
        else:
            try:
                made = given.function(*values)
                for each in made if given.several else [made]:
                    meter.spend()
                    found.append(each)
            except (*PASSED, OverrunError):
                raise
            except BaseException as error:
                raise call_error(declared, values, error, site) from error
        fitted = (fit_result(value, declared, values, site) for value in found)
        stored = [stored_value(value, result.kind, records) for value in fitted if value is not None]
        for value in stored:
            if not has_kind(value, result.kind, records) or unwritable((value,)) is not None:
                message = f"{within(site)}{call_text(declared, values)} returned {value!r:.80}, expected {result.type}"
                hint = "return a value of the declared type, or None; yield several values"
                raise UsageError(Problem("E0648", message, hint=hint))
        return tuple(dict.fromkeys(stored))

    # --- what lasts --------------------------------------------------------------------------------------------------

    def results_in_use(self) -> dict[FunctorCall, Results]:
        """Return the results that derivations use."""
        return {call: self._results[call] for call in self._uses}

    def recall(self, results: Mapping[FunctorCall, Results]) -> None:
        """Take results that were `used` or `made` before; those that no derivation uses go with the next `begin`."""
        self.made |= results
        self._results |= results

    def restart(self) -> None:
        """Begin to count the uses anew, for new derivations."""
        self._uses.clear()
        self.made = dict(self._results)

    def renew(self) -> None:
        """Take the functions that were given as those that are known, and forget what failed."""
        self.known = _names(self.given)
        failed = [call for call, found in self._results.items() if isinstance(found, Problem)]
        for call in failed:
            del self._results[call]
            self.made.pop(call, None)


def fold_call(own: OwnAggregate, members: Iterable[NodeRow]) -> FunctorCall:
    """Return the call of an aggregate for a group with these members."""
    texts = sorted(json.dumps(row) for row in members)
    return own.word, (hashlib.sha256("\n".join([repr(own.start), *texts]).encode()).hexdigest(),)


def _names(given: GivenFunctions) -> frozenset[str]:
    return frozenset((*given.functions, *given.aggregates))


def problem_to_json(problem: Problem) -> list[str | None]:
    """Return a problem as JSON can hold it, without its place."""
    return [problem.code, problem.message, problem.hint]


def problem_from_json(parts: Sequence[str]) -> Problem:
    """Return the problem that `problem_to_json` has written."""
    code, message, hint = parts
    return Problem(code, message, hint=hint)


def results_to_json(results: Mapping[FunctorCall, Results]) -> list[Any]:
    written: list[Any] = []
    for (name, args), found in results.items():
        if isinstance(found, Problem):
            written.append([name, args, problem_to_json(found), ()])
        else:
            written.append([name, args, None, found])
    return written


def results_from_json(parts: Iterable[Any]) -> dict[FunctorCall, Results]:
    """Return results that JSON holds. Raise TypeError or ValueError for anything else."""
    return {
        (name, nested_tuple(args)): nested_tuple(values) if problem is None else problem_from_json(problem)
        for name, args, problem, values in parts
    }


def nested_tuple(parts: list[Any]) -> tuple[Any, ...]:
    """Return a row that JSON holds: lists in it are records."""
    return tuple([nested_tuple(part) if isinstance(part, list) else part for part in parts])
