"""The suite of sessions (sessions/suite.py) over the classic session of all tests, and over Spark Connect."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.spark.sessions.suite import Sessions
from tidelog.errors import SetupError
from tidelog.spark import sessions
from tidelog.spark.sessions import application

ROOT = Path(__file__).parents[2]


class _Silent:
    """A session of a server that does not say its configuration."""

    conf = property(lambda self: self)

    def get(self, key: str) -> str:
        raise PySparkException(f"{key} is not available")


def test_a_server_that_does_not_say_its_application_cannot_have_the_cluster_engine() -> None:
    with pytest.raises(SetupError) as caught:
        application(cast(SparkSession, _Silent()))
    assert caught.value.code == "E0706"
    assert "spark.app.id" in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "partitions", "memory"),
    [
        ({"master": "yarn", "executor.memoryOverhead": "6g"}, 8, 6 << 30),
        ({"master": "yarn", "executor.memoryOverhead": "6144"}, 9, 3 << 30),  # There are eight slots.
        ({"master": "k8s://https://host", "executor.memoryOverhead": "6gb", "executor.cores": "2"}, 8, 3 << 30),
        ({"master": "yarn", "executor.memory": "40g", "executor.memoryOverheadFactor": "0.5"}, 8, 20 << 30),
        ({"master": "k8s://https://host", "executor.memory": "2000000k"}, 8, 204_800_000),
        ({"master": "yarn", "executor.pyspark.memory": "8g", "executor.memoryOverhead": "1g"}, 8, 8 << 30),
        ({"master": "spark://host:7077", "executor.memoryOverhead": "1g"}, 8, 4 << 30),
        ({"master": "spark://host:7077", "executor.pyspark.memory": "6g", "executor.cores": "2"}, 8, 3 << 30),
        ({"master": "spark://host:7077", "executor.pyspark.memory": "6g"}, 8, 4 << 30),
        ({"master": "spark://host:7077"}, 9, (16 << 30) // 5),
        ({}, 1, 16 << 30),
    ],
)
def test_the_memory_of_partitions_is_what_spark_gives_them(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], partitions: int, memory: int
) -> None:
    """Two machines have 32 and 64 GB."""
    monkeypatch.setattr(sessions, "_memory_of_machines", lambda session: {"small": 32 << 30, "large": 64 << 30})
    known = {f"spark.{name}": value for name, value in settings.items()}
    session = SimpleNamespace(conf=SimpleNamespace(get=known.get), sparkContext=SimpleNamespace(defaultParallelism=8))
    assert sessions.memory_of_partitions(cast(SparkSession, session), partitions) == memory


class TestClassicSession(Sessions):
    pass


def test_the_suite_over_spark_connect() -> None:
    """A process that has a classic session cannot have another one."""
    files = [f"tests/spark/sessions/{name}.py" for name in ("each", "remote")]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files]
    environment = {**os.environ, "TIDELOG_SESSION": "connect", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
