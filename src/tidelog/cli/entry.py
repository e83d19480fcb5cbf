"""The parser of the command line, and the errors of all commands.

Exit codes: 0 done, 1 the program or the data is wrong, 2 wrong usage, 3 a limit reached, 130 interrupted. Errors go to
standard error, or with `--json` to standard output as JSON. A traceback shows only with TIDELOG_DEBUG=1.
"""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeGuard
from warnings import catch_warnings, simplefilter

from tidelog.cli import apply, check, explain, network, programs, prompt, query, rdf, run, serve, spark, stores, warm
from tidelog.cli.report import failure, print_json, shown_on_terminal
from tidelog.common.collecting import rarely_collected
from tidelog.errors import (
    DataError,
    InputWarning,
    InternalError,
    LimitError,
    PendingWarning,
    Problem,
    SetupError,
    TidelogError,
    UsageError,
    how_to_install,
    is_installed,
)

if TYPE_CHECKING:
    from tidelog.cli.shared import Commands

COMMANDS = (
    run.add,
    check.add,
    programs.add_format,
    stores.add_init,
    apply.add,
    stores.add_show,
    query.add_query,
    explain.add,
    programs.add_graph,
    serve.add,
    query.add_watch,
    stores.add_report,
    network.add_node,
    network.add_network,
    spark.add_pipeline,
    rdf.add,
    programs.add_lsp,
    spark.add_demo,
    warm.add,
)
"""The functions that add the commands, in the order in which `--help` lists them."""

DONE, WRONG_INPUT, WRONG_USAGE, OUT_OF_LIMIT, INTERRUPTED = 0, 1, 2, 3, 130

REPORT_HINT = (
    "please report this fault of tidelog, with the program and the output of the same command under TIDELOG_DEBUG=1"
)


@rarely_collected()
def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line `arguments` (those of the process if None) and return the exit code."""
    parsed: argparse.Namespace | None = None
    try:
        given = sys.argv[1:] if arguments is None else arguments
        parsed = parser().parse_args(apply.as_options(given)) if given else None
        with shown_on_terminal(), catch_warnings():
            # Commands read the files themselves, and say by their exit code what they have committed.
            simplefilter("ignore", InputWarning)
            simplefilter("ignore", PendingWarning)
            status: int = prompt.execute() if parsed is None else parsed.execute(parsed)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader of our output has seen enough (`| head`). Python would complain when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except KeyboardInterrupt:
        print("tidelog: interrupted", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        if os.environ.get("TIDELOG_DEBUG") == "1":
            raise
        as_json = getattr(parsed, "json", False) and not _is_of_output(error)
        return _fail(_as_tidelog_error(error), as_json=as_json, every=getattr(parsed, "all_errors", False))


class CommandParser(argparse.ArgumentParser):
    """A parser that rejects what it does not know with its own usage. argparse passes that on to the outermost parser,
    whose usage has no word about the command."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return the parsed arguments, and nothing that is left."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands; `execute` of its result is the command's function."""
    top: argparse.ArgumentParser = CommandParser(
        prog="tidelog",
        description="Datalog whose views follow facts and rules. Without a command, tidelog reads statements: from a "
        "prompt on a terminal, or from a pipe.",
        epilog="Exit codes: 0 done, 1 program or data wrong, 2 wrong usage, 3 out of a limit, 130 interrupted.",
        allow_abbrev=False,
    )
    top.add_argument("--version", action=_Version)
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for add in (*COMMANDS, _add_completion):
        add(commands)
    return top


_SHELLS = ("bash", "zsh", "fish")
_COMPLETION = (
    """`tidelog completion bash|zsh|fish`: print a script that lets a shell complete commands, options and files."""
)


def _add_completion(commands: Commands) -> None:
    """Add the command `completion` to the parser."""
    command = commands.add_parser("completion", help="complete in a shell", description=_COMPLETION, allow_abbrev=False)
    command.add_argument("shell", metavar="SHELL", choices=_SHELLS, help=", ".join(_SHELLS))
    command.set_defaults(execute=_print_completion)


def _print_completion(arguments: argparse.Namespace) -> int:
    """Print the script. Raise SetupError (E0790) where the extra `prompt` is missing."""
    if not is_installed("shtab"):
        message = "scripts for shells need shtab, which is not installed"
        raise SetupError(Problem("E0790", message, hint=how_to_install("prompt")))
    import shtab

    print(shtab.complete(parser(), shell=arguments.shell))
    return 0


class _Version(argparse.Action):
    """The option `--version`, which looks the version up only on request, because that takes time."""

    def __init__(self, option_strings: Sequence[str], dest: str) -> None:
        super().__init__(option_strings, dest=argparse.SUPPRESS, nargs=0, help="show the version and exit")

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"tidelog {version('tidelog')}")
        parser.exit()


def _as_tidelog_error(error: Exception) -> TidelogError:
    """Return `error` for the user: itself, or a failure of the machine or of tidelog."""
    if isinstance(error, TidelogError):
        return error
    if isinstance(error, MemoryError):
        return LimitError(
            Problem("E0503", "the machine ran out of memory", hint="set --max-rows to stop the evaluation earlier")
        )
    if isinstance(error, OSError) and error.filename is not None:
        message, hint = f"cannot use this file: {error.strerror or error}", "check the path, and its permissions"
        return UsageError(Problem("E0650", message, place=os.fsdecode(error.filename), hint=hint))
    if _is_of_output(error):
        hint = "make room on the disk, or write to another one"
        return DataError(Problem("E0412", f"the output cannot be written: {error.strerror}", hint=hint))
    return InternalError(Problem("E0901", f"{type(error).__name__}: {error}", hint=REPORT_HINT))


def _is_of_output(error: Exception) -> TypeGuard[OSError]:
    """Return True if the standard output takes no more: errors of files have names."""
    return (
        isinstance(error, OSError)
        and error.filename is None
        and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
    )


def _fail(error: TidelogError, *, as_json: bool, every: bool) -> int:
    """Report `error`, with `every` problem or the first ones, and return its exit code."""
    status = _exit_code(error)
    sys.stdout.flush()
    if as_json:
        print_json(failure(error, status))
    else:
        print(*(error.problems if every else (error,)), sep="\n", file=sys.stderr)
    return status


def _exit_code(error: TidelogError) -> int:
    if isinstance(error, LimitError):
        return OUT_OF_LIMIT
    if isinstance(error, UsageError):
        return WRONG_USAGE
    return WRONG_INPUT
