"""`tidelog format FILE…`: bring programs into one layout, with the same meaning and all comments.

`-` stands for standard input, and then the result goes to standard output.
"""

from __future__ import annotations

import argparse
import sys
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.cli.shared import add_preprocessing

if TYPE_CHECKING:
    from tidelog.errors import Problem

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

_INPUT = "-"


def add(commands: Commands) -> None:
    """Add the command `format` to the parser."""
    help_text = "bring programs into one layout"
    command = commands.add_parser("format", help=help_text, description=__doc__, allow_abbrev=False)
    command.add_argument("programs", metavar="FILE", nargs="+", help="a program, or - for standard input")
    command.add_argument("--check", action="store_true", help="write nothing; exit code 1 if a file would change")
    command.add_argument("--diff", action="store_true", help="write nothing; print the changes")
    add_preprocessing(command)
    command.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Format the files one after the other. Raise ProgramError with the errors of all files; those stay as they are."""
    from tidelog.errors import ProgramError

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
    from tidelog.cli.shared import preprocessing_of
    from tidelog.durable.whole_files import write_whole
    from tidelog.editors.format import formatted
    from tidelog.language.reading import file_text

    given = name == _INPUT
    path = Path() if given else Path(name)
    shown = "<stdin>" if given else name
    text = sys.stdin.read() if given else file_text(path, shown)
    result = formatted(text, shown, path if given else path.parent, preprocessing_of(arguments))
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
