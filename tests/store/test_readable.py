"""A store keeps its program as text, so it commits only programs whose text reads back as the same."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidelog
from tidelog.errors import InternalError
from tidelog.language import read
from tidelog.language.reading import Preprocessing
from tidelog.language.stored_text import added_statements, check_readable
from tidelog.language.syntax import Atom, Constant, Functor, Program, Rule, Variable

INSTANCES = """
.comp Graph {
  .decl s(x: number, y: number)
  .decl output(x: number, y: number)
  .decl split(x: number, y: number)
  .type type = [x: number]
  .decl has(x: type)
  .output output
}
.init c = Graph
.decl n(x: number)
.decl r(x: number, y: number)
"""
BODIES = [
    "<^(c.s)>(x, y)",
    "^^c.output(x, y)",
    "<c.split/^c.output+>(x, y)",
    "!^c.s(x, y), n(x), n(y)",
    "n(x), (^c.s(x, y); ^c.output(x, y))",
    "n(x), y = count : ^c.s(x, _)",
    "c.has(z), z = [x], y = as(x, number), c.has(as([y], c.type))",
]


@pytest.mark.parametrize("body", BODIES)
def test_rules_over_relations_of_instances_come_back(body: str, tmp_path: Path) -> None:
    with tidelog.connect(tmp_path / "store") as db:
        db.load(INSTANCES)
        for name in ("c.s", "c.output", "c.split"):
            db.insert(name, [(1, 2), (2, 1), (2, 2)])
        db.insert("c.has", [((1,),), ((2,),)])
        db.insert("n", [(1,), (2,)])
        db.rules.add(f"k: r(x, y) :- {body}.")
        db.commit()
        rows = set(db["r"])
        db.save_certificate(tmp_path / "certificate")
    tidelog.check_certificate(tmp_path / "certificate")
    with tidelog.connect(tmp_path / "store") as db:
        assert set(db["r"]) == rows


def test_a_store_rejects_a_program_that_does_not_read_back(tmp_path: Path) -> None:
    """The store's text goes through the preprocessor, for which `__FILE__` is a string."""
    text = ".decl __FILE__(x: number)\nr: __FILE__(x) :- x = 1.\n"
    with tidelog.connect(tmp_path / "store") as db:
        db.load(".decl a(x: number)")
        db.insert("a", [(1,)])
        db.commit()
        db.load(read(text, preprocessing=Preprocessing(enabled=False)))
        with pytest.raises(InternalError, match="would not read back"):
            db.commit()
        assert db.relations == ("a", "__FILE__")
        db.rollback()
        db.insert("a", [(2,)])
        db.commit()
    with tidelog.connect(tmp_path / "store") as db:
        assert set(db["a"]) == {(1,), (2,)}
    with tidelog.connect() as db:
        db.load(read(text, preprocessing=Preprocessing(enabled=False)))
        db.commit()
        with pytest.raises(InternalError, match="would not read back"):
            db.save_certificate(tmp_path / "certificate")
        assert not (tmp_path / "certificate").exists()


def test_a_text_that_reads_as_another_program_is_noticed() -> None:
    """The located call of `lower` reads as that of a functor `@lower`, whose text is the same."""
    located = Rule("r", (Atom("a", (Functor("lower", (Variable("x"),)),), 0),), (Atom("b", (Variable("x"),)),))
    with pytest.raises(InternalError, match="became"):
        check_readable(Program(rules=(located,)), "r: a(@lower(x)) :- b(x).")


def test_statements_of_earlier_programs_are_not_read_again() -> None:
    first = read(".decl a(x: number)\nr: a(x) :- x = 1.")
    second = read("a(2).\ns: a(x) :- x = 3.")
    assert added_statements((first, second), (first,)) == Program(rules=(second.rules[1],))


def test_kinds_of_constants_that_no_text_has_do_not_matter(tmp_path: Path) -> None:
    rule = Rule("r", (Atom("a", (Constant(1, "number"),)),), (Atom("a", (Constant(2, "number"),)),))
    with tidelog.connect(tmp_path / "store") as db:
        db.load(".decl a(x: number)")
        db.load(Program(rules=(rule,)))
        db.commit()
    with tidelog.connect(tmp_path / "store") as db:
        assert list(db.rules) == ["r"]
