"""The wind farm from beginning to end: `run` is what `tidelog demo edge` calls.

A turbine reads 41 degrees where 20 are usual. Is its sensor broken, or is it that hot? Alone it cannot know. So the
control room tells the turbines of that row who stands beside whom, and sends six rules; the turbines ask each other,
and each compares its own reading with the median of the others. Then the sensor is replaced, a warm front
comes with the rules still there, and at last the rules are withdrawn.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from tidelog.demo.edge import documents
from tidelog.demo.edge.documents import CONTROL, FARM, short
from tidelog.demo.edge.networks import Network, Processes, Simulated, Traffic
from tidelog.demo.edge.view import HEAD, RELATIONS, Known, Screen, known
from tidelog.errors import Problem, SetupError

RULES = Path(__file__).with_name("rules.dl")
ROW = f"{FARM}row1"
PER_ROW = 5
USUAL, BROKEN, WARM = 20, 41, 36


def run(rows: int = 2, simulated: bool = False, live: bool = False) -> int:
    """Tells the story with `rows` rows of turbines, drawing the table all the time if `live`, and returns 0. SetupError
    (E0790) where a package is missing."""
    _check_packages(simulated)
    screen = Screen(live)
    turbines = documents.turbines(rows, PER_ROW)
    names = [CONTROL, *(turbine for row in turbines for turbine in row)]
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        network: Network = Simulated() if simulated else Processes(names, Path(folder))
        with network:
            where = "in this process" if simulated else f"as {len(names)} processes"
            screen.say(f"{len(names) - 1} turbines and a control room, {where}: {time.monotonic() - begin:.1f} s")
            screen.say(*(f"    {line}" for line in documents.turbine_document(turbines[0][2], BROKEN).splitlines()))
            tell(Farm(network, turbines, screen))
    return 0


def _check_packages(simulated: bool) -> None:
    wanted = {"pyoxigraph": "rdf"} if simulated else {"zmq": "network", "pyoxigraph": "rdf"}
    missing = [extra for module, extra in wanted.items() if find_spec(module) is None]
    if missing:
        message = f"the wind farm needs the {'extra' if len(missing) == 1 else 'extras'} {' and '.join(missing)}"
        raise SetupError(Problem("E0790", message, hint=f"pip install 'tidelog[{','.join(missing)}]'"))


@dataclass(frozen=True)
class Step:
    """What a step has cost."""

    title: str
    seconds: float
    sent: Traffic


@dataclass
class Farm:
    """A farm while the story is told. `documents` has what each node says at the moment, `steps` what happened;
    `heard` is when the control room had a first verdict of each turbine."""

    network: Network
    rows: list[list[str]]
    screen: Screen
    documents: dict[str, str] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    state: dict[str, Known] = field(default_factory=dict)
    heard: dict[str, float] = field(default_factory=dict)

    def put(self, documents_: Mapping[str, str]) -> None:
        """Nodes have new documents: what is no longer in them is retracted, what is new asserted."""
        for node, text in documents_.items():
            old = documents.facts(node, self.documents[node]) if node in self.documents else set()
            new = documents.facts(node, text)
            for change, rows in ((self.network.changes.delete, old - new), (self.network.changes.insert, new - old)):
                for relation in sorted({relation for relation, _ in rows}):
                    change(relation, sorted(row for name, row in rows if name == relation))
            self.documents[node] = text

    def read(self, temperature: int, *turbines: str) -> None:
        """Turbines read a temperature."""
        self.put({turbine: documents.turbine_document(turbine, temperature) for turbine in turbines})

    def look(self) -> None:
        """Who knows what at this moment."""
        state = known([turbine for row in self.rows for turbine in row], self.network.views(RELATIONS))
        for turbine, each in state.items():
            if each.verdict is not None:
                self.heard.setdefault(turbine, time.monotonic())
        self.screen.draw(state)
        self.state = state

    def settle(self, title: str, begin: float, before: Traffic) -> None:
        """Wait until everything has taken effect, and show what is different now."""
        old = self.state
        sent = self.network.rest(self.look) - before
        self.look()
        self.steps.append(Step(title, time.monotonic() - begin, sent))
        changed = [each.line(turbine) for turbine, each in self.state.items() if old.get(turbine) != each]
        self.screen.say("", title, *(f"    {line}" for line in ([HEAD, *changed] if changed else ["nothing new"])))


def tell(farm: Farm) -> None:
    """All of the story, and its figures."""
    changes, traffic, now = farm.network.changes, farm.network.traffic, time.monotonic
    row = farm.rows[0]
    turbine = row[2]

    begin, before = now(), traffic()
    farm.put({CONTROL: documents.control_document(farm.rows)})
    for number, each in enumerate(each for row in farm.rows for each in row):
        farm.read(USUAL + number % 3, each)
    farm.settle("An ordinary day", begin, before)

    alarmed = begin, before = now(), traffic()
    farm.read(BROKEN, turbine)
    farm.settle(f"{short(turbine)} reads {BROKEN}°", begin, before)

    begin, before = now(), traffic()
    changes.insert("examined", [(CONTROL, ROW)])
    farm.settle(f"The control room tells {short(ROW)} who stands beside whom", begin, before)

    begin, before = now(), traffic()
    changes.add_rules(RULES.read_text("utf-8"))
    farm.settle("The control room sends six rules", begin, before)
    verdict = farm.state[turbine].verdict

    begin, before = now(), traffic()
    farm.read(USUAL + 2, turbine)
    farm.settle("The sensor is replaced", begin, before)

    begin, before = now(), traffic()
    for number, each in enumerate(row):
        farm.read(WARM + number % 2, each)
    farm.settle(f"A warm front comes over {short(ROW)}", begin, before)

    begin, before = now(), traffic()
    for name in ("r6", "r5", "r4", "r3", "r2", "r1"):
        changes.remove_rule(name)
    changes.delete("examined", [(CONTROL, ROW)])
    farm.settle("The control room withdraws the rules", begin, before)

    farm.screen.say("", *figures(farm.steps))
    if verdict is not None:
        seconds = farm.heard[turbine] - alarmed[0]
        farm.screen.say("", f"From the odd reading of {short(turbine)} to the verdict, {verdict}: {seconds:.2f} s")


def figures(steps: list[Step]) -> list[str]:
    """A table of what each step has cost."""
    width = max(len(step.title) for step in steps)
    lines = [f"{'step':{width}}{'seconds':>10}{'tuples':>9}{'rules':>8}{'receipts':>10}{'messages':>10}{'bytes':>11}"]
    for step in steps:
        sent = step.sent
        lines.append(
            f"{step.title:{width}}{step.seconds:>10.2f}{sent.tuples:>9,}{sent.rules:>8,}{sent.receipts:>10,}"
            f"{sent.messages:>10,}{sent.bytes:>11,}"
        )
    return lines
