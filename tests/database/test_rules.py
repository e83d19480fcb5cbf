"""`db.rules`, `subscribe` and what the report says: rules that come and go, refusals that leave no trace, old changes
that stay what they were."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import tidelog
from tidelog.workspace.change import RelationChange

PROGRAM = """
.decl e(x: number, y: number)
.decl t(x: number, y: number)
.decl far(x: number)
t(x, y) :- e(x, y).
t(x, z) :- t(x, y), e(y, z).
end: far(x) :- t(x, _), !e(x, _).
"""
CLOSED = {(1, 2), (2, 3), (1, 3)}


@pytest.fixture
def db() -> tidelog.Database:
    database = tidelog.connect()
    database.options(strategy="update")
    database.load(PROGRAM)
    database.insert("e", [(1, 2), (2, 3)])
    database.commit()
    return database


def fingerprint(db: tidelog.Database) -> object:
    """Everything that a refused change must not touch."""
    views = {name: db.births(name) for name in db.relations}
    return views, list(db.rules), repr(db.rules), db.rules.hyper_nodes, db.stats()["epochs"]


def strategies(change: tidelog.Change) -> dict[tuple[str, ...], str]:
    return {node.rules: node.strategy for node in change.report.nodes}


# --- looking ---------------------------------------------------------------------------------------------------------


def test_rules_are_a_mapping_from_names_to_sources(db: tidelog.Database) -> None:
    assert list(db.rules) == ["r1", "r2", "end"]
    assert len(db.rules) == 3
    assert "r2" in db.rules
    assert "r3" not in db.rules
    assert db.rules["r1"] == "r1: t(x, y) :- e(x, y)."
    assert repr(db.rules) == (
        "r1: t(x, y) :- e(x, y).\nr2: t(x, z) :- t(x, y), e(y, z).\nend: far(x) :- t(x, _), !e(x, _)."
    )
    assert repr(tidelog.connect().rules) == "<no rules>"


def test_the_source_of_a_rule_can_be_loaded(db: tidelog.Database) -> None:
    other = tidelog.connect()
    other.load(PROGRAM.split("t(x, y) :-", maxsplit=1)[0] + repr(db.rules))
    other.insert("e", [(1, 2), (2, 3)])
    other.commit()
    assert set(other["t"]) == CLOSED
    assert list(other.rules) == list(db.rules)


def test_hyper_nodes_are_in_the_order_of_evaluation(db: tidelog.Database) -> None:
    hyper_nodes = db.rules.hyper_nodes
    assert hyper_nodes[0] == ("r1", "r2")
    assert set(hyper_nodes[1:]) == {("end",)}


def test_pending_rules_do_not_show(db: tidelog.Database) -> None:
    db.rules.add("swap: t(y, x) :- t(x, y).")
    db.rules.remove("end")
    assert list(db.rules) == ["r1", "r2", "end"]
    assert set(db["t"]) == CLOSED
    db.commit()
    assert list(db.rules) == ["r1", "r2", "swap"]


# --- adding and removing ---------------------------------------------------------------------------------------------


def test_a_rule_brings_declarations_and_facts(db: tidelog.Database) -> None:
    with db.transaction() as tx:
        tx.rules.add(".decl extra(x: number, y: number)  extra(3, 4).  more: t(x, y) :- extra(x, y).")
        tx.insert("extra", [(7, 8)])
    assert tx.change is not None
    assert set(tx.change["t"].inserted) == {(3, 4), (7, 8)}
    assert set(tx.change["extra"].inserted) == {(3, 4), (7, 8)}
    assert set(db["t"]) == CLOSED | {(3, 4), (7, 8)}


def test_a_rule_added_and_removed_is_no_change(db: tidelog.Database) -> None:
    before = {name: set(db[name]) for name in db.relations}
    with db.transaction() as tx:
        tx.rules.add("swap: t(y, x) :- t(x, y).")
    assert tx.change is not None
    assert set(tx.change["t"].inserted) == {(2, 1), (3, 2), (3, 1), (2, 2), (3, 3)}
    with db.transaction() as tx:
        tx.rules.remove("swap")
    assert {name: set(db[name]) for name in db.relations} == before
    assert tx.change is not None
    assert tx.change.report.bootstraps == 0


def test_in_one_transaction_it_never_happened(db: tidelog.Database) -> None:
    with db.transaction() as tx:
        tx.rules.add("swap: t(y, x) :- t(x, y).")
        tx.rules.remove("swap")
    assert tx.change is not None
    assert list(tx.change) == []
    assert set(strategies(tx.change).values()) == {"skip"}


def test_removing_one_of_two_derivations_keeps_the_tuple(db: tidelog.Database) -> None:
    db.rules.add("again: t(x, y) :- e(x, y), x < y.")
    assert list(db.commit()) == []
    db.rules.remove("r1")
    assert list(db.commit()) == []
    db.rules.remove("again")
    change = db.commit()
    assert set(change["t"].deleted) == CLOSED


def test_asserted_facts_of_a_view_outlive_its_rules(db: tidelog.Database) -> None:
    db.insert("t", [(1, 2), (8, 9)])
    db.commit()
    for name in ("r1", "r2"):
        db.rules.remove(name)
    change = db.commit()
    assert set(change["t"].deleted) == {(2, 3), (1, 3)}
    assert set(db["t"]) == {(1, 2), (8, 9)}
    db.rules.add("r1: t(x, y) :- e(x, y).")
    db.commit()
    assert set(db["t"]) == {(1, 2), (8, 9), (2, 3)}


def test_a_leaf_is_dropped_without_evaluating_anything(db: tidelog.Database) -> None:
    db.insert("e", [(3, 4)])
    db.commit()
    assert set(db["far"]) == set()
    db.rules.add(".decl top(x: number)  leaf: top(x) :- t(_, x).")
    db.commit()
    db.rules.remove("leaf")
    change = db.commit()
    assert strategies(change)["leaf",] == "drop"
    assert (change.report.bootstraps, change.report.updates) == (0, 0)
    assert set(change["top"].deleted) == {(2,), (3,), (4,)}
    assert set(db["top"]) == set()
    assert "leaf" not in db.rules


def test_rules_and_facts_change_in_one_epoch(db: tidelog.Database) -> None:
    with db.transaction() as tx:
        tx.delete("e", [(1, 2)])
        tx.insert("e", [(3, 4), (4, 2)])
        tx.rules.remove("r2")
        tx.rules.add("jump: t(x, z) :- e(x, y), e(y, z).")
    assert set(db["t"]) == {(2, 3), (3, 4), (4, 2), (2, 4), (3, 2), (4, 3)}
    assert tx.change is not None
    assert set(tx.change["t"].deleted) == {(1, 2), (1, 3)}


def test_a_rule_merges_hyper_nodes_and_its_removal_splits_them() -> None:
    db = tidelog.connect()
    db.options(strategy="update")
    db.load(
        ".decl e(x: number, y: number)  .decl a(x: number, y: number)  .decl b(x: number, y: number)"
        "base: a(x, y) :- e(x, y).  step: a(x, z) :- a(x, y), e(y, z).  copy: b(y, x) :- a(x, y)."
    )
    db.insert("e", [(1, 2), (2, 3)])
    db.commit()
    assert db.rules.hyper_nodes == (("base", "step"), ("copy",))
    db.rules.add("loop: a(x, z) :- a(x, y), b(y, z).")
    db.commit()
    assert [set(names) for names in db.rules.hyper_nodes] == [{"base", "step", "copy", "loop"}]
    square = {(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)}
    assert set(db["a"]) == square
    db.insert("e", [(3, 4)])
    db.commit()
    both = square | {(1, 4), (2, 4), (3, 1), (3, 2), (3, 3), (3, 4)}
    assert set(db["a"]) == both
    assert set(db["b"]) == {(y, x) for x, y in both}
    db.rules.remove("loop")
    db.commit()
    assert [set(names) for names in db.rules.hyper_nodes] == [{"base", "step", "copy"}]  # whole until a bootstrap
    chain = {(1, 2), (2, 3), (3, 4), (1, 3), (2, 4), (1, 4)}
    assert set(db["a"]) == chain
    db.delete("e", [(2, 3)])
    db.commit()
    assert set(db["a"]) == {(1, 2), (3, 4)}
    db.options(strategy="bootstrap")
    db.insert("e", [(2, 3)])
    db.commit()
    assert set(db["b"]) == {(y, x) for x, y in chain}
    db.rules.add(".decl c(x: number)  leaf: c(x) :- b(x, _).")
    db.commit()
    assert db.rules.hyper_nodes == (("base", "step"), ("copy",), ("leaf",))


def test_a_negation_splits_a_hyper_node_that_is_coarser_than_it_need_be() -> None:
    db = tidelog.connect()
    db.options(strategy="update")
    db.load(
        ".decl e(x: number, y: number)  .decl a(x: number, y: number)  .decl b(x: number, y: number)"
        "base: a(x, y) :- e(x, y).  loop: a(x, z) :- a(x, y), b(y, z).  copy: b(y, x) :- a(x, y)."
    )
    db.insert("e", [(1, 2), (2, 3)])
    db.commit()
    assert set(db["a"]) == {(1, 2), (2, 3), (1, 1), (2, 2), (2, 1)}
    with pytest.raises(tidelog.ProgramError):
        db.rules.add("unless: b(x, y) :- e(x, y), !a(y, x).")
    db.rules.remove("loop")
    assert db.commit().report.bootstraps == 0
    assert len(db.rules.hyper_nodes) == 1
    db.rules.add("unless: b(x, y) :- e(x, y), !a(y, x).")
    change = db.commit()
    assert set(change["b"].inserted) == {(1, 2), (2, 3)}
    assert {node.strategy for node in change.report.nodes} == {"bootstrap"}
    assert db.rules.hyper_nodes[0] == ("base",)
    db.options(strategy="update")
    db.insert("e", [(2, 1)])
    change = db.commit()
    assert set(change["a"].inserted) == {(2, 1)}
    assert set(db["b"]) == {(2, 1), (3, 2), (1, 2), (2, 3)}
    assert change.report.bootstraps == 0


def test_facts_inserted_after_hyper_nodes_have_merged_reach_everything() -> None:
    """Rounds have to go on above the births that merging has shifted."""
    db = tidelog.connect()
    db.options(strategy="update")
    db.load(".decl e(x: number, y: number)  .decl t(x: number, y: number)  .decl s(x: number, y: number)")
    db.rules.add("t(x, y) :- e(x, y).  t(x, z) :- t(x, y), e(y, z).")
    db.insert("e", [(1, 2), (2, 3), (3, 4)])
    db.commit()
    db.delete("e", [(2, 3)])
    db.insert("e", [(1, 3)])
    db.commit()
    db.rules.add("s(y, x) :- s(x, y).  t(x, z) :- t(x, y), s(y, z).")
    db.insert("s", [(3, 9)])
    db.commit()
    db.rules.add("s(x, y) :- t(x, y), t(y, x).")
    db.commit()
    db.insert("e", [(4, 5)])
    change = db.commit()
    assert set(change["t"].inserted) == {(4, 5), (3, 5), (1, 5)}
    assert change.report.bootstraps == 0


def test_an_update_after_several_bootstraps_finds_what_has_lost_its_support(db: tidelog.Database) -> None:
    """A bootstrap has to replace the births of tuples that were there before."""
    db.options(strategy="bootstrap")
    for inserted, deleted in (([(3, 1)], []), ([(1, 3)], [(1, 2)]), ([(4, 1)], [(3, 1)])):
        db.insert("e", inserted)
        db.delete("e", deleted)
        db.commit()
    db.options(strategy="update")
    db.insert("e", [(3, 4)])
    db.commit()
    assert set(db["t"]) == {(2, 3), (2, 4), (2, 1), *((x, y) for x in (1, 3, 4) for y in (1, 3, 4))}
    db.delete("e", [(3, 4)])
    db.commit()
    assert set(db["t"]) == {(2, 3), (1, 3), (4, 1), (4, 3)}


def test_an_update_after_rules_have_changed_in_a_bootstrap_knows_the_new_ones(db: tidelog.Database) -> None:
    """What is kept of a hyper-node from update to update has to be made anew for its new rules."""
    db.insert("e", [(3, 4)])
    db.commit()
    db.options(strategy="bootstrap")
    db.rules.add(".decl f(x: number, y: number)  given: t(x, y) :- f(x, y).")
    db.rules.remove("r2")
    db.commit()
    db.options(strategy="update")
    db.insert("f", [(7, 8)])
    db.insert("e", [(4, 5)])
    change = db.commit()
    assert set(change["t"].inserted) == {(7, 8), (4, 5)}
    assert change.report.bootstraps == 0


# --- names -----------------------------------------------------------------------------------------------------------


def test_names_of_unnamed_rules_stay(db: tidelog.Database) -> None:
    db.load("t(y, x) :- t(x, y).")
    db.commit()
    assert list(db.rules) == ["r1", "r2", "end", "r3"]
    db.rules.remove("r1")
    db.commit()
    assert db.rules["r3"] == "r3: t(y, x) :- t(x, y)."
    db.rules.add("t(x, x) :- e(x, _).")
    db.commit()
    assert list(db.rules) == ["r2", "end", "r3", "r1"]


def test_a_text_cannot_take_the_name_that_a_rule_was_given(db: tidelog.Database) -> None:
    with pytest.raises(tidelog.ProgramError) as caught:
        db.rules.add("r1: t(x, x) :- e(x, _).")
    assert caught.value.code == "E0221"
    db.load("t(y, y) :- e(_, y).  r4: t(x, x) :- e(x, _).")
    db.commit()
    assert list(db.rules) == ["r1", "r2", "end", "r3", "r4"]


# --- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "refused"),
    [
        ("E0301", "e(x, y) :- t(y, x), !far(x)."),
        ("E0302", "e(n, n) :- n = count : { t(_, _) }."),
        ("E0215", "t(x, y) :- e(x, _)."),
        ("E0216", "t(x, x) :- e(x, _), !far(z)."),
        ("E0221", "end: t(x, x) :- e(x, _)."),
        ("E0201", "t(x, y) :- nothing(x, y)."),
        ("E0202", ".decl t(x: number)"),
        ("E0211", '.decl s(x: symbol)  t(x, x) :- s(x).  s("a").'),
        ("E0101", "t(x, y) :- e(x y)."),
        ("E0101", "good: t(y, x) :- e(x, y).  t(x, y :- e(x, y)."),
    ],
)
def test_a_refused_rule_leaves_no_trace(db: tidelog.Database, code: str, refused: str) -> None:
    before, relations = fingerprint(db), db.relations
    with pytest.raises(tidelog.ProgramError) as caught:
        db.rules.add(refused)
    assert code in [problem.code for problem in caught.value.problems]
    assert fingerprint(db) == before
    assert db.relations == relations
    assert list(db.commit()) == []


def test_a_refused_rule_rolls_its_transaction_back(db: tidelog.Database) -> None:
    before = fingerprint(db)

    def fails() -> None:
        with db.transaction() as tx:
            tx.insert("e", [(3, 4)])
            tx.rules.remove("end")
            tx.rules.add("e(x, y) :- t(y, x), !far2(x).  .decl far2(x: number)  far2(x) :- e(x, _).")

    with pytest.raises(tidelog.ProgramError):
        fails()
    assert fingerprint(db) == before
    assert list(db.commit()) == []


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("r22", "did you mean r2?"),
        ("endd", "did you mean end?"),
        ("nothing like it", "list the names with `list(db.rules)`"),
    ],
)
def test_an_unknown_rule_is_named(db: tidelog.Database, name: str, hint: str) -> None:
    before = fingerprint(db)
    calls: list[Callable[[str], object]] = [db.rules.remove, db.rules.__getitem__]
    for call in calls:
        with pytest.raises(tidelog.UsageError) as caught:
            call(name)
        assert caught.value.code == "E0608"
        assert caught.value.problems[0].message == f"there is no rule {name}"
        assert caught.value.problems[0].hint == hint
    assert fingerprint(db) == before


def test_a_rule_is_removed_once(db: tidelog.Database) -> None:
    db.rules.remove("end")
    with pytest.raises(tidelog.UsageError) as caught:
        db.rules.remove("end")
    assert caught.value.code == "E0608"
    db.commit()
    assert list(db.rules) == ["r1", "r2"]


@pytest.mark.parametrize("strategy", ["update", "bootstrap"])
def test_a_limit_in_an_epoch_that_changes_rules_leaves_no_trace(db: tidelog.Database, strategy: str) -> None:
    before = fingerprint(db)
    db.options(strategy=strategy, max_rows=50)
    db.rules.add("grow: t(x, y + 1) :- t(x, y).")
    db.rules.remove("end")
    db.delete("e", [(1, 2)])
    with pytest.raises(tidelog.LimitError) as caught:
        db.commit()
    assert caught.value.code == "E0502"
    assert fingerprint(db) == before
    db.rollback()
    db.options(max_rows=None, strategy="update")
    db.insert("e", [(3, 4)])
    assert set(db.commit()["t"].inserted) == {(3, 4), (2, 4), (1, 4)}


# --- being told ------------------------------------------------------------------------------------------------------


def test_a_subscriber_hears_of_the_epochs_that_change_its_relation(db: tidelog.Database) -> None:
    heard: list[tuple[set[object], set[object]]] = []

    def hear(change: RelationChange) -> None:
        heard.append((set(change.inserted), set(change.deleted)))

    stop = db.subscribe("t", hear)
    db.insert("e", [(3, 4)])
    db.commit()
    db.insert("e", [(1, 3)])  # a derivation more, and no tuple
    db.commit()
    db.delete("e", [(3, 4), (1, 3)])
    db.rules.add("swap: t(y, x) :- e(x, y).")
    db.commit()
    assert heard == [
        ({(3, 4), (2, 4), (1, 4)}, set()),
        ({(2, 1), (3, 2), (2, 2), (3, 3)}, {(3, 4), (2, 4), (1, 4)}),
    ]
    stop()
    db.delete("e", [(1, 2)])
    db.commit()
    assert len(heard) == 2


def test_a_subscriber_that_raises_stops_neither_the_epoch_nor_the_others(
    db: tidelog.Database, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[int] = []

    def fail(change: RelationChange) -> None:
        raise KeyError(len(change.inserted))

    db.subscribe("t", fail)
    db.subscribe("t", lambda change: heard.append(len(change.inserted)))
    db.insert("e", [(3, 4)])
    errors = db.commit().errors
    assert [(type(error), error.args) for error in errors] == [(KeyError, (3,))]
    told = [record.getMessage() for record in caplog.records if record.name == "tidelog"]
    assert told == ["a subscriber of t has failed"]
    assert heard == [3]
    assert (1, 4) in db["t"]
    assert db.stats()["epochs"] == 2


def test_subscribing_to_what_is_not_there_says_so(db: tidelog.Database) -> None:
    with pytest.raises(tidelog.UsageError) as caught:
        db.subscribe("tt", print)
    assert caught.value.code == "E0601"


# --- changes and reports ---------------------------------------------------------------------------------------------


def test_a_change_that_is_read_late_is_still_its_own(db: tidelog.Database) -> None:
    other = tidelog.connect()
    other.load(PROGRAM)
    other.insert("e", [(1, 2), (2, 3)])
    first = other.commit()
    other.insert("e", [(3, 4)])
    second = other.commit()
    other.rules.remove("r2")
    third = other.commit()
    other.rules.remove("r1")
    fourth = other.commit()
    other.insert("e", [(5, 6)])
    other.commit()
    assert set(first["t"].inserted) == CLOSED
    assert set(second["t"].inserted) == {(3, 4), (2, 4), (1, 4)}
    assert set(third["t"].deleted) == {(1, 3), (2, 4), (1, 4)}
    assert set(fourth["t"].deleted) == {(1, 2), (2, 3), (3, 4)}
    assert set(first["e"].inserted) == {(1, 2), (2, 3)}


def test_changes_compose_to_the_difference_of_the_views(db: tidelog.Database) -> None:
    before, now = set(db["t"]), set(db["t"])
    steps: list[Callable[[], object]] = [
        lambda: db.insert("e", [(3, 1)]),
        lambda: db.delete("e", [(2, 3)]),
        lambda: db.rules.remove("r2"),
        lambda: db.rules.add("r2: t(x, z) :- t(x, y), e(y, z)."),
        lambda: db.insert("e", [(2, 3)]),
        lambda: db.delete("e", [(3, 1)]),
    ]
    for step in steps:
        step()
        change = db.commit()["t"]
        assert not set(change.inserted) & now
        assert set(change.deleted) <= now
        now = (now | set(change.inserted)) - set(change.deleted)
        assert now == set(db["t"])
    assert now == before


@pytest.mark.parametrize(("strategy", "counts"), [("update", (0, 2)), ("bootstrap", (2, 0))])
def test_a_strategy_can_be_forced(db: tidelog.Database, strategy: str, counts: tuple[int, int]) -> None:
    db.options(strategy=strategy)
    before = db.stats()
    db.insert("e", [(3, 1)])
    report = db.commit().report
    nodes = {node.rules: node for node in report.nodes if node.relations}
    assert {rules: node.strategy for rules, node in nodes.items()} == {("r1", "r2"): strategy, ("end",): strategy}
    assert nodes["r1", "r2"].reason.startswith("e changed")
    assert nodes["r1", "r2"].reason.endswith("forced") == (strategy == "bootstrap")
    assert nodes["r1", "r2"].impact == 6
    after = db.stats()
    assert (report.bootstraps, report.updates) == (
        after["bootstraps"] - before["bootstraps"],
        after["updates"] - before["updates"],
    )
    assert (report.bootstraps == 0) == (strategy == "update")


def test_a_large_change_is_evaluated_anew_and_a_small_one_is_not() -> None:
    db = tidelog.connect()
    db.options(switch=1_000_000)
    db.load(".decl a(x: number)  .decl b(x: number)  b(x + 1) :- a(x).")
    db.insert("a", [(i,) for i in range(1_000)])
    first = db.commit().report
    assert [(node.strategy, node.reason) for node in first.nodes] == [("bootstrap", "new")]
    db.insert("a", [(2_000,)])
    second = db.commit().report
    assert [(node.strategy, node.reason) for node in second.nodes] == [("update", "a changed")]
    db.options(switch=0.5)
    db.delete("a", [(i,) for i in range(600)])
    third = db.commit().report
    assert [(node.strategy, node.reason) for node in third.nodes] == [
        ("bootstrap", "a changed; 600 of 1,001 input tuples changed")
    ]
    assert (len(db["b"]), third.impact) == (401, 600)


@pytest.mark.parametrize("options", [{"strategy": "quick"}, {"strategy": None}, {"switch": 0}, {"switch": None}])
def test_wrong_strategies_are_refused_and_set_nothing(db: tidelog.Database, options: dict[str, object]) -> None:
    with pytest.raises(tidelog.UsageError) as caught:
        db.options(timeout=0.000001, **options)
    assert caught.value.code == "E0603"
    db.insert("e", [(3, 4)])
    assert db.commit().report.bootstraps == 0
