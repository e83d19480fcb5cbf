"""Explanations behind a server: the objects that its database gives, which the client checks by itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tests.constructs import CONSTRUCTS, Construct
from tests.explain.test_checking import MORE, database, proofs_of
from tests.serving import running
from tests.suite import loaded
from tidelog.client.answers import RemoteEnumeration
from tidelog.client.database import RemoteDatabase
from tidelog.explain.proof import Proof
from tidelog.language.inlining import INLINE
from tidelog.workbench.application import application
from tidelog.workbench.service import Service

GRAPH = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
.decl pair(x: number, y: number)
base: path(x, y) :- edge(x, y).
step: path(x, z) :- path(x, y), edge(y, z).
.decl two(x: number, y: number)
.decl far(x: number, y: number)
by_two: two(x, z) :- edge(x, y), edge(y, z).
near: far(x, y) :- two(x, y).
on: far(x, z) :- far(x, y), two(y, z), x < y.
"""


@contextmanager
def behind_a_server(db: tidelog.Database) -> Iterator[RemoteDatabase]:
    with running(application(Service(db))) as address, RemoteDatabase(address) as remote:
        yield remote


@pytest.fixture
def db() -> tidelog.Database:
    return loaded(GRAPH, {"edge": [(1, 2), (2, 3), (3, 4), (1, 3)]})


@pytest.mark.parametrize("construct", [*CONSTRUCTS, *MORE], ids=lambda construct: construct.name)
def test_explanations_are_those_of_the_database(construct: Construct) -> None:
    db = database(construct)
    calls_python = bool(db.program.functors)
    with behind_a_server(db) as remote:
        for proof in proofs_of(db):
            goal = proof.goal.relation, proof.goal.values
            found = remote.explain(*goal)
            assert (found, str(found), repr(found)) == (proof, str(proof), repr(proof))
            if not calls_python:  # The client does not have these functions.
                assert [each.text for each in found.check().granted] == [each.text for each in proof.check().granted]
                assert not found.check(remote).granted
            blamed, expected = remote.blame(*goal), db.blame(*goal)
            assert (blamed, str(blamed)) == (expected, str(expected))
            ends = [islice(each.ways_to_remove(*goal, rules=True), 2) for each in (remote, db)]
            assert list(ends[0]) == list(ends[1])
        for name, row in absent_from(db):
            missing, expected_absence = remote.why_not(name, row), db.why_not(name, row)
            assert (missing, str(missing)) == (expected_absence, str(expected_absence))


def absent_from(db: tidelog.Database) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield some tuples that relations do not have, with values of theirs."""
    for name, relation in db.program.relations.items():
        if INLINE not in relation.qualifiers and relation.columns:
            rows = sorted(db[name], key=repr)
            mixed = ((*one[:-1], other[-1]) for one in rows for other in rows)
            yield from islice(((name, row) for row in mixed if row not in db[name]), 2)


def test_all_proofs_come_a_number_at_a_time(db: tidelog.Database) -> None:
    db.insert("edge", [(1, middle) for middle in range(10, 40)])
    db.insert("edge", [(middle, 4) for middle in range(10, 40)])
    db.commit()
    with behind_a_server(db) as remote:
        found = remote.explain("two", (1, 4), all=True)
        assert repr(found) == "<RemoteEnumeration: 0 so far>"
        proofs = list(found)
        assert proofs == list(db.explain("two", (1, 4), all=True))
        assert (len(proofs), found.count, found.is_partial) == (31, 31, False)
        again = remote.explain("two", (1, 4), all=True)
        next(again)
        db.insert("edge", [(7, 8)])
        db.commit()
        with pytest.raises(tidelog.UsageError, match="E0671"):
            list(again)


def test_a_limit_of_the_server_leaves_a_part(db: tidelog.Database) -> None:
    db.insert("edge", [(one, other) for one in range(10, 30) for other in range(10, 30) if one < other])
    db.commit()
    db.options(timeout=0.2)
    with behind_a_server(db) as remote:
        found = remote.explain("far", (10, 29), all=True)
        seen = 0
        for _ in found:
            seen += 1
        assert found.is_partial
        assert seen == found.count
        assert repr(found).endswith("a limit has ended it>")


@pytest.mark.parametrize("later", [0, 3, 9, 10, 12])
def test_a_limit_may_end_a_longer_answer_sooner(later: int) -> None:
    first = {"epoch": 1, "more": True, "partial": False}, list(range(10))
    again = {"epoch": 1, "more": True, "partial": True}, list(range(later))
    found = RemoteEnumeration({10: first, 40: again}.__getitem__)
    assert list(found) == list(range(max(10, later)))
    assert found.is_partial


def test_ways_are_those_of_the_database(db: tidelog.Database) -> None:
    with behind_a_server(db) as remote:
        assert list(remote.ways_to_remove("path", (1, 4))) == list(db.ways_to_remove("path", (1, 4)))
        by_rules = list(remote.ways_to_remove("path", (1, 4), rules=True))
        assert by_rules == list(db.ways_to_remove("path", (1, 4), rules=True))
        assert by_rules[0].rules == ("base",)
        assert list(remote.ways_to_derive("path", (4, 9))) == list(db.ways_to_derive("path", (4, 9)))
        assert next(remote.ways_to_derive("path", (4, 9))) == (("edge", (4, 9)),)


def test_a_forged_proof_is_refused_here(db: tidelog.Database) -> None:
    with behind_a_server(db) as remote:
        proof = remote.explain("path", (1, 4))
        forged = Proof((*proof.steps[:-1], replace(proof.goal, values=(1, 9))))
        with pytest.raises(tidelog.ProofRejected):
            forged.check()
        db.delete("edge", [(3, 4)])
        db.commit()
        with pytest.raises(tidelog.ProofRejected):
            proof.check(remote)


def test_explanations_follow_the_rules(db: tidelog.Database, tmp_path: Path) -> None:
    program = tmp_path / "more.dl"
    program.write_text("\nmore: pair(y, x) :-\n    edge(x, y).\n")
    with behind_a_server(db) as remote:
        remote.explain("path", (1, 2))
        db.load(program)
        db.commit()
        proof = remote.explain("pair", (2, 1))
        assert f"[more at {program}:2:1]" in str(proof)
        assert set(remote.program.relations) == {"edge", "path", "pair", "two", "far"}
        absence = remote.why_not("pair", (9, 9), depth=0)
        assert absence == db.why_not("pair", (9, 9), depth=0)
        proof.check(remote)
        assert "edge(1, 2)" in proof.to_html()
        assert proof.export("lean") == db.explain("pair", (2, 1)).export("lean")


def test_all_members_of_an_aggregate_come_on_request(db: tidelog.Database) -> None:
    db.load(".decl n(c: number)\ncounted: n(c) :- c = count : { path(_, _) }.")
    db.commit()
    with behind_a_server(db) as remote:
        (row,) = db["n"]
        for members in (1, 3, None):
            found = remote.explain("n", row, members=members)
            assert found == db.explain("n", row, members=members)
            assert len(found.goal.conditions[0].first) == (members or row[0])
