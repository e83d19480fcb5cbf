"""Programs that start again: a cache of compiled programs by their content.

Reading, checking and compiling thousands of rules takes seconds, but depends on the text, the files that it includes
and tidelog alone. So a program that is the first of a database, and large, is kept in the user's cache folder
(`programs` in the folder of caches), together with the states of `Checker` and `Compiler`, which go
on from there as if they had made it themselves. The command line keeps the forms with demand besides (`Demanded`).

A file there has a checksum, the included files with their digests, and a pickle. Pickles can do harm, so that files
count only if nobody but the user can write the folder, and then only classes of syntax trees and rules are unpickled.
A file that is damaged, from another tidelog, or out of date is as good as none. A cache that cannot be written costs
time and nothing else. Files that nobody has used for long go, and the oldest of too many bytes.
"""

from __future__ import annotations

import copyreg
import io
import json
import os
import pickle
import stat
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import lark

from tidelog.common.cache_folder import cache_folder
from tidelog.common.collecting import old_at_once
from tidelog.durable.local import LocalFiles
from tidelog.errors import Problem
from tidelog.functions.callables import GivenFunctions
from tidelog.kernels.calling import LONG, expect, takes_long
from tidelog.language import Checker
from tidelog.language.check import CheckerState
from tidelog.language.consulted import Consulted, digest
from tidelog.language.reading import Preprocessing, ProgramText, is_preprocessed, parse, text_of
from tidelog.language.syntax import CheckedProgram, Program
from tidelog.rules import Compiler
from tidelog.rules.automatic import AutomaticDemand
from tidelog.rules.compile import CompilerState
from tidelog.rules.core import CoreProgram
from tidelog.version import __version__

WORTH = 200
"""Rules and relations of a program that is worth a file: fewer are compiled in a tenth of a second."""
MOST_BYTES = 256 << 20
"""Bytes of all files together."""
_LONG = 30 * 24 * 3600.0
"""Seconds."""
_FORMAT = 3
_DEMAND, _WORK = "demand?", "work?"
"""Forms that no relation has the name of: the one that has no demand yet, only what says where there should be some,
and the number of facts over which Python took long."""


@dataclass(frozen=True)
class Compiled:
    """A program as it was read, as it was checked and compiled when it was the first one of a database, and the states
    of those who did."""

    program: Program
    checker: CheckerState
    compiler: CompilerState
    checked: CheckedProgram
    core: CoreProgram

    def resume(self, checker: Checker, compiler: Compiler) -> tuple[CheckedProgram, CoreProgram]:
        """Return the checked and the core program, after which a checker and a compiler go on."""
        checker.resume(self.checker)
        compiler.resume(self.compiler)
        return self.checked, self.core


@dataclass(frozen=True)
class Reading:
    """A program that was read: its compiled form if it was found in the cache, else what it was read from, if that can
    be kept there. One that is not the first of its database comes `behind` others, which declare relations only."""

    program: Program
    compiled: Compiled | None = None
    origin: tuple[ProgramText, Consulted, str] | None = None
    behind: tuple[Program, ...] = ()

    def keep(self, compiled: Compiled) -> None:
        """Keep the program, which was compiled as the first one of a database."""
        if self.origin is not None:
            text, consulted, form = self.origin
            if _size(compiled.checked) >= WORTH:
                _keep(text, consulted, compiled, form)


def read_program(
    text_or_path: str | os.PathLike[str], given: GivenFunctions, name: str | None = None, *, first: bool
) -> Reading:
    """Read a program, from the cache if it is the first one of a database. Raise what `language.read` raises."""
    text = text_of(text_or_path, name)
    found = find(text, given) if first else None
    if found is not None:
        return Reading(found.program, found)
    consulted = Consulted()
    return Reading(parse(text, consulted=consulted), None, (text, consulted, "") if first else None)


def behind(text: ProgramText, given: GivenFunctions, programs: tuple[Program, ...], form: str) -> Reading | None:
    """Return a program from the cache that was compiled behind others, and what `keep` needs: without a program where
    it is not there, None where it cannot be kept. `form` has all that it depends on beside the texts."""
    if any(replace(each, declarations=()) != Program() for each in programs):
        return None
    known = [str(declaration) for each in programs for declaration in each.declarations]
    types = [f"{name}: {each.signature}" for name, each in sorted(given.functions.items())]
    key = repr((known, types, sorted(given.aggregates), form))
    found = find(text, given, key)
    return Reading(found.program if found else Program(), found, (text, Consulted(), key), programs)


