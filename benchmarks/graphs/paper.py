"""Tables 1 and 2 of *Certified Graph View Maintenance with Regular Datalog*: 1,000 nodes, 10 queries each.

By the share of the symbols: the size of the update in per cent of the graph, average milliseconds of full
materialization and of maintenance.
"""

from __future__ import annotations

SHARES = (0.05, 0.1, 0.15, 0.2, 0.25)
TABLES: dict[str, dict[float, tuple[float, float, float]]] = {
    "WatDiv": {
        0.05: (1.4, 558.7, 484.75),
        0.1: (3.67, 561.89, 472.7),
        0.15: (17.93, 562.67, 475.96),
        0.2: (9.7, 562.13, 476.4),
        0.25: (18.26, 563.4, 482.64),
    },
    "SNB": {
        0.05: (10.89, 18.75, 10.88),
        0.1: (19.3, 17.77, 10.55),
        0.15: (10.77, 17.55, 11.68),
        0.2: (26.09, 17.17, 11.71),
        0.25: (28.34, 14.71, 11.0),
    },
}
BESIDE = {"snb": "SNB", "test": "WatDiv"}
"""Which table is shown beside which schema; WatDiv's, with 82 symbols, is none of ours, and stands for a dense one."""
