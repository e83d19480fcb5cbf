"""The dictionary of symbols and records, interrupted between any two bytecodes: nothing gets a wrong word."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy
import pyarrow
import pytest

import tidelog
from tests.depth import cases, stride
from tests.interrupting import attempts
from tidelog.errors import LimitError
from tidelog.language import Checker, read
from tidelog.language.syntax import Column, RecordType
from tidelog.rules import Compiler
from tidelog.storage.dictionary import Dictionary

ERRORS = pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
PAIR = RecordType("Pair", (Column("name", "symbol", "symbol"), Column("next", "Pair", "Pair")))
POINT = RecordType("Point", (Column("x", "number", "number"), Column("y", "number", "number")))
UNIT = RecordType("Unit", ())
RECORDS = {"Pair": PAIR, "Point": POINT, "Unit": UNIT}
FILES = "tidelog/storage/"

STEPS: dict[str, Callable[[Dictionary], object]] = {
    "one symbol": lambda known: known.encode("eve", "symbol"),
    "several symbols": lambda known: known.ids_of(["eve", "alice", "mallory", "eve"]),
    "a column": lambda known: known.encode_column(
        pyarrow.chunked_array([["eve", "zoe"], ["alice", "mallory"]]), "symbol"
    ),
    "a record": lambda known: known.encode(("eve", ("mallory", None)), "Pair"),
    "several records": lambda known: known.pack("Point", [numpy.arange(20), numpy.arange(20) % 3]),
    "a record without fields": lambda known: known.encode((), "Unit"),
}


def consistent(known: Dictionary) -> None:
    """Everything that has a word is what this word means, and what is new gets a word of its own."""
    texts = ["alice", "bob", "eve", "mallory", "zoe", "new"]
    words = known.ids_of(texts)
    assert len(set(words)) == len(texts)
    assert known.strings(numpy.array(words)) == texts
    assert [known.find(text, "symbol") for text in texts] == words
    values = [("bob", None), ("eve", ("mallory", None)), ("mallory", None), ("eve", None), ("bob", ("bob", None))]
    ids = [known.encode(value, "Pair") for value in values]
    assert len(set(ids)) == len(values)
    assert [known.decode(word, "Pair") for word in ids] == values
    points = known.pack("Point", [numpy.arange(-1, 23), numpy.arange(-1, 23) % 3])
    assert len(set(points.tolist())) == 24
    assert [known.decode(word, "Point") for word in points.tolist()] == [(i, i % 3) for i in range(-1, 23)]
    assert (known.encode((), "Unit"), known.extent("Unit")) == (1, 2)
    assert known.decode_column(numpy.array(words), "symbol").to_pylist() == texts


@ERRORS
@pytest.mark.parametrize("step", STEPS)
def test_a_dictionary_is_interrupted_anywhere(step: str, error: type[BaseException]) -> None:
    stopped = 0
    for attempt in attempts(error, FILES, every=stride(4)):
        known = Dictionary(RECORDS)
        alice, pair = known.encode("alice", "symbol"), known.encode(("bob", None), "Pair")
        with attempt:
            STEPS[step](known)
        stopped += attempt.stopped
        consistent(known)
        assert known.decode(alice, "symbol") == "alice"
        assert known.decode(pair, "Pair") == ("bob", None)
    assert stopped >= cases(8)


@ERRORS
def test_several_interruptions_in_a_row(error: type[BaseException]) -> None:
    known = Dictionary(RECORDS)
    for name, step in STEPS.items():
        for attempt in attempts(error, FILES, every=7):
            with attempt:
                step(known)
                known.ids_of([f"{name} {i}" for i in range(3)])
    consistent(known)


@ERRORS
def test_record_types_become_known_or_not(error: type[BaseException]) -> None:
    for attempt in attempts(error, FILES):
        known = Dictionary({"Point": POINT})
        with attempt:
            known.add_records({"Pair": PAIR, "Unit": UNIT})
        known.add_records(RECORDS)
        consistent(known)


@ERRORS
def test_an_insert_is_interrupted_anywhere(error: type[BaseException]) -> None:
    """The reproduction of the report: alice and bob, not eve and mallory."""
    for attempt in attempts(error, FILES, "tidelog/io/values.py", "database/database.py", every=stride(11)):
        db = tidelog.connect()
        db.rules.add(".decl likes(x: symbol, y: symbol)")
        db.commit()
        with suppress(LimitError), attempt:  # memory that runs out is a limit
            db.insert("likes", [("eve", "mallory"), ("mallory", "eve")])
        db.rollback()
        db.insert("likes", [("alice", "bob")])
        db.commit()
        assert list(db["likes"]) == [("alice", "bob")]
        assert ("alice", "bob") in db["likes"]
        assert ("eve", "mallory") not in db["likes"]
        db.close()


def test_a_record_type_of_a_program_that_was_dropped_is_forgotten() -> None:
    db = tidelog.connect()
    db.rules.add(".type P = [x: number] .decl p(x: P) p([7]).")
    db.rollback()
    db.rules.add('.type P = [x: number, y: symbol] .decl p(x: P) p([7, "seven"]).')
    db.commit()
    assert list(db["p"]) == [((7, "seven"),)]


PROGRAMS = [
    ".type P = [x: number] .decl e(x: number, y: number) .decl p(x: P) t1: p([x]) :- e(x, _).",
    ".decl t(x: number, y: number) t2: t(x, y) :- e(x, y). t3: t(x, z) :- t(x, y), e(y, z).",
    ".decl n(x: number) n(x) :- x = count : { t(_, _) }.",
]


@pytest.mark.parametrize("file", ["tidelog/language/check.py", "tidelog/rules/compile.py"])
def test_a_check_or_a_compilation_is_interrupted_anywhere(file: str) -> None:
    """The caches of both go together, so that the next load gives the program that it gives without interruption."""
    parsed = [read(text) for text in PROGRAMS]
    expected = Compiler().compile(Checker().check(*parsed))
    checker, compiler = Checker(), Compiler()
    compiler.compile(checker.check(*parsed[:2]))
    for attempt in attempts(KeyboardInterrupt, file, every=stride(53)):
        with attempt:
            compiler.compile(checker.check(*parsed))
        checked = checker.check(*parsed[: 1 + attempt.number % 3])
        compiler.compile(checked)
        assert str(checked.rules[0]) == "t1: p([x]) :- e(x, _)."
        core = compiler.compile(checker.check(*parsed))
        assert core.nodes == expected.nodes
        assert core.relations == expected.relations
