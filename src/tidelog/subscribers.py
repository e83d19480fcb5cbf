"""The subscribers of a database."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar

from tidelog.limits.interrupts import Interrupts

Part = TypeVar("Part")
Part_co = TypeVar("Part_co", covariant=True)


class Parts(Protocol[Part_co]):
    """A change, by relation; `errors` is what subscribers raise."""

    errors: tuple[BaseException, ...]

    def __iter__(self) -> Iterator[str]: ...
    def __getitem__(self, relation: str, /) -> Part_co: ...


class Subscribers(Generic[Part]):
    """Functions that are called with the change of a relation, epoch by epoch, also where one of them commits."""

    def __init__(self) -> None:
        self._entries: list[tuple[str, Callable[[Part], object]]] = []
        self._lock = threading.Lock()
        self._untold: list[Parts[Part]] = []
        self._telling = False

    def add(self, relation: str, callback: Callable[[Part], object]) -> Callable[[], None]:
        """Call a function from now on; returns a function that ends this."""
        entry = (relation, callback)
        with self._lock:
            self._entries = [*self._entries, entry]

        def end() -> None:
            with self._lock:
                self._entries = [other for other in self._entries if other is not entry]

        return end

    def tell(self, change: Parts[Part], interrupts: Interrupts) -> None:
        """Call everyone whose relation has changed, by a thread that keeps others from changing the database.

        What they raise becomes `change.errors`, and the log has it too. A Ctrl-C ends the one that is under way, and is
        delivered when all is done.
        """
        self._untold.append(change)
        if self._telling:
            return
        self._telling = True
        try:
            while self._untold:
                told = self._untold.pop(0)
                told.errors = self._call(told, interrupts)
        finally:
            self._telling = False

    def _call(self, change: Parts[Part], interrupts: Interrupts) -> tuple[BaseException, ...]:
        errors: list[BaseException] = []
        pressed, interrupts.pressed = interrupts.pressed, False
        names = set(change)
        for name, callback in self._entries:
            begun = name not in names
            while not begun:  # A Ctrl-C may come before the call.
                try:
                    part = change[name]
                    with interrupts.let_through():
                        callback((begun := True) and part)
                except BaseException as error:
                    if isinstance(error, KeyboardInterrupt) and interrupts.before is not None:
                        pressed = True
                    else:
                        begun = True
                        errors.append(error)
                        logging.getLogger("tidelog").error("a subscriber of %s has failed", name, exc_info=error)
            pressed, interrupts.pressed = pressed or interrupts.pressed, False
        if pressed:
            interrupts.pressed = True
        return tuple(errors)
