"""Files of `.input` and `.output`: their names, their formats, and errors for those that are missing.

    format     read             written        names
    file       text_reader      text_writer    .facts .csv .tsv .txt, each also with .gz; CSV, or as the options say
    parquet    table_files      table_files    .parquet
    arrow      table_files      table_files    .arrow .feather
    json       json_values      json_values    .json .json.gz
    sqlite     sqlite_files     sqlite_files   .sqlite .db

A writer makes a new file beside the old one and renames it when it is whole.
"""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import numpy as np

from tidelog.common.arrays import Words
from tidelog.common.source import Span
from tidelog.durable.whole_files import report_write_errors, whole_file
from tidelog.errors import DataError, Problem
from tidelog.io.json_values import json_of, read_json
from tidelog.io.options import FileOptions, GivenOptions, decompress, file_bytes, to_utf8
from tidelog.io.relation import sorted_words
from tidelog.io.sqlite_files import read_sqlite, write_sqlite
from tidelog.io.table_files import read_arrow, read_parquet, write_arrow, write_parquet
from tidelog.io.text_reader import TextFormat, read_text
from tidelog.io.text_writer import REMEDY, text_of
from tidelog.language.syntax import Column, Directive, RelationType
from tidelog.storage.dictionary import Dictionary

_FORMS = {"number": "a whole number", "unsigned": "a whole number from 0 on", "float": "a number", "symbol": "a text"}
_OTHERS = {"number": "float", "unsigned": "number", "float": "symbol", "symbol": "number"}
"""The types of a column that take more values, or those of the other sort."""
_OF_PYTHON = ("(…)", "pass ", "write a tuple", "write a row as a tuple", "value.")


@contextmanager
def hints_for_files(relation: RelationType, dictionary: Dictionary) -> Iterator[None]:
    """Raise the errors of the block about values of a relation with hints for files, where theirs speak of Python."""
    try:
        yield
    except DataError as error:
        problem = error.problems[0]
        if problem.hint is None or not any(each in problem.hint for each in _OF_PYTHON):
            raise
        name = (problem.place or "").rpartition(", column ")[2]
        column = next((each for each in relation.columns if each.name == name), None)
        names = ", ".join(each.name for each in relation.columns)
        by_position = " to go by position" if problem.code == "E0406" else ""
        hint = f"write each row as a list of {names}{by_position}, or as an object with these names"
        if column is not None:
            hint = f"write {_form(column, dictionary)}"
            hint += f", or declare {name} as {_OTHERS[column.kind]}" if column.kind in _OTHERS else ""
        raise DataError(replace(problem, hint=hint)) from None


def _form(column: Column, dictionary: Dictionary) -> str:
    if column.kind in _FORMS:
        return _FORMS[column.kind]
    type_ = dictionary.types[column.kind]
    if not type_.branches:
        return f"[{', '.join(field.name for field in type_.fields)}], or null for nil"
    branches = (", ".join((f'["${each.name}"', *(field.name for field in each.fields))) for each in type_.branches)
    return " or ".join(f"{each}]" for each in branches)


_SUFFIXES = {
    ".facts": "file",
    ".csv": "file",
    ".tsv": "file",
    ".txt": "file",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".json": "json",
    ".sqlite": "sqlite",
    ".db": "sqlite",
}
_DEFAULT_OUTPUT = {"file": ".csv", "parquet": ".parquet", "arrow": ".arrow", "json": ".json", "sqlite": ".sqlite"}
_SEARCHED = (".facts", ".csv", ".tsv", ".parquet", ".arrow", ".feather", ".json")


def input_options(options: GivenOptions, relation: RelationType, span: Span | None) -> FileOptions:
    """Return the options of an `.input` directive of a relation. Raise DataError (E0413) for wrong ones."""
    wanted = FileOptions.of(options, span)
    if wanted.columns and len(wanted.columns) != len(relation.columns):
        message = f"columns={':'.join(map(str, wanted.columns))} does not fit the columns of {relation.name}"
        raise DataError(Problem("E0413", message, span=span, hint=f"write {len(relation.columns)} positions"))
    return wanted


