"""LUBM, the universities: 128 rules about classes and properties, over triples with short names."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow

from benchmarks.evaluate import evaluate, inserting, warm_up
from benchmarks.harness import Line, Measured, Options, Target, in_child, measure

_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_ATOM = re.compile(r"<(\w+)>\(([^)]*)\)")
DERIVED = {"all rules": 137_931, "without starred": 131_045, "without #": 113_886}


def program(rules: list[tuple[bool, bool, str]], which: str) -> str:
    """Return rules `<head>(?X) :- <body>(?X, ?Y) and <body>(?Y) .`, each marked as starred and as #, as a program of
    tidelog.

    All relations are declared, also those that only rules left out mention.
    """
    arity: dict[str, int] = {}
    texts = []
    for starred, hashed, text in rules:
        atoms = [(name, variables.replace("?", "")) for name, variables in _ATOM.findall(text)]
        arity |= {name: 1 + variables.count(",") for name, variables in atoms}
        if (which == "without starred" and starred) or (which == "without #" and hashed):
            continue
        head, *body = (f"{name}({variables})" for name, variables in atoms)
        texts.append(f"{head} :- {', '.join(body)}.")
    columns = {1: "x: symbol", 2: "x: symbol, y: symbol"}
    declarations = [f".decl {name}({columns[n]})" for name, n in arity.items()]
    return "\n".join(declarations + texts)


def facts(path: Path) -> dict[str, pyarrow.Table]:
    """Return triples as tables: a property is a binary relation, a class a unary one."""
    rows: dict[str, list[list[str]]] = {}
    with gzip.open(path, "rt") as stream:
        for triple in stream:
            subject, predicate, value = (term[1:-1] for term in triple.split()[:3])
            relation, row = (value, [subject]) if predicate == _TYPE else (predicate, [subject, value])
            rows.setdefault(relation, []).append(row)
    return {
        name: pyarrow.table(list(map(list, zip(*r, strict=True))), list("xy")[: len(r[0])]) for name, r in rows.items()
    }


def evaluation(folder: str, which: str, runs: int | None) -> Measured:
    """Measure some of the rules from scratch; facts are those of the source, everything else is derived."""
    warm_up()
    text = program(json.loads((Path(folder) / "lubm1/rules.json").read_text()), which)
    triples = facts(Path(folder) / "lubm1/lubm1.nt.gz")
    return measure(
        lambda: evaluate(
            text,
            inserting(triples),
            lambda db: {"derived": sum(len(db[name]) for name in db.relations if not name.startswith("src_"))},
        ),
        runs,
    )


def lines(options: Options) -> Iterator[Line]:
    """Yield all rules, and the two parts of them that the paper adds and deletes."""
    for which, derived in DERIVED.items():
        measured = in_child(evaluation, str(options.data), which, options.runs)
        targets = (Target("seconds", 0.15),) if which == "all rules" else ()
        yield Line("lubm", which, measured, {"derived": derived}, targets)
