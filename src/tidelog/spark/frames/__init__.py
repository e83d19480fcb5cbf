"""Between Spark's frames and words, in both directions.

symbols       the dictionary of symbols as Spark frames, for facts that stay in Spark
translation   facts to words, on the driver or in frames for the cluster; words of either engine to frames of values
parts         frames as Parquet files in a folder that driver and executors share
"""
