"""Where partitions live between rounds: a host process on each machine, and one process per partition below it.

Spark gives a task to any Python worker that is idle, so that a worker cannot keep a partition in memory for the next
round. Instead, the first task that finds no host on its machine starts one; the host forks a process for each partition
that it is asked for, and hands connections over to it. Everything ends with the worker daemon that started it, with a
call to `stop`, or with an hour without any call. Whatever is killed comes back from the files of the state directory.

A connection carries one request, a length and a pickled Task, and its answer: frames of a length and bytes, the first a
pickled ("done" | "rows" | "failed", value), those behind it rows, the last one empty.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from tidelog.errors import InternalError, Problem, TidelogError
from tidelog.spark.cluster.partition import Task
from tidelog.spark.cluster.pieces import Words

_IDLE = 3600.0
_START = 120.0
_TRIES = 3
_LENGTH = struct.Struct("<q")
_STOP = -1
_ROWS = 1 << 16
"""Rows in a frame."""


# --- the side of the task ------------------------------------------------------------------------------------------


def ask(task: Task) -> Any:
    """The answer of the partition. Raises what it has raised; a partition that dies is started again, a few times."""
    for attempt in range(_TRIES):
        try:
            with _connected(task.folder, task.partition) as connection:
                return _answer(connection, task)
        except (ConnectionError, EOFError):
            if attempt == _TRIES - 1:
                raise
    raise AssertionError


def stream(task: Task) -> Iterator[bytes]:
    """The rows that a task asks for, as the bytes of words, some rows at a time."""
    with _connected(task.folder, task.partition) as connection:
        _answer(connection, task)
        while frame := _receive(connection):
            yield frame


def stop(folder: str) -> None:
    """End the host of a state directory on this machine, if there is one."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(_address(folder))
            connection.sendall(_LENGTH.pack(_STOP))
            connection.recv(1)
    except OSError:
        return


def _answer(connection: socket.socket, task: Task) -> Any:
    _send(connection, pickle.dumps(task))
    kind, value = pickle.loads(_receive(connection))
    if kind == "failed":
        raise value
    return value


def _connected(folder: str, partition: int) -> socket.socket:
    """A connection to the process of a partition, whose host is started if there is none."""
    address, deadline = _address(folder), time.monotonic() + _START
    process: subprocess.Popen[bytes] | None = None
    while True:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(address)
            connection.sendall(_LENGTH.pack(partition))
            return connection
        except OSError:
            connection.close()
        if process is None or process.poll() is not None:
            process = _started(folder)
        if time.monotonic() > deadline:
            raise InternalError(Problem("E0901", f"the host of the partitions in {folder} does not start"))
        time.sleep(0.02)


