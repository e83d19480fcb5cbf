"""An archive of Spark's classes: `python -m tests.archive` makes it, and `use` gives it to the sessions of tests.

The Java of a session spends half of its start, and some of its first jobs, on reading, checking and linking fifteen
thousand classes. An archive of class data (CDS) has them ready to map into memory. Tests start some forty sessions, in
processes of many kinds. All of them inherit SPARK_SUBMIT_OPTS, which names the archive.

The archive is in tidelog's folder of caches, under a name made of the PySpark and the Java that it is for. Without one,
and with one that its Java does not accept, sessions start as they do for users. A file appears under that name only
when it is whole, as Java checks the head of an archive alone, and ends by a signal where the rest is short.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from contextlib import suppress
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from tidelog.common.cache_folder import cache_folder

BRIEF = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"
"""Java's options of brief sessions, see tidelog.spark.session. Commands would start long ones."""
QUIET = "-Xlog:cds=off -Xlog:cds+dynamic=off"
"""Java's options against warnings in what tests print: of classes that no archive keeps, of one that does not fit."""
LONG = 30 * 24 * 3600.0
"""Seconds after which an archive that no tests have used is removed."""


def archive() -> Path | None:
    """Return the file of the archive, which may not be there, or None without PySpark or Java."""
    spec = find_spec("pyspark")
    home = os.environ.get("JAVA_HOME") or _home_of(shutil.which("java"))
    library = Path(home, "lib", "server", "libjvm.so").resolve()
    if spec is None or spec.origin is None or not library.exists():
        return None
    whose = f"{Path(spec.origin).resolve()} {version('pyspark')} {library} {library.stat().st_mtime_ns}"
    return cache_folder() / f"spark-{hashlib.sha256(whose.encode()).hexdigest()[:16]}.jsa"


def _home_of(java: str | None) -> str:
    return str(Path(java).resolve().parent.parent) if java else ""


def use() -> None:
    """Let sessions of this process and of those that it starts be brief, and take classes from the archive, if there is
    one."""
    file = archive()
    if "SPARK_SUBMIT_OPTS" in os.environ:
        return
    os.environ["SPARK_SUBMIT_OPTS"] = BRIEF
    if file is not None and file.exists():
        with suppress(OSError):  # The folder may be another user's.
            os.utime(file)
        os.environ["SPARK_SUBMIT_OPTS"] += f" -XX:SharedArchiveFile={file} {QUIET}"


def make() -> None:
    """Write the archive of a session that has worked as tests do, unless there is one. Remove unused ones."""
    file = archive()
    if file is None or file.exists():
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    for other in file.parent.glob("spark-*.jsa"):
        if time.time() - other.stat().st_mtime > LONG:
            other.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(dir=file.parent) as folder:
        written = Path(folder, "classes.jsa")
        os.environ["SPARK_SUBMIT_OPTS"] = f"-XX:ArchiveClassesAtExit={written} {QUIET}"
        if _work(Path(folder)) == 0 and written.exists():
            written.rename(file)


def _work(folder: Path) -> int:
    """Run jobs in a session, stop it, and return the exit status of its Java, which writes the archive at its end."""
    import tidelog
    from tidelog.spark import session

    spark = session(threads=2, brief=True)
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    edges = spark.createDataFrame([(1, 2, "a"), (2, 3, "b"), (3, 1, None)], "x long, y long, name string")
    for kind in ("parquet", "csv", "json"):
        edges.write.format(kind).save(str(folder / kind))
    with tidelog.connect(spark=spark, state=folder / "state") as db:
        db.load(".decl edge(x: number, y: number, name: symbol)\n.decl path(x: number, y: number)")
        db.load("path(x, y) :- edge(x, y, _).\npath(x, z) :- path(x, y), edge(y, z, _).")
        stream = spark.readStream.schema("x long, y long, name string").csv(str(folder / "csv"))
        db.maintain(stream, into="edge").processAllAvailable()
        db["path"].join(edges, ["x", "y"], "left").groupBy("x").count().orderBy("x").collect()
        db["path"].distinct().exceptAll(spark.read.parquet(str(folder / "parquet")).select("x", "y")).collect()
        copies = edges.mapInArrow(lambda batches: batches, edges.schema)
        copies.unionByName(spark.read.json(str(folder / "json"))).collect()
    spark.stop()
    gateway.proc.stdin.close()
    return int(gateway.proc.wait())


if __name__ == "__main__":
    make()
