"""Lines of N-Triples and N-Quads, cut in parts, against the ordinary parser; files that come again; packed files."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pyoxigraph
import pytest

from tests.depth import cases
from tests.rdf.stores import stored
from tests.suite import FIRST_SEED
from tidelog.errors import DataError
from tidelog.rdf import connect, lines
from tidelog.rdf.documents import Document
from tidelog.rdf.sparql.evaluation import symbol_of

XSD = "http://www.w3.org/2001/XMLSchema#"
SUBJECTS = ["<http://e.org/a>", "_:b0", "_:b.1", "<urn:x:1>", "<http://é.org/b>", "<http://e.org/\\u00E9>"]
OBJECTS = [
    *SUBJECTS, '"plain"', '"a b <c> ."', r'"\"\\\n"', r'"tab\t"', r'"\u00e9"', '"é"', '"x"@en', '"x"@en-US', '""',
    '"x"@EN--ltr', f'"1"^^<{XSD}integer>', f'"x"^^<{XSD}string>', f'"x"^^<{XSD}integer>',
    "<<( <http://e.org/a> <http://e.org/p> _:b0 )>>",
]  # fmt: skip
SPACES = [" ", " ", " ", " ", "\t", "  ", ""]
OTHERS = ["", "# a comment", "  ", "\t# another . "]


def some_lines(rng: random.Random, oddness: float) -> str:
    """Lines of N-Triples, some of which are not in the canonical form."""
    found = []
    for _ in range(rng.randint(1, 40)):
        space = rng.choice(SPACES) if rng.random() < oddness else " "
        kinds = (SUBJECTS[:2], OBJECTS[:8]) if rng.random() > oddness else (SUBJECTS, OBJECTS)
        subject, value = map(rng.choice, kinds)
        found.append(f"{subject}{space}<http://e.org/p>{space}{value}{space}.{rng.choice(['', ' # c']) * (not space)}")
        if rng.random() < oddness:
            found.append(rng.choice(OTHERS))
    return rng.choice(["\n", "\n", "\r\n"]).join(found) + rng.choice(["", "\n"])


def terms(text: str, format: str) -> list[tuple[str, str, str]]:
    """The triples of a text, in which blank nodes keep their names."""
    columns = Document(text.encode(), "<text>", format, None, None, keep=True).columns()
    rows = zip(columns.subjects.to_pylist(), columns.predicates.to_pylist(), columns.objects.to_pylist(), strict=True)
    return sorted(rows)


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + cases(120)))
def test_parts_of_lines_are_read_as_by_the_ordinary_parser(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    monkeypatch.setattr(lines, "_PART", rng.choice([60, 300, 1 << 24]))
    text = some_lines(rng, rng.choice([0.0, 0.2, 0.7]))
    assert terms(text, "N_TRIPLES") == terms(text, "TURTLE")


GRAPHS = [*SUBJECTS, "", ""]


def quads(text: str, format: str) -> list[tuple[str, ...]]:
    """The quads of a text, in which blank nodes keep their names."""
    columns = Document(text.encode(), "<text>", format, None, None, keep=True).columns()
    parts = [each.to_pylist() for each in (columns.subjects, columns.predicates, columns.objects)]
    graphs = [""] * len(columns) if columns.graphs is None else columns.graphs.to_pylist()
    return sorted(zip(*parts, graphs, strict=True))


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + cases(120)))
def test_parts_of_quads_are_read_as_by_the_ordinary_parser(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    monkeypatch.setattr(lines, "_PART", rng.choice([60, 300, 1 << 24]))
    oddness = rng.choice([0.0, 0.2, 0.7])
    of_triples = [line for line in some_lines(rng, oddness).splitlines() if " ." in line and "#" not in line]
    found = [line.rpartition(".")[0].rstrip() for line in of_triples]
    text = "".join(f"{line} {graph}{' ' * bool(graph)}.\n" for line in found for graph in [rng.choice(GRAPHS)])
    parsed = pyoxigraph.parse(text, pyoxigraph.RdfFormat.N_QUADS)
    assert quads(text, "N_QUADS") == sorted(tuple(map(symbol_of, (*quad.triple, quad.graph_name))) for quad in parsed)


def test_the_graph_of_inferred_triples_is_left_out() -> None:
    text = '<a:s> <a:p> "<x> ." <urn:tidelog:inferred> .\n<a:s> <a:p> "a <urn:tidelog:inferred>" .\n'
    expected = [("a:s", "a:p", '"a <urn:tidelog:inferred>"', "")]
    assert quads(text, "N_QUADS") == quads(f"# odd\n{text}", "N_QUADS") == expected
    trig = '<urn:tidelog:inferred> { <a:s> <a:p> 1 } <a:s> <a:p> "a <urn:tidelog:inferred>" .'
    assert quads(trig, "TRIG") == expected
    assert quads("", "N_QUADS") == quads("", "TRIG") == []


WRONG = [
    "<http://e.org/a> <http://e.org/p> .",
    "<http://e.org/a> <http://e.org/p>\n<http://e.org/b> .",
    '<a:b> <a:c> "x',
    "<http://e.org/a> _:b <http://e.org/b> .",
    "<a> <b:c> <d:e> .",
    "\ufffe\x00 <",
]


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_line_has_its_place_in_the_whole_text(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_PART", 100)
    good = "".join(f'<http://e.org/a> <http://e.org/p> "{i}" .\n' for i in range(9))
    found = []
    for format in ("N_TRIPLES", "N_QUADS"):
        with pytest.raises(DataError) as caught:
            terms(f"{good}# a comment\n{wrong}\n{good}", format)
        found.append((caught.value.problems[0].code, caught.value.problems[0].message, caught.value.problems[0].place))
    assert found[0] == found[1]
    assert str(found[0][2]).startswith(("<text>:11:", "<text>:12:"))


TURTLE = "@prefix : <http://e.org/> .\n:a :p [ :q ( 1 2 ) ] , _:x . _:x :r [] ."


def test_a_file_adds_nothing_when_it_comes_again(tmp_path: Path) -> None:
    """Its blank nodes have names by its content: also those of other stores, and of a packed copy."""
    path, packed = tmp_path / "a.ttl", tmp_path / "b.ttl.gz"
    path.write_text(TURTLE)
    packed.write_bytes(gzip.compress(TURTLE.encode()))
    store, other = connect(), connect()
    for each, file in ((store, path), (store, path), (store, str(packed)), (other, path)):
        each.insert(file)
        each.commit()
    assert len(store) == 8
    assert set(store) == set(other)
    path.write_text(f"{TURTLE} ")
    store.insert(path)
    assert len(store.commit().inserted) == 8  # of another version all blank nodes are others
    store.insert(TURTLE)
    store.insert(TURTLE)
    assert len(store.commit().inserted) == 16  # and a text has new ones each time
    store.replace(path, "http://e.org/g")
    store.commit()
    store.replace(path, "http://e.org/g")
    assert not store.commit().inserted


def test_packed_files_of_several_members_and_bombs(tmp_path: Path) -> None:
    path = tmp_path / "a.nt.gz"
    path.write_bytes(gzip.compress(b"<a:b> <a:c> <a:d> .\n") + gzip.compress(b"<a:b> <a:c> <a:e> .\n") + b"\0\0")
    store = stored(path)
    assert len(store) == 2
    with gzip.open(path, "wb", 9) as file:
        for _ in range(280):
            file.write(b"# " * (1 << 19))
    with pytest.raises(DataError, match="unpacks to more than 100 times") as caught:
        store.insert(path)
    assert caught.value.problems[0].code == "E0411"
    assert not store.has_pending
