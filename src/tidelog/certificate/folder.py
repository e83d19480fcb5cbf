"""Certificates as folders, so that they can be kept, sent and checked elsewhere (docs/reference/certificates.md).

    manifest.json       format, version, and the relations: columns, stratum, the name of their files
    program.dl          types, declarations and rules; facts are data
    facts/*.parquet     relation, c0, c1, …           the asserted facts
    views/*.parquet     relation, c0, c1, …, birth    the views, with the birth of each tuple

Relations whose columns have the same types share a file. The manifest is written last: a folder without one is no
certificate. What is read is not believed: the program is compiled again and has to have the relations of the manifest,
files have to fit them, and all else is for `check`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy

from tidelog.certificate.certificate import Certificate, Words
from tidelog.errors import CertificateRejected, DataError, Problem, ProgramError, UsageError
from tidelog.io.columns import encode_table
from tidelog.io.rows import place_in
from tidelog.language import check as check_program
from tidelog.language import read
from tidelog.language.syntax import Kind, RelationType
from tidelog.rules import compile_program
from tidelog.rules.core import CoreProgram, RelationInfo
from tidelog.storage.arrow_arrays import numbers_to_arrow, numbers_to_numpy, text_to_arrow
from tidelog.storage.dictionary import Dictionary

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT, VERSION = "tidelog certificate", 1
_AGAIN = "save the certificate again with `db.save_certificate`"


def save(certificate: Certificate, text: str, folder: Path) -> None:
    """Write a certificate whose program is `text`. UsageError (E0816) where the folder has something in it or cannot be
    written."""
    try:
        if folder.is_dir() and any(folder.iterdir()):
            hint = "give the name of a new folder"
            raise UsageError(Problem("E0816", "the folder is not empty", hint=hint, place=str(folder)))
        for part in ("facts", "views"):
            (folder / part).mkdir(parents=True)
        (folder / "program.dl").write_text(text, encoding="utf-8")
        files = _file_names(certificate.program.relations)
        for file in dict.fromkeys(files.values()):
            names = [name for name in files if files[name] == file]
            _write(certificate, names, folder / "facts" / f"{file}.parquet", views=False)
            _write(certificate, names, folder / "views" / f"{file}.parquet", views=True)
        manifest = json.dumps(_manifest(certificate, files), indent=1, ensure_ascii=False)
        (folder / "manifest.json").write_text(f"{manifest}\n", encoding="utf-8")
    except OSError as error:
        message = f"the certificate cannot be written: {error.strerror or error}"
        raise UsageError(Problem("E0816", message, hint="give another folder", place=str(folder))) from None


def _file_names(relations: Mapping[str, RelationInfo]) -> dict[str, str]:
    """The file of each relation, named after the types of its columns where these can name one, else numbered."""
    files: dict[tuple[str, ...], str] = {}
    for info in relations.values():
        kinds = _kinds(info)
        if kinds not in files:
            name = "-".join(kinds) or "unit"
            plain = len(name) <= 100 and name.lower() not in {file.lower() for file in files.values()}
            files[kinds] = name if plain else str(len(files))
    return {name: files[_kinds(info)] for name, info in relations.items()}


def _kinds(info: RelationInfo) -> tuple[Kind, ...]:
    return tuple(column.kind for column in info.columns)


def _manifest(certificate: Certificate, files: Mapping[str, str]) -> dict[str, Any]:
    from tidelog import __version__

    relations = [
        {
            "name": name,
            "columns": _columns(info),
            "auxiliary": info.auxiliary,
            "stratum": certificate.strata[name],
            "file": files[name],
        }
        for name, info in certificate.program.relations.items()
    ]
    return {"format": FORMAT, "version": VERSION, "tidelog": __version__, "relations": relations}


def _columns(info: RelationInfo) -> list[dict[str, str]]:
    return [{"name": column.name, "type": column.type, "kind": column.kind} for column in info.columns]


def _write(certificate: Certificate, names: list[str], path: Path, *, views: bool) -> None:
    """Write the facts or the views of relations whose columns have the same types; each begins a row group."""
    import pyarrow as pa
    from pyarrow import parquet

    dictionary, relations = certificate.dictionary, certificate.program.relations
    kinds = _kinds(relations[names[0]])
    fields = [("relation", pa.dictionary(pa.int32(), pa.string()))]
    fields += [(f"c{i}", dictionary.arrow_type(kind)) for i, kind in enumerate(kinds)]
    schema = pa.schema([*fields, ("birth", pa.int64())] if views else fields)
    with parquet.ParquetWriter(path, schema, compression="zstd", write_page_checksum=True) as writer:
        for name in names:
            rows, births = certificate.view(name) if views else (certificate.facts(name), None)
            label = text_to_arrow([name]).cast(pa.string())
            columns: list[Any] = [pa.DictionaryArray.from_arrays(numbers_to_arrow(numpy.zeros(len(rows), "i4")), label)]
            columns += [dictionary.decode_column(rows[:, i], kind) for i, kind in enumerate(kinds)]
            columns += [] if births is None else [numbers_to_arrow(births.astype(numpy.int64))]
            if len(rows):
                writer.write_table(pa.table(columns, schema=schema))


# --- reading ---------------------------------------------------------------------------------------------------------


def load(folder: Path) -> Certificate:
    """The certificate in a folder, its relations to be read when they are called for.

    Raises DataError where something is missing, cannot be read or does not fit (E081x), and CertificateRejected for a
    program whose negation or aggregates go through recursion. `facts` and `view` of the result raise DataError.
    """
    manifest = _read_manifest(folder)
    program = _read_program(folder / "program.dl")
    entries = {entry["name"]: entry for entry in manifest["relations"]}
    _check_relations(program, entries, folder / "manifest.json")
    dictionary = Dictionary(program.records)

    def rows(name: str, part: str) -> tuple[Words, pa.Table]:
        path = folder / part / f"{entries[name]['file']}.parquet"
        same = {other for other, entry in entries.items() if entry["file"] == entries[name]["file"]}
        columns = tuple(replace(column, name=f"c{i}") for i, column in enumerate(program.relations[name].columns))
        wanted = ["relation", *(column.name for column in columns), *(["birth"] if part == "views" else [])]
        table = _read_table(path, wanted, name, same)
        if not columns:
            return numpy.empty((table.num_rows, 0), numpy.int64), table
        try:
            values = table.select([column.name for column in columns])
            return encode_table(values, RelationType(name, columns), dictionary, place_in(str(path))), table
        except DataError as error:
            problem = error.problems[0]
            raise DataError(Problem("E0815", problem.message, hint=problem.hint, place=problem.place)) from None

    def facts(name: str) -> Words:
        return rows(name, "facts")[0]

    def view(name: str) -> tuple[Words, Words]:
        words, table = rows(name, "views")
        births = table.column("birth")
        if str(births.type) != "int64" or births.null_count:
            path = folder / "views" / f"{entries[name]['file']}.parquet"
            raise _damaged("E0815", f"the column birth is int64 without nulls, found {births.type}", path)
        return words, numbers_to_numpy(births.combine_chunks())

    strata = {name: entry["stratum"] for name, entry in entries.items()}
    return Certificate(program, dictionary, strata, facts, view, str(folder))


def _damaged(code: str, message: str, path: Path) -> DataError:
    return DataError(Problem(code, message, hint=_AGAIN, place=str(path)))


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / "manifest.json"
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        message = f"there is no certificate here: {error.strerror or error}"
        hint = "give a folder that `db.save_certificate` has written; one without a manifest is incomplete"
        raise DataError(Problem("E0810", message, hint=hint, place=str(path))) from None
    except (ValueError, RecursionError) as error:
        raise _damaged("E0811", f"the manifest is no JSON: {error}", path) from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise _damaged("E0811", f"the manifest does not say that this is a {FORMAT}", path)
    if manifest.get("version") != VERSION:
        message = f"this is version {manifest.get('version')!r} of the format; this tidelog reads version {VERSION}"
        raise DataError(Problem("E0811", message, hint="check it with the tidelog that wrote it", place=str(path)))
    relations = manifest.get("relations")
    if not isinstance(relations, list) or not all(map(_is_entry, relations)):
        raise _damaged("E0811", "the manifest does not describe its relations as it should", path)
    return manifest


def _is_entry(entry: object) -> bool:
    """Whether an entry of the manifest has what is read of it."""
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("name"), str)
        and isinstance(entry.get("columns"), list)
        and isinstance(entry.get("auxiliary"), bool)
        and type(entry.get("stratum")) is int
        and isinstance(entry.get("file"), str)
        and re.fullmatch(r"[\w-]+", entry["file"], re.ASCII) is not None
    )


def _read_program(path: Path) -> CoreProgram:
    """The program compiled. An unstratified one breaks condition 4, all other faults are those of the file."""
    try:
        checked = check_program(read(path))
        program = compile_program(checked)
    except ProgramError as error:
        if error.code in ("E0301", "E0302", "E0303"):
            first = error.problems[0]
            message = f"condition 4 (strata): {first.message}"
            raise CertificateRejected(Problem("E0804", message, first.span, first.notes, first.hint)) from None
        faults = "1 fault" if len(error.problems) == 1 else f"{len(error.problems)} faults"
        first = Problem("E0812", f"the program of the certificate has {faults}", hint=_AGAIN, place=str(path))
        raise DataError(first, *error.problems) from None
    if checked.facts:
        message = "the program of a certificate states no facts: they are data, and could be others"
        raise DataError(Problem("E0812", message, checked.facts[0].span, hint=_AGAIN))
    return program


def _check_relations(program: CoreProgram, entries: Mapping[str, Any], path: Path) -> None:
    """DataError (E0813) unless the program has the relations of the manifest."""
    wanted = {name: (_columns(info), info.auxiliary) for name, info in program.relations.items()}
    found = {name: (entry["columns"], entry["auxiliary"]) for name, entry in entries.items()}
    if wanted == found:
        return
    wrong = [name for name in {**wanted, **found} if wanted.get(name) != found.get(name)]
    shown = ", ".join(wrong[:5]) + (" and more" if len(wrong) > 5 else "")
    message = f"the program and the manifest do not agree about the relations {shown}"
    hint = "program.dl belongs to another certificate, or was changed by hand or written by another version of tidelog"
    raise DataError(Problem("E0813", message, hint=hint, place=str(path)))


def _read_table(path: Path, columns: list[str], name: str, names: set[str]) -> pa.Table:
    """The rows of a relation from a file of relations, all of which have to be among `names`."""
    import pyarrow as pa
    from pyarrow import compute, parquet

    try:
        with parquet.ParquetFile(path, page_checksum_verification=True) as file:
            schema = file.schema_arrow
            if schema.names != columns:
                message = f"expected the columns {', '.join(columns)}, found {', '.join(schema.names) or 'none'}"
                raise _damaged("E0815", message, path)
            parts = [schema.empty_table()]
            for group in range(file.num_row_groups):
                labels = file.read_row_group(group, ["relation"]).column(0).cast(pa.string())
                found = labels.unique().to_pylist()
                if not names.issuperset(found):
                    foreign = next(label for label in found if label not in names)
                    raise _damaged("E0815", f"the file holds tuples of {foreign}, which belong elsewhere", path)
                if name in found:
                    parts.append(file.read_row_group(group).filter(compute.equal(labels, name)))
            return pa.concat_tables(parts)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).split("\n", 1)[0][:200]
        raise _damaged("E0814", f"the file cannot be read: {reason}", path) from None
