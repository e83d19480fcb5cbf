"""Certificates that are changed on purpose, and an obvious judge of them.

Relations are Python dicts here: a fact or a view is a set of tuples of values, a view maps them to births.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy

import tidelog
from tests.generate import Row
from tests.recount import derived_by
from tidelog.certificate import Certificate, certificate_of, check, load
from tidelog.errors import CertificateRejected
from tidelog.io import encode
from tidelog.io.relation import Relation, WordRows
from tidelog.language.syntax import RelationType
from tidelog.rules.core import AggregateRule, CoreProgram, NodeSelection


@dataclass(frozen=True)
class Altered:
    """A certificate as plain sets, to be taken apart."""

    original: Certificate
    program: CoreProgram
    facts: Mapping[str, frozenset[Row]]
    views: Mapping[str, Mapping[Row, int]]
    twice: frozenset[str] = field(default=frozenset())
    """Relations whose views list every tuple twice."""

    def certificate(self) -> Certificate:
        def words(name: str, rows: Iterable[Row]) -> Any:
            relation = RelationType(name, self.program.relations[name].columns)
            return encode(list(rows), relation, self.original.dictionary)

        def view(name: str) -> Any:
            rows, births = list(self.views[name]), list(self.views[name].values())
            again = 2 if name in self.twice else 1
            return words(name, rows * again), numpy.array(births * again, numpy.int64)

        return replace(
            self.original,
            program=self.program,
            facts=lambda name: words(name, self.facts[name]),
            view=view,
        )

    def without(self, name: str, row: Row) -> Altered:
        """Less a tuple of a view."""
        return replace(self, views={**self.views, name: {r: b for r, b in self.views[name].items() if r != row}})

    def with_row(self, name: str, row: Row, birth: int = 1) -> Altered:
        """With a further tuple in a view."""
        return replace(self, views={**self.views, name: {**self.views[name], row: birth}})

    def with_facts(self, name: str, rows: Iterable[Row]) -> Altered:
        """With other facts of a relation."""
        return replace(self, facts={**self.facts, name: frozenset(rows)})

    def with_births(self, name: str, births: Iterable[int]) -> Altered:
        """With other births of a view, in the order of its tuples."""
        return replace(self, views={**self.views, name: dict(zip(self.views[name], births, strict=True))})


def altered(db: tidelog.Database) -> Altered:
    """The certificate of a database, still right."""
    certificate = certificate_of(db.engine, db.workspace.committed.checked)

    def rows(name: str, words: Any) -> list[Row]:
        return list(
            Relation(name, WordRows(certificate.program.relations[name].columns, certificate.dictionary, words))
        )

    facts, views = {}, {}
    for name in certificate.program.relations:
        words, births = certificate.view(name)
        facts[name] = frozenset(rows(name, certificate.facts(name)))
        views[name] = dict(zip(rows(name, words), births.tolist(), strict=True))
    return Altered(certificate, certificate.program, facts, views)


def verdict(changed: Altered) -> set[str]:
    """The codes with which the checker rejects a certificate, empty when it accepts."""
    try:
        check(changed.certificate())
    except CertificateRejected as error:
        return {problem.code for problem in error.problems}
    return set()


def judged(changed: Altered) -> set[str]:
    """The same by enumeration of all derivations in Python."""
    strata = changed.certificate().strata
    tables = {name: {row: (birth, 0) for row, birth in view.items()} for name, view in changed.views.items()}
    declared = {name: rows for name, rows in changed.facts.items() if name in changed.original.declared_relations}
    facts = {changed.program.candidates.get(name, name): rows for name, rows in declared.items()}
    supported = {name: set(facts.get(name, ())) for name in changed.views}
    selects = {each.shown: each for node in changed.program.nodes for each in node.selects}

    def missing(name: str, row: Row) -> bool:
        return row not in tables[name] and not (name in selects and hidden(selects[name], row, tables[name]))

    codes = {"E0801" for name, rows in facts.items() if any(missing(name, row) for row in rows)}
    codes |= {
        "E0805"
        for name, each in selects.items()
        if any(hidden(each, row, [x for x in tables[name] if x != row]) for row in tables[name])
    }
    for node in changed.program.nodes:
        for rule in node.rules:
            head = rule.head if isinstance(rule, AggregateRule) else rule.head.relation
            internal = frozenset(name for name in strata if strata[name] == strata[head])
            for row, youngest in derived_by(rule, internal, tables, {}):
                if missing(head, row):
                    codes.add("E0802")
                elif row in tables[head] and youngest < tables[head][row][0]:
                    supported[head].add(row)
    if any(view.keys() - supported[name] for name, view in changed.views.items()):
        codes.add("E0803")
    return codes


def hidden(selection: NodeSelection, row: Row, rows: Collection[Row]) -> bool:
    """Return True if some of the rows has the key of `row` and is better, or has one of its keys by a choice."""
    if selection.domains:
        return any(all(each[i] == row[i] for i in domain) for domain in selection.domains for each in rows)

    def costs(each: Row) -> list[Any]:
        return [each[column] if op == "min" else -each[column] for column, op, _ in selection.orders]

    def better(one: list[Any], other: list[Any]) -> bool:
        return one != other and all(map(operator.le, one, other)) if selection.front else one < other

    same = (each for each in rows if all(each[key] == row[key] for key in selection.keys))
    return any(better(costs(each), costs(row)) for each in same)


def absent_row(sound: Altered, name: str, rng: random.Random) -> Row | None:
    """Return a tuple that the view of a relation lacks, made of values that occur, if one is found."""
    columns = sound.program.relations[name].columns
    values: dict[str, list[Any]] = {column.kind: [] for column in columns}
    for other, view in sound.views.items():
        for row in view:
            for column, value in zip(sound.program.relations[other].columns, row, strict=True):
                values.get(column.kind, []).append(value)
    defaults = {"number": 5, "unsigned": 5, "float": 0.5, "symbol": "new"}
    for _ in range(10):
        row = tuple(rng.choice([*values[column.kind], defaults.get(column.kind)]) for column in columns)
        if row not in sound.views[name]:
            return row
    return None


def assert_saved_whole(db: tidelog.Database, folder: Path) -> None:
    """Assert that a saved certificate is accepted, and that what is read of it is what the database has."""
    db.save_certificate(folder)
    tidelog.check_certificate(folder)
    before, after = altered(db), load(folder)
    for name in before.views:
        rows, births = after.view(name)
        assert sorted(births.tolist()) == sorted(before.views[name].values())
        assert len(rows) == len(before.views[name])
    for name in after.declared_relations:
        assert len(after.facts(name)) == len(before.facts[name])
    assert after.strata == before.certificate().strata
