"""Errors of `tidelog pipeline run`: hints speak TOML and name missing packages, and unknown relations have lines."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

import tidelog.spark
from tidelog.cli.entry import main
from tidelog.spark.pipelines.toml_file import toml_hint

PYTHON = re.compile(r"\bF\.\w|\.cast\(|\boptions\(|\bdb\.|\bSink\(|\bSource\(|\w=\[|\bpass\b|=…|\b\w+\(\)|\bstate=")
"""Python in a hint."""
ELSEWHERE = {
    "streams.py": "streams are started in Python only",
    "delivery.py": "sinks of streams",
    "machine.py": "the session of a run is one that tidelog starts",
    "failures.py": "one hint is for frames of views",
    "deferred.py": "frames of views",
    "cluster_views.py": "explanations",
    "ad_hoc.py": "queries and certificates",
    "reads.py": "views of the session are made in Python only",
}
"""Modules whose hints a file cannot meet, and why."""
OF_STREAMS = ("call db.maintain(", "pass a mapping")
"""How hints begin that are about arguments of `maintain`."""


def texts(module: Path) -> list[str]:
    """All hints in a module, with … for what is put into them."""
    found = []
    for node in ast.walk(ast.parse(module.read_text())):
        named = [node.arg] if isinstance(node, ast.keyword) else map(ast.unparse, getattr(node, "targets", ()))
        if isinstance(node, (ast.keyword, ast.Assign)) and any("hint" in str(name) for name in named):
            found.append(node.value)
        elif isinstance(node, ast.FunctionDef) and "hint" in node.name:
            found += [each.value for each in ast.walk(node) if isinstance(each, ast.Return) and each.value is not None]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "invalid_key":
            found += node.args[2:]
    return [text for node in found for text in constants(node)]


def constants(node: ast.expr) -> list[str]:
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.JoinedStr):
        return ["".join(map(shown, node.values))]
    if isinstance(node, ast.IfExp):
        return constants(node.body) + constants(node.orelse)
    return []


def shown(part: ast.expr) -> str:
    if isinstance(part, ast.Constant):
        return str(part.value)
    return "'x'" if isinstance(part, ast.FormattedValue) and part.conversion == ord("r") else "x"


def test_no_hint_that_a_file_can_meet_is_python() -> None:
    modules = sorted(Path(tidelog.spark.__file__).parent.rglob("*.py"))
    hints = [(module.name, hint) for module in modules if module.name not in ELSEWHERE for hint in texts(module)]
    assert len(hints) > 80
    found = [(name, hint) for name, hint in hints if PYTHON.search(toml_hint(hint))]
    assert [(name, hint) for name, hint in found if not hint.startswith(OF_STREAMS)] == []


@pytest.mark.parametrize(
    ("hint", "place", "wanted"),
    [
        ('cast it: column.cast("long")', "a: x", 'cast it: expressions = { a = "cast(column AS bigint)" }'),
        ("raise it with options(embedded_limit=…) if", None, "raise it with embedded_limit = … if"),
        ("a folder, or options(engine='embedded')", None, 'a folder, or engine = "embedded"'),
        (
            "start the session with spark.a=b:c and spark.jars.packages=d:e; or use parquet",
            None,
            'write session = { "spark.a" = "b:c", "spark.jars.packages" = "d:e" }; or use parquet',
        ),
    ],
)
def test_a_hint_becomes_toml(hint: str, place: str | None, wanted: str) -> None:
    assert toml_hint(hint, place) == wanted


FILE = """
program = "p.dl"
{top}

