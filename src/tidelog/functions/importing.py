"""Where functions come from: modules of Python, and shared libraries.

Functions never travel as bytes. A process that needs one in Python gets the names of its module and of the function in
it, and imports them from its own machine. Functions of libraries stay in the process that has loaded the library.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable, Sequence
from ctypes.util import find_library
from dataclasses import dataclass
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from tidelog.errors import Problem, UsageError, path_problem, wrong_argument


@dataclass(frozen=True)
class ImportName:
    """The name of a module, and the dotted path of an object in it."""

    module: str
    path: str

    def __str__(self) -> str:
        return f"{self.module}.{self.path}"


def import_name(function: Callable[..., Any], title: str) -> ImportName:
    """Return the name under which other processes import a function; `title` says of what. Raise UsageError (E0649) if
    it has none."""
    module: str = getattr(function, "__module__", None) or type(function).__module__
    path: str = getattr(function, "__qualname__", None) or getattr(function, "__name__", None) or ""
    reason = None
    if module == "__main__":
        reason = "it is defined in the script that was started"
    elif "<lambda>" in path:
        reason = "it is a lambda"
    elif "<locals>" in path:
        reason = "it is defined inside of another function"
    elif not path or _import_or_none(ImportName(module, path)) is not function:
        reason = f"`{module}.{path or '?'}` names something else here"
    if reason is not None:
        message = f"other processes cannot import the function of {title}: {reason}"
        hint = "define it at the top level of a module that they can import, or evaluate in one process"
        raise UsageError(Problem("E0649", message, hint=hint))
    return ImportName(module, path)


def _import_or_none(name: ImportName) -> object:
    try:
        return import_callable(name, "", "")
    except UsageError:
        return None


def import_callable(name: ImportName, title: str, where: str) -> Callable[..., Any]:
    """Return the function with a name, of what `title` says, imported in this process, which `where` describes. Raise
    UsageError (E0649) with the error of the import."""
    try:
        function: Any = import_module(name.module)
        for part in name.path.split("."):
            function = getattr(function, part)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # Code of a module may call `sys.exit`.
        message = f"{where} cannot import `{name}` for {title}: {type(error).__name__}: {error}"
        ship = "`spark.sparkContext.addPyFile`, over Spark Connect with `spark.addArtifacts(…, pyfile=True)`"
        hint = f"install the module there, or ship it with {ship}"
        raise UsageError(Problem("E0649", message, hint=hint)) from error
    found: Callable[..., Any] = function
    return found


def is_file(place: object) -> bool:
    """Return True if a place is the path of a file, and not the name of a module."""
    return isinstance(place, os.PathLike) or (isinstance(place, str) and place.endswith(".py"))


def module_at(place: str | os.PathLike[str]) -> ModuleType:
    """Return a module by its name, or by the path of its file, which ends in ".py". Raise UsageError where it cannot be
    imported (E0649), or the file cannot be run (E0650)."""
    if not is_file(place):
        try:
            return import_module(os.fspath(place))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # Code of a module may call `sys.exit`.
            message = f"the module `{place}` cannot be imported: {type(error).__name__}: {error}"
            hint = "install it, set PYTHONPATH, or pass the path of a file that ends in .py"
            raise UsageError(Problem("E0649", message, hint=hint)) from error
    path = Path(place)
    known = sys.modules.get(path.stem)
    if known is not None and getattr(known, "__file__", None) == str(path.absolute()):
        return known
    hint = "pass a file of Python in which `@tidelog.functor` marks functions"
    spec = spec_from_file_location(path.stem, path.absolute()) if path.is_file() else None
    if spec is None or spec.loader is None:
        message = f"the functions in '{path}' cannot be read: there is no such file of Python"
        raise UsageError(Problem("E0650", message, hint=hint))
    module = module_from_spec(spec)
    own = sys.modules.setdefault(path.stem, module) is module
    try:
        spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # Code of a module may call `sys.exit`.
        if own:
            del sys.modules[path.stem]
        message = f"the functions in '{path}' cannot be read: {type(error).__name__}: {error}"
        raise UsageError(Problem("E0650", message, hint=hint)) from error
    return module


# --- shared libraries ------------------------------------------------------------------------------------------------

_TYPES: dict[int, dict[str, Any]] = {
    32: {"number": ctypes.c_int32, "unsigned": ctypes.c_uint32, "float": ctypes.c_float, "symbol": ctypes.c_char_p},
    64: {"number": ctypes.c_int64, "unsigned": ctypes.c_uint64, "float": ctypes.c_double, "symbol": ctypes.c_char_p},
}
"""The types of Soufflé's functors by the bits of its numbers and the kinds of values."""
_RANGES = {"number": range(-(2**31), 2**31), "unsigned": range(2**32)}
"""The numbers of 32 bits."""
_SUFFIX = ".dylib" if sys.platform == "darwin" else ".so"
_LINK_MAP = 2
"""The request RTLD_DI_LINKMAP of `dlinfo`."""


class UnfitError(Exception):
    """A value that cannot pass between rules and a function of a library; the text continues the name of the call."""

    def __init__(self, text: str, hint: str) -> None:
        super().__init__(text)
        self.hint = hint


