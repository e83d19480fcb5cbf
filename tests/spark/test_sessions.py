"""The suite of sessions (sessions/suite.py) over the classic session of all tests, and over Spark Connect."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.spark.sessions.suite import Sessions
from tidelog.errors import SetupError
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


class TestClassicSession(Sessions):
    pass


def test_the_suite_over_spark_connect() -> None:
    """A process that has a classic session cannot have another one."""
    files = [f"tests/spark/sessions/{name}.py" for name in ("each", "remote")]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files]
    environment = {**os.environ, "TIDELOG_SESSION": "connect", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
