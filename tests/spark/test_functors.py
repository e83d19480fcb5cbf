"""Functors in Python over a Spark session: embedded, on the cluster engine, in pipelines and from the command line."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import tidelog
from tidelog.cli.entry import main
from tidelog.errors import UsageError
from tidelog.spark import Pipeline, Sink, Source, SparkDatabase

PROGRAM = """
.functor shipped_code(name: symbol): symbol
.functor shipped_parts(x: number): number
.functor shipped_root(x: number): number
.decl person(name: symbol, age: number)
.decl code(name: symbol, code: symbol)
.decl part(age: number, part: number)
.decl root(age: number, root: number)
.output code
codes: code(name, @shipped_code(name)) :- person(name, _).
parts: part(age, @shipped_parts(age)) :- person(_, age).
roots: root(age, @shipped_root(age)) :- person(_, age).
"""
MODULE = """
import numpy
import tidelog

@tidelog.functor("symbol -> symbol")
def shipped_code(name):
    return None if name == "nobody" else name[:1].upper() + str(len(name))

@tidelog.functor("number -> number")
def shipped_parts(x):
    for each in range(2, x):
        if x % each == 0:
            yield each

def _rooted(x):
    if x < 0:
        raise ValueError(f"{x} has no root")
    return int(x ** 0.5)

@tidelog.functor("number -> number", compiled=False)
def shipped_root(x):
    return _rooted(x)
"""
PEOPLE = [("anna", 12), ("nobody", 9), ("Hans", 7)]


@pytest.fixture
def module(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A file of functions with a name of its own, because Spark keeps files that it has shipped."""
    path = tmp_path / f"functions_of_{re.sub('[^a-z]', '_', request.node.name)}.py"
    path.write_text(MODULE)
    return path


def check(db: SparkDatabase, people: list[tuple[str, int]]) -> None:
    assert set(db.local("code")) == {(n, n[:1].upper() + str(len(n))) for n, _ in people if n != "nobody"}
    assert set(db.local("part")) == {(a, part) for _, a in people for part in range(2, a) if a % part == 0}
    assert set(db.local("root")) == {(a, int(a**0.5)) for _, a in people}


@pytest.mark.parametrize("engine", ["embedded", "cluster"])
def test_views_follow_and_a_function_that_raises_takes_the_epoch_back(
    spark: SparkSession, module: Path, engine: str
) -> None:
    with tidelog.connect(spark=spark, functors=module) as db:
        db.options(engine=engine)
        db.load(PROGRAM)
        db.insert("person", spark.createDataFrame(PEOPLE, "name string, age long"))
        assert db.commit().report.engine == engine
        check(db, PEOPLE)
        db.delete("person", [PEOPLE[0]])
        db.commit()
        check(db, PEOPLE[1:])
        assert set(db.query("person(n, a), r = @shipped_root(a)").collect()) == {("nobody", 9, 3), ("Hans", 7, 2)}
        db.check()
        db.insert("person", [("minus", -4), ("plus", 4)])
        with pytest.raises(UsageError) as caught:
            db.commit()
        assert f"in rule roots, `@shipped_root(-4)` raised ValueError: -4 has no root, in {module.name}" in str(
            caught.value
        )
        if engine == "cluster":
            (trace,) = caught.value.__notes__
            assert "in shipped_root\n" in trace
            assert "in _rooted\n" in trace
        check(db, PEOPLE[1:])
        db.rollback()
        db.insert("person", [("plus", 4)])
        db.commit()
        check(db, [*PEOPLE[1:], ("plus", 4)])


ONE = ".functor f(x: number): number .decl e(x: number) .decl r(x: number, y: number) r(x, @f(x)) :- e(x)."


def test_auto_stays_in_the_driver_with_functions_that_have_no_name(spark: SparkSession, module: Path) -> None:
    with tidelog.connect(spark=spark, functors={"f": lambda x: x + 1}) as db:
        db.options(embedded_limit=1)
        db.load(ONE)
        db.insert("e", [(1,), (2,)])
        assert db.commit().report.engine == "embedded"
        assert set(db.local("r")) == {(1, 2), (2, 3)}
        db.options(engine="cluster")
        db.insert("e", [(3,)])
        with pytest.raises(UsageError, match=r"E0649.*the functor `f`: it is a lambda"):
            db.commit()
        db.options(engine="auto")
        assert db.commit().report.engine == "embedded"
    with tidelog.connect(spark=spark, functors=module) as db:
        db.options(embedded_limit=1)
        db.load(PROGRAM)
        db.insert("person", PEOPLE)
        assert db.commit().report.engine == "cluster"
        check(db, PEOPLE)


