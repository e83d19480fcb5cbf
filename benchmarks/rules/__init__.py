"""Rules that come and go, the experiments of the ZodiacEdge paper: `python -m benchmarks.rules`.

`updates` times an update against evaluation from scratch; `wind_farm` has rule sets 1 to 3, `universities` the 128
rules of LUBM with `campus` that generates facts for them, `leaves` hyper-nodes that are dropped; `report` prints, draws
and writes.
"""
