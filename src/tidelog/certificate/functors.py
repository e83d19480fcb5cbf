"""Constants, functors, comparisons and aggregates as SQL expressions of DuckDB.

Columns have the SQL type of their kind (`SQL_TYPES`): symbols and records are their numbers in a dictionary. Where SQL
has the same meaning, the expression is SQL; everything else is a Python function that is registered with the connection
and called on columns. These functions are written after docs/reference/language.md and share nothing with those of the
engine; patterns are matched by DuckDB itself, in another database, because SQL cannot call SQL. An expression without a
value (a division by zero, a NaN) is NULL.
"""

from __future__ import annotations

import math
import operator
import re
import struct
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from inspect import Parameter, Signature
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

from tidelog.common.arrays import Words
from tidelog.common.looking import Look
from tidelog.language.aggregates import AGGREGATES, AggregateName
from tidelog.language.functors import NUMERIC, several
from tidelog.language.regex import PatternError, grouper, translate_to_re2
from tidelog.language.syntax import FunctorType, Kind
from tidelog.rules.core import CoreConstant, OwnAggregate
from tidelog.semantics.ordinals import collision, ordinals
from tidelog.semantics.user_aggregates import fold_group
from tidelog.semantics.user_functors import values_of
from tidelog.semantics.values import Scalar
from tidelog.storage.arrow_arrays import mask_to_arrow, numbers_to_arrow, numbers_to_numpy
from tidelog.storage.dictionary import Dictionary

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


def _replace_text(text: str, old: str, new: str) -> str:
    parts = text.split(old) if old else [text]
    if len(text) + (len(parts) - 1) * (len(new) - len(old)) > _MOST:
        raise MemoryError(f"a text has more than {_MOST:,} characters")
    return new.join(parts)


def _parts(text: str, separator: str) -> list[str]:
    return [*text] if separator == "" else text.split(separator)


def _at(values: list[str | None] | list[str], number: int) -> str | None:
    return values[number] if number in range(len(values)) else None


def _groups(pattern: str, text: str) -> list[str | None]:
    find = grouper(pattern)
    return find(text) if find is not None else []


def _once(values: list[Scalar]) -> list[Scalar]:
    return [value for value in dict.fromkeys(values) if value is not None]


TEXTS: dict[tuple[str, int], Callable[..., Scalar]] = {
    ("lower", 1): lambda text: text.lower(),
    ("upper", 1): lambda text: text.upper(),
    ("trim", 1): lambda text: text.strip(),
    ("replace", 3): _replace_text,
    ("index_of", 2): lambda text, part: text.index(part),
    ("split", 3): lambda text, separator, number: _at(_parts(text, separator), number),
    ("groups", 3): lambda pattern, text, number: _at(_groups(pattern, text), number),
    ("split", 2): lambda text, separator: _once(_parts(text, separator)),
    ("groups", 2): lambda pattern, text: _once(_groups(pattern, text)[1:]),
    ("positions", 2): lambda text, part: [i for i in range(len(text) + 1) if text.startswith(part, i)],
}
"""By name and number of arguments; those with several values give lists."""


SQL_TYPES = {"unsigned": "UBIGINT", "float": "DOUBLE", "test": "BOOLEAN"}
"""The types of kinds in SQL; all others are BIGINT. A test is what a comparison gives."""
_DTYPES: dict[Kind, type[Any]] = {"unsigned": numpy.uint64, "float": numpy.float64}

_PACE, _MANY = 64, 1 << 14
"""After so many rows, or values of one range, a function looks at the limits."""
_MOST = 1 << 26
"""Values of the largest range of floats, and characters of the longest text, that a function makes."""
_SMALLEST, _LARGEST, _SIZE = -(2**63), 2**63 - 1, 2**64

_WRAP = f"""CREATE MACRO wrap(e) AS CASE WHEN e BETWEEN {_SMALLEST} AND {_LARGEST} THEN e::BIGINT
    ELSE (((e + {2**63}) % {_SIZE} + {_SIZE}) % {_SIZE} - {2**63})::BIGINT END"""
