"""The columns of data by the names that a relation declares: one rule for every way in.

Names match exactly, otherwise without case and surrounding blanks where only one column and one declared name are alike
then. Data have no names where these are only the numbers of the columns: they go by position, as tuples do.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from tidelog.errors import DataError, Problem

_NUMBERED = (("", 0), ("column_", 0), ("column", 0), ("col", 0), ("f", 0), ("_c", 0), ("_", 1))
"""Names that libraries make up: pandas, Polars, DuckDB for files and for values, Arrow, Spark for files and for
tuples; each with the first number."""
_INDEX = re.compile(r"__index_level_[0-9]+__")
"""The names under which pandas writes an index without a name to Arrow and Parquet; the column is left out."""


def positions_by_name(found: Sequence[object], declared: Sequence[str]) -> Mapping[str, int]:
    """Return the position of the column for each declared name that has one."""
    exact, alike = _places(list(map(str, found))), _places([_fold_case(str(name)) for name in found])
    wanted = Counter(map(_fold_case, declared))
    positions = {}
    for name in declared:
        same = exact.get(name) or (alike.get(_fold_case(name), []) if wanted[_fold_case(name)] == 1 else [])
        if len(same) == 1:
            positions[name] = same[0]
    return positions


def match_columns(
    found: Sequence[object], declared: Sequence[str], place: str, by_position: str | None = None
) -> list[int]:
    """Return for each declared name the position of its column. Raise DataError (E0406) where the columns are others;
    its hint says how to go `by_position` on purpose."""
    places = [i for i, name in enumerate(map(str, found)) if name in declared or not _INDEX.fullmatch(name)]
    names = [str(found[i]) for i in places]
    positions = positions_by_name(names, declared)
    if len(positions) == len(declared) == len(names):
        return [places[positions[name]] for name in declared]
    if len(declared) == len(names) and has_no_names(names):
        return places
    matched, alike = set(positions.values()), Counter(map(_fold_case, names))
    others = [name for i, name in enumerate(names) if i not in matched]
    several = {_fold_case(name) for name in declared if name not in positions and alike[_fold_case(name)] > 1}
    doubled = sorted({name for name in others if _fold_case(name) in several})
    missing = [name for name in declared if name not in positions and _fold_case(name) not in several]
    extra = [name for name in others if name not in doubled]
    message = f"expected the columns {', '.join(declared)}, found {', '.join(names) or 'none'}"
    reasons = [("missing", missing), ("not declared", extra), ("more than once", doubled)]
    hints = [f"{label}: {', '.join(which)}" for label, which in reasons if which]
    if by_position is not None and len(declared) == len(names):
        hints.append(f"to go by position, {by_position}")
    raise DataError(Problem("E0406", message, hint="; ".join(hints), place=place))


def _places(names: Sequence[str]) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        places.setdefault(name, []).append(i)
    return places


def _fold_case(name: str) -> str:
    return name.strip().casefold()


def has_no_names(names: Sequence[str]) -> bool:
    """Return True if a library made up the names of columns."""
    return any(names == [f"{prefix}{first + i}" for i in range(len(names))] for prefix, first in _NUMBERED)
