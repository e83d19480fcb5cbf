"""tidelog over a Spark session: `tidelog.connect(spark=session)`, pipelines and streams.

A row goes through the modules in this order:

    machine      sessions, local and remote, and what they need: PySpark, Java, the workers' Python (`workers`)
    sessions     the questions whose answers differ between kinds of sessions and versions of PySpark
    failures     what Spark raises, as errors of tidelog
    jobs         descriptions of Spark jobs; records of epochs in the log, and `metrics` made of them
    rows         rows of words on the driver or in Spark, with the same methods; Arrow tables as frames
    deferred     frames whose rows tasks read from the driver or the partitions when they are used
    sources/     files and frames mapped to declared relations
    frames/      leaf columns to words, words to frames of values; symbols, whose texts are in files of `cluster/`
    pending      changes by key to changes of facts, without late events, and these to rows for an engine
    engines      which of the two engines an epoch uses, and the one of this process
    cluster/     the engine in the executors; `ad_hoc` evaluates for it what its partitions do not hold, with rows
                 that `cluster_views` brings to the driver
    database     the object that a user holds, which is read by `reads`; `change` is what a commit returns, and
                 `keeping` writes what outlives it
    sinks/       views and changes to folders, tables, databases and topics
    streams      micro-batches of queries, each of which becomes one epoch; `delivery` brings epochs to their sinks
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
from tidelog.spark.pipelines.result import FileCounts, Result
from tidelog.spark.sinks.sink import Sink
from tidelog.spark.sources.facts import Counts

__all__ = [
    "Counts",
    "FileCounts",
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
