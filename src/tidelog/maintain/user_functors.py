"""Functors in Python as call-outs of the kernels: the results for a batch come from the memory, or from one pass of the
function over the arguments that are new, or over all of them if results are not to be remembered.

A function gets Python values one row after the other, or arrays if it is vectorized. One of numbers is compiled into a
loop where numba can do so and where it gives the declared type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from tidelog.common.arrays import Words
from tidelog.common.looking import Look, Pace
from tidelog.functions.callables import GivenFunction
from tidelog.language.syntax import FunctorType
from tidelog.maintain.calls import CallOut, Mask
from tidelog.maintain.compiled import loop_of
from tidelog.maintain.remembered import BatchResults, Memory
from tidelog.rules.core import Computation, CoreRule, HyperNode
from tidelog.semantics.calls import PASSED, CallSite, impure, raised
from tidelog.semantics.user_functors import fitting, function_for, function_of
from tidelog.semantics.vectors import DTYPES, call
from tidelog.storage.dictionary import Dictionary


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


def calls(functors: Mapping[str, FunctorType]) -> dict[str, dict[str, Any]]:
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
        return calls.again, calls.again
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

    def again(self, columns: list[Words], look: Look) -> tuple[Mask | None, Sequence[Words]]:
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
            return self.listed(self.arguments(columns, size), look)
        if self.given.vectorized:
            found = call(self.declared, self.given, self.decoded(columns), size, self.site)
            return self.fitted(found, columns, size)
        if self.loop is not None:
            try:
                arrays = [words.view(DTYPES[kind]) for words, kind in zip(columns, self.kinds, strict=True)]
                return self.fitted(self.loop(*arrays, size), columns, size)
            except PASSED:
                raise
            except BaseException:  # The function itself says for which arguments it raises.
                self.loop = None
        return self.fitted(self.called(self.arguments(columns, size), look), columns, size)

    def decoded(self, columns: list[Words]) -> list[Any]:
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
        values = [each.tolist() if isinstance(each, numpy.ndarray) else each for each in self.decoded(columns)]
        return list(zip(*values, strict=True)) if values else [()] * size

    def called(self, arguments: list[tuple[Any, ...]], look: Look) -> list[Any]:
        """Return what the function returns for each row of arguments."""
        function, found = self.given.function, list[Any]()
        try:
            for args in Pace(look).over(arguments):
                found.append(function(*args))
        except PASSED:
            raise
        except BaseException as error:
            raise raised(self.declared, arguments[len(found)], error, self.site) from error
        return found

    def listed(self, arguments: list[tuple[Any, ...]], look: Look) -> BatchResults:
        """Return the results of a generator, each value once."""
        counts, values = [], list[Any]()
        pace = Pace(look)
        for args in pace.over(arguments):
            try:
                results = list(pace.over(self.given.function(*args)))
            except PASSED:
                raise
            except BaseException as error:
                raise raised(self.declared, args, error, self.site) from error
            fitted = (fitting(value, self.declared, args, self.site) for value in results)
            once = dict.fromkeys(value for value in fitted if value is not None)
            counts.append(len(once))
            values += once
        return numpy.array(counts, numpy.int64), self.words(values)

    def fitted(self, found: Any, columns: list[Words], size: int) -> BatchResults:
        """Return results, one for each row of arguments, None for no value, as numbers of values and words."""
        kind = self.declared.result.kind
        quick = _words_of(found, kind)
        if quick is None:
            arguments = self.arguments(columns, size)
            values = found.tolist() if isinstance(found, numpy.ndarray) else found
            values = [
                fitting(value, self.declared, args, self.site) for value, args in zip(values, arguments, strict=True)
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


def _words_of(found: Any, kind: str) -> Any:
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
