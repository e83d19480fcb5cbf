"""The house rules that a machine can check."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

import tidelog

ROOT = Path(__file__).parents[2]
MODULES = sorted((ROOT / "src/tidelog").rglob("*.py"))
IMPORTING = ("tests", "benchmarks", "examples", "papers", "proofs")
Trees = dict[Path, ast.Module]
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


@pytest.fixture(scope="module")
def trees() -> Trees:
    """Return the modules of the package, each parsed once for all checks."""
    return {module: ast.parse(module.read_text(encoding="utf-8")) for module in MODULES}


def test_rooms_have_sorted_public_names() -> None:
    found = []
    for folder in sorted((ROOT / "src/tidelog").glob("*/**/__init__.py")):
        room = importlib.import_module(".".join(folder.parent.relative_to(ROOT / "src").parts))
        names = list(getattr(room, "__all__", []))
        if names != sorted(names):
            found.append(f"{identify(folder)}: __all__ is not sorted")
        found += [f"{identify(folder)}: {name} does not exist" for name in names if not hasattr(room, name)]
    assert not found, "\n".join(found)


def users_of_the_package(trees: Trees) -> Iterator[tuple[Path, ast.Module]]:
    """Yield the package's own modules, and the files beside it that import from it."""
    yield from trees.items()
    for file in (path for folder in IMPORTING for path in sorted((ROOT / folder).rglob("*.py"))):
        text = file.read_text(encoding="utf-8")
        if "from tidelog" in text:
            yield file, ast.parse(text)


def test_public_names_of_rooms_are_complete(trees: Trees) -> None:
    """`__all__` has each name that others import from a package, modules apart, and each that users are to import."""
    missing = []
    for file, tree in users_of_the_package(trees):
        for node in ast.walk(tree):
            if not isinstance(node, ast.ImportFrom) or node.module is None or node.module.split(".")[0] != "tidelog":
                continue
            package = ROOT / "src" / Path(*node.module.split("."))
            if not package.is_dir():
                continue
            names = {each.name for each in node.names}
            modules = {name for name in names if (package / name).is_dir() or (package / f"{name}.py").exists()}
            public = getattr(importlib.import_module(node.module), "__all__", [])
            place = f"{identify(file)}:{node.lineno}"
            missing += [f"{place}: {node.module}.{name}" for name in sorted(names - modules - {*public})]
    assert not missing, "\n".join(missing)


def test_a_public_class_has_few_methods_of_its_own(trees: Trees) -> None:
    """A class with more has several purposes."""
    found = [
        f"{identify(module)}:{node.lineno}: {node.name} has {len(methods)} public methods"
        for module, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        if len(methods := {each.name for each in node.body if isinstance(each, FUNCTIONS) and each.name[0] != "_"}) > 30
    ]
    assert not found, "\n".join(found)


def test_import_is_light() -> None:
    heavy = {"numba", "pyspark", "pandas", "polars", "pyarrow", "tidelog.explain.proof", "tidelog.rdf.proofs"}
    code = f"import sys, tidelog.rdf; print(*sorted({heavy} & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded == "\n"


def test_modules_have_a_docstring_and_are_short(trees: Trees) -> None:
    found = []
    for module, tree in trees.items():
        lines = module.read_text(encoding="utf-8").count("\n")
        if not ast.get_docstring(tree):
            found.append(f"{identify(module)}: no docstring, which is the map of a module")
        if lines > 600:
            found.append(f"{identify(module)}: {lines} lines")
    assert not found, "\n".join(found)


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


def test_a_public_class_has_a_name_of_its_own(trees: Trees) -> None:
    places: dict[str, list[str]] = {}
    for module, tree in trees.items():
        for node in tree.body:
            match node:
                case ast.ClassDef(name=name):
                    places.setdefault(name, []).append(identify(module))
                case ast.AnnAssign(target=ast.Name(id=name), annotation=ast.Name(id="TypeAlias")):
                    places.setdefault(name, []).append(identify(module))
                case _:
                    pass
    twice = [f"{name}: {files}" for name, files in places.items() if len(files) > 1 and not name.startswith("_")]
    assert not twice, "\n".join(twice)


def test_no_module_imports_what_another_one_keeps_for_itself(trees: Trees) -> None:
    private = [
        f"{identify(module)}:{node.lineno}: {node.module}.{each.name}"
        for module, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for each in node.names
        if re.match(r"_[^_]", each.name)
    ]
    assert not private, "\n".join(private)


def test_no_machine_is_named() -> None:
    named = re.compile(
        r"/wor[k]/|/hom[e]/|inde[x]-url|extra-inde[x]|\b10\.\d+\.\d+\.\d+\b|://[^/\s]*(?:artifac|nexus|mirror|intern)"
    )
    found = [
        f"{identify(file)}: {match[0]}"
        for file in tracked()
        if (match := named.search(file.read_text(encoding="utf-8", errors="replace")))
    ]
    assert not found, "\n".join(found)


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
