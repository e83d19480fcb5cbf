"""An engine's state as one file, from which it continues without evaluating anything.

An `EngineImage` writes it, a `Checkpoint` reads it. The image shares the memory of the rows (`FrozenState`), so that it
costs little. One that is `apart` has copies of the marks as well: it stays as it is while further epochs change the
engine, and another thread can write it, see `BackgroundCheckpoint`.

The file is a numpy archive, whose arrays have checksums:

    about            JSON: format, version of tidelog, program, columns, hyper-nodes, closures, the owner of each row
    symbols, ends    the symbols in the order of their numbers, UTF-8 one after the other, and the end of each
    records.I        the fields of the records of a type, in the order of their numbers
    arguments.I      the arguments of a functor in Python, and with sizes.I and values.I its results for them
    rows.I           the rows of a relation as words; counts.I, births.I and supports.I if the relation has them; of
                     facts in epochs.I runs of rows with the epoch in which they came

Closures are rebuilt from their edges, which takes less time than reading their pairs would.
"""

from __future__ import annotations

import json
import threading
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy
from numpy.typing import NDArray

from tidelog import version
from tidelog.common.arrays import Flags
from tidelog.common.looking import Look, ignore_limits
from tidelog.durable.files import damage_error
from tidelog.errors import UsageError
from tidelog.language.syntax import Kind
from tidelog.maintain.early import EarlyChoice
from tidelog.maintain.engine import EmbeddedEngine
from tidelog.maintain.frozen import FrozenState
from tidelog.maintain.state import closure_over
from tidelog.maintain.user_functors import memory_of
from tidelog.rules.core import CoreProgram
from tidelog.rules.early_projections import with_early_projections
from tidelog.rules.graph import coarsen_nodes
from tidelog.rules.selections import ALL
from tidelog.storage.arrow_arrays import numbers_to_arrow
from tidelog.storage.catalog import Catalog
from tidelog.storage.closed_relation import ClosedMembers, ClosedRelation
from tidelog.storage.dictionary import Dictionary, texts_of
from tidelog.storage.extents import RowEpochs
from tidelog.storage.marks import KeptMarks, Marks
from tidelog.storage.readers import FrozenRows
from tidelog.storage.stored import StoredRelation
from tidelog.storage.usage import Usage, renumber, translate
from tidelog.store.state import StateFolder

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
                *(array.copy() for array in each.given.remembered[each.key].arrays_to_save()),
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
            "early": sorted(engine.program.relations.keys() - engine.source_program.relations.keys()),
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

    def write(self, file: IO[bytes], look: Look = ignore_limits) -> None:
        """Write the image, from the start of the file to its end. Leave out symbols and records that are in no
        relation; the others get the first numbers. Call `look` before each array; it may raise."""
        used = self._words_in_use()
        numbers = renumber(used)
        with zipfile.ZipFile(file, "w") as archive:
            for name, array in self._arrays(used, numbers):
                look()
                _write_array(archive, name, array)

    def _arrays(self, used: _Used, numbers: _Numbers) -> Iterator[tuple[str, NDArray[Any]]]:
        """Yield the arrays by their names, with new numbers for the words that are used."""
        yield from self._values(used, numbers)
        for i, each in self._rows.items():
            marks = each.marks()
            yield f"rows.{i}", translate(each.kinds, each.rows.words(), numbers)
            for name in ("counts", "births", "supports"):
                if getattr(marks, name) is not None:
                    yield f"{name}.{i}", getattr(marks, name)
            if each.epochs is not None:
                yield f"epochs.{i}", each.epochs.among(each.rows.live()).runs()
        for i, memory in enumerate(self._memories.values()):
            yield f"arguments.{i}", translate(memory.kinds, memory.arguments, numbers)
            yield f"sizes.{i}", memory.sizes
            yield f"values.{i}", translate([memory.result], memory.values[:, None], numbers)
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
            yield f"records.{i}", translate([field.kind for field in record.fields], rows, numbers)

    @property
    def is_lost(self) -> bool:
        """Return True if a record type has other fields now, so that the words of its records mean nothing."""
        types = self._dictionary.types
        return any(types.get(name) != record for name, record in self._types.items())

    def _words_in_use(self) -> _Used:
        """Return which words are in use, of each kind."""
        usage = Usage(self._dictionary)
        for each in self._rows.values():
            if each.kinds:
                usage.add(each.kinds, each.rows.words())
        for memory in self._memories.values():
            usage.add(memory.kinds, memory.arguments)
            usage.add([memory.result], memory.values[:, None])
        return usage.flags()


