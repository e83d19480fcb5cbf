"""No forgery is accepted: a folder that was changed in any of some thousand ways is rejected as what it is, or its
views still follow from its facts and its program.

The short form takes every kind of change in turn, `tests/fuzz/certificate.py` all of them and combinations.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy
import pytest
from pyarrow import parquet

import tidelog
from tests.certificate import forged_tables, forgeries
from tests.certificate.forged_tables import of_tables
from tests.certificate.forgeries import COUNTING, EITHER, EVERYTHING, FEW, SORTS, all_forgeries, of_files
from tests.certificate.forgery import Forgery
from tests.depth import cases, stride
from tests.suite import FIRST_SEED, compiled, golden_programs, loaded
from tidelog.certificate import certificate_of, load, program_text, save
from tidelog.errors import CODES, CertificateRejected, DataError
from tidelog.io.relation import Relation, WordRows
from tidelog.limits.watch import Watch
from tidelog.maintain.protocol import EpochOptions, RowChange

EVERY = stride(0.5)
"""Of the forgeries of the short form, one in so many is tried: all of them from a depth of 0.5 on."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("forgeries") / "sound"
    loaded(EVERYTHING).save_certificate(folder)
    tidelog.check_certificate(folder)
    return folder


def outcome(forgery: Forgery, sound: Path, place: Path) -> str | None:
    """The code with which a forged copy of a certificate is rejected, None if it is accepted and right."""
    folder = place / "a" / "forged"
    shutil.rmtree(place / "a", ignore_errors=True)
    shutil.copytree(sound, folder)
    forgery.change(folder)
    try:
        tidelog.check_certificate(folder, timeout=60)
    except (CertificateRejected, DataError) as error:
        str(error).encode()  # so that it can be shown
        code = error.code
    else:
        assert is_right(folder), forgery
        return None
    assert code.startswith("E08"), forgery
    return code


def is_right(folder: Path) -> bool:
    """Return True if the views of a certificate are those of its program over its facts."""
    certificate = load(folder)

    def rows(name: str, words: Any) -> frozenset[Any]:
        columns = certificate.program.relations[name].columns
        return frozenset(Relation(name, WordRows(columns, certificate.dictionary, words)))

    facts = {name: rows(name, certificate.facts(name)) for name in certificate.declared_relations}
    views = evaluated((folder / "program.dl").read_text(), tuple(facts.items()))
    return all(rows(name, certificate.view(name)[0]) == views[name] for name in certificate.declared_relations)


@lru_cache(8)
def evaluated(program: str, facts: tuple[tuple[str, frozenset[Any]], ...]) -> dict[str, frozenset[Any]]:
    """Return the views of a program over facts. Most forgeries that are accepted have the same."""
    db = tidelog.connect()
    db.rules.add(program)
    for name, rows in facts:
        db.insert(name, rows)
    db.commit()
    return {name: frozenset(db[name]) for name, _ in facts}


def chosen(sound: Path, few: Path) -> Iterator[tuple[Path, Forgery]]:
    """The forgeries of the short form: all numbers and booleans of the manifest, one of each other way to forge
    something, and one of each thing that is forged. Ways to forge a file or a table are tried with `few` of them."""
    ways: set[str] = set()
    for folder, each in ((few, (*of_files(few), *of_tables(few))), (sound, all_forgeries(sound))):
        things: Counter[str] = Counter()
        for forgery in each:
            is_plain = forgery.covers in ("relations.stratum", "relations.auxiliary")
            if forgery.what not in ways or things[forgery.covers] < cases(1) or is_plain:
                yield folder, forgery
                things[forgery.covers] += 1
                ways.add(forgery.what)


@pytest.fixture(scope="module")
def outcomes(sound: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str | None]:
    place = tmp_path_factory.mktemp("forged")
    few = place / "few"
    loaded(FEW).save_certificate(few)
    tidelog.check_certificate(few)
    tried = islice(chosen(sound, few), FIRST_SEED % EVERY, None, EVERY)
    return {f"{folder.name}: {forgery}": outcome(forgery, folder, place) for folder, forgery in tried}


def test_no_forgery_is_accepted(outcomes: dict[str, str | None]) -> None:
    assert len(outcomes) > 300 // EVERY
    assert sum(code is None for code in outcomes.values()) < 50


def test_every_code_is_met(outcomes: dict[str, str | None]) -> None:
    """What no forgery meets might as well not be looked at. Bombs are in test_bounds.py, hidden tuples in
    tests/maintain/test_selections.py, numbers of counters in test_conditions.py, proofs in tests/explain."""
    wanted = {code for code in CODES if code.startswith("E08")} - {"E0805", "E0806", "E0816", "E0818", "E0820"}
    found = set(outcomes.values()) - {None}
    assert found <= wanted
    assert EVERY > 1 or found == wanted


