"""Machine code of kernels as functions of Python, without numba, whose import takes longer than most programs run.

A `MachineCode` has the function that numba made for calls from Python: it takes objects, unpacks their words, releases
the interpreter's lock and runs the kernel. What numba would set up before a call is set up here: the addresses of
numba's C functions, which are in small extension modules, and variables that point to constants.
"""

from __future__ import annotations

import builtins
import ctypes
import functools
import pickle
import sys
from collections.abc import Callable
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import llvmlite.binding as llvm

from tidelog.kernels.cache import MachineCode


class _Method(ctypes.Structure):
    """`PyMethodDef` of Python's C API."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_VARARGS_AND_KEYWORDS = 3
_new_function = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.POINTER(_Method), ctypes.c_void_p, ctypes.c_void_p)(
    ("PyCFunction_NewEx", ctypes.pythonapi)
)
_loaded: list[object] = []
"""Constants, engines and descriptions of functions: they have to live as long as the functions."""


def load(name: str, code: MachineCode) -> Callable[..., Any]:
    """Return a kernel as a builtin function. It checks the size of an array's words, and not their type."""
    environment = _environments()
    # Each has an engine of its own, so that none is linked with another one's copy of what both call.
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code.file))
    engine.finalize_object()
    for symbol, constants in code.constants.items():
        objects = environment({})
        objects.consts[:] = constants
        ctypes.c_void_p.from_address(engine.get_global_value_address(symbol)).value = id(objects)
        _loaded.append(objects)
    method = _Method(name.encode(), engine.get_function_address(code.function), _VARARGS_AND_KEYWORDS, None)
    _loaded.extend((engine, method))
    function: Callable[..., Any] = _new_function(ctypes.byref(method), None, None)
    return function


@functools.cache
def _target() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(jit=True)


@functools.cache
def _environments() -> Callable[[dict[str, Any]], Any]:
    """Give LLVM the addresses that machine code needs; return numba's type of lists of constants."""
    helpers, functions = _extension("_helperlib"), _extension("_dynfunc")
    runtime = _extension("core/runtime/_nrt_python")
    runtime.memsys_use_cpython_allocator()  # as numba does: what one of the two allocates, both may release
    addresses = {f"numba_{name}": address for name, address in (helpers.c_helpers | functions.c_helpers).items()}
    for name, address in runtime.c_helpers.items():
        addresses[name if name.startswith("_") else f"NRT_{name}"] = address
    for name, value in vars(builtins).items():
        if isinstance(value, type) and issubclass(value, BaseException):
            addresses[f"PyExc_{name}"] = id(value)
    addresses["_Py_NoneStruct"] = id(None)
    if "numba" not in sys.modules:  # Its own function would import it.
        addresses["numba_unpickle"] = ctypes.cast(_unpickle_at, ctypes.c_void_p).value or 0
    for name, address in addresses.items():
        llvm.add_symbol(name, address)
    environment: Callable[[dict[str, Any]], Any] = functions.Environment
    return environment


@ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
@functools.cache
def _unpickle_at(address: int, size: int, _digest: int) -> Any:
    """Return a constant of machine code, such as the type of the arrays that it returns."""
    return pickle.loads(ctypes.string_at(address, size))


def _extension(path: str) -> ModuleType:
    """Load an extension module of numba, without those in Python beside it. ImportError."""
    package = find_spec("numba")
    assert package is not None
    assert package.origin is not None
    for suffix in EXTENSION_SUFFIXES:
        file = Path(package.origin).parent / f"{path}{suffix}"
        spec = spec_from_file_location(f"{__name__}.{file.name.partition('.')[0]}", file)
        if file.exists() and spec is not None and spec.loader is not None:
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    raise ImportError(f"this version of numba has no module {path}; install one that tidelog supports")
