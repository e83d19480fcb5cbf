"""Without an optional package, every way in says which extra to install, and how."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

EXTRAS = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]["optional-dependencies"]
FOR_DEVELOPERS = {"bench", "docs", "test"}

CLI = "import sys; from tidelog.cli import main; sys.exit(main(sys.argv[1:]))"
TABLE = "import tidelog; db = tidelog.connect(); db.load('.decl e(x: number) e(1).'); db.commit(); "
WAYS_IN: dict[str, tuple[str, list[str], str, str]] = {
    # name: (missing module, arguments of the program, program, extra)
    "demo without Spark": ("pyspark", ["demo", "-D", "out"], CLI, "spark"),
    "demo without pandas": ("pandas", ["demo", "-D", "out"], CLI, "spark"),
    "demo without pictures": ("networkx", ["demo", "-D", "out"], CLI, "draw"),
    "edge demo without ZeroMQ": ("zmq", ["demo", "edge"], CLI, "network"),
    "edge demo without RDF": ("pyoxigraph", ["demo", "edge", "--simulated"], CLI, "rdf"),
    "run on Spark": ("pyspark", ["run", "p.dl", "--engine", "spark"], CLI, "spark"),
    "pipeline": ("pyspark", ["pipeline", "run", "p.toml"], CLI, "spark"),
    "editors": ("pygls", ["lsp"], CLI, "lsp"),
    "graph as a picture": ("pygraphviz", ["graph", "p.dl", "-o", "p.svg"], CLI, "draw"),
    "network": ("zmq", ["network", "n.toml"], CLI, "network"),
    "tidelog.spark": ("pyspark", [], "import tidelog.spark", "spark"),
    "connect(spark=…)": ("pyspark", [], "import tidelog; tidelog.connect(spark=1)", "spark"),
    "ZeroMQ": ("zmq", [], "import tidelog.network.zeromq", "network"),
    "MQTT": ("paho", [], "import tidelog.network.mqtt", "network"),
    "rdf": (
        "pyoxigraph", [], "import tidelog.rdf; tidelog.rdf.connect().insert('<a:a> <a:b> <a:c> .', 'trig')", "rdf"
    ),
    "rdflib": ("rdflib", [], "import tidelog.rdf; tidelog.rdf.connect().to_rdflib()", "rdf"),
    "server without Starlette": ("starlette", ["rdf", "serve"], CLI, "rdf,serve"),
    "workbench without msgspec": ("msgspec", ["serve", "store"], CLI, "serve"),
    "tools without the SDK": ("mcp", ["serve", "store", "--mcp"], CLI, "serve,mcp"),
    "completion": ("shtab", ["completion", "bash"], CLI, "prompt"),
    "widget": ("anywidget", [], "import tidelog.notebook.widget", "notebook"),
    "connect(address)": ("httpx", [], "import tidelog; tidelog.connect('http://127.0.0.1:1')", "client"),
    "pandas": ("pandas", [], TABLE + "db['e'].to_pandas()", "pandas"),
    "polars": ("polars", [], TABLE + "db['e'].to_polars()", "polars"),
    "a frame": ("pyspark", [], TABLE + "db['e'].to_spark(None)", "spark"),
    "metrics": ("prometheus_client", [], "import tidelog.spark.metrics", "metrics"),
    "fsspec": (
        "fsspec", [], "from tidelog.spark.cluster.exchange.folder import Folder; Folder('memory://x')._remote", "spark"
    ),
}  # fmt: skip

BLOCKED = """
import sys, importlib.abc

class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == {module!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
from tidelog.errors import TidelogError
try:
    exec({program!r})
except TidelogError as error:
    print(error, file=sys.stderr)
"""


@pytest.mark.parametrize("name", WAYS_IN)
def test_a_missing_package_is_named_with_its_extra(name: str, tmp_path: Path) -> None:
    module, arguments, program, extra = WAYS_IN[name]
    (tmp_path / "p.dl").write_text(".decl e(x: number) .output e\ne(1).\n")
    (tmp_path / "p.toml").write_text("")
    (tmp_path / "n.toml").write_text('program = "p.dl"\nnodes = ["a", "b"]\n')
    command = [sys.executable, "-c", BLOCKED.format(module=module, program=program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert f"pip install '.[{extra}]'` in your checkout of tidelog" in done.stderr
    assert "error[E07" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_every_extra_for_users_has_a_way_in() -> None:
    asked_by_pyspark = {"connect"}  # tidelog gets a session, for which PySpark has asked for these packages.
    named = {extra for *_, extras in WAYS_IN.values() for extra in extras.split(",")}
    assert named == EXTRAS.keys() - FOR_DEVELOPERS - asked_by_pyspark


def test_a_checkout_is_set_up_with_all_extras() -> None:
    text = (Path(__file__).parents[2] / "scripts" / "setup").read_text()
    installed = text.rpartition("--editable '.[")[2].partition("]")[0]
    assert set(installed.split(",")) == EXTRAS.keys()


def test_no_hint_names_a_package_that_cannot_be_installed() -> None:
    """Nothing is published under the name tidelog: hints and pages say how to install a checkout."""
    root = Path(__file__).parents[2]
    files = [*(root / "src").rglob("*.py"), *(root / "docs").rglob("*.md"), root / "README.md"]
    wrong = [str(file.relative_to(root)) for file in files if "install tidelog" in (text := file.read_text())
             or "install 'tidelog" in text or 'install "tidelog' in text]  # fmt: skip
    assert wrong == []
