"""Facts about Python source files, found with `ast`, in parallel on Spark's workers.

`library` lists the modules of the running interpreter's standard library. `extract` gives one frame for each relation
of `program.dl`. It resolves a used name only as far as one file shows: the module and the name there. The program
resolves the rest, because re-exports need recursion.

A file that cannot be read or parsed is a row of `module` with a reason, which the pipeline puts into its quarantine.
"""

from __future__ import annotations

import ast
import sysconfig
import tokenize
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

FactRow: TypeAlias = tuple[str, ...]

# The columns of each relation, as program.dl declares them.
COLUMNS: dict[str, tuple[str, ...]] = {
    "module": ("m", "file", "lines"),
    "imports": ("m", "n", "when"),
    "from_import": ("m", "x", "n", "y"),
    "star_import": ("m", "n"),
    "defined": ("m", "x", "d"),
    "class": ("c", "m", "line"),
    "base": ("c", "n", "x"),
    "function": ("f", "m", "x", "line"),
    "method_of": ("f", "c"),
    "decorated": ("f",),
    "calls_name": ("f", "n", "x"),
    "calls_self": ("f", "c", "x"),
    "mentions": ("p", "x"),
    "stores": ("c", "x"),
}
_WIDTH = max(len(columns) for columns in COLUMNS.values())
_SCHEMA = ", ".join(["relation string", "problem string", *[f"v{i} string" for i in range(_WIDTH)]])
_APART = {"site-packages", "dist-packages", "test", "tests", "idle_test", "__pycache__"}
_PARTS = 4  # more than there are cores, because files differ in size


def library() -> dict[str, Path]:
    """Return the standard library's source files by module name, without tests and installed packages."""
    root = Path(sysconfig.get_paths()["stdlib"])
    files = (file for file in root.rglob("*.py") if not _APART & set(file.relative_to(root).parts))
    return {name: file for file in sorted(files) if (name := module_name(file.relative_to(root)))}


def module_name(file: Path) -> str | None:
    """Return the name under which a path below the root is imported, or None if no import can name it."""
    parts = list(file.with_suffix("").parts)
    if parts[-1] == "__init__":
        parts.pop()
    return ".".join(parts) if parts and all(part.isidentifier() for part in parts) else None


