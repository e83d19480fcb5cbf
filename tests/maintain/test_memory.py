"""An epoch for which there is not enough memory, wherever that shows, is E0503 and has not happened."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tests.allocations import Budget, small_blocks
from tests.allocators import ALLOCATORS
from tests.depth import stride
from tests.memory_stories import STORIES, attempt, each, fingerprint, lines_of, opened, right, try_all
from tests.suite import FIRST_SEED
from tidelog.maintain import large_groups

EVERY = stride(0.5)
"""Of the lines that ask for memory, one in so many is tried: all of them from a depth of 0.5 on."""


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks(monkeypatch)
    monkeypatch.setattr(large_groups, "LARGE", 8)


def requests(name: str, step: int, place: int, often: int = 1, **how: Any) -> int:
    """Let each `step`-th request of a story's last epoch fail, from a place on that the seed moves. Return how many
    requests the whole epoch makes, which no seed changes."""
    ours, theirs = itertools.tee(each(1 + place % step, stride(step), **how))
    failures = try_all(STORIES[name], ours, often=often)
    *failed, whole = theirs
    assert failures == len(failed) > 0
    return whole.asked


@pytest.mark.parametrize("name", STORIES)
def test_growths_of_blocks_fail_once(name: str) -> None:
    assert requests(name, 4, FIRST_SEED, allocators=()) > 17


@pytest.mark.parametrize("name", STORIES)
def test_from_some_growth_on_there_is_no_memory_left(name: str) -> None:
    assert requests(name, 12, FIRST_SEED, for_good=True, allocators=()) > 13


@pytest.mark.parametrize("name", STORIES)
def test_from_some_request_on_there_is_no_memory_left(name: str) -> None:
    assert requests(name, 46, FIRST_SEED * 7, often=50, for_good=True) > 99


def test_each_line_that_asks_for_memory_gets_none() -> None:
    seen: dict[str, None] = {}
    for story in STORIES.values():
        fresh = [line for line in lines_of(story) if line not in seen]
        seen |= dict.fromkeys(fresh)
        tried = fresh[FIRST_SEED % EVERY :: EVERY]
        try_all(story, (Budget(1, blocks=False, line=line) for line in tried))
    assert len(seen) > 150


@pytest.mark.skipif("kernels" not in ALLOCATORS, reason="what kernels ask for is seen on Linux on x86-64")
@pytest.mark.parametrize("name", ["an update", "closures", "closures anew", "closures torn"])
def test_each_array_of_a_kernel_gets_no_memory(name: str) -> None:
    assert try_all(STORIES[name], each(1, EVERY, blocks=False, allocators=["kernels"]), often=1) > 2 // EVERY


@pytest.mark.parametrize("name", ["an update", "closures", "rules"])
def test_the_same_transaction_succeeds_afterwards(name: str) -> None:
    story = STORIES[name]
    expected = opened(story)
    assert attempt(expected, story.acts[-1], Budget(0))
    for last in (1, 6, 11, 16):
        db = opened(story)
        assert not attempt(db, story.acts[-1], Budget(last, for_good=True, allocators=()))
        assert attempt(db, story.acts[-1], Budget(0))
        right(db)
        assert fingerprint(db)[1] == fingerprint(expected)[1]


@pytest.mark.parametrize("for_good", [False, True])
def test_a_store_is_as_before(tmp_path: Path, for_good: bool) -> None:
    folders = (tmp_path / str(number) for number in itertools.count())
    story, used = STORIES["symbols and records"], []

    def connect() -> tidelog.Database:
        used.append(next(folders))
        return tidelog.connect(used[-1])

    assert try_all(story, each(1 + 20 * for_good, stride(106), for_good=for_good), connect=connect) > 0
    expected = opened(story)
    assert attempt(expected, story.acts[-1], Budget(0))
    with tidelog.connect(used[-2]) as reopened:  # Once an epoch fits, `try_all` begins anew.
        for name in expected.relations:
            assert set(reopened[name]) == set(expected[name])


LIMITED = """
import resource, sys
import numpy
import tidelog

db = tidelog.connect()
db.load('''
.decl e(x: number, y: number)
.decl t(x: number, y: number, z: number)
.decl r(x: number, y: number)
t(x, y, z) :- e(x, y), e(y, z).
r(x, y) :- e(x, y), x < 9.
r(x, y) :- r(x, z), e(z, y), x < 9, y < 4000.
''')
edges = numpy.stack([numpy.arange(2_000), (numpy.arange(2_000) * 7 + 1) % 2_000], axis=1)
db.insert("e", edges)
db.options(strategy="update")
db.commit()
with db.transaction() as transaction:  # all kernels are loaded
    transaction.delete("e", edges[:1])
with db.transaction() as transaction:
    transaction.insert("e", edges[:1])
before = {name: set(db[name]) for name in db.relations}
numbers = numpy.arange(200_000)
more = numpy.stack([numbers % 20_000, (numbers * 7_919 + 3) % 20_000], axis=1)
used = int(next(line for line in open("/proc/self/status") if line.startswith("VmSize")).split()[1]) << 10
resource.setrlimit(resource.RLIMIT_AS, (used + (int(sys.argv[1]) << 20), resource.RLIM_INFINITY))
try:
    with db.transaction() as transaction:
        transaction.insert("e", more)
        transaction.delete("e", edges[:400])
    print("committed")
except tidelog.LimitError as error:
    assert error.problems[0].code == "E0503", error
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert {name: set(db[name]) for name in db.relations} == before
    print("refused")
finally:
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
db.check()
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of the address space are Linux's")
@pytest.mark.parametrize(
    ("megabytes", "outcomes"),
    [(6, ["refused"]), pytest.param(16, ["refused", "committed"], marks=pytest.mark.deep), (2_000, ["committed"])],
)
def test_a_limited_address_space(megabytes: int, outcomes: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(megabytes)], capture_output=True, text=True, check=False, timeout=600
    )
    assert done.returncode == 0, f"{done.returncode}: {done.stdout}{done.stderr}"
    assert done.stdout.strip() in outcomes
