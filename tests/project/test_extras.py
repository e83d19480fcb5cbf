"""Without an optional package, every way in says which extra to install, and how."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

EXTRAS = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]["optional-dependencies"]
FOR_DEVELOPERS = {"bench", "docs", "test"}

CLI = "import sys; from tidelog.cli.entry import main; sys.exit(main(sys.argv[1:]))"
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
    "connect(address)": ("httpx", [], "import tidelog; tidelog.connect('http://127.0.0.1:1')", "client"),
    "pandas": ("pandas", [], TABLE + "db['e'].to_pandas()", "pandas"),
    "polars": ("polars", [], TABLE + "db['e'].to_polars()", "polars"),
    "a frame": ("pyspark", [], TABLE + "db['e'].to_spark(None)", "spark"),
    "metrics": ("prometheus_client", [], "import tidelog.spark.metrics", "metrics"),
    "fsspec": (
        "fsspec", [], "from tidelog.spark.cluster.exchange.folder import Folder; Folder('memory://x')._remote", "spark"
    ),
}  # fmt: skip

FORKS = """
import importlib.abc, json, os, sys, traceback
import tidelog.cli

class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == module:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for folder, (module, arguments, program, _) in json.loads(sys.stdin.read()).items():
    if os.fork() == 0:
        os.chdir(folder)
        os.dup2(os.open("stderr", os.O_CREAT | os.O_WRONLY), 2)
        sys.meta_path.insert(0, Missing())
        sys.argv[1:] = arguments
        try:
            exec(program, {})
        except tidelog.TidelogError as error:
            print(error, file=sys.stderr)
        except SystemExit:
            pass
        except BaseException:
            traceback.print_exc()
        sys.stderr.flush()
        os._exit(0)
    os.wait()
"""
"""Each way in, in a child of one process that has loaded tidelog: to load it takes most of the time."""


def test_missing_packages_are_named_with_their_extras(tmp_path: Path) -> None:
    folders = {name: tmp_path / str(number) for number, name in enumerate(WAYS_IN)}
    for folder in folders.values():
        folder.mkdir()
        (folder / "p.dl").write_text(".decl e(x: number) .output e\ne(1).\n")
        (folder / "p.toml").write_text("")
        (folder / "n.toml").write_text('program = "p.dl"\nnodes = ["a", "b"]\n')
    ways = json.dumps({str(folders[name]): way for name, way in WAYS_IN.items()})
    subprocess.run([sys.executable, "-c", FORKS], input=ways, stdout=subprocess.DEVNULL, text=True, check=True)
    wrong = []
    for name, (_, _, _, extra) in WAYS_IN.items():
        said = (folders[name] / "stderr").read_text()
        named = f"pip install '.[{extra}]'` in your checkout of tidelog" in said and "error[E07" in said
        if not named or "Traceback" in said or (folders[name] / "out").exists():
            wrong.append(f"{name} says:\n{said}")
    assert not wrong, "\n".join(wrong)


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
