"""The run of readers and a writer at a server, in short."""

from __future__ import annotations

import pytest

from benchmarks import endpoint
from benchmarks.harness import BenchmarkError

pytestmark = pytest.mark.deep


def test_readers_beside_a_writer_get_right_answers() -> None:
    found = endpoint.run(2.0, readers=6, owned=10)
    assert found.commits == len(found.commit_times) > 0
    assert found.queries > 6
    assert set(found.figures()) >= {"commits_per_second", "slow_query", "memory_last"}


def test_a_wrong_answer_ends_the_run() -> None:
    load = endpoint.Load("http://127.0.0.1", owned=10)
    counters = [f"http://example.org/c{i}" for i in range(20)]
    kinds = ("http://example.org/Even", "http://example.org/Counter")
    right: list[tuple[str, ...]] = [(each, "4", kind) for each in counters for kind in kinds]
    load.check(endpoint.VALUES, right, 3, 5)
    mixed = [*right[1:], ("http://example.org/c0", "5", kinds[0])]
    for wrong in (right[1:], mixed, [*right, right[0]], []):
        with pytest.raises(BenchmarkError):
            load.check(endpoint.VALUES, wrong, 3, 5)
    for least, most in ((5, 6), (2, 3)):
        with pytest.raises(BenchmarkError):
            load.check(endpoint.VALUES, right, least, most)
