"""The experiments with rules that come and go, at small sizes, and what they say about them; nothing takes a time."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.rules import __main__ as program
from benchmarks.rules import report, universities, wind_farm
from benchmarks.rules.campus import campuses
from benchmarks.rules.leaves import leaves
from benchmarks.rules.updates import Goal, Pair, State, Step, Timed, apply, contents, differing, evaluated, measured
from tests.depth import cases
from tidelog.maintain.protocol import NodeReport

pytestmark = pytest.mark.deep

DECLARATIONS = ".decl e(x: number, y: number)\n.decl t(x: number, y: number)"
TEXTS = {"t1": "t1: t(x, y) :- e(x, y).", "t2": "t2: t(x, z) :- t(x, y), e(y, z)."}
CHAIN = State(DECLARATIONS, TEXTS, {"e": [(1, 2), (2, 3)]})
NODE = NodeReport(("t",), ("t1",), "update", "e changed", 0.25, 7)
TIMED = Timed("chain", Step("delete t2", "7.3 s"), 3, 0.5, 0.4, 0.3, 2.5, 2.4, 2.0, 7, (NODE,), ())


def sizes(state: State) -> dict[str, int]:
    db, _, _ = evaluated(state)
    return {name: len(db[name]) for name in db.relations}


def test_states_lack_rules_and_facts() -> None:
    assert sizes(CHAIN) == {"e": 2, "t": 3}
    assert sizes(CHAIN.without("t2")) == {"e": 2, "t": 2}
    assert sizes(CHAIN.lacking("e", (2, 3))) == {"e": 1, "t": 1}
    assert sizes(CHAIN.with_facts("e", (3, 4))) == {"e": 3, "t": 6}


def test_an_update_takes_a_database_from_state_to_state() -> None:
    db, scratch, fixpoint = evaluated(CHAIN)
    then = CHAIN.without("t2").with_facts("e", (3, 4)).lacking("e", (1, 2))
    change, watch = apply(db, CHAIN, then)
    assert sorted(db["t"]) == [(2, 3), (3, 4)]
    assert sorted(change["t"].deleted) == [(1, 2), (1, 3)]
    assert scratch.wall >= fixpoint > 0
    assert watch.wall > 0


def test_both_directions_of_a_pair() -> None:
    pair = Pair("chain", CHAIN.without("t2"), CHAIN, Step("add t2"), Step("delete t2"))
    forth, back = measured(pair, 2)
    assert [(t.step.what, t.impact, t.size, t.runs, t.wrong) for t in (forth, back)] == [
        ("add t2", 1, 5, 2, ()),
        ("delete t2", 1, 4, 2, ()),
    ]


def test_other_tuples_are_different_views() -> None:
    one, other = evaluated(CHAIN)[0], evaluated(State(DECLARATIONS, TEXTS, {"e": [(1, 2), (2, 4)]}))[0]
    assert differing(contents(one, True), contents(other, True)) == {"e", "t"}
    assert differing(contents(one, False), contents(other, False)) == set()


def timed(goals: tuple[Goal, ...] = (), wrong: tuple[str, ...] = (), seconds_below: float | None = None) -> Timed:
    step = Step("delete t2", "7.3 s", goals, seconds_below)
    return Timed("chain", step, 3, 0.5, 0.4, 0.3, 2.5, 2.4, 2.0, 7, (NODE,), wrong)


@pytest.mark.parametrize(
    ("goals", "seconds_below", "met"),
    [
        ((), None, None),
        ((Goal("ratio", 0.25),), None, True),
        ((Goal("ratio", 0.24),), None, False),
        ((Goal("seconds", 0.5),), None, True),
        ((Goal("ratio", 0.25), Goal("seconds", 0.4)), None, False),
        ((Goal("ratio", 0.25),), 0.4, False),
    ],
)
def test_all_goals_have_to_be_met(goals: tuple[Goal, ...], seconds_below: float | None, met: bool | None) -> None:
    assert timed(goals, seconds_below=seconds_below).met is met


def test_a_bound_for_small_impacts_is_none_for_large_ones() -> None:
    large = Timed("chain", Step("x", "", (), 0.1), 1, 0.5, 0.4, 0.3, 2.5, 2.4, 2.0, 10_000, (), ())
    assert large.goals == ()


def test_a_row_says_what_it_missed_and_what_is_wrong() -> None:
    head, *below = report.row(timed((Goal("ratio", 0.1),), ("t",))).splitlines()
    assert (
        " ".join(head.split()) == "delete t2 7 500.0 400.0 300.0 2,000.0 2,500.0 0.250 0.167 <= 0.1 x NO 1 update 7.3 s"
    )
    assert [line.strip() for line in below] == [
        "250.0 ms update t: e changed",
        "250.0 ms outside of the hyper-nodes",
        "WRONG, not as evaluated from scratch: t",
    ]


def test_without_a_rule_left_there_is_no_ratio() -> None:
    assert Timed("leaf", Step("delete a leaf"), 1, 0.5, 0.4, 0.3, 2.5, 2.4, 0.0, 7, (), ()).ratio is None


def test_a_plot_has_a_point_for_each_update(tmp_path: Path) -> None:
    report.draw("Chains", [TIMED, TIMED], tmp_path / "out/chains.svg")
    text = (tmp_path / "out/chains.svg").read_text()
    assert "chain, deleted" in text
    assert "impact: derived tuples that came and went" in text


def test_rule_set_1_counts_and_finds_the_odd_turbine() -> None:
    db, _, _ = evaluated(wind_farm.turbines(50))
    assert len(db["hasNeighbour"]) == 50 * 51
    assert list(db["sensorAnomaly"]) == [(16,)]


@pytest.mark.parametrize(
    ("pairs", "count"),
    [(wind_farm.neighbours(6), 8), (wind_farm.wind_farm_grows(10), 5), (wind_farm.fact_changes("RS3", 5), 10)],
)
def test_facts_come_and_go(pairs: Iterator[Pair], count: int) -> None:
    done = [list(measured(pair, 1)) for pair in pairs]
    assert len(done) == count
    assert not [t for both in done for t in both if t.wrong]


@pytest.mark.parametrize("name", ["RS3", "RS2"][: cases(1)])
def test_every_rule_comes_and_goes(name: str) -> None:
    done = [t for pair in wind_farm.rule_changes(name, 4) for t in measured(pair, 1)]
    assert {t.step.what for t in done} >= {"add r6", "delete r6", "add r10 r15 r17" if name == "RS2" else "add r10new"}
    assert [t.step.what for t in done if t.wrong] == []


def test_a_leaf_is_dropped_without_being_evaluated() -> None:
    (pair,) = leaves((40,))
    _, back = measured(pair, 1)
    assert [(node.strategy, node.impact) for node in back.nodes] == [("drop", 40)]


RULES: list[tuple[bool, bool, str]] = [
    (False, False, "<headOf>(?X, ?Y) :- <src_headOf>(?X, ?Y) ."),
    (False, False, "<Department>(?X) :- <src_Department>(?X) ."),
    (False, True, "<Chair>(?X) :- <headOf>(?X, ?X1) and <Department>(?X1) ."),
    (True, False, "<Person>(?X) :- <Chair>(?X) ."),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four rules and two triples where the published data would be."""
    (tmp_path / "lubm1").mkdir()
    (tmp_path / "lubm1/rules.json").write_text(json.dumps(RULES))
    with gzip.open(tmp_path / "lubm1/lubm1.nt.gz", "wt") as stream:
        stream.write("<ann> <src_headOf> <cs> .\n")
        stream.write("<cs> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <src_Department> .\n")
    return tmp_path


