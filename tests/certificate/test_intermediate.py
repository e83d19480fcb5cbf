"""Intermediate results follow from the rules: nobody can state facts of them, in a folder or in memory.

Each case was accepted once. The forger adds a fact of an intermediate result, and whatever follows from it.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import tidelog
from tests.certificate.alter import Altered, altered, verdict
from tests.generate import Row
from tests.suite import loaded
from tidelog.certificate import certificate_of, check
from tidelog.certificate.certificate import Certificate
from tidelog.common.arrays import Words
from tidelog.errors import CertificateRejected, DataError
from tidelog.maintain.engine import EmbeddedEngine
from tidelog.storage.stored import StoredRelation
from tidelog.store import checkpoint
from tidelog.store.checkpoint import EngineImage

REACHED = """
.decl e(x: number, y: number)
.decl r(x: number, y: number)
.decl c(n: number)
e(1, 2). e(2, 3).
r(x, y) :- e(x, y).
r(x, z) :- r(x, y), e(y, z).
cn: c(n) :- n = count : { r(_, _) }.
"""
PATH = """
.decl e(x: number, y: number)
.decl q(x: number, y: number)
e(1, 2). e(2, 3).
q(x, y) :- e+(x, y), x < 2.
"""
MATCHING = """
.decl a(x: number)
.decl b(x: number, y: number)
.decl ok(x: number)
a(8). a(9). b(8, 1).
n1: ok(x) :- a(x), !b(x, _).
"""
GROUPS = """
.decl f(x: number)
.decl p(x: number, m: number)
.decl q(x: number)
f(0). p(1, 2).
over: q(x) :- p(x, m), m > count : { f(y), y < x }.
p(x, 0) :- q(x), x < 9.
"""


@dataclass(frozen=True)
class Forgery:
    """Facts of an intermediate result, and what the forger adds to views and takes from them."""

    program: str
    relation: str
    facts: tuple[Row, ...]
    added: tuple[tuple[str, Row], ...]
    removed: tuple[tuple[str, Row], ...] = ()

    def applied(self, sound: Altered) -> Altered:
        """The forged certificate."""
        changed = sound.with_facts(self.relation, self.facts)
        for name, row in self.removed:
            assert row in changed.views[name]
            changed = changed.without(name, row)
        for name, row in ((self.relation, row) for row in self.facts):
            changed = changed.with_row(name, row, -5)
        for name, row in self.added:
            changed = changed.with_row(name, row, 5)
        return changed


FORGERIES = {
    "the value of an aggregate": Forgery(REACHED, "#aggregate.cn.count1", ((999,),), (("c", (999,)),)),
    "a member of a group": Forgery(
        REACHED,
        "#inner.cn.count1",
        ((7, 7),),
        (("#aggregate.cn.count1", (4,)), ("c", (4,))),
        (("#aggregate.cn.count1", (3,)), ("c", (3,))),
    ),
    "a path": Forgery(PATH, "#path.e+", ((1, 77),), (("q", (1, 77)),)),
    "a value that a recursion reaches": Forgery(
        GROUPS,
        "#values.p",
        ((7, 7),),
        (
            *(("#values.q", (7,)), ("#values.p", (7, 0)), ("#outer.over.count1", (7,))),
            *(("#inner.over.count1", (7, 0)), ("#aggregate.over.count1", (7, 1)), ("q", (7,)), ("p", (7, 0))),
        ),
    ),
    "what a negation matches": Forgery(MATCHING, "#matching.n1.1", ((9,),), (), (("ok", (9,)),)),
}


@pytest.fixture(params=FORGERIES)
def forgery(request: pytest.FixtureRequest) -> Forgery:
    return FORGERIES[request.param]


def test_in_memory(forgery: Forgery) -> None:
    """Facts of an intermediate result are never asked for, so that what was forged is not founded."""
    sound = altered(loaded(forgery.program))
    assert verdict(sound) == set()
    assert forgery.relation in sound.program.relations
    assert "E0803" in verdict(forgery.applied(sound))


def test_in_an_engine(forgery: Forgery) -> None:
    """Not even an engine that believes in such facts is believed."""
    db = loaded(forgery.program)
    sound = altered(db)
    engine = db.engine
    forged = forgery.applied(sound).certificate()
    width = len(sound.program.relations[forgery.relation].columns)
    engine.asserted[forgery.relation] = StoredRelation(engine.catalog, width)
    engine.asserted[forgery.relation].insert(forged.facts(forgery.relation))
    for name in sound.views:
        engine.views[name] = StoredRelation(engine.catalog, len(sound.program.relations[name].columns))
        engine.views[name].insert(forged.view(name)[0])
    engine.closures.clear()
    certificate = certificate_of(engine, db.workspace.committed.checked)
    assert len(certificate.view(forgery.relation)[0]) > len(sound.views[forgery.relation]) - 1
    with pytest.raises(CertificateRejected, match="E0803"):
        db.check()


def test_in_a_checkpoint(forgery: Forgery) -> None:
    """A store does not go on from facts of an intermediate result."""
    db = loaded(forgery.program)
    engine = db.engine
    rows = altered(db).with_facts(forgery.relation, forgery.facts).certificate().facts(forgery.relation)
    engine.asserted[forgery.relation] = StoredRelation(engine.catalog, rows.shape[1])
    assert written(engine).restore(engine.program, db.dictionary) is not None
    engine.asserted[forgery.relation].insert(rows)
    engine.asserted[forgery.relation].end()
    with pytest.raises(DataError, match="intermediate result"):
        written(engine).restore(engine.program, db.dictionary)


def written(engine: EmbeddedEngine) -> checkpoint.Checkpoint:
    """A checkpoint of an engine, to be read."""
    file = io.BytesIO()
    EngineImage(engine, "").write(file)
    file.seek(0)
    return checkpoint.Checkpoint(Path("checkpoint"), file)


def test_in_a_folder(forgery: Forgery, tmp_path: Path) -> None:
    """Written as the forger would: into the file that has facts of the same columns."""
    sound = altered(loaded(forgery.program))
    tidelog_save(forgery.applied(sound), tmp_path / "certificate", forgery.program)
    with pytest.raises(CertificateRejected, match="E0803"):
        tidelog.check_certificate(tmp_path / "certificate")
    kinds = "-".join(["number"] * len(forgery.facts[0]))
    file = tmp_path / "certificate" / "facts" / f"{kinds}.parquet"
    rows = [{"relation": forgery.relation, **{f"c{i}": cell for i, cell in enumerate(row)}} for row in forgery.facts]
    before = parquet.read_table(file) if file.exists() else None
    types = pa.schema([("relation", pa.string()), *((f"c{i}", pa.int64()) for i in range(len(forgery.facts[0])))])
    parquet.write_table(pa.Table.from_pylist([*(before.to_pylist() if before else []), *rows], types), file)
    with pytest.raises(DataError) as caught:
        tidelog.check_certificate(tmp_path / "certificate")
    (problem,) = caught.value.problems
    assert problem.code == "E0815"
    assert problem.message == f"the file contains tuples of {forgery.relation}, which belong into another file"


def tidelog_save(forged: Altered, folder: Path, program: str) -> None:
    """Save a certificate that is wrong, with the program that it was made for."""
    from tidelog.certificate import program_text, save
    from tidelog.language import Checker, read

    checker = Checker()
    checker.check(read(program))
    save(forged.certificate(), program_text(checker.programs), folder)


def test_facts_of_declared_relations_are_not_concerned() -> None:
    """The tuples that were forged are fine where somebody declares them, and states them for everybody to see."""
    db = loaded(REACHED + "r(7, 7).")
    db.check()
    assert set(db["c"]) == {(4,)}
    sound = altered(loaded(REACHED))
    changed = sound.with_facts("e", [*sound.facts["e"], (7, 7)]).with_row("e", (7, 7))
    assert verdict(changed) == {"E0802"}


@pytest.mark.parametrize("where", ["facts", "views"])
def test_tuples_that_no_value_stands_for(where: str) -> None:
    """A symbol, a record or a float that is none, as a damaged state may have it, is rejected and never shown."""
    text = """.type P = [a: number] .decl s(x: symbol) .decl p(x: P) .decl f(x: float) .decl n(x: number)
        s("a"). p([1]). f(0.0). n(5)."""
    certificate = altered(loaded(text)).certificate()
    wrong = {"s": [-1, 1, 99], "p": [-1, 2], "f": [-(2**63), 0x7FF8000000000000, -1]}
    for name, words in wrong.items():
        for word in words:
            rows = certificate.facts(name).copy()
            rows[0, 0] = word
            changed = replaced(certificate, where, name, rows)
            with pytest.raises(CertificateRejected) as caught:
                check(changed)
            assert caught.value.code == ("E0801" if where == "facts" else "E0803")
            assert "a row that does not fit its declaration" in caught.value.problems[0].message


def replaced(certificate: Certificate, where: str, name: str, rows: Words) -> Certificate:
    """The facts or the view of one relation replaced."""
    facts, view = certificate.facts, certificate.view
    if where == "facts":
        return replace(certificate, facts=lambda each: rows if each == name else facts(each))
    return replace(certificate, view=lambda each: (rows, view(each)[1]) if each == name else view(each))
