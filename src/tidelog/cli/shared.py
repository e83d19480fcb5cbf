"""Shared parts of commands: options of an epoch and of the preprocessor, and a store that must exist."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from tidelog.errors import Problem, ProgramError, TidelogError, UsageError
from tidelog.limits.progress import step_of

if TYPE_CHECKING:
    from tidelog.client.database import RemoteDatabase
    from tidelog.functions.importing import Library
    from tidelog.language.reading import Preprocessing, ProgramText
    from tidelog.language.syntax import Program
    from tidelog.store import StoredDatabase
    from tidelog.workspace.programs import Demanded

    Commands: TypeAlias = argparse._SubParsersAction[argparse.ArgumentParser]

QUOTES = "E0417"
"""The code of the warning about values of a file that keep their quotes."""


MOST_ALIKE = 5
"""Warnings with one code that are shown one by one."""


def positive(kind: type[float] | type[int]) -> Any:
    """Return a converter of numbers above zero for argparse."""

    def convert(text: str) -> float:
        value = kind(text)
        if not value > 0:
            raise ValueError
        return value

    convert.__name__ = f"positive {'number' if kind is float else 'integer'}"  # argparse names it in its message
    return convert


def jobs(text: str) -> int | None:
    """Read a number of threads as Soufflé does: None for `auto`."""
    return None if text == "auto" else int(positive(int)(text))


jobs.__name__ = "positive integer or auto"


def size(text: str) -> int:
    """Read a number of bytes, such as 8GB."""
    from tidelog.workspace.options import size_of

    return size_of(text)


size.__name__ = "size"


def add_limits(command: argparse.ArgumentParser) -> None:
    command.add_argument("--timeout", metavar="S", type=positive(float), help="stop after so many seconds")
    command.add_argument("--max-rows", metavar="N", type=positive(int), help="stop when more tuples are derived")
    command.add_argument(
        "--memory", metavar="SIZE", type=size, help="stop when the process would have more, such as 8GB"
    )
    command.add_argument(
        "--spill", metavar="FOLDER", type=Path, help="put what does not fit into memory into files in this folder"
    )
    command.add_argument(
        "-j", "--jobs", metavar="N", type=jobs, help="evaluate on N threads (default: auto, one per core)"
    )
    command.add_argument("--stats", action="store_true", help="report the strategy of each hyper-node, and sizes")
    command.add_argument("--json", action="store_true", help="print results and errors as JSON")


def limits_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of an epoch that a command has got."""
    same = ("timeout", "max_rows", "memory", "spill")
    return {**{name: getattr(arguments, name) for name in same}, "threads": arguments.jobs}


def add_fact_folder(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "-F",
        "--fact-dir",
        metavar="FACTS",
        type=Path,
        default=Path(),
        help="folder of the files of .input (default: .)",
    )


def add_list(command: argparse.ArgumentParser, *names: str, metavar: str, help: str, type: type = str) -> None:
    """Add an option that may be given several times: a list, of no values by default."""
    command.add_argument(*names, metavar=metavar, type=type, action="append", default=[], help=help)


def add_preprocessing(command: argparse.ArgumentParser) -> None:
    """Add Soufflé's options for the preprocessor to a command."""
    add_list(command, "-I", "--include-dir", metavar="DIR", type=Path, help="another folder for #include")
    add_list(command, "-M", "--macro", metavar="MACROS", help="define macros: NAME or NAME=text, separated by spaces")
    command.add_argument("--no-preprocessor", action="store_true", help="do not preprocess lines that begin with #")


def add_messages(command: argparse.ArgumentParser) -> None:
    """Add the options that say which errors and warnings are shown."""
    command.add_argument("-w", "--no-warn", action="store_true", help="show no warnings")
    add_list(command, "--wno", metavar="CODE", help="show no warnings with this code, such as E0292")
    command.add_argument("--warn-as-error", action="store_true", help="reject a program with warnings")
    command.add_argument("--all-errors", action="store_true", help="show all errors, not only the first 20")


def text(arguments: argparse.Namespace) -> ProgramText:
    """Return the text of the program that a command's arguments name, with its options. Raise ProgramError."""
    from tidelog.language.reading import text_of

    return text_of(arguments.program, preprocessing=preprocessing_of(arguments))


def preprocessing_of(arguments: argparse.Namespace) -> Preprocessing:
    """Return the options of the preprocessor that a command has got."""
    from tidelog.language.reading import Preprocessing

    macros = tuple(macro for each in arguments.macro for macro in each.split())
    return Preprocessing(tuple(arguments.include_dir), macros, not arguments.no_preprocessor)


def parse_program(arguments: argparse.Namespace) -> Program:
    """Return the program that a command's arguments name, read with its options."""
    from tidelog.language.reading import parse

    return parse(text(arguments))


