"""The cost of evaluation on Spark, and of its alternatives: `python -m benchmarks.spark`.

`pipeline` measures the way from CSV files into the embedded engine, `cluster` the cluster engine beside that one,
`growth` the traces of many epochs, `seminaive` the baselines (joins and anti-joins of DataFrames, and Spark's recursive
queries), `scaling` the traffic between partitions, `skew` the gain of spreading skewed keys.
"""
