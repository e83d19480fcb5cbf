"""An analysis that follows the history of a code base: what each commit changes in the calls of its functions.

Usage: python examples/git_history/history.py [REPOSITORY]

Without a repository, that of a small shop is made from `shop.txt`, a stream of `git fast-import`. Facts come from the
modules that a commit has changed, and only from them; the views follow.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import tidelog

HERE = Path(__file__).parent
Facts = dict[str, set[tuple[str, ...]]]


def git(repository: Path, *arguments: str, stdin: bytes = b"") -> str:
    """Return the output of a command of git."""
    command = ["git", "-c", "core.quotePath=false", "-C", str(repository), *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, check=True).stdout.decode()


def facts_of(module: str, text: str) -> Facts:
    """Return the facts about the text of a module, none if Python cannot read it."""
    facts: Facts = {"code": {(module,)}, "defines": set(), "imports": set(), "takes": set(), "mentions": set()}
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return facts
    for node, by in _nodes(tree, module, module):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                facts["defines"].add((f"{module}.{name}", module, name))
            case ast.Import(names=names):
                facts["imports"] |= {(module, each.asname or each.name, each.name) for each in names}
            case ast.ImportFrom(module=str(target), names=names):
                facts["takes"] |= {(module, each.asname or each.name, target, each.name) for each in names}
            case ast.Name(id=name):
                facts["mentions"].add((module, by, "", name))
            case ast.Attribute(value=ast.Name(id=owner), attr=name):
                facts["mentions"].add((module, by, owner, name))
    return facts


def _nodes(node: ast.AST, module: str, by: str) -> Iterator[tuple[ast.AST, str]]:
    """Yield the nodes below `node`, each with the function, or module, whose body it is in."""
    for child in ast.iter_child_nodes(node):
        yield child, by
        inner = f"{module}.{child.name}" if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else by
        yield from _nodes(child, module, inner)


def follow(repository: Path) -> tidelog.Database:
    """Print what each commit changes, and return the database as of the last one."""
    db = tidelog.connect()
    db.load(HERE / "calls.dl")
    db.commit()
    for line in git(repository, "log", "--reverse", "--first-parent", "--format=%h %s").splitlines():
        commit = line.split()[0]
        with db.transaction() as changes:
            for status, path in _changed(repository, commit):
                module = path.removesuffix(".py").replace("/", ".")
                before = git(repository, "show", f"{commit}^:{path}") if status != "A" else None
                after = git(repository, "show", f"{commit}:{path}") if status != "D" else None
                old = facts_of(module, before) if before is not None else {}
                new = facts_of(module, after) if after is not None else {}
                for name in {**old, **new}:
                    changes.delete(name, sorted(old.get(name, set()) - new.get(name, set())))
                    changes.insert(name, sorted(new.get(name, set()) - old.get(name, set())))
        print(line)
        change = changes.change
        assert change is not None  # The block has committed.
        for name in ("circular", "broken", "unused"):
            for sign, rows in (("-", change[name].deleted), ("+", change[name].inserted)):
                for row in sorted(rows):
                    print(f"    {sign} {name}: {' -> '.join(map(str, row))}")
    return db


def _changed(repository: Path, commit: str) -> list[tuple[str, str]]:
    """Return the modules that a commit has added (A), changed (M) or deleted (D)."""
    options = ["-r", "--root", "-m", "--first-parent", "--no-commit-id", "--no-renames", "--name-status"]
    listed = git(repository, "diff-tree", *options, commit)
    pairs = (line.split("\t") for line in listed.splitlines())
    return [(status, path) for status, path in pairs if path.endswith(".py")]


def main() -> None:
    if len(sys.argv) > 1:
        follow(Path(sys.argv[1]))
        return
    with tempfile.TemporaryDirectory() as folder:
        git(Path(folder), "init", "--quiet", "--initial-branch=main")
        git(Path(folder), "fast-import", "--quiet", stdin=(HERE / "shop.txt").read_bytes())
        follow(Path(folder))


if __name__ == "__main__":
    main()
