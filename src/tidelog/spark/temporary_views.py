"""Temporary views of a session that follow the relations of a database."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.sql import DataFrame, SparkSession

from tidelog.errors import Problem, UsageError
from tidelog.spark.failures import letting_go
from tidelog.spark.sources.readers import escaped


class TemporaryViews:
    """The views that a database keeps in its session, named like their relations behind a prefix. `frame` returns a
    relation as it is now."""

    def __init__(self, session: SparkSession, frame: Callable[[str], DataFrame]) -> None:
        self._session = session
        self._frame = frame
        self._wanted: dict[str, tuple[str, ...]] = {}
        """Names of relations by prefix, none for all."""
        self._made: set[str] = set()

    def create(self, names: Sequence[str], prefix: str, relations: Sequence[str]) -> None:
        """Create views of some relations, or of all. Raise UsageError (E0603) if another table or view has a name."""
        made = {f"{prefix}{name}": name for name in names or relations}
        taken = [view for view in made if view not in self._made and self._session.catalog.tableExists(escaped(view))]
        if taken:
            hint = f'choose other names: db.create_views(prefix="{prefix}tidelog_")'
            message = f"the session has a table or view {taken[0]!r} already"
            raise UsageError(Problem("E0603", message, place="create_views", hint=hint))
        self._create(made)
        self._wanted[prefix] = tuple(names)

    def follow(self, relations: Sequence[str]) -> None:
        """Have the views show the relations of a new epoch; those of relations that have gone go as well."""
        made = {
            f"{prefix}{name}": name
            for prefix, names in self._wanted.items()
            for name in relations
            if not names or name in names
        }
        self._drop(self._made - made.keys())
        self._create(made)

    def close(self) -> None:
        """Drop the views."""
        self._wanted.clear()
        self._drop(set(self._made))

    def _create(self, made: dict[str, str]) -> None:
        for view, name in made.items():
            self._frame(name).createOrReplaceTempView(escaped(view))
            self._made.add(view)

    def _drop(self, views: set[str]) -> None:
        for view in views:
            with letting_go():
                self._session.catalog.dropTempView(view)
            self._made.discard(view)
