"""The random programs of the suite on the two reference evaluators and on the embedded engine."""

from __future__ import annotations

from tests.depth import cases
from tests.suite import Suite, evaluate_embedded, evaluate_naive, evaluate_seminaive


class TestNaive(Suite):
    evaluate = staticmethod(evaluate_naive)
    random_programs = cases(120)  # compared with itself: the golden programs and the order of literals say more


class TestSeminaive(Suite):
    evaluate = staticmethod(evaluate_seminaive)


class TestEmbedded(Suite):
    evaluate = staticmethod(evaluate_embedded)
    random_programs = cases(120)  # many more are in test_random
