"""`tidelog show STORE REL`: print the tuples of a relation of a store, or the answer to a query, such as
`r(x, y), y > 3`. Without REL, print the sizes of all relations. With --rules, print the rules and the sizes
of their views."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidelog.store import StoredDatabase

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add(commands: Commands) -> None:
    """Add the command `show` to the parser."""
    from tidelog.cli.shared import add_functors

    command = commands.add_parser("show", help="read a store", description=__doc__, allow_abbrev=False)
    command.add_argument("store", metavar="STORE", type=Path)
    what = command.add_mutually_exclusive_group()
    what.add_argument("relation", metavar="REL", nargs="?")
    what.add_argument("--rules", action="store_true", help="print the rules, and how many tuples their views have")
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
        if arguments.rules:
            _show_rules(db, arguments)
            return 0
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
            relation = RelationType(view.name, view.columns)
            write_view({"IO": "stdout"}, None, relation, view.words(), db.dictionary, remedy="pass --json")
    return 0


def _show_rules(db: StoredDatabase, arguments: argparse.Namespace) -> None:
    """Print the rules with their names, and the numbers of tuples of the views that they derive."""
    from dataclasses import replace

    from tidelog.cli.report import print_json, table
    from tidelog.language.inlining import INLINE

    relations = db.workspace.program.relations
    rules: list[dict[str, Any]] = []
    for rule in db.workspace.program.texts:
        heads = [each.relation for each in rule.heads if INLINE not in relations[each.relation].qualifiers]
        sizes = {name: len(db[name]) for name in heads}
        rules.append({"name": rule.name, "views": sizes, "text": str(replace(rule, name=None))})
    if arguments.json:
        print_json({"ok": True, "store": arguments.store, "rules": rules})
    else:
        rows = [(each["name"], sum(each["views"].values()), each["text"]) for each in rules]
        print(table(("rule", "tuples", "text"), rows))
