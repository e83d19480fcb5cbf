"""The demo: facts of source files by hand, and the whole story on a small library with a broken file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tidelog.demo.facts import COLUMNS, facts_of_file, library, module_name
from tidelog.demo.story import PROGRAM, run
from tidelog.language import check, read

FILES: dict[str, str | bytes] = {
    "shop/__init__.py": "from shop.base import Thing\nfrom .box import Box\n",
    "shop/base.py": """
import shop.box as boxes
class Thing:
    def name(self):
        self._seen = 1
        return self._plain()
    def _plain(self):
        return boxes.make(1)
def _forgotten():
    return _forgotten()
""",
    "shop/box.py": """
from shop import Thing as Base
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import tools
class Box(Base[int]):
    def name(self):
        import tools
        return tools.helper("x")
def make(Box_):
    Box_()
    return Box()
""",
    "tools.py": "from deep import *\n@print\ndef helper(x): return x\ndef getter(o): return getattr(o, '_plain')\n",
    "deep.py": "class Deep: pass\n",
    "broken.py": "def f(:\n",
    "latin.py": b"# coding: utf-8\nx = '\xff'\n",
}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    for name, text in FILES.items():
        file = tmp_path / "lib" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return {module_name(Path(name)) or "": tmp_path / "lib" / name for name in FILES}


def facts(files: dict[str, Path], name: str) -> dict[str, set[tuple[str, ...]]]:
    found: dict[str, set[tuple[str, ...]]] = {}
    for relation, problem, values in facts_of_file(name, files[name], frozenset(files), frozenset({"shop"})):
        assert problem is None
        found.setdefault(relation, set()).add(values)
    return found


def test_imports_are_resolved_and_late_ones_told_apart(files: dict[str, Path]) -> None:
    found = facts(files, "shop")
    assert found["imports"] == {("shop", "shop.base", "load"), ("shop", "shop.box", "load")}
    assert found["from_import"] == {("shop", "Thing", "shop.base", "Thing"), ("shop", "Box", "shop.box", "Box")}
    found = facts(files, "shop.box")
    assert found["imports"] == {("shop.box", "shop", "load"), ("shop.box", "tools", "late")}
    assert facts(files, "tools")["star_import"] == {("tools", "deep")}


def test_classes_functions_and_calls_are_found(files: dict[str, Path]) -> None:
    found = facts(files, "shop.box")
    assert found["base"] == {("shop.box.Box", "shop.box", "Base")}
    assert found["method_of"] == {("shop.box.Box.name", "shop.box.Box")}
    assert found["defined"] == {("shop.box", "Box", "shop.box.Box"), ("shop.box", "make", "shop.box.make")}
    # A local variable hides nothing but itself: Box_() is no call of a function.
    assert found["calls_name"] == {("shop.box.Box.name", "tools", "helper"), ("shop.box.make", "shop.box", "Box")}
    found = facts(files, "shop.base")
    assert found["calls_self"] == {("shop.base.Thing.name", "shop.base.Thing", "_plain")}
    assert found["calls_name"] == {
        ("shop.base.Thing._plain", "shop.box", "make"),
        ("shop.base._forgotten", "shop.base", "_forgotten"),
    }
    assert found["stores"] == {("shop.base.Thing", "_seen")}
    assert ("tools.getter", "_plain") in facts(files, "tools")["mentions"]
    assert facts(files, "tools")["decorated"] == {("tools.helper",)}


@pytest.mark.smoke
def test_the_program_declares_what_is_extracted() -> None:
    checked = check(read(PROGRAM))
    for relation, columns in COLUMNS.items():
        assert tuple(column.name for column in checked.relations[relation].columns) == columns


def test_the_library_is_that_of_this_interpreter() -> None:
    files = library()
    assert {"os", "json.decoder", "asyncio"} <= set(files)
    assert not [name for name in files if name.split(".")[0] in ("test", "site-packages")]


def test_the_story_leaves_views_pictures_and_a_page(
    spark: SparkSession, files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(out, progress=True, files=files) == 0
    shown = capsys.readouterr()

    def view(name: str) -> set[tuple[object, ...]]:
        return {tuple(row) for row in spark.read.parquet(str(out / "views" / name)).collect()}

    assert view("cycle") == {("shop", "shop"), ("shop", "shop.base"), ("shop", "shop.box")}
    assert view("super") == {("shop.box.Box", "shop.base.Thing")}
    assert view("overrides") == {("shop.box.Box.name", "shop.base.Thing.name")}
    assert view("dead") == {("shop.base._forgotten", "shop.base", 9)}
    assert view("write_only") == {("shop.base.Thing", "_seen")}
    assert view("recursive") == {("shop.base._forgotten",)}
    assert view("calls") == {
        ("shop.base.Thing.name", "shop.base.Thing._plain"),
        ("shop.base.Thing._plain", "shop.box.make"),
        ("shop.base._forgotten", "shop.base._forgotten"),
        ("shop.box.Box.name", "tools.helper"),
    }
    assert view("layer") == {("deep", 0), ("tools", 1)}
    assert view("dependents") >= {("deep", 4), ("tools", 3), ("shop", 3)}
    bad = spark.read.parquet(str(out / "quarantine")).collect()
    assert sorted(row.reason for row in bad) == ["cannot be read: UnicodeDecodeError", "does not parse: invalid syntax"]
    assert re.search(r"^module +7 +5 +0 +2$", shown.out, flags=re.M)
    assert str(out) in shown.out
    assert "read 7 files" in shown.err
    assert "<svg" in (out / "rules.svg").read_text()
    assert "shop.base" not in (out / "index.html").read_text().split("<h2>Pictures</h2>")[1]
    assert ".base" in (out / "cycles.svg").read_text()
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == 0
