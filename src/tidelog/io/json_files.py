"""JSON files: a list of rows, each a list of values or an object by column names.

`json_values` has the layouts of the values.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tidelog.common.arrays import Words
from tidelog.io.json_values import json_text, with_branches
from tidelog.io.options import FileOptions
from tidelog.io.packed import NOT_UTF8, file_bytes
from tidelog.io.relation import Relation, WordRows
from tidelog.io.rows import encode_rows, place_in
from tidelog.io.values import Complaint
from tidelog.language.syntax import RelationType
from tidelog.storage.dictionary import Dictionary

_TOO_DEEP = Complaint("E0411", "the JSON cannot be read: it is nested too deeply", "nest records less deeply")


def read_json(path: Path, options: FileOptions, relation: RelationType, dictionary: Dictionary) -> Words:
    """Return the words of a JSON file."""
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
