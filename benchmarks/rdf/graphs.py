"""The measured triples: an ontology like LUBM's (university.ttl) and the requested amount of data, in a file."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from benchmarks.rules.campus import campuses

ONTOLOGY = Path(__file__).with_name("university.ttl")
CLASS = "http://swat.cse.lehigh.edu/onto/univ-bench.owl#"
DATA = "http://data.example.org/"
_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_LITERALS = frozenset(["name", "emailAddress", "telephone", "researchInterest"])


def written(folder: Path, triples: int) -> Path:
    """Write a file of so many triples, in Turtle that is N-Triples as well, the same for the same number: facts of
    universities, of all properties and classes in proportion."""
    path = folder / f"{triples}.ttl"
    if path.exists():
        return path
    facts = campuses(max(triples, 60_000), seed=1)
    total = sum(map(len, facts.values()))
    with path.open("w") as file:
        for name, table in facts.items():
            rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
            wanted = -(-len(table) * triples // total) if triples < total // 2 else len(table)
            file.writelines(_line(name.removeprefix("src_"), *row) for row in islice(rows, wanted))
    return path


def _line(name: str, subject: str, value: str | None = None) -> str:
    if value is None:
        return f"<{DATA}{subject}> <{_TYPE}> <{CLASS}{name}> .\n"
    term = f'"{value}"' if name in _LITERALS else f"<{DATA}{value}>"
    return f"<{DATA}{subject}> <{CLASS}{name}> {term} .\n"
