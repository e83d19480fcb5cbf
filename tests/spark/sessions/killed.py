"""Over Spark Connect, a stream whose process is killed in the middle of an epoch goes on, and makes it once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import tidelog
from tests.spark.sessions.suite import rows

CLIENT = """
import os, signal, sys
from pathlib import Path
from pyspark.sql import SparkSession
import tidelog
from tests.spark.sessions.suite import ORDERS
folder, when = Path(sys.argv[1]), sys.argv[2]
spark = SparkSession.builder.remote(os.environ["TIDELOG_SERVER"]).getOrCreate()

def die(event, arguments):
    if when == "before" and event == "os.rename" and "manifest" in str(arguments):
        os.kill(os.getpid(), signal.SIGKILL)

db = tidelog.connect(spark=spark, state=folder / "state")
db.load(ORDERS)
db.commit()
db.subscribe("total", lambda change: os.kill(os.getpid(), signal.SIGKILL))
sys.addaudithook(die)
stream = spark.readStream.schema("who string, item string, amount string").csv(str(folder / "in"))
db.maintain(stream, into="ordered").processAllAvailable()
"""


@pytest.mark.parametrize(("when", "repeated"), [("before", 0), ("after", 1)])
def test_a_batch_of_a_killed_process_is_one_epoch(
    spark: SparkSession, tmp_path: Path, when: str, repeated: int
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text("ann,tea,2\n")
    command = [sys.executable, "-c", CLIENT, str(tmp_path), when]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == -9, done.stderr
    stream = spark.readStream.schema("who string, item string, amount string").csv(str(tmp_path / "in"))
    with tidelog.connect(spark=spark, state=tmp_path / "state") as db:
        assert rows(db["total"]) == ({("tea", 2)} if when == "after" else set())
        query = db.maintain(stream, into="ordered")
        query.processAllAvailable()
        (tmp_path / "2.csv").write_text("bob,tea,5\n")
        (tmp_path / "2.csv").rename(tmp_path / "in" / "2.csv")
        query.processAllAvailable()
        assert rows(db["total"]) == {("tea", 7)}
        assert db.stats()["streams"]["ordered"]["repeated"] == repeated
