"""`tidelog rdf`: a server in a process of its own, validation, and wrong arguments."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.cli.conftest import Run
from tests.texts import cases_of, python
from tidelog.rdf import TYPE, connect

PETS = """@prefix : <http://example.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Dog rdfs:subClassOf :Animal . :rex a :Dog ."""
ANIMALS = "SELECT ?x { ?x a <http://example.org/Animal> }"


def test_a_server_answers_until_it_is_interrupted(folder: Path) -> None:
    (folder / "pets.ttl").write_text(PETS)
    (folder / "rules.dl").write_text("@prefix : <http://example.org/> .\n:Animal(x) :- :Cat(x).")
    (folder / "more.nt").write_text(f"<http://example.org/tom> <{TYPE}> <http://example.org/Cat> .")
    (folder / "animals.rq").write_text(ANIMALS)
    (folder / "tokens").write_text("read:secret\n\n")
    command = [sys.executable, "-m", "tidelog", "rdf", "serve", "pets.ttl", "more.nt", "--rules", "rdfs", "--rules",
               "rules.dl", "--view", "animals=animals.rq", "--port", "0", "--token-file", "tokens"]  # fmt: skip
    server = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        line = server.stdout.readline()
        assert line.startswith("5 triples at http://127.0.0.1:")
        address = line.split()[3].rstrip(";")
        request = urllib.request.Request(f"{address}?query={quote(ANIMALS)}", headers={"Accept": "text/csv"})
        request.add_header("Authorization", "Bearer secret")
        with urllib.request.urlopen(request, timeout=60) as response:
            assert sorted(response.read().decode().split()) == ["http://example.org/rex", "http://example.org/tom", "x"]
        request = urllib.request.Request(address.replace("/sparql", "/views/animals/changes"))
        request.add_header("Authorization", "Bearer secret")
        with urllib.request.urlopen(request, timeout=60) as response:
            assert response.readline() == b"event: rows\n"
            assert response.readline().startswith(b"id: ")
            assert b"http://example.org/rex" in response.readline()
    finally:
        server.send_signal(signal.SIGINT)
        _, errors = server.communicate(timeout=60)
    assert server.returncode == 0
    assert "Traceback" not in errors


@pytest.mark.deep
def test_a_server_over_a_store_keeps_updates(folder: Path, tidelog: Run) -> None:
    (folder / "pets.ttl").write_text(PETS)
    (folder / "animals.rq").write_text(ANIMALS)
    command = [sys.executable, "-m", "tidelog", "rdf", "serve", "kg.tide"]
    options = ["--port", "0", "--token", "write:secret", "--view", "animals=animals.rq"]
    for more, update, shown in (
        (["pets.ttl", "--rules", "rdfs"], "INSERT DATA { <http://example.org/tom> a <http://example.org/Dog> }", "3"),
        ([], "DELETE DATA { <http://example.org/rex> a <http://example.org/Dog> }", "5"),
    ):
        server = subprocess.Popen([*command, *more, *options], cwd=folder, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            line = server.stdout.readline()
            assert line.startswith(f"{shown} triples at"), line
            body = f"update={quote(update)}".encode()
            request = urllib.request.Request(line.split()[3].rstrip(";").replace("/sparql", "/update"), data=body)
            request.add_header("Authorization", "Bearer secret")
            with urllib.request.urlopen(request, timeout=60) as response:
                assert response.status in (200, 204)
        finally:
            server.send_signal(signal.SIGINT)
            server.communicate(timeout=60)
    with connect(folder / "kg.tide") as store:
        assert set(store["animals"]) == {("http://example.org/tom",)}
    outcome = tidelog("check", "kg.tide")
    assert (outcome.code, "the views follow" in outcome.out) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "code", "status"), cases_of(__file__, "wrong arguments are named", python, str, int)
)
def test_wrong_arguments_are_named(tidelog: Run, arguments: list[str], code: str, status: int) -> None:
    outcome = tidelog("rdf", "serve", "--port", "0", *arguments)
    assert (outcome.code, f"error[{code}]" in outcome.err) == (status, True), outcome.err


def test_validate_prints_violations(tidelog: Run, folder: Path) -> None:
    prefixes = "@prefix : <http://example.org/> . @prefix sh: <http://www.w3.org/ns/shacl#> ."
    (folder / "pets.ttl").write_text(PETS)
    (folder / "more.ttl").write_text(f'{prefixes} :tom a :Animal ; :name "Tom" .')
    (folder / "shapes.ttl").write_text(f"{prefixes} :S sh:targetClass :Animal ; sh:path :name ; sh:minCount 1 .")
    outcome = tidelog("rdf", "validate", "pets.ttl", "more.ttl", "shapes.ttl")
    line = "http://example.org/rex http://example.org/name: there are fewer values than 1 (MinCountConstraintComponent)"
    assert (outcome.code, outcome.out.splitlines()) == (1, [line, "1 violation"])
    outcome = tidelog("rdf", "validate", "pets.ttl", "shapes.ttl", "--format", "json")
    (result,) = json.loads(outcome.out)
    assert (outcome.code, result["focus_node"], result["value"]) == (1, "http://example.org/rex", "")
    assert "sh:conforms false" in tidelog("rdf", "validate", "pets.ttl", "shapes.ttl", "--format", "turtle").out
    outcome = tidelog("rdf", "validate", "more.ttl", "shapes.ttl")
    assert (outcome.code, outcome.out) == (0, "conforms\n")
    (folder / "odd.ttl").write_text(f"{prefixes} :S sh:targetClass :Animal ; sh:js [ ] ; sh:shape :T .")
    outcome = tidelog("rdf", "validate", "more.ttl", "odd.ttl")
    assert (outcome.code, outcome.out, outcome.err.count("warning[E0659]")) == (0, "conforms\n", 2)
    outcome = tidelog("rdf", "validate", "more.ttl", "odd.ttl", "--strict")
    assert (outcome.code, "error[E0674]" in outcome.err) == (1, True), outcome.err
    outcome = tidelog("rdf", "validate", "shapes.ttl", "more.ttl")
    assert (outcome.code, "error[E0674]" in outcome.err) == (1, True), outcome.err


