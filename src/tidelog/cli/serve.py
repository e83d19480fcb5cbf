"""`tidelog serve STORE`: let many clients read, change and follow a store, until it is interrupted."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tidelog.cli.facts import inputs_of, read_inputs
from tidelog.cli.shared import add_fact_folder, add_functors, add_list, functors_of, positive, size
from tidelog.errors import Problem, SetupError, UsageError, how_to_install, is_installed
from tidelog.limits.progress import step_of

if TYPE_CHECKING:
    from tidelog.cli.shared import Commands
    from tidelog.serve.access import AccessToken, ServerCertificate

PORT = 7171
MOST_ROWS = 50_000_000
"""Tuples that a request may derive, unless an option says otherwise."""


def add(commands: Commands) -> None:
    """Add the command `serve` to the parser."""
    command = commands.add_parser(
        "serve", help="serve a store to many clients", description=__doc__, allow_abbrev=False
    )
    command.add_argument("store", metavar="STORE", type=Path, help="the folder of a store, made if it does not exist")
    command.add_argument("--program", metavar="FILE", type=Path, help="the program of a store that has none yet")
    add_fact_folder(command)
    command.add_argument("--read-only", action="store_true", help="change nothing; others may have the store as well")
    command.add_argument("--mcp", action="store_true", help="offer tools of the Model Context Protocol for reading")
    command.add_argument("--mcp-write", action="store_true", help="offer tools that change facts and rules as well")
    command.add_argument("--profile", action="store_true", help="record where the time of epochs goes, for /v1/profile")
    add_address(command, PORT)
    command.add_argument(
        "--memory", metavar="SIZE", type=size, help="stop a query or a commit when the server would have more"
    )
    command.add_argument(
        "--max-rows", metavar="N", type=positive(int), default=MOST_ROWS, help="stop work that derives more tuples"
    )
    command.add_argument(
        "--request-memory",
        metavar="SIZE",
        type=size,
        default=2 * 1024**3,
        help="stop a query, an explanation or a dry run for which the server grows by more (default: 2 GiB)",
    )
    add_functors(command)
    command.set_defaults(execute=serve)


def serve(arguments: argparse.Namespace) -> int:
    """Open the store, and serve it."""
    need_packages("starlette", "uvicorn", "httptools", "uvloop", "msgspec", "prometheus_client", extras=("serve",))
    mcp: Literal["read", "write"] | None = "write" if arguments.mcp_write else "read" if arguments.mcp else None
    if mcp is not None:
        need_packages("mcp", extras=("serve", "mcp"))
    from tidelog.serve.requests import ServerLimits
    from tidelog.serve.running import address_of, open_listener, run
    from tidelog.store import StoredDatabase, is_marked
    from tidelog.workbench.application import application
    from tidelog.workbench.service import Service

    tokens, certificate = tokens_of(arguments), certificate_of(arguments)
    with open_listener(arguments.host, arguments.port, bool(tokens)) as listener:
        is_new = not is_marked(arguments.store)
        functors = functors_of(arguments)
        with step_of(f"opening {arguments.store.name}", 0, 1):
            db = StoredDatabase(arguments.store, read_only=arguments.read_only, functors=functors)
        with db:
            if arguments.program is not None and not len(db.rules) and not db.relations:
                db.load(arguments.program)
                read_inputs(db, arguments.fact_dir, inputs_of(db.program.directives))
                db.commit()
            elif arguments.program is not None and not is_new:
                print(f"the store has a program already; {arguments.program} is not read", flush=True)
            db.options(
                timeout=arguments.timeout,
                max_rows=arguments.max_rows,
                memory=arguments.memory,
                profile=arguments.profile,
            )
            limits = ServerLimits(arguments.timeout, arguments.max_body, memory=arguments.request_memory)
            service = Service(db, limits, read_only=arguments.read_only)
            address = address_of(listener, certificate)
            print(f"{len(db.relations)} relations at {address}; Ctrl-C ends the server", flush=True)
            run(application(service, tokens, mcp=mcp), listener, certificate)
    return 0


def add_address(command: argparse.ArgumentParser, port: int) -> None:
    """Add the options of an address, of access and of limits to a command that serves."""
    command.add_argument("--host", default="127.0.0.1", help="address to listen to (default: this machine only)")
    command.add_argument(
        "--port", type=int, default=port, help=f"port to listen to, 0 for a free one (default: {port})"
    )
    add_list(
        command,
        "--token",
        metavar="[read:|write:|rules:]SECRET",
        help="a secret for requests, and what it may do: read, change facts too, or change rules too (default: rules)",
    )
    command.add_argument("--token-file", metavar="FILE", type=Path, help="a file with one token on each line")
    command.add_argument("--ssl-certfile", metavar="FILE", type=Path, help="speak TLS, with this certificate in PEM")
    command.add_argument("--ssl-keyfile", metavar="FILE", type=Path, help="the key of the certificate, in PEM")
    command.add_argument(
        "--ssl-password-file", metavar="FILE", type=Path, help="a file with the password of an encrypted key"
    )
    command.add_argument(
        "--timeout", metavar="S", type=positive(float), default=30.0, help="stop a query after so many seconds"
    )
    command.add_argument(
        "--max-body", metavar="SIZE", type=size, default=64 * 1024 * 1024, help="largest body of a request, such as 1GB"
    )


def need_packages(*modules: str, extras: tuple[str, ...]) -> None:
    """Raise SetupError (E0790) if one of the packages is not installed."""
    for module in modules:
        if not is_installed(module):
            message = f"this needs {module}, which is not installed"
            raise SetupError(Problem("E0790", message, hint=how_to_install(*extras)))


def tokens_of(arguments: argparse.Namespace) -> tuple[AccessToken, ...]:
    """Return the tokens that a command's arguments name."""
    from tidelog.serve.access import AccessToken

    given = list(arguments.token)
    if arguments.token_file is not None:
        given += filter(None, map(str.strip, arguments.token_file.read_text("utf-8").splitlines()))
    return tuple(map(AccessToken.of, given))


def certificate_of(arguments: argparse.Namespace) -> ServerCertificate | None:
    """Return the certificate that a command's arguments name, None without one. Raise UsageError: E0603, E0658."""
    from tidelog.serve.access import ServerCertificate

    if arguments.ssl_certfile is None:
        if arguments.ssl_keyfile is not None or arguments.ssl_password_file is not None:
            message = "a key needs a certificate, and the server would not speak TLS"
            raise UsageError(Problem("E0603", message, hint="add --ssl-certfile FILE"))
        return None
    password = arguments.ssl_password_file
    given = None if password is None else password.read_text("utf-8").rstrip("\r\n")
    certificate = ServerCertificate(arguments.ssl_certfile, arguments.ssl_keyfile, given)
    certificate.check()
    return certificate
