"""Functions for the functors and aggregates that programs declare with `.functor` and `.aggregate`: in Python, and of
shared libraries.

A database has one `GivenFunctions`. The declared types in checked programs refer to it, so that whatever evaluates a
rule finds the functions by their name, also those that are given after the rule.
"""

from __future__ import annotations

import hashlib
import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import CodeType, ModuleType
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, overload

from tidelog.errors import Problem, UsageError, quote, wrong_argument
from tidelog.functions.importing import ImportName, Library, import_callable, import_name, is_file, module_at

FunctorSource: TypeAlias = ModuleType | Library | str | os.PathLike[str] | Mapping[str, Any] | Iterable[Any]
"""A module, its name, the path of its file (which ends in ".py"), or several of these or of their functions, for the
functions that `functor` marks; or functions by the names of their functors. A `Library` may be among them."""
Vectorized: TypeAlias = bool | Literal["arrow"]

Made = TypeVar("Made", bound=Callable[..., Any])

_MARK = "__tidelog_functor__"


class Remembered(Protocol):
    """Results that an engine remembers, which an epoch keeps or takes back."""

    def keep(self) -> None: ...

    def take_back(self) -> None: ...


@dataclass(frozen=True)
class GivenFunction:
    """A function for a functor. `signature` are the types that a decorator states, as in "number, symbol -> symbol".
    Its results are remembered by the arguments, unless `remember` is False. `library` is the name of the library that
    it is in, if it is in one."""

    name: str
    function: Callable[..., Any]
    vectorized: Vectorized = False
    signature: str | None = None
    compiled: bool = True
    remember: bool = True
    library: str | None = None
    made: dict[tuple[str, ...], Any] = field(default_factory=dict, compare=False, repr=False)
    """The compiled forms that engines keep, by name and kinds: programs may declare other types."""

    @property
    def several(self) -> bool:
        """Return True if it has several values: if it is a generator function."""
        return inspect.isgeneratorfunction(inspect.unwrap(self.function))

    @property
    def place(self) -> str:
        """Return the name of the function in its module or library."""
        if self.library is not None:
            return f"`{self.name}` in the library `{self.library}`"
        return f"{getattr(self.function, '__module__', '?')}.{getattr(self.function, '__qualname__', self.name)}"

    @property
    def importable_form(self) -> NamedFunction:
        """Return the function as other processes know it. Raise UsageError (E0649) if they cannot import it."""
        if self.library is not None:
            message = f"other processes cannot import the function of the functor `{self.name}`: it is in a library"
            hint = "evaluate in one process, or write the function in a module of Python"
            raise UsageError(Problem("E0649", message, hint=hint))
        found = import_name(self.function, f"the functor `{self.name}`")
        return NamedFunction(self.name, found, self.vectorized, self.signature, self.compiled, self.remember)


@dataclass(frozen=True)
class NamedFunction:
    """A `GivenFunction` that another process imports by its name."""

    name: str
    function: ImportName
    vectorized: Vectorized
    signature: str | None
    compiled: bool
    remember: bool

    def resolve(self, where: str) -> GivenFunction:
        """Return the function, imported in this process, which `where` describes; it is the same object each time, and
        compiled once. Raise UsageError (E0649)."""
        return _import_function(self, where)


@cache
def _import_function(named: NamedFunction, where: str) -> GivenFunction:
    function = import_callable(named.function, f"the functor `{named.name}`", where)
    return GivenFunction(named.name, function, named.vectorized, named.signature, named.compiled, named.remember)