class Library:
    """A shared library, whose functions programs call as functors, as they do in Soufflé.

    `name` stands for the file `libNAME.so` (on macOS `libNAME.dylib`) in one of the `folders`, or where the system
    looks for libraries. A name with ".so" or ".dylib" in it is that of the file, one with a "/" its path. `bits` is
    the width of numbers for which the library was built, 64 or 32. Raise UsageError if it cannot be loaded (E0642), for
    another width (E0603), or for arguments of other types (E0635).
    """

    def __init__(
        self,
        name: str | os.PathLike[str],
        folders: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (".",),
        *,
        bits: int = 64,
    ) -> None:
        if not _are_paths([name]):
            raise wrong_argument("a library", "a name or a path", name)
        places = [folders] if isinstance(folders, (str, os.PathLike)) else folders
        if not _are_paths(places):
            raise wrong_argument("the folders of a library", "paths", folders)
        if bits not in _TYPES:
            message = f"`bits` of the library `{name}` must be 64 or 32, found {bits!r}"
            raise UsageError(Problem("E0603", message, hint="pass the value of RAM_DOMAIN_SIZE of its build"))
        self.name = os.fspath(name)
        for path in (name, *places):
            if (wrong := path_problem(path)) is not None:
                hint = "pass the name or the path of a library"
                raise UsageError(Problem("E0642", wrong, place=repr(os.fspath(path)), hint=hint))
        self._bits = bits
        self._loaded = _load_library(self.name, places)
        self._file = _file(self._loaded)

    def __contains__(self, name: str) -> bool:
        """Return True if the library itself defines a function; those of libraries that it needs are not its own."""
        return self._address(name) is not None

    def function(self, name: str, kinds: Sequence[str]) -> Callable[..., Any] | None:
        """Return the function with a name, for parameters and last a result of these `kinds`, or None if the library
        defines none. It raises UnfitError for values that do not fit."""
        address = self._address(name)
        if address is None:
            return None
        types = _TYPES[self._bits]
        *parameters, result = kinds
        native = ctypes.PYFUNCTYPE(types[result], *(types[kind] for kind in parameters))(address)
        if self._bits == 64 and "symbol" not in kinds:
            return native
        converters = [self._converter(kind) for kind in parameters]

        def call(*values: Any) -> Any:
            found = native(*(convert(value) for convert, value in zip(converters, values, strict=True)))
            return _decode_text(found) if result == "symbol" else found

        return call

    def _address(self, name: str) -> int | None:
        try:
            address = ctypes.cast(self._loaded[name], ctypes.c_void_p).value
        except AttributeError:
            return None
        if address is None or (self._file is not None and _owner(address) != self._file):
            return None
        return address

    def _converter(self, kind: str) -> Callable[[Any], Any]:
        """Return the function that makes an argument of a value."""
        if kind == "symbol":
            return _encode_text
        fitting = _RANGES.get(kind) if self._bits == 32 else None
        if fitting is None:
            return lambda value: value

        def check_range(value: int) -> int:
            if value not in fitting:
                hint = "build the library with RAM_DOMAIN_SIZE=64, and leave 32 bits out; nothing has changed"
                raise UnfitError(f"passes {value}, but the library takes numbers of 32 bits", hint)
            return value

        return check_range


def _are_paths(values: object) -> bool:
    return isinstance(values, Sequence) and all(isinstance(each, (str, os.PathLike)) for each in values)


def _encode_text(text: str) -> bytes:
    if "\0" in text:
        hint = "leave such texts out; nothing has changed"
        raise UnfitError("passes a text with the character \\0, with which texts in C end", hint)
    return text.encode()


def _decode_text(text: bytes | None) -> str:
    hint = "let the function return a text in UTF-8 for all arguments; nothing has changed"
    if text is None:
        raise UnfitError("returned NULL, expected a symbol", hint)
    try:
        return text.decode()
    except UnicodeDecodeError:
        raise UnfitError(f"returned {text!r:.80}, expected a symbol", hint) from None


def _load_library(name: str, folders: Sequence[str | os.PathLike[str]]) -> ctypes.CDLL:
    """Return a library by its name, see `Library`."""
    is_path = os.sep in name
    file = name if is_path or ".so" in name or ".dylib" in name else f"lib{name}{_SUFFIX}"
    paths = [Path(file)] if is_path else [Path(folder, file) for folder in folders]
    found = next((str(path.absolute()) for path in paths if path.is_file()), None)
    if found is None and is_path:
        message = f"the library '{name}' does not exist"
        raise UsageError(Problem("E0642", message, hint="pass the path of a shared library"))
    try:
        return ctypes.CDLL(found or file)
    except OSError as error:
        reason = error
    if found is not None:
        message = f"the library '{found}' cannot be loaded: {reason}"
        raise UsageError(Problem("E0642", message, hint="build it as a shared library for this system"))
    installed = find_library(name)  # The file of some has a version in its name only, such as libm.so.6.
    if installed is not None:
        return ctypes.CDLL(installed)
    where = ", ".join(f"'{folder}'" for folder in folders)
    message = f"the library `{name}` is not found: there is no '{file}' in {where}, and the system says: {reason}"
    raise UsageError(Problem("E0642", message, hint="pass its folder with -L FOLDER, or the path of its file"))


class _SymbolOwner(ctypes.Structure):
    """`Dl_info` of <dlfcn.h>."""

    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


class _LinkMap(ctypes.Structure):
    """The first fields of `struct link_map` of <link.h>."""

    _fields_ = (("address", ctypes.c_void_p), ("file", ctypes.c_char_p))


def _owner(address: int) -> bytes | None:
    """Return the file of the library that defines a function, None where the system does not say it."""
    owner = _SymbolOwner()
    found = ctypes.CDLL(None).dladdr(ctypes.c_void_p(address), ctypes.byref(owner))
    file: bytes | None = owner.file if found else None
    return file


def _file(library: ctypes.CDLL) -> bytes | None:
    """Return the file of a library, under the name that `_owner` has for it, None where the system does not say it, as
    macOS."""
    system = ctypes.CDLL(None)
    if not hasattr(system, "dlinfo"):
        return None
    entry = ctypes.POINTER(_LinkMap)()
    system.dlinfo(ctypes.c_void_p(library._handle), _LINK_MAP, ctypes.byref(entry))
    file: bytes | None = entry.contents.file
    return file
