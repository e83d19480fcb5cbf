"""`tidelog demo edge`: a wind farm finds out why a turbine reads an odd temperature."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import tidelog
from tidelog.cli.entry import main
from tidelog.demo.edge import documents, story
from tidelog.demo.edge.documents import CONTROL, FARM
from tidelog.demo.edge.networks import PROGRAM, Processes, Simulated, Traffic
from tidelog.demo.edge.story import RELATIONS, RULES, Farm, Screen, TurbineView, figures, tell, turbine_views

TURBINES = [f"{FARM}t{number}" for number in range(1, 5)]


def tuples(node: str, text: str) -> set[tuple[str, tuple[object, ...]]]:
    """The facts of a document, with names without their prefix."""
    short = documents.short
    return {
        (name, tuple(short(value) if isinstance(value, str) else value for value in row))
        for name, row in documents.facts(node, text)
    }


# --- documents -------------------------------------------------------------------------------------------------------


def test_the_document_of_a_turbine() -> None:
    assert tuples(TURBINES[0], documents.turbine_document(TURBINES[0], -3)) == {
        ("reportsTo", ("t1", "control")),
        ("hasAirTemperatureMeasurement", ("t1", -3)),
    }


def test_the_document_of_the_control_room() -> None:
    rows = documents.turbines(2, 2)
    assert rows == [TURBINES[:2], TURBINES[2:]]
    assert tuples(CONTROL, documents.control_document(rows)) == {
        ("map", ("control", "t1", "t2")),
        ("map", ("control", "t3", "t4")),
        *(("inRow", ("control", f"t{number}", f"row{1 + number // 3}")) for number in range(1, 5)),
    }


# --- what the farm finds out -----------------------------------------------------------------------------------------


def examined(*temperatures: int) -> Mapping[str, TurbineView]:
    """Return the knowledge of the first row with the six rules, when its turbines read these temperatures."""
    rows = documents.turbines(1, len(temperatures))
    farm = Farm(Simulated(), rows, Screen(live=False))
    farm.replace_documents({CONTROL: documents.control_document(rows)})
    for turbine, temperature in zip(rows[0], temperatures, strict=True):
        farm.report_temperature(temperature, turbine)
    farm.network.changes.rules.add(RULES.read_text("utf-8"))
    farm.network.changes.insert("examined", [(CONTROL, story.ROW)])
    farm.network.rest(lambda _: None)
    farm.look()
    return farm.state


def test_a_broken_sensor() -> None:
    state = examined(20, 41, 22, 21)
    assert state[TURBINES[1]] == TurbineView(41, 3, 3, 21.0, 41, "sensor")
    assert state[TURBINES[0]] == TurbineView(20, 3, 3, 22.0, None, None)  # of 41, 22, 21


def test_a_cold_sensor_is_broken_as_well() -> None:
    assert examined(20, 20, 20, -9)[TURBINES[3]] == TurbineView(-9, 3, 3, 20.0, -9, "sensor")


def test_warm_weather() -> None:
    state = examined(36, 37, 36, 37)
    assert {each.verdict for each in state.values()} == {"weather"}


def test_two_neighbours_are_too_few_to_tell() -> None:
    assert examined(20, 41, 20)[TURBINES[1]] == TurbineView(41, 2, 2, 20.0, 41, None)


def test_one_database_with_the_same_rules_agrees(tmp_path: Path) -> None:
    """The rules of all nodes in one database, where the marks of locations mean nothing."""
    database = tidelog.connect()
    database.load(f"{PROGRAM.read_text('utf-8')}\n{RULES.read_text('utf-8')}")
    rows = documents.turbines(2, 4)
    found = {CONTROL: documents.control_document(rows)}
    found |= {x: documents.turbine_document(x, 41 if x == TURBINES[2] else 20) for row in rows for x in row}
    for node, text in found.items():
        for relation, row in documents.facts(node, text):
            database.insert(relation, [row])
    database.insert("examined", [(CONTROL, story.ROW)])
    database.commit()
    assert set(database["verdict"]) == {(CONTROL, TURBINES[2], "sensor")}
    state = turbine_views(TURBINES, {name: set(database[name]) for name in RELATIONS})
    assert state == examined(20, 20, 41, 20)


# --- the story -------------------------------------------------------------------------------------------------------

VERDICTS = [
    {"t3": None},
    {"t3": "sensor"},
    {},
    {f"t{number}": "weather" for number in range(1, 6)},
    {f"t{number}": None for number in range(1, 6)},
]
"""What the control room thinks of the turbines with an alarm, from the odd reading on, as long as it changes."""


def alarms(farm: Farm) -> list[dict[str, str | None]]:
    """Return the control room's alarms after each step."""
    return [
        {documents.short(x): each.verdict for x, each in step.state.items() if each.alarm is not None}
        for step in farm.steps
    ]