def test_a_module_that_executors_cannot_import(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "only_in_the_driver.py").write_text("def f(x):\n    return x + 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    import only_in_the_driver  # type: ignore[import-not-found]

    with tidelog.connect(spark=spark, functors={"f": only_in_the_driver.f}) as db:
        db.options(engine="cluster")
        db.load(ONE)
        db.insert("e", [(1,)])
        with pytest.raises(UsageError) as caught:
            db.commit()
        assert caught.value.code == "E0649"
        assert (
            "an executor cannot import `only_in_the_driver.f` for the functor `f`: ModuleNotFoundError: "
            "No module named 'only_in_the_driver'" in str(caught.value)
        )
        assert "hint: install the module there, or ship it with `spark.sparkContext.addPyFile`" in str(caught.value)
        spark.sparkContext.addPyFile(str(tmp_path / "only_in_the_driver.py"))
        db.commit()
        assert set(db.local("r")) == {(1, 2)}


@pytest.mark.smoke
def test_a_state_folder_opens_with_its_functions(spark: SparkSession, tmp_path: Path, module: Path) -> None:
    with tidelog.connect(spark=spark, state=tmp_path / "state", functors=module) as db:
        db.load(PROGRAM)
        db.insert("person", PEOPLE)
        db.commit()
    with tidelog.connect(spark=spark, state=tmp_path / "state", functors=module) as db:
        db.delete("person", [PEOPLE[2]])
        db.commit()
        check(db, PEOPLE[:2])
    with pytest.raises(UsageError, match="E0645"):
        tidelog.connect(spark=spark, state=tmp_path / "state")


@pytest.mark.parametrize("engine", ["auto", "cluster"])
def test_a_pipeline(spark: SparkSession, tmp_path: Path, module: Path, engine: str) -> None:
    people = spark.createDataFrame(PEOPLE, "name string, age long")
    sinks = [Sink("code", tmp_path / "code")]
    pipeline = Pipeline(PROGRAM, [Source("person", frame=people)], sinks, engine=engine, functors=[module])
    with pipeline.run(spark) as result:
        assert result.change.report.engine == ("embedded" if engine == "auto" else "cluster")
        check(result.database, PEOPLE)
    assert {tuple(row) for row in spark.read.parquet(str(tmp_path / "code")).collect()} == {
        ("anna", "A4"),
        ("Hans", "H4"),
    }


def test_the_command_line(
    spark: SparkSession,
    tmp_path: Path,
    module: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("facts").mkdir()
    Path("facts/person.csv").write_text("anna,12\nnobody,9\n")
    Path("p.dl").write_text(PROGRAM.replace(".output code", '.output code\n.input person(filename="person.csv")'))
    assert main(["run", "p.dl", "-F", "facts", "-D", "-", "--engine", "spark", "--functors", module.name]) == 0
    assert "anna\tA4" in capsys.readouterr().out
    Path("p.toml").write_text(
        f'program = "p.dl"\nfunctors = ["{module.name}"]\n'
        '[[source]]\nrelation = "person"\npath = "facts/person.csv"\n[[sink]]\nrelation = "code"\npath = "out"\n'
    )
    assert Pipeline.from_toml("p.toml").functors == (tmp_path / module.name,)
    assert main(["pipeline", "run", "p.toml", "--engine", "cluster"]) == 0
    assert {tuple(row) for row in spark.read.parquet(str(tmp_path / "out")).collect()} == {("anna", "A4")}
    Path("p.toml").write_text('program = "p.dl"\nfunctors = [5]\n')
    with pytest.raises(UsageError, match=r"p.toml:2: error\[E0686\]: functors must be a list of texts"):
        Pipeline.from_toml("p.toml")
    assert module.stem in sys.modules
