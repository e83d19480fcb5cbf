"""Profiles: what rules tried, found and derived, against counts by hand; and sums that leave nothing out."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import tidelog
from tests.sharing import sharing
from tidelog.profiling.profile import EpochProfile, Profile, RuleProfile

EDGES = """
.decl edge(x: number, y: number)
.decl path(x: number, y: number)
base: path(x, y) :- edge(x, y).
step: path(x, z) :- path(x, y), edge(y, z).
"""
CHAIN = [(1, 2), (2, 3), (3, 4)]


@contextmanager
def recorded(program: str = EDGES, **options: object) -> Iterator[tidelog.Database]:
    """A database whose rules all have plans."""
    with tidelog.connect() as db:
        db.options(profile=True, closures=False, **options)
        db.load(program)
        yield db


def last(db: tidelog.Database) -> EpochProfile:
    return db.profile().epochs[-1]


def figures(epoch: EpochProfile) -> dict[str, tuple[int, int, int, int]]:
    """The bindings tried, derivations found, tuples new and rounds of each rule."""
    rules = [rule for node in epoch.nodes for rule in node.rules]
    return {rule.name: (rule.tried, rule.found, rule.new, rule.rounds) for rule in rules}


def levels(rule: RuleProfile) -> list[tuple[str, int, list[tuple[str, int, int]]]]:
    """The plans of a rule that found something: start, runs, and the levels."""
    return [
        (plan.start, plan.runs, [(each.text, each.tried, each.made) for each in plan.levels])
        for plan in rule.plans
        if plan.found
    ]


def test_a_chain_is_counted_round_by_round() -> None:
    with recorded() as db:
        db.insert("edge", CHAIN)
        db.commit()
        # Rounds of `step` scan 3, 2 and 1 new paths, look as many up, and find 2, 1 and 0.
        assert figures(last(db)) == {"base": (3, 3, 3, 1), "step": (12, 3, 3, 3)}
        (node,) = last(db).nodes
        assert (node.relations, node.strategy, node.rounds) == (("path",), "bootstrap", 4)
        base, step = sorted(node.rules, key=lambda rule: rule.name)
        assert levels(base) == [("everything", 1, [("scan edge(x, y)", 3, 3)])]
        assert levels(step) == [("new tuples of path", 3, [("scan path(x, y)", 6, 6), ("join edge(y, z)", 6, 3)])]


def test_a_tuple_that_is_found_twice_is_new_once() -> None:
    with recorded() as db:
        db.insert("edge", [*CHAIN, (1, 3)])
        db.commit()
        assert figures(last(db)) == {"base": (4, 4, 4, 1), "step": (12, 3, 2, 2)}


def test_filters_are_levels_of_their_own() -> None:
    program = ".decl e(x: number, y: number) .decl far(x: number, y: number) .decl no(x: number)\n"
    with recorded(f"{program}far: far(x, y) :- e(x, y), y > x + 1, !no(x).") as db:
        db.insert("e", [(1, 2), (1, 5), (2, 7), (3, 9)])
        db.insert("no", [(2,)])
        db.commit()
        ((rule,),) = (node.rules for node in last(db).nodes)
        ((_, _, found),) = levels(rule)
        assert [(tried, made) for _, tried, made in found] == [(4, 4), (4, 4), (4, 3), (3, 2)]
        assert [text.split()[0] for text, _, _ in found] == ["scan", "compute", "compare", "test"]


def test_an_update_counts_what_is_lost_and_won() -> None:
    with recorded(strategy="update") as db:
        db.insert("edge", CHAIN)
        db.commit()
        db.delete("edge", [(3, 4)])
        db.commit()
        # path(3, 4) dies, and (1, 4) and (2, 4), which nothing extends.
        assert figures(last(db)) == {"base": (1, 1, 1, 1), "step": (1 + 1 + 3 + 3, 2, 2, 1)}
        db.insert("edge", [(3, 4), (1, 3)])
        db.commit()
        found = figures(last(db))
        # path(1, 3) is there by `step`; the paths (1, 3) and (2, 3) go on to 4.
        assert found["base"][1:3] == (2, 1)
        assert found["step"][1:3] == (2, 2)
        starts = {plan.start for node in last(db).nodes for rule in node.rules for plan in rule.plans}
        assert starts == {"insertions into edge", "insertions into path"}


def test_rules_that_come_and_go_are_counted_once() -> None:
    with recorded(strategy="update") as db:
        db.insert("edge", CHAIN)
        db.commit()
        db.rules.add("back: path(y, x) :- edge(x, y), x > 2.")
        db.commit()
        assert figures(last(db))["back"][1:3] == (1, 1)
        db.rules.remove("back")
        db.commit()
        assert figures(last(db))["back"][1:3] == (1, 1)
        assert "back" not in db.profile().texts


def test_best_tuples_are_counted() -> None:
    program = """
    .decl e(x: number, y: number, c: number) .decl d(x: number, c: number) min(c)
    first: d(1, 0). more: d(y, c + w) :- d(x, c), e(x, y, w).
    """
    with recorded(program) as db:
        db.insert("e", [(1, 2, 5), (1, 3, 1), (3, 2, 1)])
        db.commit()
        # d(1, 0) reaches 2 by 5 and 3 by 1, which reaches 2 by 2, which is better and not a new row.
        assert figures(last(db))["more"][1] == 3


def test_an_update_of_best_tuples_without_recursion_is_counted() -> None:
    program = ".decl e(x: number, c: number) .decl d(x: number, c: number) min(c)\nall: d(x, c) :- e(x, c)."
    with recorded(program, strategy="update") as db:
        db.insert("e", [(1, 5), (1, 3), (2, 4)])
        db.commit()
        db.insert("e", [(1, 1)])
        db.commit()
        assert last(db).nodes[-1].strategy == "update"
        assert figures(last(db)) == {"all": (1, 1, 1, 1)}


def test_a_closure_has_the_seconds_of_its_hyper_node() -> None:
    with tidelog.connect() as db:
        db.options(profile=True)
        db.load(EDGES)
        db.insert("edge", CHAIN)
        db.commit()
        assert figures(last(db)) == {"step": (0, 0, 0, 0)}
        assert db.profile().rules[0].seconds > 0


def test_an_aggregate_has_the_seconds_of_its_hyper_node() -> None:
    with recorded(".decl e(x: number) .decl n(x: number)\nall: n(c) :- c = count : { e(_) }.") as db:
        db.insert("e", [(1,), (2,)])
        db.commit()
        assert {rule.name for rule in db.profile().rules} == {"all"}


def sums(profile: Profile) -> None:
    """Check that each moment counts for one step or rule."""
    for epoch in profile.epochs:
        parts = sum(epoch.steps.values()) + sum(node.seconds for node in epoch.nodes)
        assert parts == pytest.approx(epoch.seconds, rel=1e-3)
        for node in epoch.nodes:
            parts = sum(node.steps.values()) + sum(rule.seconds for rule in node.rules)
            assert parts == pytest.approx(node.seconds, rel=1e-3)
            for plan in (plan for rule in node.rules for plan in rule.plans):
                assert sum(each.seconds for each in plan.levels) + plan.inserting == pytest.approx(plan.seconds)
    parts = sum(rule.seconds for rule in profile.rules) + sum(profile.steps.values())
    assert parts == pytest.approx(profile.seconds, rel=1e-3)


def test_sums_leave_nothing_out() -> None:
    with recorded() as db:
        db.insert("edge", [(i, i + 1) for i in range(30)])
        db.commit()
        db.delete("edge", [(3, 4)])
        db.commit()
        db.commit()
        assert [epoch.epoch for epoch in db.profile().epochs] == [1, 2, 3]
        sums(db.profile())


def test_threads_count_as_one_does() -> None:
    rows = [(i % 40, i) for i in range(2_000)]
    program = ".decl e(x: number, y: number) .decl p(x: number, y: number)\npairs: p(y, z) :- e(x, y), e(x, z), y < z."
    found = []
    for threads in (1, 3):
        with recorded(program, threads=threads) as db, sharing(3) as seen:
            db.insert("e", rows)
            db.commit()
            db.delete("e", rows[:40])
            db.options(strategy="update")
            db.commit()
            assert bool(seen.tasks) is (threads > 1)
            found.append([figures(epoch) for epoch in db.profile().epochs])
            sums(db.profile())
    assert found[0] == found[1]
    assert found[0][0]["pairs"][1:3] == (49_000, 49_000)


def test_indexes_that_got_rows_are_named() -> None:
    with recorded() as db:
        db.insert("edge", CHAIN)
        db.commit()
        (node,) = last(db).nodes
        (index,) = [each for each in node.indexes if each.relation == "edge"]
        assert (index.columns, index.rows) == ((0,), 3)
        assert index.bytes > 0


def test_expected_bindings_are_those_of_the_planner() -> None:
    with recorded(".decl a(x: number, y: number) .decl b(x: number, y: number)\nr: b(x, z) :- a(x, y), a(y, z).") as db:
        db.insert("a", [(i, 0) for i in range(10)])  # Each y is 0, which begins one pair.
        db.commit()
        ((rule,),) = (node.rules for node in last(db).nodes)
        scan, join = rule.plans[0].levels
        assert (scan.made, join.made) == (10, 10)
        assert join.estimated == pytest.approx(10, rel=0.5)


def test_an_attempt_in_vain_is_a_step() -> None:
    with recorded(".decl q(x: number) .decl p(x: number)\nwide: p(x * 10000000000) :- q(x).") as db:
        db.insert("q", [(1,), (2,)])
        db.commit()
        assert figures(last(db))["wide"][1:3] == (2, 2)
        assert last(db).steps["an attempt in vain"] > 0
        sums(db.profile())


LOADING = """
import json, sys, tidelog
from tidelog.kernels import calling
from tidelog.maintain import machine
looks = []
def until_look(kernel, steps):
    looks.append(steps)
    if len(looks) == 2:  # Kernels become machine code in the midst of the plan.
        calling.LONGEST = 1e-9
    return 1_000
