"""Folders that tests read as streams, and schemas that they write to."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tidelog.spark.frames import symbols


@pytest.fixture
def put(tmp_path: Path) -> Callable[[str, str], Path]:
    """Puts a file into the folder that is read as a stream, whole, and a second later than the one before."""
    folder = tmp_path / "in"
    folder.mkdir()
    now = int(time.time()) - 100

    def write(name: str, text: str) -> Path:
        (tmp_path / name).write_text(text)
        seconds = now + len(list(folder.iterdir()))
        os.utime(tmp_path / name, (seconds, seconds))
        return (tmp_path / name).rename(folder / name)

    return write


@pytest.fixture
def schema(spark: SparkSession, tmp_path: Path) -> Iterator[str]:
    """A schema of the session's catalog whose tables are in a folder of the test."""
    spark.sql(f"create schema lake location '{tmp_path}/lake'")
    yield "lake"
    spark.sql("drop schema lake cascade")


@pytest.fixture
def by_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks number the symbols of a few rows as well, and write their facts."""
    monkeypatch.setattr(symbols, "FEW_BLOCKS", -1)