@dataclass(frozen=True)
class GivenAggregate:
    """The functions of an aggregate: `step` takes the state and the operands of a member of the group, and returns the
    next state. `init` is the first state, or a function that makes it."""

    name: str
    init: Any
    step: Callable[..., Any]
    merge: Callable[[Any, Any], Any] | None = None
    inverse: Callable[..., Any] | None = None
    finish: Callable[[Any], Any] | None = None
    signature: str | None = None
    compiled: bool = True
    made: dict[tuple[str, ...], Any] = field(default_factory=dict, compare=False, repr=False)
    """The compiled forms that engines keep, by name and kinds: programs may declare other types."""

    @property
    def function(self) -> Callable[..., Any]:
        """The function that `aggregate` has marked."""
        return self.step

    @property
    def place(self) -> str:
        """Return the name of the step in its module."""
        return f"{getattr(self.step, '__module__', '?')}.{getattr(self.step, '__qualname__', self.name)}"

    @property
    def importable_form(self) -> NamedAggregate:
        """Return the functions as other processes know them. Raise UsageError (E0649) if they cannot import them."""
        parts = (self.init, self.step, self.merge, self.inverse, self.finish)
        title = f"the aggregate `{self.name}`"
        found = [import_name(each, title) if callable(each) else each for each in parts]
        return NamedAggregate(self.name, tuple(found), self.signature, self.compiled)

    @property
    def fingerprint(self) -> str:
        """Return a digest of the functions, another one for nearly all other functions."""
        parts = (self.init, self.step, self.merge, self.inverse, self.finish)
        return hashlib.sha256("\n".join(map(_content, parts)).encode()).hexdigest()


@dataclass(frozen=True)
class NamedAggregate:
    """A `GivenAggregate` that another process imports by the names of its `parts`: init, step, merge, inverse and
    finish; a first state that is no function is itself."""

    name: str
    parts: tuple[Any, ...]
    signature: str | None
    compiled: bool

    def resolve(self, where: str) -> GivenAggregate:
        """Return the functions, imported in this process, which `where` describes. Raise UsageError (E0649)."""
        title = f"the aggregate `{self.name}`"
        parts = [import_callable(each, title, where) if isinstance(each, ImportName) else each for each in self.parts]
        init, step, merge, inverse, finish = parts
        return GivenAggregate(self.name, init, step, merge, inverse, finish, self.signature, self.compiled)


FunctionOrLibrary: TypeAlias = GivenFunction | GivenAggregate | Library


def _content(value: object) -> str:
    """Return the content of a function or of a value as a text that is the same in other processes."""
    code = value if isinstance(value, CodeType) else getattr(value, "__code__", None)
    if not isinstance(code, CodeType):
        kept = isinstance(value, int | float | str | bytes | tuple | list | dict | None)
        return repr(value) if kept else getattr(value, "__qualname__", type(value).__qualname__)
    cells = [each.cell_contents for each in getattr(value, "__closure__", None) or ()]
    inside = [*code.co_consts, *cells, *(getattr(value, "__defaults__", None) or ())]
    return f"{code.co_code.hex()} {code.co_names} {[_content(each) for each in inside]}"


Named: TypeAlias = NamedFunction | NamedAggregate


