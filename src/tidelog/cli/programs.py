"""`tidelog format`, `graph` and `lsp`: for people who write programs."""

from __future__ import annotations

import argparse
import sys
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.cli.shared import add_preprocessing, parse_program, preprocessing_of
from tidelog.errors import Problem, ProgramError, SetupError, how_to_install, is_installed

if TYPE_CHECKING:
    from tidelog.cli.shared import Commands

_INPUT = "-"


_FORMAT = """`tidelog format FILE…`: bring programs into one layout, with the same meaning and all comments.

`-` stands for standard input, and then the result goes to standard output.
"""


def add_format(commands: Commands) -> None:
    """Add the command `format` to the parser."""
    help_text = "bring programs into one layout"
    command = commands.add_parser("format", help=help_text, description=_FORMAT, allow_abbrev=False)
    command.add_argument("programs", metavar="FILE", nargs="+", help="a program, or - for standard input")
    command.add_argument("--check", action="store_true", help="write nothing; exit code 1 if a file would change")
    command.add_argument("--diff", action="store_true", help="write nothing; print the changes")
    add_preprocessing(command)
    command.set_defaults(execute=execute_format)


def execute_format(arguments: argparse.Namespace) -> int:
    """Format the files one after the other. Raise ProgramError with the errors of all files; those stay as they are."""
    problems: list[Problem] = []
    changed = False
    for name in arguments.programs:
        try:
            changed |= _format(name, arguments)
        except ProgramError as error:
            problems += error.problems
    if problems:
        raise ProgramError(*problems)
    return int(changed and arguments.check)


def _format(name: str, arguments: argparse.Namespace) -> bool:
    """Format one file, or standard input, and return True if it has another layout."""
    from tidelog.durable.whole_files import write_whole
    from tidelog.editors.format import format_program
    from tidelog.language.reading import file_text

    given = name == _INPUT
    path = Path() if given else Path(name)
    shown = "<stdin>" if given else name
    text = sys.stdin.read() if given else file_text(path, shown)
    result = format_program(text, shown, path if given else path.parent, preprocessing_of(arguments))
    if arguments.diff:
        lines = unified_diff(text.splitlines(True), result.splitlines(True), shown, f"{shown} (formatted)")
        sys.stdout.writelines(lines)
    if result != text and arguments.check:
        print(f"{shown}: has another layout", file=sys.stderr)
    if given and not (arguments.check or arguments.diff):
        sys.stdout.write(result)
    elif result != text and not (arguments.check or arguments.diff):
        # A file with the line ends of Windows keeps them.
        ends = "\r\n" if b"\r\n" in path.read_bytes() else "\n"
        write_whole(path, result.replace("\n", ends).encode())
        print(f"{shown}: formatted", file=sys.stderr)
    return result != text


_GRAPH = (
    """`tidelog graph PROG.dl [-o FILE]`: the rule graph of a program and its hyper-nodes, as a picture or as text."""
)


def add_graph(commands: Commands) -> None:
    """Add the command `graph` to the parser."""
    command = commands.add_parser("graph", help="draw the rule graph", description=_GRAPH, allow_abbrev=False)
    command.add_argument("program", metavar="PROG.dl", type=Path)
    command.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="file of the picture: .dot, or with the extra `draw` .svg, .html, .png or .pdf; default: print text",
    )
    add_preprocessing(command)
    command.set_defaults(execute=execute_graph)


def execute_graph(arguments: argparse.Namespace) -> int:
    """Draw or print the program's rule graph."""
    from tidelog.language import check
    from tidelog.rules import compile_program
    from tidelog.rules.outline import describe
    from tidelog.rules.picture import draw

    core = compile_program(check(parse_program(arguments)), as_written=True)
    if arguments.output is None:
        print(describe(core))
    else:
        draw(core, arguments.output)
        print(f"{arguments.output}: written")
    return 0


_LSP = """`tidelog lsp`: a server of the Language Server Protocol for editors, on standard input and output."""


def add_lsp(commands: Commands) -> None:
    """Add the command `lsp` to the parser."""
    command = commands.add_parser("lsp", help="serve an editor", description=_LSP, allow_abbrev=False)
    command.add_argument("--store", metavar="STORE", type=Path, help="show sizes of relations from this store")
    command.add_argument("--stdio", action="store_true", help="accepted, as editors pass it; there is no other way")
    command.set_defaults(execute=execute_lsp)


def execute_lsp(arguments: argparse.Namespace) -> int:
    """Serve until the editor ends the session. Raise SetupError (E0790) without the package pygls."""
    if not is_installed("pygls"):
        raise SetupError(Problem("E0790", "`tidelog lsp` needs the package pygls", hint=how_to_install("lsp")))
    from tidelog.editors.server import server

    server(arguments.store).start_io()
    return 0
