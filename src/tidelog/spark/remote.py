"""Sessions of Spark Connect by the address of their server, such as `sc://host:15002/;token=…`.

PySpark tries for minutes to reach a server. So a session begins here once the server answers, or with an error that
says why it does not. Errors name host and port only, because an address may have a token.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from urllib.parse import urlparse

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tidelog.errors import Problem, SetupError, UsageError, how_to_install, is_installed, quote
from tidelog.spark.failures import said
from tidelog.spark.machine import check_version_for_connect

PORT = 15002
SECONDS = 10.0
"""Seconds for a server to answer."""


def what_is_wrong(address: str) -> str | None:
    """Return what is wrong with the text of an address, or None."""
    if not address.startswith("sc://"):
        return f"expected an address that begins with sc://, found {quote(address)}"
    parts = urlparse(f"http{address[2:]}")
    try:
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "the port is not a number below 65,536"
    if not host:
        return "the address names no host"
    if parts.path not in ("", "/"):
        return f"the address has a path, {parts.path!r:.80}"
    return None


def remote_session(address: str, conf: Mapping[str, str] | None = None, place: str = "remote") -> SparkSession:
    """Return a session of the server at an address, with the configuration `conf`; `.stop()` is the caller's.

    Raise UsageError (E0686) for a text that is no address, SetupError (E0790: packages, E0706: PySpark 3.5, E0710: no
    server answers, or it refuses the session). `place` is what errors name.
    """
    wrong = what_is_wrong(address)
    if wrong is not None:
        raise UsageError(Problem("E0686", wrong, place=place, hint='write remote = "sc://host:15002"'))
    check_version_for_connect()
    if not is_installed("grpc"):
        message = "Spark Connect needs grpcio, which is not installed"
        raise SetupError(Problem("E0790", message, place=place, hint=how_to_install("spark", "connect")))
    _reach(address, place)
    try:
        session = SparkSession.builder.remote(address).getOrCreate()
        for key, value in (conf or {}).items():
            session.conf.set(key, value)
    except PySparkException as error:
        hint = "check the address, its token, and the settings; a server takes settings of a running session only"
        message = f"the server of Spark Connect at {_shown(address)} refuses the session: {said(error)}"
        raise SetupError(Problem("E0710", message, place=place, hint=hint)) from error
    return session


def _reach(address: str, place: str) -> None:
    """Raise SetupError (E0710) if no server answers at an address."""
    import grpc
    from pyspark.sql.connect.client import DefaultChannelBuilder

    channel = DefaultChannelBuilder(address).toChannel()
    try:
        grpc.channel_ready_future(channel).result(timeout=SECONDS)
    except grpc.FutureTimeoutError:
        message = f"no server of Spark Connect answers at {_shown(address)}: {_why_not(address)}"
        hint = "start it with sbin/start-connect-server.sh, or correct the key remote"
        raise SetupError(Problem("E0710", message, place=place, hint=hint)) from None
    finally:
        channel.close()


def _why_not(address: str) -> str:
    host, port = _target(address)
    try:
        socket.create_connection((host, port), SECONDS).close()
    except socket.gaierror:
        return "there is no such host"
    except OSError as error:
        return error.strerror or str(error)
    return "something else listens there, or it takes another kind of connection"


def _target(address: str) -> tuple[str, int]:
    parts = urlparse(f"http{address[2:]}")
    return parts.hostname or "", parts.port or PORT


def _shown(address: str) -> str:
    return "{}:{}".format(*_target(address))
