"""A driver with a session and the cluster engine that is killed (SIGKILL): another one goes on from the last epoch."""

from __future__ import annotations

import logging
import os
import select
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import tidelog
from tests.depth import stride
from tests.spark.cluster.test_spark import processes
from tidelog.errors import UsageError
from tidelog.spark import SparkDatabase

DRIVER = """
import sys, tidelog
from tidelog.spark import session

spark = session(2, brief=True)
db = tidelog.connect(spark=spark, state=sys.argv[1] + "/state")
sys.modules[type(db.keeper.state).__module__].MOST_SEGMENTS = 1  # so that the second epoch gathers them
db.options(engine="cluster")
db.load('''
.decl e(x: number, y: symbol)
.decl of(x: number, n: number)
o: of(x, n) :- e(x, _), n = count : { e(x, _) }.
e(0, "said").
''')
db.insert("e", spark.range(9).selectExpr("id % 3 x", "concat('n', id) y"))
db.commit()

def tell(event, arguments):
    if event not in ("os.rename", "os.mkdir", "os.remove", "shutil.rmtree"):
        return
    path = str(arguments[0])  # the store names files relative to their folders
    if path.startswith(sys.argv[1]) or not path.startswith("/"):
        print(event, *arguments, flush=True)
        sys.stdin.readline()

sys.addaudithook(tell)
for number in (1, 2):
    db.delete("e", spark.sql(f"select {number} x, 'n{number}' y"))
    db.insert("e", [(number, f"more {i}") for i in range(5)])
    db.commit()
    print("committed", spark.sparkContext.applicationId, flush=True)
    sys.stdin.readline()
"""
EPOCHS: list[set[tuple[object, ...]]] = [
    {(0, 4), (1, 3), (2, 3)},
    {(0, 4), (1, 7), (2, 3)},
    {(0, 4), (1, 7), (2, 7)},
]


def opened(spark: SparkSession, folder: Path) -> SparkDatabase:
    return tidelog.connect(spark=spark, state=folder)


def test_a_driver_is_killed_between_rounds_and_in_the_middle_of_a_commit(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It tells over a pipe whenever it is about to change something on the disk. A copy of the folder is what a kill at
    that moment would leave; the last of these moments, between rounds of the third epoch, is one."""
    (tmp_path / "tmp").mkdir()
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
    )
    assert driver.stdin is not None
    assert driver.stdout is not None
    copies: dict[tuple[str, ...], Path] = {}
    application = ""
    for line in driver.stdout:
        if line.startswith("committed"):
            application = line.split()[1]
        if application and "/round-" in line:
            with pytest.raises(UsageError, match=f"in use by process {driver.pid}"):
                opened(spark, tmp_path / "state")
            break
        if not application:
            manifest = (tmp_path / "state/manifest.json").read_text()
            key = manifest, *sorted(map(str, (tmp_path / "state/segments").rglob("*")))
            if key not in copies:
                copies[key] = shutil.copytree(tmp_path / "state", tmp_path / f"copy-{len(copies)}")
        driver.stdin.write("\n")
        driver.stdin.flush()
    ends = [os.pidfd_open(process) for process in [driver.pid, *processes(f"processes.host {application}")]]
    driver.kill()
    assert len(ends) > 3, "the host and its two partitions are found"
    for end in ends:
        assert select.select([end], [], [], 300)[0], "a process outlives its driver"
        os.close(end)
    driver.communicate()
    found = []
    for copy in [*copies.values()][:: -stride(1)]:  # the last first, which has the second epoch
        with opened(spark, copy) as db:
            found.append(EPOCHS.index(set(db.local("of"))))
            assert (db.stats()["epochs"], db.stats()["engine"]) == (found[-1] + 1, "cluster")
    assert found == sorted(found, reverse=True)
    assert set(found) == {0, 1}
    with opened(spark, tmp_path / "state") as db:
        assert set(db.local("of")) == EPOCHS[1]
        assert db.stats()["engine"] == "cluster"
        db.delete("e", [(2, "n2")])
        db.insert("e", [(2, f"more {i}") for i in range(5)])
        db.commit()
        assert set(db.local("of")) == EPOCHS[2]
        assert sorted(os.listdir(tmp_path / "state/segments")) == ["00000002-all", "00000003"]
    warnings = [each for each in caplog.records if each.name == "tidelog.spark" and each.levelno >= logging.WARNING]
    assert not warnings, "partitions were no use"
    assert not list((tmp_path / "tmp").iterdir())
