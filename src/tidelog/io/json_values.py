"""JSON: the types of columns, values, and files.

For readers of rows that do not have the program, `ColumnTypes` has the types of their columns. In values, nil is null.
Where rows are lists, records are lists of their fields and values with branches `["$Cons", 1, ["$Nil"]]`; where rows
are objects, records are objects by field names and those values `{"$Cons": {"head": 1, "tail": …}}`. The reader takes
both in both, and the text form of the language. A file is a list of rows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from tidelog.common.arrays import Words
from tidelog.io.options import NOT_UTF8, FileOptions, file_bytes
from tidelog.io.record_reader import record_from_text
from tidelog.io.relation import Relation, WordRows
from tidelog.io.values import Complaint, Locator, encode_rows, place_in, row_values, unknown_branch
from tidelog.language.branches import Branch, class_of
from tidelog.language.syntax import PRIMITIVES, BranchType, Column, Kind, RecordType, RelationType, Value
from tidelog.storage.dictionary import Dictionary, record_parts
from tidelog.storage.record_text import format_number

METADATA = b"tidelog.types"
"""The key of the types of an Arrow table in the metadata of its schema."""


@dataclass(frozen=True)
class ColumnTypes:
    """The columns of relations, by name, and the record types that their values contain."""

    columns: Mapping[str, tuple[Column, ...]] = field(default_factory=dict)
    records: Mapping[Kind, RecordType] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        columns = {name: columns_as_json(each) for name, each in self.columns.items()}
        return {"columns": columns, "records": records_as_json(self.records.values())}

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> ColumnTypes:
        """Return the types that `to_dict` has made a document of."""
        columns = {name: _columns(each) for name, each in document["columns"].items()}
        return cls(columns, {each["name"]: _record(each) for each in document["records"]})


def columns_as_json(columns: Iterable[Column]) -> list[dict[str, str]]:
    return [asdict(column) for column in columns]


def records_as_json(records: Iterable[RecordType]) -> list[dict[str, Any]]:
    found = [asdict(replace(record, span=None)) for record in records]
    return [{key: each[key] for key in ("name", "fields", "branches")} for each in found]


def _columns(found: Sequence[Mapping[str, Any]]) -> tuple[Column, ...]:
    return tuple(Column(**each) for each in found)


def _record(found: Mapping[str, Any]) -> RecordType:
    branches = (BranchType(each["name"], _columns(each["fields"]), tuple(each["places"])) for each in found["branches"])
    return RecordType(found["name"], _columns(found["fields"]), tuple(branches))


def with_branches(rows: list[Any], relation: RelationType, dictionary: Dictionary, place: Locator) -> list[Any]:
    """Return the rows with values of types with branches in place of lists, objects and texts that stand for them."""
    wanted = [
        (i, c) for i, c in enumerate(relation.columns) if c.kind not in PRIMITIVES and dictionary.types.is_text(c.kind)
    ]
    if not wanted:
        return rows
    found = []
    for number, row in enumerate(rows):
        if isinstance(row, (list, dict)):
            row = list(row_values(row, number, relation, place))
            for i, column in wanted:
                if i < len(row):
                    value = _decode_item(row[i], column, dictionary)
                    if isinstance(value, Complaint):
                        raise value.at(place(number, column.name))
                    row[i] = value
        found.append(row)
    return found


def _decode_item(item: Any, column: Column, dictionary: Dictionary) -> Any:
    """Return the value that an item of a JSON text stands for in a column or field, or the complaint about it. Items of
    other types stay as they are, for `encode_rows` to judge."""
    if column.kind in PRIMITIVES or item is None:
        return item
    type_ = dictionary.types[column.kind]
    if not type_.branches:
        own = record_parts(item, type_.fields)
        return item if own is None else _each(own, type_.fields, dictionary, tuple)
    if isinstance(item, str):
        return record_from_text(item, column, dictionary)
    name, parts = _split_branch(item)
    if name is None:
        return item
    branch = type_.branch(name)
    found = unknown_branch(name, len(parts), type_, column.type)
    if found is not None or branch is None:
        return found
    values = record_parts(parts, branch.fields)
    if values is None:
        fields = ", ".join(field.name for field in branch.fields)
        message = f"the branch {name} has the parts {fields}, found {', '.join(parts)}"
        return Complaint("E0401", message, "name each part once")
    return _each(values, branch.fields, dictionary, lambda given: class_of(branch)(*given))


def _split_branch(item: Any) -> tuple[str | None, Any]:
    """Return the name of the branch that an item begins with, and the parts; None without a branch."""
    if isinstance(item, dict) and len(item) == 1:
        ((name, parts),) = item.items()
        return (name[1:], parts) if name.startswith("$") and isinstance(parts, (list, dict)) else (None, ())
    if isinstance(item, list) and item and isinstance(item[0], str) and item[0].startswith("$"):
        return item[0][1:], item[1:]
    return None, ()


def _each(
    items: Sequence[Any], fields: Sequence[Column], dictionary: Dictionary, make: Callable[[Sequence[Any]], Any]
) -> Any:
    """Return what `make` makes of the values of the items, or the first complaint."""
    values = [_decode_item(item, field, dictionary) for item, field in zip(items, fields, strict=True)]
    return next((each for each in values if isinstance(each, Complaint)), None) or make(values)


def rows_text(words: Words, columns: Sequence[Column], dictionary: Dictionary) -> str:
    """Return rows of words as JSON: a list of lists, with records as lists."""
    kinds = [column.kind for column in columns]
    values = [dictionary.decode_list(words[:, i], kind) for i, kind in enumerate(kinds)]
    if set(kinds) <= {"number", "unsigned", "symbol"}:
        return json.dumps(list(zip(*values, strict=True)) if kinds else [()] * len(words), ensure_ascii=False)
    texts = [
        [json_text(value, kind, dictionary, False) for value in part] for kind, part in zip(kinds, values, strict=True)
    ]
    rows = (", ".join(row) for row in zip(*texts, strict=True))
    return "[" + ", ".join(f"[{row}]" for row in rows) + "]"


def plain(value: Any) -> Any:
    """Return a value in types that JSON has; numbers that it lacks (NaN, infinities) become strings."""
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        name = getattr(value, "_name", None)  # that of a branch
        return [*([] if name is None else [f"${name}"]), *map(plain, value)]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    return str(value)


def value_of_json(item: Any, kind: Kind, records: Mapping[Kind, RecordType]) -> Any:
    """Return the value of a kind that `plain` has made an item of."""
    if kind == "float":
        return float(item)
    if kind not in records or item is None:
        return item
    branch = records[kind].branch(item[0].removeprefix("$")) if records[kind].branches else None
    fields, parts = (records[kind].fields, item) if branch is None else (branch.fields, item[1:])
    values = (value_of_json(part, field.kind, records) for part, field in zip(parts, fields, strict=True))
    return tuple(values) if branch is None else class_of(branch)(*values)


def json_text(value: Value, kind: Kind, dictionary: Dictionary, objects: bool) -> str:
    """Return a value as JSON, records as lists or objects. Python's stack does not limit its depth."""
    pieces: list[str] = []
    waiting: list[tuple[Any, Kind | None]] = [(value, kind)]  # without a kind, a text to be copied
    while waiting:
        item, item_kind = waiting.pop()
        if item_kind is None:
            pieces.append(item)
        elif item is None:
            pieces.append("null")
        elif isinstance(item, tuple):
            waiting += _parts(item, dictionary.types[item_kind], objects)[::-1]
        else:
            pieces.append(
                _to_json_string(item)
                if isinstance(item, str)
                else _number(item)
                if isinstance(item, float)
                else str(item)
            )
    return "".join(pieces)


