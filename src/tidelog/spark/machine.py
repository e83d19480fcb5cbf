"""Start sessions, and check what Spark needs from the machine: PySpark, a Java runtime, the same Python for the
workers.

`session` starts a local session for the demo, the tests and those who have none yet. Pipelines take any session; Python
workers are needed for the cluster engine and for frames of more than a million rows. Code of yours that needs them as
well (Python UDFs, `mapInArrow`) calls `check_workers` first.

`remote_session` reaches a server of Spark Connect by its address, such as `sc://host:15002/;token=…`. PySpark tries for
minutes to reach a server. So a session begins here once the server answers, or with an error that says why it does not.
Errors name host and port only, because an address may have a token.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast
from urllib.parse import urlparse

from tidelog.errors import Problem, SetupError, UsageError, how_to_install, is_installed, quote

try:
    import pyspark
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession
except ImportError as error:
    message = "tidelog.spark needs PySpark, which is not installed"
    raise SetupError(Problem("E0701", message, hint=how_to_install("spark"))) from error

if tuple(map(int, pyspark.__version__.split(".")[:2])) < (3, 5):
    message = f"tidelog.spark needs PySpark 3.5 or newer, found {pyspark.__version__}"
    raise SetupError(Problem("E0701", message, hint=how_to_install("spark")))

if not is_installed("pandas"):  # PySpark asks for it when it exchanges tables with Python.
    message = "tidelog.spark needs pandas, which is not installed"
    raise SetupError(Problem("E0790", message, hint=how_to_install("spark")))

# isort: split
# PySpark is there from here on.
from tidelog.spark.failures import spark_message, stopped_session
from tidelog.spark.sessions import IS_LATER, is_alive, is_connect, is_on_one_machine

JAVA_AT_LEAST = 17
SYSTEM_RUNTIMES = Path("/usr/lib/jvm")
_JAVA_HINT = "install one (Debian, Ubuntu: apt-get install openjdk-17-jre-headless) or set JAVA_HOME to one"
_LOCAL_CONF = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "2g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    # Spark sets it for the workers of frames alone, and starts a second daemon for those of other tasks.
    "spark.executorEnv.SPARK_SIMPLIFIED_TRACEBACK": "1",
}
_DAEMON = "tidelog.spark.workers"
_ATTEMPTS = 2
"""Attempts of each task. Spark makes one in local sessions, but it can lose the result of a large task."""
PORT = 15002
SECONDS = 10.0
"""Seconds for a server to answer."""


def session(threads: int = 2, *, brief: bool = False, conf: Mapping[str, str] | None = None) -> SparkSession:
    """Return a local Spark session with `threads` worker threads, no UI, quiet logs and the configuration `conf`;
    `.stop()` is the caller's.

    `brief` suits work of a minute or two: Java then compiles quickly rather than well, which halves the time of many
    small jobs and makes large ones slower. The workers run this interpreter, and a task that fails runs once more. A
    session that is already active is returned as it is. SetupError (E0702, E0703) when there is no usable Java runtime
    or Spark does not start.
    """
    present = present_session()
    if present is not None:
        return present
    os.environ["JAVA_HOME"] = str(java_home())
    # PySpark reads the worker's interpreter from the environment once, when the session starts.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{threads},{_ATTEMPTS}]").appName("tidelog")
    settings = {**_LOCAL_CONF, "spark.sql.shuffle.partitions": str(threads)}
    if workers_find_tidelog():
        settings["spark.python.daemon.module"] = _DAEMON
    if brief:  # The quick compiler alone has room for 48 MB of code, which some hundred jobs fill.
        options = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"
        settings["spark.driver.extraJavaOptions"] = options
    for key, value in {**settings, **(conf or {})}.items():
        builder = builder.config(key, value)
    with _redirect_stderr() as log:
        try:
            started = builder.getOrCreate()
        except Exception as error:
            log.seek(0)
            said = " / ".join(log.read().decode(errors="replace").strip().splitlines()[-3:])
            raise SetupError(
                Problem("E0703", f"Spark does not start: {said or error}", hint="check JAVA_HOME and SPARK_HOME")
            ) from error
    started.sparkContext.setLogLevel("ERROR")
    return started


def present_session() -> SparkSession | None:
    """Return the session of this process, or None without one.

    Which session is active, Java knows by the connection of a thread, and Ctrl-C may have cut the one that began the
    session.
    """
    active = SparkSession.getActiveSession()
    started: SparkSession | None = active or getattr(SparkSession, "_instantiatedSession", None)
    return started if active is not None or (started is not None and is_alive(started)) else None


@contextmanager
def _redirect_stderr() -> Iterator[IO[bytes]]:
    """Redirect standard error inside the block, also that of new processes, to a file without a name. Java inherits it,
    and its start-up messages mean nothing to a user unless the start fails."""
    sys.stderr.flush()
    before = os.dup(2)
    with tempfile.TemporaryFile() as log:
        os.dup2(log.fileno(), 2)
        try:
            yield log
        finally:
            sys.stderr.flush()
            os.dup2(before, 2)
            os.close(before)


def java_home() -> Path:
    """Return the home of a Java runtime that Spark can use: JAVA_HOME, that of `java` on the PATH, or one below
    /usr/lib/jvm. SetupError (E0702) when there is none."""
    found = []
    on_path = shutil.which("java")
    candidates = [os.environ.get("JAVA_HOME"), Path(on_path).resolve().parent.parent if on_path else None]
    for home in [*candidates, *sorted(SYSTEM_RUNTIMES.glob("*"))]:
        if home and (Path(home) / "bin" / "java").exists():
            lack = java_lacks(Path(home))
            if lack is None:
                return Path(home)
            found.append(f"{home} {lack}")
    what = "; ".join(dict.fromkeys(found)) or "none"
    raise SetupError(Problem("E0702", f"Spark needs Java {JAVA_AT_LEAST} or newer, found {what}", hint=_JAVA_HINT))


def java_lacks(home: Path) -> str | None:
    """Return what the runtime at `home` lacks for Spark, or None. Trimmed runtimes miss a module and Spark does not
    start."""
    module = "jdk.incubator.vector"
    try:
        command = [str(home / "bin" / "java"), "--add-modules", module, "-version"]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "does not run"
    version = re.search(r'version "(\d+)', answer.stderr)
    if version and int(version[1]) < JAVA_AT_LEAST:
        return f"is Java {version[1]}"
    if answer.returncode:
        return f"lacks the module {module}" if module in answer.stdout + answer.stderr else "does not run"
    return None


def check_session(spark: object) -> None:
    """Raise SetupError if the session was stopped (E0705) or is one of Spark Connect with PySpark 3.5 (E0706), and
    UsageError (E0689) if it is not a session."""
    if not isinstance(spark, SparkSession) and not is_connect(spark):
        message = f"expected a Spark session, found a value of type {type(spark).__name__}"
        raise UsageError(Problem("E0689", message, hint="start a local one with tidelog.spark.session()"))
    if is_connect(spark):
        check_version_for_connect()
    if not is_alive(cast(SparkSession, spark)):
        raise stopped_session()


def check_version_for_connect() -> None:
    """Raise SetupError (E0706) with PySpark 3.5, whose sessions of Spark Connect tidelog does not take."""
    if not IS_LATER:
        message = f"Spark Connect needs PySpark 4, found {pyspark.__version__}"
        hint = "install PySpark 4 here and on the server, or start a classic session with .master(…)"
        raise SetupError(Problem("E0706", message, hint=hint))


def check_workers(spark: SparkSession) -> None:
    """Raise SetupError (E0704) if the Python of the session's workers has another version than this one: Spark would
    fail with a long trace as soon as a Python function runs on a worker."""
    if is_connect(spark) or not is_on_one_machine(spark):

        def copy_batches(batches: Iterator[Any]) -> Iterator[Any]:  # Functions in functions do not need tidelog there.
            yield from batches

        try:
            spark.range(1).mapInArrow(copy_batches, "id long").collect()  # Spark compares the versions.
        except PySparkException as error:
            said = re.search(r"has different version[^\n]*", str(error))
            raise SetupError(_workers_differ(said[0] if said else f"it does not start ({error!s:.200})")) from error
        return
    interpreter = spark.sparkContext.pythonExec
    version = _version_of(interpreter)
    if version != sys.version_info[:2]:
        found = "does not run" if version is None else f"is Python {version[0]}.{version[1]}"
        raise SetupError(_workers_differ(f"{interpreter} {found}"))


def workers_find_tidelog() -> bool:
    """Return True if a new process of this interpreter finds tidelog: this one may have a path of its own."""
    code = "import importlib.util, sys; sys.exit(importlib.util.find_spec('tidelog') is None)"
    return subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0


def _version_of(interpreter: str) -> tuple[int, int] | None:
    code = "import sys; print(*sys.version_info[:2])"
    try:
        answer = subprocess.run([interpreter, "-c", code], capture_output=True, text=True, timeout=60, check=True)
        major, minor = map(int, answer.stdout.split())
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return major, minor


def _workers_differ(what: str) -> Problem:
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    return Problem(
        "E0704",
        f"Spark's workers must run Python {here} like the driver, but {what}",
        hint="set PYSPARK_PYTHON to sys.executable before the session starts",
    )


# --- Spark Connect ----------------------------------------------------------------------------------------------------


def address_problem(address: str) -> str | None:
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
    wrong = address_problem(address)
    if wrong is not None:
        raise UsageError(Problem("E0686", wrong, place=place, hint='write remote = "sc://host:15002"'))
    check_version_for_connect()
    if not is_installed("grpc"):
        message = "Spark Connect needs grpcio, which is not installed"
        raise SetupError(Problem("E0790", message, place=place, hint=how_to_install("spark", "connect")))
    _check_reachable(address, place)
    try:
        session = SparkSession.builder.remote(address).getOrCreate()
        for key, value in (conf or {}).items():
            session.conf.set(key, value)
    except PySparkException as error:
        hint = "check the address, its token, and the settings; a server takes settings of a running session only"
        message = (
            f"the server of Spark Connect at {_host_and_port(address)} refuses the session: {spark_message(error)}"
        )
        raise SetupError(Problem("E0710", message, place=place, hint=hint)) from error
    return session


def _check_reachable(address: str, place: str) -> None:
    """Raise SetupError (E0710) if no server answers at an address."""
    import grpc
    from pyspark.sql.connect.client import DefaultChannelBuilder

    channel = DefaultChannelBuilder(address).toChannel()
    try:
        grpc.channel_ready_future(channel).result(timeout=SECONDS)
    except grpc.FutureTimeoutError:
        message = f"no server of Spark Connect answers at {_host_and_port(address)}: {_connection_problem(address)}"
        hint = "start it with sbin/start-connect-server.sh, or correct the key remote"
        raise SetupError(Problem("E0710", message, place=place, hint=hint)) from None
    finally:
        channel.close()


def _connection_problem(address: str) -> str:
    host, port = _host_of(address)
    try:
        socket.create_connection((host, port), SECONDS).close()
    except socket.gaierror:
        return "there is no such host"
    except OSError as error:
        return error.strerror or str(error)
    return "something else listens there, or it takes another kind of connection"


def _host_of(address: str) -> tuple[str, int]:
    parts = urlparse(f"http{address[2:]}")
    return parts.hostname or "", parts.port or PORT


def _host_and_port(address: str) -> str:
    return "{}:{}".format(*_host_of(address))
