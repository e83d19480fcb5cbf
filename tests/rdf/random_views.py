"""Random views in SPARQL over random triples and axioms that change, in several graphs, against the answers of
`store.query`."""

from __future__ import annotations

import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tidelog import UsageError
from tidelog.rdf import Store, connect, literal
from tidelog.rdf.terms import OWL, RDFS

EXAMPLE = "http://example.org/"
VALUES: tuple[Any, ...] = (1, 2, 4, 2.5, literal("x"))
GRAPHS = (None, None, EXAMPLE + "g", EXAMPLE + "h")
AXIOMS = [
    (EXAMPLE + one, name, EXAMPLE + other)
    for name, one, other in (
        (f"{RDFS}subPropertyOf", "p", "q"),
        (f"{RDFS}subPropertyOf", "q", "r"),
        (f"{RDFS}subPropertyOf", "age", "p"),
        (f"{RDFS}domain", "p", "A"),
        (f"{RDFS}range", "r", "B"),
        (f"{RDFS}range", "age", "A"),
        (f"{RDFS}subClassOf", "A", "B"),
        (f"{OWL}inverseOf", "age", "q"),
    )
]
"""Triples of a schema for stores with rules; some make facts about literals."""
PATHS = (
    ":p",
    ":q",
    ":r",
    "^:p",
    ":p*",
    ":q+",
    ":p/:q",
    ":p|:q",
    "^:p?",
    "^a",
    ":age/a",
    "a/rdfs:subClassOf*",
    "(a|:q)?",
)


def triple(rng: random.Random) -> tuple[str, str, Any]:
    """Return a random triple."""
    subject = EXAMPLE + rng.choice("abcd")
    if rng.random() < 0.3:
        return subject, EXAMPLE + "age", rng.choice(VALUES)
    return subject, EXAMPLE + rng.choice("pqr"), EXAMPLE + rng.choice("abcd")


def pattern(rng: random.Random, depth: int = 2) -> str:
    """Return a random group of patterns."""
    one, other = rng.sample("xyz", 2)
    simple = rng.choice(
        [
            f"?{one} {rng.choice(PATHS)} ?{other} .",
            f"?{one} {rng.choice(PATHS)} ?{other} .",
            f"?{one} :age ?n .",
            f"?{one} :p :{rng.choice('abc')} .",
            f"?{one} a :{rng.choice('AB')} .",
            f"GRAPH {rng.choice([':g', ':h', f'?{other}'])} {{ ?{one} :{rng.choice('pqr')} :{rng.choice('abc')} }}",
        ]
    )
    if depth == 0:
        return simple
    inner = pattern(rng, depth - 1)
    # pyoxigraph counts the nodes between the steps of a sequence among the values of `*`.
    members = "?n" if "/" in inner else "*"
    return rng.choice(
        [
            f"{simple} {inner}",
            f"{simple} {inner}",
            f"{{ {simple} }} UNION {{ {inner} }}",
            f"{simple} OPTIONAL {{ {inner} }}",
            f"{simple} MINUS {{ {inner} }}",
            f"{simple} FILTER EXISTS {{ {pattern(rng, 0)} }}",
            f"{simple} FILTER NOT EXISTS {{ {pattern(rng, 0)} }}",
            f"{simple} ?{one} :age ?n FILTER(?n > {rng.choice([1, 2, 2.5])} || !(?n < 2))",
            f"{simple} ?{one} :age ?n BIND(?n {rng.choice('+-*')} {rng.choice([2, 0.5])} AS ?m)",
            f"{simple} {{ SELECT DISTINCT ?{one} ?n {{ {inner} }} }}",
            f"{simple} {{ SELECT ?{one} (COUNT(DISTINCT {members}) AS ?m) {{ {inner} }} GROUP BY ?{one} }}",
        ]
    )


def select(rng: random.Random) -> str:
    """Return a random SELECT."""
    found = pattern(rng)
    if rng.random() < 0.6:
        return f"SELECT DISTINCT ?x ?y ?n ?m {{ {found} }}"
    sort = rng.choice(["COUNT(*)", "COUNT(?n)", "SUM(?n)", "AVG(?n)", "MAX(?n)", "COUNT(DISTINCT ?y)", "SUM(?n + 1)"])
    having = rng.choice(["", "", f"HAVING({sort} > 1)"])
    if rng.random() < 0.3:
        return f"SELECT ({sort} AS ?k) {{ {found} }}"
    return f"SELECT ?x ({sort} AS ?k) {{ {found} }} GROUP BY ?x {having}"


def compared(seed: int, views: int, changes: int) -> int:
    """Compare views with queries after changes; return how many views there were, of those that were tried. Stores of
    odd seeds are in a folder, and come back between changes."""
    with TemporaryDirectory() as folder:
        return _compared(seed, views, changes, Path(folder, "store") if seed % 2 else None)


def _compared(seed: int, views: int, changes: int, folder: Path | None) -> int:
    rng = random.Random(seed)
    store = connect(folder, rules=rng.choice([None, "rdfs", "owl-rl"]))
    store.prefixes[""] = EXAMPLE
    texts: dict[str, str] = {}
    for number in range(views):
        text = select(rng)
        try:
            store.view(f"view_{number}", text)
        except UsageError as error:
            if error.code != "E0663":
                raise
        else:
            texts[f"view_{number}"] = text
    for _ in range(changes):
        for _ in range(rng.randint(0, 3)):
            data = [triple(rng) for _ in range(rng.randint(0, 4))]
            store.insert([*data, *rng.sample(AXIOMS, rng.choice([0, 0, 1]))], graph=rng.choice(GRAPHS))
        present = list(store.quads())
        store.delete(rng.sample(present, min(len(present), rng.randint(0, 3))))
        store.commit()
        for name, text in texts.items():
            _agree(store, name, text, seed)
        if folder is not None and rng.random() < 0.5:
            store.close()
            store = connect(folder)
    store.close()
    return len(texts)


def _agree(store: Store, name: str, text: str, seed: int) -> None:
    found, wanted = set(store[name]), set(store.query(text, union=True))
    assert found == wanted, (seed, text, sorted(found - wanted), sorted(wanted - found))
