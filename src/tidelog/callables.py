"""Functions in Python for the functors that programs declare with `.functor`.

A database has one `GivenFunctions`. The declared types in checked programs refer to it, so that whatever evaluates a
rule finds the function by its name, also one that is given after the rule.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from tidelog.errors import Problem, UsageError

FunctorSource: TypeAlias = ModuleType | Mapping[str, Any] | Iterable[Any]
"""A module or objects whose marked functions are meant, or functions by the names of their functors."""
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


@dataclass
class GivenFunctions:
    """The functions that were given to a database, by the names of their functors, and what engines remember."""

    functions: dict[str, GivenFunction] = field(default_factory=dict)
    remembered: dict[str, Any] = field(default_factory=dict)

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
    """Return the functions of a module, or among some objects, that `functor` has marked; of a mapping by their
    names."""
    if isinstance(source, ModuleType):
        return _marked_among(vars(source).values())
    if isinstance(source, Mapping):
        return tuple(
            getattr(function, _MARK, None) or GivenFunction(name, function) for name, function in source.items()
        )
    return _marked_among(source)


def _marked_among(objects: Iterable[Any]) -> tuple[GivenFunction, ...]:
    found = [getattr(each, _MARK, None) for each in objects]
    return tuple(dict.fromkeys(given for given in found if isinstance(given, GivenFunction)))
