"""Between Spark's frames and words, in both directions.

collect       leaf columns to words on the driver
symbols       the dictionary of symbols as Spark frames, for facts that stay in Spark
translation   facts to frames of words for the cluster; words of either engine to frames of values
ending        frames of local rows that end with their epoch
parts         frames as Parquet files in a folder that driver and executors share
"""
