"""Where the state is: folders behind addresses."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tests.depth import cases
from tests.scripts import script_for
from tests.spark.cluster.harness import Cluster, followed
from tests.suite import FIRST_SEED
from tidelog.errors import UsageError
from tidelog.spark.cluster.exchange.folder import Folder
from tidelog.spark.cluster.placement.place import PlacementLimits

numbers = itertools.count()


def test_random_changes_on_a_file_system_of_fsspec() -> None:
    for seed in range(FIRST_SEED, FIRST_SEED + cases(3)):
        place = Folder(f"memory://state-{next(numbers)}")
        problem = followed(script_for(seed), 3, PlacementLimits(), folder=place.address)
        assert not problem, problem
        assert "manifest" in place.names()


@pytest.mark.smoke
def test_a_database_goes_on_where_it_was_left() -> None:
    place = f"memory://state-{next(numbers)}"
    text = ".decl e(x: number)\n.decl t(x: number)\nt(x) :- e(x)."
    with Cluster(folder=place) as db:
        db.load(text)
        db.insert("e", [(1,), (2,)])
        db.commit()
    with Cluster(folder=place) as again:
        again.load(text)
        assert again["t"] == {(1,), (2,)}
        again.insert("e", [(3,)])
        again.commit()
        assert again["t"] == {(1,), (2,), (3,)}


@pytest.mark.parametrize("address", ["no-such-system://bucket/state", "/dev/null/state"])
def test_folders_that_cannot_be_used(address: str) -> None:
    with pytest.raises(
        UsageError, match=r"E0681.*cannot use the state folder: .*\n  hint: nothing has changed; free disk space"
    ):
        Cluster(folder=address)


def test_a_folder_inside_of_another(tmp_path: Path) -> None:
    assert Folder(f"{tmp_path}/a?b/").inside("c").local == tmp_path / "a?b" / "c"
    assert Folder("s3://bucket/a?region=x").inside("c").address == "s3://bucket/a/c?region=x"
    assert Folder("hdfs:///a/").inside("c").address == "hdfs:///a/c"
