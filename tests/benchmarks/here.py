"""Measurements in this process: each new one costs seconds. Tests of processes are in test_graphs.py and
test_elastic.py."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any


def here(function: Callable[..., Any], *arguments: Any, **limits: float) -> Any:
    """Call a function in place of `apart`, with what comes back from JSON."""
    assert all(limit > 0 for limit in limits.values())
    return json.loads(json.dumps(function(*json.loads(json.dumps(arguments)))))
