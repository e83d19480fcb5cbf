"""The meaning of aggregates on Python values: the specification that engines are tested against."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import assert_never

from tidelog.errors import InternalError, Problem
from tidelog.language.aggregates import AGGREGATES, AggregateName
from tidelog.language.syntax import Kind
from tidelog.semantics.functors import convert_to_string
from tidelog.semantics.values import NoValueError, Scalar, proper_float, wrap


def aggregate(op: AggregateName, kind: Kind, values: Sequence[Scalar]) -> Scalar:
    """Return the aggregate of `values`, one per substitution, equal ones included. Raise NoValueError if it has none.

    Sums of floats are exact before they are rounded once, so that their order does not matter. mean and
    median are floats for every kind; the median of an even number of values is the mean of the middle two. For argmin
    and argmax, `values` are pairs of a value and its rank; of several with the same rank the least counts.
    """
    if not values and AGGREGATES[op].empty is None:
        raise NoValueError
    match op:
        case "count":
            return len(values)
        case "sum":
            return float_sum(values) if kind == "float" else wrap(sum(values), kind)
        case "min":
            return min(values)
        case "max":
            return max(values)
        case "mean":
            return proper_float(float_sum([float(value) for value in values]) / len(values))
        case "median":
            ordered = sorted(values)
            middle = [float(ordered[(len(ordered) - 1) // 2]), float(ordered[len(ordered) // 2])]
            return middle[0] if len(values) % 2 else proper_float((middle[0] + middle[1]) / 2)
        case "any":
            return min(values)
        case "collect":
            return ",".join(convert_to_string(value, kind) for value in sorted(set(values)))
        case "argmin":
            return min((rank, value) for value, rank in values)[1]
        case "argmax":
            return min((-rank, value) for value, rank in values)[1]
        case "autoinc":
            raise InternalError(Problem("E0901", "the number of a substitution does not follow from the substitution"))
        case "own":
            raise InternalError(Problem("E0901", "an aggregate in Python is no aggregate of the language"))
        case _:
            assert_never(op)


def float_sum(values: Sequence[float]) -> float:
    """Return the exact sum, rounded once. Raise NoValueError for infinities of both signs, or if it is too large for a
    float."""
    infinite = {value for value in values if math.isinf(value)}
    if len(infinite) > 1:
        raise NoValueError
    try:
        return infinite.pop() if infinite else proper_float(float(sum(map(Fraction, values), Fraction())))
    except OverflowError:
        raise NoValueError from None
