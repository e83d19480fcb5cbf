"""Benchmarks collect all garbage before they measure: what other tests have left does not count."""

from __future__ import annotations

import gc

import pytest


@pytest.fixture(autouse=True, scope="module")
def few_objects_are_visited() -> None:
    gc.freeze()
