"""The knowledge of each turbine as a row, from the nodes' tuples at a moment, and the screen that shows it."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tidelog.demo.edge.documents import short
from tidelog.demo.edge.networks import Views

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


def known(turbines: list[str], views: Views) -> dict[str, TurbineView]:
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
