"""`tidelog query` asks a store or a server, `watch` follows a server."""

from __future__ import annotations

import argparse
import sys
import threading
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tidelog.cli.report import print_json, table
from tidelog.cli.shared import (
    add_access,
    add_functors,
    connect_to_server,
    functors_of,
    is_address,
    open_existing,
    positive,
)
from tidelog.errors import Problem, UsageError

if TYPE_CHECKING:
    from tidelog.cli.shared import Commands
    from tidelog.client.answers import RemoteRelationChange
    from tidelog.client.database import RemoteDatabase
    from tidelog.database.database import Database

_QUERY = """`tidelog query STORE "path(x, y), y > 3"`: print the answer to a query of a store, or of a server at an
address such as http://127.0.0.1:7171."""


def add_query(commands: Commands) -> None:
    """Add the command `query` to the parser."""
    command = commands.add_parser("query", help="query a store or a server", description=_QUERY, allow_abbrev=False)
    command.add_argument("store", metavar="STORE", help="folder of a store, or address of a server")
    command.add_argument("query", metavar="QUERY", help='such as "path(x, y), y > 3"')
    forms = command.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="print the tuples, or the errors, as JSON")
    forms.add_argument("--csv", action="store_true", help="print CSV with a line of names")
    forms.add_argument("--plan", action="store_true", help="print how the query would be evaluated")
    add_access(command)
    add_functors(command)
    command.set_defaults(execute=execute_query)


def execute_query(arguments: argparse.Namespace) -> int:
    """Print the answer as a table, CSV or JSON, sorted, or the plan."""
    from tidelog.io.relation import sorted_rows

    with _database(arguments) as db:
        if arguments.plan:
            print(db.query_plan(arguments.query))
            return 0
        found = db.query(arguments.query)
        columns, rows = list(found.schema), sorted_rows(found)
    if arguments.json:
        print_json({"ok": True, "store": arguments.store, "columns": columns, "tuples": rows})
    elif arguments.csv:
        from tidelog.io.text_writer import csv_line

        print(csv_line(columns))
        for row in rows:
            print(csv_line([_text(value) for value in row]) if row else "()")
    else:
        cells = [[value if isinstance(value, int | float) else _text(value) for value in row] for row in rows]
        print(table(columns, cells))
    return 0


def _database(arguments: argparse.Namespace) -> AbstractContextManager[Database | RemoteDatabase]:
    """Return the store or the database behind the server that was named."""
    if is_address(arguments.store):
        return connect_to_server(arguments.store, arguments)
    return open_existing(Path(arguments.store), read_only=True, functors=functors_of(arguments))


def _text(value: Any) -> str:
    from tidelog.storage.record_text import format_value

    return value if isinstance(value, str) else format_value(value)


# --- watch -----------------------------------------------------------------------------------------------------------

_WATCH = """`tidelog watch http://127.0.0.1:7171 [REL…]`: print each change of relations of a server as it happens, a
line for each tuple that comes (+) or goes (-), until Ctrl-C."""


def add_watch(commands: Commands) -> None:
    """Add the command `watch` to the parser."""
    command = commands.add_parser("watch", help="follow changes of a server", description=_WATCH, allow_abbrev=False)
    command.add_argument("server", metavar="ADDRESS", help="address of a server, such as http://127.0.0.1:7171")
    command.add_argument("relations", metavar="REL", nargs="*", help="relations to follow (default: all)")
    command.add_argument("-n", "--lines", metavar="N", type=positive(int), help="end after so many lines")
    add_access(command)
    command.set_defaults(execute=execute_watch)


def execute_watch(arguments: argparse.Namespace) -> int:
    """Print changes until Ctrl-C, or until there were enough lines. Raise UsageError (E0610) for the folder of a store,
    which cannot say what changes in it."""
    if not is_address(arguments.server):
        message = f"watch follows a server, found {arguments.server!r}"
        hint = "run `tidelog serve STORE`, and pass its address, such as http://127.0.0.1:7171"
        raise UsageError(Problem("E0610", message, hint=hint))
    printer = _Printer(arguments.lines)
    with connect_to_server(arguments.server, arguments) as server:
        names = list(dict.fromkeys(arguments.relations or server.relations))
        for name in names:
            server.subscribe(name, printer.show, missed=printer.miss)
        print(f"tidelog: watching {', '.join(names)}; Ctrl-C ends this", file=sys.stderr, flush=True)
        printer.ended.wait()
    return 0


class _Printer:
    """Prints the changes of several relations, each whole, and at most `most` lines."""

    def __init__(self, most: int | None) -> None:
        self.ended = threading.Event()
        self._most = most
        self._lock = threading.Lock()

    def show(self, change: RemoteRelationChange) -> None:
        """Print the tuples of a change, or their numbers where the server sends no more."""
        from tidelog.storage.record_text import format_value

        name, inserted, deleted = change.inserted.name, change.inserted, change.deleted
        if not change.has_rows:
            self._print([f"  {name}: {len(inserted):,} inserted, {len(deleted):,} deleted"])
            return
        lines = []
        for sign, rows in (("-", deleted), ("+", inserted)):
            texts = sorted(", ".join(map(format_value, row)) for row in rows)
            lines += [f"{sign} {name}({text})" for text in texts]
        self._print(lines)

    def miss(self, first: int, last: int) -> None:
        """Say that the server has forgotten some changes."""
        self._print([f"  the changes of epochs {first} to {last} are missing"])

    def _print(self, lines: list[str]) -> None:
        with self._lock:
            if self.ended.is_set():
                return
            for line in lines[: self._most]:
                print(line, flush=True)
            if self._most is not None:
                self._most -= len(lines[: self._most])
                if self._most == 0:
                    self.ended.set()
