"""The wind farm from beginning to end: `run` is what `tidelog demo edge` calls.

A turbine reads 41 degrees where 20 are usual. Is its sensor broken, or is it that hot? Alone it cannot know. So the
control room sends the turbines of that row their neighbours and six rules. The turbines ask each other, and each
compares its own reading with the median of the others. Then the sensor is replaced, a warm front comes with the rules
still there, and at last the rules are removed.

A table shows the knowledge of each turbine as a row, from the nodes' tuples at a moment.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tidelog.demo.edge import documents
from tidelog.demo.edge.documents import CONTROL, FARM, short
from tidelog.demo.edge.networks import Network, Processes, Simulated, Traffic, Views
from tidelog.errors import Problem, SetupError, how_to_install, is_installed

RELATIONS = (
    "hasAirTemperatureMeasurement",
    "hasNeighbour",
    "measurementsNearby",
    "medianNearby",
    "sensorAnomaly",
    "alarm",
    "verdict",
)
HEAD = f"{'turbine':10}{'reads':>7}{'neighbours':>12}{'answers':>9}{'median':>8}  {'control room'}"

LEGEND = (
    "Shown is what each turbine knows: its reading, its neighbours, how many of them",
    "have answered, the median of their readings; and what the control room was told.",
)


@dataclass(frozen=True)
class TurbineView:
    """The knowledge of a turbine: its own reading, the numbers of its neighbours and of their answers, the median of
    these; and the verdict that the control room has heard."""

    reading: int | None
    neighbours: int
    answers: int | None
    median: float | None
    alarm: int | None
    verdict: str | None

    def line(self, turbine: str) -> str:
        """Return a row below HEAD."""
        heard = "" if self.alarm is None else f"alarm, {self.alarm}°"
        if self.verdict is not None:
            heard += f"{', ' if heard else ''}cause: {self.verdict}"
        reading = "-" if self.reading is None else f"{self.reading}°"
        answers = "-" if self.answers is None else str(self.answers)
        median = "-" if self.median is None else f"{self.median:.1f}°"
        return f"{short(turbine):10}{reading:>7}{self.neighbours:>12}{answers:>9}{median:>8}  {heard}".rstrip()


def turbine_views(turbines: list[str], views: Views) -> dict[str, TurbineView]:
    """Return the knowledge of each turbine by its name, from the views of RELATIONS."""
    own: dict[str, dict[str, Any]] = {
        relation: dict(views[relation])
        for relation in ("hasAirTemperatureMeasurement", "measurementsNearby", "medianNearby")
    }
    neighbours = Counter(x for x, _ in views["hasNeighbour"])
    alarms = {x: t for _, x, t in views["alarm"]}
    verdicts = {x: cause for _, x, cause in views["verdict"]}
    return {
        x: TurbineView(
            own["hasAirTemperatureMeasurement"].get(x),
            neighbours[x],
            own["measurementsNearby"].get(x),
            own["medianNearby"].get(x),
            alarms.get(x),
            verdicts.get(x),
        )
        for x in turbines
    }


class Screen:
    """Lines that stay, and on a terminal (`live`) a table below them that is drawn again and again."""

    def __init__(self, live: bool) -> None:
        self._live = live
        self._drawn = 0

    def say(self, *lines: str) -> None:
        """Print lines that stay."""
        self._erase()
        print("\n".join(lines), flush=True)

    def draw(self, lines: Sequence[str]) -> None:
        """Print lines in place of those drawn before, as many as the terminal has room for."""
        if self._live:
            columns, rows = shutil.get_terminal_size()
            self._erase()
            shown = [line[: columns - 1] for line in lines[: max(1, rows - 1)]]
            print("\n".join(shown), flush=True)
            self._drawn = len(shown)

    def _erase(self) -> None:
        if self._drawn:
            sys.stdout.write(f"\x1b[{self._drawn}A\x1b[J")
            self._drawn = 0


RULES = Path(__file__).with_name("rules.dl")
ROW = f"{FARM}row1"
PER_ROW = 5
USUAL, BROKEN, WARM = 20, 41, 36


def run(rows: int = 2, simulated: bool = False, live: bool = False) -> int:
    """Tell the story with `rows` rows of turbines, drawing the table all the time if `live`, and return 0. Raise
    SetupError (E0790) if a package is missing."""
    _check_packages(simulated)
    screen = Screen(live)
    turbines = documents.turbines(rows, PER_ROW)
    names = [CONTROL, *(turbine for row in turbines for turbine in row)]
    begin = time.monotonic()
    screen.draw([f"Starting {len(names)} nodes …"])
    network: Network = Simulated() if simulated else Processes(names)
    with network:
        where = "in this process" if simulated else f"as {len(names)} processes"
        screen.say(f"{len(names) - 1} turbines and a control room, {where}: {time.monotonic() - begin:.1f} s")
        screen.say("Each has a document in RDF, which is its facts:")
        screen.say(*(f"    {line}" for line in documents.turbine_document(turbines[0][2], BROKEN).splitlines()))
        screen.say(*LEGEND)
        tell(Farm(network, turbines, screen))
    return 0


def _check_packages(simulated: bool) -> None:
    wanted = {"pyoxigraph": "rdf"} if simulated else {"zmq": "network", "pyoxigraph": "rdf"}
    missing = [extra for module, extra in wanted.items() if not is_installed(module)]
    if missing:
        message = f"the wind farm needs the {'extra' if len(missing) == 1 else 'extras'} {' and '.join(missing)}"
        raise SetupError(Problem("E0790", message, hint=how_to_install(*missing)))


@dataclass(frozen=True)
class StoryStep:
    """A step of the story: its cost, and the knowledge of each turbine when everything had taken effect."""

    title: str
    seconds: float
    sent: Traffic
    state: Mapping[str, TurbineView]

    @property
    def cost(self) -> str:
        return f"{self.seconds:.2f} s, {self.sent.messages:,} messages, {self.sent.bytes:,} bytes"


@dataclass
class Farm:
    """A farm during the story. `documents` has each node's document at the moment, `steps` the steps so far; `heard` is
    when the control room had a first verdict of each turbine."""

    network: Network
    rows: list[list[str]]
    screen: Screen
    documents: dict[str, str] = field(default_factory=dict)
    steps: list[StoryStep] = field(default_factory=list)
    state: Mapping[str, TurbineView] = field(default_factory=dict)
    heard: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, title: str, about: str) -> Iterator[None]:
        """Make the changes of the block, wait until everything has taken effect, and show the differences."""
        begin, before, old = time.monotonic(), self.network.traffic(), self.state

        def so_far(traffic: Traffic) -> StoryStep:
            return StoryStep(title, time.monotonic() - begin, traffic - before, self.state)

        def look(traffic: Traffic) -> None:
            self.look()
            table = (each.line(turbine) for turbine, each in self.state.items())
            self.screen.draw([f"{title} … {so_far(traffic).cost}", HEAD, *table])

        self.screen.say("", title, f"    {about}")
        yield
        sent = self.network.rest(look)
        self.look()
        self.steps.append(so_far(sent))
        changed = [each.line(turbine) for turbine, each in self.state.items() if old.get(turbine) != each]
        table = [HEAD, *changed] if changed else ["nothing new"]
        self.screen.say(*(f"    {line}" for line in (*table, self.steps[-1].cost)))

    def replace_documents(self, documents_: Mapping[str, str]) -> None:
        """Give nodes new documents: retract facts that are no longer in them, assert new ones."""
        for node, text in documents_.items():
            old = documents.facts(node, self.documents[node]) if node in self.documents else set()
            new = documents.facts(node, text)
            for change, rows in ((self.network.changes.delete, old - new), (self.network.changes.insert, new - old)):
                for relation in sorted({relation for relation, _ in rows}):
                    change(relation, sorted(row for name, row in rows if name == relation))
            self.documents[node] = text

    def report_temperature(self, temperature: int, *turbines: str) -> None:
        """Let turbines read a temperature."""
        self.replace_documents({turbine: documents.turbine_document(turbine, temperature) for turbine in turbines})

    def look(self) -> None:
        """Return the knowledge of each turbine at this moment."""
        self.state = turbine_views([turbine for row in self.rows for turbine in row], self.network.views(RELATIONS))
        for turbine, each in self.state.items():
            if each.verdict is not None:
                self.heard.setdefault(turbine, time.monotonic())


def tell(farm: Farm) -> None:
    """Tell the whole story, and print its figures."""
    changes, row = farm.network.changes, farm.rows[0]
    turbine = row[2]
    with farm.step("An ordinary day", "Nobody asks anybody anything."):
        farm.replace_documents({CONTROL: documents.control_document(farm.rows)})
        for number, each in enumerate(each for row in farm.rows for each in row):
            farm.report_temperature(USUAL + number % 3, each)

    alarmed = time.monotonic()
    with farm.step(f"{short(turbine)} reads {BROKEN}°", "Its sensor, or the weather? Alone it cannot know."):
        farm.report_temperature(BROKEN, turbine)
    with farm.step(f"{short(ROW)} hears who is beside whom", "Each turbine is told of the next one in its row."):
        changes.insert("examined", [(CONTROL, ROW)])
    with farm.step(
        "The control room sends six rules",
        "By these, turbines find their whole row, and compare with its median.",
    ):
        changes.rules.add(RULES.read_text("utf-8"))
    verdict = farm.state[turbine].verdict

    with farm.step("The sensor is replaced", "Whoever asked for the reading hears of the new one; the verdict goes."):
        farm.report_temperature(USUAL + 2, turbine)
    with farm.step(
        f"A warm front comes over {short(ROW)}",
        "All readings are odd, and none is far from the others: the weather.",
    ):
        for number, each in enumerate(row):
            farm.report_temperature(WARM + number % 2, each)
    with farm.step("The rules are withdrawn", "What they derived goes with them. The alarms rest on none of them."):
        for name in ("r6", "r5", "r4", "r3", "r2", "r1"):
            changes.rules.remove(name)
        changes.delete("examined", [(CONTROL, ROW)])

    farm.screen.say("", *figures(farm.steps))
    if verdict is not None:
        seconds = farm.heard[turbine] - alarmed
        farm.screen.say("", f"From the odd reading of {short(turbine)} to the verdict, {verdict}: {seconds:.2f} s")


def figures(steps: list[StoryStep]) -> list[str]:
    """Return a table of the cost of each step, 80 characters wide."""
    lines = [f"{'step':32}{'seconds':>8}{'tuples':>7}{'rules':>6}{'receipts':>9}{'messages':>9}{'bytes':>9}"]
    for step in steps:
        sent = step.sent
        lines.append(
            f"{step.title:32}{step.seconds:>8.2f}{sent.tuples:>7,}{sent.rules:>6,}{sent.receipts:>9,}"
            f"{sent.messages:>9,}{sent.bytes:>9,}"
        )
    return lines
