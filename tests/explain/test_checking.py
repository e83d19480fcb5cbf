"""The check of proofs rejects every proof that has been altered, for every construct of the language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

import tidelog
from tests import functions
from tests.constructs import CONSTRUCTS, EDGE, EDGES, WEIGHT, WEIGHTS, Construct
from tests.explain.forging import forgeries
from tests.explain.test_proofs import made
from tests.suite import loaded
from tests.texts import cases_of
from tidelog.explain.checking import ViewTables, check_steps
from tidelog.explain.proof import Proof
from tidelog.explain.steps import BoundRule, ProofStep
from tidelog.language.inlining import INLINE
from tidelog.language.syntax import Atom
from tidelog.language.trees import outermost

MORE = (
    Construct(
        "dominated candidates",
        ".decl w(x: symbol, n: number)\n.decl d(x: symbol, n: number)\nd(x, n) :- w(x, n).\n"
        "d(x, n - 3) :- d(x, n), n > 5.\nd(x, n) <= d(x, m) :- m < n, n > 6.",
        {"w": [("a", 9), ("a", 2), ("b", 7)]},
        "",
    ),
    Construct(
        "closures with loops, both ways, extended in front",
        EDGE + ".decl n(x: symbol)\n.decl a(x: symbol, y: symbol)\na(x, x) :- n(x).\na(x, y) :- e(x, y).\n"
        "a(x, z) :- a(x, y), a(y, z).\n"
        ".decl b(x: symbol, y: symbol)\nb(x, y) :- e(y, x).\nb(x, z) :- e(y, x), b(y, z).\n"
        ".decl c(x: symbol, y: symbol)\nc(x, y) :- e(x, y).\nc(y, x) :- c(x, y).\nc(x, z) :- c(x, y), c(y, z).",
        {"e": EDGES, "n": [("q",)]},
        "",
    ),
    Construct(
        "paths of several relations",
        EDGE
        + WEIGHT.replace("w(", "v(").replace(", n: number", "")
        + ".decl p(x: symbol, y: symbol)\np(x, y) :- <e/(v|^e)+/e?>(x, y).",
        {"e": EDGES, "v": [row[:2] for row in WEIGHTS]},
        "",
    ),
    Construct(
        "walks along one edge both ways, and edges of two relations",
        EDGE + EDGE.replace("e(", "v(") + ".decl same(x: symbol, y: symbol) eqrel\n"
        ".decl t(x: symbol, y: symbol)\nt(x, y) :- e(x, y).\nt(x, y) :- v(x, y).\nt(x, z) :- t(x, y), t(y, z).\n"
        ".decl p(x: symbol, y: symbol)\np(x, y) :- v(x, y), e(x, y), t(x, y).\n"
        "p(x, y) :- <(e|^v)+>(x, y), <(e|^v)+>(y, x).\np(x, y) :- same(x, y), same(y, x).",
        {"e": EDGES, "v": EDGES, "same": EDGES[:1]},
        "",
    ),
    Construct(
        "alternatives in groups",
        EDGE + ".decl h(x: symbol, y: symbol) inline\nh(x, y) :- e(x, z), e(z, y).\nh(x, y) :- e(y, x).\n"
        ".decl c(x: symbol, n: number)\nc(x, n) :- e(x, _), n = count : { h(x, _) }.",
        {"e": EDGES},
        "",
    ),
    Construct(
        "members with `_` in records",
        ".type P = [s: symbol, n: number]\n.decl l(x: symbol, p: P)\n.decl c(x: symbol, n: number)\n"
        "c(x, n) :- l(x, _), n = count : { l(x, [_, _]) }.\nc(x, m) :- l(x, _), m = max n : { l(x, [_, n]) }.",
        {"l": [("a", ("s", 1)), ("a", ("t", 2)), ("a", ("t", 3)), ("b", ("s", 4))]},
        "",
    ),
)
KINDS = dict(cases_of(__file__, "kinds"))
"""The kinds of steps in the proofs of each construct: a new one says here which it has."""
OF_ITSELF = {
    "a condition less",
    "a condition of a fact",
    "a condition twice",
    "a cycle",
    "a later premise",
    "a premise less",
    "a premise twice",
    "a rule for a fact",
    "a rule for a walk",
    "a walk for a fact",
    "a walk for a rule",
    "another absent tuple",
    "another condition",
    "another height",
    "another name of the rule",
    "another premise",
    "another sort of condition",
    "another value shown",
    "members of no group",
    "no witness",
    "nothing to show it by",
    "premises swapped",
}
"""The alterations that a check finds without a database."""


def kinds_in(proof: Proof) -> Iterator[str]:
    """Yield the kinds of steps of a proof: their sorts, those of conditions, and the constructs of rules."""
    for step in proof.steps:
        yield "candidate" if step.is_candidate else step.sort
        if step.rivals:
            yield "choice"
        for condition in step.conditions:
            yield condition.sort
            yield from ["witness"] if condition.witness else []
        if not isinstance(step.instance, BoundRule):
            continue
        flat = step.instance.flat
        yield from (each.word for each in outermost(flat.conditions))
        yield from ["counter"] if flat.read else []
        yield from ["several heads"] if len(flat.rule.heads) > 1 else []
        yield from ["path"] if any(premise.atom.path is not None for premise in flat.needed_premises) else []
        if any(not isinstance(literal, Atom) for literal in flat.body[1 : len(flat.body) - len(flat.rule.body)]):
            yield "computed"


def is_rejected(proof: Proof, views: ViewTables | None) -> bool:
    try:
        check_steps(proof.steps, views)
    except tidelog.ProofRejected:
        return True
    return False


def database(construct: Construct) -> tidelog.Database:
    db = tidelog.connect(functors=functions)
    db.load(construct.text)
    for name, rows in construct.facts.items():
        db.insert(name, rows)
    db.commit()
    return db


def proofs_of(db: tidelog.Database) -> Iterator[Proof]:
    """Yield the proofs of some tuples of each relation."""
    for name, relation in db.program.relations.items():
        if INLINE not in relation.qualifiers:
            for row in sorted(db[name], key=repr)[:6]:
                yield db.explain(name, row)


@pytest.mark.parametrize("construct", [*CONSTRUCTS, *MORE], ids=lambda construct: construct.name)
def test_every_altered_step_is_rejected(construct: Construct) -> None:
    db = database(construct)
    views, found, tried = ViewTables(db), set[str](), Counter[str]()
    for proof in proofs_of(db):
        assert not check_steps(proof.steps, views).granted
        proof.check()
        found.update(kinds_in(proof))
        for name, forged in forgeries(proof):
            tried[name] += 1
            assert is_rejected(forged, None if name in OF_ITSELF else views), f"{name}:\n{forged}\nfor\n{proof}"
    assert ", ".join(sorted(found)) == KINDS[construct.name]
    assert min(tried[name] for name in ("another value", "another height", "a premise less", "a fact for a rule")) > 0


def test_each_construct_says_which_kinds_of_steps_its_proofs_have() -> None:
    assert KINDS.keys() == {construct.name for construct in (*CONSTRUCTS, *MORE)}


def test_a_fact_that_is_not_there_is_refused_with_the_views() -> None:
    db = made()
    proof = Proof((ProofStep("e", ("b", "a"), "fact"),))
    proof.check()
    with pytest.raises(tidelog.ProofRejected, match="E0820"):
        proof.check(db)


def test_absent_tuples_and_complete_groups_are_checked_with_the_views() -> None:
    db = made()
    for goal in [("r", ("a", "d")), ("ok", ("a", 3))]:
        proof = db.explain(*goal)
        assert {each.sort for each in proof.check().granted} <= {"negation", "aggregate"}
        assert proof.check().granted
        assert not proof.check(db).granted
    db.insert("blocked", [("a",)])
    db.insert("e", [("a", "zz")])
    proofs = [db.explain(*goal) for goal in [("r", ("a", "d")), ("ok", ("a", 3))]]
    db.commit()
    for proof in proofs:
        with pytest.raises(tidelog.ProofRejected, match="E0820"):
            proof.check(db)


def test_a_negation_that_fails_is_refused_also_where_another_rule_derives_the_tuple() -> None:
    db = loaded(
        ".decl e(x: number) .decl f(x: number) .decl b(x: number) .decl p(x: number) p(x) :- e(x), !b(x)."
        " p(x) :- f(x).",
        {"e": [(1,)]},
    )
    proof = db.explain("p", (1,))
    for name in ("f", "b"):
        proof.check(db)
        db.insert(name, [(1,)])
        db.commit()
    with pytest.raises(tidelog.ProofRejected, match=r"E0820.*`!b\(x\)` does not hold"):
        proof.check(db)


def test_a_tuple_without_values_is_no_edge_of_a_walk() -> None:
    with tidelog.connect() as db:
        db.load(".decl on() on(). .decl e(x: number, y: number) .decl t(x: number, y: number) t(x, y) :- e(x, y).")
        db.load("t(x, z) :- t(x, y), e(y, z).")
        db.insert("e", [(1, 2), (2, 3)])
        db.commit()
        proof = db.explain("t", (1, 3))
        assert proof.steps[-1].sort == "walk"
        forged = [replace(each, relation="on", values=()) if each.sort == "fact" else each for each in proof.steps]
        for views in (None, ViewTables(db)):
            with pytest.raises(tidelog.ProofRejected):
                check_steps(tuple(forged), views)
