"""Most symbols are in files of the state directory: the driver and partitions have the same words for them as ever."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from tests.depth import cases
from tests.scripts import script_for
from tests.spark.cluster.harness import LIMITS, NOTHING_EVERYWHERE, Cluster, followed
from tests.suite import FIRST_SEED
from tests.terms import terms_script
from tidelog.errors import DataError
from tidelog.spark.cluster.exchange.texts import SymbolBlock
from tidelog.spark.cluster.placement.place import PlacementLimits
from tidelog.storage.dictionary import Dictionary, at_hand, blocks_of

PROGRAM = """
.type Pair = [a: symbol, b: symbol]
.decl e(x: symbol, y: symbol)
.decl longer(s: symbol)
.decl made(p: Pair)
.decl first(s: symbol)
longer(cat(x, y)) :- e(x, y), x < y.
made([x, y]) :- e(x, y), strlen(x) = 1.
first(x) :- e(x, _), 0 = count : { e(y, _), y < x }.
first("constant") :- e("b", _).
"""


@pytest.mark.parametrize("way", [(3, NOTHING_EVERYWHERE), (2, PlacementLimits())], ids=str)
def test_random_changes(way: tuple[int, PlacementLimits], tmp_path: Path) -> None:
    """With functors and records, and other processes that go on."""
    for seed in range(FIRST_SEED + 1700, FIRST_SEED + 1700 + cases(4)):
        for script in (script_for(seed), terms_script(seed)):
            folder = tmp_path / f"{seed}-{script.__class__.__name__}-{len(list(tmp_path.iterdir()))}"
            problem = followed(script, *way, restarts=random.Random(seed), folder=folder, block=1 + seed % 3)
            assert not problem, f"{seed}: {problem}\n{script.text()}"


@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_rules_look_into_symbols_in_files(limits: PlacementLimits) -> None:
    with Cluster(3, limits, block=2) as db:
        db.load(".decl e(x: symbol, y: symbol)\n")
        db.insert("e", [("a", "b"), ("b", "c"), ("d", "a")])
        db.commit()
        assert at_hand(db.workspace.dictionary, 0, 99).tolist() == []
        db.load(PROGRAM.replace(".decl e(x: symbol, y: symbol)\n", ""))
        db.commit()
        assert db.views() == {
            "e": {("a", "b"), ("b", "c"), ("d", "a")},
            "longer": {("ab",), ("bc",)},
            "made": {(("a", "b"),), (("b", "c"),), (("d", "a"),)},
            "first": {("a",), ("constant",)},
        }
        db.delete("e", [("a", "b")])
        db.insert("e", [("bc", "bd"), ("A", "ab")])
        change = db.commit()
        assert db.changes(change)["longer"] == ({("bcbd",), ("Aab",)}, {("ab",)})
        assert db.changes(change)["first"] == ({("A",)}, {("a",)})
        db.check()
        assert "bcbd" in str(db.explain("longer", ("bcbd",)))


@pytest.mark.parametrize("harm", ["flip", "remove"])
def test_damaged_texts_are_found(harm: str, tmp_path: Path) -> None:
    """A missing file when the folder is opened, another text when it is read."""
    db = Cluster(2, NOTHING_EVERYWHERE, tmp_path / "sound", block=2)
    db.load(PROGRAM)
    db.insert("e", [("a", "b"), ("b", "c")])
    db.commit()
    db.insert("e", [("c", "d")])
    db.commit()  # Now the files of symbols name the blocks.
    db.engine.close()
    copy = shutil.copytree(tmp_path / "sound", tmp_path / "copy")
    block = blocks_of(db.workspace.dictionary)[0]
    assert isinstance(block, SymbolBlock)
    file = copy / block.file
    if harm == "remove":
        file.unlink()
    else:
        data = bytearray(file.read_bytes())
        data[block.offset + block.length // 2] ^= 1
        file.write_bytes(data)
    with pytest.raises(DataError, match="E0682"):  # noqa: PT012  # a missing file is found first, another text later
        db.restart(save=False, folder=copy)
        db.views()


@pytest.mark.smoke
def test_the_driver_of_another_process_has_no_texts(tmp_path: Path) -> None:
    db = Cluster(2, NOTHING_EVERYWHERE, tmp_path, block=2)
    db.load(PROGRAM)
    db.insert("e", [("a", "b"), ("b", "c")])
    db.commit()
    db.delete("e", [("b", "c")])
    db.commit()
    db.restart(save=True)
    known: Dictionary = db.workspace.dictionary
    assert len(blocks_of(known)) > 0
    assert len(at_hand(known, 0, len(known))) <= 1
    assert db["longer"] == {("ab",)}