machine.until_look = until_look
db = tidelog.connect()
db.options(profile=True)
db.load(".decl s(x: number) .decl t(x: number, y: number) t(x, y) :- s(x), s(y).")
db.insert("s", [(i,) for i in range(60)])
db.commit()
(epoch,) = db.profile().epochs
(node,) = [node for node in epoch.nodes if "t" in node.relations]
print(json.dumps([node.steps.get("machine code", 0.0), sum(rule.seconds for rule in node.rules), len(db["t"])]))
"""


def test_loading_machine_code_is_a_step_and_no_part_of_the_rule_that_needs_it() -> None:
    environment = os.environ | {"TIDELOG_KERNELS": "auto"}
    done = subprocess.run([sys.executable, "-c", LOADING], capture_output=True, text=True, check=True, env=environment)
    loading, of_rules, rows = json.loads(done.stdout)
    assert rows == 3_600
    assert loading > 0
    assert of_rules < loading


def test_only_epochs_that_happened_are_recorded() -> None:
    with recorded(max_rows=5) as db:
        db.insert("edge", CHAIN)
        with pytest.raises(tidelog.LimitError):
            db.commit()
        assert db.profile().epochs == ()
        db.rollback()
        db.options(max_rows=None, profile=False)
        db.load(EDGES)
        db.commit()
        db.options(profile=True)
        with db.what_if() as trial:
            trial.insert("edge", CHAIN)
        assert trial.change is not None
        assert len(trial.change["path"].inserted) == 6
        db.insert("edge", CHAIN)
        db.commit()
        assert len(db.profile().epochs) == 1
        assert {name: row[1:3] for name, row in figures(last(db)).items()} == {"base": (3, 3), "step": (3, 3)}


def test_nothing_is_recorded_by_default() -> None:
    with tidelog.connect() as db:
        db.load(EDGES)
        db.insert("edge", CHAIN)
        db.commit()
        assert db.profile() == Profile((), db.profile().texts, recording=False)
        assert str(db.profile()) == "no epoch was recorded; db.options(profile=True) records the next ones"
        # An update that takes longer than a bootstrap, as on a busy machine, would give up and be counted with it.
        db.options(profile=True, closures=False, strategy="update")
        db.insert("edge", [(4, 5)])
        db.commit()
        before = db.profile().epochs
        db.options(profile=False)
        db.insert("edge", [(5, 6)])
        db.commit()
        assert db.profile().epochs == before
        db.options(profile=True)
        db.insert("edge", [(6, 7)])
        db.commit()
        # Edges 1 to 6 lead to 6: `base` finds one path, `step` the five before it.
        assert {name: row[1] for name, row in figures(last(db)).items()} == {"base": 1, "step": 5}


def test_a_hundred_epochs_are_kept() -> None:
    with tidelog.connect() as db:
        db.options(profile=True)
        db.load(".decl e(x: number)")
        for i in range(103):
            db.insert("e", [(i,)])
            db.commit()
        assert [epoch.epoch for epoch in db.profile().epochs] == list(range(4, 104))


def test_a_profile_is_a_text_a_page_and_json() -> None:
    with recorded(f'{EDGES}.decl s(x: symbol)\nodd: s("<b>") :- edge(1, _).') as db:
        db.insert("edge", CHAIN)
        db.commit()
        profile = db.profile()
        lines = str(profile).splitlines()
        assert lines[0].endswith("s in 1 epoch")
        assert lines[1].split() == ["seconds", "share", "tried", "found", "new", "rounds", "rule"]
        assert any(
            line.endswith("12      3    3       3  step: path(x, z) :- path(x, y), edge(y, z).") for line in lines
        )
        page = profile.to_html()
        assert "join edge(y, z)" in page
        assert "<b>" not in page
        assert "&lt;b&gt;" in profile._repr_html_()
        document = json.loads(json.dumps(profile.to_dict()))
        (rule,) = [rule for rule in document["rules"] if rule["name"] == "step"]
        assert (rule["tried"], rule["plans"][0]["levels"][1]["made"]) == (12, 3)
        assert document["epochs"][0]["epoch"] == 1


def test_stores_of_rdf_have_profiles() -> None:
    with tidelog.rdf.connect(rules="rdfs") as store:
        store.options(profile=True)
        prefixes = "@prefix : <http://a/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> ."
        store.insert(f"{prefixes} :a a :B . :B rdfs:subClassOf :C .")
        store.commit()
        (epoch,) = store.profile().epochs
        assert figures(epoch)["rdfs9_1"][1:3] == (1, 1)


def test_mistakes() -> None:
    with tidelog.connect() as db:
        with pytest.raises(tidelog.UsageError, match="profile must be True or False, found 'yes'"):
            db.options(profile="yes")
        with db.snapshot() as snapshot, pytest.raises(tidelog.UsageError, match="E0615"):
            snapshot.profile()
