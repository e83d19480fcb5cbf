"""`tidelog check PROG.dl`: show every error and warning of a program, without running it.

`tidelog check FOLDER`: verify the views of the store or certificate in the folder.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.cli.shared import add_messages, add_preprocessing, existing, parsed, positive, warnings_of
from tidelog.collecting import uncollected

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add(commands: Commands) -> None:
    """Add the command `check` to the parser."""
    help_text = "show all errors of a program, or prove the views of a store or certificate"
    command = commands.add_parser("check", help=help_text, description=__doc__, allow_abbrev=False)
    command.add_argument("path", metavar="PROG.dl|FOLDER", type=Path)
    command.add_argument(
        "--timeout", metavar="S", type=positive(float), help="stop checking views after so many seconds"
    )
    command.add_argument("--json", action="store_true", help="print the result, or the errors, as JSON")
    add_preprocessing(command)
    add_messages(command)
    command.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Check the file or folder of the path, and print a summary."""
    from tidelog.store import is_marked

    if is_marked(arguments.path):
        _check_store(arguments.path, arguments.timeout, as_json=arguments.json)
    elif arguments.path.is_dir():
        _check_certificate(arguments.path, arguments.timeout, as_json=arguments.json)
    else:
        arguments.program = arguments.path
        _check_program(arguments)
    return 0


@uncollected()
def _check_program(arguments: argparse.Namespace) -> None:
    from tidelog.cli.report import print_json
    from tidelog.io.options import FileOptions
    from tidelog.language import check
    from tidelog.rules import compile_program

    path = arguments.path
    checked = check(parsed(arguments))
    compile_program(checked, as_written=True)  # negation or aggregation through recursion shows here
    for directive in checked.directives:
        if directive.name in ("input", "output"):
            FileOptions.of(directive.options, directive.span)  # which `run` would refuse
    found = warnings_of(arguments, checked)
    contents = {"relations": len(checked.relations), "rules": len(checked.written), "facts": len(checked.facts)}
    if arguments.json:
        print_json({"ok": True, "program": path, **contents, "warnings": [problem.to_dict() for problem in found]})
    else:
        for warning in found:
            print(warning, file=sys.stderr)
        _print_verdict(path, _count(len(found), "warnings") if found else "no errors", contents)


def _check_certificate(path: Path, timeout: float | None, *, as_json: bool) -> None:
    from functools import partial

    from tidelog.certificate import check, load, look
    from tidelog.limits.watch import Watch, guarded

    watch = Watch(timeout)
    with guarded(watch):
        certificate = load(path, partial(look, watch))
        check(certificate, watch)
    rules = len({rule.origin for rule in certificate.rules})
    _report("certificate", path, len(certificate.declared), rules, as_json)


def _check_store(path: Path, timeout: float | None, *, as_json: bool) -> None:
    with existing(path, read_only=True) as db:
        db.options(timeout=timeout)
        db.check()
        _report("store", path, len(db.relations), len(db.rules), as_json)


def _report(what: str, path: Path, relations: int, rules: int, as_json: bool) -> None:
    from tidelog.cli.report import print_json

    contents = {"relations": relations, "rules": rules}
    if as_json:
        print_json({"ok": True, what: path, **contents})
    else:
        _print_verdict(path, "the views follow from the facts and the rules", contents)


def _print_verdict(path: Path, verdict: str, contents: Mapping[str, int]) -> None:
    counted = ", ".join(_count(number, word) for word, number in contents.items())
    print(f"{path}: {verdict} ({counted})")


def _count(number: int, plural: str) -> str:
    return f"{number} {plural.removesuffix('s') if number == 1 else plural}"