BELONGING = ("is a link", "is a pipe", "has a folder in it", "has a hidden file", "has a copy of a file", "a file more")


@pytest.mark.parametrize("what", BELONGING)
def test_what_does_not_belong_is_rejected_although_nobody_reads_it(what: str, sound: Path, tmp_path: Path) -> None:
    found = [forgery for forgery in all_forgeries(sound) if forgery.what == what]
    assert found
    for forgery in found:
        expected = {"E0810", "E0817"} if forgery.where == "manifest.json" else {"E0817"}
        assert outcome(forgery, sound, tmp_path) in expected, forgery


# --- what has to be covered ------------------------------------------------------------------------------------------


def test_everything_that_a_certificate_has_is_forged(sound: Path) -> None:
    """Who adds a file, a field, a column or a statement to certificates adds forgeries of it."""
    covered = {forgery.covers for forgery in all_forgeries(sound)}
    assert set(parts_of(sound)) <= covered


def test_every_change_of_a_program_changes_it(sound: Path) -> None:
    changed = {forgery.what for forgery in all_forgeries(sound)}
    assert {*forgeries.PROGRAMS, *forgeries.RELATIONS, *forged_tables.TABLES, *forged_tables.WRITTEN} <= changed


def parts_of(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*"):
        yield forgeries.kind_of_file(path.relative_to(folder))
        if path.suffix == ".parquet":
            schema = parquet.read_schema(path)
            for field in schema:
                yield f"{path.parent.name}.{field.name[0] if field.name[0] == 'c' else field.name}.{field.type}"
    for way in forgeries.fields_of(json.loads((folder / "manifest.json").read_text())):
        yield forgeries.field_name(way)
    yield from map(forgeries.kind_of_statement, (folder / "program.dl").read_text().splitlines())


def test_every_sort_of_intermediate_result_is_forged() -> None:
    """Who rewrites rules with relations of a new sort adds the sort to SORTS, with a program that has it."""
    met = {sort for golden in golden_programs() for sort in sorts_in(golden.text)}
    # A fact of `#all.d`, the candidates of `d`, is a fact of `d`, and so is one of `#facts.d`.
    found = met | sorts_in(EVERYTHING) | sorts_in(EITHER) | sorts_in(COUNTING)
    assert found - {"#all", "#facts"} == SORTS.keys()
    assert all(sort in sorts_in(text) for sort, text in SORTS.items())


def sorts_in(text: str) -> set[str]:
    return {name.partition(".")[0] for name, info in compiled(text).relations.items() if info.auxiliary}


# --- facts of intermediate results -----------------------------------------------------------------------------------


@pytest.mark.parametrize("sort", SORTS)
def test_facts_of_intermediate_results(sort: str, tmp_path: Path) -> None:
    """The engine evaluates the program over a fact of an intermediate result: the views are closed, founded on that
    fact, and have births. The forger saves them, with the fact and without."""
    db = loaded(SORTS[sort])
    engine = db.engine
    columns = {name: info.columns for name, info in engine.program.relations.items() if name.startswith(f"{sort}.")}
    name = next(name for name in columns if columns[name])
    row = numpy.array([[new_word(column.kind, db) for column in columns[name]]], numpy.int64)
    engine.epoch(engine.program, {name: RowChange(row, row[:0])}, Watch(), EpochOptions())
    if sort in ("#aggregate", "#best", "#counter"):  # the engine knows what it derives from, and nothing else
        engine.views[name].insert(row)
    assert "E0803" in rejected(db.check)
    folder = tmp_path / "forged"
    save(certificate_of(engine, db.workspace.committed.checked), program_text(db.workspace.committed.programs), folder)
    assert "E0803" in rejected(partial(tidelog.check_certificate, folder))
    stated_in(folder, name)
    assert rejected(partial(tidelog.check_certificate, folder)) in ({"E0815"}, {"E0817"})


def rejected(check: Callable[[], object]) -> set[str]:
    with pytest.raises((CertificateRejected, DataError)) as caught:
        check()
    return {problem.code for problem in caught.value.problems}


def new_word(kind: str, db: tidelog.Database) -> int:
    """The word of a value that occurs nowhere."""
    values: dict[str, Any] = {"number": 4711, "unsigned": 4711, "float": 47.11, "symbol": "new", "Pair": (47, "new")}
    return db.dictionary.encode(values[kind], kind)


def stated_in(folder: Path, name: str) -> None:
    """Make the tuples of a relation facts."""
    file = next(
        entry["file"]
        for entry in json.loads((folder / "manifest.json").read_text())["relations"]
        if entry["name"] == name
    )
    view = parquet.read_table(folder / "views" / f"{file}.parquet").drop_columns(["birth"])
    parquet.write_table(view, folder / "facts" / f"{file}.parquet")
