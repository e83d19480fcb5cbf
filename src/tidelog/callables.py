"""Functions in Python for the functors that programs declare with `.functor`.

A database has one `GivenFunctions`. The declared types in checked programs refer to it, so that whatever evaluates a
rule finds the function by its name, also one that is given after the rule.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from tidelog.errors import Problem, UsageError
from tidelog.importing import ImportName, import_name, imported, is_file, module_at

FunctorSource: TypeAlias = ModuleType | str | os.PathLike[str] | Mapping[str, Any] | Iterable[Any]
"""A module, its name, the path of its file (which ends in ".py"), or several of these or of their functions, for the
functions that `functor` marks; or functions by the names of their functors."""
Vectorized: TypeAlias = bool | Literal["arrow"]

Made = TypeVar("Made", bound=Callable[..., Any])

_MARK = "__tidelog_functor__"


class Remembered(Protocol):
    """Results that an engine remembers, which an epoch keeps or takes back."""

    def keep(self) -> None: ...

    def take_back(self) -> None: ...


@dataclass(frozen=True)
class GivenFunction:
    """A function for a functor. `signature` are the types that a decorator states, as in "number, symbol -> symbol"."""

    name: str
    function: Callable[..., Any]
    vectorized: Vectorized = False
    signature: str | None = None
    compiled: bool = True
    made: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """The compiled forms that engines keep, by name."""

    @property
    def several(self) -> bool:
        """Return True if it has several values: if it is a generator function."""
        return inspect.isgeneratorfunction(inspect.unwrap(self.function))

    @property
    def place(self) -> str:
        """Return the name of the function in its module."""
        return f"{getattr(self.function, '__module__', '?')}.{getattr(self.function, '__qualname__', self.name)}"

    @property
    def named(self) -> NamedFunction:
        """Return the function as other processes know it. Raise UsageError (E0649) if they cannot import it."""
        found = import_name(self.function, self.name)
        return NamedFunction(self.name, found, self.vectorized, self.signature, self.compiled)


@dataclass(frozen=True)
class NamedFunction:
    """A `GivenFunction` that another process imports by its name."""

    name: str
    function: ImportName
    vectorized: Vectorized
    signature: str | None
    compiled: bool

    def given(self, where: str) -> GivenFunction:
        """Return the function, imported in this process, which `where` describes; it is the same object each time, and
        compiled once. Raise UsageError (E0649)."""
        return _imported(self, where)


@cache
def _imported(named: NamedFunction, where: str) -> GivenFunction:
    function = imported(named.function, named.name, where)
    return GivenFunction(named.name, function, named.vectorized, named.signature, named.compiled)


@dataclass
class GivenFunctions:
    """The functions that were given to a database, by the names of their functors, and what engines remember."""

    functions: dict[str, GivenFunction] = field(default_factory=dict)
    remembered: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, source: FunctorSource) -> GivenFunctions:
        """Return the functions of a source, see `marked`. Raise UsageError as `give` and `marked`."""
        found = cls()
        for each in marked(source):
            found.give(each)
        return found

    def give(self, given: GivenFunction) -> None:
        """Take a function. Raise UsageError (E0646) if the functor has one already, (E0609) if it cannot be called."""
        function: object = given.function
        if not callable(function):
            message = f"expected a function for the functor `{given.name}`, found {function!r}"
            raise UsageError(Problem("E0609", message, hint="pass a function, for example `math.isqrt`"))
        if given.name in self.functions:
            message = f"the functor `{given.name}` has a function already: {self.functions[given.name].place}"
            hint = "declare a functor of another name for another function"
            raise UsageError(Problem("E0646", message, hint=hint))
        self.functions[given.name] = given


def functor(
    signature: str, *, name: str | None = None, vectorized: Vectorized = False, compiled: bool = True
) -> Callable[[Made], Made]:
    """Return a decorator that marks a function for a functor, with the types of its parameters and of its value, as in
    `@tidelog.functor("number, symbol -> symbol")`. `tidelog run --functors` and `db.functors` collect such functions.

    The functor has the name of the function, or `name`.
    """

    def mark(function: Made) -> Made:
        own = name or function.__name__
        setattr(function, _MARK, GivenFunction(own, function, vectorized, signature, compiled))
        return function

    return mark


def marked(source: FunctorSource) -> tuple[GivenFunction, ...]:
    """Return the functions of modules, or among some objects, that `functor` has marked; of a mapping by their names.
    Raise UsageError for a module that cannot be imported (E0649), or a file that cannot be run (E0650)."""
    if isinstance(source, (str, os.PathLike)):
        source = module_at(source)
    if isinstance(source, ModuleType):
        return _marked_among(each for each in vars(source).values() if callable(each))
    if isinstance(source, Mapping):
        return tuple(
            getattr(function, _MARK, None) or GivenFunction(name, function) for name, function in source.items()
        )
    return _marked_among(source)


def files_of(source: FunctorSource) -> list[str]:
    """Return the paths of files among the modules of a source."""
    if isinstance(source, (ModuleType, Mapping)):
        return []
    places = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    return [os.path.abspath(each) for each in places if is_file(each)]


def _marked_among(objects: Iterable[Any]) -> tuple[GivenFunction, ...]:
    found: list[Any] = []
    for each in objects:
        found += marked(each) if isinstance(each, (str, os.PathLike, ModuleType)) else [getattr(each, _MARK, None)]
    return tuple(dict.fromkeys(given for given in found if isinstance(given, GivenFunction)))
