"""Choices on the cluster engine: partitions do not make them."""

from __future__ import annotations

import pytest

from tests.spark.cluster.harness import Cluster
from tidelog.errors import ProgramError


@pytest.mark.smoke
def test_partitions_do_not_choose() -> None:
    with Cluster(2) as db:
        db.load(
            ".decl e(x: number, y: number)\n.decl tree(x: number, y: number) choice-domain x\ntree(x, y) :- e(x, y)."
        )
        db.insert("e", [(1, 2), (1, 3)])
        with pytest.raises(ProgramError, match="E0709") as raised:
            db.commit()
        assert "partitions cannot choose tuples of `tree` by `choice-domain`" in str(raised.value)