def test_validate_each_file_alone(tidelog: Run, folder: Path) -> None:
    prefixes = "@prefix : <http://example.org/> . @prefix sh: <http://www.w3.org/ns/shacl#> ."
    files = {
        "one.ttl": ':a a :K ; :p [ :q 1 ] . :b :p "B" .',
        "two.ttl": ':b a :K . :a :p "A" .',
        "three.ttl": ':a a :K ; :p "A" . :x :p 5 .',
        "shapes.ttl": ":S sh:targetClass :K ; sh:targetNode :x ; sh:path :p ; sh:minCount 1 .",
    }
    for name, text in files.items():
        (folder / name).write_text(f"{prefixes} {text}")
    outcome = tidelog("rdf", "validate", "--each", *files)
    text = "http://example.org/p: there are fewer values than 1 (MinCountConstraintComponent)"
    assert (outcome.code, outcome.out.splitlines()) == (
        1,
        [
            f"one.ttl: http://example.org/x {text}",
            "one.ttl: 1 violation",
            f"two.ttl: http://example.org/b {text}",
            f"two.ttl: http://example.org/x {text}",
            "two.ttl: 2 violations",
            "three.ttl: conforms",
        ],
    )
    outcome = tidelog("rdf", "validate", "--each", "--format", "json", "three.ttl", "two.ttl", "shapes.ttl")
    assert {name: len(found) for name, found in json.loads(outcome.out).items()} == {"three.ttl": 0, "two.ttl": 2}
    outcome = tidelog("rdf", "validate", "--each", "three.ttl", "shapes.ttl")
    assert (outcome.code, outcome.out) == (0, "three.ttl: conforms\n")
    outcome = tidelog("rdf", "validate", "--each", "--format", "turtle", "three.ttl", "shapes.ttl")
    assert (outcome.code, "error[E0603]" in outcome.err) == (2, True), outcome.err


CLASHES = """@prefix : <http://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
:A owl:disjointWith :B . :x a :A , :B ."""


def test_inconsistencies_are_printed_with_their_proofs(tidelog: Run, folder: Path) -> None:
    (folder / "clashes.ttl").write_text(CLASHES)
    outcome = tidelog("rdf", "inconsistencies", "clashes.ttl", "--rules", "owl-rl")
    assert (outcome.code, outcome.out.splitlines()) == (
        1,
        [
            "inconsistent: <http://example.org/x>, <http://example.org/A>, <http://example.org/B>   [cax-dw]",
            "├─ <http://example.org/x> a <http://example.org/A>   [fact]",
            "├─ <http://example.org/x> a <http://example.org/B>   [fact]",
            "└─ <http://example.org/A> owl:disjointWith <http://example.org/B>   [fact]",
            "1 inconsistency",
        ],
    )
    with connect(folder / "clashes.tide", rules="owl-rl") as store:
        store.insert(folder / "clashes.ttl")
        store.commit()
    outcome = tidelog("rdf", "inconsistencies", "clashes.tide", "--format", "json")
    (found,) = json.loads(outcome.out)
    assert (outcome.code, found["rule"], len(found["triples"])) == (1, "cax-dw", 3)
    (folder / "pets.ttl").write_text(PETS)
    outcome = tidelog("rdf", "inconsistencies", "pets.ttl")
    assert (outcome.code, outcome.out) == (0, "0 inconsistencies\n")
    for data, code in ((["none.tide"], "E0654"), (["clashes.tide", "pets.ttl"], "E0603")):
        outcome = tidelog("rdf", "inconsistencies", *data)
        assert (outcome.code, f"error[{code}]" in outcome.err) == (2, True), outcome.err
    assert not (folder / "none.tide").exists()


def test_validate_takes_a_store_and_leaves_it_as_it_is(tidelog: Run, folder: Path) -> None:
    prefixes = "@prefix : <http://example.org/> . @prefix sh: <http://www.w3.org/ns/shacl#> ."
    (folder / "pets.ttl").write_text(PETS)
    (folder / "shapes.ttl").write_text(f"{prefixes} :S sh:targetClass :Animal ; sh:path :name ; sh:minCount 1 .")
    with connect(folder / "pets.tide", rules="rdfs") as store:
        store.insert(folder / "pets.ttl")
        store.shapes(f"{prefixes} :T sh:targetClass :Animal ; sh:path :age ; sh:minCount 2 .")
        store.commit()
        (own,) = store.validate()
    outcome = tidelog("rdf", "validate", "pets.tide", "shapes.ttl")
    line = "http://example.org/rex http://example.org/name: there are fewer values than 1 (MinCountConstraintComponent)"
    assert (outcome.code, outcome.out.splitlines()) == (1, [line, "1 violation"])
    outcome = tidelog("rdf", "validate", "pets.tide")
    assert (outcome.code, outcome.out.splitlines()) == (1, [str(own), "1 violation"])
    with connect(folder / "pets.tide") as store:
        assert list(store.validate()) == [own]
    for data, code in ((["none.tide", "shapes.ttl"], "E0654"), (["shapes.ttl"], "E0603")):
        outcome = tidelog("rdf", "validate", *data)
        assert (outcome.code, f"error[{code}]" in outcome.err) == (2, True), outcome.err
