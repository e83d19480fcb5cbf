"""The cluster engine: programs over relations that are spread over the partitions of a Spark session.

placement/   a core program becomes a plan: where rows live, where rules are evaluated, which rows are sent
checking/    the check of views, in the partitions
exchange/    the rows and messages that partitions and driver send each other in rounds
processes/   partitions, and the processes that run them beside Spark's workers
manifest     what is committed
epoch        one epoch: facts to where they live, then rounds
engine       epochs over partitions, as the driver sees them
verdict      the check of their views, as the driver sees it
certificate  the same views with births, to be written
session      the engine of a Spark session
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
