"""Certificates read from folders. The reader trusts nothing in them.

The program is compiled again. It determines the files and the manifest (`folder`): a folder with other files, with
links, or with another manifest is rejected. No name, stratum or column is taken from the folder; facts are read for
declared relations only. All else is for `check`.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy

from tidelog.certificate.certificate import Certificate, drop_candidates, program_text
from tidelog.certificate.folder import (
    FORMAT,
    MANIFEST,
    PARTS,
    PROGRAM,
    VERSION,
    CertificatePart,
    Layout,
    column_types,
    kinds_of,
)
from tidelog.certificate.tables import AGAIN, TableFile, damage_error
from tidelog.common.arrays import AnyWords
from tidelog.common.looking import Look
from tidelog.errors import CertificateRejected, DataError, Problem, ProgramError
from tidelog.functions.callables import GivenFunctions
from tidelog.io.columns import encode_table
from tidelog.language import Checker, read
from tidelog.language.reading import is_preprocessed
from tidelog.language.syntax import RelationType
from tidelog.rules import compile_program
from tidelog.rules.core import CoreProgram
from tidelog.storage.arrow_arrays import numbers_to_numpy
from tidelog.storage.dictionary import Dictionary

_LARGEST = 16 * 2**20
"""Bytes of the largest manifest or program that is read."""


def load(folder: Path, look: Look = lambda: None, given: GivenFunctions | None = None) -> Certificate:
    """Return the certificate in a folder, with functions `given` for functors in Python. Its relations are read on
    demand; `look` is called again and again meanwhile.

    Raise DataError where something is missing, too much, cannot be read or does not fit (E081x), and
    CertificateRejected for a program whose negation or aggregates go through recursion. `facts` and `view` of the
    result raise DataError.
    """
    manifest = _read_manifest(folder)
    look()
    compiled = _read_program(folder, look, given)
    whole = _whole(manifest, compiled, folder / MANIFEST)
    program = drop_candidates(compiled, whole)
    dictionary = Dictionary(program.records)
    tables: dict[tuple[CertificatePart, str], TableFile] = {}

    def rows(name: str, part: CertificatePart) -> tuple[AnyWords, AnyWords]:
        """Return the words and the births of a relation."""
        table = tables[part, f"{layout.files[name]}.parquet"]
        columns = tuple(replace(column, name=f"c{i}") for i, column in enumerate(program.relations[name].columns))
        relation = RelationType(name, columns)
        words, births = [numpy.empty((0, len(columns)), numpy.int64)], [numpy.empty(0, numpy.int64)]
        for batch in table.batches(name):
            place = str(folder / part / f"{layout.files[name]}.parquet")
            words.append(_words(batch, relation, dictionary, place, look))
            if part == "views":
                births.append(_births(batch, place))
        return numpy.concatenate(words), numpy.concatenate(births)

    certificate = Certificate(
        program, dictionary, str(folder), lambda name: rows(name, "facts")[0], lambda name: rows(name, "views"), whole
    )
    layout = Layout.of(certificate)
    _check_manifest(manifest, layout, folder / MANIFEST)
    _check_files(folder, layout)
    for part in PARTS:
        for file, names in layout.relations_by_file(part).items():
            types = column_types(dictionary, kinds_of(program.relations[names[0]]), part)
            opened = partial(_open, folder, part, file)
            tables[part, file] = TableFile(opened, str(folder / part / file), types, names, look)
    return certificate


# --- files -----------------------------------------------------------------------------------------------------------


def _check_files(folder: Path, layout: Layout) -> None:
    """Raise DataError unless the folder has exactly the expected files: E0814 if one is missing, E0817 if there is
    another one."""
    expected = {
        folder: {MANIFEST, PROGRAM, *PARTS},
        **{folder / part: set(layout.relations_by_file(part)) for part in PARTS},
    }
    for place, names in expected.items():
        try:
            if not stat.S_ISDIR(os.lstat(place).st_mode) and place != folder:
                raise damage_error("E0817", "expected a folder, found a link or a file", str(place))
            found = set(os.listdir(place))
        except OSError as error:
            raise damage_error("E0814", f"the folder cannot be read: {error.strerror or error}", str(place)) from None
        for name in sorted(names - found):
            raise damage_error("E0814", "the file is missing", str(place / name))
        for name in sorted(found - names):
            raise damage_error(
                "E0817", f"the folder contains {name!a}, which is not part of the certificate", str(place)
            )


def _open(folder: Path, *parts: str) -> IO[bytes]:
    """Open a file below a folder. Raise OSError, or DataError (E0817) for other things than files. Follow no links, and
    never block."""
    flags = os.O_RDONLY | os.O_CLOEXEC
    opened = [os.open(folder, flags | os.O_DIRECTORY)]
    try:
        for part in parts[:-1]:
            opened.append(os.open(part, flags | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=opened[-1]))
        file = os.open(parts[-1], flags | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=opened[-1])
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            raise damage_error("E0817", "expected a regular file", str(folder.joinpath(*parts)))
        return os.fdopen(file, "rb")
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENXIO) or _is_link(folder, parts):
            message = "expected a regular file, found a link or a special file"
            raise damage_error("E0817", message, str(folder.joinpath(*parts))) from None
        raise
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _is_link(folder: Path, parts: tuple[str, ...]) -> bool:
    """Return True if a link leads to a file."""
    with suppress(OSError):
        return any(folder.joinpath(*parts[: i + 1]).is_symlink() for i in range(len(parts)))
    return False


def _text(folder: Path, name: str, code: str) -> str:
    """Return the text of a file. Raise OSError, or DataError with `code` if it is not text, or too long."""
    with _open(folder, name) as file:
        data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise damage_error(code, f"the file has more than {_LARGEST:,} bytes", str(folder / name))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"the file is not valid UTF-8: found byte 0x{data[error.start]:02X}"
        raise damage_error(code, message, str(folder / name)) from None


# --- manifest and program --------------------------------------------------------------------------------------------


def _read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest, which has this version of the format."""
    path = folder / MANIFEST
    try:
        manifest = json.loads(_text(folder, MANIFEST, "E0811"), object_pairs_hook=_object, parse_constant=_constant)
    except OSError as error:
        message = f"cannot read a certificate here: {error.strerror or error}"
        hint = "name a folder that `db.save_certificate` wrote; without a manifest it is incomplete"
        raise DataError(Problem("E0810", message, hint=hint, place=str(path))) from None
    except (ValueError, RecursionError) as error:
        raise damage_error("E0811", f"the manifest is not JSON: {error!s:.200}", str(path)) from None
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise damage_error("E0811", f"the manifest does not have the format {FORMAT}", str(path))
    version = manifest.get("version")
    if type(version) is not int or version != VERSION:
        message = f"the certificate has format version {version!a:.20}, this tidelog reads version {VERSION}"
        raise DataError(Problem("E0811", message, hint="check it with the tidelog that wrote it", place=str(path)))
    return manifest


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON. Raise ValueError if it has a key twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has a key twice")
    return found


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is not a value of JSON")


