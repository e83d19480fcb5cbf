"""Settings that hold for all tests."""

from __future__ import annotations

import hypothesis


def test_random_tests_have_no_limits_of_time() -> None:
    settings = hypothesis.settings()
    assert settings.deadline is None
    assert hypothesis.HealthCheck.too_slow in settings.suppress_health_check
