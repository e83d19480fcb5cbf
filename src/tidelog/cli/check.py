"""`tidelog check PROG.dl`: show every error and warning of a program, without running it.

`tidelog check FOLDER`: verify the views of the store or certificate in the folder.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.cli.report import print_json
from tidelog.cli.shared import (
    add_functors,
    add_messages,
    add_preprocessing,
    functors_of,
    open_existing,
    positive,
    print_warnings,
    text,
    warnings_of,
)
from tidelog.common.collecting import pause_collection
from tidelog.language.counters import COUNTER

if TYPE_CHECKING:
    from tidelog.cli.shared import Commands


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
    add_functors(command)
    command.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Check the file or folder of the path, and print a summary."""
    from tidelog.store import is_marked

    if is_marked(arguments.path):
        _check_store(arguments)
    elif arguments.path.is_dir():
        _check_certificate(arguments)
    else:
        arguments.program = arguments.path
        _check_program(arguments)
    return 0


@pause_collection()
def _check_program(arguments: argparse.Namespace) -> None:
    from tidelog.functions.callables import GivenFunctions
    from tidelog.io.files import input_options, reject_lost_outputs
    from tidelog.semantics.user_aggregates import given_of
    from tidelog.workspace.programs import Demanded

    path = arguments.path
    functors = functors_of(arguments)
    given = GivenFunctions.of(functors)
    program = Demanded(text(arguments), given)
    checked, core = program.as_written
    if functors:
        for declared in core.functors.values():
            given_of(replace(declared, given=given))
    for directive in checked.directives:
        relation = checked.relations[directive.relation]  # Below is what `run` would refuse.
        if directive.name == "input":
            input_options(directive.options, relation, directive.span)
    outputs = [directive for directive in checked.directives if directive.name == "output"]
    reject_lost_outputs(outputs, checked.relations)
    found = warnings_of(arguments, program)
    contents = {"relations": len(checked.relations), "rules": len(checked.written), "facts": len(checked.facts)}
    if arguments.json:
        print_json({"ok": True, "program": path, **contents, "warnings": [problem.to_dict() for problem in found]})
    else:
        print_warnings(found)
        _print_verdict(path, _count(len(found), "warnings") if found else "no errors", contents)


def _check_certificate(arguments: argparse.Namespace) -> None:
    from tidelog.certificate import check, load, look
    from tidelog.functions.callables import GivenFunctions
    from tidelog.limits.watch import Watch, defer_interrupts

    watch, given = Watch(arguments.timeout), GivenFunctions.of(functors_of(arguments))
    with defer_interrupts(watch):
        certificate = load(arguments.path, partial(look, watch), given)
        check(certificate, watch)
    rules = len({rule.origin for rule in certificate.rules})
    _report("certificate", arguments, len(certificate.declared_relations), rules, certificate.trusted_functors)


def _check_store(arguments: argparse.Namespace) -> None:
    with open_existing(arguments.path, read_only=True, functors=functors_of(arguments)) as db:
        db.options(timeout=arguments.timeout)
        db.check()
        core = db.workspace.committed.core
        trusted = (*core.functors, *([COUNTER] if core.counters else []))
        _report("store", arguments, len(db.relations), len(db.rules), trusted)


def _report(what: str, arguments: argparse.Namespace, relations: int, rules: int, trusted: Iterable[str]) -> None:
    contents, trusted = {"relations": relations, "rules": rules}, list(trusted)
    if arguments.json:
        print_json({"ok": True, what: arguments.path, **contents, **({"trusted": trusted} if trusted else {})})
    else:
        _print_verdict(arguments.path, "the views follow from the facts and the rules", contents)
        if trusted:
            print(f"trusted values of functors: {', '.join(trusted)}")


def _print_verdict(path: Path, verdict: str, contents: Mapping[str, int]) -> None:
    counted = ", ".join(_count(number, word) for word, number in contents.items())
    print(f"{path}: {verdict} ({counted})")


def _count(number: int, plural: str) -> str:
    return f"{number} {plural.removesuffix('s') if number == 1 else plural}"
