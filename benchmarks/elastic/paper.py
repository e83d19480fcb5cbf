"""The figures of *Towards Elastic Incrementalization for Datalog*, on eight threads of an AMD 2990WX."""

from __future__ import annotations

BENCHMARKS = {"points_to": "Doop", "crdt": "CRDT", "galen": "Galen"}
"""The paper's names of its programs; its Doop has 90 rules, 11,014,960 facts and 41,665,029 derived tuples."""

WORKLOAD = {
    "points_to": {"Soufflé": 304, "Soufflé-elastic": 245, "Soufflé-counting": 284, "DDlog": 467},
    "crdt": {"Soufflé": 19, "Soufflé-elastic": 31, "Soufflé-counting": 25, "DDlog": 56},
    "galen": {"Soufflé": 370, "Soufflé-elastic": 384, "DDlog": 445},
}
"""Section 5.2: seconds of the thirteen epochs."""

MEMORY = {
    "points_to": {"Soufflé": 1_764, "Soufflé-elastic": 7_505, "Soufflé-counting": 11_387, "DDlog": 27_851},
    "crdt": {"Soufflé": 42, "Soufflé-elastic": 352, "Soufflé-counting": 344, "DDlog": 858},
    "galen": {"Soufflé": 960, "Soufflé-elastic": 5_698, "Soufflé-counting": 21_034, "DDlog": 26_461},
}
"""Table 2: megabytes at most."""

UPDATES: dict[tuple[str, int], dict[str, tuple[float, float, float, float, float]]] = {
    ("points_to", 10): {
        "Soufflé-elastic": (64.53, 0.20, 5.62, 0.20, 0.42),
        "Soufflé-counting": (113.64, 0.50, 1.00, 0.50, 1.11),
        "DDlog": (164.53, 0.07, 1.85, 0.02, 1.67),
    },
    ("points_to", 100): {
        "Soufflé-elastic": (66.22, 4.63, 13_624.27, 0.38, 2.98),
        "Soufflé-counting": (116.00, 0.78, 9.05, 0.77, 9.49),
        "DDlog": (167.83, 2.57, 102.51, 2.30, 110.29),
    },
    ("points_to", 1_000): {
        "Soufflé-counting": (116.92, 14.40, 428.29, 16.70, 500.99),
        "DDlog": (167.35, 149.71, 232.32, 148.30, 205.08),
    },
    ("crdt", 10): {
        "Soufflé-elastic": (1.99, 1.64, 1.74, 1.45, 1.51),
        "Soufflé-counting": (2.98, 1.58, 1.69, 1.62, 1.74),
        "DDlog": (8.52, 0.71, 5.97, 0.69, 5.74),
    },
    ("crdt", 100): {
        "Soufflé-elastic": (2.00, 2.51, 2.90, 2.05, 2.65),
        "Soufflé-counting": (2.92, 2.21, 2.47, 2.19, 2.49),
        "DDlog": (8.50, 7.29, 7.62, 7.08, 7.28),
    },
    ("galen", 10): {
        "Soufflé-elastic": (60.69, 2.48, 20.29, 0.17, 0.24),
        "Soufflé-counting": (415.63, 0.40, 1.44, 0.53, 1.64),
        "DDlog": (152.09, 0.09, 0.20, 0.06, 0.09),
    },
    ("galen", 10_000): {
        "Soufflé-elastic": (59.64, 37.16, 94.22, 0.29, 0.62),
        "Soufflé-counting": (415.05, 147.14, 203.44, 146.88, 239.68),
        "DDlog": (154.10, 19.69, 28.02, 20.78, 27.14),
    },
    ("galen", 100_000): {
        "Soufflé-counting": (414.45, 1_131.57, 1_602.21, 21.03, 1_377.78),
        "DDlog": (157.96, 135.58, 160.32, 137.96, 168.43),
    },
}
"""Table 3: program and size -> engine -> seconds from scratch, of deletions at least and at most, of insertions."""
