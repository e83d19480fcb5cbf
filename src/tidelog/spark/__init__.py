"""tidelog over a Spark session: `tidelog.connect(spark=session)`, pipelines and streams.

A row goes through the modules in this order:

    machine      PySpark, Java and the workers' Python; a local session for those who have none, with its `workers`
    sessions     the questions whose answers differ between classic sessions and those of Spark Connect
    failures     what Spark raises, as errors of tidelog
    jobs         descriptions of Spark jobs; `records` of epochs in the log, and `metrics` made of them
    arrow        Arrow tables as frames, and the types that Spark has for them
    deferred     frames whose rows tasks read from the driver or the partitions when they are used
    rows         rows of words on the driver or in Spark, with the same methods
    sources/     files and frames mapped to declared relations; streams, whose micro-batches become epochs
    frames/      leaf columns to words, words to frames of values; symbols, whose texts are in files of `cluster/`
    choice       which of the two engines an epoch uses
    embedded     the engine of this process, with rows as in `rows`
    cluster/     the engine in the executors; `aside` evaluates for it what its partitions do not hold
    keyed        changes by key to changes of facts, without late events; `pending` makes rows for an engine of them
    temporary_views  views of the session that follow the relations
    database     the object that a user holds, which is read by `reads`; `change` is what a commit returns, and
                 `keeping` writes what outlives it
    sinks/       views and changes to folders, tables, databases and topics
    pipelines/   sources, a program and sinks, described in Python or TOML, and run as one epoch

Importing this package loads PySpark; importing tidelog does not.
"""

from tidelog.spark.machine import check_workers, session

# isort: split
# The above says what is missing, if something is, before anything else needs it.
from tidelog.spark.change import SparkChange, SparkRelationChange, SparkReport
from tidelog.spark.database import SparkDatabase
from tidelog.spark.pipelines.description import Source
from tidelog.spark.pipelines.pipeline import Pipeline
from tidelog.spark.pipelines.result import Result
from tidelog.spark.sinks.sink import Sink
from tidelog.spark.sources.facts import Counts

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
