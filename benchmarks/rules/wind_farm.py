"""Rule sets 1, 2 and 3 on generated wind farms: Figures 7 to 10 and Tables 2 and 3 of the ZodiacEdge paper.

Which rules Figures 7 and 8 change is named in the paper's text only for some; here every rule alone is changed as well.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks import zodiac
from benchmarks.rules.updates import Goal, Pair, State, Step

_RS1_DECLARATIONS = """
.decl hasNeighbour(x: number, y: number)
.decl hasAirTemperatureMeasurement(x: number, t: number)
.decl measurementsNearby(x: number, n: number)
.decl medianNearby(x: number, m: float)
.decl moreThan3Neighbours(x: number)
.decl sensorAnomaly(x: number)
"""
_RS1 = {
    "r1": "r1: hasNeighbour(x, y) :- hasNeighbour(y, x).",
    "r2": "r2: hasNeighbour(x, y) :- hasNeighbour(x, z), hasNeighbour(z, y), x != y.",
    "r3": "r3: measurementsNearby(x, n) :- hasNeighbour(x, _), "
    "n = count : { hasNeighbour(x, y), hasAirTemperatureMeasurement(y, _) }.",
    "r4": "r4: medianNearby(x, m) :- hasNeighbour(x, _), "
    "m = median t : { hasNeighbour(x, y), hasAirTemperatureMeasurement(y, t) }.",
    "r5": "r5: moreThan3Neighbours(x) :- measurementsNearby(x, n), n >= 3.",
    "r6": "r6: sensorAnomaly(x) :- medianNearby(x, m), moreThan3Neighbours(x), hasAirTemperatureMeasurement(x, t), "
    "(to_float(t) - m > 5.0; m - to_float(t) > 5.0).",
}
_HALF, _THIRD = Goal("ratio", 0.5), Goal("ratio", 0.3)
_INSTANT = Goal("seconds", 0.01)
_TABLES = {
    ("r6", True): "0.28 s of 24.1 s",
    ("r10", True): "2.3 s of 24.1 s",
    ("r6", False): "7.3 s of 24.7 s",
    ("r10", False): "6.1 s of 23.3 s",
}
_FIGURE_7 = {
    ("r10", "r15", "r17"): "3 to 375 x faster",
    ("r10", "r15", "r18"): "3 to 375 x faster",
    ("r18",): "375 x faster",
    ("r4",): "5 x faster",
    ("r3",): "slower than from scratch",
}
_DELETED = "2-3 x from scratch (its code)"


def turbines(n: int) -> State:
    """Return rule set 1 on the first data set: a chain of n + 1 turbines; one of them has an odd temperature."""
    facts = {
        "hasNeighbour": [(i, i + 1) for i in range(n)],
        "hasAirTemperatureMeasurement": [(i, 40 if i == n // 3 else 20 + i % 3) for i in range(n + 1)],
    }
    return State(_RS1_DECLARATIONS, _RS1, facts)


def chains(rule_set: str, w: int) -> State:
    """Return rule set 2 or 3 on the second data set."""
    lines = {"RS2": zodiac.RS2, "RS3": zodiac.RS3}[rule_set].splitlines()
    texts = {line.partition(":")[0]: line for line in lines if line.startswith("r")}
    return State("\n".join(line for line in lines if line.startswith(".decl")), texts, zodiac.facts(w))


def neighbours(n: int) -> Iterator[Pair]:
    """Yield Figure 9: an edge of the chain comes and goes, the symmetric and the transitive rule too; all other
    rules."""
    group, more = f"RS1, n = {n}", turbines(n)
    for where, i in (("last", n - 1), ("middle", n // 2)):
        edge = i, i + 1
        yield _pair(group, more.lacking("hasNeighbour", edge), more, f"the {where} edge")
    for name in more.texts:
        yield _pair(group, more.without(name), more, name)


def wind_farm_grows(n: int) -> Iterator[Pair]:
    """Yield Figure 10: 10 to 50 % more turbines come and go."""
    less = turbines(n)
    for percent in (10, 20, 30, 40, 50):
        new = range(n, n + n * percent // 100)
        more = less.with_facts("hasNeighbour", *((i, i + 1) for i in new))
        more = more.with_facts("hasAirTemperatureMeasurement", *((i + 1, 20 + i % 3) for i in new))
        yield _pair(f"RS1, n = {n}", less, more, f"{percent} % more turbines", "deletion dearer than insertion")


def rule_changes(rule_set: str, w: int) -> Iterator[Pair]:
    """Yield Figures 7 and 8 (rule set 2), Tables 2 and 3 (rule set 3), and every rule alone."""
    group, more = f"{rule_set}, w = {w}", chains(rule_set, w)
    held = w == 200 and rule_set == "RS3"
    for names in [("r10", "r15", "r17"), ("r10", "r15", "r18"), *((name,) for name in more.texts)]:
        shown = " ".join("r10new" if name == "r10" and rule_set == "RS3" else name for name in names)
        if rule_set == "RS3":
            papers = [_TABLES.get((names[0], coming), "") if len(names) == 1 else "" for coming in (True, False)]
        else:
            papers = [_FIGURE_7.get(names, ""), "3 x and more faster" if names in _FIGURE_7 else ""]
        target = held and names in (("r6",), ("r10",))
        yield Pair(
            group,
            more.without(*names),
            more,
            Step(f"add {shown}", papers[0], (_THIRD,) if target else (), 0.05 if target else None),
            Step(f"delete {shown}", papers[1], (_THIRD,) if target else (), 0.05 if target else None),
        )


def fact_changes(rule_set: str, w: int) -> Iterator[Pair]:
    """Yield edges of each chain, first, middle and last, and the one fact of p5."""
    group, more = f"{rule_set}, w = {w}", chains(rule_set, w)
    for k, name in enumerate(("p1", "p2", "p3")):
        for where, i in (("first", 0), ("middle", w // 2 - 1), ("last", w - 1)):
            edge = k * w + i, k * w + i + 1
            goals: tuple[Goal, ...] = ()
            if w == 200 and (name, where) == ("p1", "middle"):
                goals = (_HALF,)
            elif w == 200 and name != "p1" and where == "last":
                goals = (_INSTANT,)
            less = more.lacking(name, edge)
            what = f"the {where} edge of {name}"
            yield Pair(group, less, more, Step(f"insert {what}"), Step(f"delete {what}", _DELETED, goals))
    yield _pair(group, more, more.with_facts("p5", (w, w + 1)), "the fact of p5")


def _pair(group: str, less: State, more: State, what: str, paper: str = "") -> Pair:
    verbs = ("add", "delete") if what in more.texts else ("insert", "delete")
    return Pair(group, less, more, Step(f"{verbs[0]} {what}"), Step(f"{verbs[1]} {what}", paper))
