"""Certificates in folders, so that users can keep, send and check them elsewhere. `layout` has their contents.

The manifest is written last: a folder without one is no certificate.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy

from tidelog import version
from tidelog.certificate.certificate import Certificate, PartedCertificate
from tidelog.certificate.layout import MANIFEST, PARTS, PROGRAM, CertificatePart, Layout, column_types, kinds_of
from tidelog.certificate.tables import decoded_size, in_proportion
from tidelog.errors import Problem, UsageError, path_problem
from tidelog.storage.arrow_arrays import numbers_to_arrow, text_to_arrow


def save(certificate: Certificate | PartedCertificate, text: str, folder: Path) -> None:
    """Write a certificate whose program is `text`. UsageError (E0816) where the folder has something in it or cannot be
    written. Nothing of a certificate that could not be written is left."""
    if (wrong := path_problem(folder)) is not None:
        raise UsageError(Problem("E0816", wrong, hint="name another folder", place=repr(str(folder))))
    layout = Layout.of(certificate)
    try:
        with _made(folder):
            for part in PARTS:
                (folder / part).mkdir()
                for file, names in layout.sharing(part).items():
                    _write(certificate, names, folder / part / file, part)
            (folder / PROGRAM).write_text(text, encoding="utf-8")
            manifest = json.dumps(layout.manifest(version.__version__), indent=1, ensure_ascii=False)
            (folder / MANIFEST).write_text(f"{manifest}\n", encoding="utf-8")
    except OSError as error:
        message = f"the certificate cannot be written: {error.strerror or error}"
        raise UsageError(Problem("E0816", message, hint="name another folder", place=str(folder))) from None


@contextmanager
def _made(folder: Path) -> Iterator[None]:
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
