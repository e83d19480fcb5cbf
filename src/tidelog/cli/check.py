"""`tidelog check PROG.dl`: every error and warning of a program, without running it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidelog.language.syntax import CheckedProgram

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add(commands: Commands) -> None:
    """Add the command `check` to the parser."""
    command = commands.add_parser("check", help="show all errors of a program", description=__doc__, allow_abbrev=False)
    command.add_argument("program", metavar="PROG.dl", type=Path)
    command.add_argument("--json", action="store_true", help="print the result, or the errors, as JSON")
    command.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Read and check the program, and say how much there is in it."""
    from tidelog.cli.report import print_json, problem_as_json
    from tidelog.language import check, read
    from tidelog.language.lints import warnings
    from tidelog.rules import compile_program

    checked = check(read(arguments.program))
    compile_program(checked)  # negation or aggregation through recursion shows here
    found = warnings(checked)
    if arguments.json:
        document = {"ok": True, "program": arguments.program, **_contents(checked)}
        print_json({**document, "warnings": list(map(problem_as_json, found))})
    else:
        for warning in found:
            print(warning, file=sys.stderr)
        counted = ", ".join(_count(number, word) for word, number in _contents(checked).items())
        verdict = _count(len(found), "warnings") if found else "no errors"
        print(f"{arguments.program}: {verdict} ({counted})")
    return 0


def _contents(checked: CheckedProgram) -> dict[str, Any]:
    return {"relations": len(checked.relations), "rules": len(checked.rules), "facts": len(checked.facts)}


def _count(number: int, plural: str) -> str:
    return f"{number} {plural.removesuffix('s') if number == 1 else plural}"