def _write_array(archive: zipfile.ZipFile, name: str, array: NDArray[Any]) -> None:
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


class Checkpoint:
    """A checkpoint in an open file that an `EngineImage` has written; `path` is for messages, `epoch` its number.

    Raises DataError (E0682) if it cannot be read, also later on.
    """

    def __init__(self, path: Path, file: IO[bytes], epoch: int = 0) -> None:
        self._path = path
        self._epoch = epoch
        with self._report_damage():
            self._arrays: Mapping[str, NDArray[Any]] = numpy.load(file, allow_pickle=False)
            self._about: dict[str, Any] = json.loads(self._arrays["about"].tobytes())
            if self._about["format"] != FORMAT:
                raise ValueError("another version of tidelog wrote it")
            self.program: str = self._about["program"]

    def fill(self, dictionary: Dictionary) -> None:
        """Fill a dictionary, which knows the record types and is empty, with all symbols and records by their
        numbers."""
        import pyarrow as pa

        with self._report_damage():
            text, ends = self._arrays["symbols"], self._arrays["ends"]
            starts = numbers_to_arrow(numpy.concatenate([numpy.zeros(1, numpy.int64), ends])).buffers()[1]
            words = dictionary.extend(pa.LargeStringArray.from_buffers(len(ends), starts, pa.py_buffer(text)))
            if not numpy.array_equal(words, numpy.arange(len(ends))):
                raise ValueError("it has symbols twice")
            for i, kind in enumerate(self._about["records"]):
                fields = self._arrays[f"records.{i}"]
                words = dictionary.pack(kind, list(fields.T), len(fields))
                if not numpy.array_equal(words, numpy.arange(1, len(fields) + 1)):
                    raise ValueError("it has records twice")

    def facts(self) -> Iterator[tuple[str, NDArray[Any], NDArray[numpy.int64]]]:
        """Yield the asserted facts of every relation, with the epochs in which they came."""
        for name, number in self._about["facts"].items():
            with self._report_damage():
                rows = self._arrays[f"rows.{number}"].astype(numpy.int64)
                yield name.removeprefix(ALL), rows, self._epochs(number).of(numpy.arange(len(rows)))

    def _epochs(self, number: int) -> RowEpochs:
        """Return the epochs of facts; those of a checkpoint without any came in its epoch or before."""
        runs = self._arrays.get(f"epochs.{number}")
        return RowEpochs(numpy.array([(0, -self._epoch)]) if runs is None else runs)

    def views(self, wanted: Callable[[str], bool]) -> Iterator[tuple[str, NDArray[Any]]]:
        """Yield the rows of the views with `wanted` names, which are no closures."""
        for name, number in self._about["views"].items():
            if wanted(name):
                with self._report_damage():
                    yield name, self._arrays[f"rows.{number}"].astype(numpy.int64)

    def restore(
        self, program: CoreProgram, dictionary: Dictionary, *, hidden_facts: bool = False
    ) -> EmbeddedEngine | None:
        """Return the engine of the checkpoint, over the same program compiled again; None if another version of tidelog
        has compiled it differently. Only partitions have facts of `hidden` relations."""
        about = self._about
        choice = EarlyChoice(frozenset(about.get("early", ())))
        early = with_early_projections(program, choice.names)
        program = early.program
        parts = program.nodes_to_evaluate(about.get("unsettled", {}))
        nodes = coarsen_nodes(parts, [frozenset(names) for names in about["nodes"] if len(names) > 1])
        with self._report_damage():
            if any(about.get(key) != value for key, value in shape_of(program, nodes).items()):
                return None
            for name, number in about["facts"].items():
                info = program.relations.get(name)  # None for what a rule that is gone has left
                hidden = info is None or (info.auxiliary and name not in program.candidates.values())
                if hidden and not hidden_facts and len(self._arrays[f"rows.{number}"]):
                    raise ValueError("it has facts of an intermediate result of a rule")
            catalog = Catalog(about["bits"])
            members = about.get("members", ())
            closed = {about["views"][name] for name in [*about["closures"], *about["mirrors"], *members]}
            numbers = {*about["views"].values(), *about["facts"].values()} - closed
            stored = {number: self._relation(number, catalog) for number in sorted(numbers)}
            for number in about["facts"].values():
                stored[number].epochs = self._epochs(number)
            engine = EmbeddedEngine(
                dictionary,
                program,
                catalog,
                {name: stored[number] for name, number in about["facts"].items()},
                {name: stored[number] for name, number in about["views"].items() if number not in closed},
                nodes,
                mirrors=dict(about["mirrors"]),
                costs=dict(about["costs"]),
                round=about["round"],
                next_number=about.get("next_number", 0),
                unsettled=dict(about.get("unsettled", {})),
                early=early,
                early_choice=choice,
            )
            for name, (signature, i) in about.get("functors", {}).items():
                if name in program.functors and str(program.functors[name]) == signature:
                    values = self._arrays[f"values.{i}"].astype(numpy.int64)[:, 0]
                    keys, counts = (self._arrays[f"{part}.{i}"].astype(numpy.int64) for part in ("arguments", "sizes"))
                    memory_of(program.functors[name], dictionary).restore(keys, counts, values)
            for name, fingerprint in about.get("aggregates", {}).items():
                if name in program.functors:
                    program.functors[name].given.computed[name] = fingerprint
            for node in nodes:
                name = node.relations[0]
                if name in about["closures"] and node.closure is not None:
                    graph = closure_over(node.closure, engine.views, engine.asserted[name])
                    engine.closures[name] = node.closure, graph
                    engine.views[name] = ClosedRelation(catalog, graph)
                elif name in engine.mirrors:
                    engine.views[name] = ClosedRelation(catalog, engine.closures[engine.mirrors[name]][1])
                elif name in members and (shape := node.members) is not None:
                    pairs, asked = engine.views[shape.closure], engine.views[shape.outer]
                    if not isinstance(pairs, ClosedRelation):
                        raise ValueError(f"{name} has the pairs of {shape.closure}, which is no closure")
                    engine.views[name] = ClosedMembers(pairs, asked, shape.backward)
            return engine

    def _relation(self, number: int, catalog: Catalog) -> StoredRelation:
        rows, births = self._arrays[f"rows.{number}"], self._arrays[f"births.{number}"]
        counts, supports = self._arrays.get(f"counts.{number}"), self._arrays.get(f"supports.{number}")
        stored = StoredRelation(catalog, rows.shape[1], counted=counts is not None)
        stored.insert(rows)
        if stored.rows != len(rows):
            raise ValueError(f"rows.{number} has rows twice")
        stored.marks.become(Marks(counts, births, supports, number in self._about["by_row"]))
        stored.marks.look_for_saturation()
        return stored

    @contextmanager
    def _report_damage(self) -> Iterator[None]:
        try:
            yield
        except (
            OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, SyntaxError, EOFError,
            RecursionError, NotImplementedError, zipfile.BadZipFile, zlib.error,
        ) as error:  # fmt: skip
            raise damage_error(self._path, f"{error!s:.200}") from None


