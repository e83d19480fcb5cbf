"""Turn errors of Spark into errors of tidelog: one sentence, the file where it names one, and a hint."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pyspark
from pyspark.errors import PySparkException

from tidelog.errors import DataError, LimitError, Problem, SetupError, TidelogError
from tidelog.spark.sessions import all_stopped, loggers

NOTHING_CHANGED = "correct the cause that Spark gives; nothing has changed"
_HINTS = (
    ("PATH_NOT_FOUND", "check the path; a relative one starts at the working directory, in TOML at the file"),
    ("DATA_SOURCE_NOT_FOUND", "use csv, json, parquet, orc, text, jdbc, or a format whose package the session has"),
    ("UNABLE_TO_INFER_SCHEMA", "add a file with rows; the folder has none"),
    (
        "DATA_TYPE_MISMATCH|CANNOT_MERGE|Parquet column cannot be converted",
        "read files of other types on their own, and cast the column; in a pipeline as another source (schema drift)",
    ),
    ("the header is", "make the files with another header a source of their own (schema drift)"),
    (
        "is not a Parquet file|FAILED_READ_FILE",
        "restore the file, or set the right format and options; nothing has changed",
    ),
    (
        "this frame belongs to an earlier epoch",
        "ask the database for it again, or persist and count() it before the commit",
    ),
    ("AMBIGUOUS_REFERENCE|COLUMN_ALREADY_EXISTS", "rename a column; two have one name, or differ in case only"),
    (
        "STREAMING_OUTPUT_MODE",
        "leave the aggregation to a rule, which follows late rows as well, or give the stream a watermark",
    ),
    ("No suitable driver", "start the session with the driver of the database, as a jar in spark.jars.packages"),
)
_PACKAGES = (
    # What Spark says about a missing class, and the package of Maven Central that has it.
    (r"(?:data source|find the class)\W+kafka\b|KafkaTokenUtil|kafka010", "org.apache.spark:spark-sql-kafka-0-10_2.13"),
    (r"data source\W+(?:org\.apache\.spark\.sql\.)?avro\b", "org.apache.spark:spark-avro_2.13"),
    (r"data source\W+delta\b", "io.delta:delta-spark_2.13"),
    (r"data source\W+iceberg\b", "org.apache.iceberg:iceberg-spark-runtime-{minor}_2.13"),
    (r"org\.postgresql\.Driver|jdbc:postgresql", "org.postgresql:postgresql"),
    (r"com\.mysql\.|jdbc:mysql", "com.mysql:mysql-connector-j"),
    (r"org\.mariadb\.|jdbc:mariadb", "org.mariadb.jdbc:mariadb-java-client"),
    (r"SQLServerDriver|jdbc:sqlserver", "com.microsoft.sqlserver:mssql-jdbc"),
    (r"oracle\.jdbc|jdbc:oracle", "com.oracle.database.jdbc:ojdbc11"),
    (r"org\.sqlite\.|jdbc:sqlite", "org.xerial:sqlite-jdbc"),
    (r"S3AFileSystem|scheme \W*s3a?\b", "org.apache.hadoop:hadoop-aws"),
    (r"AzureBlobFileSystem|scheme \W*abfss?\b", "org.apache.hadoop:hadoop-azure"),
    (r"GoogleHadoopFileSystem|scheme \W*gs\b", "com.google.cloud.bigdataoss:gcs-connector"),
)
_MISSING = (
    "DATA_SOURCE_NOT_FOUND|Failed to find data source|No suitable driver|ClassNotFoundException|NoClassDefFoundError|"
    "UNSUPPORTED_FILESYSTEM|No FileSystem"
)
_IDLE_CAUSES = ("SocketException", "EOFException", "ClassNotFoundException")
"""Exceptions that end a chain of causes when the cause is another one."""
_LOST = re.compile(r"INVALID_HANDLE\.SESSION_(CHANGED|CLOSED|NOT_FOUND)")
"""A server of Spark Connect does not know the session any more."""
_DAMAGE = re.compile(
    r"^tidelog\.errors\.DataError: (?P<place>.+): error\[E0682\]: (?P<what>.+)\n\s+hint: (?P<hint>.+)$", re.MULTILINE
)
_MEMORY = re.compile(
    r"^(?:[\w.]+\.)?(?:MemoryError|_ArrayMemoryError|ArrowMemoryError)(?:: (?P<what>.+))?$", re.MULTILINE
)
_RAISED = re.compile(r"^Traceback \(most recent call last\):\n(?:[ \t].*\n)*(\S.*)$", re.MULTILINE)
"""The last line of a trace of Python, before those of Java."""
WORKERS_LACK = (
    "set PYSPARK_PYTHON to sys.executable before the session starts, or install the module for Spark's workers"
)
_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


@contextmanager
def report_source_errors(place: str) -> Iterator[None]:
    """Turn what Spark says about an unreadable source into DataError (E0482), or into SetupError (E0705) where its
    session has been stopped meanwhile."""
    with _errors_as(lambda error: DataError(_unreadable(error, place))):
        yield


@contextmanager
def report_job_errors(
    doing: str = "evaluate the epoch", hint: str = "commit again; nothing has changed"
) -> Iterator[None]:
    """Turn what Spark says about the work of a database, `doing` something, into SetupError (E0708) with a hint. What a
    task says about a damaged file is DataError (E0682), as on the driver, and about its memory LimitError (E0503)."""

    def failure(error: BaseException) -> TidelogError:
        if found := _DAMAGE.search(str(error)):
            return DataError(Problem("E0682", found["what"], place=found["place"], hint=found["hint"]))
        if found := _MEMORY.search(str(error)):
            message = "out of memory in a task of Spark" + (f": {found['what']}" if found["what"] else "")
            more = "raise `spark.executor.pyspark.memory`, or repartition the frame; nothing has changed"
            return LimitError(Problem("E0503", message, hint=more))
        reason = spark_message(error)
        better = WORKERS_LACK if reason.startswith("ModuleNotFoundError") else hint
        return SetupError(Problem("E0708", f"Spark failed to {doing}: {reason}", hint=better))

    with _errors_as(failure):
        yield


def report_query_errors() -> AbstractContextManager[None]:
    """Return `report_job_errors` for a question, which changes nothing."""
    return report_job_errors("read the views", "ask again; nothing has changed")


@contextmanager
def ignore_stopped_session() -> Iterator[None]:
    """Release objects kept in Spark inside the block. A session that was stopped has released them already."""
    try:
        yield
    except ConnectionError:
        return
    except Exception as error:
        if not is_of_spark(error) and not all_stopped():
            raise


@contextmanager
def spark_errors_as(failure: Callable[[BaseException], TidelogError]) -> Iterator[None]:
    """Raise in place of an error of Spark inside the block what `failure` returns for it."""
    try:
        yield
    except Exception as error:
        if not is_of_spark(error):
            raise
        raise failure(error) from error


def stopped_session() -> SetupError:
    """Return the error about a session that was stopped (E0705)."""
    hint = "make a session and connect again; a state folder keeps its facts"
    return SetupError(Problem("E0705", "the Spark session has been stopped", hint=hint))


def is_of_spark(error: BaseException) -> bool:
    """Return True if an exception comes from Spark, or from the bridge to Java or to a server."""
    return isinstance(error, PySparkException) or type(error).__module__.startswith(("py4j", "grpc"))


def spark_message(error: BaseException) -> str:
    """Return the sentence in which Spark says what is wrong, without names of classes and its trace."""
    text = str(error)
    header = re.search(r"Header: (.*)\n\s*Schema: (.*)", text)
    if header:
        return f"the header is {header[1].strip()}, where {header[2].strip()} is expected"
    types = re.search(
        r"olumn: \[(.+?)\], (?:physicalType: (\S+), logicalType|Expected): (\S+)(?:, Found: (\S+))?", text
    )
    if types:
        return f"the column {types[1]} has the type {types[2] or types[4]} in this file, where {types[3]} is expected"
    lengths = re.search(r"Header length: (\d+), schema size: (\d+)", text)
    if lengths:
        return f"the header is of {lengths[1]} columns, where {lengths[2]} are expected"
    own = re.search(
        r"(?:^tidelog\.errors\.\w+: |\[USER_RAISED_EXCEPTION\] )(?:error\[E\d+\]: )?(.+)$", text, re.MULTILINE
    )
    if own:
        return _cut(own[1])
    if text.lstrip().startswith("An exception was thrown from the Python worker"):
        raised = _RAISED.findall(text)
        return _cut(raised[-1] if raised else text.strip().splitlines()[-1])
    causes = re.findall(r"^(?:: |Caused by: )(?:[\w.$]+\.)?([\w$]+(?:Exception|Error)): (.+)$", text, re.MULTILINE)
    causes = [message for name, message in causes if name not in _IDLE_CAUSES]
    first = text.strip().splitlines()[0] if text.strip() else type(error).__name__
    return _cut(causes[-1] if causes else first)


def hint_for(error: BaseException, otherwise: str = NOTHING_CHANGED, about: str = "") -> str:
    """Return the hint for an error of Spark `about` a place, or else the last one."""
    text = f"{error} {spark_message(error)}"
    if re.search(_MISSING, text) and (package := _package(f"{text} {about}")):
        return f"start the session with spark.jars.packages={package}"
    return next((hint for pattern, hint in _HINTS if re.search(pattern, text)), otherwise)


def _package(text: str) -> str | None:
    """Return the coordinates of the package that has what Spark lacks. Those of Spark have its version; others have
    versions of their own."""
    name = next((package for pattern, package in _PACKAGES if re.search(pattern, text)), None)
    if name is None:
        return None
    minor = ".".join(pyspark.__version__.split(".")[:2])
    version = pyspark.__version__ if name.startswith("org.apache.spark:") else "VERSION"
    return f"{name.format(minor=minor)}:{version}"


@contextmanager
def _errors_as(as_error: Callable[[BaseException], TidelogError]) -> Iterator[None]:
    """Turn failures of Spark inside the block into errors of tidelog, which include all that PySpark would log
    besides."""
    quiet = loggers(*_LOGGERS)
    before = [logger.disabled for logger in quiet]
    for logger in quiet:
        logger.disabled = True
    try:
        yield
    except TidelogError:
        raise
    except Exception as error:
        if all_stopped() or _LOST.search(str(error)):  # which shows in many ways
            raise stopped_session() from error
        if not is_of_spark(error):
            raise
        raise as_error(error) from error
    finally:
        for logger, disabled in zip(quiet, before, strict=True):
            logger.disabled = disabled


def _unreadable(error: BaseException, place: str) -> Problem:
    file = re.search(r"reading file (?:file:/+)?(\S+?)\.?\s", str(error))
    where = f"{place}, file /{file[1].lstrip('/')}" if file and file[1].lstrip("/") not in place else place
    return Problem(
        "E0482", f"Spark cannot read the source: {spark_message(error)}", place=where, hint=hint_for(error, about=place)
    )


def _cut(sentence: str) -> str:
    return re.sub(r"\s*SQLSTATE: \w+.*$", "", sentence)[:400]
