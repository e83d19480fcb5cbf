"""`tidelog apply STORE`: change the facts and the rules of a store as one epoch, and show the changes.

FILE is anything that `.input` reads, or - for standard input. Without a change nothing happens.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.cli.shared import add_functors, add_limits, functors_of, limits_of

if TYPE_CHECKING:
    from tidelog.arrays import Words
    from tidelog.change import Change
    from tidelog.store import StoredDatabase

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add(commands: Commands) -> None:
    """Add the command `apply` to the parser."""
    command = commands.add_parser("apply", help="change a store", description=__doc__, allow_abbrev=False)
    command.add_argument("store", metavar="STORE", type=Path)
    for option, verb in (("--insert", "assert"), ("--delete", "retract")):
        command.add_argument(
            option, metavar="REL=FILE", type=_facts, action="append", default=[], help=f"{verb} the facts of a file"
        )
    command.add_argument(
        "--add-rules", metavar="FILE", type=Path, action="append", default=[], help="add a program: rules, declarations"
    )
    command.add_argument(
        "--remove-rule", metavar="NAME", action="append", default=[], help="remove the rule of this name"
    )
    command.add_argument(
        "--remove-instance",
        metavar="NAME",
        action="append",
        default=[],
        help="remove the instance of a component, with its relations and their facts",
    )
    command.add_argument(
        "--changes", metavar="OUT", help="write REL.inserted.csv and REL.deleted.csv to a folder; - prints them instead"
    )
    add_limits(command)
    add_functors(command)
    command.set_defaults(execute=execute)


def _facts(text: str) -> tuple[str, str]:
    """Return the relation and the file of REL=FILE."""
    relation, equals, file = text.partition("=")
    if not (relation and equals and file):
        raise argparse.ArgumentTypeError(f"expected REL=FILE, found {text!r}")
    return relation, file


def execute(arguments: argparse.Namespace) -> int:
    """Make the changes one epoch and show them."""
    from tidelog.cli.report import print_json, stats
    from tidelog.cli.run import check_folders
    from tidelog.cli.shared import existing

    folder = None if arguments.changes in (None, "-") else Path(arguments.changes)
    check_folders(Path(), folder)
    with existing(arguments.store, functors=functors_of(arguments)) as db:
        db.options(**limits_of(arguments))
        for name in arguments.remove_rule:
            db.rules.remove(name)
        for name in arguments.remove_instance:
            db.rules.remove_instance(name)
        for program in arguments.add_rules:
            db.load(program)
        for name, file in arguments.delete:
            db.delete_words(name, _read(db, name, file))
        for name, file in arguments.insert:
            db.insert_words(name, _read(db, name, file))
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
                sys.stdout.flush()
                print(stats(change.report, db.stats()), file=sys.stderr)
    return 0


def _read(db: StoredDatabase, name: str, file: str) -> Words:
    """Return the facts of a file. Raise DataError if it is missing or wrong, UsageError (E0601) for an unknown
    relation."""
    from tidelog.io import read_facts

    relation = db.program.relations[db[name].name]
    return read_facts({"IO": "stdin"} if file == "-" else {"filename": file}, Path(), relation, db.dictionary)


def _write(db: StoredDatabase, change: Change, folder: Path) -> list[Path]:
    """Write the inserted and the deleted tuples, a file per relation and direction, empty ones included; return the
    files."""
    from tidelog.io import write_view

    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, relation in db.program.relations.items():
        for direction in ("inserted", "deleted"):
            rows = getattr(change[name], direction)
            options = {"filename": f"{name}.{direction}.csv"}
            files.append(write_view(options, folder, relation, rows.words(), db.dictionary))
    return [file for file in files if file is not None]


def _show(change: Change, *, rows: bool) -> None:
    """Print the changes: all of them as lines with + or -, or a table of their numbers."""
    from tidelog.cli.report import table
    from tidelog.io.sorting import sorted_rows
    from tidelog.storage.record_text import format_value

    if not rows:
        sizes = [(name, len(change[name].inserted), len(change[name].deleted)) for name in change]
        print(table(("relation", "inserted", "deleted"), sizes) if sizes else "nothing has changed")
        return
    for name in change:
        for sign, relation in (("-", change[name].deleted), ("+", change[name].inserted)):
            for row in sorted_rows(relation):
                print(f"{sign} {name}({', '.join(map(format_value, row))})")
