"""Kernels run in Python as long as there is little to do, and then as machine code.

To compile what a first join needs takes some twenty seconds, and to load what was compiled a tenth of one, and 50 MB.
Python needs microseconds where machine code needs nanoseconds, so that it is done sooner with a few hundred rows.
Kernels therefore begin in Python. Once there are many rows (`expect`) or Python has run for long, they are loaded, or
compiled by a process in the background if they never were; with very many rows they are compiled here. Later calls are
machine code. Both find the same words at the same addresses, so that any kernel can continue what another one has
begun.

TIDELOG_KERNELS=compiled compiles each kernel at its first call, TIDELOG_KERNELS=python never compiles one.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
import time
import types
from collections.abc import Callable, Sequence
from math import inf
from typing import TYPE_CHECKING, Any

import numpy

from tidelog.kernels import checked
from tidelog.kernels.compiling import loading

if TYPE_CHECKING:
    from tidelog.kernels.background import BackgroundCompiler

A_STEP = 1.2e-5
"""Seconds in which Python inserts a row or makes a binding, about."""
FEW = 1_000
"""Bindings, or other steps, after which a kernel in Python returns, so that machine code can continue."""
PLAIN, KEPT, COMPILED = range(3)
PATIENCE, PATIENCE_IF_COLD, LONGEST = 0.2, 1.0, 20.0
"""Seconds for which Python runs kernels in a process: about as long as loading them takes; if they were never compiled,
until they are in the background; and until they are compiled here, as long as that takes."""
LONG = round(PATIENCE / A_STEP) + 1
"""Steps that take Python longer than machine code takes to load."""
_BETWEEN_LOOKS = 0.1
"""Seconds after which a kernel is looked for that is compiled in the background."""


class _Pace:
    """The work that Python has done so far in this process, and would have to do."""

    def __init__(self, only: str = "") -> None:
        self.only = only
        """"compiled" or "python", if that is how each kernel runs, however little or much there is to do."""
        self.spent = 0.0
        self.due = 0.0
        """Seconds: how long Python has run kernels, and how long it would have by the end of what is expected."""
        self.arrived = 0
        """How many kernels have been compiled in the background, of those that this process has looked for."""
        self.followers: list[Callable[[], object]] = []
        self._followed = self.stage, 0

    @functools.cached_property
    def compiler(self) -> BackgroundCompiler:
        """The compiler in the background, which begins a process at its first request."""
        from tidelog.kernels.background import BackgroundCompiler

        return BackgroundCompiler()

    @property
    def stage(self) -> int:
        """PLAIN; KEPT once Python has taken so long that kernels compiled before are worth loading; COMPILED once all
        kernels have to be machine code."""
        if self.only == "python":
            return PLAIN
        if self.only == "compiled" or self.due > LONGEST:
            return COMPILED
        return KEPT if self.due > PATIENCE else PLAIN

    def follow(self) -> int:
        """Return the stage. If it is a new one, or kernels have arrived, call the followers first."""
        stage = self.stage
        if (stage, self.arrived) > self._followed:
            self._followed = stage, self.arrived
            for follower in self.followers:
                follower()
        return stage


_pace = _Pace(os.environ.get("TIDELOG_KERNELS", ""))


def expect(steps: int) -> None:
    """Note that kernels will be called for so many rows, or other steps, which may be too many for Python."""
    if steps > FEW:
        _pace.due = max(_pace.due, _pace.spent + steps * A_STEP)


def takes_long() -> bool:
    """Return True if Python takes longer over the kernels of this process than machine code takes to load."""
    return _pace.due > PATIENCE


def until_look(kernel: Callable[..., Any], steps: int) -> int:
    """Return after how many steps a kernel is to return: `steps`, or as long as Python may run it, fewer, so that
    machine code can continue soon."""
    is_plain = isinstance(kernel, Kernel) and _pace.stage != COMPILED and not kernel.is_machine_code
    return min(steps, FEW) if is_plain else steps


def at_each_stage(follower: Callable[[], object]) -> None:
    """Let `follower` be called when more kernels become machine code than before, to call those that have to be ready:
    it may be in the midst of an epoch."""
    _pace.followers.append(follower)


class Kernel:
    """A function over words and addresses that Python runs at first, and numba compiles once that pays."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        self._run = self._begin
        self._codes: dict[int, Callable[..., Any]] = {}
        """Machine code by the size of the last argument's words, in bytes; 0 if it has none."""
        self._looked = -inf
        """When the kernel was last looked for, by the monotonic clock."""
        self._is_requested = False

    def __call__(self, *arguments: Any) -> Any:
        """Run the kernel."""
        return self._run(*arguments)

    @property
    def is_machine_code(self) -> bool:
        """True if the next call runs machine code."""
        return self._run != self._begin

    @functools.cached_property
    def dispatcher(self) -> Any:
        """The kernel as numba has it, to be compiled."""
        from tidelog.kernels.native import dispatcher

        return dispatcher(self.function)

    def machine_code(self, *arguments: Any) -> Any:
        """Run machine code. That differs by the words of the last argument, and by nothing else."""
        size = getattr(arguments[-1], "itemsize", 0)
        if size not in self._codes:
            with _loading:
                if size not in self._codes:
                    self._codes[size] = loading(self.ready, tuple(map(_kind_of, arguments)))
        if not size:
            self._run = self._codes[size]
        return self._codes[size](*arguments)

    def ready(self, kinds: tuple[str, ...]) -> Callable[..., Any]:
        """Return machine code for arguments of these kinds: find it, or compile and keep it."""
        from tidelog.kernels import cache
        from tidelog.kernels.loader import load

        code = cache.find(self.name, kinds)
        if code is None:
            from tidelog.kernels.native import compiled

            code = compiled(self.function, self.dispatcher, kinds)
            cache.keep(self.name, code)
        return load(self.name, code)

    @functools.cached_property
    def _numba_type_(self) -> Any:
        """The type by which numba knows a kernel that another one calls."""
        from tidelog.kernels.native import kernel_type

        return kernel_type(self.dispatcher)

    @functools.cached_property
    def plain(self) -> Callable[..., Any]:
        """The kernel in Python, which calls no other one but in Python."""
        of = self.function
        scope = _plain_scope(of.__module__)
        return types.FunctionType(of.__code__, scope, of.__name__, of.__defaults__, of.__closure__)

    def _is_kept(self) -> bool:
        """Return True if a process has compiled the kernel before, or the package brings its code."""
        from tidelog.kernels.places import SUFFIX, folder_in_package, folder_of_kernels

        pattern = f"{self.name}-*{SUFFIX}"
        return any(any(folder.glob(pattern)) for folder in (folder_of_kernels(), folder_in_package()))

    def _is_there(self, arguments: Sequence[Any]) -> bool:
        """Return True if the kernel need not be compiled. Otherwise let that be done in the background, if it pays."""
        now = time.monotonic()
        if now < self._looked + _BETWEEN_LOOKS:
            return False
        if self._is_kept():
            _pace.arrived += self._is_requested
            return True
        self._looked = now
        if not self._is_requested and _pace.due > PATIENCE_IF_COLD:
            self._is_requested = True
            _pace.compiler.request(self.function, tuple(map(_kind_of, arguments)))
        return False

    def _begin(self, *arguments: Any) -> Any:
        stage = _pace.follow()
        if stage == COMPILED or (stage == KEPT and self._is_there(arguments)):
            self._run = self.machine_code
            return self._run(*arguments)
        started = time.thread_time()
        try:
            with numpy.errstate(all="ignore"):
                return self.plain(*arguments)
        finally:
            _pace.spent += time.thread_time() - started
            _pace.due = max(_pace.due, _pace.spent)


_loading = threading.RLock()


def _kind_of(argument: Any) -> str:
    """Return the type of an argument as machine code knows it: "int64", or "int32 2" for an array of two dimensions."""
    if isinstance(argument, numpy.ndarray):
        return f"{argument.dtype} {argument.ndim}"
    return str(argument.dtype) if isinstance(argument, numpy.generic) else _KINDS[type(argument)]


_KINDS = {bool: "bool", int: "int64", float: "float64"}


def in_python(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel as Python runs it, however much there is to do."""
    return kernel.plain if isinstance(kernel, Kernel) else kernel


_scopes: dict[str, dict[str, Any]] = {}


def _plain_scope(module: str) -> dict[str, Any]:
    """Return the names of a module, with all kernels in Python."""
    if module not in _scopes:
        scope = _scopes[module] = dict(vars(sys.modules[module]))
        scope.update({name: value.plain for name, value in scope.items() if isinstance(value, Kernel)})
    return _scopes[module]


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function a kernel. With NUMBA_DISABLE_JIT=1 it stays what it is."""
    return function if checked.CHECKING else Kernel(function)
