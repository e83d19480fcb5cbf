"""Explanations over triples: proofs by the rules of the tables, by hand and for random ontologies; what ends and begins
a triple."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, islice

import pytest

import tidelog
from tests.depth import cases, stride
from tests.explain.forging import forgeries
from tests.rdf.random_ontologies import ontology, triple
from tests.rdf.stores import EXAMPLE, delete, everything, full, insert, short, stored, terms, triples
from tests.rdf.test_rule_tables import CASES, CLASHES
from tests.rdf.w3c import closure
from tidelog.explain.checking import ViewTables, check_steps
from tidelog.explain.proof import Proof
from tidelog.rdf import TYPE, Store, connect
from tidelog.rdf.proofs import TripleProof
from tidelog.rdf.tables import RULE_SETS, TableRule, table


def store_of(text: str, rules: str = "owl-rl") -> Store:
    return stored(terms(sorted(triples(text))), prefix=EXAMPLE, rules=rules)


def explained(store: Store, goal: tuple[str, ...]) -> TripleProof:
    """The proof of a triple of prefixed names, checked."""
    proof = store.explain(*map(full, goal))
    assert proof.goal.values == tuple(map(full, goal))
    assert not proof.check(store).granted
    asserted = set(store.triples(inferred=False))
    assert all(each in asserted for each in proof.triples)
    return proof


@pytest.mark.parametrize("case", CASES)
def test_conclusions_have_proofs_by_the_tables(case: str) -> None:
    store = store_of(CASES[case][0])
    for goal in sorted(everything(store)):
        explained(store, goal)


def test_a_check_of_a_proof_by_the_tables_flattens_no_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    store = store_of(next(iter(CASES.values()))[0])
    proofs = [store.explain(*triple) for triple in store.triples()]
    monkeypatch.setattr("tidelog.explain.checking.flat_rules", None)
    assert not any(proof.check(store).granted for proof in proofs)


@pytest.mark.parametrize("rule", CLASHES)
def test_contradictions_have_proofs(rule: str) -> None:
    store = store_of(CLASHES[rule])
    for row in store.inconsistencies():
        proof = store.explain(*row)
        assert proof.goal.rule == row[0]
        assert not proof.check(store).granted


RULES = [
    (name, rule) for name in RULE_SETS for rule in table(name) if not rule.name.startswith(("list-", "axiom", "dt-eq"))
]


def ground(term: str) -> str:
    """A term for a variable of a table."""
    return f"{EXAMPLE}{term[1:]}" if term.startswith("?") else full(term)


def premises_of(rule: TableRule) -> list[tuple[str, ...]]:
    """Triples from which a rule of a table follows: its body, and lists with one member more than needed."""
    found: list[tuple[str, ...]] = []
    for each in rule.body:
        s, p, o = (ground(term) for term in each.terms[:3])
        if p == "tidelog:member":
            found += [(s, full("rdf:first"), o), (s, full("rdf:rest"), f"{s}2")]
            found += [(f"{s}2", full("rdf:first"), full(":other")), (f"{s}2", full("rdf:rest"), full("rdf:nil"))]
        elif p == "tidelog:cell":
            found += [(s, full("rdf:first"), full(":before")), (s, full("rdf:rest"), o)]
        else:
            found.append((s, p, o))
    return found


_MOST_PROOFS = 25
"""Proofs that are looked at: lists of different individuals have thousands."""


@pytest.mark.parametrize(("rules", "rule"), RULES, ids=lambda each: getattr(each, "name", each))
def test_each_rule_of_a_table_is_named_by_a_proof(rules: str, rule: TableRule) -> None:
    store = stored(premises_of(rule), rules=rules)
    head = rule.head
    goal = [ground(term) for term in head.terms[:3]]
    if head.predicate == "tidelog:false":
        goal = [rule.name, *(ground(term) if term else "" for term in (head.subject, head.object, head.more))]
    proofs = list(islice(store.explain(*goal, all=True), _MOST_PROOFS))
    assert rule.name in {proof.goal.rule for proof in proofs}
    for proof in [*proofs, store.explain(*goal)]:
        assert not proof.check(store).granted
        assert set(proof.triples) <= set(store.triples(inferred=False))


def random_store(rng: random.Random, rules: str = "owl-rl") -> Store:
    store = connect(rules=rules)
    for _ in range(rng.randrange(1, 4)):
        insert(store, sorted(ontology(rng) | {triple(rng, 0.1) for _ in range(rng.randrange(8))}))
        store.commit()
    return store


@pytest.mark.parametrize("seed", range(0, 12, stride(6)))
def test_triples_of_random_ontologies_have_proofs(seed: int) -> None:
    rng = random.Random(seed)
    store = random_store(rng, "rdfs" if seed % 5 == 4 else "owl-rl")
    goals = [tuple(each) for each in store.triples()] + [tuple(each) for each in store.inconsistencies()]
    views = store.proof_views()
    for goal in rng.sample(sorted(goals), min(25, len(goals))):
        founded = store._explainer.founded_proof(goal, store._now())
        for proof in (store.explain(*goal), founded):
            assert proof.goal.values == goal
            assert not check_steps(proof.steps, views).granted
            assert not proof.is_partial


@pytest.mark.parametrize("seed", range(cases(12)))
def test_what_ends_triples_is_what_brute_force_finds(seed: int) -> None:
    """Owl:Thing is left out: the store does not follow all ways to it."""
    rng = random.Random(seed)
    asserted = sorted(
        {triple(rng, 0.1) for _ in range(7)} | {(":A", "rdfs:subClassOf", ":B"), (":a", "rdf:type", ":A")}
    )
    store = stored(terms(asserted), rules="owl-rl")
    goals = [each for each in sorted(everything(store) - set(asserted)) if each[2] != "owl:Thing"]
    subsets = [frozenset(each) for size in range(1, 4) for each in combinations(asserted, size)]
    without = {gone: closure(set(asserted) - gone)[0] for gone in subsets}
    for goal in rng.sample(goals, min(3, len(goals))):
        ends = [gone for gone in subsets if goal not in without[gone]]
        expected = {gone for gone in ends if not any(other < gone for other in ends)}
        found = [frozenset(tuple(map(short, each)) for each in gone) for gone in store.ways_to_remove(*map(full, goal))]
        assert {gone for gone in found if len(gone) < 4} == expected
        assert [len(gone) for gone in found] == sorted(map(len, found))


PROGRAM = """
@prefix ex: <http://example.org/> .
.decl circle(x: symbol)
.decl size(n: number)
adults: ex:Adult(x) :- ex:age(x, v), xsd:integer(v, n), n >= 18, !ex:Child(x).
circle: circle(x) :- ex:knows+(ex:ann, x).
sized: size(n) :- n = count : { ex:knows(_, _) }.
typed: rdf:type(x, c) :- ex:is(x, c).
every: ex:named(s, "yes") :- triple(s, ex:name, _).
"""
DATA = """
@prefix ex: <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:ann ex:knows ex:bob ; ex:age 41 ; ex:is ex:Cook ; ex:name "Ann" . ex:bob ex:knows ex:cy .
ex:Cook rdfs:subClassOf ex:Person .
"""


@pytest.fixture
def people() -> Store:
    return stored(DATA, rules=("rdfs", PROGRAM))


def ex(*names: str) -> tuple[str, ...]:
    return tuple(TYPE if name == "a" else EXAMPLE + name for name in names)


def test_rules_of_programs_are_shown_as_written(people: Store) -> None:
    proof = people.explain(*ex("ann", "a", "Adult"))
    first, *_, last = str(proof).splitlines()
    assert first == "ex:ann a ex:Adult   [adults at <text>:5:1]"
    assert '├─ ex:ann ex:age "41"^^xsd:integer   [fact]' in str(proof)
    assert last == "└─ !ex:Child(ex:ann)"
    assert not proof.check(people).granted
    assert [each.text for each in proof.check().granted] == ["!ex:Child(ex:ann)"]


def test_internal_relations_are_not_shown(people: Store) -> None:
    proof = people.explain(*ex("ann", "a", "Person"))
    assert (
        str(proof)
        == """\
