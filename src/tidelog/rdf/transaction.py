"""A block of changes of a store that are committed together."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Protocol

from tidelog.database.ruleset import NamedRules
from tidelog.database.transaction import ChangeBlock, Committing
from tidelog.rdf.change import StoreChange
from tidelog.workspace.earlier_names import OF_BLOCKS, EarlierNames


class ChangingStore(Committing[StoreChange], Protocol):
    """A store as a transaction needs it."""

    def load(self, program: str | os.PathLike[str]) -> None: ...
    def load_n3(self, rules: str | os.PathLike[str], name: str | None = None) -> tuple[str, ...]: ...
    @property
    def rules(self) -> NamedRules: ...
    def view(self, name: str, text: str, /) -> None: ...
    def drop_view(self, name: str, /) -> None: ...
    def shapes(
        self,
        data: Any,
        name: str = ...,
        format: str | None = None,
        *,
        base: str | None = None,
        inferred: bool = True,
        strict: bool = False,
    ) -> None: ...
    def insert(
        self, data: Any, format: str | None = None, *, base: str | None = None, graph: str | None = None
    ) -> None: ...
    def delete(
        self, data: Any, format: str | None = None, *, base: str | None = None, graph: str | None = None
    ) -> None: ...
    def replace(self, data: Any, name: str, format: str | None = None, *, base: str | None = None) -> None: ...


class StoreTransaction(EarlierNames, ChangeBlock[StoreChange]):
    """The changes of one `with` block over a store. All methods raise UsageError (E0626) outside of the block or in
    another thread."""

    _earlier_names = OF_BLOCKS

    def __init__(self, store: ChangingStore, commit: Callable[[], StoreChange] | None = None) -> None:
        super().__init__(store, commit)
        self._store = store

    def load(self, program: str | os.PathLike[str]) -> None:
        """Add rules, see `Store.load`."""
        self._check()
        self._store.load(program)

    def load_n3(self, rules: str | os.PathLike[str], name: str | None = None) -> tuple[str, ...]:
        """Add rules in N3, see `Store.load_n3`."""
        self._check()
        return self._store.load_n3(rules, name)

    @property
    def rules(self) -> NamedRules:
        """`add`, `replace` and `remove` rules, see `Store.rules`."""
        self._check()
        return self._store.rules

    def view(self, name: str, text: str, /) -> None:
        """Add a view in SPARQL, see `Store.view`."""
        self._check()
        self._store.view(name, text)

    def drop_view(self, name: str, /) -> None:
        """Remove a view, see `Store.drop_view`."""
        self._check()
        self._store.drop_view(name)

    def shapes(
        self,
        data: Any,
        name: str = "shapes",
        format: str | None = None,
        *,
        base: str | None = None,
        inferred: bool = True,
        strict: bool = False,
    ) -> None:
        """Validate by shapes of SHACL, see `Store.shapes`."""
        self._check()
        self._store.shapes(data, name, format, base=base, inferred=inferred, strict=strict)

    def insert(
        self, data: Any, format: str | None = None, *, base: str | None = None, graph: str | None = None
    ) -> None:
        """Assert triples, see `Store.insert`."""
        self._check()
        self._store.insert(data, format, base=base, graph=graph)

    def delete(
        self, data: Any, format: str | None = None, *, base: str | None = None, graph: str | None = None
    ) -> None:
        """Retract triples, see `Store.delete`."""
        self._check()
        self._store.delete(data, format, base=base, graph=graph)

    def replace(self, data: Any, name: str, format: str | None = None, *, base: str | None = None) -> None:
        """Make the triples of a source those of a graph, see `Store.replace`."""
        self._check()
        self._store.replace(data, name, format, base=base)
