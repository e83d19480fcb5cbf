"""The data pipeline on Spark: tables of a Spark session in, views as tables out (design: `spark.md`, first part).

A row goes through the modules in this order:

    machine    PySpark, Java and the workers' Python; a local session for those who have none
    checks     which values of a Spark column fit a declared kind, as Spark expressions
    sources    a frame mapped to a declared relation: rows that fit, as leaf columns; the others with their reasons
    encode     the dictionary of symbols, built in Spark, and facts as words
    driver     words from Spark into the embedded engine
    views      relations as Spark DataFrames and as Parquet folders
    pipeline   the object that a user holds

Nothing here runs Python on Spark's workers. Importing this package loads PySpark; importing tidelog does not.
"""

from tidelog.spark.machine import check_workers, session
from tidelog.spark.pipeline import Pipeline
from tidelog.spark.sources import Counts
from tidelog.spark.views import Result

__all__ = ["Counts", "Pipeline", "Result", "check_workers", "session"]
