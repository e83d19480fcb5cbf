"""An epoch for which there is not enough memory, wherever that shows, is E0503 and has not happened."""

from __future__ import annotations

import pytest

from tests.allocations import Budget, arrays_are_counted, small_blocks
from tests.memory_stories import STORIES, attempt, fingerprint, opened, right, try_all
from tests.suite import FIRST_SEED
from tidelog.maintain import large_groups


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    small_blocks(monkeypatch)
    monkeypatch.setattr(large_groups, "LARGE", 8)


def test_the_budget_sees_arrays() -> None:
    assert arrays_are_counted()


@pytest.mark.parametrize("name", STORIES)
def test_every_growth_of_a_block_fails_once(name: str) -> None:
    assert try_all(STORIES[name], for_good=False, arrays=False) > 25


@pytest.mark.parametrize("name", STORIES)
def test_from_some_growth_on_there_is_no_memory_left(name: str) -> None:
    assert try_all(STORIES[name], for_good=True, arrays=False, step=5, first=1 + FIRST_SEED % 5) > 5


@pytest.mark.parametrize("for_good", [False, True])
@pytest.mark.parametrize("name", STORIES)
def test_some_arrays_have_no_memory(name: str, for_good: bool) -> None:
    first = 1 + (FIRST_SEED * 7 + 11 * for_good) % 23
    assert try_all(STORIES[name], for_good=for_good, arrays=True, step=23, first=first) > 5


@pytest.mark.parametrize("name", ["an update", "closures", "rules"])
def test_the_same_transaction_succeeds_afterwards(name: str) -> None:
    story = STORIES[name]
    expected = opened(story)
    assert attempt(expected, story.acts[-1], Budget(0))
    for last in (1, 9, 17, 33):
        db = opened(story)
        assert not attempt(db, story.acts[-1], Budget(last, for_good=True, arrays=False))
        assert attempt(db, story.acts[-1], Budget(0))
        right(db)
        assert fingerprint(db)[1] == fingerprint(expected)[1]
