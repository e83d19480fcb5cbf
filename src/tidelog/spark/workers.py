"""The daemon that forks the Python workers of a local session, see `machine.session`.

With Spark's own daemon, each worker imports PyArrow, pandas and tidelog, which takes longer than most tasks. Spark ends
idle workers after a minute, and later ones import all of it again. This daemon imports the modules before it forks.
NumPy and PyArrow start threads when they are imported, and renew them after a fork.
"""

from __future__ import annotations

import gc
from importlib import import_module

LOADED = ("pandas", "pyarrow", "pyspark.worker", "tidelog.spark.cluster.processes.host")

if __name__ == "__main__":
    from pyspark.daemon import manager

    for name in LOADED:
        import_module(name)
    gc.freeze()  # Workers collect all garbage after each task.
    manager()