@dataclass
class GivenFunctions:
    """The functions that were given to a database, by the names of their functors and aggregates, and what engines
    remember.

    The `libraries` have functions for functors that have none in Python; `of_libraries` are those that were found.
    These and what is `remembered` go by the name of the functor, and the kinds of its parameters and its result.
    Aggregates in `waiting` take the place of others in the next epoch, which computes all their groups again.
    `computed` has the fingerprints of the functions that computed the views of a store.
    """

    functions: dict[str, GivenFunction] = field(default_factory=dict)
    remembered: dict[tuple[str, ...], Any] = field(default_factory=dict)
    aggregates: dict[str, GivenAggregate] = field(default_factory=dict)
    waiting: dict[str, GivenAggregate] = field(default_factory=dict)
    computed: dict[str, str] = field(default_factory=dict)
    libraries: list[Library] = field(default_factory=list)
    of_libraries: dict[tuple[str, ...], GivenFunction] = field(default_factory=dict)

    @classmethod
    def of(cls, source: FunctorSource) -> GivenFunctions:
        """Return the functions of a source, see `collect_functions`. Raise UsageError as that and `give` do."""
        found = cls()
        for each in collect_functions(source):
            found.give(each)
        return found

    def give(self, given: FunctionOrLibrary, *, used: bool = False) -> None:
        """Take a function or a library. Raise UsageError (E0646) if the functor has one already, (E0609) if it cannot
        be called, (E0635) if its name is no text, (E0603) for options that have a wrong value or do not go together.

        Those of an aggregate that is `used` wait for the next epoch if they replace others.
        """
        if isinstance(given, Library):
            self.libraries.append(given)
            return
        check_options(given)
        if isinstance(given, GivenAggregate):
            self._give_aggregate(given, used)
            return
        function: object = given.function
        if not callable(function):
            message = f"expected a function for the functor `{given.name}`, found {quote(function)}"
            raise UsageError(Problem("E0609", message, hint="pass a function, for example `math.isqrt`"))
        known = (*self.functions.values(), *self.of_libraries.values())
        earlier = next((each for each in known if each.name == given.name), None)
        if earlier is not None:
            message = f"the functor `{given.name}` has a function already: {earlier.place}"
            hint = "declare a functor of another name for another function"
            raise UsageError(Problem("E0646", message, hint=hint))
        if given.several and (given.vectorized or not given.remember):
            option = "vectorized" if given.vectorized else "remember=False"
            message = f"the functor `{given.name}` is a generator function, which cannot have `{option}`"
            raise UsageError(Problem("E0603", message, hint="leave it out: a generator is called for each row"))
        self.functions[given.name] = given

    def _give_aggregate(self, given: GivenAggregate, used: bool) -> None:
        for part in ("step", "merge", "inverse", "finish"):
            function: object = getattr(given, part)
            if not callable(function) and (function is not None or part == "step"):
                message = f"expected a function as the {part} of the aggregate `{given.name}`, found {quote(function)}"
                hint = "pass a function, for example `lambda state, x: state + x`"
                raise UsageError(Problem("E0609", message, hint=hint))
        self.waiting.pop(given.name, None)
        if used and self.aggregates.get(given.name, given) != given:
            self.waiting[given.name] = given
        else:
            self.aggregates[given.name] = given

    def of_library(self, key: tuple[str, ...]) -> GivenFunction | None:
        """Return the function of the first library that has one, or None."""
        if key not in self.of_libraries:
            name, *kinds = key
            for library in self.libraries:
                function = library.function(name, kinds)
                if function is not None:
                    self.of_libraries[key] = GivenFunction(name, function, compiled=False, library=library.name)
                    break
        return self.of_libraries.get(key)

    def replace(self, given: GivenFunction | GivenAggregate) -> None:
        """Put a function in the place of one that there is."""
        if isinstance(given, GivenAggregate):
            self.aggregates[given.name] = given
        else:
            self.functions[given.name] = given

    @property
    def aggregates_to_recompute(self) -> frozenset[str]:
        """The aggregates whose views other functions have computed."""
        others = (
            name
            for name, fingerprint in self.computed.items()
            if name in self.aggregates and self.aggregates[name].fingerprint != fingerprint
        )
        return frozenset((*self.waiting, *others))

    def renew(self) -> dict[str, GivenAggregate]:
        """Put the functions that wait in their places, and return those that were there."""
        before = {name: self.aggregates[name] for name in self.waiting}
        self.aggregates |= self.waiting
        return before

    def take_back(self, before: Mapping[str, GivenAggregate]) -> None:
        """Undo `renew`; the functions wait again."""
        self.aggregates |= before

    def keep(self) -> None:
        """Make `renew` last."""
        self.waiting.clear()
        self.computed.clear()


def check_options(given: GivenFunction | GivenAggregate) -> None:
    """Raise UsageError for a name that is no text (E0635), and for an option with a wrong value (E0603)."""
    name: object = given.name
    if not isinstance(name, str):
        raise wrong_argument("the name of a functor or an aggregate", "a text", name)
    for option in ("vectorized", "compiled", "remember"):
        value = getattr(given, option, False)
        is_arrow = option == "vectorized" and isinstance(value, str) and value == "arrow"
        if not (isinstance(value, bool) or is_arrow):
            allowed = 'True, False or "arrow"' if option == "vectorized" else "True or False"
            message = f"`{option}` of `{name}` must be {allowed}, found {quote(value)}"
            raise UsageError(Problem("E0603", message, hint=f"pass {allowed}"))


