"""tidelog over a Spark session: `tidelog.connect(spark=session)`, pipelines and streams.

A row goes through the modules in this order:

    machine      PySpark, Java and the workers' Python; a local session for those who have none
    checks       which values of a Spark column fit a declared kind, as Spark expressions
    readers      files as frames that lose no line; `failures` makes errors of what Spark says
    sources      a frame mapped to a declared relation: rows that fit, as leaf columns; the others with their reasons
    driver       leaf columns to words on the driver; `encode` and `translation` do it in Spark, for the cluster engine
    frames       frames whose rows tasks read from the driver or the partitions, when they are used
    engines      what the database asks of an engine; `embedded` is the one on the driver, `cluster/` the other, for
                 which `aside` evaluates what it has not at hand; `choice` says which of them
    database     the object that a user holds; `change` is what a commit returns; `keeping` writes what outlives it,
                 with `parts`, which driver and executors share
    streams      micro-batches as epochs
    description  sources, sinks and pipelines as a user describes them, also in TOML (`toml_file`, `mapping`)
    pipeline     a run of a pipeline; `sinks` and `views` are where it ends

Importing this package loads PySpark; importing tidelog does not.
"""

from tidelog.spark.machine import check_workers, session

# isort: split
# The above says what is missing, if something is, before anything else needs it.
from tidelog.spark.change import SparkChange, SparkRelationChange, SparkReport
from tidelog.spark.database import SparkDatabase
from tidelog.spark.description import Pipeline, Sink, Source
from tidelog.spark.sources import Counts
from tidelog.spark.views import Result

__all__ = [
    "Counts",
    "Pipeline",
    "Result",
    "Sink",
    "Source",
    "SparkChange",
    "SparkDatabase",
    "SparkRelationChange",
    "SparkReport",
    "check_workers",
    "session",
]
