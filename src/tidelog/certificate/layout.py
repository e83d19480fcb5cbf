"""The contents of a certificate's folder, which the program determines (docs/reference/certificates.md).

    manifest.json       format, version, and the relations: columns, stratum, the name of their files
    program.dl          types, declarations and rules; facts are data
    facts/*.parquet     relation, c0, c1, …           the asserted facts of declared relations
    views/*.parquet     relation, c0, c1, …, birth    the views of all relations, with the birth of each tuple

Relations whose columns have the same kinds share a file. Who saves a certificate and who reads one both compute all of
this from the program: `reading` rejects every other folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tidelog.certificate.certificate import Certificate, PartedCertificate
from tidelog.io.column_types import columns_as_json
from tidelog.language.syntax import Kind
from tidelog.rules.core import RelationInfo
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

    def sharing(self, part: CertificatePart) -> dict[str, list[str]]:
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