ex:ann a ex:Person   [rdfs9]
├─ ex:ann a ex:Cook   [typed at <text>:8:1]
│  └─ ex:ann ex:is ex:Cook   [fact]
└─ ex:Cook rdfs:subClassOf ex:Person   [fact]"""
    )
    assert not proof.check(people).granted
    named = people.explain(*ex("ann", "named"), '"yes"')
    assert (
        str(named)
        == """\
ex:ann ex:named "yes"   [every at <text>:9:1]
└─ ex:ann ex:name "Ann"   [fact]"""
    )
    assert not named.check(people).granted
    assert named.to_dict()["steps"][0]["triple"] == [*ex("ann", "name"), '"Ann"']


def test_texts_that_cannot_be_printed_are_shown_by_escapes() -> None:
    rules = r"""
@prefix ex: <http://example.org/> .
.decl odd(x: symbol, y: symbol)
odd: odd(x, "urn:\0\u202e\\\"") :- ex:p(x, _), x != "\x07 \\".
"""
    store = stored("<http://example.org/x> <http://example.org/p> <urn:é> .", rules=("rdfs", rules))
    text = 'urn:\0\u202e\\"'
    found = store.explain("odd", ("http://example.org/x", text))
    assert str(found) == (
        'odd(ex:x, "urn:\\0\\u202e\\\\\\"")   [odd at <text>:4:1]\n'
        "├─ ex:x ex:p <urn:é>   [fact]\n"
        '└─ ex:x != "\\x07 \\\\"'
    )
    assert found.to_dict()["steps"][-1]["rule_text"].endswith('ex:p(x, _), x != "\\x07 \\\\".')
    assert str(store.why_not("odd", ("http://example.org/y", text))).startswith('odd(ex:y, "urn:\\0')
    assert str(store.blame("odd", ("http://example.org/x", text))).startswith("odd(ex:x, ")


def test_tuples_of_a_program_have_proofs(people: Store) -> None:
    proof = people.explain("circle", ex("cy"))
    assert (
        str(proof)
        == """\
