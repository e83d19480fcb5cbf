"""Casts between kinds: records of equal layout, and hints where a cast has no meaning.

A symbol is a number inside of an engine, and so is a record. These numbers differ from run to run, and no cast shows
them: Soufflé warns there, tidelog rejects the cast.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.language.functors import NUMERIC
from tidelog.language.syntax import Cast, Kind, RecordType


def same_layout(one: Kind, other: Kind, records: Mapping[str, RecordType]) -> bool:
    """Return True for record types without branches that have as many fields, each of the same kind or of equal layout
    again. Types that contain themselves have none."""
    return _same(one, other, records, frozenset())


def _same(one: Kind, other: Kind, records: Mapping[str, RecordType], around: frozenset[Kind]) -> bool:
    if one == other:
        return True
    first, second = records.get(one), records.get(other)
    if first is None or second is None or first.branches or second.branches or around & {one, other}:
        return False
    pairs = zip(first.fields, second.fields, strict=False)
    inside = around | {one, other}
    return len(first.fields) == len(second.fields) and all(_same(a.kind, b.kind, records, inside) for a, b in pairs)


def cast_hint(cast: Cast, source: Kind, target: Kind, records: Mapping[str, RecordType]) -> str:
    """Return what to write instead of a cast without a meaning."""
    if source in NUMERIC and target == "symbol":
        return f"write `to_string({cast.term})` for its digits; the number of a symbol differs from run to run"
    if source == "symbol" and target in NUMERIC:
        return f"write `to_{target}({cast.term})` for the number in it, `codepoint({cast.term})` for its first letter"
    if source in records and target in NUMERIC:
        return f"write `ord({cast.term})` for a number of the value; the one inside differs from run to run"
    if source in records and target in records and not records[source].branches and not records[target].branches:
        return "take the record apart, and build one of the other type: their fields differ, or contain the types again"
    if target in records:
        form = "`$Branch(…)`" if records[target].branches else "`[…]`"
        return f"build a value of the type by {form}"
    return "take the value apart, and convert what is in it"