def _whole(manifest: dict[str, Any], program: CoreProgram, path: Path) -> tuple[str, ...]:
    """Return the relations whose selection all candidates certify. DataError (E0811) where these are no sorted names of
    relations that select by monotone rules."""
    whole = manifest.get("whole", [])
    known = {each.shown for node in program.dropping for each in node.selects}
    if (
        not isinstance(whole, list)
        or any(name not in known for name in map(str, whole))
        or whole != sorted({*map(str, whole)})
    ):
        raise damage_error("E0811", "the manifest names other relations as whole than some that select", str(path))
    return tuple(whole)


def _check_manifest(manifest: dict[str, Any], layout: Layout, path: Path) -> None:
    """Raise DataError unless the manifest is the one that the program determines, whichever tidelog wrote it: E0813 if
    the relations differ, E0811 for everything else."""
    version = manifest.get("tidelog")
    if not isinstance(version, str) or not 0 < len(version) < 100:
        raise damage_error("E0811", "the manifest names no version of tidelog that wrote it", str(path))
    expected = layout.manifest(version)
    if _canonical(manifest) == _canonical(expected):
        return
    if manifest.keys() != expected.keys() or not isinstance(manifest["relations"], list):
        wanted = ", ".join(expected)
        raise damage_error("E0811", f"expected a manifest with exactly the keys {wanted}", str(path))
    wanted_entries = {entry["name"]: _canonical(entry) for entry in expected["relations"]}
    found = [_canonical(entry) for entry in manifest["relations"]]
    wrong = [name for name, entry in wanted_entries.items() if found.count(entry) != 1]
    if wrong:
        shown = ", ".join(wrong[:5]) + (" and more" if len(wrong) > 5 else "")
        message = f"the program and the manifest do not agree about the relations {shown}"
    else:
        message = "the program and the manifest do not have the same relations in the same order"
    hint = "save the certificate again; program.dl comes from another certificate or version, or was edited"
    raise DataError(Problem("E0813", message, hint=hint, place=str(path)))


