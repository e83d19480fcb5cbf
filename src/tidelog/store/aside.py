"""`AsideCheckpoint`: a checkpoint that another thread writes while epochs go on."""

from __future__ import annotations

import threading
import time

from tidelog.errors import UsageError
from tidelog.maintain.engine import EmbeddedEngine
from tidelog.store.image import EngineImage
from tidelog.store.state import StateFolder


class _StoppedError(Exception):
    """Nobody wants the checkpoint any more."""


class AsideCheckpoint:
    """A checkpoint of the last epoch of `engine`, which a thread begins to write at once. The caller keeps the engine
    from ending an epoch until this is made. MemoryError makes none.

    The manifest does not name the file until `take`, which the thread of a later commit calls. Before an epoch in which
    relations go, it calls `stop`: their facts must not come back.
    """

    def __init__(self, state: StateFolder, engine: EmbeddedEngine) -> None:
        self._state = state
        self._number = state.manifest.number
        self._image = EngineImage(engine, state.manifest.text, apart=True)
        self._checksum: str | None = None
        self._error: Exception | None = None
        self._stopped = False
        self.seconds = 0.0
        """The time that writing has taken."""
        self._thread = threading.Thread(target=self._write, name="tidelog checkpoint", daemon=True)
        self._thread.start()

    def _write(self) -> None:
        started = time.perf_counter()
        try:
            self._checksum = self._state.write_aside(self._number, lambda file: self._image.write(file, self._look))
        except Exception as error:
            self._error = error
        self.seconds = time.perf_counter() - started

    def _look(self) -> None:
        if self._stopped:
            raise _StoppedError

    @property
    def is_written(self) -> bool:
        """Return True once the thread has ended."""
        return not self._thread.is_alive()

    def take(self) -> None:
        """Put the written checkpoint in the place of the last one, and of the segments up to it. Do nothing where the
        disk did not take it, or where a record type that it has has other fields now."""
        is_lost = self._image.is_lost
        if self._checksum is not None and not is_lost:
            self._state.take_aside(self._number, self._checksum)
            return
        self._state.drop_checkpoint(self._number)
        if self._error is not None and not (is_lost or isinstance(self._error, (UsageError, MemoryError))):
            raise self._error

    def stop(self) -> None:
        """End the thread, and remove what it has written."""
        self._stopped = True
        self._thread.join()
        self._state.drop_checkpoint(self._number)
