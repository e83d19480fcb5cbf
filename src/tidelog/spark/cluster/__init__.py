"""The cluster engine: programs over relations that are spread over the partitions of a Spark session.

Read it in this order: `plan` (what every partition knows), `sites` and `localize` (how a program becomes a plan),
`partition` (what a partition does in a round), `engine` (how the driver goes from round to round). Below these:
`buckets` (where a word lives), `pieces` and `folder` (files), `values` (symbols between dictionaries), `manifest` (what
is committed). `executors`, `host` and `serve` bring tasks to partitions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidelog.spark.cluster.session import ClusterEngine

__all__ = ["ClusterEngine"]


def __getattr__(name: str) -> Any:
    # Partitions import this package and have no use for PySpark.
    if name == "ClusterEngine":
        from tidelog.spark.cluster.session import ClusterEngine

        return ClusterEngine
    raise AttributeError(name)
