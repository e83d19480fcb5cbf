"""A Parquet file of a certificate, which the reader does not trust. It checks that the columns are the expected ones,
that the tuples belong to relations of the file, and that the unpacked size is in proportion.

A file is read in batches. Between any two, the reader looks at the limits of the check and counts the bytes so far:
neither stated nor actual sizes can make a reader take all memory, or exceed the time limit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from tidelog.common.looking import Look
from tidelog.errors import DataError, LimitError, Problem

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet


AGAIN = "save the certificate again with `db.save_certificate`"
_RATIO, _FREE = 100, 64 * 2**20
"""How many times its size a file may have when it is unpacked, and the bytes that any file may have."""
_ROWS = 2**18
"""Rows of a batch."""
_INDEX, _NUMBER = 4, 8
"""Bytes of a row of a column of text, which is a number in a dictionary, and of a column of numbers."""


def in_proportion(size: int, stored: int) -> bool:
    """Return True if a file of `stored` bytes may unpack to `size` bytes."""
    return size <= _RATIO * stored + _FREE


def decoded_size(metadata: parquet.FileMetaData) -> int:
    """Return the bytes that a file states to unpack to.

    Where the metadata of a column contradict each other, PyArrow's `RowGroupMetaData.column` ends the process. So the
    bytes of texts are those of a row group without those of its numbers.
    """
    schema, size = metadata.schema, 0
    types = [schema.column(position).physical_type for position in range(metadata.num_columns)]
    texts = types.count("BYTE_ARRAY")
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        numbers = group.num_rows * _NUMBER * (len(types) - texts)
        size += numbers + group.num_rows * _INDEX * texts + max(0, group.total_byte_size - numbers)
    return size


def damage_error(code: str, message: str, place: str) -> DataError:
    """Return the error for a wrong part of a certificate."""
    return DataError(Problem(code, message, hint=AGAIN, place=place))


class TableFile:
    """One file, which `opened` opens: the tuples of each relation of `names`, in the columns (name, type) `columns`.

    `look` is called again and again while it is read. Every method raises DataError for a file that cannot be read
    (E0814), holds something else (E0815) or is out of proportion (E0818); LimitError (E0503) where memory does not
    suffice.
    """

    def __init__(
        self,
        opened: Callable[[], IO[bytes]],
        place: str,
        columns: list[tuple[str, pa.DataType]],
        names: Collection[str],
        look: Look,
    ) -> None:
        self._opened = opened
        self._place = place
        self._columns = columns
        self._names = frozenset(names)
        self._look = look
        self._groups: dict[str, list[int]] | None = None
        self._taken = 0

    def batches(self, name: str) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a relation, without the column that names the relation."""
        from pyarrow import compute

        with self._open_file() as (file, stored):
            if self._groups is None:
                self._groups = self._index(file, stored)
            groups = self._groups.get(name, [])
            for batch in self._read_groups(file, stored, groups, None):
                labels = batch.column(0)
                yield batch.filter(compute.equal(labels.cast(labels.type.value_type), name)).select(
                    [column for column, _ in self._columns[1:]]
                )

    def _index(self, file: parquet.ParquetFile, stored: int) -> dict[str, list[int]]:
        """Return the row groups in which each relation occurs."""
        groups: dict[str, list[int]] = {}
        for number in range(file.num_row_groups):
            found: set[object] = set()
            for batch in self._read_groups(file, stored, [number], ["relation"]):
                found.update(batch.column(0).unique().to_pylist())
            foreign = found - self._names
            if foreign:
                raise self._wrong(
                    f"the file contains tuples of {min(map(_abbreviate_name, foreign))}, which belong into another file"
                )
            for name in found:
                groups.setdefault(str(name), []).append(number)
        return groups

    def _read_groups(
        self, file: parquet.ParquetFile, stored: int, groups: list[int], columns: list[str] | None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the batches of row groups, as long as they are in proportion and no limit is reached."""
        for group in groups:
            last: dict[tuple[int, ...], int] = {}
            for batch in file.iter_batches(_ROWS, row_groups=[group], columns=columns, use_threads=False):
                self._look()
                self._taken += sum(_size(array, (i,), last) for i, array in enumerate(batch.columns))
                if not in_proportion(self._taken // 2, stored):
                    raise self._bomb(self._taken, stored)
                yield batch

    @contextmanager
    def _open_file(self) -> Iterator[tuple[parquet.ParquetFile, int]]:
        """Open the file for the block, check its columns, and return it with its size."""
        import pyarrow as pa
        from pyarrow import parquet

        self._look()
        try:
            with self._opened() as source:
                stored = source.seek(0, 2)
                text = [path for name, kind in self._columns for path in _text_paths(name, kind)]
                with parquet.ParquetFile(source, page_checksum_verification=True, read_dictionary=text) as file:
                    self._match(file.schema_arrow)
                    stated = decoded_size(file.metadata)
                    if not in_proportion(stated, stored):
                        raise self._bomb(stated, stored)
                    yield file, stored
        except MemoryError as error:
            raise out_of_memory(error) from None
        except (pa.ArrowException, OSError, ValueError, OverflowError, LookupError, TypeError) as error:
            raise self._damage_error("E0814", f"the file cannot be read: {_first_line(error)}") from None

    def _match(self, schema: pa.Schema) -> None:
        """Raise DataError (E0815) unless the file has the expected columns, with their types."""
        wanted = [name for name, _ in self._columns]
        if schema.names != wanted:
            found = ", ".join(map(_abbreviate_name, schema.names[:20])) or "none"
            raise self._wrong(f"expected the columns {', '.join(wanted)}, found {found}")
        for (name, kind), field in zip(self._columns, schema, strict=True):
            if _without_dictionaries(field.type) != kind:
                raise self._wrong(f"expected the column {name} to be {kind}, found {field.type!s:.200}")

    def _wrong(self, message: str) -> DataError:
        return self._damage_error("E0815", message)

    def _bomb(self, size: int, stored: int) -> DataError:
        return self._damage_error("E0818", f"the file has {stored:,} bytes and unpacks to more than {size:,}")

    def _damage_error(self, code: str, message: str) -> DataError:
        return damage_error(code, message, self._place)


def out_of_memory(error: BaseException) -> LimitError:
    """Return the error for a check that lacks memory."""
    hint = "check it on a machine with more memory; the check has not reached a result"
    return LimitError(Problem("E0503", f"the check ran out of memory: {_first_line(error)}", hint=hint))


def _first_line(error: BaseException) -> str:
    return str(error).split("\n", 1)[0][:200] or type(error).__name__


def _abbreviate_name(name: object) -> str:
    """Return a name from a file for a message."""
    text = ascii(name)
    return text.strip("'") if len(text) < 100 else f"{text[:100]}…"


def _text_paths(path: str, kind: pa.DataType) -> Iterator[str]:
    """Return the columns of text inside a column, as Parquet calls them."""
    import pyarrow as pa

    if pa.types.is_struct(kind):
        for part in kind:
            yield from _text_paths(f"{path}.{part.name}", part.type)
    elif pa.types.is_string(kind):
        yield path


def _without_dictionaries(kind: pa.DataType) -> pa.DataType:
    """Return the type with text in place of numbers in a dictionary of texts."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return kind.value_type
    if pa.types.is_struct(kind):
        return pa.struct([(part.name, _without_dictionaries(part.type)) for part in kind])
    return kind


def _size(array: Any, path: tuple[int, ...], last: dict[tuple[int, ...], int]) -> int:
    """Return the bytes of an array. Count a dictionary once that it shares with the one before, whose place `last`
    has."""
    import pyarrow as pa

    if pa.types.is_struct(array.type):
        return sum(_size(part, (*path, i), last) for i, part in enumerate(array.flatten()))
    if not pa.types.is_dictionary(array.type):
        return int(array.nbytes)
    place = array.dictionary.buffers()[-1]
    known, last[path] = last.get(path), place.address if place is not None else 0
    return int(array.indices.nbytes) + (int(array.dictionary.nbytes) if last[path] != known else 0)
