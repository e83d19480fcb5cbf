"""The components that `make test-lake` tests with."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tidelog.spark import session

PACKAGES = (
    "io.delta:delta-spark_4.1_2.13:4.4.0",
    "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
    "org.postgresql:postgresql:42.7.14",
    # Of the versions for Spark 4.1, Maven Central has all parts of this one, which works with every 4.1.
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.1.1",
    "org.apache.kafka:kafka_2.13:3.9.1",
)
"""The last one is a broker, of the same version as the clients of the package before it."""


def lake_session(warehouse: Path) -> SparkSession:
    """Return a session with Delta, and with Iceberg's tables in the catalog `ice`."""
    return session(
        threads=2,
        brief=True,
        conf={
            "spark.jars.packages": ",".join(PACKAGES),
            "spark.jars.ivy": str(Path(os.environ["TIDELOG_LAKE"]) / "ivy"),
            "spark.sql.warehouse.dir": str(warehouse / "spark"),
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension,"
            "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "spark.databricks.delta.snapshotPartitions": "2",
            "spark.databricks.delta.properties.defaults.enableChangeDataFeed": "true",
            "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.ice.type": "hadoop",
            "spark.sql.catalog.ice.warehouse": str(warehouse / "ice"),
        },
    )


@dataclass(frozen=True)
class Postgres:
    """A PostgreSQL server on this machine."""

    psql: Path
    port: int

    @property
    def options(self) -> dict[str, Any]:
        """Return the options of Spark's reader and writer."""
        url = f"jdbc:postgresql://127.0.0.1:{self.port}/postgres"
        return {"url": url, "user": "tidelog", "driver": "org.postgresql.Driver"}

    def ask(self, statement: str) -> set[tuple[str, ...]]:
        """Return the rows of a statement, as texts."""
        command = [str(self.psql), "-h", "127.0.0.1", "-p", str(self.port), "-U", "tidelog", "-d", "postgres"]
        done = subprocess.run([*command, "-At", "-c", statement], check=True, capture_output=True, text=True)
        return {tuple(line.split("|")) for line in done.stdout.splitlines()}