def _parts(value: tuple[Any, ...], type_: RecordType, objects: bool) -> list[tuple[Any, Kind | None]]:
    """Return the parts of a record or of a value with branches with their kinds, and the texts around them."""
    name = value._name if isinstance(value, Branch) else None
    opening, closing, between = ("{", "}", "") if objects else ("[", "]", "")
    found: list[tuple[Any, Kind | None]] = []
    if name is not None:
        begin = f"{{{_to_json_string('$' + name)}: {{" if objects else f"[{_to_json_string('$' + name)}"
        opening, closing, between = (begin, "}}", "") if objects else (begin, "]", ", ")
    found.append((opening, None))
    for part, declared in zip(value, type_.parts(name), strict=True):
        found.append((f"{between}{_to_json_string(declared.name)}: " if objects else between, None))
        found.append((part, declared.kind))
        between = ", "
    return [*found, (closing, None)]


def _number(value: float) -> str:
    """Return a number as JSON: infinities as numbers beyond the range of floats, which read as infinite; NaN as
    null."""
    if math.isfinite(value):
        return format_number(value)
    return "null" if math.isnan(value) else "1e999" if value > 0 else "-1e999"


def _to_json_string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


_TOO_DEEP = Complaint("E0411", "the JSON cannot be read: it is nested too deeply", "nest records less deeply")


def read_json(path: Path, options: FileOptions, relation: RelationType, dictionary: Dictionary) -> Words:
    try:
        rows: Any = json.loads(file_bytes(path, options.encoding))
    except json.JSONDecodeError as error:
        place = f"{path}:{error.lineno}:{error.colno}"
        raise Complaint("E0411", f"expected JSON, but {error.msg}", "write a list of lists or of objects").at(
            place
        ) from None
    except UnicodeDecodeError as error:
        raise Complaint("E0408", f"the byte at {error.start} is not UTF-8", NOT_UTF8).at(str(path)) from None
    except RecursionError:
        raise _TOO_DEEP.at(str(path)) from None
    except ValueError:  # Python reads integers of at most 4,300 digits.
        message = "the JSON cannot be read: a number has too many digits"
        raise Complaint("E0411", message, "write numbers of at most 64 bits").at(str(path)) from None
    if not isinstance(rows, list):
        found = f"found {'an object' if isinstance(rows, dict) else 'a single value'}"
        raise Complaint("E0411", f"expected a list of rows, {found}", "write [[1, 2], [3, 4]]").at(str(path))
    locator = place_in(str(path))
    try:
        rows = with_branches(rows, relation, dictionary, locator)
    except RecursionError:
        raise _TOO_DEEP.at(str(path)) from None
    return encode_rows(rows, relation, dictionary, locator)


def json_of(words: Words, relation: RelationType, dictionary: Dictionary, objects: bool) -> bytes:
    """Return the file, with a row per line."""
    names = [json.dumps(column.name, ensure_ascii=False) for column in relation.columns]
    lines = []
    for row in Relation(relation.name, WordRows(relation.columns, dictionary, words)):
        values = [
            json_text(value, column.kind, dictionary, objects)
            for value, column in zip(row, relation.columns, strict=True)
        ]
        if objects:
            pairs = (f"{name}: {value}" for name, value in zip(names, values, strict=True))
            lines.append("{" + ", ".join(pairs) + "}")
        else:
            lines.append("[" + ", ".join(values) + "]")
    return ("[\n" + ",\n".join(lines) + "\n]\n" if lines else "[]\n").encode()
