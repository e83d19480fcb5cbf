"""The check of proofs refuses every proof that has been altered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

import tidelog
from tests.explain.test_proofs import PROOFS, made
from tidelog.explain.proof import Proof
from tidelog.explain.steps import BoundRule, ProofStep


def with_goal(proof: Proof, **changes: object) -> Proof:
    return Proof((*proof.steps[:-1], replace(proof.goal, **changes)))  # type: ignore[arg-type]


def other_value(step: ProofStep) -> ProofStep:
    return replace(step, values=(*step.values[:-1], "zz"))


FORGERIES: dict[str, Callable[[Proof], Proof]] = {
    "another tuple": lambda proof: Proof((*proof.steps[:-1], other_value(proof.goal))),
    "another relation": lambda proof: with_goal(proof, relation="e"),
    "a premise less": lambda proof: with_goal(proof, premises=proof.goal.premises[1:]),
    "a premise twice": lambda proof: with_goal(proof, premises=(*proof.goal.premises, proof.goal.premises[0])),
    "the tuple itself as a premise": lambda proof: with_goal(
        proof, premises=(len(proof.steps) - 1, *proof.goal.premises[1:])
    ),
    "another premise": lambda proof: Proof(
        (replace(proof.steps[0], values=("zz", *proof.steps[0].values[1:])), *proof.steps[1:])
    ),
    "another height": lambda proof: with_goal(proof, height=7),
    "no instance": lambda proof: with_goal(proof, instance=None),
}


@pytest.mark.parametrize("goal", [goal for goal in PROOFS if goal[0] != "e"], ids=lambda goal: goal[0])
@pytest.mark.parametrize("forgery", FORGERIES)
def test_an_altered_step_is_refused(goal: tuple[str, tuple[object, ...]], forgery: str) -> None:
    db = made()
    proof = db.explain(*goal)
    proof.check()
    with pytest.raises(tidelog.ProofRejected, match="E0820"):
        FORGERIES[forgery](proof).check()


def with_variable(proof: Proof, name: str, value: object) -> Proof:
    instance = proof.goal.instance
    assert isinstance(instance, BoundRule)
    return with_goal(proof, instance=replace(instance, values={**instance.values, name: value}))


def test_values_that_do_not_satisfy_a_condition_are_refused() -> None:
    db = made()
    proof = with_variable(db.explain("ok", ("a", 3)), "n", -1)
    with pytest.raises(tidelog.ProofRejected, match="E0820"):
        proof.check()


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
