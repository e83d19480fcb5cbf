"""The cluster engine: programs over relations that are spread over the partitions of a Spark session.

Read it in this order: `plan` (what every partition knows), `sites`, `parts`, `localize` and `levels` (how a program
becomes a plan), `rounds` and `partition` (what a partition does in a round), `engine` and `epoch` (how the driver
goes from round to round), `reports` and `session`. Two things have modules of their own: `skew` (words that many rows
have) and `suspects` (deletions in recursions that cross partitions). Below these: `buckets` (where a word lives),
`pieces` and `folder` (files), `values` (symbols between dictionaries), `manifest` (what is committed). `executors`,
`host`, `warm` and `serve` bring tasks to partitions.
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
