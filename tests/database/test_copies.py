"""Relations and changes are values that can be copied; what is bound to its process says so."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tidelog.network import SimulatedNetwork
from tidelog.rdf import connect as connect_rdf

PROGRAM = """
.type Point = [x: number, next: Point, label: symbol]
.decl all(n: number, u: unsigned, f: float, s: symbol, p: Point)
.decl holds()
.decl none(p: Point)
all(-1, 18446744073709551615, 0.5, "ä", [1, [2, nil, "in"], "out"]).
all(2, 3, -2.25, "", nil).
holds() :- all(2, _, _, _, _).
"""
ROWS = {(-1, 2**64 - 1, 0.5, "ä", (1, (2, None, "in"), "out")), (2, 3, -2.25, "", None)}
WAYS = [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))]


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_of_a_relation_or_a_change_stands_alone(way: Callable[[Any], Any]) -> None:
    db = tidelog.connect()
    db.load(PROGRAM)
    change = db.commit()
    relations = [way(relation) for relation in (db["all"], db.query("all(N, U, F, S, P)"), change["all"].inserted)]
    holds, changed = way(db["holds"]), way(change)
    db.delete("all", db["all"])
    db.commit()
    db.close()
    for relation in relations:
        assert set(relation) == ROWS
        assert relation.columns[4].type == "Point"
        assert (2, 3, -2.25, "", None) in relation
        assert relation.to_arrow().num_rows == 2
    assert set(holds) == {()}
    assert list(changed) == list(change)
    assert set(changed["all"].inserted) == ROWS
    assert set(changed["none"].inserted) == set()
    assert changed.report.bootstraps == change.report.bootstraps
    with pytest.raises(tidelog.UsageError, match="there is no relation al\n"):
        changed["al"]


@pytest.mark.parametrize("way", WAYS)
def test_what_cannot_be_copied_says_so(way: Callable[[Any], Any], tmp_path: Path) -> None:
    db = tidelog.connect()
    node = tidelog.Node("a", ".decl link(@x: symbol, y: symbol)", SimulatedNetwork(1).transport("a"))
    for each in (
        db,
        db.snapshot(),
        tidelog.connect(tmp_path),
        db.transaction(),
        db.rules,
        connect_rdf(rules=None),
        node,
    ):
        with pytest.raises(tidelog.UsageError) as caught:
            way(each)
        assert caught.value.code == "E0629"
        assert type(each).__name__ in str(caught.value)
        assert caught.value.problems[0].hint
    if way is not copy.copy:  # which keeps what a list holds
        with pytest.raises(tidelog.UsageError):
            way([{"kept": db}])