def extract(session: SparkSession, files: Mapping[str, Path]) -> DataFrame:
    """Return the facts of `files` as one frame: relation, problem (null for a fact), and the values as v0, v1, …"""
    import pyarrow as pa

    modules = frozenset(files)
    packages = frozenset(name for name, file in files.items() if file.name == "__init__.py")

    def facts_of(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows: list[tuple[str, str | None, FactRow]] = []
            for name, path in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                rows += facts_of_file(name, Path(path), modules, packages)
            yield as_batch(rows)

    listed = pa.table({"name": list(files), "path": [str(file) for file in files.values()]})
    return session.createDataFrame(listed).repartition(_PARTS).mapInArrow(facts_of, _SCHEMA)


def frame_of(facts: DataFrame, relation: str) -> DataFrame:
    """Return the rows of one relation, with its column names and `problem`."""
    rows = facts.where(facts["relation"] == relation)
    return rows.select("problem", *[rows[f"v{i}"].alias(name) for i, name in enumerate(COLUMNS[relation])])


def as_batch(rows: Iterable[tuple[str, str | None, FactRow]]) -> pa.RecordBatch:
    """Return facts of different arity as one Arrow batch of `_SCHEMA`; missing values are null."""
    import pyarrow as pa

    padded = [(relation, problem, *fact, *[None] * (_WIDTH - len(fact))) for relation, problem, fact in rows]
    columns = list(zip(*padded, strict=True)) or [()] * (_WIDTH + 2)
    names = [part.split()[0] for part in _SCHEMA.split(", ")]
    return pa.RecordBatch.from_arrays([pa.array(column, pa.string()) for column in columns], names=names)


def facts_of_file(
    name: str, file: Path, modules: frozenset[str], packages: frozenset[str]
) -> list[tuple[str, str | None, FactRow]]:
    """Return the facts of one file as (relation, problem, values); a single row with a problem if it cannot be
    parsed."""
    try:
        with tokenize.open(file) as stream:
            text = stream.read()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the parser, about the file's own style
            tree = ast.parse(text)
        reader = _Reader(name, modules, name in packages)
        reader.read_module(tree)
    except SyntaxError as error:
        return [("module", f"does not parse: {error.msg}", (name, str(file), "0"))]
    except (OSError, ValueError, RecursionError) as error:
        return [("module", f"cannot be read: {type(error).__name__}", (name, str(file), "0"))]
    lines = str(text.count("\n") + 1)
    facts = {("module", (name, str(file), lines)), *reader.facts}
    return [(relation, None, fact) for relation, fact in sorted(facts)]


class _Reader:
    """Reader of one module. `facts` is a set of (relation, values)."""

    def __init__(self, name: str, modules: frozenset[str], is_package: bool) -> None:
        self.name = name
        self.modules = modules
        self.facts: set[tuple[str, FactRow]] = set()
        self._package = name if is_package else name.rpartition(".")[0]
        self._module_names: dict[str, str] = {}  # what this module calls another one -> that module

    def read_module(self, tree: ast.Module) -> None:
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                self._bind_modules(node)
            elif isinstance(node, ast.ImportFrom):
                self._bind_names(node)
        self._block(tree.body, "", None, "load")

    def _add(self, relation: str, *values: str) -> None:
        self.facts.add((relation, values))

    # --- imports -----------------------------------------------------------------------------------------------------

    def _bind_modules(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.asname:
                self._module_names[alias.asname] = alias.name
            else:
                first = alias.name.split(".")[0]
                self._module_names[first] = first

    def _bind_names(self, node: ast.ImportFrom) -> None:
        source = self._source(node)
        for alias in node.names:
            if f"{source}.{alias.name}" in self.modules:
                self._module_names[alias.asname or alias.name] = f"{source}.{alias.name}"
            elif source not in self.modules or source == self.name:
                continue
            elif alias.name == "*":
                self._add("star_import", self.name, source)
            else:
                self._add("from_import", self.name, alias.asname or alias.name, source, alias.name)

    def _source(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = self._package.split(".")
        base = ".".join(parts[: len(parts) - node.level + 1])
        return f"{base}.{node.module}" if node.module else base

    def _import(self, node: ast.Import | ast.ImportFrom, when: str) -> None:
        if isinstance(node, ast.Import):
            targets = {alias.name for alias in node.names}
        else:
            source = self._source(node)
            targets = {f"{source}.{alias.name}" for alias in node.names} | {source}
        for target in targets & self.modules - {self.name}:
            self._add("imports", self.name, target, when)

    # --- definitions -------------------------------------------------------------------------------------------------

    def _block(self, body: Iterable[ast.AST], path: str, owner: str | None, when: str) -> None:
        """Read statements outside of functions; `path` is the class around them ("" or "C."), `owner` its full name."""
        for node in body:
            if isinstance(node, ast.ClassDef):
                self._class(node, path, when)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                self._function(node, path, owner)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                self._import(node, when)
            else:
                self._mention(node, self.name)
                self._block(ast.iter_child_nodes(node), path, owner, "late" if _runs_late(node) else when)

    def _class(self, node: ast.ClassDef, path: str, when: str) -> None:
        full = f"{self.name}.{path}{node.name}"
        self._add("class", full, self.name, str(node.lineno))
        self._add("defined", self.name, path + node.name, full)
        for base in node.bases:
            # Generic[T] and the like: the class is what stands before the bracket.
            found = self._resolve(base.value if isinstance(base, ast.Subscript) else base)
            if found:
                self._add("base", full, *found)
        for part in (*node.decorator_list, *node.bases, *node.keywords):
            self._mentions(part, self.name)
        self._block(node.body, f"{path}{node.name}.", full, when)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, path: str, owner: str | None) -> None:
        full = f"{self.name}.{path}{node.name}"
        self._add("function", full, self.name, node.name, str(node.lineno))
        if owner:
            self._add("method_of", full, owner)
        else:
            self._add("defined", self.name, node.name, full)
        for decorator in node.decorator_list:
            self._add("decorated", full)
            self._mentions(decorator, self.name)
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        itself = arguments[0].arg if owner and arguments else None
        local = {argument.arg for argument in arguments}
        inner = [part for statement in (node.args, *node.body) for part in ast.walk(statement)]
        local |= {part.id for part in inner if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
        for part in inner:
            self._mention(part, full)
            if isinstance(part, (ast.Import, ast.ImportFrom)):
                self._import(part, "late")
            elif isinstance(part, ast.Call):
                self._call(part.func, full, owner, itself, local)
            elif owner and itself and _is_attribute_of(part, itself) and isinstance(part.ctx, ast.Store):
                self._add("stores", owner, part.attr)

    # --- uses --------------------------------------------------------------------------------------------------------

    def _call(self, called: ast.expr, caller: str, owner: str | None, itself: str | None, local: set[str]) -> None:
        if owner and itself and _is_attribute_of(called, itself):
            self._add("calls_self", caller, owner, called.attr)
            return
        found = self._resolve(called)
        if found and _root(called) not in local:
            self._add("calls_name", caller, *found)

    def _resolve(self, node: ast.expr) -> tuple[str, str] | None:
        """Return `node` as (module, name in that module), if it is a name or a chain of attributes."""
        names: list[str] = []
        while isinstance(node, ast.Attribute):
            names.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        names = [node.id, *reversed(names)]
        if names[0] not in self._module_names:
            return self.name, ".".join(names)
        module = self._module_names[names.pop(0)]
        while names and f"{module}.{names[0]}" in self.modules:
            module = f"{module}.{names.pop(0)}"
        return (module, ".".join(names)) if names else None

    def _mentions(self, node: ast.AST, place: str) -> None:
        for part in ast.walk(node):
            self._mention(part, place)

    def _mention(self, node: ast.AST, place: str) -> None:
        """Note private names that are read at `place`; texts count, because getattr may look them up."""
        if isinstance(node, (ast.Name, ast.Attribute)):
            name = (node.id if isinstance(node, ast.Name) else node.attr) if isinstance(node.ctx, ast.Load) else ""
        elif isinstance(node, ast.alias):
            name = node.name
        else:
            name = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
        if name.startswith("_") and name.isidentifier():
            self._add("mentions", place, name)


def _runs_late(node: ast.AST) -> bool:
    """Return True if code below `node` does not run when the module is imported."""
    if not isinstance(node, ast.If):
        return False
    names = {part.id for part in ast.walk(node.test) if isinstance(part, ast.Name)}
    return bool(names & {"TYPE_CHECKING", "__name__"})


def _is_attribute_of(node: ast.AST, name: str) -> TypeGuard[ast.Attribute]:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