def test_marked_rules_come_and_go(folder: Path) -> None:
    done = [t for pair in universities.published(folder) for t in measured(pair, 1)]
    assert [(t.step.what, t.impact, t.wrong) for t in done] == [
        ("add the 1 starred rules", 1, ()),
        ("delete the 1 starred rules", 1, ()),
        ("add the 1 # rules", 2, ()),
        ("delete the 1 # rules", 2, ()),
    ]


def test_marked_rules_on_generated_facts(folder: Path) -> None:
    done = [t for pair in universities.generated(folder, 5_000) for t in measured(pair, 1)]
    assert [t.wrong for t in done] == [()] * 4
    assert done[0].impact > 10


def test_campuses_are_the_same_for_the_same_seed() -> None:
    one, same, other = campuses(5_000, 3), campuses(5_000, 3), campuses(5_000, 4)
    assert one == same
    assert one != other
    assert sum(len(table) for table in one.values()) >= 5_000
    assert {"src_headOf", "src_takesCourse", "src_University"} <= set(one)
    assert [len(one[name].column_names) for name in ("src_University", "src_takesCourse")] == [1, 2]


def test_the_command_writes_figures_and_plots(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    small = {"leaves": ("A leaf", lambda: leaves((20,))), "lubm": ("LUBM", None)}
    monkeypatch.setattr(program, "sections", lambda folder: small)
    monkeypatch.setattr(program, "warm_up", lambda: None)
    monkeypatch.delenv("TIDELOG_DATA", raising=False)
    assert program.main(["--runs", "1", "--out", str(tmp_path)]) == 2
    shown = capsys.readouterr()
    assert "2 updates, 0 leave wrong views, 0 miss their target" in shown.out
    assert "TIDELOG_DATA" in shown.err
    document = json.loads((tmp_path / "rules.json").read_text())
    assert [update["step"]["what"] for update in document["sections"]["leaves"]] == ["add a leaf", "delete a leaf"]
    assert (tmp_path / "rules-leaves.svg").exists()
