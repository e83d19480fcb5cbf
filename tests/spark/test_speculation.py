"""A cluster of two hosts, as far as Spark knows: tasks that run twice because one is slow, executors that are killed.

A session in `local[n]` neither speculates nor has executors to lose, so that this one is of a master and two workers of
Spark's own, on this machine under two names.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from inspect import getsource
from pathlib import Path

import pyspark

from tests.spark.cluster.test_spark import processes
from tidelog.spark.machine import java_home

DRIVER = """
import os, signal, sys, threading, time
from contextlib import suppress
from pathlib import Path
from pyspark.sql import SparkSession
import tidelog
from tidelog.spark.cluster import manifest

manifest._MANY_UNSAVED = 1  # Partitions save themselves after the first epoch.
builder = SparkSession.builder.master(sys.argv[1])
for line in sys.argv[2:]:
    builder = builder.config(*line.split("=", 1))
spark = builder.getOrCreate()
tracker = spark.sparkContext.statusTracker()
db = tidelog.connect(spark=spark)
db.options(engine="cluster")
db.load('''
.decl e(x: number, y: number)
.decl t(x: number, y: number)
.decl degree(x: number, n: number)
t(x, y) :- e(x, y).
t(x, z) :- t(x, y), e(y, z).
degree(x, n) :- e(x, _), n = count : { t(x, _) }.
''')
db.insert("e", [(i, i + 1) for i in range(30)])
db.commit()

PROCESSES
def meanwhile(number, stopped, is_time, do):
    '''An epoch of one edge more, and `do` when it is time; meanwhile these partitions are stopped.'''
    db.insert("e", [(number, number + 1)])
    for process in stopped:
        os.kill(process, signal.SIGSTOP)
    committing = threading.Thread(target=db.commit)
    committing.start()
    try:
        until = time.monotonic() + PATIENCE
        while not any(is_time(info) for i in tracker.getActiveStageIds() if (info := tracker.getStageInfo(i))):
            assert committing.is_alive(), "it was over before it was time"
            assert time.monotonic() < until, "it never was time"
            committing.join(0.05)
        do()
    finally:
        for process in stopped:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)
    committing.join()
    rows = set(map(tuple, db["degree"].collect()))
    print(rows == {(i, number + 1 - i) for i in range(number + 1)}, db.size("t"), flush=True)

host, *partitions = processes("processes.host " + spark.sparkContext.applicationId)
twice = lambda info: info.numActiveTasks + info.numCompletedTasks > info.numTasks
meanwhile(30, partitions[:1], twice, lambda: None)
print(db.stats()["restored"], db.stats()["replayed"], flush=True)
host, *partitions = processes("processes.host " + spark.sparkContext.applicationId)
daemon = Path(f"/proc/{host}/cmdline").read_bytes().split(b"\\0")[-2].decode()  # of the executor that started the host
executor = int(Path(f"/proc/{daemon}/stat").read_text().rsplit(")", 1)[1].split()[1])
running = lambda info: info.numActiveTasks
meanwhile(31, partitions, running, lambda: os.kill(executor, signal.SIGKILL))
print(db.stats()["restored"], db.stats()["replayed"], Path(f"/proc/{host}").exists(), flush=True)
meanwhile(32, partitions, running, lambda: [os.kill(process, signal.SIGKILL) for process in (host, *partitions)])
print(db.stats()["restored"], db.stats()["replayed"], flush=True)
db.close()
spark.stop()
"""
PATIENCE = 240.0
"""Seconds for what takes a few on a machine with nothing else to do."""
CONFIGURATION = {
    "spark.cores.max": "2",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",  # A task runs twice only where there are two executors.
    "spark.speculation": "true",
    "spark.speculation.interval": "50ms",
    "spark.speculation.quantile": "0.1",
    "spark.speculation.minTaskRuntime": "20ms",
    "spark.default.parallelism": "2",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.executor.memory": "512m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}


@contextmanager
def started(environment: dict[str, str], file: Path, ready: str, *command: str) -> Iterator[str]:
    """A daemon of Spark, as far as its log says that it is ready. The log is a `file`: a pipe that nobody reads would
    fill and stop the daemon."""
    program = [str(Path(environment["SPARK_HOME"], "bin/spark-class")), *command]
    with file.open("w") as output:
        process = subprocess.Popen(program, env=environment, stdout=subprocess.DEVNULL, stderr=output)
    try:
        until = time.monotonic() + PATIENCE
        while not re.search(ready, log := file.read_text()):
            assert time.monotonic() < until, log
            with suppress(subprocess.TimeoutExpired):
                raise AssertionError(f"it ended with {process.wait(0.1)}: {log}")
        yield log
    finally:
        process.kill()
        process.wait()


def test_speculation_and_executors_that_are_killed(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "JAVA_HOME": str(java_home()),
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_WORKER_DIR": str(tmp_path),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1",
        "PYSPARK_PYTHON": sys.executable,
    }
    deploy, here = "org.apache.spark.deploy", ["--webui-port", "0"]
    master = [f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", "0", *here]
    logs = [tmp_path / name for name in ("master", "first", "second")]
    with started(environment, logs[0], "New state: ALIVE", *master) as log:
        [address] = set(re.findall(r"spark://127\.0\.0\.1:\d+", log))
        worker = [f"{deploy}.worker.Worker", "--cores", "1", "--memory", "600m", *here, address, "--host"]
        ready = "Successfully registered with master"
        with (
            started(environment, logs[1], ready, *worker, "127.0.0.2"),
            started(environment, logs[2], ready, *worker, "127.0.0.3"),
        ):
            given = [f"{key}={value}" for key, value in CONFIGURATION.items()]
            driver = DRIVER.replace("PROCESSES", f"PATIENCE = {PATIENCE}\n{getsource(processes)}")
            command = [sys.executable, "-c", driver, address, *given]
            done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    views = [f"True {n * (n + 1) // 2}" for n in (31, 32, 33)]
    # The partitions survive the executor that has started their host, because there is another one. When they are lost,
    # each has the 30 edges of the first epoch in its file, and evaluates the two that have come since then.
    assert done.stdout.splitlines() == [views[0], "0 0", views[1], "0 0 True", views[2], "2 4"], done.stderr
