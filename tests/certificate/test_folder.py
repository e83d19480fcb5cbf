"""Certificates as folders: what is written is read again, and nothing that is wrong with a folder goes unnoticed."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import parquet

import tidelog
from tests.certificate.alter import assert_saved_whole
from tests.depth import cases
from tests.scripts import Follower, script_for
from tests.suite import FIRST_SEED, loaded, random_cases
from tidelog.errors import TidelogError

PROGRAM = """\
.decl e(x: number, y: number)
.decl t(x: number, y: number)
.decl n(name: symbol, birth: number)
e(1, 2). e(2, 1). e(5, 6).
t(x, y) :- e(x, y).
t(x, z) :- t(x, y), e(y, z).
n(to_string(x), x) :- e(x, y), !t(y, x).
"""


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("certificates") / "sound"
    loaded(PROGRAM).save_certificate(folder)
    return folder


@pytest.fixture
def copy(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "copy"))


def code(folder: Path) -> str:
    """The code with which a certificate is refused; the message must have a hint and begin with a place."""
    with pytest.raises(TidelogError) as caught:
        tidelog.check_certificate(folder)
    (problem, *_) = caught.value.problems
    assert problem.hint
    assert problem.place or problem.span or problem.notes
    assert isinstance(caught.value, tidelog.CertificateRejected) == (problem.code < "E0810")
    return problem.code


# --- what is written is read again ---------------------------------------------------------------------------------


def test_a_folder(sound: Path) -> None:
    tidelog.check_certificate(sound)
    tidelog.check_certificate(str(sound))
    assert sorted(str(path.relative_to(sound)) for path in sound.rglob("*") if path.is_file()) == [
        "facts/number-number.parquet",
        "facts/symbol-number.parquet",
        "manifest.json",
        "program.dl",
        "views/number-number.parquet",
        "views/symbol-number.parquet",
    ]
    assert (sound / "program.dl").read_text() == "".join(
        f"{line}\n"
        for line in (
            ".decl e(x: number, y: number)",
            ".decl t(x: number, y: number)",
            ".decl n(name: symbol, birth: number)",
            "r1: t(x, y) :- e(x, y).",
            "r2: t(x, z) :- t(x, y), e(y, z).",
            "r3: n(to_string(x), x) :- e(x, y), !t(y, x).",
        )
    )
    view = parquet.read_table(sound / "views/symbol-number.parquet").to_pylist()
    assert [{**row, "birth": None} for row in view] == [{"relation": "n", "c0": "5", "c1": 5, "birth": None}]
    facts = parquet.read_table(sound / "facts/number-number.parquet")
    assert sorted(facts["c0"].to_pylist()) == [1, 2, 5]


def test_the_manifest(sound: Path) -> None:
    manifest = json.loads((sound / "manifest.json").read_text())
    assert (manifest["format"], manifest["version"]) == ("tidelog certificate", 2)
    assert manifest["relations"][2] == {
        "name": "n",
        "columns": [
            {"name": "name", "type": "symbol", "kind": "symbol"},
            {"name": "birth", "type": "number", "kind": "number"},
        ],
        "auxiliary": False,
        "stratum": 2,
        "file": "symbol-number",
    }


def test_random_programs_and_scripts(tmp_path: Path) -> None:
    for case in random_cases(cases(20), FIRST_SEED + 7_000_000):
        assert_saved_whole(loaded(case.text, case.facts), tmp_path / str(case.seed))
    for seed in range(FIRST_SEED, FIRST_SEED + cases(12)):
        script = script_for(700_000 + seed)
        follower = Follower(script)
        for epoch in script.epochs:
            follower.follow(epoch)
        assert_saved_whole(follower.db, tmp_path / f"script {seed}")


def test_facts_of_the_text_that_were_retracted_stay_away(tmp_path: Path) -> None:
    db = loaded(PROGRAM)
    db.delete("e", [(5, 6)])
    db.commit()
    assert_saved_whole(db, tmp_path / "certificate")


def test_removed_rules_stay_away(tmp_path: Path) -> None:
    db = loaded(PROGRAM)
    db.rules.remove("r2")
    db.rules.add("r9: t(y, x) :- e(x, y).")
    db.commit()
    assert_saved_whole(db, tmp_path / "certificate")
    assert "r2" not in (tmp_path / "certificate/program.dl").read_text()


def test_pending_changes_are_not_saved(tmp_path: Path) -> None:
    db = loaded(PROGRAM)
    db.insert("e", [(6, 7)])
    db.load(".decl later(x: number)")
    db.save_certificate(tmp_path / "certificate")
    tidelog.check_certificate(tmp_path / "certificate")
    assert "later" not in (tmp_path / "certificate/program.dl").read_text()


def test_an_empty_database(tmp_path: Path) -> None:
    tidelog.connect().save_certificate(tmp_path / "certificate")
    tidelog.check_certificate(tmp_path / "certificate")


def test_relations_of_many_columns_and_long_names(tmp_path: Path) -> None:
    columns = ", ".join(f"a{i}: number" for i in range(30))
    text = (
        f'.decl wide({columns}) wide({", ".join(map(str, range(30)))}). .decl {"n" * 300}(x: symbol) {"n" * 300}("a").'
    )
    assert_saved_whole(loaded(text), tmp_path / "certificate")


def test_records_without_fields(tmp_path: Path) -> None:
    """Parquet has no type for them."""
    text = (
        ".type E = [] .type P = [e: E, n: number] .decl a(x: E) .decl p(x: P) a([]). a(nil). p([[], 1]). p([nil, 2])."
    )
    assert_saved_whole(loaded(text), tmp_path / "certificate")


# --- where it cannot be written --------------------------------------------------------------------------------------


def test_a_folder_that_is_not_empty(sound: Path) -> None:
    with pytest.raises(tidelog.UsageError, match="E0816"):
        loaded(PROGRAM).save_certificate(sound)
    tidelog.check_certificate(sound)


def test_a_folder_that_is_empty(tmp_path: Path) -> None:
    loaded(PROGRAM).save_certificate(tmp_path)
    tidelog.check_certificate(tmp_path)


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("here")
    for path in (tmp_path / "file", tmp_path / "file/below"):
        with pytest.raises(tidelog.UsageError, match="E0816"):
            loaded(PROGRAM).save_certificate(path)


# --- what is wrong is noticed ----------------------------------------------------------------------------------------


def test_every_missing_tuple_is_noticed(sound: Path, tmp_path: Path) -> None:
    for file in sorted(sound.rglob("*.parquet")):
        table = parquet.read_table(file)
        for row in range(table.num_rows):
            folder = shutil.copytree(sound, tmp_path / f"{file.parent.name} {file.stem} {row}")
            rest = pa.concat_tables([table.slice(0, row), table.slice(row + 1)])
            parquet.write_table(rest, folder / file.relative_to(sound))
            assert code(folder) in ("E0801", "E0802", "E0803")


def test_an_added_tuple_is_noticed(copy: Path) -> None:
    file = copy / "views/number-number.parquet"
    table = parquet.read_table(file)
    moved = table.slice(0, 1).set_column(0, "relation", pa.array(["t"]).dictionary_encode())
    moved = moved.set_column(1, "c0", pa.array([77]))
    parquet.write_table(pa.concat_tables([table, moved.cast(table.schema)]), file)
    assert code(copy) in ("E0802", "E0803")


def test_a_tuple_listed_twice_is_one_tuple(copy: Path) -> None:
    file = copy / "views/number-number.parquet"
    table = parquet.read_table(file)
    parquet.write_table(pa.concat_tables([table, table]), file)
    tidelog.check_certificate(copy)


def changed_column(column: str, change: Callable[[pa.ChunkedArray], Any]) -> Callable[[pa.Table], pa.Table]:
    def apply(table: pa.Table) -> pa.Table:
        position = table.column_names.index(column)
        return table.set_column(position, column, change(table.column(column)))

    return apply


WRONG_TABLES: dict[str, Callable[[pa.Table], pa.Table]] = {
    "a column is missing": lambda table: table.drop_columns(["c1"]),
    "a column has another name": lambda table: table.rename_columns(["relation", "x", "c1", "birth"]),
    "a column too many": lambda table: table.append_column("c2", table.column("c1")),
    "numbers are text": changed_column("c0", lambda column: column.cast(pa.string())),
    "numbers are floats": changed_column("c0", lambda column: column.cast(pa.float64())),
    "a value is missing": changed_column("c0", lambda column: pc.if_else(pc.equal(column, 5), None, column)),
    "a birth is missing": changed_column("birth", lambda column: pc.if_else(pc.equal(column, 1), None, column)),
    "births are text": changed_column("birth", lambda column: column.cast(pa.string())),
    "births are short": changed_column("birth", lambda column: column.cast(pa.int32())),
    "another relation": changed_column("relation", lambda column: pa.array(["n"] * len(column))),
    "no relation": changed_column("relation", lambda column: pa.array([None] * len(column), pa.string())),
    "relations are numbers": changed_column("relation", lambda column: pa.array(range(len(column)))),
}


@pytest.mark.parametrize("what", list(WRONG_TABLES))
def test_tables_that_do_not_fit(copy: Path, what: str) -> None:
    file = copy / "views/number-number.parquet"
    parquet.write_table(WRONG_TABLES[what](parquet.read_table(file)), file)
    assert code(copy) == "E0815"


def test_nan_is_refused(tmp_path: Path) -> None:
    loaded(".decl f(x: float) f(1.5). f(-0.0).").save_certificate(tmp_path)
    file = tmp_path / "views/float.parquet"
    table = parquet.read_table(file)
    zero = pc.equal(table["c0"], 0.0)
    parquet.write_table(table.set_column(1, "c0", pc.if_else(zero, -0.0, table["c0"])), file)
    tidelog.check_certificate(tmp_path)
    parquet.write_table(table.set_column(1, "c0", pc.if_else(zero, float("nan"), table["c0"])), file)
    assert code(tmp_path) == "E0815"


def test_every_missing_file_is_noticed(sound: Path, tmp_path: Path) -> None:
    for file in sorted(path for path in sound.rglob("*") if path.is_file()):
        folder = shutil.copytree(sound, tmp_path / file.name / file.parent.name)
        (folder / file.relative_to(sound)).unlink()
        assert code(folder) == {"manifest.json": "E0810", "program.dl": "E0812"}.get(file.name, "E0814")


def test_every_truncation_is_noticed(sound: Path, tmp_path: Path) -> None:
    rng = random.Random(FIRST_SEED)
    for file in sorted(path for path in sound.rglob("*") if path.is_file()):
        whole = file.read_bytes()
        for number, size in enumerate(sorted({0, len(whole) // 2, *rng.choices(range(len(whole) - 1), k=4)})):
            folder = shutil.copytree(sound, tmp_path / file.name / file.parent.name / str(number))
            (folder / file.relative_to(sound)).write_bytes(whole[:size])
            assert code(folder).startswith("E08")


def refusal(folder: Path) -> str | None:
    """The code with which a certificate is refused, if it is."""
    try:
        tidelog.check_certificate(folder)
    except TidelogError as error:
        return error.code
    return None


def test_flipped_bits_do_no_harm(sound: Path, tmp_path: Path) -> None:
    """Whatever the file then holds is judged; checksums notice most of it earlier."""
    rng = random.Random(FIRST_SEED)
    file = sound / "views/number-number.parquet"
    codes = []
    for number in range(40):
        data = bytearray(file.read_bytes())
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        folder = shutil.copytree(sound, tmp_path / str(number))
        (folder / file.relative_to(sound)).write_bytes(data)
        codes.append(refusal(folder))
        if codes[-1] is None:
            found = parquet.read_table(folder / file.relative_to(sound))
            assert found.to_pylist() == parquet.read_table(file).to_pylist()
    assert {code[:3] for code in codes if code} == {"E08"}


def test_the_checksum_of_a_page_notices_another_number(copy: Path) -> None:
    """In a page that is not compressed any flipped bit leaves numbers: the file is damaged, the views are not wrong."""
    file = copy / "views/number-number.parquet"
    table = parquet.read_table(file)
    plain: dict[str, Any] = {"compression": "none", "use_dictionary": ["relation"], "write_statistics": False}
    parquet.write_table(table, file, **plain, write_page_checksum=True)
    tidelog.check_certificate(copy)
    data = bytearray(file.read_bytes())
    data[data.index((5).to_bytes(8, "little"))] ^= 2
    file.write_bytes(data)
    assert code(copy) == "E0814"


@pytest.mark.parametrize("part", ["views", "facts"])
def test_a_folder_inside_is_no_link(copy: Path, tmp_path: Path, part: str) -> None:
    (copy / part).rename(tmp_path / "elsewhere")
    (copy / part).symlink_to(tmp_path / "elsewhere")
    assert code(copy) == "E0817"


def test_no_certificate(tmp_path: Path) -> None:
    assert code(tmp_path) == "E0810"
    assert code(tmp_path / "nowhere") == "E0810"
    (tmp_path / "file").write_text("here")
    assert code(tmp_path / "file") == "E0810"


def manifests() -> Iterator[tuple[str, Callable[[Any], Any]]]:
    yield "a list", lambda manifest: [manifest]
    yield "another format", lambda manifest: {**manifest, "format": "else"}
    yield "a version that can be forged", lambda manifest: {**manifest, "version": 1}
    yield "a later version", lambda manifest: {**manifest, "version": 3}
    yield "no relations", lambda manifest: {**manifest, "relations": None}


@pytest.mark.parametrize(("what", "change"), list(manifests()), ids=lambda part: part if isinstance(part, str) else "")
def test_manifests_that_are_wrong(copy: Path, what: str, change: Callable[[Any], Any]) -> None:
    file = copy / "manifest.json"
    file.write_text(json.dumps(change(json.loads(file.read_text()))))
    assert code(copy) == "E0811"


@pytest.mark.parametrize("text", ["", "{", "\x00", "[" * 100_000])
def test_a_manifest_that_is_no_json(copy: Path, text: str) -> None:
    (copy / "manifest.json").write_text(text)
    assert code(copy) == "E0811"


def test_a_manifest_that_is_no_text(copy: Path) -> None:
    (copy / "manifest.json").write_bytes(b"\xff\xfe")
    assert code(copy) == "E0811"


# --- other programs --------------------------------------------------------------------------------------------------


def edited(folder: Path, old: str, new: str) -> str:
    file = folder / "program.dl"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    return code(folder)


def test_a_program_with_errors(copy: Path) -> None:
    assert edited(copy, "r1: t(x, y)", "r1: t(x, q)") == "E0812"
    with pytest.raises(tidelog.DataError, match=r"program.dl:4:10: error\[E0215\]"):
        tidelog.check_certificate(copy)


def test_a_program_of_other_relations(copy: Path) -> None:
    assert edited(copy, ".decl e(x: number, y: number)", ".decl e(x: number, y: number)\n.decl f(x: number)") == "E0813"


def test_a_program_of_other_types(copy: Path) -> None:
    assert edited(copy, "birth: number", "year: number") == "E0813"


def test_a_program_of_other_rules(copy: Path) -> None:
    assert edited(copy, "r2: t(x, z) :- t(x, y), e(y, z).", "r2: t(x, z) :- t(y, x), e(y, z).") == "E0802"


def test_a_program_with_a_rule_more(copy: Path) -> None:
    assert edited(copy, "r1: ", "r0: t(x, x) :- t(x, _).\nr1: ") == "E0802"


def test_a_program_with_a_rule_less(copy: Path) -> None:
    assert edited(copy, "r2: t(x, z) :- t(x, y), e(y, z).\n", "") == "E0803"


def test_a_program_with_negation_through_recursion(copy: Path) -> None:
    assert edited(copy, "r1: t(x, y) :- e(x, y).", "r1: t(x, y) :- e(x, y), !n(_, x).") == "E0804"


def test_a_program_with_facts_of_its_own(copy: Path) -> None:
    """Facts are data of the certificate, so that nobody has to wonder whether those of a text count as well."""
    assert edited(copy, "r1: ", "e(5, 6).\nr1: ") == "E0812"
