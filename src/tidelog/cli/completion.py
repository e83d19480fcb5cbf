"""`tidelog completion bash|zsh|fish`: print a script that lets a shell complete commands, options and files."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

SHELLS = ("bash", "zsh", "fish")


def add(commands: Commands, whole: Callable[[], argparse.ArgumentParser]) -> None:
    """Add the command `completion` to the parser; `whole` makes the parser of all commands."""
    command = commands.add_parser("completion", help="complete in a shell", description=__doc__, allow_abbrev=False)
    command.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))
    command.set_defaults(execute=partial(execute, whole))


def execute(whole: Callable[[], argparse.ArgumentParser], arguments: argparse.Namespace) -> int:
    """Print the script. Raise SetupError (E0790) where the extra `prompt` is missing."""
    from tidelog.errors import Problem, SetupError, how_to_install, is_installed

    if not is_installed("shtab"):
        message = "scripts for shells need shtab, which is not installed"
        raise SetupError(Problem("E0790", message, hint=how_to_install("prompt")))
    import shtab

    print(shtab.complete(whole(), shell=arguments.shell))
    return 0
