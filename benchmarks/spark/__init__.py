"""What evaluation on Spark costs, and what its alternatives cost: `python -m benchmarks.spark`.

`pipeline` measures the way from CSV files into the embedded engine, `cluster` the cluster engine beside that one,
`growth` what many epochs leave behind, `seminaive` the baselines (joins and anti-joins of DataFrames, and Spark's
recursive queries), `scaling` how much partitions say to each other, `skew` what it is worth that words with many rows
are spread.
"""