_IN_SQL = {
    ("+", "number"): "wrap({0}::HUGEINT + {1}::HUGEINT)",
    ("-", "number"): "wrap({0}::HUGEINT - {1}::HUGEINT)",
    ("*", "number"): "wrap({0}::HUGEINT * {1}::HUGEINT)",
    ("neg", "number"): "wrap(-({0}::HUGEINT))",
    **{("min", kind): "least({0}, {1})" for kind in ("number", "unsigned", "float")},
    **{("max", kind): "greatest({0}, {1})" for kind in ("number", "unsigned", "float")},
}


class Functors:
    """Expressions for one connection. Texts and records that expressions make are added to `dictionary`.

    Functions in Python call `look`, which raises where a limit of the check is reached. DuckDB hides their exceptions:
    `failure` has it.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, dictionary: Dictionary, look: Look) -> None:
        self._connection = connection
        self._dictionary = dictionary
        self._look = look
        self.failure: BaseException | None = None
        self._lock = Lock()  # DuckDB calls from several threads
        self._names: dict[tuple[object, ...], str] = {}
        self._ordinals: dict[tuple[Kind, int], int] = {}  # `ord` by the kind and word of a value
        self._owners: dict[tuple[Kind, int], int] = {}  # and the other way round
        self._matching: duckdb.DuckDBPyConnection | None = None
        connection.execute(_WRAP)

    def constant(self, constant: CoreConstant) -> str:
        """Return the expression of a constant."""
        word = self._dictionary.encode(constant.value, constant.kind)
        if constant.kind == "float":
            return f"'{float(constant.value or 0) + 0.0!r}'::DOUBLE"
        return f"({word % _SIZE if constant.kind == 'unsigned' else word})::{sql_type(constant.kind)}"

    def call_declared(self, functor: FunctorType, args: Sequence[str]) -> str:
        """Return the list of the values of a functor in Python, which the checker calls as the engine does."""
        kinds = [column.kind for column in functor.parameters]
        result = f"{functor.result.kind} list"
        if not args:  # DuckDB knows no size of a column that has no arguments
            return self._call_rows(
                ("declared", functor.name), lambda _: list(values_of(functor, ())), ["number"], result, ["0"]
            )

        def list_values(*values: Scalar) -> list[Scalar]:
            return list(values_of(functor, values))

        return self._call_rows(("declared", functor.name), list_values, kinds, result, args)

    def call(self, functor: str, kinds: Sequence[Kind], result: Kind, args: Sequence[str]) -> str:
        """Return the value of a functor for argument expressions of these kinds, or the list of its
        several values."""
        if (functor, kinds[0]) in _IN_SQL:
            return _IN_SQL[functor, kinds[0]].format(*args)
        if functor == "ord" and kinds[0] not in NUMERIC:
            return (
                f"{self._function_name((functor, *kinds), partial(self._ordinal, kinds[0]), kinds, result)}({args[0]})"
            )
        bits = partial(_same_bits, kind=result)
        of_connection = {"as": bits, "ord": bits, "range": partial(_steps, look=self._look)}
        function = of_connection.get(functor) or TEXTS.get((functor, len(args))) or _FUNCTORS[functor]
        listed = f"{result} list" if several(functor, len(args)) else result
        return self._call_rows(("functor", functor, *kinds, result), function, kinds, listed, args)

    def steps(self, kind: Kind, args: Sequence[str]) -> tuple[str, str]:
        """Return the number of values in a range of integers, and the value after {} steps."""
        start, end, *given = (f"({arg})::HUGEINT" for arg in args)
        step = given[0] if given else f"(CASE WHEN {start} <= {end} THEN 1 ELSE -1 END)::HUGEINT"
        count = (
            f"CASE WHEN {step} > 0 AND {start} < {end} THEN ({end} - {start} + {step} - 1) // {step}"
            f" WHEN {step} < 0 AND {start} > {end} THEN ({start} - {end} - {step} - 1) // -({step})"
            f" WHEN {step} = 0 AND {start} <> {end} THEN 1 ELSE 0 END"
        )
        return f"least({count}, {_LARGEST})::BIGINT", f"({start} + {{}} * {step})::{sql_type(kind)}"

    def compare(self, op: str, kind: Kind, left: str, right: str) -> str:
        """Return a condition; NULL counts as false."""
        if op in ("match", "!match"):
            matched = self._function_name(("match",), self._matches, ("symbol", "symbol"), "test")
            return f"{matched}({left}, {right}) IS {'FALSE' if op.startswith('!') else 'TRUE'}"
        if op in ("=", "!=") or (kind != "symbol" and op in _COMPARISONS):
            return f"{left} {op} {right}"
        return self._call_rows(("comparison", op), _COMPARISONS[op], ("symbol", "symbol"), "test", (left, right))

    def fold(self, op: AggregateName, kind: Kind, column: str) -> str:
        """Return the aggregate of a column of a group that is not empty."""
        in_sql = AGGREGATES[op].sql.get(kind)
        if in_sql is not None:
            return in_sql.format(column)
        result = AGGREGATES[op].result or kind
        return self._call_rows(("fold", op, kind), _FOLDS[op], [f"{kind} list"], result, [f"list({column})"])

    def fold_own(self, own: OwnAggregate, columns: Sequence[str]) -> str:
        """Return the value of an aggregate in Python for columns of a group that is not empty."""
        kinds = [f"{column.kind} list" for column in own.operands]

        def value(*operands: list[Scalar]) -> Scalar:
            return fold_group(own, zip(*operands, strict=True))

        order = ", ".join(columns)
        lists = [f"list({column} ORDER BY {order})" for column in columns]
        return self._call_rows(("own", own.word, str(own.start)), value, kinds, own.declared.result.kind, lists)

    def pack(self, kind: Kind, args: Sequence[str]) -> str:
        """Return the record of these fields."""
        fields = [field.kind for field in self._dictionary.types[kind].fields]

        def pack_columns(*columns: pa.Array) -> pa.Array:
            words = [_words(column) for column in columns]
            return numbers_to_arrow(self._dictionary.pack(kind, words, len(words[0])))

        if not fields:
            return self.constant(CoreConstant((), kind))  # type: ignore[arg-type]  # the one record without fields
        return f"{self._function_name(('pack', kind), pack_columns, fields, kind)}({', '.join(args)})"

    def field(self, kind: Kind, position: int, source: str) -> str:
        """Return a field of a record that is not nil."""
        field = self._dictionary.types[kind].fields[position].kind

        def take_field(records: pa.Array) -> pa.Array:
            _, fields = self._dictionary.unpack(kind, _words(records))
            return numbers_to_arrow(fields[position].view(_DTYPES.get(field, numpy.int64)))

        return f"{self._function_name(('field', kind, position), take_field, [kind], field)}({source})"

    def _ordinal(self, kind: Kind, column: pa.Array) -> pa.Array:
        """Return `ord` of symbols or records. Raise DataError (E0409) where two have one number."""
        words = column.to_pylist()
        new = [word for word in {*words} if word is not None and (kind, word) not in self._ordinals]
        values = self._dictionary.decode_list(numpy.array(new, numpy.int64), kind)
        for word, value, number in zip(new, values, ordinals(values), strict=True):
            other = self._owners.setdefault((kind, number), word)
            if other != word:
                raise collision(number, self._dictionary.decode(other, kind), value)
            self._ordinals[kind, word] = number
        return self._column([None if word is None else self._ordinals[kind, word] for word in words], "number")

    def _matches(self, patterns: pa.Array, texts: pa.Array) -> pa.Array:
        """Return for each text whether it matches, NULL for a malformed pattern, by DuckDB's own regular
        expressions."""
        import pyarrow as pa

        if self._matching is None:
            import duckdb

            self._matching = duckdb.connect(config={"threads": 1})
        spelled = {text: _for_duckdb(text) for text in set(self._values(patterns, "symbol"))}
        columns = [[spelled[text] for text in self._values(patterns, "symbol")], self._values(texts, "symbol")]
        rows = pa.table([pa.array(column, pa.string()) for column in columns], ["pattern", "text"])
        self._matching.register("rows", rows)
        # a constant is compiled once
        pattern, values = ("?", [columns[0][0]]) if len(spelled) == 1 else ("pattern", [])
        query = f"SELECT regexp_full_match(text, {pattern}) FROM rows"
        return pa.array([found for (found,) in self._matching.execute(query, values).fetchall()], pa.bool_())

    # --- functions in Python -----------------------------------------------------------------------------------------

    def _call_rows(
        self,
        key: tuple[object, ...],
        function: Callable[..., Scalar],
        kinds: Sequence[Kind],
        result: Kind,
        args: Sequence[str],
    ) -> str:
        """Return a call of a function on single values."""

        def column(*columns: pa.Array) -> pa.Array:
            decoded = [self._values(each, kind) for each, kind in zip(columns, kinds, strict=True)]
            results = []
            for number, row in enumerate(zip(*decoded, strict=True)):
                if number % _PACE == 0:
                    self._look()
                results.append(_attempt(function, row))
            kind = result.removesuffix(" list")
            if result != kind and kind not in NUMERIC:
                encode = self._dictionary.encode
                results = [each and [encode(value, kind) for value in each] for each in results]
            if result.endswith(" list"):
                return _lists(results, result.removesuffix(" list"))
            return self._column([_fit(value, result) for value in results], result)

        return f"{self._function_name(key, column, kinds, result)}({', '.join(args)})"

    def _function_name(
        self, key: tuple[object, ...], function: Callable[..., pa.Array], kinds: Sequence[Kind], result: Kind
    ) -> str:
        """Return the name of a function of Arrow columns, under which SQL calls it."""
        if key not in self._names:
            name = self._names[key] = f"f{len(self._names)}"

            def call_locked(*columns: Any) -> Any:
                with self._lock:
                    try:
                        self._look()
                        return function(*[column.combine_chunks() for column in columns])
                    except BaseException as error:
                        self.failure = self.failure or error
                        raise

            types = [sql_type(kind) for kind in kinds]
            parameters = [Parameter(f"column{i}", Parameter.POSITIONAL_ONLY) for i in range(len(kinds))]
            call_locked.__signature__ = Signature(parameters)  # type: ignore[attr-defined]  # what DuckDB asks for
            self._connection.create_function(  # type: ignore[call-overload]  # which knows the numbers, not the words
                name, call_locked, types, sql_type(result), type="arrow", null_handling="special"
            )
        return self._names[key]

    def _values(self, column: pa.Array, kind: Kind) -> list[Scalar]:
        """Return the values of a column, None where it is NULL."""
        if kind.endswith(" list") and (inner := kind.removesuffix(" list")) not in NUMERIC:
            decode = self._dictionary.decode
            return [None if words is None else [decode(word, inner) for word in words] for words in column.to_pylist()]
        if kind in NUMERIC or kind.endswith(" list"):
            return column.to_pylist()  # type: ignore[no-any-return]
        if not column.null_count:
            return list(self._dictionary.decode_list(_words(column), kind))
        return [None if word is None else self._dictionary.decode(word, kind) for word in column.to_pylist()]

    def _column(self, values: list[Scalar], kind: Kind) -> pa.Array:
        """Return values as a column, None as NULL."""
        present = numpy.fromiter((value is not None for value in values), bool, len(values))
        if kind == "test":
            return _nullable(mask_to_arrow(numpy.fromiter(map(bool, values), bool, len(values))), present)
        if kind == "symbol":
            ids = iter(self._dictionary.ids_of([value for value in values if value is not None]))
            values = [None if value is None else next(ids) for value in values]
        elif kind not in NUMERIC:
            values = [value and self._dictionary.encode(value, kind) for value in values]
        return _nullable(_numbers([value or 0 for value in values], kind), present)


def sql_type(kind: Kind) -> str:
    """Return the SQL type of values of a kind, or of lists of them."""
    if kind.endswith(" list"):
        return f"{sql_type(kind.removesuffix(' list'))}[]"
    return SQL_TYPES.get(kind, "BIGINT")


def sql_values(words: NDArray[Any], kind: Kind) -> NDArray[Any]:
    """Return a vector of words as numbers of the kind's SQL type. Words of 32 bits may stay so, except for unsigned and
    float."""
    if kind not in _DTYPES:
        return numpy.ascontiguousarray(words)
    return numpy.ascontiguousarray(words, dtype=numpy.int64).view(_DTYPES[kind])


def _words(column: pa.Array) -> Words:
    """Return the words of a column of SQL values."""
    return numbers_to_numpy(column).view(numpy.int64)


def _numbers(values: list[Scalar], kind: Kind) -> pa.Array:
    return numbers_to_arrow(numpy.array(values, _DTYPES.get(kind, numpy.int64)))


def _nullable(column: pa.Array, present: NDArray[numpy.bool_]) -> pa.Array:
    """Return the column with NULL where `present` does not hold."""
    import pyarrow as pa

    if present.all():
        return column
    return pa.Array.from_buffers(column.type, len(column), [mask_to_arrow(present).buffers()[1], column.buffers()[1]])


def _lists(values: list[list[Scalar] | None], kind: Kind) -> pa.Array:
    import pyarrow as pa

    sizes = numpy.array([0, *(len(each or ()) for each in values)], numpy.int64)
    flat = _numbers([value for each in values for value in each or ()], kind)
    return pa.LargeListArray.from_arrays(numbers_to_arrow(numpy.cumsum(sizes)), flat).cast(pa.list_(flat.type))


def _for_duckdb(pattern: str | None) -> str | None:
    """Return the pattern as DuckDB reads it, None if it is malformed."""
    try:
        return None if pattern is None else translate_to_re2(pattern)
    except PatternError:
        return None


def _attempt(function: Callable[..., Scalar], args: Sequence[Scalar]) -> Scalar:
    """Return the value, or None if there is no value."""
    try:
        return None if None in args else function(*args)
    except (ArithmeticError, ValueError):
        return None


def _fit(value: Scalar, kind: Kind) -> Scalar:
    """Return a result as a value of its kind: integers wrap around, there is no NaN and no -0.0."""
    if value is None or kind not in NUMERIC:
        return value
    if kind == "float":
        return None if math.isnan(value) else value + 0.0
    return value % _SIZE if kind == "unsigned" else (value - _SMALLEST) % _SIZE + _SMALLEST


# --- the functions ---------------------------------------------------------------------------------------------------


def _quotient(a: Scalar, b: Scalar) -> Scalar:
    if isinstance(a, float):
        return a / b
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _power(a: Scalar, b: Scalar) -> Scalar:
    if isinstance(a, float):
        try:
            return math.pow(a, b)
        except OverflowError:
            return -math.inf if a < 0 and b % 2 == 1 else math.inf
    return pow(a, b, _SIZE) if b >= 0 else {1: 1, -1: 1 - 2 * (b % 2)}.get(a)


def _integer(a: Scalar, low: int, high: int) -> int | None:
    """Return a number, a float or a text as an integer from `low` to `high`; numbers and unsigned wrap around later."""
    if isinstance(a, int):
        return a
    if isinstance(a, str):
        parts = re.fullmatch(r"([+-]?)(?:0x([0-9a-fA-F]+)|0b([01]+)|([0-9]+))", a)
        if parts is None:
            return None
        base = 16 if parts[2] else 2 if parts[3] else 10
        digits = (parts[2] or parts[3] or parts[4]).lstrip("0") or "0"
        value = _SIZE if len(digits) > 64 else int(digits, base)
        value = -value if parts[1] == "-" else value
    else:
        value = int(a)
    return value if low <= value <= high else None


def _float(a: Scalar) -> float | None:
    if isinstance(a, str) and not re.fullmatch(r"[+-]?(inf|([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?)", a):
        return None
    return float(a)


def _same_bits(a: Scalar, kind: Kind) -> Scalar:
    """Return the number of `kind` with the bits of `a`; integers wrap into their range later."""
    if isinstance(a, float) == (kind == "float"):
        return a
    if kind == "float":
        return struct.unpack("<d", struct.pack("<Q", a % _SIZE))[0]
    return struct.unpack("<q", struct.pack("<d", a))[0]


def _steps(start: float, end: float, step: float | None = None, *, look: Look) -> list[float]:
    """Yield the values of a range of floats, one by one, because sums of floats depend on the order."""
    step = (1.0 if start <= end else -1.0) if step is None else step
    values: list[float] = []
    while (step > 0 and start < end) or (step < 0 and start > end):
        values.append(start + 0.0)
        start, before = start + step, start
        if start == before:
            break
        if len(values) % _MANY == 0:
            look()
            if len(values) > _MOST:
                raise MemoryError(f"a range of floats has more than {_MOST:,} values")
    if step == 0 and start != end:
        values.append(start + 0.0)
    return values


_to_number = partial(_integer, low=_SMALLEST, high=_LARGEST)
_to_unsigned = partial(_integer, low=0, high=_SIZE - 1)


def _join_texts(a: str, b: str) -> str:
    if len(a) + len(b) > _MOST:
        raise MemoryError(f"a text has more than {_MOST:,} characters")
    return a + b


_FUNCTORS: dict[str, Callable[..., Scalar]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _quotient,
    "%": lambda a, b: a - b * _quotient(a, b),
    "^": _power,
    "neg": operator.neg,
    "band": operator.and_,
    "bor": operator.or_,
    "bxor": operator.xor,
    "bnot": operator.invert,
    "bshl": lambda a, b: a << (b % 64),
    "bshr": lambda a, b: a >> (b % 64),
    "bshru": lambda a, b: (a % _SIZE) >> (b % 64),
    "land": lambda a, b: int(a != 0 and b != 0),
    "lor": lambda a, b: int(a != 0 or b != 0),
    "lxor": lambda a, b: int((a != 0) != (b != 0)),
    "lnot": lambda a: int(a == 0),
    "min": min,
    "max": max,
    "cat": _join_texts,
    "strlen": len,
    "substr": lambda text, start, length: text[start : start + length] if start >= 0 and length > 0 else "",
    "codepoint": lambda text: ord(text[0]) if text else 0,
    "to_string": lambda a: repr(a) if isinstance(a, float) else str(a),
    **dict.fromkeys(("to_number", "utoi", "ftoi"), _to_number),
    **dict.fromkeys(("to_unsigned", "itou", "ftou"), _to_unsigned),
    **dict.fromkeys(("to_float", "itof", "utof"), _float),
}
_COMPARISONS: dict[str, Callable[[Scalar, Scalar], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "contains": lambda part, text: part in text,
    "!contains": lambda part, text: part not in text,
    "starts_with": lambda text, part: text[: len(part)] == part,
    "!starts_with": lambda text, part: text[: len(part)] != part,
    "ends_with": lambda text, part: text[max(0, len(text) - len(part)) :] == part,
    "!ends_with": lambda text, part: text[max(0, len(text) - len(part)) :] != part,
}


def _sum(values: list[Scalar]) -> float:
    """Return the exact sum, rounded once. Raise ValueError for infinities of both signs, OverflowError if it is too
    large."""
    try:
        return math.fsum(values)
    except OverflowError:  # maybe of a partial sum only
        infinite = {value for value in values if math.isinf(value)}
        return math.fsum(infinite) if infinite else float(sum(map(Fraction, values)))


_FOLDS: dict[AggregateName, Callable[[list[Scalar]], Scalar]] = {
    "sum": _sum,
    "mean": lambda values: _sum(list(map(float, values))) / len(values),
    "any": min,
    "min": min,
    "max": max,
    "collect": lambda values: _join_texts(",".join(map(_FUNCTORS["to_string"], sorted({*values}))), ""),
    "median": lambda values: _middle(sorted(values)),
}


def _middle(ordered: list[Scalar]) -> float:
    low, high = float(ordered[(len(ordered) - 1) // 2]), float(ordered[len(ordered) // 2])
    return low if len(ordered) % 2 else (low + high) / 2
