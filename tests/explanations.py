"""Proofs of the tuples of random databases, checked against the views and against the least heights.

problem = wrong_proofs(db, rng)       # "" or what is wrong with the proofs of some tuples
"""

from __future__ import annotations

import random
from collections.abc import Mapping

import tidelog
from tests.generate import Row
from tidelog.explain.checking import check_proof
from tidelog.reference.paths import WithPaths

Tables = Mapping[str, set[Row]]


def tables_of(db: tidelog.Database) -> Tables:
    """Return all views as sets of tuples, and the pairs of the paths of the program."""
    inline = {name for name, relation in db.program.relations.items() if "inline" in relation.qualifiers}
    return WithPaths({name: set(db[name]) if name not in inline else set() for name in db.relations}, db.program)


def wrong_proofs(db: tidelog.Database, rng: random.Random, most: int = 12) -> str:
    """Return what is wrong with the proofs of some tuples, "" if nothing is: whatever does not hold for a single step,
    or a proof of a tuple by itself."""
    tables = tables_of(db)
    goals = [(name, row) for name in db.relations for row in tables[name]]
    for name, row in rng.sample(sorted(goals, key=repr), min(most, len(goals))):
        proof = db.explain(name, row)
        if (proof.goal.relation, proof.goal.values) != (name, row) or proof.is_partial:
            return f"{name}{row}: {proof!r}"
        try:
            if check_proof(proof, tables).granted:
                return f"{name}{row}: something is taken for granted\n{proof}"
        except tidelog.ProofRejected as error:
            return f"{name}{row}: {error}\n{proof}"
        founded = db._explainer.founded(name, row, db.engine)
        try:
            check_proof(founded, tables)
        except tidelog.ProofRejected as error:
            return f"{name}{row} by births: {error}\n{founded}"
        if proof.height > founded.height:
            return f"{name}{row}: height {proof.height}, by births {founded.height}\n{proof}\n{founded}"
    return ""
