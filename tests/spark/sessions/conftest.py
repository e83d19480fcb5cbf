"""The session that TIDELOG_SESSION names: "classic", or "connect" for one of Spark Connect with a server of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from tidelog.spark import session

CONFIGURATION = (
    "spark.ui.enabled=false",
    "spark.log.level=ERROR",
    "spark.sql.shuffle.partitions=2",
    "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1",
    "spark.python.authenticate.socketTimeout=120s",  # Workers start slowly on a busy machine.
)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Return a session with two worker threads."""
    if os.environ["TIDELOG_SESSION"] == "classic":
        started = session(threads=2, brief=True)
        yield started
        started.stop()
    else:
        yield from connected(tmp_path_factory.mktemp("server") / "log")


def connected(log: Path) -> Iterator[SparkSession]:
    """Yield a session of Spark Connect, whose server writes a log."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = Path(pyspark.__file__).parent
    command = [str(home / "bin" / "spark-submit"), "--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    command += ["--master", "local[2]", "--driver-memory", "1g"]
    for setting in (*CONFIGURATION, f"spark.connect.grpc.binding.port={port}"):
        command += ["--conf", setting]
    environment = {**os.environ, "SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable}
    with log.open("w") as output:
        server = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
    try:
        until = time.monotonic() + 120
        while not listens(port):
            assert server.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.2)
        os.environ["TIDELOG_SERVER"] = f"sc://127.0.0.1:{port}"  # for further processes
        started = SparkSession.builder.remote(os.environ["TIDELOG_SERVER"]).getOrCreate()
        yield started
        started.stop()
    finally:
        server.kill()
        server.wait()


def listens(port: int) -> bool:
    """Return True if a process of this machine listens at a port."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
