"""Memory that runs out where a test wants it to.

    with Budget(7) as budget:      # the seventh request for memory fails
        attempt()
    budget.failed                  # whether there were so many

Memory is asked for in two ways. Blocks (`storage.memory`) hold relations, indexes, lists and journals; arrays of NumPy,
of kernels and of Arrow hold everything else. The first are counted in `Block.grow`, the others by their allocators
(`tests/allocators.py`). Blocks always move when they grow, and what they leave is unmapped: who still has an address of
theirs crashes at once.
"""

from __future__ import annotations

import ctypes
import errno
import os
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

import pytest

import tidelog
from tests.allocators import ALLOCATORS, asked
from tidelog.storage import memory, room
from tidelog.storage.memory import Block
from tidelog.storage.room import Room, SpillFile

SMALL = 2048
"""Bytes. Where memory stays used up, requests below are granted: from what an epoch has reserved."""
NOTHING = 64
"""Bytes. An array without values takes some."""
_PACKAGE = f"{Path(tidelog.__file__).parent}/"


class Budget:
    """Inside of the block, the `last`-th request for memory fails, and with `for_good` all larger ones behind it.

    `asked` is the number of requests, `failed` whether one has failed. Only requests of `blocks` and to `allocators`
    count, and with a `line` of the package, as in `lines`, only those made there.
    """

    code = "E0503"
    """Of the error that follows."""

    def __init__(
        self,
        last: int,
        *,
        for_good: bool = False,
        blocks: bool = True,
        allocators: Iterable[str] = tuple(ALLOCATORS),
        line: str = "",
    ) -> None:
        self.last = last
        self.asked = 0
        self.failed = False
        self.lines: dict[str, None] = {}
        """The lines of the package that have asked, each once."""
        self._for_good = for_good
        self._blocks = blocks
        self._allocators = tuple(allocators)
        self._line = line
        self._counting = ExitStack()

    def ask(self, size: int) -> bool:
        """Return True if there is memory of so many bytes."""
        if self.failed:
            return not self._for_good or size <= SMALL
        line = _line()
        if line:
            self.lines[line] = None
        self.asked += self._line in ("", line)
        self.failed = self.asked == self.last
        return not self.failed

    def begin(self) -> None:
        """From now on, count."""
        self._patch = pytest.MonkeyPatch()
        self._counting = ExitStack()
        self._counting.callback(self._patch.undo)
        self._counting.enter_context(asked(self.ask, self._allocators))
        grow = Block.grow

        def grow_within(block: Block, size: int) -> None:
            if self._blocks and size > block.size and not self.ask(size):
                raise MemoryError(f"a budget of the test, request {self.last}")
            grow(block, size)

        self._patch.setattr(Block, "grow", grow_within)

    def end(self) -> None:
        """Let there be as much memory as before; nothing where it has not begun."""
        self._counting.close()

    def __enter__(self) -> Budget:
        self.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()


class Disk(Budget):
    """A disk that is full from the `last`-th request for a file, or for more of one, on."""

    code = "E0508"

    def __init__(self, last: int) -> None:
        super().__init__(last, for_good=True)

    def begin(self) -> None:
        """From now on, count."""
        self._patch = pytest.MonkeyPatch()
        self._counting = ExitStack()
        self._counting.callback(self._patch.undo)
        reserve = os.posix_fallocate

        def reserve_within(file: int, start: int, size: int) -> None:
            if not self.ask(size):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            reserve(file, start, size)

        self._patch.setattr(os, "posix_fallocate", reserve_within)


def _line() -> str:
    """The line of the package that is being run."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and not frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return f"{frame.f_code.co_filename.removeprefix(_PACKAGE)}:{frame.f_lineno}" if frame is not None else ""


@contextmanager
def asking_for_nothing(*methods: tuple[type, str]) -> Iterator[list[str]]:
    """Inside, note what these methods, or what they call, ask for: it has to stay empty."""
    noted: list[str] = []
    running: list[bool] = []

    def note(size: int) -> bool:
        if size > NOTHING:
            noted.append(f"{_line()} asks for {size} bytes")
        return True

    def quiet(method: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any) -> Any:
            if running:
                return method(*arguments)
            running.append(True)
            try:
                with asked(note):
                    return method(*arguments)
            finally:
                running.clear()

        return called

    with pytest.MonkeyPatch.context() as patch:
        grow = Block.grow

        def noted_grow(block: Block, size: int) -> None:
            if running and size > block.size:
                note(size)
            grow(block, size)

        patch.setattr(Block, "grow", noted_grow)
        for owner, name in methods:
            patch.setattr(owner, name, quiet(getattr(owner, name)))
        yield noted


_TO = 2
"""Of mremap: to the address that follows (MREMAP_FIXED)."""


class _Moving:
    """The system calls of blocks, with an mremap that never leaves a block where it is."""

    def __init__(self, library: Any) -> None:
        self._library = library

    def __getattr__(self, name: str) -> Any:
        return getattr(self._library, name)

    def mremap(self, address: int, size: int, wanted: int, flags: int) -> Any:
        elsewhere = self._library.mmap(None, wanted, memory._PROTECTION, memory._ANONYMOUS, -1, 0)
        return self._library.mremap(address, size, wanted, flags | _TO, ctypes.c_void_p(elsewhere))


def spilling(patch: pytest.MonkeyPatch, seed: int) -> list[int]:
    """Let blocks of a few kilobytes go into files, about one of two at random, where databases have a folder for them.
    Return a list that gets the size of each file."""
    small_blocks(patch)
    rng, sizes = random.Random(seed), list[int]()
    patch.setattr(room, "_LEAST", 0)
    patch.setattr(Room, "fits", lambda self, more: rng.random() < 0.5)
    file = Room.file

    def noted(self: Room, size: int) -> SpillFile:
        sizes.append(size)
        return file(self, size)

    patch.setattr(Room, "file", noted)
    return sizes


def small_blocks(patch: pytest.MonkeyPatch) -> None:
    """Let blocks of a few kilobytes be mapped, as only large ones are otherwise, and move whenever they grow."""
    patch.setattr(memory, "_MAPPED", 1 << 12)
    if memory._LIBRARY is not None:
        patch.setattr(memory, "_LIBRARY", _Moving(memory._LIBRARY))
