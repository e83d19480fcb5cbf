"""Map frames and files to declared relations: rows that fit, and the others with their reasons.

`map_frame` and `map_exactly` make a `Mapped`, which `facts` evaluates. `readers` makes frames of files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TypeAlias

from pyspark.sql import Column as Expression
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidelog.errors import DataError, Problem, UsageError, quote
from tidelog.io.encode import key_positions
from tidelog.language.syntax import CheckedProgram, RelationType
from tidelog.spark.failures import report_source_errors
from tidelog.spark.sources.changes import ASSERTS, Operation, change_columns, is_undecided, order_columns
from tidelog.spark.sources.checks import Leaf, WrongType, leaves, missing_column
from tidelog.spark.sources.feeds import open_feed
from tidelog.spark.sources.orders import Latest, latest_of
from tidelog.spark.sources.readers import REPLACEMENT, TORN, named_column
from tidelog.storage.column_names import match_columns, positions_by_name

REASON, ROW, FILE = "reason", "row", "source"
ANOTHER = "another row has this key"
Shape: TypeAlias = Callable[[DataFrame], DataFrame]
QUARANTINE_COLUMNS = ("relation string", f"{REASON} string", f"{ROW} string", f"{FILE} string")


@dataclass(frozen=True)
class Mapped:
    """A frame of leaf columns, and `reason`, `row` (JSON) and `source` (a file), null where a row fits. `place` is what
    errors call it.

    With an `operation` there is ASSERTS, and the columns `order` if `latest` keeps the latest events. `key` are the
    positions of the columns by which rows replace facts, None where they do not. `shape` makes such a frame of the
    user's. `plain` makes one of the leaf columns alone, if these show that all rows fit (`Leaf`), otherwise it is None.

    `size` is the number of bytes of the texts that the rows are in, None if that is not known. Where a row has the
    reason OPEN, `with_line_breaks` returns the right rows, or None if these are right, see `FileFrame`.
    """

    relation: str
    frame: DataFrame
    shape: Shape
    leaves: tuple[Leaf, ...]
    operation: Operation | None = None
    place: str = ""
    key: tuple[int, ...] | None = None
    latest: Latest | None = None
    order: tuple[Leaf, ...] = ()
    plain: Shape | None = None
    size: int | None = None
    with_line_breaks: Callable[[], Mapped | None] | None = None

    def of(self, frame: DataFrame, place: str) -> Mapped:
        """Return another frame with the same columns, mapped in the same way: without the many calls of Java that
        build and check expressions."""
        return replace(self, frame=self.shape(frame), place=place)


def leaves_of_columns(given: Sequence[Leaf], columns: Sequence[int]) -> list[Leaf]:
    """Return the leaves of some columns of a relation."""
    wanted = {f"c{position}" for position in columns}
    return [leaf for leaf in given if leaf.name.split("_")[0] in wanted]


def renumber(given: Sequence[Leaf], columns: Sequence[int]) -> dict[str, Leaf]:
    """Return the leaves of some columns, by their names, with the names that they have where there are no others."""
    places = {f"c{position}": f"c{i}" for i, position in enumerate(columns)}
    found = {}
    for leaf in given:
        column, *fields = leaf.name.split("_")
        found[leaf.name] = replace(leaf, name="_".join([places[column], *fields]))
    return found


def map_frame(
    program: CheckedProgram,
    relation: str,
    frame: DataFrame,
    columns: Mapping[str, str | Expression] | None = None,
    rejected: str | None = None,
    operation: Operation | None = None,
    torn: Expression | None = None,
    of_bytes: bool = False,
) -> Mapped:
    """Map a frame to a relation by column names, or as `columns` says (declared name -> name or expression).

    `rejected` names a column of the frame that is null in good rows and a reason in rows already known to be bad.
    With an `operation` the frame is a feed of changes, or its rows replace those of their keys. `torn` is the reason of
    rows that have a text in the column TORN, which the reader could not take apart; a reader `of_bytes` puts a
    character of its own in the place of those that are no UTF-8. DataError (E0480, E0481) when columns are missing or
    have types that cannot hold the declared kinds, or say when; UsageError (E0485, E0685) for a wrong key.
    """
    declared = relation_type(program, relation)
    no_stream(frame, relation)
    shown: Expression | None = None
    broken: Expression | None = None
    opening: Shape | None = None
    if operation is not None and operation.feed is not None:
        _check_declared_names(declared, columns or {})
        feed = open_feed(operation, frame, declared, program.records, columns or {}, rejected)
        opening, columns, operation, shown, broken = feed.shape, feed.columns, feed.operation, feed.shown, feed.broken
        frame = opening(frame)
    names = [name for name in frame.columns if torn is None or name != TORN]
    known = {name: named_column(name) for name in names}
    _check_declared_names(declared, columns or {})
    own = [column.name for column in declared.columns]
    wanted = {name: names[position] for name, position in positions_by_name(names, own).items()} | dict(columns or {})
    found: list[Expression] = []
    problems = []
    for column in declared.columns:
        source = wanted.get(column.name, column.name)
        if isinstance(source, Expression):
            found.append(source)
        elif source in known:
            found.append(known[source])
        else:
            what = f"{source!r} for {relation}.{column.name}"
            problems.append(missing_column(relation, what, names, _hint(column.name, source, names)))
    needed = [rejected] if operation is None else [rejected, *operation.columns]
    for further in needed:
        if further is not None and further not in known:
            problems.append(missing_column(relation, repr(further), names, "name the column as the frame does"))
    if problems:
        raise DataError(*problems)
    if shown is None:
        shown = F.to_json(F.struct(*known.values()), {"ignoreNullFields": "false"}) if names else F.lit("{}")
    if torn is not None:
        line = named_column(TORN)
        shown = F.when(line.isNotNull(), F.to_json(F.struct(line.alias("line")))).otherwise(shown)
        why = F.when(line.isNotNull(), torn)
        if of_bytes:
            for value in found:
                why = why.when(value.cast("string").contains(REPLACEMENT), F.lit("not valid UTF-8"))
        broken = why if broken is None else F.coalesce(why, broken)
    reason = None if rejected is None else known[rejected].cast("string")
    mapped = _source(program, declared, frame, found, shown, broken=broken, rejected=reason, operation=operation)
    return mapped if opening is None else replace(mapped, shape=_composition(opening, mapped.shape), plain=None)


def map_exactly(
    program: CheckedProgram, declared: RelationType, frame: DataFrame, operation: Operation | None = None
) -> Mapped:
    """Map a frame whose columns are those of a relation, by name, see `column_names`; types have to be
    the declared ones. With an `operation`, rows replace those of their keys.
    DataError (E0406, E0481), UsageError (E0484, E0485, E0685)."""
    relation = declared.name
    no_stream(frame, relation)
    names = [column.name for column in declared.columns]
    way = f"pass frame.toDF({', '.join(map(repr, names))})"
    order = match_columns(frame.columns, names, f"relation {relation}", way)

    def rename_columns(frame: DataFrame) -> DataFrame:
        return frame.toDF(*[f"_{i}" for i in range(len(frame.columns))])  # Names may occur twice, or contain dots.

    found = [F.col(f"_{source}") for source in order]
    struct = F.struct(*[value.alias(column.name) for column, value in zip(declared.columns, found, strict=True)])
    shown = F.to_json(struct, {"ignoreNullFields": "false"}) if order else F.lit("{}")
    mapped = _source(program, declared, rename_columns(frame), found, shown, exact=True, operation=operation)
    return replace(mapped, shape=_composition(rename_columns, mapped.shape), plain=None)


def no_stream(frame: DataFrame, relation: str) -> None:
    """Raise UsageError (E0484) for a frame that has no end."""
    with report_source_errors(relation):
        has_no_end = frame.isStreaming
    if has_no_end:
        hint = f"call db.maintain(frame, into={quote(relation)}), which makes each micro-batch an epoch"
        raise UsageError(Problem("E0484", "expected a batch, found a streaming frame", hint=hint, place=relation))


def relation_type(program: CheckedProgram, relation: str) -> RelationType:
    """Return the declaration of a relation; UsageError (E0601) when there is none."""
    if not isinstance(relation, str) or relation not in program.relations:
        known = ", ".join(sorted(program.relations)) or "none"
        message = f"the relation {quote(relation)} is not declared"
        raise UsageError(Problem("E0601", message, hint=f"use one of: {known}"))
    return program.relations[relation]


def _source(
    program: CheckedProgram,
    declared: RelationType,
    frame: DataFrame,
    found: Sequence[Expression],
    shown: Expression,
    *,
    broken: Expression | None = None,
    rejected: Expression | None = None,
    exact: bool = False,
    operation: Operation | None = None,
) -> Mapped:
    """Return the source whose columns are `found`; `shown` is the row as JSON. `broken` is a reason that stands alone,
    `rejected` one that comes before those of the values."""
    with report_source_errors(declared.name):
        types = frame.select(*[column.alias(f"c{i}") for i, column in enumerate(found)]).schema
    flat: list[Leaf] = []
    problems = []
    for i, (column, expression) in enumerate(zip(declared.columns, found, strict=True)):
        try:
            flat += leaves(f"c{i}", column.name, expression, types[i].dataType, column.kind, program.records, exact)
        except WrongType as wrong:
            problems.append(wrong.problem)
    if problems:
        raise DataError(*problems)
    none = F.lit(None).cast("string")
    why = {"broken": none if broken is None else broken, "rejected": none if rejected is None else rejected}
    changes: dict[str, Expression] = {}
    latest, key, order = None, None, list[Leaf]()
    if operation is not None:
        latest = latest_of(program, declared, operation.key, operation.order, frame)
        order = order_columns(operation, frame, latest, flat)
        key = None if operation.key is None and latest is None else key_positions(declared, operation.key)
        with report_source_errors(declared.name):
            changes, why["operation"] = change_columns(operation, order)
    why |= {leaf.name: leaf.reason for leaf in flat}
    if key is not None:  # Of what goes, the key is enough.
        needed = leaves_of_columns(flat, key)
        others = [leaf for leaf in flat if leaf not in needed]
        why |= {leaf.name: F.when(changes[ASSERTS], leaf.reason) for leaf in others}
    values = {**{leaf.name: leaf.value for leaf in flat}, **changes}
    # In two steps, so that Spark has every value and every reason once, and the rest for bad rows only.
    step = [F.col("*"), *_aliases("_value", values), *_aliases("_why", why)]
    said = [named_column(f"_why {name}") for name in why]
    is_bad = F.coalesce(*said).isNotNull()
    reason = F.when(is_bad, F.coalesce(said[0], F.concat_ws("; ", *said[1:]))).alias(REASON)
    shown, file = shown.alias(ROW), F.nullif(F.input_file_name(), F.lit("")).alias(FILE)
    named = [named_column(f"_value {name}").alias(name) for name in values]
    if key is None or len(key) == len(declared.columns):
        bad_only = [F.when(is_bad, shown).alias(ROW), F.when(is_bad, file).alias(FILE)]
        shape = _selection(step, [*named, reason, *bad_only])
    else:
        keys = [declared.columns[position].name for position in key]
        decide = _decision(leaves_of_columns(flat, key), flat, order, keys)
        shape = _composition(_selection(step, [*named, reason, shown, file]), decide)
    plain = None
    if broken is None and rejected is None and operation is None and flat and all(leaf.is_plain for leaf in flat):
        plain = _selection([leaf.value.alias(leaf.name) for leaf in flat])
    place = f"data for {declared.name}"
    return Mapped(declared.name, shape(frame), shape, tuple(flat), operation, place, key, latest, tuple(order), plain)


def _selection(*steps: Sequence[Expression]) -> Shape:
    """Return the shape that selects columns of a frame, and then columns of these."""
    return lambda frame: reduce(lambda rows, columns: rows.select(*columns), steps, frame)


def _composition(first: Shape, second: Shape) -> Shape:
    """Return the shape that makes a frame by one after another."""
    return lambda frame: second(first(frame))


def _decision(key: Sequence[Leaf], values: Sequence[Leaf], order: Sequence[Leaf], keys: Sequence[str]) -> Shape:
    """Return the shape in which rows of one key between which nothing decides have a reason, and ROW and FILE of good
    ones are null."""
    names = [[leaf.name for leaf in columns] for columns in (key, values, order)]
    is_open = is_undecided(F.col(REASON).isNull(), *names)
    said = f"{', '.join(keys)}: {ANOTHER}{' and order' if order else ''}"
    reason = F.coalesce(REASON, F.when(is_open, F.lit(said)))
    bad_only = {name: F.when(F.col(REASON).isNotNull(), F.col(name)) for name in (ROW, FILE)}
    return lambda frame: frame.withColumn(REASON, reason).withColumns(bad_only)


def _aliases(prefix: str, columns: Mapping[str, Expression]) -> list[Expression]:
    return [column.alias(f"{prefix} {name}") for name, column in columns.items()]


def _check_declared_names(declared: RelationType, wanted: Mapping[str, object]) -> None:
    names = [column.name for column in declared.columns]
    for name in wanted:
        if name not in names:
            raise UsageError(
                Problem("E0485", f"{declared.name} has no column {quote(name)}", hint=f"use one of: {', '.join(names)}")
            )


def _hint(column: str, source: str, given: Sequence[str]) -> str:
    """Return how to name the column or field that a user means."""
    if source.partition(".")[0] in given:
        return f"a field of a struct is an expression: pass columns={{{column!r}: F.col({source!r})}}"
    meant = [name for name in given if name.strip().lower() == source.lower()]
    name = meant[0] if len(meant) == 1 else "…"
    return f"pass columns={{{column!r}: {name!r}}}"
