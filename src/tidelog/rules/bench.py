"""The state that the rewrites of one rule share.

Names made here start with "#" and are built from the name of the user's rule, so that a rule keeps its auxiliary
relations when other rules change; those of shared relations describe their contents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from tidelog.language.syntax import Column, Kind, RecordType, RelationType, Rule, Variable
from tidelog.rules.core import AggregateRule, RelationInfo


@dataclass
class Bench:
    """The state of one user's rule while it is rewritten. `recursive` names the relations that depend on a head of the
    rule and on which a head depends.

    The rewrites leave their results here, besides the rules that they return: `pending` rules, which go through all
    rewrites themselves, `aggregates`, and the `auxiliary` relations of both. `shared` are auxiliary relations that
    belong to no rule alone; all benches of a program have the same. `nodes` are the columns (relation, position) whose
    values are the nodes of a type. `bounded` returns the columns of recursive relations that relations of values have.
    """

    origin: str
    relations: Mapping[str, RelationType]
    records: Mapping[str, RecordType]
    recursive: frozenset[str] = frozenset()
    pending: list[Rule] = field(default_factory=list)
    aggregates: list[AggregateRule] = field(default_factory=list)
    auxiliary: dict[str, RelationInfo] = field(default_factory=dict)
    kinds: dict[str, Kind] = field(default_factory=dict)
    shared: dict[str, RelationInfo] = field(default_factory=dict)
    nodes: Mapping[str, Iterable[tuple[str, int]]] = field(default_factory=dict)
    bounded: Callable[[], Mapping[str, tuple[int, ...]]] = dict
    _numbers: Counter[str] = field(default_factory=Counter)

    def number(self, stem: str) -> int:
        """Return the next number, from 1, of the things called `stem`."""
        self._numbers[stem] += 1
        return self._numbers[stem]

    def variable(self, stem: str, kind: Kind) -> Variable:
        """Return a variable that occurs nowhere yet."""
        name = f"#{stem}{self.number('variable ' + stem)}"
        self.kinds[name] = kind
        return Variable(name)

    def relation(self, name: str, columns: Iterable[tuple[str, Kind]]) -> str:
        """Declare the auxiliary relation `name` with these names and kinds of columns."""
        self.auxiliary[name] = _info(name, columns)
        return name

    def share(self, name: str, columns: Iterable[tuple[str, Kind]]) -> None:
        """Declare an auxiliary relation for all rules of the program."""
        self.shared[name] = _info(name, columns)

    def columns(self, relation: str) -> tuple[Column, ...]:
        """Return the columns of a relation, auxiliary or not."""
        info = self.auxiliary.get(relation) or self.shared.get(relation)
        return info.columns if info else self.relations[relation].columns

    def kind(self, name: str, rule: Rule) -> Kind:
        """Return the kind of a variable of `rule`."""
        return self.kinds[name] if name in self.kinds else rule.kinds[name]


def _info(name: str, columns: Iterable[tuple[str, Kind]]) -> RelationInfo:
    return RelationInfo(name, tuple(Column(column, kind, kind) for column, kind in columns), auxiliary=True)
