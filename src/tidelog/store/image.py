"""Writing a checkpoint, which `checkpoint` reads.

An `EngineImage` shares the memory of the rows (`FrozenState`), so that it costs little. One that is `apart` has copies
of the marks as well: it stays as it is while further epochs change the engine, and another thread can write it.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any, TypeAlias

import numpy
from numpy.typing import NDArray

from tidelog import version
from tidelog.common.arrays import Flags
from tidelog.common.looking import Look, unlimited
from tidelog.language.syntax import Kind
from tidelog.maintain.engine import EmbeddedEngine
from tidelog.maintain.frozen import FrozenState
from tidelog.rules.core import CoreProgram
from tidelog.storage.closed_relation import ClosedRelation
from tidelog.storage.dictionary import texts_of
from tidelog.storage.epochs import RowEpochs
from tidelog.storage.frozen import FrozenRows
from tidelog.storage.marks import KeptMarks, Marks
from tidelog.storage.members import ClosedMembers
from tidelog.storage.stored import StoredRelation
from tidelog.storage.usage import Usage, renumbered, translated

FORMAT = 1

_Used: TypeAlias = dict[Kind, Flags]
_Numbers: TypeAlias = dict[Kind, NDArray[numpy.int64]]


@dataclass(frozen=True)
class _Rows:
    """The rows of a relation, the kinds of their columns where words are translated, and what is written beside."""

    stored: StoredRelation
    rows: FrozenRows
    kinds: tuple[Kind, ...]
    epochs: RowEpochs | None
    kept: KeptMarks | None

    def marks(self) -> Marks:
        """Return the marks that were kept, or those of now."""
        return (self.kept or self.stored.marks.keep()).of(self.rows.live())


@dataclass(frozen=True)
class _Memory:
    """The arguments of a functor in Python, the numbers of its results for them, and the results."""

    kinds: tuple[Kind, ...]
    result: Kind
    arguments: NDArray[numpy.int64]
    sizes: NDArray[numpy.int64]
    values: NDArray[numpy.int64]


class EngineImage:
    """The state of an engine whose program is `text`, as of its last epoch. The caller keeps the engine from ending an
    epoch until the image is made, and if it is not `apart` also until it is written.

    Without `values`, it has no symbols and records, and not what functions have returned: the words keep their numbers,
    and somebody else the dictionary. MemoryError makes none.
    """

    def __init__(self, engine: EmbeddedEngine, text: str, *, values: bool = True, apart: bool = False) -> None:
        self._dictionary = engine.dictionary
        self._types = dict(engine.dictionary.types)
        self._frozen = FrozenState(engine)
        stored = list({id(each): each for each in [*engine.views.values(), *engine.asserted.values()]}.values())
        kinds = {
            id(each): tuple(column.kind for column in engine.program.relations[name].columns)
            for name, each in [*engine.views.items(), *engine.asserted.items()]
            if values and name in engine.program.relations
        }
        self._rows = {
            i: self._rows_of(each, kinds.get(id(each), ()), apart)
            for i, each in enumerate(stored)
            if not isinstance(each, ClosedRelation)
        }
        declared = engine.program.functors
        self._memories = {
            name: _Memory(
                tuple(column.kind for column in each.parameters),
                each.result.kind,
                *(array.copy() for array in each.given.remembered[each.key].saved()),
            )
            for name, each in declared.items()
            if values and each.key in each.given.remembered
        }
        number = {id(each): i for i, each in enumerate(stored)}
        about = {
            "format": FORMAT,
            **shape_of(engine.program, engine.nodes),
            "program": text,
            "records": list(self._types),
            "bits": engine.catalog.bits,
            "round": engine.round,
            "next_number": engine.next_number,
            "costs": engine.costs,
            "unsettled": engine.unsettled,
            "closures": list(engine.closures),
            "mirrors": engine.mirrors,
            "members": [name for name, each in engine.views.items() if isinstance(each, ClosedMembers)],
            "views": {name: number[id(each)] for name, each in engine.views.items()},
            "facts": {name: number[id(each)] for name, each in engine.asserted.items()},
            "aggregates": {
                name: each.given.aggregates[name].fingerprint
                for name, each in declared.items()
                if each.aggregate and name in each.given.aggregates
            },
            "functors": {name: [str(declared[name]), i] for i, name in enumerate(self._memories)},
            "by_row": [i for i, each in enumerate(stored) if each.marks.keeps_births],
        }
        self._about = json.dumps(about).encode()

    def _rows_of(self, stored: StoredRelation, kinds: tuple[Kind, ...], apart: bool) -> _Rows:
        rows = self._frozen.rows(stored)
        epochs = None if stored.epochs is None else RowEpochs(stored.epochs.runs())
        return _Rows(stored, rows, kinds, epochs, stored.marks.keep() if apart else None)

    def write(self, file: IO[bytes], look: Look = unlimited) -> None:
        """Write the image, from the start of the file to its end. Leave out symbols and records that are in no
        relation; the others get the first numbers. Call `look` before each array; it may raise."""
        used = self._used()
        numbers = renumbered(used)
        with zipfile.ZipFile(file, "w") as archive:
            for name, array in self._arrays(used, numbers):
                look()
                _put(archive, name, array)

    def _arrays(self, used: _Used, numbers: _Numbers) -> Iterator[tuple[str, NDArray[Any]]]:
        """Yield the arrays by their names, with new numbers for the words that are used."""
        yield from self._values(used, numbers)
        for i, each in self._rows.items():
            marks = each.marks()
            yield f"rows.{i}", translated(each.kinds, each.rows.words(), numbers)
            for name in ("counts", "births", "supports"):
                if getattr(marks, name) is not None:
                    yield f"{name}.{i}", getattr(marks, name)
            if each.epochs is not None:
                yield f"epochs.{i}", each.epochs.among(each.rows.live()).runs()
        for i, memory in enumerate(self._memories.values()):
            yield f"arguments.{i}", translated(memory.kinds, memory.arguments, numbers)
            yield f"sizes.{i}", memory.sizes
            yield f"values.{i}", translated([memory.result], memory.values[:, None], numbers)
        yield "about", numpy.frombuffer(self._about, numpy.uint8)

    def _values(self, used: _Used, numbers: _Numbers) -> Iterator[tuple[str, NDArray[Any]]]:
        """Yield the symbols and records in use."""
        symbols = texts_of(self._dictionary, numpy.flatnonzero(used["symbol"]))
        _, offsets, content = symbols.buffers()
        yield "symbols", numpy.frombuffer(content, numpy.uint8)
        yield "ends", numpy.frombuffer(offsets, numpy.int64, len(symbols) + 1)[1:]
        for i, (kind, record) in enumerate(self._types.items()):
            words = numpy.flatnonzero(used[kind])[1:]
            rows = self._dictionary.fields_of(kind, words)
            yield f"records.{i}", translated([field.kind for field in record.fields], rows, numbers)

    @property
    def is_lost(self) -> bool:
        """Return True if a record type has other fields now, so that the words of its records mean nothing."""
        types = self._dictionary.types
        return any(types.get(name) != record for name, record in self._types.items())

    def _used(self) -> _Used:
        """Return which words are in use, of each kind."""
        usage = Usage(self._dictionary)
        for each in self._rows.values():
            if each.kinds:
                usage.add(each.kinds, each.rows.words())
        for memory in self._memories.values():
            usage.add(memory.kinds, memory.arguments)
            usage.add([memory.result], memory.values[:, None])
        return usage.flags()


def _put(archive: zipfile.ZipFile, name: str, array: NDArray[Any]) -> None:
    with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
        numpy.lib.format.write_array(member, numpy.ascontiguousarray(array), allow_pickle=False)


def shape_of(program: CoreProgram, nodes: tuple[Any, ...]) -> dict[str, Any]:
    """Return everything that two engines must share to exchange their state."""
    columns = {name: [column.kind for column in info.columns] for name, info in program.relations.items()}
    return {
        "version": version.__version__,
        "meaning": version.MEANING,
        "columns": columns,
        "nodes": sorted(sorted(node.relations) for node in nodes),
    }
