"""Sequences in rules: which of them are relations of their own, and that this changes no answer."""

from __future__ import annotations

import random

import pytest

import tidelog
from tests.paths.automata import pairs, random_path
from tests.suite import FIRST_SEED
from tidelog.language import check, read
from tidelog.rules import compile_program

EDGES = ".decl a, b, c, v, w(x: number, y: number)\n"


def auxiliary(rules: str) -> set[str]:
    """The relations that a program gets besides its own."""
    core = compile_program(check(read(f"{EDGES}{rules}\n", name="<text>")), as_written=True)
    return {name for name in core.relations if name.startswith("#")}


@pytest.mark.parametrize(
    ("rule", "relations"),
    [
        ("v(x, y) :- <a/b/c>(x, y).", set()),
        ("v(x, y) :- <a/b/c>(x, y), c(y, x), a+(x, y).", {"#path.a+"}),
        ("v(x, y) :- <a/b>(x, y), !<b/c>(x, y).", {"#path.b/c"}),
        ("v(x, y) :- <a/b>(x, y), <b/c>(x, _).", {"#path.a/b", "#path.b/c"}),
        ("v(x, y) :- <a/b>(x, y), <^b/^a>(x, y).", {"#path.a/b"}),
        ("v(x, y) :- <a/b>(x, y), <b/c>(y, 1).", {"#path.a/b"}),
        ("v(x, y) :- <a/b/a/b>(1, x), <b/c>(x, y).", {"#path.b/c"}),
        ("v(x, y) :- a(x, y), (<a/b>(x, y) ; <b/c>(y, x)).", {"#path.a/b", "#path.b/c"}),
        ("v(x, y) :- <a/b/a/b/a/b>(x, y).", {"#path.a/b"}),
        ("v(x, y) :- <a/b/^b/^a>(x, y).", {"#path.a/b"}),
        ("v(x, y) :- <(a/^b)/(a/^b)>(x, y).", {"#path.a/^b"}),
        ("v(x, y) :- <(b/^a)/(b/^a)>(x, y).", {"#path.a/^b"}),
        ("v(x, y) :- <a/b/a>(x, y).", set()),
        ("v(x, y) :- <a/a|c>(x, y).", {"#path.a/a|c"}),
    ],
)
def test_sequences_that_are_relations(rule: str, relations: set[str]) -> None:
    assert auxiliary(rule) == relations


@pytest.mark.parametrize(
    ("longer", "path"),
    [
        ("(a|a/a)+", "a+"),
        ("(a/^b|a/^b/a/^b)*", "(a/^b)*"),
        ("(a/b/c|c|a/b)+", "(a/b|c)+"),
        ("(a/b|b/c|a/b/c)+", "(a/b|b/c|a/b/c)+"),
        ("((a|b)|(a|b)/c)+", "(a|b|(a|b)/c)+"),
        ("(^a/^a|^a)+", "^(a+)"),
        ("(b/^a)+", "^((a/^b)+)"),
    ],
)
def test_a_closure_has_no_alternatives_that_are_sequences_of_others(longer: str, path: str) -> None:
    assert auxiliary(f"v(x, y) :- <{longer}>(x, y).") == auxiliary(f"v(x, y) :- <{path}>(x, y).")


def test_alternatives_outside_of_a_closure_all_count() -> None:
    db = tidelog.connect()
    db.load(EDGES + "v(x, y) :- <(a|a/a)?>(x, y).\nw(x, y) :- <(a|a/a/a)+>(x, y).")
    db.insert("a", [(1, 2), (2, 3), (3, 4)])
    db.commit()
    assert set(db["v"]) == {(x, x) for x in range(1, 5)} | {(1, 2), (2, 3), (3, 4), (1, 3), (2, 4)}
    assert set(db["w"]) == {(x, y) for x in range(1, 5) for y in range(x + 1, 5)}


@pytest.mark.parametrize("strategy", ["update", "auto", "bootstrap"])
@pytest.mark.parametrize("first", range(FIRST_SEED, FIRST_SEED + 30, 10))
def test_several_sequences_follow_the_facts(first: int, strategy: str) -> None:
    """By the judgement of automata, with rules that come and go; the checker agrees about a third."""
    for seed in range(first, first + (10 if strategy == "update" else 4)):
        rng = random.Random(seed)
        texts = ["/".join(random_path(rng, "abc", 1) for _ in range(2)).join(("(", ")")) for _ in range(2)]
        one, two = (f"{text}/{text}" if rng.random() < 0.5 else text for text in texts)
        graph = {name: {(rng.randrange(5), rng.randrange(5)) for _ in range(rng.randrange(1, 7))} for name in "abc"}
        db = tidelog.connect()
        db.options(strategy=strategy)
        db.load(EDGES + f"several: v(x, z) :- <{one}>(x, y), <{two}>(y, z).\nalone: w(x, y) :- <{one}>(x, y).")
        for name, edges in graph.items():
            db.insert(name, edges)
        db.commit()
        for step in range(4):
            name, edge = rng.choice("abc"), (rng.randrange(5), rng.randrange(5))
            with db.transaction() as tx:
                if edge in graph[name]:
                    tx.delete(name, [edge])
                else:
                    tx.insert(name, [edge])
                if step == 1:
                    tx.rules.remove("alone")
                if step == 2:
                    tx.rules.add(f"again: w(y, x) :- <{two}>(x, y), <{one}>(y, x).")
            graph[name] ^= {edge}
            nodes = {value for edges in graph.values() for edge in edges for value in edge}
            ones, twos = pairs(one, graph, nodes), pairs(two, graph, nodes)
            assert set(db["v"]) == {(x, z) for x, y in ones for other, z in twos if y == other}, f"seed {seed}"
            both = ones & {(y, x) for x, y in twos}
            assert set(db["w"]) == (ones, set(), both, both)[step], f"seed {seed}"
        if seed % 3 == 0:
            db.check()


def test_errors_and_reports_name_no_relation_of_a_sequence() -> None:
    db = tidelog.connect()
    db.load(EDGES + "first: v(x, z) :- <a/b>(x, y), <a/b/a/b>(y, z).")
    db.insert("a", [(i, i + 1) for i in range(0, 20, 2)])
    db.insert("b", [(i, i + 1) for i in range(1, 20, 2)])
    change = db.commit()
    assert len(db["v"]) == 8
    assert "#" not in str(change.report)
    assert {name for names in db.hyper_nodes for name in names} == {"first"}
    assert list(db.stats()["relations"]) == ["a", "b", "c", "v", "w"]
    db.options(max_rows=1)
    db.insert("b", [(1, i) for i in range(100, 120)])
    with pytest.raises(tidelog.LimitError) as raised:
        db.commit()
    assert "#" not in str(raised.value)
