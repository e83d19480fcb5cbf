"""All verbs that explain or show, on tuples of all golden programs: none fails, and the checker accepts each proof."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidelog
from tests import functions
from tests.suite import PROGRAMS
from tidelog.errors import TidelogError
from tidelog.language.inlining import INLINE

ROWS = 2
"""Tuples of a relation that are explained."""


@pytest.mark.parametrize("path", sorted(PROGRAMS.glob("*.dl")), ids=lambda path: path.stem)
def test_every_verb_answers(path: Path) -> None:
    with tidelog.connect(functors=functions) as db:
        db.options(profile=True)
        db.load(path)
        db.commit()
        assert all((db.draw().dot, str(db.draw()), str(db.profile()), db.stats()))
        for name in [name for name in db.relations if INLINE not in db.program.relations[name].qualifiers]:
            view = db[name]
            values = ", ".join(f"v{i}" for i in range(len(view.columns)))
            assert sorted(map(repr, db.query(f"{name}({values})"))) == sorted(map(repr, view))
            assert str(db.query_plan(f"{name}({values})"))
            for row in list(view)[:ROWS]:
                proof = db.explain(name, row)
                assert all((str(proof), proof.to_dict(), str(db.blame(name, row))))
                assert not proof.check(db).granted
                with pytest.raises(TidelogError, match="E0672"):
                    db.why_not(name, row)