def options_for_file(file: str, own: GivenOptions, declared: Sequence[GivenOptions], name: str) -> GivenOptions:
    """Return the options to read a file with, or standard input for "-": its `own` ones, and for the rest those of the
    relation's `.input`, as far as they are for this format. The ending of the file names the format, unless it is the
    ending of the declared file, or "-", .txt or unknown.

    Of several directives, the one that names the file counts. Raise DataError (E0413) if none does and they differ,
    unless there are `own` options.
    """
    same = [each for each in declared if Path(str(each.get("filename", ""))).name == Path(file).name]
    found = [_for_file(file, own, each) for each in same or declared or [{}]]
    if any(each != found[0] for each in found):
        if not own:
            message = f"{name} has {len(declared)} directives `.input`, whose options differ"
            hint = f"add the options for {file}, such as '{name}(rfc4180=true)={file}'"
            raise DataError(Problem("E0413", message, hint=hint))
        return _for_file(file, own, {})
    return found[0]


def _for_file(file: str, own: GivenOptions, declared: GivenOptions) -> dict[str, str | int | bool]:
    options = {key: value for key, value in declared.items() if key not in ("filename", "dbname", "IO")}
    declared_file = Path(str(declared.get("filename", declared.get("dbname", ""))))
    declared_io = str(declared.get("IO", _format_of(declared_file)))
    declared_io = {"jsonfile": "json", "stdin": "file"}.get(declared_io, declared_io)
    suffixes = [Path(each.removesuffix(".gz")).suffix for each in (file, declared_file.name)]
    names_format = suffixes[0] in _SUFFIXES and suffixes[0] not in (".txt", suffixes[1])
    io = str(own.get("IO", _SUFFIXES[suffixes[0]] if names_format else declared_io))
    options = {**(options if io == declared_io else {}), **own, "IO": io}
    if file != "-":
        return {**options, "filename": file}
    return {**options, "IO": "stdin"} if io == "file" else {**options, "filename": "/dev/stdin"}


def read_facts(
    options: GivenOptions,
    folder: Path | str,
    relation: RelationType,
    dictionary: Dictionary,
    span: Span | None = None,
) -> Words:
    """Return the facts that an `.input` directive names, as words; int64 of shape (rows, arity).

    The file is `filename`, or REL.facts, in `folder`, or either with .gz behind it. If the program gives neither name
    nor format, also look for REL.csv, REL.tsv and the other names of the table above, packed or not.
    Raise DataError if the file is missing or wrong.
    """
    wanted = input_options(options, relation, span)
    if wanted.io in ("stdin", "stdout"):
        if wanted.io == "stdout":
            raise DataError(Problem("E0413", "IO=stdout cannot be read", span=span, hint="write IO=stdin"))
        data = to_utf8(decompress(sys.stdin.buffer.read(), "<stdin>"), wanted.encoding, "<stdin>")
        return read_text(data, "<stdin>", _text_format(wanted, "", b"", relation), relation, dictionary)
    path = _input_path(wanted, Path(folder), relation)
    io = wanted.io or _format_of(path)
    if wanted.columns and io == "json":
        message = f"columns picks columns of text files and tables, and {path.name} is read as {io}"
        hint = "remove the option: lists go by position, objects by name"
        raise DataError(Problem("E0413", message, span=span, hint=hint))
    if wanted.encoding is not None and io not in ("file", "json"):
        message = f"encoding is for text files, and {path.name} is read as {io}"
        raise DataError(Problem("E0413", message, span=span, hint="remove the option"))
    if io == "file":
        return _read_text_file(path, wanted, relation, dictionary)
    readers: dict[str, Callable[[Path, FileOptions, RelationType, Dictionary], Words]] = {
        "json": read_json,
        "parquet": read_parquet,
        "arrow": read_arrow,
        "sqlite": read_sqlite,
    }
    with hints_for_files(relation, dictionary):
        return readers[io](path, wanted, relation, dictionary)


