"""`connect`: the way to a database, in memory, in a folder or over a Spark session."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, overload

from tidelog.errors import Problem, SetupError, UsageError, how_to_install, is_installed, wrong_argument
from tidelog.functions.callables import FunctorSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tidelog.client.database import RemoteDatabase
    from tidelog.database.database import Database
    from tidelog.spark.database import SparkDatabase
    from tidelog.store import StoredDatabase

_ADDRESS = re.compile(r"https?://")
_RULES = re.compile(r":-|^\s*\.(decl|type|comp|include|input)\b", re.MULTILINE)
"""In no sensible name of a folder, but in most programs."""


@overload
def connect(*, functors: FunctorSource = ()) -> Database: ...


@overload
def connect(folder: str | os.PathLike[str], *, functors: FunctorSource = ()) -> StoredDatabase: ...


@overload
def connect(folder: str, *, token: str | None, ca: str | os.PathLike[str] | None = None) -> RemoteDatabase: ...


@overload
def connect(
    *, spark: SparkSession, state: str | os.PathLike[str] | None = None, functors: FunctorSource = ()
) -> SparkDatabase: ...


def connect(
    folder: str | os.PathLike[str] | None = None,
    *,
    spark: SparkSession | None = None,
    state: str | os.PathLike[str] | None = None,
    functors: FunctorSource = (),
    token: str | None = None,
    ca: str | os.PathLike[str] | None = None,
) -> Database | SparkDatabase | RemoteDatabase:
    """Return a new, empty database in memory; with a `folder`, the one in that folder, see docs/how-to/stores.md.

    With a `spark` session, one over its data frames, see docs/how-to/spark.md; its facts and program outlive the
    process in the folder `state`, if there is one: a path, or an address such as s3://bucket/folder. `functors` are
    functions for the functors of the program, see `Database.functors`; a store or a state folder may need them to open.

    With an address such as http://127.0.0.1:7171 in place of the folder, the one that `tidelog serve` serves there, see
    docs/how-to/server.md; `token` is the secret that the server asks for. The client verifies the certificate of an
    address with https; `ca` is a file in PEM with the certificates of authorities to trust, in place of the usual ones.
    Raise UsageError: E0610 where arguments do not go together, or a program stands in place of the folder, E0658 for a
    `ca` without certificates.
    """
    if folder is not None and not isinstance(folder, (str, os.PathLike)):
        raise wrong_argument("a store", "the path of a folder", folder)
    if isinstance(folder, str) and _RULES.search(folder):
        hint = "call connect() without it, and then `db.load(text)` or `db.rules.add(text)`"
        raise UsageError(Problem("E0610", "connect takes a folder, and this is the text of a program", hint=hint))
    if isinstance(folder, str) and _ADDRESS.match(folder):
        has_none = isinstance(functors, (tuple, list)) and not functors  # Some arguments have no truth value.
        return _remote(folder, token, ca, is_alone=spark is None and state is None and has_none)
    if token is not None or ca is not None:
        hint = 'give the address of a server: connect("http://127.0.0.1:7171", token=…)'
        raise UsageError(Problem("E0610", "connect takes token= and ca= for a server only", hint=hint))
    if (folder is not None and spark is not None) or (state is not None and spark is None):
        hint = "call connect(folder) for an embedded database, connect(spark=session, state=folder) for one over Spark"
        raise UsageError(Problem("E0610", "connect takes a folder, or a Spark session with `state`", hint=hint))
    if spark is not None:
        from tidelog.spark.database import SparkDatabase

        return SparkDatabase(spark, state, functors)
    if folder is not None:
        from tidelog.store import StoredDatabase

        return StoredDatabase(folder, functors=functors)
    from tidelog.database.database import Database

    return Database(functors=functors)


def _remote(address: str, token: str | None, ca: str | os.PathLike[str] | None, *, is_alone: bool) -> RemoteDatabase:
    if not is_alone:
        hint = "call connect(address, token=…); the server has the functions and the folder"
        raise UsageError(Problem("E0610", "connect takes only token= and ca= with the address of a server", hint=hint))
    if ca is not None and not address.startswith("https:"):
        hint = "write https:// in the address, or leave `ca` out"
        raise UsageError(Problem("E0610", f"{address} has no certificate that `ca` could verify", hint=hint))
    if not is_installed("httpx"):
        raise SetupError(Problem("E0790", "this needs httpx, which is not installed", hint=how_to_install("client")))
    from tidelog.client.database import RemoteDatabase

    return RemoteDatabase(address, token, ca)
