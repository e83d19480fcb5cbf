"""The wind farm says why: a verdict of the control room, across ten processes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tidelog.demo.edge import documents, story
from tidelog.demo.edge.documents import CONTROL, FARM
from tidelog.demo.edge.networks import Processes
from tidelog.demo.edge.story import RULES, Farm, Screen
from tidelog.explain.proof import Proof
from tidelog.network.local import LocalNetwork

ROWS = documents.turbines(2, 5)
ROWS[1].pop()  # nine turbines and the control room
BROKEN = ROWS[0][2]


@pytest.fixture(scope="module")
def network() -> Iterator[LocalNetwork]:
    """Ten processes that have come to rest, after t3 has read 41 degrees and the six rules have travelled."""
    names = [CONTROL, *(turbine for row in ROWS for turbine in row)]
    assert len(names) == 10
    with Processes(names) as processes:
        farm = Farm(processes, ROWS, Screen(live=False))
        farm.replace_documents({CONTROL: documents.control_document(ROWS)})
        for row in ROWS:
            for turbine in row:
                farm.report_temperature(41 if turbine == BROKEN else 20, turbine)
        processes.changes.insert("examined", [(CONTROL, story.ROW)])
        processes.changes.rules.add(RULES.read_text("utf-8"))
        processes.rest(lambda _: None)
        assert isinstance(processes.changes, LocalNetwork)
        yield processes.changes


def shown(proof: Proof) -> list[str]:
    return [line.replace(FARM, "") for line in str(proof).splitlines()]


def test_a_verdict_names_who_says_what(network: LocalNetwork) -> None:
    proof = network.explain("verdict", (CONTROL, BROKEN, "sensor"))
    lines = shown(proof)
    assert lines[:3] == [
        'verdict("control", "t3", "sensor")   [sensor at <text>:24:1, node t3]',
        '├─ sensorAnomaly("t3")   [r6 version 1, node t3]',
        '│  ├─ medianNearby("t3", 20)   [r4 version 1, node t3]',
    ]
    assert '│  ├─ hasAirTemperatureMeasurement("t3", 41)   [fact, node t3]' in lines
    said = {(step.relation, documents.short(step.node or "")) for step in proof.steps}
    assert said >= {("examined", "control"), ("map", "control"), ("hasNeighbour", "t1"), ("reportsTo", "t3")}
    (median,) = (each for step in proof.steps for each in step.conditions if "median" in each.text)
    assert (median.members, documents.short(median.node or "")) == (4, "t3")
    assert sorted(each.replace(FARM, "") for each in median.first) == [
        f'hasNeighbour("t3", "{x}"), hasAirTemperatureMeasurement("{x}", 20) (node {x})' for x in ("t1", "t2", "t4")
    ]
    assert not proof.check(network).granted


def test_every_derived_tuple_has_a_proof_wherever_it_is_asked_for(network: LocalNetwork) -> None:
    derived = ("alarm", "hasNeighbour", "measurementsNearby", "moreThan3Neighbours", "sensorAnomaly", "odd")
    for i, (name, rows) in enumerate(network.views(derived).items()):
        assert rows
        for row in sorted(rows)[:3]:
            proof = network.explain(name, row, at=network.names[i])
            assert not proof.is_partial
            assert {each.sort for each in proof.check().granted} <= {"aggregate"}


def test_a_turbine_that_is_away_is_an_open_leaf(network: LocalNetwork) -> None:
    """The last test of the module, because it ends a process."""
    away = ROWS[0][0]
    process = network._processes[away]
    process.kill()
    process.wait()
    proof = network.explain("verdict", (CONTROL, BROKEN, "sensor"), seconds=1.0)
    leaves = [step for step in proof.steps if step.sort == "open"]
    assert proof.is_partial
    assert {step.node for step in leaves} == {away}
    assert {step.reason.replace(FARM, "") for step in leaves} == {"not explained: node t1 has not answered"}
    proof.check()
