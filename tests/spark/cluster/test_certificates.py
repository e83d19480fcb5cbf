"""Certificates of many rows come from the partitions some at a time, and the checker accepts them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyarrow import parquet

from tests.spark.cluster.harness import GATHERED, LIMITS, NOTHING_EVERYWHERE, Cluster
from tests.spark.cluster.test_checking import no_evaluation_on_the_driver  # noqa: F401  # a fixture
from tidelog.certificate import PartedCertificate, check_certificate, program_text, save
from tidelog.errors import CertificateRejected, LimitError
from tidelog.limits.watch import Watch
from tidelog.spark.cluster.checking import steps
from tidelog.spark.cluster.placement.place import PlacementLimits

PROGRAM = """
.type Pair = [a: symbol, n: number]
.decl e(x: number, y: number)
.decl t(x: number, y: number)
.decl deg(x: number, n: number)
.decl apart(x: number, y: number)
.decl made(p: Pair)
.decl any()
t(x, y) :- e(x, y).
t(x, z) :- t(x, y), t(y, z).
deg(x, n) :- e(x, _), n = count : t(x, _).
apart(x, y) :- e(x, _), e(_, y), !t(y, x), x + y < 20.
made([cat("n", to_string(x)), n]) :- deg(x, n).
any() :- t(x, x).
"""
EDGES = [*((i, i + 1) for i in range(12)), (4, 2)]


def filled(db: Cluster) -> None:
    db.load(PROGRAM)
    db.insert("e", EDGES)
    db.insert("t", [(90, 91)])
    db.commit()
    db.delete("e", [(7, 8)])
    db.commit()


@contextmanager
def certificate(db: Cluster, watch: Watch | None = None) -> Iterator[PartedCertificate]:
    with db.ad_hoc.certificate_to_save(db.engine, -1, watch or Watch()) as found:
        assert isinstance(found, PartedCertificate)
        yield found


def saved(db: Cluster, folder: Path) -> None:
    with certificate(db) as found:
        save(found, program_text(db.workspace.committed.programs), folder)


@pytest.mark.usefixtures("no_evaluation_on_the_driver")
@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_the_checker_accepts_what_partitions_have(
    limits: PlacementLimits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it, piece by piece."""
    monkeypatch.setattr(steps, "_AT_ONCE", 7)
    with Cluster(3, limits) as db:
        filled(db)
        before = set(db.engine.folder.names())
        with certificate(db) as found:
            sizes = [len(rows) for rows, _ in found.parts("t", "views")]
            assert (sum(sizes), max(sizes)) == (len(db["t"]), 7)
            assert sum(len(rows) for rows, _ in found.parts("e", "facts")) == len(EDGES) - 1
        saved(db, tmp_path / "c")
        assert set(db.engine.folder.names()) == before, "files of pieces are gone"
        held = db.views()
    check_certificate(tmp_path / "c")
    for name in ("e", "t", "apart"):
        table = parquet.read_table(
            tmp_path / "c" / "views" / "number-number.parquet", filters=[("relation", "=", name)]
        )
        assert set(zip(*table.select(["c0", "c1"]).to_pydict().values(), strict=True)) == held[name]
    assert parquet.read_table(tmp_path / "c" / "views" / "unit.parquet").num_rows == len(held["any"]) == 1


@pytest.mark.smoke
def test_forged_rows_are_rejected(tmp_path: Path) -> None:
    with Cluster(2, GATHERED) as db:
        filled(db)
        saved(db, tmp_path / "c")
    file = tmp_path / "c" / "facts" / "number-number.parquet"
    parquet.write_table(parquet.read_table(file, filters=[("c0", "!=", 5)]), file)
    with pytest.raises(CertificateRejected, match="E0803"):
        check_certificate(tmp_path / "c")


def test_an_interrupted_certificate_leaves_no_files(tmp_path: Path) -> None:
    with Cluster(2, NOTHING_EVERYWHERE) as db:
        filled(db)
        before = set(db.engine.folder.names())
        watch = Watch()
        with certificate(db, watch) as found:
            parts = found.parts("t", "views")
            next(parts)
            watch.timeout = 0
            with pytest.raises(LimitError, match="E0501"):
                next(parts)
        assert set(db.engine.folder.names()) == before
