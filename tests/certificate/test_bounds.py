"""Bounds on reading a certificate: by the size of the files, and by the limits of the check."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

import tidelog
from tests.certificate.test_folder import code
from tests.suite import loaded
from tidelog.certificate import load, tables
from tidelog.errors import LimitError

RELATIONS = [f"r{i}" for i in range(40)]
PROGRAM = "".join(f".decl {name}(x: number)\n" for name in RELATIONS)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    loaded(PROGRAM).save_certificate(tmp_path / "certificate")
    return tmp_path / "certificate"


def repeated(value: object, count: int, kind: pa.DataType) -> pa.Array:
    return pa.repeat(pa.scalar(value, kind), count)


def test_a_file_that_states_to_unpack_to_much_is_not_read(folder: Path) -> None:
    """Four million equal rows are some kilobytes."""
    file = folder / "views/number.parquet"
    rows = pa.table(
        {
            "relation": repeated("r1", 1_000_000, pa.string()).dictionary_encode(),
            "c0": repeated(7, 1_000_000, pa.int64()),
            "birth": repeated(1, 1_000_000, pa.int64()),
        }
    )
    with parquet.ParquetWriter(file, rows.schema, compression="zstd") as writer:
        for _ in range(4):
            writer.write_table(rows)
    assert file.stat().st_size < 100_000
    assert code(folder) == "E0818"


def test_a_file_that_is_read_again_and_again_is_given_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every relation is in every row group, so that each would read all of them."""
    file = folder / "views/number.parquet"
    names = RELATIONS * 500
    columns = {"relation": names, "c0": list(range(len(names))), "birth": [0] * len(names)}
    parquet.write_table(pa.table(columns), file, row_group_size=4000, compression="zstd")
    size = tables.decoded_size(parquet.read_metadata(file))
    monkeypatch.setattr(tables, "_RATIO", 0)
    monkeypatch.setattr(tables, "_FREE", size)
    certificate = load(folder)
    certificate.view("r0")
    with pytest.raises(tidelog.DataError) as caught:
        list(map(certificate.view, RELATIONS))
    assert caught.value.code == "E0818"


def test_what_is_saved_is_in_proportion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long names are packed so well that their file is written again, less well."""
    monkeypatch.setattr(tables, "_FREE", 1000)
    db = loaded(
        ".decl e(x: number)\n.decl p(x: number, y: number)\n.decl s(x: symbol, y: symbol)\n"
        "e(x) :- x = range(0, 60).\np(x, y) :- e(x), e(y).\n"
        f's(cat("{"a" * 300}", to_string(x)), to_string(y)) :- p(x, y).'
    )
    db.save_certificate(tmp_path / "certificate")
    for file in sorted((tmp_path / "certificate").rglob("*.parquet")):
        metadata = parquet.read_metadata(file)
        assert tables.in_proportion(tables.decoded_size(metadata), file.stat().st_size), file
    packed = [
        parquet.read_metadata(file).row_group(0).column(1).compression
        for file in (tmp_path / "certificate" / "views").iterdir()
    ]
    assert sorted(packed) == ["UNCOMPRESSED", "ZSTD", "ZSTD"]
    tidelog.check_certificate(tmp_path / "certificate")


def test_limits_are_looked_at_between_batches(folder: Path) -> None:
    file = folder / "views/number.parquet"
    rows = pa.table({"relation": ["r1"] * 60, "c0": list(range(60)), "birth": [0] * 60})
    parquet.write_table(rows, file, row_group_size=1)
    looks = 0

    def look() -> None:
        nonlocal looks
        looks += 1

    assert len(load(folder, look).view("r1")[0]) == 60
    assert looks > 120
    looks = 0

    def stop() -> None:
        look()
        if looks > 100:
            raise LimitError

    with pytest.raises(LimitError):
        load(folder, stop).view("r1")
    assert looks == 101


def test_limits_are_looked_at_between_statements(folder: Path) -> None:
    """A program can be long as well."""
    looks = 0

    def stop() -> None:
        nonlocal looks
        looks += 1
        if looks > 20:
            raise LimitError

    with pytest.raises(LimitError):
        load(folder, stop)
    assert looks == 21


@pytest.mark.parametrize("name", ["manifest.json", "program.dl"])
def test_a_text_that_is_too_long_is_not_read(folder: Path, name: str) -> None:
    with (folder / name).open("ab") as file:
        file.truncate(1 << 40)  # a file with a hole, which takes no room
    assert code(folder) == {"manifest.json": "E0811", "program.dl": "E0812"}[name]
