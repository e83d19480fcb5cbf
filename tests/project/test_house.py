"""The house rules that a machine can check."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest

import tidelog

ROOT = Path(__file__).parents[2]
MODULES = sorted((ROOT / "src/tidelog").rglob("*.py"))
IMPORTING = ("src", "tests", "benchmarks", "examples", "papers", "proofs")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
TEXT = {".cfg", ".dl", ".ini", ".json", ".lark", ".md", ".py", ".sh", ".toml", ".txt", ".yml", ""}


def tracked() -> list[Path]:
    """The text files of the project: those that git knows, or all that an archive holds."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        files = [ROOT / line for line in listed.stdout.splitlines()]
    else:
        files = [file for part in ("src", "tests", "docs", "scripts") for file in (ROOT / part).rglob("*")]
    return [file for file in files if file.is_file() and file.suffix in TEXT]


def identify(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_public_names_are_sorted_and_importable() -> None:
    assert list(tidelog.__all__) == sorted(tidelog.__all__)
    assert [name for name in tidelog.__all__ if not hasattr(tidelog, name)] == []


@pytest.mark.parametrize("folder", sorted((ROOT / "src/tidelog").glob("*/**/__init__.py")), ids=identify)
def test_rooms_have_sorted_public_names(folder: Path) -> None:
    room = importlib.import_module(".".join(folder.parent.relative_to(ROOT / "src").parts))
    names = list(getattr(room, "__all__", []))
    assert names == sorted(names)
    assert [name for name in names if not hasattr(room, name)] == []


def test_public_names_of_rooms_are_complete() -> None:
    """`__all__` has each name that others import from a package, modules apart, and each that users are to import."""
    missing = []
    for file in (path for folder in IMPORTING for path in sorted((ROOT / folder).rglob("*.py"))):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ImportFrom) or node.module is None or node.module.split(".")[0] != "tidelog":
                continue
            package = ROOT / "src" / Path(*node.module.split("."))
            if not package.is_dir():
                continue
            names = {each.name for each in node.names}
            modules = {name for name in names if (package / name).is_dir() or (package / f"{name}.py").exists()}
            public = getattr(importlib.import_module(node.module), "__all__", [])
            missing += [f"{identify(file)}: {node.module}.{name}" for name in sorted(names - modules - {*public})]
    assert missing == []


def test_a_public_class_has_few_methods_of_its_own() -> None:
    """A class with more has several purposes."""
    found = {
        f"{identify(module)}: {node.name}": len(methods)
        for module in MODULES
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
        if len(methods := {each.name for each in node.body if isinstance(each, FUNCTIONS) and each.name[0] != "_"}) > 30
    }
    assert found == {}


def test_import_is_light() -> None:
    code = "import sys, tidelog; print(*sorted({'numba', 'pyspark', 'pandas', 'polars', 'pyarrow'} & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded == "\n"


@pytest.mark.parametrize("module", MODULES, ids=identify)
def test_module_has_a_docstring_and_is_short(module: Path) -> None:
    text = module.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text)), "a module's docstring is its map"
    assert len(text.splitlines()) <= 600


def test_rooms_have_the_order_of_the_architecture() -> None:
    """`make lint` holds imports against the list in pyproject.toml, which is that of the architecture turned round."""
    lines = (ROOT / "docs/architecture.md").read_text(encoding="utf-8").splitlines()
    rows = [re.findall(r"`(\w+)(?:/|\.py)`", line.split("|")[1]) for line in lines if line.startswith("| `")]
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layers = [re.findall(r"tidelog\.(\w+)", layer) for layer in contracts[0]["layers"]]
    assert [["__init__"], *layers[::-1]] == rows
    rooms = {module.relative_to(ROOT / "src/tidelog").parts[0].removesuffix(".py") for module in MODULES}
    assert {name for layer in layers for name in layer} == rooms - {"__init__", "__main__"}


def test_a_public_class_has_a_name_of_its_own() -> None:
    places: dict[str, list[str]] = {}
    for module in MODULES:
        for node in ast.parse(module.read_text(encoding="utf-8")).body:
            match node:
                case ast.ClassDef(name=name):
                    places.setdefault(name, []).append(identify(module))
                case ast.AnnAssign(target=ast.Name(id=name), annotation=ast.Name(id="TypeAlias")):
                    places.setdefault(name, []).append(identify(module))
                case _:
                    pass
    assert {name: found for name, found in places.items() if len(found) > 1 and not name.startswith("_")} == {}


def test_no_module_imports_what_another_one_keeps_for_itself() -> None:
    private = [
        f"{identify(module)}: {node.module}.{each.name}"
        for module in MODULES
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        for each in node.names
        if re.match(r"_[^_]", each.name)
    ]
    assert private == []


def test_no_machine_is_named() -> None:
    named = re.compile(
        r"/wor[k]/|/hom[e]/|inde[x]-url|extra-inde[x]|\b10\.\d+\.\d+\.\d+\b|://[^/\s]*(?:artifac|nexus|mirror|intern)"
    )
    found = [
        f"{identify(file)}: {match[0]}"
        for file in tracked()
        if (match := named.search(file.read_text(encoding="utf-8", errors="replace")))
    ]
    assert found == []


def test_changelog_has_the_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert f"## [{version}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_constraints_pin_every_package_exactly() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert [pin for pin in pins if not re.fullmatch(r"[\w.-]+==[\w.+]+", pin)] == []
    names = {pin.split("==")[0].lower().replace("_", "-") for pin in pins}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    assert sorted({re.split(r"[^\w-]", each, maxsplit=1)[0].lower() for each in wanted} - names) == []


def test_switched_off_rules_and_warnings_have_a_reason() -> None:
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    ignored = [line for line in lines if re.match(r'    "(PL|RUF|SIM|PT)\w+",', line)]
    assert ignored
    assert [line for line in ignored if "#" not in line] == []


def test_make_has_the_targets_that_the_readme_names() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M))
    assert {"bench", "clean", "demo", "docs", "fuzz", "help", "lint", "test", "types"} <= targets
    assert set(re.findall(r"make ([a-z]+)", (ROOT / "README.md").read_text(encoding="utf-8"))) <= targets
