"""What evaluation on Spark costs, and what its alternatives cost: `python -m benchmarks.spark`.

`cluster` measures the cluster engine beside the embedded one, `seminaive` the yardsticks (joins and anti-joins of
DataFrames, and Spark's recursive queries), `scaling` how much partitions say to each other.
"""