[[source]]
relation = "e"
{source}
"""
VALUES = """
.decl e(x: {kind})
.decl t(x: {kind})
.output t
{rule}
"""
KAFKA = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"
JDBC = 'format = "jdbc"\noptions = { url = "jdbc:postgresql://127.0.0.1/x", dbtable = "t" }'
COUNTER = "t(autoinc()) :- e(_)."
CASES = {
    # what is wrong: (kind of x, SQL of the table, keys of the source, keys at the top, rule, hint)
    "boolean": ("number", "true x", "", "", "", 'expressions = { x = "cast(column AS int)" }'),
    "date": ("number", "date'2026-01-01' x", "", "", "", 'expressions = { x = "unix_date(column)" }'),
    "struct": ("symbol", "struct(1 as a) x", "", "", "", 'expressions = { x = "column.name" }'),
    "column": ("number", "1 y", "", "", "", 'write columns = { x = "…" }'),
    "case": ("number", "1 x", 'columns = { x = "X" }', "", "", 'write columns = { x = "x" }'),
    "field": ("number", "struct(1 as a) r", 'columns = { x = "r.a" }', "", "", 'write expressions = { x = "r.a" }'),
    "kafka": ("number", "", 'format = "kafka"\noptions = { subscribe = "t" }', "", "", KAFKA),
    "delta": ("number", "", 'format = "delta"\npath = "d"', "", "", '"spark.jars.packages" = "io.delta:delta-spark_'),
    "avro": ("number", "", 'format = "avro"\npath = "d"', "", "", f"spark-avro_2.13:{pyspark.__version__}"),
    "jdbc": ("number", "", JDBC, "", "", '"spark.jars.packages" = "org.postgresql:postgresql:VERSION"'),
    "s3": ("number", "", 'path = "s3a://bucket/d"', "", "", "org.apache.hadoop:hadoop-aws:VERSION"),
    "counter": ("number", "1 x", "", 'engine = "cluster"', COUNTER, 'evaluate in the driver: engine = "embedded"'),
    "state": ("number", "1 x", "", 'state = "s"', COUNTER, "leave out the key state"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_run_gives_a_hint_for_the_file(
    name: str, spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kind, sql, source, top, rule, wanted = CASES[name]
    (tmp_path / "p.dl").write_text(VALUES.format(kind=kind, rule=rule))
    if sql:
        spark.sql(f"select {sql}").createOrReplaceTempView("given")
        source = f'table = "given"\n{source}'
    (tmp_path / "p.toml").write_text(FILE.format(top=top, source=source))
    try:
        assert main(["pipeline", "run", str(tmp_path / "p.toml")]) in (1, 2)
    finally:
        spark.catalog.dropTempView("given")
    said = capsys.readouterr().err
    assert wanted in said
    [hint] = [line for line in said.splitlines() if line.startswith("  hint: ")]
    assert not PYTHON.search(hint)


def test_a_wrong_program_shows_before_spark_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(*_: object) -> None:
        raise AssertionError("no session is needed")

    monkeypatch.setattr("tidelog.cli.spark.spark_session", start)
    source = 'path = "e.csv"\nformat = "csv"'
    for rule, more, code in (
        ("t(y) :- e(_).", "", "E0215"),
        ("", '[[sink]]\nrelation = "nowhere"\npath = "t"\n', "E0601"),
    ):
        (tmp_path / "p.dl").write_text(VALUES.format(kind="number", rule=rule))
        (tmp_path / "p.toml").write_text(f"{FILE.format(top='', source=source)}\n{more}")
        assert main(["pipeline", "run", "--json", str(tmp_path / "p.toml")]) in (1, 2)
        [problem] = json.loads(capsys.readouterr().out)["errors"]
        assert problem["code"] == code
    with pytest.raises(tidelog.ProgramError, match="E0215"):
        tidelog.spark.Pipeline(VALUES.format(kind="number", rule="t(y) :- e(_)."))


@pytest.mark.smoke
def test_an_unknown_relation_has_the_line_that_names_it(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "p.dl").write_text(VALUES.format(kind="number", rule=""))
    (tmp_path / "e.csv").write_text("1\n")
    source = 'path = "e.csv"\nformat = "csv"'
    cases = {  # what stands behind the source of `e`: its line with the unknown relation
        '[[source]]\nrelation = "edges"\npath = "e.csv"': "p.toml:10",
        '[[sink]]\nrelation = "t"\npath = "t"\n[[sink]]\npath = "u"\nrelation = \'trace\'': "p.toml:14",
    }
    for more, place in cases.items():
        (tmp_path / "p.toml").write_text(f"{FILE.format(top='', source=source).strip()}\n\n{more}\n")
        assert main(["pipeline", "run", "--json", str(tmp_path / "p.toml")]) == 2
        [problem] = json.loads(capsys.readouterr().out)["errors"]
        assert problem["code"] == "E0601"
        assert problem["place"] == str(tmp_path / place)
