"""The subscribers of a database."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from tidelog.limits.interrupts import Interrupts


class SubscribedChange(Protocol):
    """A change that subscribers hear of; `errors` is what they raise."""

    errors: tuple[BaseException, ...]


Made = TypeVar("Made", bound=SubscribedChange)
Part = TypeVar("Part")
Subscriber: TypeAlias = tuple[str, Callable[[Made], Any], Callable[[Any], object]]
"""A subscriber: its name for the log, its part of a change, and the function."""


class Subscribers(Generic[Made]):
    """Functions that are called with their part of a change, epoch by epoch, also where one of them commits."""

    def __init__(self) -> None:
        self._entries: list[Subscriber[Made]] = []
        self._lock = threading.Lock()
        self._untold: list[tuple[Made, bool]] = []
        self._telling = False
        self._missed: list[tuple[Subscriber[Made], Any]] = []
        """Entries that raised at an epoch of a stream, with their part of its change."""

    def add(
        self, name: str, part: Callable[[Made], Part | None], callback: Callable[[Part], object]
    ) -> Callable[[], None]:
        """Call a function from now on with its `part` of a change, if it has one; returns a function that ends this.
        `name` is for the log."""
        entry = (name, part, callback)
        with self._lock:
            self._entries = [*self._entries, entry]

        def end() -> None:
            with self._lock:
                self._entries = [other for other in self._entries if other is not entry]

        return end

    def tell(self, change: Made, interrupts: Interrupts, *, again: bool = False) -> None:
        """Call everyone for whom a change has a part, by a thread that keeps others from changing the database.

        What they raise becomes `change.errors`, and the log has it too. With `again`, `repeat` calls those that raised
        once more. A Ctrl-C ends the one that is under way, and is delivered when all is done.
        """
        self._untold.append((change, again))
        if self._telling:
            return
        self._telling = True
        try:
            while self._untold:
                told, repeated = self._untold.pop(0)
                told.errors = self._call(told, interrupts, repeated)
        finally:
            self._telling = False

    def repeat(self) -> None:
        """Call those again that raised, with the same part of the change, in the order in which they did. Raise what
        one raises; it is then called again the next time, and so are those behind it."""
        while self._missed:
            entry, heard = self._missed[0]
            if entry in self._entries:
                entry[2](heard)
            self._missed.pop(0)

    def _call(self, change: Made, interrupts: Interrupts, again: bool) -> tuple[BaseException, ...]:
        errors: list[BaseException] = []
        pressed, interrupts.pressed = interrupts.pressed, False
        for entry in self._entries:
            name, part, callback = entry
            begun, heard = False, None
            while not begun:  # A Ctrl-C may come before the call.
                try:
                    heard = part(change)
                    if heard is None:
                        break
                    with interrupts.let_through():
                        callback((begun := True) and heard)
                except BaseException as error:
                    if isinstance(error, KeyboardInterrupt) and interrupts.before is not None:
                        pressed = True
                    else:
                        begun = True
                        errors.append(error)
                        if again and heard is not None:
                            self._missed.append((entry, heard))
                        logging.getLogger("tidelog").error("a subscriber of %s has failed", name, exc_info=error)
            pressed, interrupts.pressed = pressed or interrupts.pressed, False
        if pressed:
            interrupts.pressed = True
        return tuple(errors)
