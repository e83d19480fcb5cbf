"""Files of the state folder: what is written is read again, and nothing else is ever built."""

from __future__ import annotations

import json
import pickle
import random
from pathlib import Path
from typing import Any

import numpy
import pytest

from tests.suite import compiled
from tidelog.spark.cluster.exchange import wire
from tidelog.spark.cluster.exchange.folder import Folder
from tidelog.spark.cluster.exchange.pieces import Bundle, Piece, PieceChange, PieceFile, read_pieces
from tidelog.spark.cluster.exchange.rounds import Logged, Round

PROGRAM = """
.type List = [head: symbol, tail: List]
.decl e(x: number, y: float)
.decl t(x: number, l: List)
r: t(x, ["\\"ä", nil]) :- e(x, y), !e(x, 0.5), y < 3.0, x = range(0, 7).
c: t(n, nil) :- n = count : { e(_, _) }.
"""
BUNDLE = Bundle("f", 0, 8, 1, 8, b"\x05")
LONG = "x" * 100


@pytest.mark.smoke
@pytest.mark.parametrize(
    "value",
    [
        None,
        [True, 1, -(2**63), 2**64, 0.1, float("inf"), "", "\ud800", "ä\0", LONG],
        (),
        [[], (), {}, frozenset()],
        {1: ("a", [2]), ("k", 1): {"x": b"\x00\xff"}, None: frozenset([1, (2, 3)])},
        [LONG, (LONG, [LONG])],
        Round("t", 3, "p", bundles=[BUNDLE], shared=[Piece("g", 8, 16, 2)], symbols=("s",)),
        (Logged(("a",), (), (Piece("f", 0, 8, 1),), (BUNDLE,), -7),) * 2,
    ],
    ids=range(8),
)
def test_a_value_comes_back(value: Any) -> None:
    again = wire.loads(wire.dumps(value))
    assert again == value
    assert repr(again) == repr(value)


def test_a_program_comes_back_with_its_places() -> None:
    core = compiled(PROGRAM)
    data = wire.dumps((core, core))
    one, other = wire.loads(data)
    assert one == core
    assert one is other
    assert [rule.span for node in one.nodes for rule in node.rules] == [
        rule.span for node in core.nodes for rule in node.rules
    ]
    assert data.count(b"#") < 400
    assert data.count(rb"count : { e(_, _) }") == 1  # the source stands there once


@pytest.mark.parametrize("dtype", ["int64", "int32", "float64", "bool"])
def test_arrays_come_back(dtype: str) -> None:
    array = numpy.arange(6).reshape(2, 3).astype(dtype)
    again = wire.loads(wire.dumps([array, array.T, numpy.int64(7)]))
    assert again[0].dtype == array.dtype
    assert numpy.array_equal(again[0], array)
    assert numpy.array_equal(again[1], array.T)
    assert again[2] == 7


def test_other_values_are_not_written() -> None:
    with pytest.raises(TypeError):
        wire.dumps(object())


@pytest.mark.parametrize(
    "data",
    [
        b"",
        pickle.dumps(("a", 1)),
        b"[",
        b"[]",
        b'["x"]',
        b'["c","os.system","true"]',
        b'["c","rounds.Nothing"]',
        b'["c","rounds.Round","t"]',
        b'["r",0]',
        b'["a","O",[1],"AAAA"]',
        b'["a","<i8",[5],"AAAA"]',
        b'["d",[["l"],1]]',
        b"[" * 100_000,
    ],
    ids=range(13),
)
def test_other_bytes_are_damage(data: bytes) -> None:
    with pytest.raises(wire.DamagedError):
        wire.loads(data)


def test_changed_bytes_are_damage_or_another_value() -> None:
    data = wire.dumps((compiled(PROGRAM), Round("t", 3, "p", bundles=[BUNDLE])))
    rng = random.Random(5)
    for _ in range(300):
        changed = bytearray(data)
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        try:
            wire.loads(bytes(changed))
        except wire.DamagedError:
            continue
    with pytest.raises(wire.DamagedError):
        wire.loads(json.dumps(["c", "rounds.Round", *range(99)]).encode())


def test_a_partition_finds_its_piece_in_a_bundle(tmp_path: Path) -> None:
    folder, file = Folder(str(tmp_path)), PieceFile("f")
    rows = {number: numpy.full((number + 1, 2), number) for number in (0, 3, 900)}
    shared = file.add([PieceChange("all", True, rows[0])])
    bundle = file.bundle({number: [PieceChange("e", True, words)] for number, words in rows.items()})
    file.write(folder)
    assert bundle is not None
    assert bundle.numbers() == [0, 3, 900]
    assert bundle.rows == 1 + 4 + 901
    assert len(bundle.targets) == 113
    for number in (0, 1, 3, 899, 900, 901, 5_000):
        found = list(read_pieces(folder, number, [shared], [bundle]))
        assert [each.relation for each in found] == ["all", "e"][: 2 if number in rows else 1]
        assert number not in rows or numpy.array_equal(found[1].words, rows[number])
    whole = list(read_pieces(folder, 7, [bundle.whole], []))
    assert [len(each.words) for each in whole] == [1, 4, 901]
    assert PieceFile("g").bundle({}) is None
