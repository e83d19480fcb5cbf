"""Paths follow the facts and the rules, under each strategy."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import tidelog
from tests.paths.automata import pairs, random_path
from tests.recount import mistakes, state_of
from tests.scripts import Script, run, scripted
from tests.suite import FIRST_SEED, chunks, loaded

EDGES = "".join(f".decl {name}(x: number, y: number)\n" for name in "abc")


def in_chunks(count: int, offset: int = 0) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("seeds", chunks(FIRST_SEED + offset, count, 20))


# --- facts, by the judgement of automata -----------------------------------------------------------------------------


@in_chunks(120)
@pytest.mark.parametrize("strategy", ["update", "auto", "bootstrap"])
def test_paths_follow_the_facts(strategy: str, seeds: range) -> None:
    for seed in seeds if strategy == "update" else seeds[::2]:
        rng = random.Random(seed)
        path = random_path(rng, "abc")
        graph = {name: {(rng.randrange(6), rng.randrange(6)) for _ in range(rng.randrange(1, 8))} for name in "abc"}
        db = tidelog.connect()
        db.load(EDGES + f".decl v(x: number, y: number)\nv(x, y) :- <{path}>(x, y).\n")
        db.options(strategy=strategy)
        for name, edges in graph.items():
            db.insert(name, sorted(edges))
        db.commit()
        before = set(db["v"])
        bootstraps = updates = 0
        for _ in range(6):
            with db.transaction() as tx:
                for name, edges in graph.items():
                    drop = set(rng.sample(sorted(edges), min(len(edges), rng.randrange(3))))
                    add = {(rng.randrange(6), rng.randrange(6)) for _ in range(rng.randrange(3))}
                    tx.delete(name, sorted(drop))
                    tx.insert(name, sorted(add))
                    graph[name] = edges - drop | add
            assert tx.change is not None
            bootstraps += tx.change.report.bootstraps
            updates += tx.change.report.updates
            nodes = {value for edges in graph.values() for edge in edges for value in edge}
            expected = pairs(path, graph, nodes)
            assert set(db["v"]) == expected, f"seed {seed}, {path}"
            assert set(tx.change["v"].inserted) == expected - before, f"seed {seed}, {path}"
            assert set(tx.change["v"].deleted) == before - expected, f"seed {seed}, {path}"
            before = set(db["v"])
        assert bootstraps + updates > 0
        assert bootstraps == 0 or strategy != "update"


# --- facts and rules, views and counts and births of every relation --------------------------------------------------


def path_script(seed: int) -> Script:
    """A random script over rules with paths. `d` is given or derived, as its rules come and go."""
    rng = random.Random(seed)

    def path(names: str = "abcd", depth: int = 2) -> str:
        return f"<{random_path(rng, names, depth)}>"

    shapes: list[Callable[[], str]] = [
        lambda: f"v(x, y) :- {path()}(x, y).",
        lambda: f"v(y, x) :- {path()}(x, y), x != y.",
        lambda: f"w(x, y) :- {path()}(x, z), a(z, y).",
        lambda: f"w(x, y) :- v(x, y), !{path()}(x, y).",
        lambda: f"w(x, y) :- a(x, y), !{path()}(y, _).",
        lambda: f"w(x, y) :- {path('abv', 1)}(x, y), ({path()}(x, x) ; {path()}(2, y)).",
        lambda: "u(x, y) :- b(x, y).",
        lambda: f"u(x, y) :- {path('abu')}(x, y).",
        lambda: f"u(x, x) :- {path('abv')}(x, x), {path()}(x, 1).",
        lambda: f"n(x, c) :- a(x, _), c = count : {{ {path()}(x, _) }}.",
        lambda: f"n(x, c) :- a(x, _), c = max z : {{ {path('abv')}(x, z), !{path()}(z, x) }}.",
        lambda: "d(x, y) :- a(x, y), !b(y, x).",
        lambda: f"d(x, y) :- {path('abc')}(x, y).",
    ]
    rules = list(dict.fromkeys(rng.choice(shapes)() for _ in range(rng.randint(2, 5))))
    declarations = "\n".join(f".decl {name}(x: number, y: number)" for name in "abcduvwn")
    names = [name for name in "abcduv" if name in "abcd" or rng.random() < 0.3]
    pool: dict[str, list[tuple[Any, ...]]] = {
        name: [(rng.randrange(5), rng.randrange(5)) for _ in range(8)] for name in names
    }
    return scripted(rng, declarations, rules, pool)


@in_chunks(240, 10_000)
@pytest.mark.parametrize("strategy", ["update", "auto", "bootstrap"])
def test_random_scripts(strategy: str, seeds: range) -> None:
    for seed in seeds if strategy == "update" else seeds[::4]:
        script = path_script(seed)
        problem = run(script, strategy)
        assert not problem, f"{problem}\n{script}"


# --- what counts as a node changes with the rules --------------------------------------------------------------------


def opened(text: str, **facts: list[tuple[Any, ...]]) -> tidelog.Database:
    return loaded(text, facts, strategy="update")


def right(db: tidelog.Database, **facts: set[tuple[Any, ...]]) -> bool:
    """Return True if views, counts and births are those of an evaluation from scratch over these facts."""
    return not mistakes(db, state_of(db), facts)


def loops(*nodes: int) -> set[tuple[int, int]]:
    return {(node, node) for node in nodes}


def test_a_relation_that_gets_a_rule_gives_no_nodes_any_more() -> None:
    db = opened(EDGES + ".decl v(x: number, y: number)\nv(x, y) :- a*(x, y).", a=[(1, 2)], b=[(7, 8)], c=[(2, 9)])
    assert set(db["v"]) == {(1, 2)} | loops(1, 2, 7, 8, 9)
    with db.transaction() as tx:
        tx.rules.add("copy: b(x, y) :- c(x, y).")
    assert set(db["v"]) == {(1, 2)} | loops(1, 2, 9)
    assert tx.change is not None
    assert set(tx.change["v"].deleted) == loops(7, 8)
    assert tx.change.report.bootstraps == 0
    assert right(db, a={(1, 2)}, b={(7, 8)}, c={(2, 9)})
    with db.transaction() as tx:
        tx.insert("b", [(5, 5)])
    assert tx.change is not None
    assert "v" not in set(tx.change)
    with db.transaction() as tx:
        tx.rules.remove("copy")
        tx.delete("c", [(2, 9)])
    assert set(db["v"]) == {(1, 2)} | loops(1, 2, 5, 7, 8)
    assert right(db, a={(1, 2)}, b={(7, 8), (5, 5)}, c=set())


def test_a_relation_declared_later_gives_nodes() -> None:
    db = opened(EDGES + ".decl v(x: number, y: number)\nv(x, y) :- <a?>(x, y).", a=[(1, 2)])
    with db.transaction() as tx:
        tx.rules.add('.decl more(x: number, y: symbol)\nmore(4, "four").')
    assert tx.change is not None
    assert (set(tx.change["v"].inserted), set(tx.change["v"].deleted)) == (loops(4), set())
    assert tx.change.report.bootstraps == 0
    assert right(db, a={(1, 2)}, more={(4, "four")})


def test_the_first_and_the_last_given_relation_of_a_type() -> None:
    text = ".decl a, v(x: number, y: number) .decl one(x: number)\na(x, x + 1) :- one(x).\nv(x, y) :- a*(x, y)."
    db = opened(text, one=[(1,)])
    assert set(db["v"]) == {(1, 2)}
    with db.transaction() as tx:
        tx.rules.add(".decl b(x: number, y: number)")
        tx.insert("b", [(1, 5)])
    assert set(db["v"]) == {(1, 2)} | loops(1, 5)
    with db.transaction() as tx:
        tx.rules.add("b(x, x) :- one(x).")
    assert set(db["v"]) == {(1, 2)}
    assert right(db, one={(1,)}, b={(1, 5)})


# --- paths come and go with the rules that need them -----------------------------------------------------------------


def test_rules_share_a_path_and_the_last_one_takes_it_away() -> None:
    db = opened(EDGES + ".decl v, w(x: number, y: number)\none: v(x, y) :- a+(x, y).", a=[(1, 2), (2, 3)])
    with db.transaction() as tx:
        tx.rules.add("two: w(y, x) :- <((a)+)+>(x, y), x < 2.")
    assert tx.change is not None
    assert [node.rules for node in tx.change.report.nodes if node.strategy != "skip"] == [("two",)]
    with db.transaction() as tx:
        tx.rules.remove("one")
        tx.insert("a", [(3, 4)])
    assert tx.change is not None
    assert tx.change.report.bootstraps == 0
    assert (set(db["v"]), set(db["w"])) == (set(), {(2, 1), (3, 1), (4, 1)})
    assert right(db, a={(1, 2), (2, 3), (3, 4)})
    with db.transaction() as tx:
        tx.rules.remove("two")
    assert tx.change is not None
    assert right(db, a={(1, 2), (2, 3), (3, 4)})
    assert [name for name in db.engine.views if name.startswith("#path")] == []


def test_a_rule_with_a_wrong_path_changes_nothing() -> None:
    db = opened(EDGES + ".decl v(x: number, y: number)\n.decl s(x: symbol, y: symbol)", a=[(1, 2)])
    for rule, code in (
        ("v(x, y) :- <a/s>(x, y).", "E0224"),
        ("v(x, y) :- t+(x, y).", "E0201"),
        ("a(x, y) :- a(x, y), !a+(y, x).", "E0301"),
        ("a(x, y + 1) :- a*(x, y).", "E0305"),
    ):
        with pytest.raises(tidelog.ProgramError) as raised:
            db.rules.add(rule)
        assert [problem.code for problem in raised.value.problems] == [code]
    db.rules.add("v(x, y) :- a+(x, y).")
    db.commit()
    assert set(db["v"]) == {(1, 2)}


# --- nothing auxiliary shows -----------------------------------------------------------------------------------------


def test_users_see_their_own_relations_and_rules_only() -> None:
    db = tidelog.connect()
    db.load(EDGES + ".decl v, w(x: number, y: number)\nfirst: v(x, y) :- <(a/b|^c)*>(x, y), !a?(x, y).")
    db.insert("a", [(1, 2)])
    change = db.commit()
    db.insert("b", [(2, 3)])
    later = db.commit()
    assert db.relations == ("a", "b", "c", "v", "w")
    assert list(db.rules) == ["first"]
    assert db.rules["first"] == "first: v(x, y) :- <(a/b|^c)*>(x, y), !a?(x, y)."
    assert set(later) == {"b", "v"}
    assert {name for names in db.hyper_nodes for name in names} == {"first"}
    assert list(db.stats()["relations"]) == ["a", "b", "c", "v", "w"]
    for report in (change.report, later.report):
        assert {name for node in report.nodes for name in node.relations} <= {"v"}
        assert "#" not in str(report)
