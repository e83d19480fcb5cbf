"""`tidelog lsp`: a server of the Language Server Protocol for editors, on standard input and output."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]


def add(commands: Commands) -> None:
    """Add the command `lsp` to the parser."""
    command = commands.add_parser("lsp", help="serve an editor", description=__doc__, allow_abbrev=False)
    command.add_argument("--store", metavar="STORE", type=Path, help="show sizes of relations from this store")
    command.add_argument("--stdio", action="store_true", help="accepted, as editors pass it; there is no other way")
    command.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Serve until the editor ends the session. Raise SetupError (E0790) without the package pygls."""
    from tidelog.errors import Problem, SetupError, how_to_install, is_installed

    if not is_installed("pygls"):
        raise SetupError(Problem("E0790", "`tidelog lsp` needs the package pygls", hint=how_to_install("lsp")))
    from tidelog.editors.server import server

    server(arguments.store).start_io()
    return 0
