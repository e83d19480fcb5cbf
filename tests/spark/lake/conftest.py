"""One session with Delta, Iceberg and PostgreSQL's driver, and a PostgreSQL server: `make test-lake` provides them."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.lake.components import Postgres, lake_session


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Return a session whose tables are in a folder of the tests."""
    started = lake_session(tmp_path_factory.mktemp("warehouse"))
    yield started
    started.stop()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """Return a PostgreSQL server, which runs as another user where the tests run as root."""
    folder = Path(tempfile.mkdtemp(prefix="tidelog-postgres-"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    programs = Path(os.environ["TIDELOG_POSTGRES"])
    before: list[str] = []
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
        before = ["runuser", "-u", "postgres", "--"]

    def run(program: str, *arguments: str) -> None:
        command = [*before, str(programs / program), "-D", str(folder / "data"), *arguments]
        subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL)

    run("initdb", "-A", "trust", "-U", "tidelog", "--no-sync")
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
    run("pg_ctl", "-w", "-l", str(folder / "log"), "-o", options, "start")
    yield Postgres(programs / "psql", port)
    run("pg_ctl", "-m", "immediate", "stop")
    shutil.rmtree(folder)
