"""Certificates in folders, so that users can keep, send and check them elsewhere (docs/reference/certificates.md).

    manifest.json       format, version, and the relations: columns, stratum, the name of their files
    program.dl          types, declarations and rules; facts are data
    facts/*.parquet     relation, c0, c1, …           the asserted facts of declared relations
    views/*.parquet     relation, c0, c1, …, birth    the views of all relations, with the birth of each tuple

Relations whose columns have the same kinds share a file. Who saves a certificate and who reads one both compute all of
this from the program: `reading` rejects every other folder. The manifest is written last: a folder without one is no
certificate.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy

from tidelog import version
from tidelog.certificate.certificate import Certificate, PartedCertificate
from tidelog.certificate.tables import decoded_size, in_proportion
from tidelog.errors import Problem, UsageError, path_problem
from tidelog.io.json_values import columns_as_json
from tidelog.language.syntax import Kind
from tidelog.rules.core import RelationInfo
from tidelog.storage.arrow_arrays import numbers_to_arrow, text_to_arrow
from tidelog.storage.dictionary import Dictionary

if TYPE_CHECKING:
    import pyarrow as pa


FORMAT, VERSION = "tidelog certificate", 2
MANIFEST, PROGRAM = "manifest.json", "program.dl"

CertificatePart: TypeAlias = Literal["facts", "views"]
PARTS: tuple[CertificatePart, ...] = ("facts", "views")


@dataclass(frozen=True)
class Layout:
    """The files of a certificate: `files` has the name of that of each relation, without ".parquet"; `whole`
    are relations that select from all of their candidates."""

    relations: Mapping[str, RelationInfo]
    strata: Mapping[str, int]
    files: Mapping[str, str]
    whole: tuple[str, ...] = ()

    @classmethod
    def of(cls, certificate: Certificate | PartedCertificate) -> Layout:
        """Return the layout that the program of a certificate determines."""
        relations = certificate.program.relations
        return cls(relations, certificate.strata, _file_names(relations), certificate.whole)

    def relations_by_file(self, part: CertificatePart) -> dict[str, list[str]]:
        """Return the relations in each file of a part: facts are those of declared relations only."""
        shared: dict[str, list[str]] = {}
        for name, file in self.files.items():
            if part == "views" or not self.relations[name].auxiliary:
                shared.setdefault(f"{file}.parquet", []).append(name)
        return shared

    def manifest(self, version: object) -> dict[str, Any]:
        """Return the manifest that a tidelog of this version writes."""
        relations = [
            {
                "name": name,
                "columns": columns_as_json(info.columns),
                "auxiliary": info.auxiliary,
                "stratum": self.strata[name],
                "file": self.files[name],
            }
            for name, info in self.relations.items()
        ]
        whole = {"whole": list(self.whole)} if self.whole else {}
        return {"format": FORMAT, "version": VERSION, "tidelog": version, **whole, "relations": relations}


def _file_names(relations: Mapping[str, RelationInfo]) -> dict[str, str]:
    """Return the file of each relation, named after the kinds of its columns if these can name one, otherwise
    numbered."""
    files: dict[tuple[Kind, ...], str] = {}
    for info in relations.values():
        kinds = kinds_of(info)
        if kinds not in files:
            name = "-".join(kinds) or "unit"
            plain = len(name) <= 100 and name.lower() not in {file.lower() for file in files.values()}
            files[kinds] = name if plain else str(len(files))
    return {name: files[kinds_of(info)] for name, info in relations.items()}


def kinds_of(info: RelationInfo) -> tuple[Kind, ...]:
    """Return the kinds of the columns of a relation."""
    return tuple(column.kind for column in info.columns)


def column_types(dictionary: Dictionary, kinds: Iterable[Kind], part: CertificatePart) -> list[tuple[str, pa.DataType]]:
    """Return the names and Arrow types of the columns of a file. Text may be dictionary-encoded."""
    import pyarrow as pa

    values = [(f"c{i}", dictionary.types.arrow_type(kind)) for i, kind in enumerate(kinds)]
    return [("relation", pa.string()), *values, *([("birth", pa.int64())] if part == "views" else [])]


def save(certificate: Certificate | PartedCertificate, text: str, folder: Path) -> None:
    """Write a certificate whose program is `text`. UsageError (E0816) where the folder has something in it or cannot be
    written. Nothing of a certificate that could not be written is left."""
    if (wrong := path_problem(folder)) is not None:
        raise UsageError(Problem("E0816", wrong, hint="name another folder", place=repr(str(folder))))
    layout = Layout.of(certificate)
    try:
        with _new_folder(folder):
            for part in PARTS:
                (folder / part).mkdir()
                for file, names in layout.relations_by_file(part).items():
                    _write(certificate, names, folder / part / file, part)
            (folder / PROGRAM).write_text(text, encoding="utf-8")
            manifest = json.dumps(layout.manifest(version.__version__), indent=1, ensure_ascii=False)
            (folder / MANIFEST).write_text(f"{manifest}\n", encoding="utf-8")
    except OSError as error:
        message = f"the certificate cannot be written: {error.strerror or error}"
        raise UsageError(Problem("E0816", message, hint="name another folder", place=str(folder))) from None


@contextmanager
def _new_folder(folder: Path) -> Iterator[None]:
    """Make a folder, or take one that is empty, UsageError (E0816) where it is not. Where the block raises, all that
    it has written there is removed."""
    is_new = not folder.is_dir()
    if is_new:
        folder.mkdir(parents=True)
    elif any(folder.iterdir()):
        hint = "name a new or empty folder"
        raise UsageError(Problem("E0816", "the folder is not empty", hint=hint, place=str(folder)))
    try:
        yield
    except BaseException:
        for part in PARTS:
            rmtree(folder / part, ignore_errors=True)
        with suppress(OSError):
            for file in (PROGRAM, MANIFEST):
                (folder / file).unlink(missing_ok=True)
            if is_new:
                folder.rmdir()
        raise


def _write(certificate: Certificate | PartedCertificate, names: list[str], path: Path, part: CertificatePart) -> None:
    """Write the facts or the views of relations whose columns have the same kinds; each begins a row group. A file that
    packs its tuples so well that readers would take it for a bomb is written again as it is."""
    from pyarrow import parquet

    _write_tables(certificate, names, path, part, "zstd")
    with parquet.ParquetFile(path) as file:
        size = decoded_size(file.metadata)
    if not in_proportion(size, path.stat().st_size):
        _write_tables(certificate, names, path, part, "none")


def _write_tables(
    certificate: Certificate | PartedCertificate, names: list[str], path: Path, part: CertificatePart, compression: str
) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    kinds = kinds_of(certificate.program.relations[names[0]])
    types = dict(column_types(certificate.dictionary, kinds, part))
    schema = pa.schema({**types, "relation": pa.dictionary(pa.int32(), pa.string())})
    # Where Parquet's dictionaries have no memory, Arrow ends the process.
    options: dict[str, Any] = {"use_dictionary": False, "write_page_checksum": True, "compression": compression}
    with parquet.ParquetWriter(path, schema, **options) as writer:
        for name in names:
            label = text_to_arrow([name]).cast(pa.string())
            for rows, births in certificate.parts(name, part):
                labels = numbers_to_arrow(numpy.zeros(len(rows), "i4"))
                columns: list[Any] = [pa.DictionaryArray.from_arrays(labels, label)]
                columns += [certificate.dictionary.decode_column(rows[:, i], kind) for i, kind in enumerate(kinds)]
                columns += [] if births is None else [numbers_to_arrow(births.astype(numpy.int64))]
                if len(rows):
                    writer.write_table(pa.table(columns, schema=schema))
