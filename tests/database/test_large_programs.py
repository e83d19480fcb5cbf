"""A program as large code bases for Soufflé are: components in components, macros, 300 relations and 1,000 rules, with
what such programs have besides: `ord` of symbols and records, plans, options with typing errors, `cat` of one text."""

from __future__ import annotations

import random

import tidelog
from tests.generate import Row
from tests.suite import FIRST_SEED, views
from tidelog.language import check, read, warnings
from tidelog.reference import seminaive
from tidelog.rules import compile_program

HEAD = """\
#define TEXT(first, ...) cat(first, __VA_ARGS__)
#define LEAST(relation, group, value) \\
    least_of_##relation(group, value) :- relation(group, value), ord(value) = least, \\
        least = min ord(k) : { relation(group, k) }.
#define LABEL(x) cat(x)
.type Node <: symbol
.type Pair = [from: Node, to: Node]
.decl edge(x: Node, y: Node)
.input edge(IO=file, delimitr=",")
.decl weight(x: Node, w: unsigned)
.decl cost(x: Node, c: number)
.decl known(x: Node) inline
known(x) :- edge(x, _), !cost(x, 7).
.decl bad(x: Node)
bad(x) :- cost(x, 7).

.comp Graph<Element> {
  .decl link(x: Element, y: Element)
  .decl path(x: Element, y: Element) overridable
  path(x, y) :- link(x, y).
  path(x, z) :- path(x, y), known(y), link(y, z).
  .plan 0: (3, 1, 2)
  .decl least_of_path(x: Element, y: Element)
  LEAST(path, x, y)
  .decl label(x: Element, text: symbol)
  label(x, LABEL(x)) :- link(x, _).
  .decl price(x: Element, p: number)
  price(x, as(p, number)) :- link(x, _), (weight(x, p) ; cost(x, p)).
  .decl pair(p: Pair)
  pair([x, y]) :- link(x, y).
  .decl before(x: Element, y: Element)
  before(x, y) :- pair(p), pair(q), p = [x, _], q = [y, _], ord(p) < ord(q).
}
.comp Layer<Element> {
  .init graph = Graph<Element>
  .decl chosen(x: Element)
  chosen(x) :- graph.least_of_path(_, x), !bad(x).
}
.comp Analysis<Element> : Layer<Element> {
  .init lower = Layer<Element>
  lower.graph.link(x, y) :- graph.path(x, y), chosen(x).
  .decl result(x: Element, text: symbol)
  result(x, TEXT(text, "!")) :- lower.graph.label(x, text), lower.chosen(x).
}
"""
INSTANCES, RULES = 20, 33


def large_program(rng: random.Random) -> str:
    """Instances that read those before them."""
    parts = [HEAD]
    for i in range(INSTANCES):
        own = f"a{i}"
        parts.append(f".init {own} = Analysis<Node>\n{own}.graph.link(x, y) :- edge(x, y).\n")
        for _ in range(RULES if i else 0):
            other = f"a{rng.randrange(i)}"
            rules = (
                f"{own}.graph.link(x, y) :- {other}.graph.before(x, y), !bad(y).",
                f'{own}.graph.link(x, x) :- {other}.result(x, t), contains("{rng.choice("ab")}", t).',
                f"{own}.result(x, LABEL(t)) :- {other}.graph.label(x, t), (weight(x, n) ; cost(x, n)), known(x).",
                f"{own}.chosen(x) :- {other}.lower.graph.price(x, p), p > {rng.randrange(5)}.",
                f"{own}.lower.graph.label(x, TEXT(y, x)) :- {other}.lower.graph.least_of_path(x, y).\n.plan 0: (1)",
            )
            parts.append(f"{rng.choice(rules)}\n")
    return "".join(parts)


def facts(rng: random.Random) -> dict[str, list[Row]]:
    nodes = ["a", "ab", "abc", "b", "", "é"]
    return {
        "edge": [(rng.choice(nodes), rng.choice(nodes)) for _ in range(6)],
        "weight": [(rng.choice(nodes), rng.choice((1, 2**64 - 1))) for _ in range(3)],
        "cost": [(rng.choice(nodes), rng.choice((7, -8, 3))) for _ in range(3)],
    }


def test_a_large_program_has_the_views_of_the_reference_after_each_change() -> None:
    rng = random.Random(f"large {FIRST_SEED}")
    text = large_program(rng)
    checked = check(read(text))
    core = compile_program(checked)
    assert len(checked.relations) > 300
    assert len(checked.rules) > 1_000
    assert {problem.code for problem in warnings(checked)} >= {"E0290"}
    db = tidelog.connect()
    db.load(text)
    for _ in range(2):
        given = facts(rng)
        for name, rows in given.items():
            db.delete(name, list(db[name]))
            db.insert(name, rows)
        db.commit()
        tables = seminaive.evaluate(core, given)
        assert views(db) == {name: set(tables[name]) for name in checked.relations}
