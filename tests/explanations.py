"""Proofs of the tuples of random databases, checked against the views and against the least heights.

problem = wrong_proofs(db, rng)       # "" or what is wrong with the proofs of some tuples
"""

from __future__ import annotations

import random

import tidelog
from tidelog.explain.checking import ViewTables, check_steps
from tidelog.explain.views import EngineViews
from tidelog.language.inlining import INLINE


def wrong_proofs(db: tidelog.Database, rng: random.Random, most: int = 12) -> str:
    """Return what is wrong with the proofs of some tuples, "" if nothing is: whatever does not hold for a single step,
    or a proof of a tuple by itself."""
    views = ViewTables(db)
    shown = [name for name, each in db.program.relations.items() if INLINE not in each.qualifiers]
    goals = [(name, row) for name in shown for row in db[name]]
    for name, row in rng.sample(sorted(goals, key=repr), min(most, len(goals))):
        proof = db.explain(name, row)
        if (proof.goal.relation, proof.goal.values) != (name, row) or proof.is_partial:
            return f"{name}{row}: {proof!r}"
        try:
            if check_steps(proof.steps, views).granted:
                return f"{name}{row}: something is taken for granted\n{proof}"
        except tidelog.ProofRejected as error:
            return f"{name}{row}: {error}\n{proof}"
        founded = db._explainer.founded_proof(name, row, EngineViews(db.engine))
        try:
            check_steps(founded.steps, views)
        except tidelog.ProofRejected as error:
            return f"{name}{row} by births: {error}\n{founded}"
        if proof.height > founded.height:
            return f"{name}{row}: height {proof.height}, by births {founded.height}\n{proof}\n{founded}"
    return ""
