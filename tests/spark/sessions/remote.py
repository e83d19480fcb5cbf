"""The key `remote` of a pipeline in TOML: `tidelog pipeline run` in a session of the server that it names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.sessions.suite import ORDERS, rows
from tidelog.errors import SetupError
from tidelog.spark.machine import remote_session

PIPELINE = """
program = "orders.dl"
remote = "{server}"
session = {{ "spark.sql.shuffle.partitions" = "3" }}
[[source]]
relation = "ordered"
path = "orders.csv"
options = {{ header = true }}
[[sink]]
relation = "total"
path = "total"
"""


def test_a_pipeline_runs_on_the_server_that_it_names(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(PIPELINE.format(server=os.environ["TIDELOG_SERVER"]))
    (tmp_path / "orders.dl").write_text(ORDERS)
    (tmp_path / "orders.csv").write_text("who,item,amount\nann,tea,2\nbob,tea,3\n")
    command = [sys.executable, "-m", "tidelog", "pipeline", "run", str(tmp_path / "p.toml"), "--json"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["ok"] is True
    assert rows(spark.read.parquet(str(tmp_path / "total"))) == {("tea", 5)}


def test_a_setting_that_a_server_does_not_take_is_an_error(spark: SparkSession) -> None:
    with pytest.raises(SetupError) as caught:
        remote_session(os.environ["TIDELOG_SERVER"], {"spark.driver.memory": "3g"})
    assert caught.value.code == "E0710"
    assert "spark.driver.memory" in str(caught.value)