def warnings_of(arguments: argparse.Namespace, program: Demanded) -> list[Problem]:
    """Return the warnings of a program that a command shows. Raise ProgramError with them if it has to reject them, and
    UsageError (E0640) for a code of no warning."""
    from tidelog.language.lints import CODES

    known = *CODES, QUOTES
    unknown = next((code for code in arguments.wno if code not in known), None)
    if unknown is not None:
        raise UsageError(Problem("E0640", f"no warning has the code {unknown}", hint=f"use one of {', '.join(known)}"))
    found = [] if arguments.no_warn else [each for each in program.warnings if each.code not in arguments.wno]
    if found and arguments.warn_as_error:
        raise ProgramError(*(replace(problem, severity="error") for problem in found))
    return found


def print_warnings(found: Sequence[Problem]) -> None:
    """Print warnings. More than MOST_ALIKE with one code are one, with their number and the first places."""
    kinds: dict[str, list[Problem]] = {}
    for warning in found:
        kinds.setdefault(warning.code, []).append(warning)
    for warning in found:
        alike = kinds[warning.code]
        if len(alike) <= MOST_ALIKE:
            print(warning, file=sys.stderr)
        elif warning is alike[0]:
            notes = [(each.span, each.message) for each in alike[1:MOST_ALIKE] if each.span is not None]
            message = f"{warning.message} (and {len(alike) - 1} others of this kind)"
            print(replace(warning, message=message, notes=(*warning.notes, *notes)), file=sys.stderr)


def add_functor_file(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--functors", metavar="FILE.py", type=Path, help="a module with functions that `tidelog.functor` marks"
    )


def add_functors(command: argparse.ArgumentParser) -> None:
    """Add the options for functions of functors, in Python and in libraries."""
    add_functor_file(command)
    add_list(
        command, "-l", "--libraries", metavar="NAME", help="a library with functions of functors: libNAME.so, or a path"
    )
    add_list(
        command,
        "-L",
        "--library-dir",
        metavar="FOLDER",
        type=Path,
        help="folder of libraries (default: .); without -l for libfunctors.so",
    )
    command.add_argument(
        "--library-bits",
        type=int,
        choices=(64, 32),
        default=64,
        help="size of numbers for which the libraries were built (default: %(default)s)",
    )


def functor_files(arguments: argparse.Namespace) -> tuple[Path, ...]:
    """Return the file of functions that a command's arguments name, if they name one."""
    return () if arguments.functors is None else (arguments.functors,)


def functors_of(arguments: argparse.Namespace) -> tuple[Path | Library, ...]:
    """Return the file of functions and the libraries that a command's arguments name. Raise UsageError (E0642) for a
    library that cannot be loaded."""
    from tidelog.functions.importing import Library

    folders = arguments.library_dir or [Path()]
    names = arguments.libraries or ["functors"] * bool(arguments.library_dir)
    libraries = (Library(name, folders, bits=arguments.library_bits) for name in names)
    return (*functor_files(arguments), *libraries)


def add_access(command: argparse.ArgumentParser) -> None:
    """Add the options for the token that a server asks for, and for the certificates that its own is verified by."""
    command.add_argument("--token-file", metavar="FILE", type=Path, help="file with the secret that a server asks for")
    help_text = "certificates of authorities to trust, for a server with https that has one of its own"
    command.add_argument("--ca-file", metavar="FILE", type=Path, help=help_text)


@contextmanager
def hints(**by_code: str) -> Iterator[None]:
    """Raise the errors of the block with these hints by their codes: those that work where a command stands."""
    try:
        yield
    except TidelogError as error:
        if error.code not in by_code:
            raise
        first, *others = error.problems
        raise type(error)(replace(first, hint=by_code[error.code]), *others) from None


def is_address(store: str) -> bool:
    """Return True if an argument is the address of a server, not a folder."""
    return store.startswith(("http://", "https://"))


def connect_to_server(address: str, arguments: argparse.Namespace) -> RemoteDatabase:
    """Return the database that a server has, with the options of `add_access`. Raise UsageError (E0699) where it does
    not answer, and SetupError (E0790) where the extra `client` is missing."""
    from tidelog.connect import connect

    file = arguments.token_file
    token = None if file is None else file.read_text(encoding="utf-8").strip()
    return connect(address, token=token, ca=arguments.ca_file)


def open_existing(folder: Path, *, read_only: bool = False, functors: Any = ()) -> StoredDatabase:
    """Open the store in a folder. Raise UsageError (E0654) without a store there, and make nothing."""
    from tidelog.store import StoredDatabase, is_marked

    if not is_marked(folder):
        hint = "make one with `tidelog init STORE PROG.dl`"
        raise UsageError(Problem("E0654", "the folder contains no store", place=str(folder), hint=hint))
    with step_of(f"opening {folder.name}", 0, 1):
        return StoredDatabase(folder, read_only=read_only, functors=functors)
