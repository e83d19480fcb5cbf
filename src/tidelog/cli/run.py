"""`tidelog run PROG.dl -F FACTS -D OUT`: read the facts, evaluate the program, write its outputs.

Relations with `.input` are read, those with `.output` are written, the sizes of those with `.printsize` are printed.
Files are written after everything has been computed, each under another name first, so that an interrupted run
leaves no half-written output.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidelog.database import Change, Database
    from tidelog.language.syntax import Directive

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add(commands: Commands) -> None:
    """Add the command `run` to the parser."""
    command = commands.add_parser("run", help="evaluate a program", description=__doc__, allow_abbrev=False)
    command.add_argument("program", metavar="PROG.dl", type=Path)
    command.add_argument(
        "-F", "--fact-dir", metavar="FACTS", type=Path, default=Path(), help="where .input finds its files (default: .)"
    )
    command.add_argument(
        "-D", "--output-dir", metavar="OUT", default=".", help="where .output writes its files (default: .); - prints them"
    )
    command.add_argument("--timeout", metavar="S", type=_positive(float), help="give up after so many seconds")
    command.add_argument("--max-rows", metavar="N", type=_positive(int), help="give up when more tuples are derived")
    command.add_argument("--stats", action="store_true", help="report what was done for each hyper-node, and sizes")
    command.add_argument("--json", action="store_true", help="print results and errors as JSON")
    command.set_defaults(execute=execute)


def _positive(kind: type[float] | type[int]) -> Any:
    def convert(text: str) -> float:
        value = kind(text)
        if not value > 0:
            raise ValueError
        return value

    convert.__name__ = f"positive {'number' if kind is float else 'integer'}"  # argparse names it in its message
    return convert


def execute(arguments: argparse.Namespace) -> int:
    """Load, read, commit, write."""
    import tidelog

    started = time.perf_counter()
    _check_folders(arguments)
    db = tidelog.connect()
    db.options(timeout=arguments.timeout, max_rows=arguments.max_rows)
    db.load(arguments.program)
    read_inputs(db, arguments.fact_dir)
    change = db.commit()
    if arguments.json:
        _answer_as_json(db, change, arguments, started)
    else:
        _answer(db, arguments)
        if arguments.stats:
            print(stats(db, change), file=sys.stderr)
    return 0


def _check_folders(arguments: argparse.Namespace) -> None:
    """UsageError when the folders are not there; before any work is done."""
    from tidelog.errors import Problem, UsageError

    if not arguments.fact_dir.is_dir():
        raise UsageError(
            Problem("E0651", f"-F names no folder: {arguments.fact_dir}", hint="give the folder with the fact files")
        )
    if arguments.output_dir != "-" and Path(arguments.output_dir).exists() and not Path(arguments.output_dir).is_dir():
        raise UsageError(
            Problem("E0652", f"-D names no folder: {arguments.output_dir}", hint="give a folder, or - to print the outputs")
        )


def read_inputs(db: Database, folder: Path) -> None:
    """Insert what the program's `.input` directives name; DataError for what cannot be read."""
    from tidelog.io import read_facts

    for directive in _directives(db, "input"):
        relation = db.program.relations[directive.relation]
        db.insert(directive.relation, read_facts(directive.options, folder, relation, db.dictionary))


def _directives(db: Database, name: str) -> list[Directive]:
    """The directives with this name, in the order of the text."""
    return [directive for directive in db.program.directives if directive.name == name]


def _answer(db: Database, arguments: argparse.Namespace) -> None:
    """Write or print the outputs, then print the sizes asked for."""
    for directive in _directives(db, "output"):
        if arguments.output_dir == "-":
            _print_view(db, directive)
        else:
            _write_view(db, directive, Path(arguments.output_dir))
    for directive in _directives(db, "printsize"):
        print(f"{directive.relation}\t{len(db[directive.relation])}")
