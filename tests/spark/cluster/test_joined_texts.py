"""Small blocks of symbols are joined. Those that the manifest names stay until a commit names the larger ones."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidelog
from tests.spark.cluster.harness import NOTHING_EVERYWHERE, Cluster
from tests.spark.cluster.test_killed import killed, views
from tidelog.errors import LimitError
from tidelog.spark.cluster.exchange.texts import HASHES, PREFIX, SymbolBlock
from tidelog.storage.dictionary import blocks_of
from tidelog.workspace.options import DatabaseOptions

BLOCK = 64
PROGRAM = """
.decl e(x: number, y: number)
.decl name(x: number, s: symbol)
.decl joined(s: symbol)
joined(cat(s, r)) :- e(x, y), name(x, s), name(y, r).
"""


def filled(db: Cluster | tidelog.Database) -> None:
    if isinstance(db, Cluster):
        db.block = BLOCK
    db.load(PROGRAM)
    db.insert("e", [(1, 2), (2, 3)])
    db.insert("name", [(i, f"n{i}") for i in range(4)])
    db.commit()


def first(db: Cluster | tidelog.Database) -> None:
    db.insert("name", [(2, "two"), (3, "three")])
    db.commit()


def second(db: Cluster | tidelog.Database) -> None:
    db.delete("e", [(1, 2)])
    db.insert("name", [(2, "2")])
    db.commit()


def third(db: Cluster | tidelog.Database) -> None:
    db.insert("e", [(7, 8)])
    db.commit()


def change(db: Cluster | tidelog.Database) -> None:
    """Two commits; between them, blocks are joined on a cluster."""
    first(db)
    second(db)


def reopened(folder: Path) -> Cluster:
    db = Cluster(2, NOTHING_EVERYWHERE, folder, block=BLOCK)
    db.load(PROGRAM)
    db.workspace.settle(db.workspace.draft())
    return db


def spans(db: Cluster) -> list[tuple[int, int]]:
    """The first word of each block, and the number of its words."""
    return [(block.start, block.rows) for block in blocks_of(db.workspace.dictionary)]


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.glob(f"{PREFIX}*")}


def test_a_block_takes_small_ones_with_it_and_their_files_go_with_the_next_commit(tmp_path: Path) -> None:
    with Cluster(2, NOTHING_EVERYWHERE, tmp_path) as db:
        filled(db)
        before = files(tmp_path)
        [(start, rows)] = spans(db)
        first(db)
        [(same, more)] = spans(db)
        assert (start, same) == (0, 0)
        assert more > rows
        assert len(files(tmp_path)) == 2, "those that the manifest names, and the new one"
        assert before < files(tmp_path)
        second(db)
        assert not before & files(tmp_path)
        db.block = 0
        third(db)
        assert len(files(tmp_path)) == 1
        db.check()
        assert db.views() == views(tidelog.connect(), filled, change, third)


def test_blocks_are_joined_only_if_they_fit_and_are_the_drivers(tmp_path: Path) -> None:
    with Cluster(2, NOTHING_EVERYWHERE, tmp_path) as db:
        db.load(".decl s(x: symbol)\n")
        known = db.workspace.dictionary
        for block, texts in ((4, "abc"), (4, "d"), (4, "ef"), (9, "g"), (9, "hi")):
            db.block = block
            db.insert("s", [(text,) for text in texts])
            db.commit()
            if texts == "d":
                assert spans(db) == [(0, 4)]
            if texts == "ef":
                assert spans(db) == [(0, 4), (4, 2)]
            if texts == "g":
                assert spans(db) == [(0, 7)]
                [block_] = blocks_of(known)
                assert isinstance(block_, SymbolBlock)
                known._symbols._reader.blocks[0] = block_._replace(high=HASHES // 2)  # type: ignore[union-attr]
        assert spans(db) == [(0, 7), (7, 2)], "executors have written the first one"
        assert db.views() == {"s": {(text,) for text in "abcdefghi"}}


@pytest.mark.smoke
def test_a_failing_epoch_leaves_the_blocks_of_the_manifest(tmp_path: Path) -> None:
    """Blocks were joined before it, and another process goes on from the epoch before."""
    db = Cluster(2, NOTHING_EVERYWHERE, tmp_path)
    filled(db)
    first(db)
    held = db.views()
    db.insert("name", [(i, f"m{i}") for i in range(4)])
    db.options = DatabaseOptions(max_rows=1)
    with pytest.raises(LimitError, match="E0502"):
        db.commit()
    assert len(files(tmp_path)) == 2
    db.restart(save=False)
    db.options = DatabaseOptions()
    assert db.views() == held
    assert len(spans(db)) == 1
    second(db)
    assert db.views() == views(tidelog.connect(), filled, change)
    db.engine.close()


def test_a_driver_killed_at_every_step_on_the_disk_while_blocks_are_joined(tmp_path: Path) -> None:
    """Another driver finds an epoch with all its symbols, whatever files are there, and can go on."""
    held = [views(tidelog.connect(), filled, *doings) for doings in ((), (first,), (first, second))]
    found = []
    for folder in killed(tmp_path, __name__):
        with reopened(folder) as db:
            found.append(held.index(db.views()))
            for do in (first, second)[found[-1] :]:
                do(db)
            assert db.views() == held[2]
    assert found == sorted(found)
    assert set(found) == {0, 1, 2}