def _started(folder: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tidelog.spark.cluster.host", folder, str(os.getppid())]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(each for each in sys.path if each)}
    return subprocess.Popen(
        command,
        env=environment,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _address(folder: str) -> str:
    """The socket of a host: without a file where the system has that, or in the temporary directory."""
    name = f"tidelog-{os.getuid()}-{sha256(folder.encode()).hexdigest()[:24]}"
    return f"\0{name}" if sys.platform == "linux" else str(Path(tempfile.gettempdir()) / name)


def _send(connection: socket.socket, data: bytes | memoryview) -> None:
    connection.sendall(_LENGTH.pack(len(data)))
    connection.sendall(data)


def _receive(connection: socket.socket) -> bytes:
    (length,) = _LENGTH.unpack(_exactly(connection, _LENGTH.size))
    return _exactly(connection, length)


def _exactly(connection: socket.socket, length: int) -> bytes:
    data = bytearray(length)
    view = memoryview(data)
    while view:
        got = connection.recv_into(view)
        if not got:
            raise EOFError("the process at the other end is gone")
        view = view[got:]
    return bytes(data)


# --- the host ------------------------------------------------------------------------------------------------------


def serve(folder: str, parent: int) -> None:
    """Be the host until it is told to stop, its parent is gone or nobody has called for long."""
    from tidelog.spark.cluster.warm import warm

    address = _address(folder)
    listening = socket.socket(socket.AF_UNIX)
    try:
        if not address.startswith("\0"):
            Path(address).unlink(missing_ok=True)
        listening.bind(address)
    except OSError:
        return  # Another one was faster.
    warm()
    listening.listen(64)
    watched = _watch(parent)
    children: dict[int, tuple[int, socket.socket]] = {}
    stopper: socket.socket | None = None
    try:
        while stopper is None:
            ready, _, _ = select.select([listening, *watched], [], [], 1.0 if not watched else _IDLE)
            if any(each in ready for each in watched) or (not watched and not _alive(parent)):
                return
            if not ready and watched:
                return
            if listening in ready:
                stopper = _welcome(listening, children)
    finally:
        for process, control in children.values():
            control.close()
            _end(process)
        listening.close()
        if not address.startswith("\0"):
            Path(address).unlink(missing_ok=True)
        if stopper is not None:
            stopper.close()  # Who said stop waits for this.


def _welcome(listening: socket.socket, children: dict[int, tuple[int, socket.socket]]) -> socket.socket | None:
    """Hand a new connection to the process of its partition; one that says stop comes back."""
    connection, _ = listening.accept()
    with connection:
        if not _is_mine(connection):
            return None
        try:
            (partition,) = _LENGTH.unpack(_exactly(connection, _LENGTH.size))
        except (EOFError, OSError):
            return None
        if partition == _STOP:
            return connection.dup()
        for _ in range(2):
            if partition not in children:
                children[partition] = _forked(listening, children)
            process, control = children[partition]
            try:
                socket.send_fds(control, [b"+"], [connection.fileno()])
                return None
            except OSError:
                control.close()
                _end(process)
                del children[partition]
        return None


def _forked(listening: socket.socket, children: dict[int, tuple[int, socket.socket]]) -> tuple[int, socket.socket]:
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
        _attend(theirs)
    finally:
        os._exit(0)


def _attend(control: socket.socket) -> None:
    """Serve connections one after the other, until the host is gone."""
    from tidelog.spark.cluster.serve import Keeper

    keeper = Keeper()
    while True:
        signal_, handles, _, _ = socket.recv_fds(control, 1, 1)
        if not signal_:
            return
        for handle in handles:
            with socket.socket(fileno=handle) as connection:
                try:
                    _attend_to(keeper, connection)
                except (OSError, EOFError):
                    continue  # Who asked is gone.


def _attend_to(keeper: Any, connection: socket.socket) -> None:
    task: Task = pickle.loads(_receive(connection))
    try:
        if task.what in ("rows", "came", "went"):
            batches: Iterator[Words] = keeper.read(task)
            first = next(batches, None)
            _send(connection, pickle.dumps(("rows", None)))
            while first is not None:
                for start in range(0, len(first), _ROWS):
                    _send(connection, memoryview(first[start : start + _ROWS].tobytes()))
                first = next(batches, None)
            _send(connection, b"")
        else:
            _send(connection, pickle.dumps(("done", keeper.perform(task))))
    except (TidelogError, FileNotFoundError) as error:
        _send(connection, pickle.dumps(("failed", error)))
    except (OSError, EOFError):
        raise
    except Exception as error:
        import traceback

        told = InternalError(Problem("E0901", f"partition {task.partition}: {error}\n{traceback.format_exc()}"))
        _send(connection, pickle.dumps(("failed", told)))


def _is_mine(connection: socket.socket) -> bool:
    """Whether a process of this user is at the other end."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True  # The socket is a file that only this user may open.
    _, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return bool(user == os.getuid())


def _watch(parent: int) -> list[int]:
    """A handle that becomes readable when a process ends, where the system has such."""
    try:
        return [os.pidfd_open(parent)]
    except (AttributeError, OSError):
        return []


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True


def _end(process: int) -> None:
    try:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    except OSError:
        return


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
