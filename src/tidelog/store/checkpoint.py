"""An engine's state as one file, from which it continues without evaluating anything; `image` writes it.

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
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy
from numpy.typing import NDArray

from tidelog.durable.damage import damaged
from tidelog.maintain import closures
from tidelog.maintain.engine import EmbeddedEngine
from tidelog.maintain.user_functors import memory_of
from tidelog.rules.core import CoreProgram
from tidelog.rules.graph import coarsened
from tidelog.rules.selections import ALL
from tidelog.storage.arrow_arrays import numbers_to_arrow
from tidelog.storage.catalog import Catalog
from tidelog.storage.closed_relation import ClosedRelation
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.epochs import RowEpochs
from tidelog.storage.marks import Marks
from tidelog.storage.members import ClosedMembers
from tidelog.storage.stored import StoredRelation
from tidelog.store.image import FORMAT, shape_of


class Checkpoint:
    """A checkpoint in an open file that an `EngineImage` has written; `path` is for messages, `epoch` its number.

    Raises DataError (E0682) if it cannot be read, also later on.
    """

    def __init__(self, path: Path, file: IO[bytes], epoch: int = 0) -> None:
        self._path = path
        self._epoch = epoch
        with self._reading():
            self._arrays: Mapping[str, NDArray[Any]] = numpy.load(file, allow_pickle=False)
            self._about: dict[str, Any] = json.loads(self._arrays["about"].tobytes())
            if self._about["format"] != FORMAT:
                raise ValueError("another version of tidelog wrote it")
            self.program: str = self._about["program"]

    def fill(self, dictionary: Dictionary) -> None:
        """Fill a dictionary, which knows the record types and is empty, with all symbols and records by their
        numbers."""
        import pyarrow as pa

        with self._reading():
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
            with self._reading():
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
                with self._reading():
                    yield name, self._arrays[f"rows.{number}"].astype(numpy.int64)

    def restore(
        self, program: CoreProgram, dictionary: Dictionary, *, hidden_facts: bool = False
    ) -> EmbeddedEngine | None:
        """Return the engine of the checkpoint, over the same program compiled again; None if another version of tidelog
        has compiled it differently. Only partitions have facts of `hidden` relations."""
        about = self._about
        parts = program.evaluated(about.get("unsettled", {}))
        nodes = coarsened(parts, [frozenset(names) for names in about["nodes"] if len(names) > 1])
        with self._reading():
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
                    graph = closures.rebuilt(node.closure, engine.views, engine.asserted[name])
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
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except (
            OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, SyntaxError, EOFError,
            RecursionError, NotImplementedError, zipfile.BadZipFile, zlib.error,
        ) as error:  # fmt: skip
            raise damaged(self._path, f"{error!s:.200}") from None