class Demanded:
    """A program of which only the outputs are read (`AutomaticDemand`), and its forms with demand, from the cache where
    they are there. `given` are the functions of the database that loads it."""

    def __init__(self, text: ProgramText, given: GivenFunctions) -> None:
        self._text = text
        self._given = given
        found = _find(text, given, _DEMAND)
        self._is_kept = found is not None
        if found is not None and isinstance(found[0], AutomaticDemand):
            self._demand, self._consulted = found[0], found[1]
        else:
            self._consulted = Consulted()
            self._demand = AutomaticDemand(parse(text, consulted=self._consulted))

    @property
    def as_written(self) -> tuple[CheckedProgram, CoreProgram]:
        """The program, checked and compiled without demand. Raise ProgramError."""
        found = self._demand.as_written
        if not self._is_kept and _size(found[0]) >= WORTH:
            self._is_kept = True
            _ = self._demand.warnings  # They are kept, too.
            _keep(self._text, self._consulted, self._demand, _DEMAND)
        return found

    @property
    def warnings(self) -> list[Problem]:
        """The warnings about the program. Raise ProgramError."""
        _ = self.as_written  # It is kept.
        return self._demand.warnings

    def relations_on_demand(self, sizes: Mapping[str, int] | None = None) -> frozenset[str]:
        """Return the relations that are derived on demand, from constants, and where there are `sizes` of relations by
        these, too. Raise ProgramError."""
        found = self._demand.from_constants if sizes is None else self._demand.by_sizes(sizes)
        if "as_written" in vars(self._demand):
            _ = self.as_written  # It is kept.
        return found

    @property
    def evaluation_note(self) -> EvaluationNote:
        """The note beside the program, which later runs read. A program that is not kept has none."""
        return EvaluationNote(self._text, self._given, self._consulted if self._is_kept else None)

    def form(self, relations: frozenset[str] = frozenset()) -> Reading:
        """Return the form in which these relations are derived on demand."""
        name = " ".join(sorted(relations))
        found = _find(self._text, self._given, name)
        if found is not None and isinstance(found[0], Compiled):
            return Reading(found[0].program, found[0])
        return Reading(self._demand.with_magic_qualifier(relations), None, (self._text, self._consulted, name))


@dataclass(frozen=True)
class EvaluationNote:
    """How many facts of a program were too many for Python. It keeps no form of the program."""

    text: ProgramText
    given: GivenFunctions
    consulted: Consulted | None
    """The files that the program includes, None if nothing is to be kept."""

    @contextmanager
    def record_evaluation(self, facts: int) -> Iterator[None]:
        """Evaluate the program over so many facts: with machine code from the start, if Python took long over half as
        many in an earlier process. If it does so now, that is noted for later ones."""
        found = None if self.consulted is None else _find(self.text, self.given, _WORK)
        is_known = found is not None and found[0] <= 2 * facts
        if is_known:
            expect(LONG)
        yield
        if self.consulted is not None and not is_known and takes_long():
            _keep(self.text, self.consulted, facts, _WORK)


def find(text: ProgramText, given: GivenFunctions, form: str = "") -> Compiled | None:
    """Return the compiled program of a text from the cache, with the functions of its functors, or None."""
    found = _find(text, given, form)
    return found[0] if found is not None and isinstance(found[0], Compiled) else None


def _find(text: ProgramText, given: GivenFunctions, form: str = "") -> tuple[Any, Consulted] | None:
    """Return what the cache has of a form of a program, and the files that it includes."""
    try:
        folder = _folder()
        if not _is_private(folder):
            return None
        with closing(LocalFiles(folder)) as files:
            data = files.read_bytes(key := _key(text, form))
        file = io.BytesIO(data)  # A program may be megabytes, which nothing here copies.
        checksum = file.readline()[:-1].decode()
        if digest(memoryview(data)[file.tell() :]) != checksum:
            return None
        consulted = Consulted(json.loads(file.readline()))
        if not consulted.is_current():
            return None
        with old_at_once():
            found = _Unpickler(file, given).load()
        os.utime(folder / key)
    except Exception:  # A damaged file, and one of another tidelog, fails in as many ways as pickles can.
        return None
    return found, consulted


def _size(checked: CheckedProgram) -> int:
    """Return the number of rules and relations of a program. Facts count for nothing: reading one takes no longer than
    unpickling it."""
    return len(checked.written) + len(checked.relations)


