"""Pipelines in TOML: what is read, and the line of everything that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.errors import UsageError
from tidelog.spark import Pipeline, Sink, Source

GOOD = """
program = "views/p.dl"
state = "/var/state"
quarantine = "s3://bucket/bad"
engine = "embedded"
embedded_limit = 5
cluster_folder = "hdfs:///tmp/tidelog"
session = { "spark.driver.memory" = "4g" }
remote = "sc://host:15002/;user_id=me"

[[source]]
relation = "e"
path = "e.csv"
mode = "cdc"
columns = { x = "from" }
expressions = { y = "upper(z)" }
options = { header = true, sep = ";" }
op = "what"
insert = ["I", "U"]
delete = ["D"]
order = "at"
rejected = "why"

[[source]]
relation = "f"
table = "catalog.f"
format = "delta"

[[sink]]
relation = "t"
path = "t"
what = "changes"

[[sink]]
relation = "u"
path = "u"
format = "json"
mode = "append"
options = { compression = "gzip" }

[[sink]]
relation = "u"
table = "catalog.u"
mode = "merge"
partition_by = ["x"]
"""


@pytest.mark.smoke
def test_a_file_is_read_with_paths_that_start_at_it(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(GOOD)
    (tmp_path / "views").mkdir()
    (tmp_path / "views/p.dl").write_text(".decl e, f(x: number, y: symbol)  .decl t, u(x: number)")
    first = Source(
        "e",
        tmp_path / "e.csv",
        mode="cdc",
        columns={"x": "from"},
        expressions={"y": "upper(z)"},
        options={"header": True, "sep": ";"},
        rejected="why",
        op="what",
        insert=["I", "U"],
        delete=["D"],
        order="at",
    )
    assert Pipeline.from_toml(tmp_path / "p.toml") == Pipeline(
        tmp_path / "views/p.dl",
        [first, Source("f", table="catalog.f", format="delta")],
        [
            Sink("t", tmp_path / "t", "changes"),
            Sink("u", tmp_path / "u", format="json", mode="append", options={"compression": "gzip"}),
            Sink("u", table="catalog.u", mode="merge", partition_by=["x"]),
        ],
        quarantine="s3://bucket/bad",
        state=Path("/var/state"),
        engine="embedded",
        embedded_limit=5,
        cluster_folder="hdfs:///tmp/tidelog",
        session={"spark.driver.memory": "4g"},
        remote="sc://host:15002/;user_id=me",
    )


@pytest.mark.parametrize(
    ("change", "line", "said"),
    [
        (("program = ", "programme = "), 1, "the key 'program' is missing"),
        (('engine = "embedded"', "engine = 5"), 5, "engine must be a text, found 5"),
        (('engine = "embedded"', 'engine = "fast"'), 5, "unknown engine 'fast'"),
        (("embedded_limit = 5", "embedded_limit = -5"), 6, "embedded_limit must be 0 or more, found -5"),
        (("embedded_limit = 5", "embedded_limit = 5.5"), 6, "embedded_limit must be a whole number, found 5.5"),
        (('mode = "cdc"', 'mode = "all"'), 14, "unknown source mode 'all'"),
        (('mode = "cdc"', 'mode = "append"'), 14, "mode 'cdc' needs the key 'op' or 'feed', and these need mode 'cdc'"),
        (('insert = ["I", "U"]', "insert = [1]"), 19, "'insert' must be a text or a list of texts, found [1]"),
        (('insert = ["I", "U"]', 'insert = "I"'), 19, "insert must be a list, found 'I'"),
        (('table = "catalog.f"', ""), 24, "the source of f has nothing to read"),
        (('table = "catalog.f"', 'table = "catalog.f"\npath = "f"'), 27, "path and table exclude each other"),
        (('path = "t"', 'path = ""'), 31, "the path is empty"),
        (('path = "u"', 'path = "t"'), 29, "would replace the sink"),
        (('state = "/var/state"', 'state = ""'), 3, "state is empty"),
        (('what = "changes"', 'what = "all"'), 32, "the key `what` of a sink must be 'view' or 'changes', found 'all'"),
        (('mode = "append"', 'mode = "epochs"'), 38, "unknown sink mode 'epochs'"),
        (('partition_by = ["x"]', "partition_by = [1]"), 45, "partition_by must be a list of columns, found [1]"),
        (('table = "catalog.u"', 'path = "x"'), 44, "rows cannot be merged into files of the format parquet"),
        (('table = "catalog.u"', 'table = "s3://b/u"'), 43, "'s3://b/u' is a path, not the name of a table"),
        (('relation = "u"', 'relatoin = "u"'), 35, "unknown key 'relatoin'"),
        (('options = { compression = "gzip" }', "options = {"), 39, "the text is not TOML"),
        (("[[sink]]", "[sink]"), 29, ""),
        (("sc://host:15002", "http://host:15002"), 9, "begins with sc://, found 'http://host:15002/;user_id=me'"),
        (("sc://host:15002", "sc://:15002"), 9, "the address names no host"),
        (("sc://host:15002", "sc://host:many"), 9, "the port is not a number"),
        (("sc://host:15002", "sc://host/db"), 9, "the address has a path"),
        (('remote = "sc://host:15002/;user_id=me"', "remote = 15002"), 9, "remote must be a text, found 15002"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, change: tuple[str, str], line: int, said: str) -> None:
    assert change[0] in GOOD
    file = tmp_path / "p.toml"
    file.write_text(GOOD.replace(*change))
    with pytest.raises(UsageError) as caught:
        Pipeline.from_toml(file)
    places = [(problem.code, problem.place) for problem in caught.value.problems if said in problem.message]
    assert ("E0686", f"{file}:{line}") in places or not said
    assert all(problem.hint for problem in caught.value.problems)


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text('sink = 3\nprogram = 5\n[[source]]\nmode = "all"\n[[source]]\nrelation = 1\n')
    with pytest.raises(UsageError) as caught:
        Pipeline.from_toml(tmp_path / "p.toml")
    lines = [problem.place.rsplit(":", 1)[1] for problem in caught.value.problems if problem.place]
    assert sorted(lines) == ["1", "1", "2", "3", "6"]


def test_a_file_may_begin_with_a_byte_order_mark_and_have_line_ends_of_windows(tmp_path: Path) -> None:
    text = '\ufeffprogram = "p.dl"\r\nstate = "st"\r\n'
    (tmp_path / "p.dl").write_text(".decl e(x: number)")
    (tmp_path / "p.toml").write_bytes(text.encode())
    pipeline = Pipeline.from_toml(tmp_path / "p.toml")
    assert (pipeline.program, pipeline.state) == (tmp_path / "p.dl", tmp_path / "st")


def test_a_file_that_is_no_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_bytes(b'program = "\xff"')
    with pytest.raises(UsageError, match="not UTF-8"):
        Pipeline.from_toml(tmp_path / "p.toml")
