"""Changes that wait for `commit`: programs, and facts to assert or retract."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy

from tidelog.arrays import Words
from tidelog.language.syntax import CheckedProgram, Program
from tidelog.rules.core import CoreProgram


@dataclass
class Pending:
    """The program texts and what the checker made of them, and facts in the order of the calls: relation, whether they
    are asserted, rows.

    `core` is None where rules were only removed since it was compiled, which cannot fail.
    """

    programs: tuple[Program, ...]
    checked: CheckedProgram
    core: CoreProgram | None
    facts: list[tuple[str, bool, Words]] = field(default_factory=list)


def net_changes(facts: list[tuple[str, bool, Words]]) -> dict[str, tuple[Words, Words]]:
    """Per relation the rows to assert and the rows to retract: of several calls about a row the last one counts."""
    net: dict[str, tuple[Words, Words]] = {}
    by_relation: dict[str, list[tuple[bool, Words]]] = {}
    for name, asserted, words in facts:
        by_relation.setdefault(name, []).append((asserted, words))
    for name, calls in by_relation.items():
        rows = numpy.concatenate([words for _, words in calls]) if len(calls) > 1 else calls[0][1]
        if len({asserts for asserts, _ in calls}) == 1:
            none = rows[:0]
            net[name] = (rows, none) if calls[0][0] else (none, rows)
            continue
        asserts = numpy.repeat([asserts for asserts, _ in calls], [len(words) for _, words in calls])
        if rows.shape[1]:  # numpy.unique of rows takes several times as long as this
            order = numpy.lexsort(rows.T[::-1])
            rows, asserts = rows[order], asserts[order]
        last = numpy.ones(len(rows), bool)
        last[:-1] = (rows[1:] != rows[:-1]).any(axis=1)
        net[name] = (rows[last & asserts], rows[last & ~asserts])
    return net
