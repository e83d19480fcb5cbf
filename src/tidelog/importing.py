"""Functions in Python by the names under which other processes import them.

Functions never travel as bytes. A process that needs one gets the names of its module and of the function in it, and
imports them from its own machine.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from tidelog.errors import Problem, UsageError


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
    elif not path or _found(ImportName(module, path)) is not function:
        reason = f"`{module}.{path or '?'}` names something else here"
    if reason is not None:
        message = f"other processes cannot import the function of {title}: {reason}"
        hint = "define it at the top level of a module that they can import, or evaluate in one process"
        raise UsageError(Problem("E0649", message, hint=hint))
    return ImportName(module, path)


def _found(name: ImportName) -> object:
    try:
        return imported(name, "", "")
    except UsageError:
        return None


def imported(name: ImportName, title: str, where: str) -> Callable[..., Any]:
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
