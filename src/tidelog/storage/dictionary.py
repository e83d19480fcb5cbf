"""The dictionary: it turns values into words, and words back into values.

A word is one signed 64-bit integer. A number is its own word; an unsigned or a float is its bit pattern (-0.0 counts as
0.0, and there is one NaN); a symbol is its place in the list of symbols, from 0; a record is its place in the table of
its type, from 1, because 0 is `nil`. Equal values have equal words and the other way round, so that engines compare
words only. Words that nothing refers to any more can be given back (`usage`), and others get them.

`Dictionary` converts single values (program constants, queries), whole Arrow columns (`encode_column`,
`decode_column`: files and tables) and small batches in the middle of a rule (`strings`, `ids_of`, `pack`, `unpack`).
Symbols are kept by `symbol_list`, many of them by `bulk_symbols`, the records of one type by `record_table`;
`record_text` writes these. `tidelog.io` checks whether data fit the declared types.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from itertools import count, repeat
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from tidelog.common.arrays import Words
from tidelog.common.looking import Look, ignore_limits
from tidelog.errors import DataError, Problem, surrogate_in
from tidelog.kernels.calling import expect
from tidelog.language.branches import class_of, parts_of
from tidelog.language.syntax import PRIMITIVES, Column, Kind, RecordType, Value
from tidelog.storage.arrow_arrays import (
    is_utf8,
    mask_to_arrow,
    numbers_to_arrow,
    numbers_to_numpy,
    text_to_arrow,
    valid_mask,
)
from tidelog.storage.column_names import match_columns
from tidelog.storage.distant_symbols import DistantSymbols, TextBlock
from tidelog.storage.number_words import is_number, number_value, number_word, number_words, numbers_of
from tidelog.storage.ordinal_table import OrdinalTable
from tidelog.storage.record_text import format_value
from tidelog.storage.records import RecordTable, RecordTypes
from tidelog.storage.symbols import BulkSymbols, SymbolList

if TYPE_CHECKING:
    import pyarrow as pa


_PACE = 1_024  # so many parts of one record are encoded between two looks at the limits
_FEW = 64
"""So many words Python compares as fast as NumPy."""
_MANY = 4096
"""So many symbols or more get their words through Arrow, which takes a quarter of the time that a dict takes."""

_MOST_CHARACTERS = 1 << 30
"""Symbols of more characters are not copied to Arrow: they may be few texts that stand in many rows."""

_BULK = 1 << 16
"""With so many rows at once, symbols move to a `BulkSymbols`: their kernels are worth loading, or compiling, then."""


class Holder(Protocol):
    """Something that holds words outside of the relations of a database, and is found by `Dictionary.holders`."""

    def words_in_use(self) -> Iterable[tuple[tuple[Column, ...], NDArray[Any]]]:
        """Return the columns and rows of words."""


class Dictionary:
    """Symbols and records of one database. `records` maps the names of record types to their types."""

    def __init__(self, records: Mapping[str, RecordType] | None = None) -> None:
        self.shared = False
        """True if words are held where nobody sees them, such as by a user, so that none is ever given back."""
        self.holders: WeakSet[Holder] = WeakSet()
        """Objects that hold words outside of relations: changes, answers to queries. See `hold`."""
        self.keepers: WeakSet[object] = WeakSet()
        """Objects that may refer to any word: as long as there are some, no word is given back. Threads add them inside
        `hold_words`. They may go in any thread, whatever locks that has."""
        self._lock = threading.RLock()
        self.adding = threading.RLock()
        """Held while new symbols or records get their words: readers of snapshots do that beside a commit."""
        self._readers = 0
        self._symbols: SymbolList | BulkSymbols | DistantSymbols = SymbolList()
        self._sweeps = 0
        self._tables: dict[Kind, RecordTable] = {}
        self.types = RecordTypes()
        """The record types that are known."""
        self.ordinals: defaultdict[Kind, OrdinalTable] = defaultdict(OrdinalTable)
        """`ord` of symbols and records, as far as it has been asked for. Numbers are added while `adding`."""
        self.add_records(records or {})

    def __len__(self) -> int:
        """Return the number of words of symbols, including reclaimed words that are not used again."""
        return len(self._symbols)

    def __getstate__(self) -> dict[str, Any]:
        state = {**self.__dict__, "_readers": 0}
        del state["_lock"], state["adding"], state["holders"], state["keepers"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        locks = {"_lock": threading.RLock(), "adding": threading.RLock()}
        self.__dict__.update(state, **locks, holders=WeakSet(), keepers=WeakSet())

    def hold(self, holder: Holder) -> None:
        """Keep the words of something as long as it is there. The caller sees to it that none is given back before."""
        with self._lock:
            self.holders.add(holder)

    @contextmanager
    def hold_words(self) -> Iterator[None]:
        """Reclaim no word inside the block, in which a thread uses words that nothing holds."""
        with self._lock:
            self._readers += 1
        try:
            yield
        finally:
            with self._lock:
                self._readers -= 1

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """Give True if no thread is inside `hold_words`, and nothing keeps all words. Until the block ends, no thread
        enters `hold_words`, and nothing new is held or kept."""
        with self._lock:
            yield self._readers == 0 and not self.keepers

    @property
    def values_added(self) -> int:
        """The number of symbols and records that were new when they were encoded."""
        return self._symbols.made + sum(table.made for table in self._tables.values())

    @property
    def stamp(self) -> tuple[int, int]:
        """A value that stays equal as long as words that have a meaning keep it."""
        return self._sweeps, self._symbols.reuse_count

    @property
    def size(self) -> int:
        """The number of symbols and records."""
        return self._symbols.count + sum(map(len, self._tables.values()))

    def extent(self, kind: Kind) -> int:
        """Return an upper bound: all words of symbols, or of records of a type, are below this number."""
        return len(self._symbols) if kind == "symbol" else self._tables[kind].count

    def give_back(self, used: Mapping[Kind, NDArray[np.bool_]]) -> None:
        """Forget symbols and records whose words are not `used`: for each kind as many flags as its `extent`."""
        self._sweeps += 1
        for kind, flags in used.items():
            (self._symbols if kind == "symbol" else self._tables[kind]).give_back(flags)
            self.ordinals[kind].give_back(flags)

    def stop_reusing(self) -> None:
        """Give new values words after all others, until the next sweep, so that others can follow the new words."""
        self._symbols.stop_reusing()
        for table in self._tables.values():
            table.stop_reusing()

    def present(self, kind: Kind, start: int, stop: int) -> Words:
        """Return the words from `start` to `stop` that have a meaning."""
        return (self._symbols if kind == "symbol" else self._tables[kind]).present(start, stop)

    def follow_symbols(self, start: int, texts: Sequence[str | None]) -> bool:
        """Add the symbols of another dictionary that have words from `start` on, None for words that have no meaning.
        Return True if these can have the same words here."""
        return self._symbols.follow(start, texts)

    def follow_records(self, kind: Kind, start: int, rows: Words, present: NDArray[np.bool_]) -> bool:
        """Do the same for records: the words of their fields, and a mask of those that exist."""
        return self._tables[kind].follow(start, rows, present)

    def add_records(self, records: Mapping[str, RecordType]) -> None:
        """Make further record types known. Types that are known keep their records, unless a program that was dropped
        has declared other fields under this name."""
        for name, record in records.items():
            known = self.types.get(name)
            if known is None or _shape(known) != _shape(record):
                self._tables[name] = RecordTable(len(record.fields))
                if known is not None:
                    self.ordinals.clear()
        self.types.add(records)

    def bytes(self) -> int:
        """Estimate the memory that symbols and records take."""
        records = sum(table.bytes() for table in self._tables.values())
        return self._symbols.bytes() + records + sum(table.bytes() for table in list(self.ordinals.values()))

    # --- single values -----------------------------------------------------------------------------------------------

    def encode(self, value: Value, kind: Kind, look: Look = ignore_limits) -> int:
        """Return the word of a value of the right type; new symbols and records get the next id. Call `look` again and
        again for a record; it may raise."""
        if kind == "symbol":
            text = str.__str__(value)  # of a subclass, the plain string
            found = self._symbols.get(text)
            return self.ids_of([text])[0] if found is None else found
        if kind in PRIMITIVES:
            return number_word(value, kind)
        word = self._walk(value, kind, look, grow=True)
        if word is None:
            raise TypeError(f"this is no {kind}")
        return word

    def find(self, value: object, kind: Kind) -> int | None:
        """Return the word of a value, or None if it has none yet or is no value of this kind. Never grow."""
        if kind == "symbol":
            return self._symbols.get(value) if isinstance(value, str) else None
        if kind in PRIMITIVES:
            return number_word(value, kind) if is_number(value, kind) else None
        return self._walk(value, kind, ignore_limits, grow=False)

    def decode(self, word: int, kind: Kind) -> Value:
        """Return the value of a word. Raise DataError (E0415) if no symbol or record has this id."""
        if kind == "symbol":
            self._check_ids(word, word, kind)
            return self._symbols.text(word)
        if kind in PRIMITIVES:
            return number_value(word, kind)
        return self._values([word], kind)[0]

    def decode_list(self, words: NDArray[Any], kind: Kind) -> list[Value]:
        """Return the values of many words, as Python values."""
        if kind == "symbol":
            return self.strings(words)  # type: ignore[return-value]
        if kind in PRIMITIVES:
            return numbers_of(words, kind).tolist()  # type: ignore[no-any-return]
        fields = self.types[kind].fields
        if self.types.is_text(kind):
            return self._values(words.tolist(), kind)
        present, columns = self.unpack(kind, words)
        parts = [self.decode_list(c[present], field.kind) for c, field in zip(columns, fields, strict=True)]
        values: NDArray[np.object_] = np.full(len(words), None, dtype=np.object_)
        values[present] = np.fromiter(zip(*parts, strict=True), np.object_, int(present.sum()))
        return list(values)

    # --- symbols in batches ------------------------------------------------------------------------------------------

    def strings(self, ids: NDArray[Any]) -> list[str]:
        """Return the symbols with these ids."""
        if len(ids) == 0:
            return []
        words = ids.tolist()
        if len(words) < _FEW:
            self._check_ids(min(words), max(words), "symbol")
        else:
            self._check_ids(int(ids.min()), int(ids.max()), "symbol")
        return self._symbols.strings(words)

    def ids_of(self, strings: Sequence[str]) -> list[int]:
        """Return the ids of these symbols; new ones get the next ids. Raise DataError (E0408) for texts that UTF-8
        cannot express."""
        found = self._symbols.words(strings)
        if None not in found:
            return found  # type: ignore[return-value]
        _check_text([text for text, word in zip(strings, found, strict=True) if word is None])
        with self.adding:
            return self._symbols.add(strings)

    def words_of(self, strings: Sequence[str]) -> Words:
        """Return the words of symbols as `ids_of`, but faster where they are many: Arrow finds the different ones.
        int64; errors as there."""
        if len(strings) < _MANY:
            return np.array(self.ids_of(strings), dtype=np.int64)
        lengths = np.fromiter(map(len, strings), np.int64, len(strings))
        if lengths.sum() > _MOST_CHARACTERS:
            return np.array(self.ids_of(strings), dtype=np.int64)
        try:
            column = text_to_arrow(strings, lengths)
        except UnicodeEncodeError as error:
            raise _not_utf8(error.object[error.start : error.end]) from None
        return self.encode_texts([column])[0]

    def extend(self, symbols: pa.Array, *, distinct: bool = False) -> Words:
        """Add symbols that were collected elsewhere. Return the ids of all of them, which are 0, 1, … in an empty
        dictionary if `symbols` are distinct; say if that is known. Raise DataError (E0408) where they are not UTF-8."""
        table = self.table_for(len(symbols))
        if table is not None and is_utf8(symbols):
            with self.adding:
                return table.add_array(symbols)
        try:
            strings: list[str] = symbols.to_pylist()
        except UnicodeDecodeError as error:
            raise _not_utf8(error.object) from None
        with self.adding:
            return np.array(self._symbols.add(strings, distinct=distinct), dtype=np.int64)

    def table_for(self, rows: int) -> BulkSymbols | None:
        """Return the table of symbols, to which they move now if so many rows of them come or go; None if they are
        few."""
        if isinstance(self._symbols, SymbolList) and rows >= _BULK:
            expect(rows)
            with self.adding:
                if isinstance(self._symbols, SymbolList):
                    self._symbols = BulkSymbols(self._symbols)
        return self._symbols if isinstance(self._symbols, BulkSymbols) else None

    # --- columns -----------------------------------------------------------------------------------------------------

    def encode_column(self, column: pa.Array | pa.ChunkedArray, kind: Kind) -> Words:
        """Return the words of an Arrow column of the type `arrow_type(kind)` (of any string type for symbols), without
        nulls except for nil; int64, one per row. The caller has checked types and nulls."""
        import pyarrow as pa

        if kind == "symbol":
            return self.encode_texts([column])[0]
        if isinstance(column, pa.ChunkedArray):
            parts = [self.encode_column(chunk, kind) for chunk in column.chunks]
            return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
        if kind in PRIMITIVES:
            return number_words(numbers_to_numpy(column))
        present = valid_mask(column)
        ids = np.zeros(len(column), dtype=np.int64)
        records = column.filter(mask_to_arrow(present)) if column.null_count else column
        fields = self.types[kind].fields
        columns = [self.encode_column(part, f.kind) for part, f in zip(records.flatten(), fields, strict=True)]
        ids[present] = self.pack(kind, columns, len(records))
        return ids

    def encode_texts(self, columns: Sequence[pa.Array | pa.ChunkedArray]) -> list[Words]:
        """Return the words of columns of text, or of dictionaries of text, all of one type and without nulls; int64.
        Each different text is looked up once, however many columns have it."""
        import pyarrow as pa

        chunks = [chunk for column in columns for chunk in (column.chunks if hasattr(column, "chunks") else [column])]
        lengths = [len(column) for column in columns]
        if not sum(lengths):
            return [np.empty(0, dtype=np.int64) for _ in columns]
        texts = pa.chunked_array(chunks)
        plain = not pa.types.is_dictionary(texts.type)
        words = np.empty(len(texts), dtype=np.int64)
        if plain and self.table_for(len(texts)) is not None:
            start = 0
            for chunk in chunks:
                words[start : start + len(chunk)] = self.extend(chunk)
                start += len(chunk)
            return np.split(words, np.cumsum(lengths)[:-1])
        shared = (texts.dictionary_encode() if plain else texts.unify_dictionaries()).chunks
        ids = self.extend(shared[-1].dictionary, distinct=True)
        start = 0
        for chunk in shared:
            words[start : start + len(chunk)] = ids[numbers_to_numpy(chunk.indices)]
            start += len(chunk)
        return np.split(words, np.cumsum(lengths)[:-1])

    def decode_column(self, words: NDArray[Any], kind: Kind) -> pa.Array:
        """Return the values of int32 or int64 words as an Arrow array of the type `arrow_type(kind)`; nil is null."""
        import pyarrow as pa

        if kind == "symbol":
            return self._decode_symbols(words)
        if kind in PRIMITIVES:
            return numbers_to_arrow(numbers_of(words, kind))
        if self.types.is_text(kind):
            return text_to_arrow([format_value(v) for v in self._values(words.tolist(), kind)]).cast(pa.string())
        present, columns = self.unpack(kind, words)
        fields = self.types[kind].fields
        arrays = [self.decode_column(c[present], f.kind) for c, f in zip(columns, fields, strict=True)]
        records = pa.StructArray.from_arrays(arrays, fields=list(self.types.arrow_type(kind)))
        if present.all():
            return records
        nil = pa.nulls(1, self.types.arrow_type(kind))
        place = np.where(present, np.cumsum(present) - 1, len(records))
        return pa.concat_arrays([records, nil]).take(numbers_to_arrow(place))

    def _decode_symbols(self, words: NDArray[Any]) -> pa.Array:
        import pyarrow as pa

        if len(words) == 0:
            return text_to_arrow([]).cast(pa.string())
        self._check_ids(int(words.min()), int(words.max()), "symbol")
        return (self.table_for(len(words)) or self._symbols).array(words).cast(pa.string())

    # --- records in batches ------------------------------------------------------------------------------------------

    def pack(self, kind: Kind, columns: Sequence[NDArray[Any]], count: int | None = None) -> Words:
        """Return the ids of the records whose fields are the columns' words; equal records share an id, new ones get
        one. `count` is the number of records, which is required if the type has no fields."""
        keys = zip(*(column.tolist() for column in columns), strict=True) if columns else repeat((), count or 0)
        with self.adding:
            return self._tables[kind].pack(keys)

    def unpack(self, kind: Kind, ids: NDArray[Any]) -> tuple[NDArray[np.bool_], list[Words]]:
        """Return a mask of the records that are not nil, and their fields as columns with a row per id (0 where the
        record is nil). Raise DataError (E0415) for an id without a record."""
        if len(ids):
            self._check_ids(int(ids.min()), int(ids.max()), kind)
        rows = self.fields_of(kind, ids)
        return ids != 0, [np.ascontiguousarray(column) for column in rows.T]

    def row(self, kind: Kind, word: int) -> list[int]:
        """Return the words of the fields of one record."""
        return self._tables[kind].row(word)

    def fields_of(self, kind: Kind, words: NDArray[Any]) -> Words:
        """Return the words of the fields of records, shape (n, fields)."""
        fields: Words = self._tables[kind].rows[words]
        return fields

    def _check_ids(self, low: int, high: int, kind: Kind) -> None:
        count = self.extent(kind)
        if low < 0 or high >= count:
            word = low if low < 0 else high
            raise DataError(
                Problem(
                    "E0415",
                    f"the word {word} encodes no value of type {kind}, the dictionary has {count}",
                    hint=f"use to_string or a record of the right type; a cast as(…, {kind}) makes such words",
                )
            )

    def _walk(self, value: object, kind: Kind, look: Look, *, grow: bool) -> int | None:
        """Return the id of a nested tuple, from the inside out and without recursion; None if it has none and `grow` is
        not set. With `grow` the value is of the right type."""
        result: list[int] = []
        # An entry is a value to encode, or, with a count of fields, the order to pack the last words of `result`.
        waiting: list[tuple[object, Kind, bool]] = [(value, kind, False)]
        for number in count():
            if not waiting:
                break
            if number % _PACE == 0:
                look()
            item, item_kind, packing = waiting.pop()
            if packing:
                size = self._tables[item_kind].arity
                key = tuple(result[len(result) - size :])
                del result[len(result) - size :]
                with self.adding if grow else nullcontext():
                    word = self._tables[item_kind].find_or_add(key, grow)
            elif item_kind in PRIMITIVES:
                word = self.encode(item, item_kind) if grow else self.find(item, item_kind)  # type: ignore[arg-type]
            elif item is None:
                word = 0
            else:
                type_ = self.types[item_kind]
                fields = type_.fields
                parts = parts_of(type_, item) if type_.branches else record_parts(item, fields)
                if parts is None:
                    return None
                waiting.append((item, item_kind, True))
                waiting += [(part, f.kind, False) for part, f in zip(parts[::-1], fields[::-1], strict=True)]
                continue
            if word is None:
                return None
            result.append(word)
        return result[0]

    def _values(self, ids: Sequence[int], kind: Kind) -> list[Value]:
        """Return the records with these ids as nested tuples. Build shared parts once, without recursion."""
        built: dict[tuple[Kind, int], Value] = {}
        waiting = [(kind, word) for word in ids]
        while waiting:
            kind_now, word = waiting[-1]
            if (kind_now, word) in built:
                waiting.pop()
                continue
            if kind_now in PRIMITIVES or word == 0:
                built[waiting.pop()] = self.decode(word, kind_now) if kind_now in PRIMITIVES else None
                continue
            self._check_ids(word, word, kind_now)
            type_, row = self.types[kind_now], self._tables[kind_now].row(word)
            branch = type_.branches[row[0]] if type_.branches else None
            fields = type_.fields if branch is None else branch.fields
            row = row if branch is None else [row[place] for place in branch.places]
            parts = [(field.kind, part) for field, part in zip(fields, row, strict=True)]
            missing = [part for part in parts if part not in built]
            if missing:
                waiting += missing
            else:
                values = [built[part] for part in parts]
                built[waiting.pop()] = tuple(values) if branch is None else class_of(branch)._make(values)
        return [built[kind, word] for word in ids]


def texts_of(dictionary: Dictionary, words: NDArray[Any]) -> pa.LargeStringArray:
    """Return the symbols of int32 or int64 words as an Arrow array."""
    return dictionary._symbols.array(words)


def blocks_of(dictionary: Dictionary) -> Sequence[TextBlock]:
    """Return the blocks in files that have texts of symbols, by their words."""
    return dictionary._symbols.blocks if isinstance(dictionary._symbols, DistantSymbols) else ()


def move_to_blocks(dictionary: Dictionary, blocks: Sequence[TextBlock]) -> None:
    """Leave the texts of symbols to blocks, new symbols among them. No word is given back from now on."""
    with dictionary.adding:
        if isinstance(dictionary._symbols, DistantSymbols):
            dictionary._symbols.add_blocks(blocks)
        elif blocks:
            distant = DistantSymbols(dictionary._symbols, blocks)
            dictionary.keepers.add(distant)
            dictionary._symbols = distant


def gather_symbols(dictionary: Dictionary, *, blocks: bool = True) -> None:
    """Have all symbols in memory, and read no block any more: without those of blocks, which nothing refers to, if
    these are not wanted."""
    with dictionary.adding:
        if isinstance(dictionary._symbols, DistantSymbols):
            if not blocks:
                dictionary._symbols.forget_blocks()
                dictionary.ordinals.clear()
            dictionary._symbols = dictionary._symbols.copy_to_memory()


def at_hand(dictionary: Dictionary, start: int, stop: int) -> Words:
    """Return the words of symbols from `start` to `stop` whose texts no block has."""
    symbols = dictionary._symbols
    return symbols.at_hand(start, stop) if isinstance(symbols, DistantSymbols) else symbols.present(start, stop)


def keep_texts(dictionary: Dictionary, columns: Sequence[Column], rows: Words) -> None:
    """Have the texts of symbols in rows at hand from now on, wherever blocks will be."""
    symbols = dictionary._symbols
    if not isinstance(symbols, DistantSymbols):
        return
    for i, column in enumerate(columns):
        if column.kind == "symbol":
            symbols.keep(np.unique(rows[:, i]))
        elif column.kind not in PRIMITIVES:
            texts = list(_texts_in(dictionary.decode_list(np.unique(rows[:, i]), column.kind)))
            symbols.keep(np.array(symbols.words(texts), np.int64))


def locks_of(dictionary: Dictionary) -> tuple[threading.RLock, ...]:
    """Return the locks that threads have for a moment while they look words up or add some."""
    return dictionary._lock, dictionary.adding, *dictionary._symbols.locks


def _texts_in(values: Iterable[object]) -> Iterator[str]:
    """Yield the texts in nested tuples."""
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if isinstance(value, tuple):
            waiting.extend(value)
        elif isinstance(value, str):
            yield value


def _shape(record: RecordType) -> tuple[object, ...]:
    """Return what two types must share so that the records of one are records of the other."""
    return [field.kind for field in record.fields], [(each.name, each.places) for each in record.branches]


def record_parts(item: object, fields: tuple[Column, ...]) -> list[object] | None:
    """Return the values of the fields of a record given as tuple, list or mapping by field names, which go by the rule
    of `column_names`; None if they do not fit."""
    if isinstance(item, Mapping):
        names = [field.name for field in fields]
        if list(item) == names:
            return list(item.values())
        with suppress(DataError):
            values = list(item.values())
            return [values[position] for position in match_columns(list(item), names, "")]
        return None
    return list(item) if isinstance(item, (tuple, list)) and len(item) == len(fields) else None


def _check_text(strings: Sequence[str]) -> None:
    if surrogate_in("".join(strings)) is not None:
        raise _not_utf8(next(text for text in strings if surrogate_in(text) is not None))


def _not_utf8(text: object) -> DataError:
    return DataError(
        Problem("E0408", f"the symbol {text!r:.80} cannot be written in UTF-8", hint="remove unpaired surrogates")
    )
