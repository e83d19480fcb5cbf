"""Reading a certificate looks at its limits within everything that others can make long."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidelog
from tidelog.certificate import load, program_text
from tidelog.errors import LimitError, Problem
from tidelog.io.record_reader import record_from_text
from tidelog.language import check, read
from tidelog.rules import compile_program
from tidelog.storage.dictionary import Dictionary

LIST = ".type L = [head: number, tail: L] .decl l(x: L) l(nil)."
DEPTH = 20_000


class Looks:
    """Counts looks; raises at the one with number `last`."""

    def __init__(self, last: int = 0) -> None:
        self.count = 0
        self.last = last

    def __call__(self) -> None:
        self.count += 1
        if self.count == self.last:
            raise LimitError(Problem("E0501", "a limit of the test"))


def deep_text(depth: int) -> str:
    return "[1, " * depth + "nil" + "]" * depth


def test_a_deep_record_is_read_and_encoded_in_parts() -> None:
    program = check(read(LIST))
    column = program.relations["l"].columns[0]
    dictionary = Dictionary(program.records)
    looks = Looks()
    value = record_from_text(deep_text(DEPTH), column, dictionary, looks)
    assert isinstance(value, tuple)
    assert looks.count >= 2 * DEPTH // 1_024
    with pytest.raises(LimitError):
        record_from_text(deep_text(DEPTH), column, dictionary, Looks(3))
    looks = Looks()
    word = dictionary.encode(value, column.kind, looks)
    assert looks.count >= 2 * DEPTH // 1_024
    assert dictionary.extent(column.kind) == DEPTH + 1
    with pytest.raises(LimitError):
        dictionary.encode((2, value), column.kind, Looks(3))
    assert dictionary.encode(value, column.kind) == word


def test_a_long_program_is_checked_compiled_and_printed_in_parts() -> None:
    rules = "".join(f"b{i}(x) :- a(x), x > {i}.\n" for i in range(40))
    program = read(".decl a(x: number)\n" + "".join(f".decl b{i}(x: number)\n" for i in range(40)) + rules)
    looks = Looks()
    checked = check(program, look=looks)
    assert looks.count == 40
    looks = Looks()
    compiled = compile_program(checked, look=looks)
    assert looks.count >= 80  # once before a rule is rewritten, and once before its projection
    assert compiled == compile_program(checked)
    looks = Looks()
    program_text([program], looks)
    assert looks.count == 41  # rules are given their names when they are checked
    for last in (1, 17, 40):
        with pytest.raises(LimitError):
            check(program, look=Looks(last))
        with pytest.raises(LimitError):
            compile_program(checked, look=Looks(last))


def test_every_look_may_end_the_reading_of_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "certificate"
    db = tidelog.connect()
    db.load(LIST + ".decl m(x: L, y: L) m(x, y) :- l(x), l(y).")
    values: list[object] = [None]
    for number in range(3_000):
        values.append((number, values[-1]))
    db.insert("l", [(values[-1],)])
    db.commit()
    db.save_certificate(folder)

    def read_all(looks: Looks) -> None:
        certificate = load(folder, looks)
        certificate.facts("l")
        certificate.view("m")

    every = Looks()
    read_all(every)
    assert every.count > 3 * 2 * 3_000 // 1_024
    for last in range(1, every.count + 1):
        looks = Looks(last)
        with pytest.raises(LimitError):
            read_all(looks)
        assert looks.count == last