def _keep(text: ProgramText, consulted: Consulted, content: Compiled | AutomaticDemand | int, form: str) -> None:
    """Keep a form of a program, if it will be the same again and the disk takes it."""
    if consulted.dated:
        return
    with suppress(OSError, RuntimeError, pickle.PicklingError):  # RuntimeError: no home, or trees that are too deep
        data = json.dumps(consulted.files).encode() + b"\n" + _pickle_content(content)
        folder = _folder()
        folder.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        if not _is_private(folder) or len(data) > MOST_BYTES:
            return
        with closing(LocalFiles(folder)) as files:
            key = _key(text, form)
            new = f"{key}.{os.getpid()}.{threading.get_ident()}"
            try:
                files.write_bytes(new, digest(data).encode() + b"\n" + data)
                files.replace(new, key)
            except OSError:
                files.remove_tree(new)
                raise
        _remove_unused(folder)


def _folder() -> Path:
    return cache_folder() / "programs"


def _is_private(folder: Path) -> bool:
    """Return True if a folder is one that nobody but this user can write. OSError."""
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022


def _key(text: ProgramText, form: str) -> str:
    """Return the name of the file for a form of a text: a digest of all that the result depends on, but for included
    files."""
    source = text.source
    parts = [str(_FORMAT), __version__, sys.version, lark.__version__, _own_sources(), source.name, source.text, form]
    if text.preprocessing != Preprocessing():
        parts += [repr(text.preprocessing)]
    if (
        is_preprocessed(source.text) or text.preprocessing.macros
    ):  # Messages name included files relative to the folder of the process.
        parts += [str(text.folder.absolute()), str(Path.cwd()), _preprocessor()]
    return digest("".join(f"{len(part)}:{part}" for part in parts).encode())


@cache
def _own_sources() -> str:
    """Return a digest of the modules that read, check and compile programs."""
    package = Path(__file__).parents[1]
    folders = [*sorted((package / "language").iterdir()), *sorted((package / "rules").iterdir())]
    others = ("common/source.py", "functions/callables.py", "rdf/prefixes.py", "rdf/naming.py")
    paths = [Path(__file__), *(package / name for name in others), *folders]
    return _digest_of(path for path in paths if path.suffix in (".py", ".lark"))


@cache
def _preprocessor() -> str:
    """Return a digest of the preprocessor, which takes long to import."""
    found = find_spec("pcpp")
    places = found.submodule_search_locations if found is not None else None
    return _digest_of(path for place in places or () for path in sorted(Path(place).glob("*.py")))


def _digest_of(paths: Iterable[Path]) -> str:
    return digest(b"".join(path.read_bytes() for path in paths))


def _remove_unused(folder: Path) -> None:
    """Remove the files that nobody has used for long, and as many others, oldest first, as are too many bytes."""
    found = sorted(((path, path.stat()) for path in folder.iterdir()), key=lambda each: -each[1].st_mtime)
    total = 0
    for path, status in found:
        total += status.st_size
        if total > MOST_BYTES or time.time() - status.st_mtime > _LONG:
            path.unlink(missing_ok=True)


# --- pickles ---------------------------------------------------------------------------------------------------------


def _pickle_content(content: Compiled | AutomaticDemand | int) -> bytes:
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer, pickle.HIGHEST_PROTOCOL)
    # The functions in Python are those of the database that finds the program.
    pickler.dispatch_table = copyreg.dispatch_table | {GivenFunctions: lambda _: (GivenFunctions, ())}
    pickler.dump(content)
    return buffer.getvalue()


class _Unpickler(pickle.Unpickler):
    """A reader of pickles that knows the classes of programs only."""

    def __init__(self, file: io.BytesIO, given: GivenFunctions) -> None:
        super().__init__(file)
        self._given = given

    def find_class(self, module: str, name: str) -> Any:
        """Return a class of programs. UnpicklingError for anything else."""
        if (module, name) == (GivenFunctions.__module__, GivenFunctions.__name__):
            given = self._given  # A reference to the reader, which keeps all that it has read, would be a cycle.
            return lambda: given
        if (module, name) == (Problem.__module__, Problem.__name__):
            return Problem
        if module in (__name__, "tidelog.common.source") or module.startswith(("tidelog.language.", "tidelog.rules.")):
            found = super().find_class(module, name)
            if isinstance(found, type) and found.__module__ == module:
                return found
            if (module, name) == ("tidelog.language.branches", "_branch_value"):
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is no class of programs")
