"""Kafka with a real broker: a compacted topic into a database, changes out, and a broker that is restarted.

Spark's writer and reader come from its package; the broker is Kafka's own, one node in KRaft mode, whose jars Spark
fetches as well.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import tidelog
from tidelog.spark import Sink, SparkDatabase

PROGRAM = """
.decl person(id: number, name: symbol, euros: number)
.decl rich(name: symbol)
rich(n) :- person(_, n, e), e > 100.
"""
INTO = {"relation": "person", "feed": "kafka-compacted", "key": ["id"]}
PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={folder}/data
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
num.partitions=2
"""


@dataclass
class Broker:
    """A Kafka broker of one node, whose state is in a folder."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def options(self) -> dict[str, str]:
        """Return the option of Spark's reader and writer."""
        return {"kafka.bootstrap.servers": f"127.0.0.1:{self.port}"}

    def _java(self, *arguments: str) -> list[str]:
        ivy, spark = Path(os.environ["TIDELOG_LAKE"]) / "ivy/jars", Path(pyspark.__file__).parent / "jars"
        java = Path(os.environ["JAVA_HOME"]) / "bin/java"
        own = ["-Xmx256m", "-XX:TieredStopAtLevel=1", f"-Djava.io.tmpdir={self.folder}"]
        return [str(java), *own, "-cp", f"{ivy}/*:{spark}/*", *arguments]

    def format(self) -> None:
        """Make the state of a new broker."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            text = PROPERTIES.format(port=self.port, controller=free.getsockname()[1], folder=self.folder)
        (self.folder / "server.properties").write_text(text)
        command = self._java("kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c")
        subprocess.run([*command, f"{self.folder}/server.properties"], check=True, capture_output=True)

    def start(self) -> None:
        """Start the broker, and wait until it answers."""
        with (self.folder / "log").open("ab") as log:
            command = self._java("kafka.Kafka", f"{self.folder}/server.properties")
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        until = time.monotonic() + 60
        while time.monotonic() < until and self.process.poll() is None:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            time.sleep(0.1)
        raise AssertionError((self.folder / "log").read_text()[-3000:])

    def kill(self) -> None:
        """End the broker as a crash does."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="module")
def broker(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Return a broker that runs; the session has fetched its jars."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    started = Broker(tmp_path_factory.mktemp("broker"), port)
    started.format()
    started.start()
    yield started
    started.kill()


def send(spark: SparkSession, broker: Broker, topic: str, *records: tuple[int, tuple[str, int] | None]) -> None:
    """Send records about persons, in their order; None is a tombstone."""
    rows = [
        (json.dumps({"id": key}), None if person is None else json.dumps({"name": person[0], "euros": person[1]}))
        for key, person in records
    ]
    frame = spark.createDataFrame(rows, "key string, value string").coalesce(1)
    frame.write.format("kafka").options(**broker.options, topic=topic).save()


def values(spark: SparkSession, broker: Broker, topic: str) -> list[dict[str, Any]]:
    """The values of the records of a topic."""
    records = spark.read.format("kafka").options(**broker.options, subscribe=topic).load()
    return [json.loads(row["value"]) for row in records.select(F.col("value").cast("string")).collect()]


def follow(
    db: SparkDatabase, spark: SparkSession, broker: Broker, topic: str, sink: Sink, **more: Any
) -> dict[str, Any]:
    """Make an epoch of everything new in a topic; returns what the stream says about it."""
    options = {**broker.options, "subscribe": topic, "startingOffsets": "earliest"}
    stream = spark.readStream.format("kafka").options(**options).load()
    db.maintain(stream, INTO, name="people", trigger={"availableNow": True}, sinks=[sink], **more).awaitTermination()
    found: dict[str, Any] = db.stats()["streams"]["people"]
    assert found["error"] is None
    return found


def rich(db: SparkDatabase) -> set[str]:
    return {row.name for row in db["rich"].collect()}


def test_a_compacted_topic_goes_in_and_changes_go_out(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    sink = Sink("rich", what="changes", format="kafka", options={**broker.options, "topic": "rich"})
    state = tmp_path / "state"
    send(spark, broker, "people", (1, ("ann", 500)), (2, ("bob", 900)), (3, ("cid", 7)), (2, ("bob", 50)))
    with tidelog.connect(spark=spark, state=state) as db:
        db.load(PROGRAM)
        found = follow(db, spark, broker, "people", sink)
        assert (found["read"], found["accepted"], found["batches"]) == (4, 4, 1)
        assert rich(db) == {"ann"}
    broker.kill()
    broker.start()
    send(spark, broker, "people", (1, None), (3, ("cid", 700)))
    with tidelog.connect(spark=spark, state=state) as db:  # The state folder has the offsets of the last batch.
        found = follow(db, spark, broker, "people", sink)
        assert (found["read"], found["late"]) == (2, 0)
        assert rich(db) == {"cid"}
        known = dict(db.keeper.notes["streams"])
        # A new checkpoint begins at the first record: all are older than what the state knows of their keys.
        found = follow(db, spark, broker, "people", sink, checkpoint=tmp_path / "another")
        assert (found["read"], found["late"]) == (2 + 6, 6)
        assert rich(db) == {"cid"}
        assert known.items() < db.keeper.notes["streams"].items()
    sent = values(spark, broker, "rich")
    assert sorted((each["epoch"], each["op"], each["name"]) for each in sent) == [
        (2, "insert", "ann"),
        (3, "delete", "ann"),
        (3, "insert", "cid"),
    ]
    offsets = sorted((state / "streams/people/offsets").iterdir())
    assert [file.name for file in offsets if not file.name.startswith(".")] == ["0", "1"]


def test_a_broker_that_is_away_is_an_error_that_loses_nothing(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    options = {
        **broker.options,
        "topic": "others_rich",
        "kafka.max.block.ms": "2000",
        "kafka.delivery.timeout.ms": "3000",
    }
    options |= {"kafka.request.timeout.ms": "1000", "kafka.linger.ms": "0"}
    sink = Sink("rich", what="changes", format="kafka", options=options)
    with tidelog.connect(spark=spark, state=tmp_path / "state") as db:
        db.load(PROGRAM)
        send(spark, broker, "others", (1, ("ann", 500)))
        follow(db, spark, broker, "others", sink)
        broker.kill()
        db.insert("person", [(4, "dan", 400)])
        change = db.commit()
        assert [error.problems[0].code for error in change.errors if isinstance(error, tidelog.TidelogError)] == [
            "E0483"
        ]
        assert rich(db) == {"ann", "dan"}
        broker.start()
        follow(db, spark, broker, "others", sink)
    sent = values(spark, broker, "others_rich")
    assert sorted((each["epoch"], each["name"]) for each in sent) == [(2, "ann"), (3, "dan")]
