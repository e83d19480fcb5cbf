"""The plan that every partition has: the program that it runs, and where it sends the rows that relations gain and
lose.

`place.place_program` makes a `ClusterPlan` of a core program. The embedded engine of each partition runs `program`,
whose relations are the copies that the partition holds: `name@facts` the asserted facts, `name@home.0` what rules
derive here, or what they derived elsewhere and column 0 puts here, `name@0` a copy by column 0, `name@all` a copy of
all rows, `name@one` a copy of all rows in the first partition. `exports` feed the copies that no rule derives.

Where single words have a large share of the rows (`skewed_keys`), the copy of one relation that a rule reads is
`name@spread.0`, and those of the others are `name@follow.0`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tidelog.rules.core import CoreProgram


@dataclass(frozen=True)
class Spread:
    """Rows are where the word in a column says; those with a skewed key there where all their words together say."""

    column: int

    def __str__(self) -> str:
        return f"spread.{self.column}"


@dataclass(frozen=True)
class Follow:
    """Rows are where the word in a column says; those with a skewed key there are everywhere, so that they meet what is
    `Spread` by the same words."""

    column: int

    def __str__(self) -> str:
        return f"follow.{self.column}"


Placement: TypeAlias = int | Literal["all", "one", "rows"] | Spread | Follow
"""Where the rows of a relation are: where the word in a column says, everywhere, in the first partition, or where all
words of the row together say."""


ExportRoute: TypeAlias = tuple[str, str, Placement, Placement, int, tuple[int, ...]]
"""Source, target, their places, the columns of the target, and the skewed keys where these matter."""


LEVELS = 3
"""The levels of exports for each depth of the graph of relations: what goes in a cycle, what comes in a cycle, and what
leaves it."""


@dataclass(frozen=True)
class Export:
    """The rows of `source`, which are at `origin`, go to `target`, which is at `place`; with `signed` the number of the
    sender is added as a last column, so that rows with several senders go when the last one takes them back.

    Exports are released in the order of their `level`. Those in a `cycle` feed, in the end, their own source: their
    level is that of the rows which go, and those which come are released one level above.
    """

    source: str
    target: str
    origin: Placement
    place: Placement
    signed: bool = False
    level: int = 0
    cycle: int | None = None

    @property
    def levels(self) -> tuple[int, int]:
        """Return the levels of rows that go, and of those that come."""
        return self.level, self.level + (self.cycle is not None)


@dataclass(frozen=True)
class Cycle:
    """Relations that feed each other through exports: `level` of these, the relations, and what they read besides."""

    level: int
    relations: frozenset[str]
    reads: Mapping[str, bool]
    """A relation read -> whether it is read negatively, too."""
    rules: frozenset[object]


@dataclass(frozen=True)
class ClusterPlan:
    """`program` is what the first partition runs, `others` the same without the rules that are evaluated there only.
    `homes` says where the rows of each relation of the user's program are, `views` under which name, `facts` where
    the asserted facts of each are; `nodes` says in which way each hyper-node is computed."""

    program: CoreProgram
    others: CoreProgram
    exports: tuple[Export, ...]
    cycles: tuple[Cycle, ...]
    homes: Mapping[str, Placement]
    views: Mapping[str, str]
    facts: Mapping[str, Placement]
    dictionary: bool
    """True if rules look into symbols or records, so that every partition needs them."""
    nodes: tuple[tuple[tuple[str, ...], str], ...]
    skewed_keys: tuple[int, ...] = ()
    skewed_columns: frozenset[tuple[str, int]] = frozenset()
    """Relations and columns in which skewed keys are known or presumed."""
    skew: int = 0
    """The rows that a word has at least to be a skewed key."""

    def routes(self) -> dict[Export, ExportRoute]:
        """Return for each export what another plan must have as well for the export to go on there where it is."""
        relations = self.program.relations
        return {
            each: (
                each.source,
                each.target,
                each.origin,
                each.place,
                len(relations[each.target].columns),
                self.skewed_keys if isinstance(each.place, (Spread, Follow)) else (),
            )
            for each in self.exports
        }


def moved(before: ClusterPlan, plan: ClusterPlan) -> frozenset[str]:
    """Return the relations of which rows live elsewhere than before, those aside that have been everywhere under this
    name."""
    return frozenset(
        name
        for name, view in before.views.items()
        if name in plan.views and (view != plan.views[name] or before.homes[name] not in ("all", plan.homes[name]))
    )


def home_name(relation: str, place: Placement) -> str:
    """Return the name of a derived relation where it is at home."""
    return f"{relation}@home.{place}"


def copy_name(relation: str, place: Placement) -> str:
    """Return the name of the copy of a relation at a place."""
    return f"{relation}@{place}"


def relation_of(name: str) -> str:
    """Return the user's relation that a copy is of."""
    return name.partition("@")[0]


def is_shown(relation: str) -> bool:
    """Return True for a relation of the user's program, False for one that rewrites of its rules have added."""
    return not relation.startswith("#")


def facts_name(relation: str) -> str:
    """Return the name of the asserted facts of a relation."""
    return f"{relation}@facts"