def write_view(
    options: GivenOptions,
    folder: Path | str | None,
    relation: RelationType,
    words: Words,
    dictionary: Dictionary,
    span: Span | None = None,
    stream: BinaryIO | None = None,
    remedy: str = REMEDY,
) -> Path | None:
    """Write the rows of a relation, sorted, as an `.output` directive says; return the path of the file. Raise
    DataError: E0412, E0413, and E0414 with the hint `remedy` for a row that would read back as something else.

    The file is `filename`, or REL.csv (REL.parquet, …), in `folder`. With IO=stdout, or without a folder, the rows go
    to `stream` (standard output) between Soufflé's lines instead; without a folder under the names of the columns.
    """
    wanted = FileOptions.of(options, span)
    if wanted.columns:
        hint = "remove the option, or write a relation of these columns"
        raise DataError(Problem("E0413", "columns picks columns of an input", span=span, hint=hint))
    if wanted.encoding is not None:
        hint = "remove the option: tidelog writes UTF-8"
        raise DataError(Problem("E0413", "encoding is that of an input", span=span, hint=hint))
    rows = sorted_words(np.asarray(words, dtype=np.int64), relation.columns, dictionary)
    if wanted.io == "stdin":
        raise DataError(Problem("E0413", "IO=stdin cannot be written", span=span, hint="write IO=stdout"))
    if wanted.io == "stdout" or folder is None:
        headers = wanted.headers or folder is None
        form = replace(_text_format(wanted, "", b"", relation), headers=headers)
        _print(relation, form, text_of(rows, relation.columns, dictionary, form, span, remedy), stream)
        return None
    path = _output_path(wanted, Path(folder), relation)
    io = wanted.io or _format_of(path)
    if io == "sqlite":
        with report_write_errors(path):
            write_sqlite(path, wanted, relation, rows, dictionary)
        return path
    with whole_file(path) as temporary:
        if io == "parquet":
            write_parquet(temporary, wanted, relation, rows, dictionary)
        elif io == "arrow":
            write_arrow(temporary, wanted, relation, rows, dictionary)
        else:
            packed = wanted.compress or path.suffix == ".gz"
            with (
                temporary.open("wb") as plain,
                gzip.GzipFile("", "wb", fileobj=plain, mtime=0) if packed else plain as file,
            ):
                if io == "json":
                    file.write(json_of(rows, relation, dictionary, wanted.objects))
                else:
                    form = _text_format(wanted, path.name, b"", relation)
                    for piece in text_of(rows, relation.columns, dictionary, form, span, remedy):
                        file.write(piece)
    return path


def reject_lost_outputs(outputs: Iterable[Directive], relations: Mapping[str, RelationType]) -> None:
    """Raise DataError (E0413) if an `.output` would replace the file that another one writes by other contents."""
    first: dict[str, tuple[Directive, FileOptions]] = {}
    for directive in outputs:
        wanted = FileOptions.of(directive.options, directive.span)
        if wanted.io == "stdout":
            continue
        path = os.path.normpath(_output_path(wanted, Path(), relations[directive.relation]))
        other, options = first.setdefault(path, (directive, wanted))
        same = other.relation == directive.relation and options == replace(wanted, span=options.span)
        if same or options.io == wanted.io == "sqlite":  # A database has a table for each relation.
            continue
        if other.relation == directive.relation:
            message = f"`{other.relation}` is written to the file {path} twice, with different options"
        else:
            message = f"`{other.relation}` and `{directive.relation}` are both written to the file {path}"
        notes = () if other.span is None else ((other.span, "the other `.output` of this file"),)
        raise DataError(Problem("E0413", message, directive.span, notes, hint="give one of them another `filename`"))


def size_line(relation: RelationType, count: int) -> str:
    """Return the line that `.printsize` prints."""
    return f"{relation.name}\t{count}"