circle(ex:cy)   [circle at <text>:6:1]
└─ ex:knows+(ex:ann, ex:cy)   [a walk of 2 steps]
   ├─ ex:ann ex:knows ex:bob   [fact]
   └─ ex:bob ex:knows ex:cy   [fact]"""
    )
    assert not proof.check(people).granted
    sized = people.explain("size", (2,))
    assert "[2 members: ex:knows(ex:ann, ex:bob), ex:knows(ex:bob, ex:cy)]" in str(sized)
    assert not sized.check(people).granted
    removals = [(ex("ann", "knows", "bob"),), (ex("bob", "knows", "cy"),)]
    assert list(people.ways_to_remove("circle", ex("cy"))) == removals


def test_an_axiom_with_a_list_is_one_line() -> None:
    store = store_of(CASES["intersection"][0])
    proof = store.explain(*map(full, (":x", "rdf:type", ":A")))
    assert (
        str(proof)
        == """\
:x a :A   [cls-int1]
├─ :x a :B   [fact]
├─ :x a :C   [fact]
└─ :A owl:intersectionOf (:B :C)   [axiom]"""
    )
    assert len(proof.triples) == 7
    assert "rdf:first" not in proof.to_dot()
    assert proof.to_html().count("owl:intersectionOf (") == 1


def test_contradictions_and_what_ends_them() -> None:
    store = store_of(CLASHES["cax-dw"])
    (row,) = store.inconsistencies()
    assert (
        str(store.explain(*row))
        == """\
inconsistent: :x, :A, :B   [cax-dw]
├─ :x a :A   [fact]
├─ :x a :B   [fact]
└─ :A owl:disjointWith :B   [fact]"""
    )
    found = list(store.ways_to_remove(*row))
    assert {frozenset(each) for each in found} == {
        frozenset([tuple(map(full, each))]) for each in triples(CLASHES["cax-dw"])
    }


def test_an_absence_names_rules_and_axioms() -> None:
    store = store_of(":A rdfs:subClassOf :B; :p rdfs:domain :A; :x :q :y")
    absence = store.why_not(*map(full, (":x", "rdf:type", ":B")))
    assert (
        str(absence)
        == """\
