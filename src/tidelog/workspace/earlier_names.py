"""The names of 0.2 for verbs that are called otherwise now. They go with the next version."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar
from warnings import warn

_OF_ALL: Mapping[str, str] = {"undo": "ways_to_remove", "repair": "ways_to_derive"}
OF_DATABASES: Mapping[str, str] = {**_OF_ALL, "functors": "import_functions"}
OF_CLIENTS: Mapping[str, str] = {**_OF_ALL, "remove_rules": "rules.remove"}
OF_BLOCKS: Mapping[str, str] = {"remove_rule": "rules.remove"}
OF_STORES: Mapping[str, str] = {**_OF_ALL, **OF_BLOCKS}
OF_NETWORKS: Mapping[str, str] = {**OF_STORES, "add_rules": "rules.add"}


class EarlierNames:
    """A database whose verbs answer to their earlier names as well, with a DeprecationWarning."""

    _earlier_names: ClassVar[Mapping[str, str]] = OF_DATABASES

    if not TYPE_CHECKING:  # A checker of types refuses the earlier names, and any other.

        def __getattr__(self, name: str) -> Any:
            if name not in self._earlier_names:
                raise AttributeError(f"a {type(self).__name__} has no attribute {name!r}")
            later = self._earlier_names[name]
            warn(f"`{name}` is `{later}` now", DeprecationWarning, stacklevel=2)
            return attrgetter(later)(self)
