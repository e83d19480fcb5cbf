"""The cluster engine of a Spark session."""

from __future__ import annotations

import os
import secrets
import tempfile

from pyspark.sql import SparkSession

from tidelog.spark.cluster.engine import PartitionedEngine
from tidelog.spark.cluster.exchange.folder import Folder
from tidelog.spark.cluster.placement.place import PlacementLimits
from tidelog.spark.cluster.processes.executors import SparkExecutors
from tidelog.storage.dictionary import Dictionary


class ClusterEngine(PartitionedEngine):
    """Partitions beside the Python workers of a session: `partitions`, or as many as it has slots for tasks.

    `state` is a folder that all executors reach, as a path or address (`hdfs://…`, `s3://…`); what is in it when the
    engine is closed stays, and an engine opened on it goes on from there, from the epoch `token` if that is given.
    Without it, the state is in a temporary folder: in the folder `within`, or of this machine, which does where
    executors run on this machine, too. It can become one that stays (`temporary`) if the engine is `lasting`.
    """

    def __init__(
        self,
        session: SparkSession,
        dictionary: Dictionary,
        *,
        state: str | None = None,
        within: str | os.PathLike[str] | None = None,
        partitions: int | None = None,
        limits: PlacementLimits | None = None,
        lasting: bool | None = None,
        token: str | None = None,
    ) -> None:
        self.session = session
        if state is not None:
            folder = Folder(state)
        elif within is not None:
            place = os.fspath(within)
            folder = Folder(place if "://" in place else os.path.abspath(place)).inside(
                f"tidelog-{secrets.token_hex(6)}"
            )
        else:
            folder = Folder(tempfile.mkdtemp(prefix="tidelog-cluster-"))
        executors, temporary = SparkExecutors(session), state is None
        super().__init__(
            dictionary, executors, folder, partitions, limits, temporary=temporary, lasting=lasting, token=token
        )
