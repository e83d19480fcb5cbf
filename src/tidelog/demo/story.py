"""The demo from beginning to end: `run` is what `tidelog demo` calls."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from tidelog.spark import Pipeline, Sink, Source, check_workers, session

# isort: split
# The above says that PySpark is missing, if it is.
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from tidelog.demo.facts import COLUMNS, extract, frame_of, library
from tidelog.demo.report import Summary, as_page, as_text, check_packages, draw_cycles, summarize
from tidelog.language import read
from tidelog.rules import compile_program
from tidelog.rules.picture import draw
from tidelog.spark.machine import present_session

PROGRAM = Path(__file__).with_name("program.dl")
THREADS = 2


def run(folder: Path = Path("out/demo"), progress: bool = True, files: Mapping[str, Path] | None = None) -> int:
    """Ask the questions of program.dl about `files` (the standard library if None) and return 0.

    Leave in `folder`: `views/NAME` and `quarantine` as Parquet, `rules.svg`, `cycles.svg`, `index.html`. Print the
    summary, and on standard error the stages with their seconds if `progress` is set. Use an active session, and leave
    it running.
    """
    stages: dict[str, float] = {}

    def record_stage(stage: str, seconds: float) -> None:
        stages[stage] = seconds
        if progress:
            print(f"{stage:<28}{seconds:6.1f} s", file=sys.stderr, flush=True)

    check_packages()
    folder.mkdir(parents=True, exist_ok=True)
    begun_before = present_session() is not None
    start = time.perf_counter()
    spark = session(THREADS, brief=True)
    record_stage("start Spark", time.perf_counter() - start)
    try:
        check_workers(spark)
        summary = _ask(spark, library() if files is None else files, folder, stages, record_stage)
    finally:
        if not begun_before:
            spark.stop()
    print(as_text(summary))
    print(f"\nviews, pictures and {folder / 'index.html'} are in {folder}")
    return 0


def _ask(
    spark: SparkSession,
    files: Mapping[str, Path],
    folder: Path,
    stages: Mapping[str, float],
    finished: Callable[[str, float], None],
) -> Summary:
    start = time.perf_counter()

    def stage(name: str) -> None:
        nonlocal start
        finished(name, time.perf_counter() - start)
        start = time.perf_counter()

    facts = extract(spark, files).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        facts.count()
        stage(f"read {len(files)} files")
        with _pipeline(facts, folder).run(spark, progress=finished) as result:
            start = time.perf_counter()
            tables = {name: result.database.local(name).to_arrow() for name in result}
            draw(compile_program(result.database.program, as_written=True), folder / "rules.svg")
            draw_cycles(tables["cycle_import"], folder / "cycles.svg")
            stage("draw")
            summary = summarize(result.counts, tables, stages)
            (folder / "index.html").write_text(as_page(summary), encoding="utf-8")
            return summary
    finally:
        facts.unpersist()


def _pipeline(facts: DataFrame, folder: Path) -> Pipeline:
    """Return the pipeline: every relation that `facts` has, the program, and its outputs as tables."""
    sources = [Source(relation, frame=frame_of(facts, relation), rejected="problem") for relation in COLUMNS]
    outputs = [directive.relation for directive in read(PROGRAM).directives if directive.name == "output"]
    sinks = [Sink(name, folder / "views" / name) for name in dict.fromkeys(outputs)]
    return Pipeline(PROGRAM, sources, sinks, quarantine=folder / "quarantine")
