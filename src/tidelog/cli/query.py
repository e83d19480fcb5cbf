"""`tidelog query STORE "path(x, y), y > 3"`: print the answer to a query of a store, or of a server at an address such
as http://127.0.0.1:7171."""

from __future__ import annotations

import argparse
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidelog.client.database import RemoteDatabase
    from tidelog.database.database import Database

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add(commands: Commands) -> None:
    """Add the command `query` to the parser."""
    from tidelog.cli.shared import add_access, add_functors

    command = commands.add_parser("query", help="query a store or a server", description=__doc__, allow_abbrev=False)
    command.add_argument("store", metavar="STORE", help="folder of a store, or address of a server")
    command.add_argument("query", metavar="QUERY", help='such as "path(x, y), y > 3"')
    forms = command.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="print the tuples, or the errors, as JSON")
    forms.add_argument("--csv", action="store_true", help="print CSV with a line of names")
    forms.add_argument("--plan", action="store_true", help="print how the query would be evaluated")
    add_access(command)
    add_functors(command)
    command.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Print the answer as a table, CSV or JSON, sorted, or the plan."""
    from tidelog.io.sorting import sorted_rows

    with _database(arguments) as db:
        if arguments.plan:
            print(db.query_plan(arguments.query))
            return 0
        found = db.query(arguments.query)
        columns, rows = list(found.schema), sorted_rows(found)
    if arguments.json:
        from tidelog.cli.report import print_json

        print_json({"ok": True, "store": arguments.store, "columns": columns, "tuples": rows})
    elif arguments.csv:
        from tidelog.io.text_writer import csv_line

        print(csv_line(columns))
        for row in rows:
            print(csv_line([_text(value) for value in row]) if row else "()")
    else:
        from tidelog.cli.report import table

        cells = [[value if isinstance(value, int | float) else _text(value) for value in row] for row in rows]
        print(table(columns, cells))
    return 0


def _database(arguments: argparse.Namespace) -> AbstractContextManager[Database | RemoteDatabase]:
    """Return the store or the database behind the server that was named."""
    from pathlib import Path

    from tidelog.cli.shared import existing, functors_of, is_address, served

    if is_address(arguments.store):
        return served(arguments.store, arguments)
    return existing(Path(arguments.store), read_only=True, functors=functors_of(arguments))


def _text(value: Any) -> str:
    from tidelog.storage.record_text import format_value

    return value if isinstance(value, str) else format_value(value)
