"""The meaning of aggregates on Python values: the specification that engines are tested against."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from tidelog.language.aggregates import AggregateName
from tidelog.language.syntax import Kind
from tidelog.semantics.values import NoValueError, Scalar, proper_float, wrap


def aggregate(op: AggregateName, kind: Kind, values: Sequence[Scalar]) -> Scalar:
    """The aggregate of `values`, one per substitution, equal ones included; NoValueError if it has none.

    Sums of floats are exact before they are rounded once, so that their order does not matter. mean and
    median are floats for every kind; the median of an even number of values is the mean of the middle two.
    """
    if op == "count":
        return len(values)
    if op == "sum":
        return float_sum(values) if kind == "float" else wrap(sum(values), kind)
    if not values:
        raise NoValueError
    if op == "mean":
        return proper_float(float_sum([float(value) for value in values]) / len(values))
    if op == "median":
        ordered = sorted(values)
        middle = [float(ordered[(len(ordered) - 1) // 2]), float(ordered[len(ordered) // 2])]
        return middle[0] if len(values) % 2 else proper_float((middle[0] + middle[1]) / 2)
    return min(values) if op == "min" else max(values)


def float_sum(values: Sequence[float]) -> float:
    """The exact sum, rounded once; no value for infinities of both signs, or where it is too large for a float."""
    infinite = {value for value in values if math.isinf(value)}
    if len(infinite) > 1:
        raise NoValueError
    try:
        return infinite.pop() if infinite else proper_float(float(sum(map(Fraction, values), Fraction())))
    except OverflowError:
        raise NoValueError from None
