"""`tidelog apply STORE +FACTS -FACTS`: change the facts and the rules of a store as one epoch, and show the changes.

+FACTS asserts and -FACTS retracts. FACTS are one fact, such as 'edge("a", 3)', or REL=FILE, where FILE is anything that
`.input` reads, or - for standard input. The options of the relation's `.input` hold for the file, unless
REL(OPTIONS)=FILE says otherwise. Without a change nothing happens.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.cli.facts import FACTS, FactsArgument, declared_options, inputs_of, read_inputs
from tidelog.cli.report import change_lines, print_json, print_stats, table
from tidelog.cli.run import check_folders
from tidelog.cli.shared import (
    add_fact_folder,
    add_functors,
    add_limits,
    add_list,
    functors_of,
    limits_of,
    open_existing,
)
from tidelog.errors import DataError

if TYPE_CHECKING:
    from tidelog.cli.shared import Commands
    from tidelog.common.arrays import Words
    from tidelog.store import StoredDatabase
    from tidelog.workspace.change import Change

_SIGNS = {"+": "--insert", "-": "--delete"}


def add(commands: Commands) -> None:
    """Add the command `apply` to the parser."""
    command = commands.add_parser(
        "apply",
        help="change a store",
        description=__doc__,
        usage="%(prog)s STORE [+FACTS …] [-FACTS …] [OPTION …]",
        allow_abbrev=False,
    )
    command.add_argument("store", metavar="STORE", type=Path)
    for option in _SIGNS.values():  # argparse takes -FACTS for options, and no positional ones between options.
        command.add_argument(option, action="append", default=[], help=argparse.SUPPRESS)
    add_list(command, "--add-rules", metavar="FILE", type=Path, help="add a program: rules, declarations")
    add_fact_folder(command)
    add_list(command, "--remove-rule", metavar="NAME", help="remove the rule of this name")
    add_list(
        command,
        "--remove-instance",
        metavar="NAME",
        help="remove the instance of a component, with its relations and their facts",
    )
    command.add_argument(
        "--changes", metavar="OUT", help="write REL.inserted.csv and REL.deleted.csv to a folder; - prints them instead"
    )
    add_limits(command)
    add_functors(command)
    command.set_defaults(execute=execute)


def as_options(arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a command line, for `apply` with its +FACTS and -FACTS as options."""
    if arguments[0] != "apply":
        return list(arguments)
    if any(each.partition("=")[0] in _SIGNS.values() for each in arguments):
        print("tidelog: --insert FACTS is deprecated, write +FACTS, and -FACTS in place of --delete", file=sys.stderr)
    return [
        f"{_SIGNS[each[0]]}={each[1:]}" if each[:1] == "+" or (each[:1] == "-" and FACTS.fullmatch(each, 1)) else each
        for each in arguments
    ]


def execute(arguments: argparse.Namespace) -> int:
    """Make the changes one epoch and show them."""
    folder = None if arguments.changes in (None, "-") else Path(arguments.changes)
    check_folders(arguments.fact_dir, folder)
    insert, delete = (list(map(FactsArgument.of, each)) for each in (arguments.insert, arguments.delete))
    with open_existing(arguments.store, functors=functors_of(arguments)) as db:
        db.options(**limits_of(arguments))
        for name in arguments.remove_rule:
            db.rules.remove(name)
        for name in arguments.remove_instance:
            db.rules.remove_instance(name)
        before = db.program.directives
        for program in arguments.add_rules:
            db.load(program)
        added = [directive for directive in inputs_of(db.program.directives) if directive not in before]
        read_inputs(db, arguments.fact_dir, added)
        for facts in delete:
            facts.delete_from(db)
        for facts in insert:
            facts.insert_into(db)
        change = db.commit()
        files = _write(db, change, folder) if folder is not None else []
        if arguments.json:
            changes = {name: change[name].to_dict(rows=arguments.changes == "-") for name in change}
            document = {"ok": True, "store": arguments.store, "changes": changes, "files": files}
            if arguments.stats:
                document["stats"] = {"report": change.report.to_dict(), "sizes": db.stats()}
            print_json(document)
        else:
            _show(change, rows=arguments.changes == "-")
            if arguments.stats:
                print_stats(change.report, db.stats())
    return 0


def _write(db: StoredDatabase, change: Change, folder: Path) -> list[Path]:
    """Write the inserted and the deleted tuples, a file per relation and direction, empty ones included; return the
    files."""
    folder.mkdir(parents=True, exist_ok=True)
    return [
        _write_file(db, name, getattr(change[name], direction).words(), folder, f"{name}.{direction}")
        for name in db.program.relations
        for direction in ("inserted", "deleted")
    ]


def _write_file(db: StoredDatabase, name: str, words: Words, folder: Path, stem: str) -> Path:
    """Write tuples as text that `apply` reads with the options of the relation's `.input`; as JSON where such a text
    does not read back. Remove the file of the other kind: it is of an earlier epoch."""
    from tidelog.io import write_view

    relation, csv, json = db.program.relations[name], f"{stem}.csv", f"{stem}.json"
    try:
        write_view(declared_options(db, name, csv), folder, relation, words, db.dictionary)
        file, other = csv, json
    except DataError as error:
        if error.code not in ("E0413", "E0414"):
            raise
        write_view({"filename": json}, folder, relation, words, db.dictionary)
        file, other = json, csv
    (folder / other).unlink(missing_ok=True)
    return folder / file


def _show(change: Change, *, rows: bool) -> None:
    """Print the changes: all of them as lines with + or -, or a table of their numbers."""
    if not rows:
        sizes = [(name, len(change[name].inserted), len(change[name].deleted)) for name in change]
        print(table(("relation", "inserted", "deleted"), sizes) if sizes else "nothing has changed")
        return
    for line in change_lines(change):
        print(line)
