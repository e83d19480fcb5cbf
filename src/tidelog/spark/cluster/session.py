"""The cluster engine of a Spark session."""

from __future__ import annotations

import tempfile

from pyspark.sql import SparkSession

from tidelog.spark.cluster.buckets import BUCKETS
from tidelog.spark.cluster.engine import PartitionedEngine
from tidelog.spark.cluster.executors import SparkExecutors
from tidelog.spark.cluster.folder import Folder
from tidelog.spark.cluster.localize import Limits
from tidelog.storage.dictionary import Dictionary


class ClusterEngine(PartitionedEngine):
    """Partitions beside the Python workers of a session, as many as it has slots for tasks or as `partitions` says.

    `state` is a folder that all executors reach, as a path or address (`hdfs://…`, `s3://…`); what is in it when the
    engine is closed stays, unless it is `temporary`, and an engine opened on it goes on from there. Without it, the
    state is in a temporary folder of this machine, which does where executors run on this machine, too.
    """

    def __init__(
        self,
        session: SparkSession,
        dictionary: Dictionary,
        *,
        state: str | None = None,
        partitions: int | None = None,
        limits: Limits | None = None,
        temporary: bool = False,
    ) -> None:
        self.session = session
        folder = Folder(state or tempfile.mkdtemp(prefix="tidelog-cluster-"))
        count = partitions or min(session.sparkContext.defaultParallelism, BUCKETS)
        temporary = temporary or state is None
        super().__init__(dictionary, SparkExecutors(session), folder, count, limits, temporary=temporary)