def test_the_story_in_one_process(capsys: pytest.CaptureFixture[str]) -> None:
    network = Simulated(seed=5)
    farm = Farm(network, documents.turbines(2, 5), Screen(live=False))
    tell(farm)
    assert alarms(farm) == [{}, VERDICTS[0], *VERDICTS]
    derived = ("hasNeighbour", "measurementsNearby", "medianNearby", "moreThan3Neighbours", "sensorAnomaly", "verdict")
    assert {name: network.changes[name] for name in derived} == {name: set() for name in derived}
    assert [step.sent.rules > 0 for step in farm.steps] == [False, False, False, True, False, False, True]
    assert farm.steps[1].sent.messages == 2  # the alarm and its receipt
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "t3            41°           4        4   20.5°  alarm, 41°, cause: sensor" in shown
    assert "to the verdict, sensor:" in shown
    assert all(step.cost in shown for step in farm.steps)
    assert max(map(len, shown.splitlines())) <= 80


def test_the_same_seed_tells_the_same_story() -> None:
    def sent() -> list[Traffic]:
        farm = Farm(Simulated(seed=3), documents.turbines(1, 5), Screen(live=False))
        tell(farm)
        assert len(figures(farm.steps)) == 8
        return [step.sent for step in farm.steps]

    assert sent() == sent()


def test_a_terminal_shows_the_table_all_the_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert story.run(rows=1, simulated=True, live=True) == 0
    shown = capsys.readouterr().out
    assert shown.count("\x1b[7A\x1b[J") > 5  # the step, the head and five turbines, drawn again
    assert "The control room sends six rules … " in shown
    assert shown.rstrip().splitlines()[-1].startswith("From the odd reading of t3 to the verdict, sensor:")


# --- processes -------------------------------------------------------------------------------------------------------


@pytest.mark.deep
def test_the_story_with_processes() -> None:
    rows = documents.turbines(1, 5)
    with Processes([CONTROL, *rows[0]]) as network:
        farm = Farm(network, rows, Screen(live=False))
        tell(farm)
        assert alarms(farm) == [{}, VERDICTS[0], *VERDICTS]
        assert all(step.sent.messages >= 0 for step in farm.steps)
        assert farm.steps[3].sent.rules > 0


def test_a_small_terminal_shows_as_much_as_it_has_room_for(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("LINES", "4")
    screen = Screen(live=True)
    screen.draw([f"{number} {'x' * 40}" for number in range(9)])
    assert capsys.readouterr().out.splitlines() == [f"{number} {'x' * 17}" for number in range(3)]
    screen.say("end")
    assert capsys.readouterr().out == "\x1b[3A\x1b[Jend\n"


@pytest.mark.deep
def test_nodes_end_with_a_demo_that_is_killed(tmp_path: Path) -> None:
    """Nobody is left to tidy up, so there must be nothing to tidy: no process, no file, no secret."""
    demo = subprocess.Popen(
        [sys.executable, "-c", "from tidelog.demo.edge import run; run(rows=1)"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert demo.stdout is not None
    assert "turbines and a control room" in demo.stdout.readline()
    nodes = [os.pidfd_open(node) for node in children(demo.pid)]
    assert len(nodes) == 6
    assert list(tmp_path.iterdir()) == []
    demo.kill()
    assert "Traceback" not in demo.communicate(timeout=300)[1]
    for node in nodes:
        assert select.select([node], [], [], 300)[0] == [node]  # it has ended
        os.close(node)
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_leaves_no_process_behind(tmp_path: Path) -> None:
    """The whole group gets the signal, as from a terminal; the nodes end with their standard input."""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "tidelog", "demo", "edge"]
    demo = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )
    assert demo.stdout is not None
    assert "turbines and a control room" in demo.stdout.readline()
    nodes = children(demo.pid)
    assert len(nodes) == 11
    os.killpg(demo.pid, signal.SIGINT)
    _, error = demo.communicate(timeout=300)
    assert (demo.returncode, error) == (130, "tidelog: interrupted\n")
    assert [node for node in nodes if Path(f"/proc/{node}").exists()] == []
    assert list(tmp_path.iterdir()) == []


def children(process: int) -> list[int]:
    """The processes that a process has started."""
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


# --- what is missing -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("missing", "arguments", "hint"),
    [
        (["zmq"], [], "pip install '.[network]'"),
        (["zmq", "pyoxigraph"], [], "pip install '.[network,rdf]'"),
        (["zmq", "pyoxigraph"], ["--simulated"], "pip install '.[rdf]'"),
    ],
)
def test_packages_that_are_missing(
    missing: list[str],
    arguments: list[str],
    hint: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in missing:
        monkeypatch.setitem(sys.modules, name, None)
    assert main(["demo", "edge", *arguments]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "E0790" in captured.err
    assert hint in captured.err


def test_spark_is_not_needed() -> None:
    code = "import sys, tidelog.demo.edge; print(*{'pyspark', 'numba', 'llvmlite', 'pandas'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"
