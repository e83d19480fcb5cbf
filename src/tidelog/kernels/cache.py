"""The cache of compiled kernels: a file for each kernel and size of words, in the folder of `places` or of the package.

A cache that cannot be written or read costs time and nothing else: it warns once per process, and the kernels are
compiled for this process alone. A folder that has all kernels that a process needs never has to be written.

To compile all kernels takes some two minutes, one of them some seconds. Each is kept as soon as it is compiled.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import warnings
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from platform import machine
from typing import TYPE_CHECKING, Any

from llvmlite.binding import get_host_cpu_features, get_host_cpu_name

from tidelog.durable.whole_files import write_whole
from tidelog.errors import DataError, KernelCacheWarning
from tidelog.kernels.places import SUFFIX, folder_in_package, folder_of_kernels, use_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

_warned: list[str] = []
"""The warnings of this process: one, or none."""
_used: set[Path] = set()
"""The folders that this process uses."""


@dataclass(frozen=True, slots=True)
class MachineCode:
    """A kernel that numba has compiled, with all that it calls."""

    kinds: tuple[str, ...]
    """The types of its arguments: "int64", or "int32 2" for an array of two dimensions."""
    function: str
    """The symbol of the function that takes and returns objects of Python."""
    constants: Mapping[str, tuple[Any, ...]]
    """The objects of Python that the code needs, by the symbol of the variable that has to point to them."""
    file: bytes
    """An object file."""


def find(name: str, kinds: tuple[str, ...]) -> MachineCode | None:
    """Return the code of a kernel for this processor, or None if it was never compiled, or cannot be read."""
    own = folder_of_kernels()
    if own not in _used:
        _used.add(own)
        use_folder(own)
    code = None
    with _warning():
        code = _read(_path(own, name, kinds, _processor()))
        if code is None and _runs_code_of_package():
            code = _read(_path(folder_in_package(), name, kinds, _LEVEL))
    return code


def keep(name: str, code: MachineCode) -> None:
    """Keep the code of a kernel that was compiled for this processor."""
    folder = folder_of_kernels()
    with _warning():
        folder.mkdir(parents=True, exist_ok=True)  # It may have been removed as unused.
        data = pickle.dumps(astuple(code))
        write_whole(_path(folder, name, code.kinds, _processor()), _digest(data) + data)


_LEVEL = "x86-64-v3", ""
_INSTRUCTIONS = ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt")
"""Instructions that every processor of that level has, and that older ones lack."""


@functools.cache
def _runs_code_of_package() -> bool:
    """Return True if the package brings code, and this processor runs it."""
    features = get_host_cpu_features() if folder_in_package().is_dir() and machine() == "x86_64" else {}
    return all(features.get(each, False) for each in _INSTRUCTIONS)


@functools.cache
def _processor() -> tuple[str, str]:
    """Return the name and the features of the processor for which numba compiles."""
    name, features = os.environ.get("NUMBA_CPU_NAME"), os.environ.get("NUMBA_CPU_FEATURES")
    host = name or get_host_cpu_name()
    return host, get_host_cpu_features().flatten() if features is None else features


def _path(folder: Path, name: str, kinds: tuple[str, ...], processor: tuple[str, str]) -> Path:
    return folder / f"{name}-{_digest(repr((kinds, processor)).encode()).hex()}{SUFFIX}"


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def _read(path: Path) -> MachineCode | None:
    """Return the code in a file, or None if the file does not exist. Raise OSError, or ValueError for a damaged one."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    digest, data = content[:16], content[16:]
    if _digest(data) != digest:
        raise ValueError(f"{path.name} is damaged")
    return MachineCode(*pickle.loads(data))


@contextmanager
def _warning() -> Iterator[None]:
    """Warn once per process of a fault of the disk, with the place, the reason and the remedy."""
    try:
        yield
    except (OSError, ValueError, DataError) as error:
        if _warned:
            return
        reason = getattr(error, "strerror", None) or str(error)
        if isinstance(error, DataError):
            reason = error.problems[0].message
        message = (
            f"tidelog cannot keep its compiled kernels in {folder_of_kernels()}: {reason}. Each process compiles them"
            " anew, which takes about 100 seconds. Make room there, allow tidelog to write there, or set"
            " TIDELOG_CACHE_DIR to another folder"
        )
        _warned.append(message)
        warnings.warn(message, KernelCacheWarning, stacklevel=2)
