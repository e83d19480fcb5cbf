"""Shared parts of the commands that serve: options of an address, of access and of limits; tokens; certificates;
packages."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.cli.shared import positive, size
from tidelog.errors import Problem, SetupError, UsageError, how_to_install, is_installed

if TYPE_CHECKING:
    from tidelog.serve.access import AccessToken
    from tidelog.serve.tls import ServerCertificate


def add_address(command: argparse.ArgumentParser, port: int) -> None:
    """Add the options of an address, of access and of limits to a command that serves."""
    command.add_argument("--host", default="127.0.0.1", help="address to listen to (default: this machine only)")
    command.add_argument(
        "--port", type=int, default=port, help=f"port to listen to, 0 for a free one (default: {port})"
    )
    command.add_argument(
        "--token",
        metavar="[read:|write:|rules:]SECRET",
        action="append",
        default=[],
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
    from tidelog.serve.tls import ServerCertificate

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
