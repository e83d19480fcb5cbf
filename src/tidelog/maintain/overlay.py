"""A mapping over another one, which stays as it is until the changes are applied."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence, Set
from typing import TypeVar

Value = TypeVar("Value")


class Overlay(MutableMapping[str, Value]):
    """`base` with the changes in `changed` and `gone`. Making one and applying it takes time in proportion to the
    changes, not to the base."""

    def __init__(self, base: dict[str, Value]) -> None:
        self.base = base
        self.changed: dict[str, Value] = {}
        self.gone: dict[str, None] = {}

    def apply(self) -> None:
        """Make the changes those of the base."""
        self.base.update(self.changed)
        for name in self.gone:
            del self.base[name]

    def of(self, names: Set[str]) -> dict[str, Value]:
        """Return those of the names that are there, with their values."""
        found = {**self.base, **self.changed}
        for name in (*self.gone, *(found.keys() - names)):
            found.pop(name, None)
        return found

    def lacks(self, names: frozenset[str]) -> bool:
        """Return True if none of the names is here, or was in the base. It takes time in proportion to the smaller
        ones."""
        return self.base.keys().isdisjoint(names) and self.changed.keys().isdisjoint(names)

    def several(self, names: Sequence[str]) -> list[Value]:
        """Return the values of names that are there, faster than one by one."""
        if self.changed.keys().isdisjoint(names):
            return [*map(self.base.__getitem__, names)]
        return [self[name] for name in names]

    def __getitem__(self, name: str) -> Value:
        if name in self.changed:
            return self.changed[name]
        if name in self.gone:
            raise KeyError(name)
        return self.base[name]

    def __setitem__(self, name: str, value: Value) -> None:
        self.changed[name] = value
        self.gone.pop(name, None)

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise KeyError(name)
        self.changed.pop(name, None)
        if name in self.base:
            self.gone[name] = None

    def __contains__(self, name: object) -> bool:
        return name in self.changed or (name in self.base and name not in self.gone)

    def __iter__(self) -> Iterator[str]:
        yield from (name for name in self.base if name not in self.gone)
        yield from (name for name in self.changed if name not in self.base)

    def __len__(self) -> int:
        return sum(1 for _ in self)