:x a :B does not hold: no rule derives it
  [cax-sco]
    holds: :A rdfs:subClassOf :B
    fails: :x a :A
    :x a :A does not hold: no rule derives it
      [prp-dom]
        holds: :p rdfs:domain :A
        fails: :x :p ?y"""
    )
    assert str(store.why_not(*map(full, (":x", ":new", ":y")))) == ":x :new :y does not hold: it is not asserted"
    assert absence.to_dict()["tuple"] == list(map(full, (":x", "rdf:type", ":B")))


def test_what_begins_a_triple(people: Store) -> None:
    found = list(people.ways_to_derive(*ex("bob", "a", "Person")))
    assert found == [(ex("bob", "a", "Cook"),), (ex("bob", "is", "Person"),), (ex("bob", "is", "Cook"),)]


def test_a_trial_is_undone(people: Store) -> None:
    before, heard = sorted(people.triples()), list[object]()
    people.subscribe(heard.append)
    with people.what_if() as trial:
        trial.insert(
            "@prefix ex: <http://example.org/> . ex:Person <http://www.w3.org/2000/01/rdf-schema#subClassOf> ex:Agent ."
        )
        trial.delete([ex("ann", "is", "Cook")])
        trial.insert([ex("bob", "is", "Cook")])
    assert trial.change is not None
    assert set(trial.change.deleted) >= {ex("ann", "is", "Cook"), ex("ann", "a", "Person")}
    assert ex("bob", "a", "Agent") in set(trial.change.inserted)
    assert sorted(people.triples()) == before
    assert not people.has_pending
    assert not heard
    people.check()
    people.insert([ex("bob", "is", "Cook")])
    assert set(people.commit().inserted) == {ex("bob", "is", "Cook"), ex("bob", "a", "Cook"), ex("bob", "a", "Person")}


def test_wrong_goals(people: Store) -> None:
    for goal, code in (
        (ex("ann", "a", "Nobody"), "E0670"),
        (ex("ann"), "E0673"),
        (("circle", ex("ann")), "E0670"),
        (("square", ex("ann")), "E0601"),
        ((5, None, 7), "E0465"),
    ):
        with pytest.raises(tidelog.TidelogError, match=code):
            people.explain(*goal)
    with pytest.raises(tidelog.UsageError, match="E0672"):
        people.why_not(*ex("ann", "knows", "bob"))
    for depth in (-1, 101):
        with pytest.raises(tidelog.UsageError, match="E0635"):
            people.why_not(*ex("bob", "a", "Person"), depth=depth)


def test_explanations_are_those_of_one_commit(people: Store) -> None:
    proofs = people.explain(*ex("ann", "a", "Person"), all=True)
    next(proofs)
    others: list[Iterator[object]] = [
        people.explain(*ex("ann", "a", "Person"), all=True),
        people.ways_to_remove(*ex("ann", "a", "Person")),
        people.ways_to_derive(*ex("bob", "a", "Person")),
    ]
    people.insert([ex("ann", "knows", "cy")])
    for call, ask in (("ways_to_remove", people.ways_to_remove), ("ways_to_derive", people.ways_to_derive)):
        with pytest.raises(tidelog.UsageError, match=rf"E0606.*`{call}\(\)` while"):
            ask(*ex("ann", "a", "Person"))
    people.commit()
    for each in (proofs, *others):
        with pytest.raises(tidelog.UsageError, match="E0671"):
            next(each)


def test_a_proof_with_a_fault_is_rejected() -> None:
    store = store_of(CASES["sub-classes"][0] + "; :y rdf:type :B")
    proof = store.explain(*map(full, (":x", "rdf:type", ":C")))
    last = proof.steps[-1]
    others = (
        {"rule": "prp-dom"},
        {"values": tuple(map(full, (":y", "rdf:type", ":C")))},
        {"premises": last.premises[:1]},
    )
    for fault in others:
        with pytest.raises(tidelog.ProofRejected, match="E0820"):
            replace(proof, steps=(*proof.steps[:-1], replace(last, **fault))).check()
    list_proof = store_of(CASES["intersection"][0]).explain(*map(full, (":x", "rdf:type", ":A")))
    for number, step in enumerate(list_proof.steps):
        if step.sort == "axiom":
            fewer = replace(step, premises=step.premises[:-1])
            with pytest.raises(tidelog.ProofRejected, match="E0820"):
                replace(list_proof, steps=(*list_proof.steps[:number], fewer, *list_proof.steps[number + 1 :])).check()


STILL_PROOFS = {"a premise twice", "premises swapped", "the tuple of another step"}
"""Alterations that may leave a proof: the order of premises does not count, and some rules derive both directions."""


def assert_forgeries_rejected(proof: Proof, views: ViewTables) -> None:
    for name, forged in forgeries(proof):
        if name not in STILL_PROOFS:
            with pytest.raises(tidelog.ProofRejected, match="E0820"):
                check_steps(forged.steps, views)


@pytest.mark.parametrize("case", CASES)
def test_every_altered_step_of_a_conclusion_is_rejected(case: str) -> None:
    store = store_of(CASES[case][0])
    for goal in sorted(everything(store))[:3]:
        assert_forgeries_rejected(store.explain(*map(full, goal)), store.proof_views())


@pytest.mark.parametrize("rule", CLASHES)
def test_every_altered_step_of_a_contradiction_is_rejected(rule: str) -> None:
    store = store_of(CLASHES[rule])
    for row in store.inconsistencies():
        proof = store.explain(*row)
        assert_forgeries_rejected(proof, store.proof_views())
        for values in ((f"{row[0]}-", *row[1:]), (*row[:3], f"{row[3]}-")):
            with pytest.raises(tidelog.ProofRejected, match="E0820"):
                replace(proof, steps=(*proof.steps[:-1], replace(proof.goal, values=values))).check()


def test_every_altered_step_of_a_program_is_rejected(people: Store) -> None:
    goals = (ex("ann", "a", "Adult"), ("circle", ex("cy")), ("size", (2,)), (*ex("ann", "named"), '"yes"'))
    for goal in goals:
        assert_forgeries_rejected(people.explain(*goal), people.proof_views())


def test_a_premise_stands_for_its_own_triple_only() -> None:
    store = store_of(CASES["sub-classes"][0] + "; :y rdf:type :B")
    proof, other = store.explain(*map(full, (":x", "rdf:type", ":C"))), tuple(map(full, (":y", "rdf:type", ":B")))
    for number, step in enumerate(proof.steps[:-1]):
        forged = (*proof.steps[:number], replace(step, values=other), *proof.steps[number + 1 :])
        with pytest.raises(tidelog.ProofRejected, match="E0820"):
            replace(proof, steps=forged).check()


def test_blame_counts_commits(people: Store) -> None:
    assert people.blame(*ex("ann", "a", "Person")).epoch == 1
    people.insert([ex("bob", "is", "Cook")])
    people.commit()
    people.delete([ex("Cook", "a", "x")])
    people.commit()
    with people.what_if() as trial:
        trial.delete([ex("ann", "is", "Cook"), ex("bob", "is", "Cook")])
        trial.rules.remove("typed")
    assert (
        str(people.blame(*ex("bob", "a", "Person")))
        == """\