def _canonical(value: object) -> str:
    """Return a value of JSON as a text that no other value has."""
    return json.dumps(value, sort_keys=True)


def _read_program(folder: Path, look: Look, given: GivenFunctions | None) -> CoreProgram:
    """Return the program, compiled. An unstratified program breaks condition 4; all other faults are those of the
    file."""
    path = str(folder / PROGRAM)
    try:
        text = _text(folder, PROGRAM, "E0812")
    except OSError as error:
        raise damage_error("E0812", f"the program cannot be read: {error.strerror or error}", path) from None
    if is_preprocessed(text):
        message = "the program of a certificate has preprocessor lines"
        raise DataError(Problem("E0812", message, hint=AGAIN, place=path))
    try:
        program = read(f"{text}\n", name=path, look=look)  # with a line break it is no path
        checked = Checker(given).check(program, look=look)
        compiled = compile_program(checked, look=look)
    except ProgramError as error:
        if error.code in ("E0301", "E0302", "E0303"):
            first = error.problems[0]
            message = f"condition 4 (strata): {first.message}"
            raise CertificateRejected(Problem("E0804", message, first.span, first.notes, first.hint)) from None
        faults = "1 fault" if len(error.problems) == 1 else f"{len(error.problems)} faults"
        first = Problem("E0812", f"the program of the certificate has {faults}", hint=AGAIN, place=path)
        raise DataError(first, *error.problems) from None
    if checked.facts:
        message = "the program of a certificate states facts, which belong into the folder `facts`"
        raise DataError(Problem("E0812", message, checked.facts[0].span, hint=AGAIN))
    look()
    written = program_text([program], look)
    if written != text:
        line = next(
            (i for i, (a, b) in enumerate(zip(text.split("\n"), written.split("\n"), strict=False), 1) if a != b), 1
        )
        message = f"from line {line} on, the program differs from the text that `db.save_certificate` writes"
        raise DataError(Problem("E0812", message, hint=AGAIN, place=path))
    return compiled


# --- tables ----------------------------------------------------------------------------------------------------------


def _words(batch: Any, relation: RelationType, dictionary: Dictionary, place: str, look: Look) -> AnyWords:
    """Return the words of a batch of rows."""
    import pyarrow as pa

    if not relation.columns:
        return numpy.empty((batch.num_rows, 0), numpy.int64)
    values = pa.Table.from_batches([batch.select([column.name for column in relation.columns])])

    def where(_row: int | None, column: str | None) -> str:
        return place if column is None else f"{place}, column {column}"

    try:
        return encode_table(values, relation, dictionary, where, look)
    except DataError as error:
        problem = error.problems[0]
        raise DataError(Problem("E0815", problem.message, hint=problem.hint, place=problem.place)) from None
    except UnicodeDecodeError:
        raise damage_error("E0815", "the file holds text that is not valid UTF-8", place) from None


def _births(batch: Any, place: str) -> AnyWords:
    births = batch.column(batch.num_columns - 1)
    if births.null_count:
        raise damage_error("E0815", "the column birth contains nulls", place)
    return numbers_to_numpy(births)
