"""Functors in Python as call-outs of the kernels: the results for a batch come from the memory, or from one pass of the
function over the arguments that are new, or over all of them if results are not to be remembered.

A function gets Python values one row after the other, or arrays if it is vectorized. One of numbers is compiled into a
loop where numba can do so and where it gives the declared type.

A derivation that goes has to go with the value with which it came, also where the function would return another one by
now. So a function is called once for the same arguments, as long as rules call its functor. An epoch that fails leaves
none of its results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import Words
from tidelog.common.looking import Look, Pace
from tidelog.functions.callables import GivenFunction
from tidelog.language.syntax import Column, FunctorType
from tidelog.maintain.compiled import loop_of
from tidelog.maintain.functors import CallOut, Mask
from tidelog.rules.core import Computation, CoreRule, HyperNode
from tidelog.semantics.user_functors import (
    DTYPES,
    PASSED,
    CallSite,
    call,
    call_error,
    fit_result,
    function_for,
    function_of,
    impure,
)
from tidelog.storage.dictionary import Dictionary

BatchResults: TypeAlias = tuple[Words | None, Words]
"""How many values each row of arguments has, or None if each has one, and all values, one after the other, as words."""


class Memory:
    """The results of one functor: `counts` and the `values` from `starts` on, for each row of `keys`. As long as each
    row has one value, there are neither counts nor starts: the value of row i is number i."""

    def __init__(self, declared: FunctorType) -> None:
        self._columns = declared.parameters
        self._result = (declared.result,)
        self._keys = numpy.empty((0, len(declared.parameters)), numpy.int64)
        self._slots = numpy.zeros(1, numpy.int32)
        self._counts = numpy.empty(0, numpy.int64)
        self._starts = numpy.empty(0, numpy.int64)
        self._values = numpy.zeros(1, numpy.int64)
        self._used = self._valued = 0
        self._kept = (0, 0)
        self._single = True

    def __len__(self) -> int:
        return self._used

    def find(self, columns: list[Words], size: int, make: Callable[[Words], BatchResults]) -> BatchResults:
        """Return for each row of arguments its number of values, None if each has one, and where these start in
        `values`; `make` gives the results for arguments that are new. An exception of it changes nothing."""
        from tidelog.kernels.remembered import number_rows

        rows = numpy.ascontiguousarray(numpy.stack(columns, axis=1)) if columns else numpy.empty((size, 0), numpy.int64)
        self._reserve(self._used + size)
        numbers = numpy.empty(size, numpy.int64)
        before = self._used
        used = number_rows(rows, self._keys, self._slots, before, numbers)
        if used > before:
            try:
                self._add(before, used, *make(self._keys[before:used]))
            except BaseException:
                self._shrink(before, self._valued)
                raise
        return (None, numbers) if self._single else (self._counts[numbers], self._starts[numbers])

    def values(self, places: Words) -> Words:
        """Return the values at these places."""
        found: Words = self._values[places]
        return found

    def _reserve(self, rows: int) -> None:
        if rows > len(self._keys):
            room = max(3 * rows, 1_024)
            self._keys = _grow(self._keys, room)
            if not self._single:
                self._counts, self._starts = _grow(self._counts, room), _grow(self._starts, room)
            self._slots = numpy.zeros(1 << (room + room // 2).bit_length(), numpy.int32)
            self._fill()

    def _add(self, before: int, used: int, counts: Words | None, values: Words) -> None:
        end = self._valued + len(values)
        if end > len(self._values):
            self._values = _grow(self._values, 2 * end)
        self._values[self._valued : end] = values
        if self._single and counts is not None:
            self._single = False
            self._counts, self._starts = numpy.ones(len(self._keys), numpy.int64), numpy.arange(len(self._keys))
        if not self._single:
            each = numpy.ones(used - before, numpy.int64) if counts is None else counts
            self._counts[before:used] = each
            self._starts[before:used] = self._valued + numpy.cumsum(each) - each
        self._used, self._valued = used, end

    def _shrink(self, used: int, valued: int) -> None:
        self._used, self._valued = used, valued
        self._slots[:] = 0
        self._fill()

    def _fill(self) -> None:
        from tidelog.kernels.remembered import fill_slots

        fill_slots(self._keys, self._slots, self._used)

    # --- what lasts ----------------------------------------------------------------------------------------------

    def keep(self) -> None:
        """Make what was added last."""
        self._kept = (self._used, self._valued)

    def take_back(self) -> None:
        """Undo what was added since `keep`."""
        if self._kept != (self._used, self._valued):
            self._shrink(*self._kept)

    def words_in_use(self) -> Iterator[tuple[tuple[Column, ...], NDArray[numpy.int64]]]:
        """Yield the words of arguments and values, which the dictionary must not give back."""
        yield self._columns, self._keys[: self._used]
        yield self._result, self._values[: self._valued, None]

    def arrays_to_save(self) -> tuple[Words, Words, Words]:
        """Return the arguments, the numbers of their values, and the values."""
        counts = numpy.ones(self._used, numpy.int64) if self._single else self._counts[: self._used]
        return self._keys[: self._used], counts, self._values[: self._valued]

    def restore(self, keys: Words, counts: Words, values: Words) -> None:
        """Take the `arrays_to_save` of another memory into an empty one."""
        self._reserve(len(keys))
        self._keys[: len(keys)] = keys
        self._add(0, len(keys), None if (counts == 1).all() else counts, values)
        self._fill()
        self.keep()

    def bytes(self) -> int:
        """Return the memory in bytes."""
        return sum(each.nbytes for each in (self._keys, self._slots, self._counts, self._starts, self._values))


def _grow(array: NDArray[numpy.int64], room: int) -> NDArray[numpy.int64]:
    grown = numpy.zeros((room, *array.shape[1:]), numpy.int64)
    grown[: len(array)] = array
    return grown


def memory_of(declared: FunctorType, dictionary: Dictionary) -> Memory:
    """Return the memory of a functor, a new one where there is none."""
    remembered = declared.given.remembered
    if declared.key not in remembered:
        memory = Memory(declared)
        dictionary.hold(memory)
        remembered[declared.key] = memory
    found: Memory = remembered[declared.key]
    return found


def several_values(declared: FunctorType) -> bool:
    """Return True if the function for a functor is a generator. Raise UsageError (E0645) where there is none."""
    return function_of(declared).several


def functor_statistics(functors: Mapping[str, FunctorType]) -> dict[str, dict[str, Any]]:
    """Return for each functor how its function is called, and for how many arguments results are remembered."""
    found = {}
    for name, declared in functors.items():
        given, memory = function_for(declared), declared.given.remembered.get(declared.key)
        way = "missing" if given is None else "vectorized" if given.vectorized else "rows"
        if given is not None and given.made.get(declared.key) is not None:
            way = "compiled"
        size = 0 if memory is None else len(memory)
        found[name] = {"way": way, "remembered": size, "bytes": 0 if memory is None else memory.bytes()}
    return found


def refuse_impure(node: HyperNode, relation: str) -> None:
    """Raise UsageError (E0643) for a function that rules of `relation` call again for a derivation that goes, and that
    has given another value than when it came. Without such a function nothing is wrong."""
    rules = [rule for rule in node.rules if isinstance(rule, CoreRule) and rule.head.relation == relation]
    for rule in rules:
        for literal in rule.body:
            declared = literal.declared if isinstance(literal, Computation) else None
            if isinstance(declared, FunctorType) and not function_of(declared).remember:
                raise impure(declared, CallSite(rule.origin, rule.span))


def user_call_outs(declared: FunctorType, dictionary: Dictionary, site: CallSite) -> tuple[CallOut, CallOut]:
    """Return the call-out for a functor with at most one value, or that counts its values, and the one that takes the
    value with a number."""
    calls = _Calls(declared, function_of(declared), dictionary, site)
    if not calls.given.remember:
        return calls.call_each_time, calls.call_each_time
    memory = memory_of(declared, dictionary)

    def make(rows: Words, look: Look) -> BatchResults:
        return calls.results([numpy.ascontiguousarray(column) for column in rows.T], len(rows), look)

    def one(columns: list[Words], look: Look) -> tuple[Mask | None, Sequence[Words]]:
        size = len(columns[0]) if columns else 1
        counts, places = memory.find(columns, size, lambda rows: make(rows, look))
        if counts is None:
            return None, (memory.values(places),)
        mask = counts > 0
        return mask, (memory.values(numpy.where(mask, places, 0)),)

    def count(columns: list[Words], look: Look) -> tuple[Mask | None, Sequence[Words]]:
        size = len(columns[0]) if columns else 1
        counts, _ = memory.find(columns, size, lambda rows: make(rows, look))
        return (None, (numpy.ones(size, numpy.int64),)) if counts is None else (counts > 0, (counts,))

    def take(columns: list[Words], look: Look) -> tuple[None, Sequence[Words]]:
        *given, numbers = columns
        _, places = memory.find(given, len(numbers), lambda rows: make(rows, look))
        return None, (memory.values(places + numbers),)

    return (count if calls.given.several else one), take


class _Calls:
    """The calls of one function from one rule."""

    def __init__(self, declared: FunctorType, given: GivenFunction, dictionary: Dictionary, site: CallSite) -> None:
        self.declared = declared
        self.given = given
        self.dictionary = dictionary
        self.site = site
        self.kinds = [column.kind for column in declared.parameters]
        self.loop: Callable[..., Any] | None = loop_of(declared, given)

    def call_each_time(self, columns: list[Words], look: Look) -> tuple[Mask | None, Sequence[Words]]:
        """Call the function for each row of arguments, also for those of earlier calls."""
        size = len(columns[0]) if columns else 1
        counts, values = self.results(columns, size, look)
        if counts is None:
            return None, (values,)
        mask, words = counts > 0, numpy.zeros(size, numpy.int64)
        words[mask] = values
        return mask, (words,)

    def results(self, columns: list[Words], size: int, look: Look) -> BatchResults:
        """Return the results for `size` rows of arguments."""
        look()
        if self.given.several:
            return self.list_values(self.arguments(columns, size), look)
        if self.given.vectorized:
            found = call(self.declared, self.given, self.decode_columns(columns), size, self.site)
            return self.fit(found, columns, size)
        if self.loop is not None:
            try:
                arrays = [words.view(DTYPES[kind]) for words, kind in zip(columns, self.kinds, strict=True)]
                return self.fit(self.loop(*arrays, size), columns, size)
            except PASSED:
                raise
            except BaseException:  # The function itself says for which arguments it raises.
                self.loop = None
        return self.fit(self.call_rows(self.arguments(columns, size), look), columns, size)

    def decode_columns(self, columns: list[Words]) -> list[Any]:
        """Return the arguments as columns of values, those of numbers as arrays."""
        return [
            words.view(DTYPES[kind])
            if kind in DTYPES
            else self.dictionary.strings(words)
            if kind == "symbol"
            else [self.dictionary.decode(word, kind) for word in words.tolist()]
            for words, kind in zip(columns, self.kinds, strict=True)
        ]

    def arguments(self, columns: list[Words], size: int) -> list[tuple[Any, ...]]:
        """Return the arguments as tuples of Python values."""
        values = [each.tolist() if isinstance(each, numpy.ndarray) else each for each in self.decode_columns(columns)]
        return list(zip(*values, strict=True)) if values else [()] * size

    def call_rows(self, arguments: list[tuple[Any, ...]], look: Look) -> list[Any]:
        """Return what the function returns for each row of arguments."""
        function, found = self.given.function, list[Any]()
        try:
            for args in Pace(look).over(arguments):
                found.append(function(*args))
        except PASSED:
            raise
        except BaseException as error:
            raise call_error(self.declared, arguments[len(found)], error, self.site) from error
        return found

    def list_values(self, arguments: list[tuple[Any, ...]], look: Look) -> BatchResults:
        """Return the results of a generator, each value once."""
        counts, values = [], list[Any]()
        pace = Pace(look)
        for args in pace.over(arguments):
            try:
                results = list(pace.over(self.given.function(*args)))
            except PASSED:
                raise
            except BaseException as error:
                raise call_error(self.declared, args, error, self.site) from error
            fitted = (fit_result(value, self.declared, args, self.site) for value in results)
            once = dict.fromkeys(value for value in fitted if value is not None)
            counts.append(len(once))
            values += once
        return numpy.array(counts, numpy.int64), self.words(values)

    def fit(self, found: Any, columns: list[Words], size: int) -> BatchResults:
        """Return results, one for each row of arguments, None for no value, as numbers of values and words."""
        kind = self.declared.result.kind
        quick = _fitting_words(found, kind)
        if quick is None:
            arguments = self.arguments(columns, size)
            values = found.tolist() if isinstance(found, numpy.ndarray) else found
            values = [
                fit_result(value, self.declared, args, self.site) for value, args in zip(values, arguments, strict=True)
            ]
            present = [value for value in values if value is not None]
            if len(present) == size:
                return None, self.words(present)
            return numpy.fromiter((value is not None for value in values), numpy.int64, size), self.words(present)
        if kind == "float":
            has = ~numpy.isnan(quick)
            if not has.all():
                return has.astype(numpy.int64), quick[has].view(numpy.int64)
        return None, quick.view(numpy.int64)

    def words(self, values: list[Any]) -> Words:
        """Return the words of values of the declared type."""
        kind = self.declared.result.kind
        if kind == "symbol":
            return numpy.array(self.dictionary.ids_of(values), numpy.int64)
        return numpy.array([self.dictionary.encode(value, kind) for value in values], numpy.int64)


def _fitting_words(found: Any, kind: str) -> Any:
    """Return results as an array of the kind's type, if all of them have a value that fits without a closer look."""
    if kind not in DTYPES:
        return None
    if not isinstance(found, numpy.ndarray):
        types = set(map(type, found))
        if types != {float if kind == "float" else int}:
            return None
        try:
            return numpy.array(found, DTYPES[kind]) + (0.0 if kind == "float" else 0)
        except OverflowError:
            return None
    if kind == "float":
        return found.astype(numpy.float64) + 0.0 if found.dtype.kind in "iuf" else None
    fits = found.dtype.kind in "iu" and numpy.can_cast(found.dtype, DTYPES[kind])
    return found.astype(DTYPES[kind]) if fits else None
