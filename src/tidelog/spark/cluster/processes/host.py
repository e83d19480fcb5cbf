"""The home of partitions between rounds: a host process on each machine, and one process per partition below it.

Spark gives a task to any idle Python worker, so a worker cannot keep a partition in memory for the next round. Instead,
the first task that finds no host of its application on its machine starts one. The host forks a process for each
partition on request, and hands connections over to it. The partitions of a database end when it is closed. All ends
with the last of the worker daemons whose tasks have called the host, or after an hour without a call. So an executor
may go while there are others on its machine. A killed process comes back from the files of the state directory.

A connection begins with (folder, partition, daemon), continues with a Task and then carries the answer: ("done" |
"rows" | "failed", value), and behind it rows as bytes, the last empty. `multiprocessing.connection` frames and pickles
them. The system identifies the other end; the check of that module needs a key, a secret to hand to every task.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from hashlib import sha256
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeAlias

from tidelog.common.arrays import Words
from tidelog.errors import InternalError, Problem, TidelogError
from tidelog.spark.cluster.exchange.folder import Folder
from tidelog.spark.cluster.exchange.rounds import Task

_IDLE = 3600.0
_PAUSE = 0.01
"""Seconds between two tries to reach a host that another process starts."""
_START = 120.0
_TRIES = 3
_ROWS = 1 << 16
"""Rows that are sent at once."""


# --- the side of the task ------------------------------------------------------------------------------------------


def ask(application: str, task: Task) -> Any:
    """Return the answer of the partition. Raise its exception; start a partition that dies again, a few times."""
    with ExitStack() as stack:
        _, answer = _send_task(application, task, stack)
        return _value(answer)


def stream(application: str, task: Task) -> Iterator[bytes]:
    """Yield the rows that a task asks for, as the bytes of words, some rows at a time. Start a partition that dies
    before the first one again, a few times."""
    with ExitStack() as stack:
        connection, answer = _send_task(application, task, stack)
        _value(answer)
        while rows := connection.recv_bytes():
            yield rows


def _send_task(application: str, task: Task, stack: ExitStack) -> tuple[Connection, Any]:
    """Send a task to its partition; return the connection, which ends with the stack, and the first answer."""
    for tries_left in reversed(range(_TRIES)):
        try:
            connection = stack.enter_context(_connect(application, task))
            connection.send(_with_paths(task))
            return connection, connection.recv()
        except (OSError, EOFError) as error:
            if not tries_left:
                ended = f"the process of partition {task.partition} ended {_TRIES} times"
                raise ConnectionError(f"{ended}; lack of memory is the usual reason") from error
    raise AssertionError


def _with_paths(task: Task) -> Task:
    """Return a task with the paths of this process, to which Spark adds those of modules that it ships."""
    return replace(task, paths=tuple(filter(None, sys.path))) if task.functions else task


def stop(application: str, folder: str) -> None:
    """End the partitions of a state directory on this machine, if there are any."""
    handle = socket.socket(socket.AF_UNIX)
    with handle, suppress(OSError, EOFError):
        handle.connect(_address(application))
        with Connection(handle.detach()) as connection:
            connection.send((folder, None, None))
            connection.recv_bytes()  # until the host has closed it


def _value(answer: tuple[str, Any]) -> Any:
    kind, value = answer
    if kind == "failed":
        raise value
    return value


def _connect(application: str, task: Task) -> Connection:
    """Return a connection to the process of a partition; start its host if there is none."""
    address, deadline = _address(application), time.monotonic() + _START
    while True:
        with socket.socket(socket.AF_UNIX) as handle, suppress(OSError):
            handle.connect(address)
            if _is_same_user(handle):  # Pickles of others are not to be trusted.
                connection = Connection(handle.detach())
                connection.send((task.folder, task.partition, os.getppid()))
                return connection
        if time.monotonic() > deadline:
            raise InternalError(Problem("E0901", f"the host of the partitions in {task.folder} does not start"))
        _start(application)


def _start(application: str) -> None:
    """Start a host unless another process has begun to, and wait until its output ends: it listens then.

    The host gets the socket as its input. So only one process of those that find no host loads the kernels, and
    connections wait for it meanwhile.
    """
    address = _address(application)
    with socket.socket(socket.AF_UNIX) as listening:
        try:
            if not address.startswith("\0"):
                Path(address).unlink(missing_ok=True)
            listening.bind(address)
            listening.listen(64)
        except OSError:
            # Another one has the address and is about to listen; the caller tries again until its deadline.
            time.sleep(_PAUSE)
            return
        command = [sys.executable, "-m", "tidelog.spark.cluster.processes.host", application, str(os.getppid())]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(each for each in sys.path if each)}
        process = subprocess.Popen(
            command,
            env=environment,
            cwd="/",
            stdin=listening.fileno(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert process.stdout is not None
        with process.stdout as output:
            select.select([output], [], [], _START)


def _address(application: str) -> str:
    """Return the socket of a host: without a file if the system has that, or in the temporary directory."""
    name = f"tidelog-{os.getuid()}-{sha256(application.encode()).hexdigest()[:24]}"
    return f"\0{name}" if sys.platform == "linux" else str(Path(tempfile.gettempdir()) / name)


# --- the host ------------------------------------------------------------------------------------------------------


Children: TypeAlias = dict[tuple[str, int], tuple[int, socket.socket]]
"""Folder and partition -> process and the socket that it takes connections from."""
Callers: TypeAlias = dict[int, int | None]
"""Worker daemons -> handles that become readable when they end, if the system has such."""


def serve(application: str, parent: int) -> None:
    """Run the host on the socket that is its input until its parent and all other callers have ended, or nobody has
    called for long."""
    address = _address(application)
    listening = socket.socket(fileno=os.dup(sys.stdin.fileno()))
    with open(os.devnull, "r+b") as nothing:
        os.dup2(nothing.fileno(), sys.stdin.fileno())
        os.dup2(nothing.fileno(), sys.stdout.fileno())
    warm()  # Whoever calls meanwhile waits until it is over, and partitions are forked from what it has loaded.
    gc.freeze()  # They share it as long as no collection of garbage writes to it.
    callers: Callers = {parent: _watch(parent)}
    children: Children = {}
    called = time.monotonic()
    try:
        while callers and time.monotonic() < called + _IDLE:
            handles: list[Any] = [listening, *(each for each in callers.values() if each is not None)]
            ready, _, _ = select.select(handles, [], [], 1.0 if None in callers.values() else _IDLE)
            for caller, handle in list(callers.items()):
                if handle in ready or (handle is None and not _alive(caller)):
                    del callers[caller]
                    if handle is not None:
                        os.close(handle)
            if listening in ready:
                called = time.monotonic()
                _pass_connection(listening, children, callers)
    finally:
        _end(children, list(children))
        listening.close()
        if not address.startswith("\0"):
            Path(address).unlink(missing_ok=True)


def _pass_connection(listening: socket.socket, children: Children, callers: Callers) -> None:
    """Hand a new connection to the process of its partition, or end those of a folder; note who calls."""
    handle, _ = listening.accept()
    if not _is_same_user(handle):
        handle.close()
        return
    with Connection(handle.detach()) as connection:
        try:
            folder, partition, caller = connection.recv()
        except (EOFError, OSError):
            return
        if partition is None:
            _end(children, [key for key in children if key[0] == folder])
            return
        if caller not in callers:
            callers[caller] = _watch(caller)
        key = folder, partition
        for _ in range(2):
            if key not in children:
                children[key] = _fork(listening, children)
            try:
                socket.send_fds(children[key][1], [b"+"], [connection.fileno()])
                return
            except OSError:
                _end(children, [key])


def _fork(listening: socket.socket, children: Children) -> tuple[int, socket.socket]:
    ours, theirs = socket.socketpair()
    process = os.fork()
    if process:
        theirs.close()
        return process, ours
    try:
        ours.close()
        listening.close()
        for _, control in children.values():
            control.close()
        _serve_partition(theirs)
    finally:
        os._exit(0)


def _serve_partition(control: socket.socket) -> None:
    """Serve connections one after the other, until the host has ended."""
    from tidelog.spark.cluster.processes.serve import Keeper

    keeper = Keeper()
    while True:
        signal_, handles, _, _ = socket.recv_fds(control, 1, 1)
        if not signal_:
            return
        for handle in handles:
            with Connection(handle) as connection:
                try:
                    _serve_connection(keeper, connection)
                except (OSError, EOFError):
                    continue  # Who asked is gone.


def _serve_connection(keeper: Any, connection: Connection) -> None:
    task: Task = connection.recv()
    reading = task.what in ("rows", "came", "went")
    batches: Iterator[Words] = keeper.read_rows(task) if reading else iter(())
    try:
        # The first batch is where restoring fails, if it does.
        answer = ("rows", None) if reading else ("done", keeper.perform(task))
        batch = next(batches, None)
    except (TidelogError, FileNotFoundError) as error:
        if error.__cause__ is not None:  # of a functor: the driver gets its traceback as a note
            error.add_note("".join(traceback.format_exception(error.__cause__)).rstrip())
        answer, batch = ("failed", error), None
    except OSError as error:
        answer, batch = ("failed", Folder(task.folder).unusable(error)), None
    except Exception as error:
        message = f"partition {task.partition}: {error}\n{traceback.format_exc()}"
        answer, batch = ("failed", InternalError(Problem("E0901", message))), None
    connection.send(answer)
    while batch is not None:
        for start in range(0, len(batch), _ROWS):
            connection.send_bytes(batch[start : start + _ROWS].tobytes())
        batch = next(batches, None)
    if answer[0] == "rows":
        connection.send_bytes(b"")


def _is_same_user(connection: socket.socket) -> bool:
    """Return True if a process of this user is at the other end."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True  # The socket is a file that only this user may open.
    _, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return bool(user == os.getuid())


def _watch(process: int) -> int | None:
    """Return a handle that becomes readable when a process ends, if the system has such."""
    try:
        return os.pidfd_open(process)
    except (AttributeError, OSError):
        return None


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True


def _end(children: Children, keys: list[tuple[str, int]]) -> None:
    for key in keys:
        process, control = children.pop(key)
        control.close()
        try:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
        except OSError:
            continue


def warm() -> None:
    """Evaluate and change a small program, so that the compiled kernels are in memory."""
    from tidelog.database.database import Database

    database = Database()
    database.load(
        ".decl e(x: number, y: number)\n.decl t(x: number, y: number)\n.decl n(x: number, n: number)\n"
        "t(x, y) :- e(x, y). t(x, z) :- t(x, y), t(y, w), e(w, z).\nn(x, k) :- e(x, _), k = count : { t(x, _) }."
    )
    for rows in ([(i, i + 1) for i in range(20)], [(20, 0)]):
        database.insert("e", rows)
        database.commit()
    database.delete("e", [(3, 4)])
    database.commit()
    database.close()


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
