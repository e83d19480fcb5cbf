"""Files of the state folder as bytes: plans, rounds, logs and the manifest, as JSON that can build known classes only,
behind its checksum.

A pickle could run code of anybody who can write to the folder. A value is JSON as it is, or a list that begins with a
letter. A text or an object of a class that comes again is a reference to the first one.

    l t d f    list, tuple, dict (as pairs), frozenset
    b a        bytes; an array: dtype, shape, bytes
    c          an object of one of `CLASSES`: its name and its fields
    r          what was the n-th to be kept for reference
    g          the functions of functors: those of the reader, because no function is ever in a file
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from typing import Any

import numpy

from tidelog.functions.callables import GivenFunctions

MODULES = (
    "tidelog.common.source",
    "tidelog.language.syntax",
    "tidelog.rules.core",
    "tidelog.spark.cluster.manifest",
    "tidelog.spark.cluster.placement.plan",
    "tidelog.spark.cluster.exchange.pieces",
    "tidelog.spark.cluster.exchange.rounds",
    "tidelog.spark.cluster.exchange.texts",
    "tidelog.spark.cluster.checking.joins",
    "tidelog.spark.cluster.checking.steps",
)
_LONG = 40
"""Texts with fewer characters are written again."""
_SUM = 8
"""The bytes of a checksum."""


class DamagedError(ValueError):
    """The error about bytes that no `dumps` has made."""


@cache
def classes() -> Mapping[str, type]:
    """Return the classes of `MODULES` whose objects files can hold, by their names in files."""
    values = (value for module in MODULES for value in vars(import_module(module)).values() if isinstance(value, type))
    found = {_name(value): value for value in values if is_dataclass(value) or _is_named(value)}
    return {name: value for name, value in found.items() if value is not GivenFunctions}


def dumps(value: Any) -> bytes:
    """Return a value as bytes. TypeError for a value that files do not hold."""
    data = json.dumps(_Writer().write(value), separators=(",", ":")).encode()
    return _sum(data) + data


def loads(data: bytes, given: GivenFunctions | None = None) -> Any:
    """Return the value of which `dumps` has made these bytes; its functors have the functions `given`. Raises
    DamagedError where there is none."""
    checksum, data = data[:_SUM], data[_SUM:]
    if checksum != _sum(data):
        raise DamagedError("its checksum is another")
    try:
        return _Reader(given or GivenFunctions()).decode_value(json.loads(data))
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise DamagedError(f"{type(error).__name__}: {error}") from None


def _sum(data: bytes) -> bytes:
    return b"%08x" % zlib.crc32(data)


def _name(kind: type) -> str:
    return f"{kind.__module__.rpartition('.')[2]}.{kind.__name__}"


def _is_named(value: type) -> bool:
    return issubclass(value, tuple) and hasattr(value, "_fields")


def _names(value: Any) -> tuple[str, ...]:
    """Return the fields of an object or a class."""
    return tuple(each.name for each in fields(value)) if is_dataclass(value) else value._fields


def _parts(value: Any) -> list[Any]:
    return [getattr(value, name) for name in _names(value)]


class _Writer:
    def __init__(self) -> None:
        self._kept: dict[Any, int] = {}
        self._alive: list[Any] = []  # so that no other object gets the identity of one that is kept

    def write(self, value: Any) -> Any:
        """Return the value as JSON can hold it."""
        if value is None or (isinstance(value, (bool, int, float)) and not isinstance(value, numpy.generic)):
            return value
        if isinstance(value, str):
            return self._once(value, value, lambda: ["s", value]) if len(value) >= _LONG else value
        if classes().get(_name(type(value))) is type(value):
            return self._once(id(value), value, lambda: ["c", _name(type(value)), *map(self.write, _parts(value))])
        if isinstance(value, numpy.generic):
            return self.write(value.item())
        if isinstance(value, numpy.ndarray):
            return ["a", value.dtype.str, list(value.shape), b64encode(value.tobytes()).decode()]
        if isinstance(value, GivenFunctions):
            return ["g"]
        if isinstance(value, bytes):
            return ["b", b64encode(value).decode()]
        if isinstance(value, Mapping):
            return ["d", *([self.write(key), self.write(each)] for key, each in value.items())]
        for letter, kind in (("l", list), ("t", tuple), ("f", frozenset)):
            if isinstance(value, kind):
                return [letter, *map(self.write, value)]
        raise TypeError(f"a {type(value).__name__} is nothing that files hold")

    def _once(self, key: Any, value: Any, parts: Any) -> Any:
        if key in self._kept:
            return ["r", self._kept[key]]
        written = parts()
        self._kept[key] = len(self._kept)
        self._alive.append(value)
        return written


class _Reader:
    def __init__(self, given: GivenFunctions) -> None:
        self._given = given
        self._kept: list[Any] = []

    def decode_value(self, value: Any) -> Any:
        """Return the value that JSON holds."""
        if not isinstance(value, list):
            return value
        letter, *parts = value
        match letter:
            case "s":
                return self._keep(str(parts[0]))
            case "c":
                return self._keep(self._object(parts[0], [self.decode_value(part) for part in parts[1:]]))
            case "r":
                return self._kept[parts[0]]
            case "a":
                dtype, shape, data = parts
                return numpy.frombuffer(b64decode(data), numpy.dtype(dtype)).reshape(shape).copy()
            case "b":
                return b64decode(parts[0])
            case "g":
                return self._given
            case "d":
                return {self.decode_value(key): self.decode_value(each) for key, each in parts}
            case "l":
                return [self.decode_value(part) for part in parts]
            case "t":
                return tuple([self.decode_value(part) for part in parts])
            case "f":
                return frozenset([self.decode_value(part) for part in parts])
        raise ValueError(f"no value begins with {letter!r}")

    def _keep(self, value: Any) -> Any:
        self._kept.append(value)
        return value

    def _object(self, name: str, parts: list[Any]) -> Any:
        kind = classes()[name]
        names = _names(kind)
        if len(parts) != len(names):
            raise ValueError(f"a {name} has {len(names)} fields, found {len(parts)}")
        return kind(**dict(zip(names, parts, strict=True)))
