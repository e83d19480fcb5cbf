"""`tidelog init` makes a store on disk, `show` prints what it has, `report` writes it as a page."""

from __future__ import annotations

import argparse
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidelog.cli.facts import inputs_of, read_inputs
from tidelog.cli.report import print_json, print_stats, table
from tidelog.cli.run import check_folders
from tidelog.cli.shared import (
    add_fact_folder,
    add_functors,
    add_limits,
    add_preprocessing,
    functors_of,
    limits_of,
    open_existing,
    parse_program,
)
from tidelog.errors import Problem, UsageError

if TYPE_CHECKING:
    from tidelog.cli.shared import Commands
    from tidelog.store import StoredDatabase

_INIT = """`tidelog init STORE PROG.dl -F FACTS`: make a store on disk, with the program, its facts and its views."""


def add_init(commands: Commands) -> None:
    """Add the command `init` to the parser."""
    command = commands.add_parser("init", help="make a store on disk", description=_INIT, allow_abbrev=False)
    command.add_argument("store", metavar="STORE", type=Path, help="a new folder")
    command.add_argument("program", metavar="PROG.dl", type=Path)
    add_fact_folder(command)
    add_limits(command)
    add_preprocessing(command)
    add_functors(command)
    command.set_defaults(execute=execute_init)


def execute_init(arguments: argparse.Namespace) -> int:
    """Make the store, or nothing."""
    import tidelog
    from tidelog.store import is_marked

    check_folders(arguments.fact_dir, None)
    if is_marked(arguments.store):
        hint = "change it with `tidelog apply`, or name another folder"
        raise UsageError(Problem("E0653", "the folder contains a store already", place=str(arguments.store), hint=hint))
    fresh = not arguments.store.exists()
    try:
        with tidelog.connect(arguments.store, functors=functors_of(arguments)) as db:
            db.options(**limits_of(arguments))
            db.load(parse_program(arguments))
            read_inputs(db, arguments.fact_dir, inputs_of(db.program.directives))
            report = db.commit().report
            sizes = {name: len(db[name]) for name in db.relations}
            if arguments.json:
                document = {"ok": True, "store": arguments.store, "relations": sizes}
                if arguments.stats:
                    document["stats"] = {"report": report.to_dict(), "sizes": db.stats()}
                print_json(document)
            else:
                print(f"{arguments.store}: {len(sizes)} relations, {sum(sizes.values()):,} tuples")
                if arguments.stats:
                    print_stats(report, db.stats())
    except BaseException:
        if fresh and not is_marked(arguments.store):
            shutil.rmtree(arguments.store, ignore_errors=True)
        raise
    return 0


# --- show ------------------------------------------------------------------------------------------------------------

_SHOW = """`tidelog show STORE REL`: print the tuples of a relation of a store, or the answer to a query, such as
`r(x, y), y > 3`. Without REL, print the sizes of all relations. With --rules, print the rules and the sizes
of their views."""


def add_show(commands: Commands) -> None:
    """Add the command `show` to the parser."""
    command = commands.add_parser("show", help="read a store", description=_SHOW, allow_abbrev=False)
    command.add_argument("store", metavar="STORE", type=Path)
    what = command.add_mutually_exclusive_group()
    what.add_argument("relation", metavar="REL", nargs="?")
    what.add_argument("--rules", action="store_true", help="print the rules, and how many tuples their views have")
    command.add_argument("--json", action="store_true", help="print the tuples, or the errors, as JSON")
    add_functors(command)
    command.set_defaults(execute=execute_show)


def execute_show(arguments: argparse.Namespace) -> int:
    """Print a relation as Soufflé does, or the sizes of all."""
    from tidelog.io import write_view
    from tidelog.io.relation import sorted_rows
    from tidelog.language.syntax import RelationType

    with open_existing(arguments.store, read_only=True, functors=functors_of(arguments)) as db:
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


# --- report ----------------------------------------------------------------------------------------------------------

_REPORT = """`tidelog report STORE FILE.html`: write the last epoch of a store as a page to look into, which needs no
server."""


def add_report(commands: Commands) -> None:
    """Add the command `report` to the parser."""
    command = commands.add_parser("report", help="write a store as a page", description=_REPORT, allow_abbrev=False)
    command.add_argument("store", metavar="STORE", type=Path)
    command.add_argument("page", metavar="FILE.html", type=Path)
    add_functors(command)
    command.set_defaults(execute=execute_report)


def execute_report(arguments: argparse.Namespace) -> int:
    from tidelog.workbench.console.page import save_page

    with open_existing(arguments.store, read_only=True, functors=functors_of(arguments)) as db:
        save_page(db, arguments.page)
    print(f"{arguments.page}: written")
    return 0
