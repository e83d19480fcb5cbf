"""`tidelog show STORE REL`: print the tuples of a relation of a store, or the answer to a query, such as
`r(x, y), y > 3`. Without REL, print the sizes of all relations."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add(commands: Commands) -> None:
    """Add the command `show` to the parser."""
    from tidelog.cli.shared import add_functors

    command = commands.add_parser("show", help="read a store", description=__doc__, allow_abbrev=False)
    command.add_argument("store", metavar="STORE", type=Path)
    command.add_argument("relation", metavar="REL", nargs="?")
    command.add_argument("--json", action="store_true", help="print the tuples, or the errors, as JSON")
    add_functors(command)
    command.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Print a relation as Soufflé does, or the sizes of all."""
    from tidelog.cli.report import print_json, table
    from tidelog.cli.shared import existing, functors_of
    from tidelog.io import write_view
    from tidelog.io.sorting import sorted_rows
    from tidelog.language.syntax import RelationType

    with existing(arguments.store, read_only=True, functors=functors_of(arguments)) as db:
        if arguments.relation is None:
            sizes = {name: len(db[name]) for name in db.relations}
            if arguments.json:
                epoch = db.stats()["store"]["epoch"]
                print_json({"ok": True, "store": arguments.store, "epoch": epoch, "relations": sizes})
            else:
                print(table(("relation", "tuples"), list(sizes.items())))
            return 0
        view = db.query(arguments.relation) if "(" in arguments.relation else db[arguments.relation]
        if arguments.json:
            columns = [column.name for column in view.columns]
            document = {"ok": True, "store": arguments.store, "relation": view.name, "columns": columns}
            print_json({**document, "tuples": sorted_rows(view)})
        else:
            sys.stdout.flush()
            write_view({"IO": "stdout"}, None, RelationType(view.name, view.columns), view.words(), db.dictionary)
    return 0
