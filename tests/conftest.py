"""Settings of all tests: Ctrl-C works, the garbage collector is less eager, slow tests begin, Spark starts once."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# A busy machine is no fault of a test: no limits of time.
hypothesis.settings.register_profile("untimed", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("untimed")
os.environ.setdefault("TIDELOG_KERNELS", "compiled")  # Tests are of the code that large databases run.


def pytest_configure(config: pytest.Config) -> None:
    """To look for garbage as often as Python does takes a twentieth of the tests' time. To load Spark's classes takes
    half of the start of a session. To remove thousands of folders from a disk takes a fifth."""
    from tests import archive  # It imports tidelog, which reads the setting above.

    gc.set_threshold(20_000, 20, 20)
    archive.use()
    if not hasattr(config, "workerinput") and "TMPDIR" not in os.environ and _has_room(MEMORY):
        folder = tempfile.TemporaryDirectory(prefix="tidelog-tests-", dir=MEMORY, ignore_cleanup_errors=True)
        config.add_cleanup(folder.cleanup)
        os.environ["TMPDIR"] = tempfile.tempdir = folder.name


def _has_room(folder: str) -> bool:
    return os.access(folder, os.W_OK) and shutil.disk_usage(folder).free > 4 * 2**30


def pytest_collection_finish() -> None:
    """Benchmarks and some tests collect all garbage, which takes a second among twelve thousand tests."""
    gc.freeze()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """DuckDB complains at the end of a process of objects that somebody still has."""
    gc.unfreeze()
    session.items.clear()


MEMORY = "/dev/shm"
"""A folder that Linux keeps in memory. A TMPDIR of the caller's stays as it is, and so do the files in it."""
SLOW = ("spark", "maintain", "store", "network", "project", "demo", "benchmarks", "certificate", "storage", "engine")
"""Folders with tests of several seconds each, the slowest first."""


DEPENDS_ON_DEPTH = {"cases", "stride"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that need Spark, and those whose file uses tests/depth.py. Sort slow folders to the front.

    With `--dist worksteal`, each worker begins at another place and takes tests from the end of another's list: Spark
    then starts in one worker, and no worker has a long test left at the end.
    """
    rank = {folder: place for place, folder in enumerate(SLOW)}
    folder_of = {item: item.path.relative_to(Path(__file__).parent).parts[0] for item in items}
    for item, folder in folder_of.items():
        if folder == "spark" or "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
        if DEPENDS_ON_DEPTH & vars(getattr(item, "module", object)).keys():
            item.add_marker(pytest.mark.random)
    items.sort(key=lambda item: rank.get(folder_of[item], len(SLOW)))


def pytest_runtest_setup() -> None:
    """Ctrl-C raises KeyboardInterrupt in each test: a job in the background of a shell starts with SIGINT ignored, and
    PySpark leaves a handler of its own behind."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def program_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the cache of programs, an empty one, in which every program is worth a file."""
    from tidelog.common.cache_folder import cache_folder
    from tidelog.workspace import programs

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(cache_folder()))  # The kernels stay where they are.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(programs, "WORTH", 0)
    return tmp_path / "cache/tidelog/programs"


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Return the one Spark session of the process: starting one takes longer than most tests."""
    from tidelog.spark import session

    started = session(threads=2, brief=True)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # PySpark has put one of its own in its place
    yield started
    started.stop()