ex:bob a ex:Person holds since epoch 2
  fact: ex:bob ex:is ex:Cook"""
    )
    assert people.blame(*ex("ann", "a", "Person")).epoch == 1
    subclass = (EXAMPLE + "Cook", full("rdfs:subClassOf"), EXAMPLE + "Person")
    people.delete([subclass])
    people.commit()
    people.insert([subclass])
    people.load("again: ex:Guest(x) :- ex:Person(x).")
    people.commit()
    assert people.blame(*ex("ann", "a", "Person")).facts == (("rdf:triple", subclass),)
    guest = people.blame(*ex("ann", "a", "Guest"))
    assert (guest.epoch, guest.rules) == (5, ("again",))


@pytest.mark.parametrize("seed", range(cases(8)))
def test_blame_is_what_brute_force_finds(seed: int) -> None:
    rng, store, ages = random.Random(seed), connect(rules="owl-rl"), dict[tuple[str, str, str], int]()
    for epoch in range(1, 6):
        came = {triple(rng, 0.1) for _ in range(rng.randrange(1, 6))}
        gone = set(rng.sample(sorted(ages), min(len(ages), rng.randrange(3)))) - came
        insert(store, sorted(came))
        delete(store, sorted(gone))
        store.commit()
        ages = {each: age for each, age in ages.items() if each not in gone} | dict.fromkeys(came - ages.keys(), epoch)
    models = {epoch: closure({each for each, age in ages.items() if age <= epoch})[0] for epoch in range(1, 6)}
    goals = [each for each in sorted(everything(store)) if each[2] != "owl:Thing"]
    for goal in rng.sample(goals, min(20, len(goals))):
        blame = store.blame(*map(full, goal))
        assert blame.epoch == min(epoch for epoch, model in models.items() if goal in model)
        assert not blame.proof.check(store).granted  # type: ignore[arg-type]  # It is one of triples.