# --- which file ------------------------------------------------------------------------------------------------------


def _format_of(path: Path) -> str:
    return _SUFFIXES.get(Path(path.name.removesuffix(".gz")).suffix, "file")


def _input_path(wanted: FileOptions, folder: Path, relation: RelationType) -> Path:
    if wanted.filename is not None:
        packed = [] if wanted.filename.endswith(".gz") else [folder / f"{wanted.filename}.gz"]
        candidates = [folder / wanted.filename, *packed]
    elif wanted.io in (None, "file"):
        suffixes = [s for s in _SEARCHED if wanted.io is None or _SUFFIXES[s] == "file"]
        candidates = [folder / f"{relation.name}{s}{packed}" for s in suffixes for packed in ("", ".gz")]
        candidates = [
            path for path in candidates if _SUFFIXES.get(path.suffix) not in ("parquet", "arrow") or path.exists()
        ]
    else:
        ends = [suffix for suffix, io in _SUFFIXES.items() if io == wanted.io]
        candidates = [folder / f"{relation.name}{suffix}{packed}" for suffix in ends for packed in ("", ".gz")]
    for path in candidates:
        if path.exists():
            return path
    names = [path.name for path in candidates if not path.name.endswith(".gz")]
    hint = f"create it, or one of {', '.join(names[1:])}" if len(names) > 1 else None
    if not folder.is_dir():
        hint = f"create the folder {folder}, or pass another one"
    elif hint is None:
        there = sorted(path.name for path in folder.iterdir())
        shown = f"{', '.join(there[:8]) or 'no files'}{', …' if len(there) > 8 else ''}"
        hint = f"put the file into the folder {folder}, which has {shown}"
    message, file = f"the facts file of {relation.name} does not exist", str(candidates[0])
    if wanted.span is not None:
        raise DataError(Problem("E0410", f"{message}: {file}", span=wanted.span, hint=hint))
    raise DataError(Problem("E0410", message, hint=hint, place=file))


def _output_path(wanted: FileOptions, folder: Path, relation: RelationType) -> Path:
    if wanted.filename is not None:
        return folder / wanted.filename
    packed = ".gz" if wanted.compress and wanted.io in (None, "file", "json") else ""
    return folder / f"{relation.name}{_DEFAULT_OUTPUT[wanted.io or 'file']}{packed}"


# --- text ------------------------------------------------------------------------------------------------------------


def _read_text_file(path: Path, options: FileOptions, relation: RelationType, dictionary: Dictionary) -> Words:
    data = file_bytes(path, options.encoding)
    first_line = data[: data.find(b"\n") + 1] or data
    return read_text(data, str(path), _text_format(options, path.name, first_line, relation), relation, dictionary)


def _text_format(options: FileOptions, name: str, first_line: bytes, relation: RelationType) -> TextFormat:
    """Return the format of a text file. The default delimiter is TAB, but a comma for a .csv file of several columns
    whose first line has commas and no TAB."""
    delimiter = options.delimiter
    if delimiter is None:
        is_csv = name.removesuffix(".gz").endswith(".csv")
        is_csv &= len(relation.columns) > 1 or options.headers or bool(options.columns)
        delimiter = "," if is_csv and b"," in first_line and b"\t" not in first_line else "\t"
    return TextFormat(delimiter, options.headers, options.rfc4180, options.columns, options.names)


_RULE = {False: "---------------\n", True: "===============\n"}


def _print(relation: RelationType, form: TextFormat, pieces: Iterator[bytes], stream: BinaryIO | None) -> None:
    """Print a relation as Soufflé does, with or without the names of its columns."""
    found = list(pieces)  # An error comes before the first line.
    found.insert(int(form.headers), _RULE[True].encode())
    to = stream or sys.stdout.buffer
    to.write(f"{_RULE[False]}{relation.name}\n".encode())
    to.writelines(found)
    to.write(_RULE[True].encode())
    to.flush()
