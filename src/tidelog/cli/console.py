"""`tidelog report STORE FILE.html`: write the last epoch of a store as a page to look into, which needs no server."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add(commands: Commands) -> None:
    """Add the command `report` to the parser."""
    from tidelog.cli.shared import add_functors

    command = commands.add_parser("report", help="write a store as a page", description=__doc__, allow_abbrev=False)
    command.add_argument("store", metavar="STORE", type=Path)
    command.add_argument("page", metavar="FILE.html", type=Path)
    add_functors(command)
    command.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Write the page."""
    from tidelog.cli.shared import existing, functors_of
    from tidelog.workbench.console.export import save_page

    with existing(arguments.store, read_only=True, functors=functors_of(arguments)) as db:
        save_page(db, arguments.page)
    print(f"{arguments.page}: written")
    return 0
