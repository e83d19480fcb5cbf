"""`python -m benchmarks.spark`: measure, print tables, write JSON and a plot. Exit code 1 where a size is wrong.

The graphs are published ones where TIDELOG_DATA names their folder, and one made by `scaling.edges` besides.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks import data, findings, galen
from benchmarks.evaluate import CLOSURE, NON_LINEAR
from benchmarks.findings import Judged, promises
from benchmarks.spark import batches, cluster, growth, pipeline, scaling, seminaive, skew
from benchmarks.spark.seminaive import Baseline
from tidelog.spark import session as spark_session
from tidelog.spark.cluster.placement.place import PlacementLimits

PARTS = ("pipeline", "batches", "closures", "growth", "galen", "baselines", "scaling", "skew")
_BASELINE_SECONDS = 60.0
_GALEN_SECONDS = 150.0
_TIMES_FASTER = 5
GRAPHS = ("OL.cedge", "TG.cedge", "CA-HepTh")
_MOST_FOR_UPDATE = 5.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the requested parts."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark", description=__doc__)
    parser.add_argument("--only", action="append", choices=PARTS, help="one of the parts")
    parser.add_argument("--quick", action="store_true", help="leave out what takes minutes")
    parser.add_argument("--out", type=Path, default=Path("out/spark"), help="default: %(default)s")
    asked = parser.parse_args(arguments)
    parts = asked.only or [part for part in PARTS if part != "galen" or not asked.quick]
    asked.out.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {}
    judged: list[Judged] = []
    spark = spark_session(threads=2)
    try:
        if "pipeline" in parts:
            found["pipeline"] = _pipeline(spark, pipeline.MOST_ROWS // (10 if asked.quick else 1), judged)
        if "batches" in parts:
            found["batches"] = _batches(spark, 10 if asked.quick else 40, judged)
        if {"closures", "growth", "galen"} & set(parts):
            print(f"start of workers and partitions: {cluster.warm(spark):.1f} s\n\n{cluster.HEAD}")
        if "closures" in parts:
            found["closures"] = [_bootstrap(spark, *each, judged) for each in _closures(asked.quick)]
        if "growth" in parts:
            found["growth"] = _growth(spark, judged)
        if "galen" in parts and (folder := data.folder()) is not None:
            facts = {name: _words(table) for name, table in galen.tables(folder).items()}
            found["galen"] = [
                _bootstrap(spark, "GALEN", galen.PROGRAM, facts, "q", None, judged),
                _bootstrap(spark, "GALEN, exchanged", galen.PROGRAM, facts, "q", PlacementLimits(gather=0), judged),
            ]
        if "baselines" in parts:
            ran = [*found.get("closures", []), *found.get("galen", [])]
            found["baselines"] = _baselines(spark, {each["name"]: each["cluster"] for each in ran}, judged)
    finally:
        spark.stop()
    if "scaling" in parts:
        points, given = scaling.points(600 if asked.quick else 1_500), scaling.Assumptions()
        points += scaling.component_points()
        print(f"\n{scaling.table(points, given)}")
        scaling.plot(points, asked.out / "scaling.svg")
        found["scaling"] = scaling.as_json(points, given)
    if "skew" in parts:
        hubs = skew.hubs()
        print(f"\n{skew.table(hubs)}")
        found["skew"] = [asdict(each) for each in hubs]
    print(f"\n{promises(judged)}")
    document = {**found, "targets": [one.as_json() for one in judged]}
    findings.write(asked.out / "spark.json", document, {"targets": findings.targets(judged)})
    return 0


def _pipeline(spark: Any, rows: int, judged: list[Judged]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        one = pipeline.through(spark, Path(folder), rows)
    print(f"{pipeline.HEAD}\n{pipeline.line(one)}\n", flush=True)
    if rows == pipeline.MOST_ROWS:  # fewer rows cost more each, because Java compiles meanwhile
        what = f"{rows:,} rows of CSV into the embedded engine"
        judged.append(Judged(what, one.seconds, pipeline.MOST_SECONDS, "s"))
        judged.append(Judged(f"{what}: memory of the driver's Python", one.peak / 1e9, pipeline.MOST_GB, "GB"))
    return asdict(one)


def _batches(spark: Any, count: int, judged: list[Judged]) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        few = batches.small(spark, Path(folder) / "small", count)
        many = batches.large(spark, Path(folder) / "large", 200_000, count // 4)
    print(f"{batches.HEAD}\n{batches.line(few)}\n{batches.line(many)}\n", flush=True)
    judged.append(Judged("a batch of ten rows: seconds more than an empty one", few.more, 0.2, "s"))
    judged.append(Judged("batches of 200,000 rows: time by that of a join", many.ratio, 1.0, "x"))
    return [asdict(few), asdict(many)]


def _bootstrap(
    spark: Any,
    name: str,
    text: str,
    facts: Mapping[str, NDArray[np.int64]],
    view: str,
    limits: PlacementLimits | None,
    judged: list[Judged],
) -> dict[str, Any]:
    one = cluster.bootstrap(spark, name, text, facts, view, limits)
    print(cluster.row(one), flush=True)
    judged.append(Judged(f"{name}: time by the embedded engine's, without rounds", one.ratio, 3.0, "x"))
    judged.append(Judged(f"{name}: an update of ten facts", max(one.updates), _MOST_FOR_UPDATE, "s"))
    judged.append(Judged(f"{name}: rounds by semi-naive iterations", one.rounds / one.iterations, 1.0, "x"))
    return asdict(one)


def _closures(quick: bool) -> list[tuple[str, str, Mapping[str, NDArray[np.int64]], str, PlacementLimits | None]]:
    """Return name, program, facts, view and limits of each case."""
    split, exchanged = PlacementLimits(closures=0), PlacementLimits(closures=0, gather=0)
    chosen: list[tuple[str, str, Mapping[str, NDArray[np.int64]], str, PlacementLimits | None]] = []
    folder = data.folder()
    for name in GRAPHS if folder is not None else ():
        facts = {"e": _graph(name)}
        chosen.append((name, CLOSURE, facts, "t", None))
        if name == "TG.cedge":
            chosen.append((f"{name}, split", CLOSURE, facts, "t", split))
            chosen.append((f"{name}, non-linear", NON_LINEAR, facts, "t", exchanged))
        elif not quick:
            chosen.append((f"{name}, split", CLOSURE, facts, "t", split))
    made = {"e": scaling.edges(5_000)}
    return [*chosen, ("made", CLOSURE, made, "t", None), ("made, split", CLOSURE, made, "t", split)]


def _growth(spark: Any, judged: list[Judged]) -> list[dict[str, Any]]:
    spans = growth.growth(spark, {"e": scaling.edges(1_500)})
    print(f"\n{growth.HEAD}", *map(growth.line, spans), "", sep="\n", flush=True)
    early, late = spans[1], spans[-1]
    for what in ("files", "partitions", "driver"):
        grown = getattr(late, what) / getattr(early, what)
        judged.append(Judged(f"{what} after {late.until} epochs by those after {early.until}", grown, 1.1, "x"))
    return [asdict(each) for each in spans]


def _baselines(spark: Any, took: Mapping[str, float], judged: list[Judged]) -> dict[str, dict[str, Any]]:
    """Run the same programs with Spark alone, and compare the seconds with those that the cluster engine `took`. GALEN
    has no recursive query, because those read their definition once."""
    found: dict[str, dict[str, Any]] = {}

    def add(name: str, what: str, one: Baseline) -> None:
        print(f"{name}, {what}: {one}", flush=True)
        found[f"{name}, {what}"] = asdict(one)
        if name in took and one.end != "failed":
            judged.append(Judged(f"{name}: time by that of {what}", took[name] / one.seconds, 1 / _TIMES_FASTER, "x"))

    folder = data.folder()
    graphs = {"made": scaling.edges(5_000), **{name: _graph(name) for name in (GRAPHS if folder is not None else ())}}
    for name, words in graphs.items():
        frame = _frame(spark, words)
        add(name, "DataFrames", seminaive.dataframes(spark, CLOSURE, {"e": frame}, "t", _BASELINE_SECONDS))
        add(name, "a recursive query", seminaive.recursive_query(spark, frame, _BASELINE_SECONDS))
    if "GALEN" in took and folder is not None:
        facts = {name: _frame(spark, _words(table)) for name, table in galen.tables(folder).items()}
        add("GALEN", "DataFrames", seminaive.dataframes(spark, galen.PROGRAM, facts, "q", _GALEN_SECONDS))
    return found


def _graph(name: str) -> NDArray[np.int64]:
    return _words(data.numbers(Path(f"{data.folder()}/graphs/{name}.txt.gz"), "\t", "xy"))


def _frame(spark: Any, words: NDArray[np.int64]) -> Any:
    return spark.createDataFrame(pa.table({f"c{number}": column for number, column in enumerate(words.T)}))


def _words(table: Any) -> NDArray[np.int64]:
    return np.column_stack([column.to_numpy() for column in table.columns]).astype(np.int64)


if __name__ == "__main__":
    sys.exit(main())