@overload
def functor(signature: Made, /) -> Made: ...


@overload
def functor(
    signature: str | None = None,
    *,
    name: str | None = None,
    vectorized: Vectorized = False,
    compiled: bool = True,
    remember: bool = True,
) -> Callable[[Made], Made]: ...


def functor(
    signature: Any = None,
    *,
    name: str | None = None,
    vectorized: Vectorized = False,
    compiled: bool = True,
    remember: bool = True,
) -> Any:
    """Return a decorator that marks a function for a functor, with the types of its parameters and of its value, as in
    `@tidelog.functor("number, symbol -> symbol")`. `tidelog run --functors` and `db.import_functions` collect
    such functions.

    The functor has the name of the function, or `name`; the other parts are those of `db.functor`. Without types, those
    of the program's declaration count; `@tidelog.functor` alone marks a function so.
    """
    if callable(signature):
        return functor()(signature)

    def mark(function: Made) -> Made:
        own = name or function.__name__
        setattr(function, _MARK, GivenFunction(own, function, vectorized, signature, compiled, remember))
        return function

    return mark


def aggregate(
    signature: str,
    *,
    init: Any,
    merge: Callable[[Any, Any], Any] | None = None,
    inverse: Callable[..., Any] | None = None,
    finish: Callable[[Any], Any] | None = None,
    name: str | None = None,
    compiled: bool = True,
) -> Callable[[Made], Made]:
    """Return a decorator that marks the step of an aggregate, with the types of its operands and of its value, as in
    `@tidelog.aggregate("number -> float", init=list, finish=middle)`. `tidelog run --functors` and
    `db.import_functions` collect it. The aggregate has the name of the step, or `name`; the other parts are those of
    `db.aggregate`.
    """

    def mark(step: Made) -> Made:
        own = name or step.__name__
        setattr(step, _MARK, GivenAggregate(own, init, step, merge, inverse, finish, signature, compiled))
        return step

    return mark


def collect_functions(source: FunctorSource) -> tuple[FunctionOrLibrary, ...]:
    """Return the functions of modules, or among some objects, that `functor` or `aggregate` has marked; of a mapping by
    their names; and libraries. Raise UsageError for a module that cannot be imported (E0649), or a file that cannot be
    run (E0650)."""
    if isinstance(source, (str, os.PathLike)):
        source = module_at(source)
    if isinstance(source, Library):
        return (source,)
    if isinstance(source, ModuleType):
        return _marked_among(each for each in vars(source).values() if callable(each))
    if isinstance(source, Mapping):
        return tuple(
            getattr(function, _MARK, None) or GivenFunction(name, function) for name, function in source.items()
        )
    return _marked_among(source)


def files_of(source: FunctorSource) -> list[str]:
    """Return the paths of files among the modules of a source."""
    if isinstance(source, (ModuleType, Library, Mapping)):
        return []
    places = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    return [os.path.abspath(each) for each in places if is_file(each)]


def _marked_among(objects: Iterable[Any]) -> tuple[FunctionOrLibrary, ...]:
    found: list[Any] = []
    try:
        listed = list(objects)
    except (TypeError, NotImplementedError):  # of what cannot be gone through, such as a sparse matrix
        raise wrong_argument("functors", "a module, its name, or functions", objects) from None
    for each in listed:
        whole = isinstance(each, (str, os.PathLike, ModuleType, Library))
        found += collect_functions(each) if whole else [getattr(each, _MARK, None)]
    given = [each for each in found if isinstance(each, FunctionOrLibrary)]
    return tuple({id(each): each for each in given}.values())
