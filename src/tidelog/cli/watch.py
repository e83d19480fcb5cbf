"""`tidelog watch http://127.0.0.1:7171 [REL…]`: print each change of relations of a server as it happens, a line for
each tuple that comes (+) or goes (-), until Ctrl-C."""

from __future__ import annotations

import argparse
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidelog.client.relations import RemoteRelationChange

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add(commands: Commands) -> None:
    """Add the command `watch` to the parser."""
    from tidelog.cli.shared import add_access, positive

    command = commands.add_parser("watch", help="follow changes of a server", description=__doc__, allow_abbrev=False)
    command.add_argument("server", metavar="ADDRESS", help="address of a server, such as http://127.0.0.1:7171")
    command.add_argument("relations", metavar="REL", nargs="*", help="relations to follow (default: all)")
    command.add_argument("-n", "--lines", metavar="N", type=positive(int), help="end after so many lines")
    add_access(command)
    command.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Print changes until Ctrl-C, or until there were enough lines. Raise UsageError (E0610) for the folder of a store,
    which cannot say what changes in it."""
    from tidelog.cli.shared import is_address, served
    from tidelog.errors import Problem, UsageError

    if not is_address(arguments.server):
        message = f"watch follows a server, found {arguments.server!r}"
        hint = "run `tidelog serve STORE`, and pass its address, such as http://127.0.0.1:7171"
        raise UsageError(Problem("E0610", message, hint=hint))
    printer = _Printer(arguments.lines)
    with served(arguments.server, arguments) as server:
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
