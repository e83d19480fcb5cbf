"""Benchmarks of tidelog: `python -m benchmarks`, explained in docs/how-to/benchmarks.md.

- One module per target: `galen`, `crdt`, `closure`, `zodiac`, `lubm`, `explanations` on published data; `many_rules`,
  `memory`, `reading` and `queries` on data that they make themselves; `first_contact` on a wheel. Each has `lines`,
  which yields the lines of the table, and functions that measure, which run in a process of their own.
- `harness` runs, times and judges; `child` is such a process; `table` shows; `data` finds and reads the published data;
  `peers` are the engines that stand beside tidelog in the same run.
- `profile` is a command of its own: the cost of recording, and an attempt to check which rules profiles call slowest.
- `findings` writes a run as JSON; `published` takes tables of runs into `results`, and writes them into the pages.
"""

import os

os.environ.setdefault("TIDELOG_KERNELS", "compiled")  # warm-ups are small, and have to load what is measured then