class _StoppedError(Exception):
    """Nobody wants the checkpoint any more."""


class BackgroundCheckpoint:
    """A checkpoint of the last epoch of `engine`, which a thread begins to write at once. The caller keeps the engine
    from ending an epoch until this is made. MemoryError makes none.

    The manifest does not name the file until `take`, which the thread of a later commit calls. Before an epoch in which
    relations go, it calls `stop`: their facts must not come back.
    """

    def __init__(self, state: StateFolder, engine: EmbeddedEngine) -> None:
        self._state = state
        self._number = state.manifest.number
        self._image = EngineImage(engine, state.manifest.text, apart=True)
        self._checksum: str | None = None
        self._error: Exception | None = None
        self._stopped = False
        self.seconds = 0.0
        """The time that writing has taken."""
        self._thread = threading.Thread(target=self._write, name="tidelog checkpoint", daemon=True)
        self._thread.start()

    def _write(self) -> None:
        started = time.perf_counter()
        try:
            self._checksum = self._state.write_in_background(
                self._number, lambda file: self._image.write(file, self._look)
            )
        except Exception as error:
            self._error = error
        self.seconds = time.perf_counter() - started

    def _look(self) -> None:
        if self._stopped:
            raise _StoppedError

    @property
    def is_written(self) -> bool:
        """Return True once the thread has ended."""
        return not self._thread.is_alive()

    def take(self) -> None:
        """Put the written checkpoint in the place of the last one, and of the segments up to it. Do nothing where the
        disk did not take it, or where a record type that it has has other fields now."""
        is_lost = self._image.is_lost
        if self._checksum is not None and not is_lost:
            self._state.take_from_background(self._number, self._checksum)
            return
        self._state.drop_checkpoint(self._number)
        if self._error is not None and not (is_lost or isinstance(self._error, (UsageError, MemoryError))):
            raise self._error

    def stop(self) -> None:
        """End the thread, and remove what it has written."""
        self._stopped = True
        self._thread.join()
        self._state.drop_checkpoint(self._number)
