"""The cache of compiled programs: it gives the same programs as reading them anew, or nothing."""

from __future__ import annotations

import gc
import os
import pickle
import random
import subprocess
import sys
import time
import weakref
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tests.depth import cases
from tests.mixtures import mixture_for
from tests.same_programs import assert_same_drafts, assert_same_programs, change_rules, difference_of
from tidelog.database.database import Database
from tidelog.functions.callables import GivenFunctions
from tidelog.kernels import calling
from tidelog.language.consulted import digest
from tidelog.language.reading import Preprocessing, text_of
from tidelog.rules import automatic
from tidelog.workspace import programs

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(ROOT.glob("examples/constructs/*.dl"))

tidelog.connect().load(".decl warm(x: number)")  # The grammar is in the cache folder, too.


@pytest.fixture(autouse=True)
def folder(program_cache: Path) -> Path:
    return program_cache


def loaded(program: Path | str) -> Database:
    db = tidelog.connect()
    db.load(program)
    return db


def is_found(program: Path | str) -> bool:
    return programs.find(text_of(program), GivenFunctions()) is not None


def test_an_example_from_the_cache_is_the_same() -> None:
    for path in EXAMPLES:
        fresh = loaded(path)
        assert is_found(path)
        assert_same_programs(fresh, loaded(path), path.stem)


@pytest.mark.parametrize("seed", range(cases(12)))
def test_programs_of_all_constructs_mixed_are_the_same(seed: int) -> None:
    text = mixture_for(seed).text()
    fresh = loaded(text)
    assert is_found(text)
    found = loaded(text)
    assert change_rules(fresh, random.Random(seed)) == change_rules(found, random.Random(seed))
    assert_same_drafts(fresh, found)


def test_the_rest_of_a_program_stays_the_same_object_when_a_rule_comes() -> None:
    text = (
        ".decl a(x: number)\n.decl b(x: number)\n.decl c(x: number)\nr1: b(x) :- a(x).\nr2: c(x) :- b(x).\n"
        ".decl p(x: number, y: number)\nr3: p(x, z) :- p(x, y), p(y, z).\n.decl i(x: number) inline\n"
        "r4: i(x) :- a(x).\nr5: c(x) :- i(x), b(x).\n"
    )
    loaded(text)
    db = loaded(text)
    before = db.workspace.draft()
    assert is_found(text)
    db.rules.add("late: c(x) :- a(x), p(x, _).")
    after = db.workspace.draft()
    kept = [id(rule) for rule in after.checked.rules]
    assert all(id(rule) in kept for rule in before.checked.rules)
    nodes = {node.relations: node for node in after.core.nodes}
    assert all(nodes[node.relations] is node for node in before.core.nodes if "c" not in node.relations)
    assert all(any(rule is new for node in after.core.nodes for new in node.rules) for rule in rules_of(before.core))


def rules_of(core: Any) -> list[Any]:
    return [rule for node in core.nodes for rule in node.rules]


def test_errors_of_later_rules_show_the_same_places() -> None:
    text = ".decl a(x: number)\nr1: a(x) :- a(x).\n"
    loaded(text)
    db = loaded(text)
    with pytest.raises(tidelog.ProgramError) as caught:
        db.rules.add("r1: a(1) :- a(2).")
    assert "<text>:2:1" in str(caught.value)
    assert "first used here" in str(caught.value)


def test_an_included_file_counts(tmp_path: Path) -> None:
    main, part = tmp_path / "main.dl", tmp_path / "part.dl"
    main.write_text('#include "part.dl"\n')
    part.write_text(".decl a(x: number)\na(1).\n")
    loaded(main)
    assert is_found(main)
    part.write_text(".decl a(x: number)\na(2).\n")
    assert not is_found(main)
    db = loaded(main)
    db.commit()
    assert set(db["a"]) == {(2,)}
    assert is_found(main)
    part.unlink()
    assert not is_found(main)


def test_a_file_that_the_search_would_find_first_counts(tmp_path: Path) -> None:
    below = tmp_path / "below"
    below.mkdir()
    (tmp_path / "main.dl").write_text('#include "below/first.dl"\n')
    (below / "first.dl").write_text('#include "second.dl"\n')
    (tmp_path / "second.dl").write_text(".decl a(x: number)\n")
    loaded(tmp_path / "main.dl")
    assert is_found(tmp_path / "main.dl")
    (below / "second.dl").write_text(".decl b(x: number)\n")
    assert not is_found(tmp_path / "main.dl")
    assert loaded(tmp_path / "main.dl").relations == ("b",)


@pytest.mark.parametrize(
    "text", ["#define A __TIME__\na(A).", "a(__DATE__).", "#define J(x, y) x##y\na(J(__DA, TE__))."]
)
def test_a_program_with_the_time_in_it_is_not_kept(text: str, folder: Path) -> None:
    loaded(f".decl a(x: symbol)\n#define N 1\n{text}\n")
    assert not folder.exists()


def test_names_of_included_files_follow_the_folder_of_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "main.dl").write_text('#include "part.dl"\n')
    (tmp_path / "part.dl").write_text(".decl a(x: number)\nr1: a(x) :- a(x).\n")
    loaded(tmp_path / "main.dl")
    monkeypatch.chdir(tmp_path)
    span = loaded(tmp_path / "main.dl").program.rules[0].span
    assert span is not None
    assert span.source.name == "part.dl"


@pytest.mark.parametrize("cut", [0, 1, 64, 100, -1, "flip", "foreign"])
def test_a_damaged_file_is_as_good_as_none(cut: int | str, folder: Path) -> None:
    text = ".decl a(x: number)\na(1).\n"
    loaded(text)
    (file,) = folder.iterdir()
    data = file.read_bytes()
    if cut == "flip":
        file.write_bytes(data[:-20] + bytes([data[-20] ^ 1]) + data[-19:])
    elif cut == "foreign":
        file.write_bytes(b"\x80\x05K\x01.")
    elif isinstance(cut, int):
        file.write_bytes(data[:cut])
    assert not is_found(text)
    db = loaded(text)
    db.commit()
    assert set(db["a"]) == {(1,)}
    assert is_found(text)


class Harm:
    """An object whose pickle runs a command."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (self.command,)


def test_a_pickle_with_anything_but_programs_does_nothing(folder: Path, tmp_path: Path) -> None:
    text = ".decl a(x: number)\n"
    loaded(text)
    (file,) = folder.iterdir()
    content = b"{}\n" + pickle.dumps(Harm(f"touch {tmp_path}/harm"))
    file.write_bytes(digest(content).encode() + b"\n" + content)
    assert not is_found(text)
    assert not (tmp_path / "harm").exists()
    pickle.loads(content[3:])
    assert (tmp_path / "harm").exists()


@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_a_folder_that_others_can_write_is_not_read(mode: int, folder: Path) -> None:
    text = ".decl a(x: number)\n"
    loaded(text)
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(mode)
    assert not is_found(text)
    before = [path.stat().st_mtime_ns for path in folder.iterdir()]
    loaded(text)
    assert [path.stat().st_mtime_ns for path in folder.iterdir()] == before


def test_a_link_is_no_folder_of_the_cache(folder: Path, tmp_path: Path) -> None:
    text = ".decl a(x: number)\n"
    loaded(text)
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    assert not is_found(text)


def test_a_cache_that_cannot_be_written_costs_nothing_else(folder: Path) -> None:
    folder.parent.parent.mkdir()
    folder.parent.write_text("a file in the place of the folder")
    db = loaded(".decl a(x: number)\na(1).\n")
    db.commit()
    assert set(db["a"]) == {(1,)}


def test_small_programs_are_not_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder.parent.parent))
    loaded(".decl a(x: number)\na(1).\n")
    assert not folder.exists()
    loaded(".decl a(x: number)\n" + "".join(f"a({i}).\n" for i in range(programs.WORTH)))
    assert not folder.exists()  # Reading facts takes no longer than unpickling them.
    loaded(".decl a(x: number)\n" + "".join(f"a({i}) :- a({i + 1}).\n" for i in range(programs.WORTH)))
    assert len(list(folder.iterdir())) == 1


def test_old_files_go_when_there_are_too_many_bytes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f".decl {name}(x: number)\n" for name in "abc"]
    for age, text in zip((300, 200), texts, strict=False):
        loaded(text)
        newest = max(folder.iterdir(), key=lambda path: path.stat().st_mtime)
        os.utime(newest, (time.time() - age,) * 2)
    size = max(path.stat().st_size for path in folder.iterdir())
    monkeypatch.setattr(programs, "MOST_BYTES", 2 * size + size // 2)
    loaded(texts[2])
    assert [is_found(text) for text in texts] == [False, True, True]
    for path in folder.iterdir():
        os.utime(path, (time.time() - 31 * 24 * 3600,) * 2)
    loaded(texts[0])
    assert [is_found(text) for text in texts] == [True, False, False]


def test_functions_are_those_of_the_database() -> None:
    text = ".functor twice(x: number): number\n.decl a(x: number)\n.decl b(x: number)\na(1).\nb(@twice(x)) :- a(x).\n"
    for factor in (2, 3):
        db = loaded(text)
        db.functor("twice", lambda x, factor=factor: factor * x)
        db.commit()
        assert set(db["b"]) == {(factor,)}
    assert is_found(text)


def test_a_program_from_the_cache_goes_with_its_last_reference() -> None:
    text = ".functor twice(x: number): number\n.decl a(x: number)\na(@twice(x)) :- a(x).\n"
    loaded(text)
    gc.disable()
    try:
        found = programs.find(text_of(text), GivenFunctions())
        assert found is not None
        core = weakref.ref(found.core)
        del found
        assert core() is None
    finally:
        gc.enable()


def test_functions_that_are_there_before_the_program_are_those_of_the_database(folder: Path) -> None:
    text = ".functor twice(x: number): number\n.aggregate most(x: number): number\n"
    text += ".decl a(x: number)\n.decl b(x: number)\na(1).\nb(@twice(x)) :- a(x).\nb(most x : { a(x) }) :- a(_).\n"
    for factor in (2, 3):
        assert is_found(text) == (factor == 3)
        db = tidelog.connect()
        db.functor("twice", lambda x, factor=factor: factor * x)
        db.aggregate("most", 10 * factor, max)
        db.load(text)
        db.commit()
        assert set(db["b"]) == {(factor,), (10 * factor,)}
    (kept,) = folder.iterdir()
    assert b"lambda" not in kept.read_bytes()
    db = tidelog.connect()
    db.import_functions([tidelog.functor("symbol -> symbol", name="twice")(lambda x: x)])
    db.load(text)
    with pytest.raises(tidelog.UsageError, match="E0646"):
        db.commit()


def test_a_store_opens_with_the_program_from_the_cache(folder: Path, tmp_path: Path) -> None:
    text = ".decl a(x: number)\n.decl b(x: number)\nr1: b(x) :- a(x).\n"
    with tidelog.connect(tmp_path / "store") as db:
        db.load(text)
        db.insert("a", [(1,)])
        db.commit()
    for added in (2, 3):
        with tidelog.connect(tmp_path / "store") as db:
            db.insert("a", [(added,)])
            db.commit()
            assert set(db["b"]) == {(x,) for x in range(1, added + 1)}
    with tidelog.connect(tmp_path / "store") as db:
        assert db.opening is not None
        assert db.opening.bootstraps == 0
        db.rules.remove("r1")
        db.commit()
        assert set(db["b"]) == set()
    assert len(list(folder.iterdir())) >= 2


def test_processes_with_other_hashes_share_it(folder: Path, tmp_path: Path) -> None:
    program = tmp_path / "program.dl"
    program.write_text((ROOT / "examples/constructs/components.dl").read_text())
    script = (
        "import sys, tidelog\nfrom tidelog.workspace import programs\nprograms.WORTH = 0\n"
        "db = tidelog.connect()\nfound = db.workspace.read_program(sys.argv[1])\ndb.load(sys.argv[1])\n"
        "print(found.compiled is not None)\ndb.rules.add('.decl late(x: number)\\nlate(1).')\n"
        "print([[node.relations, *map(str, node.rules)] for node in db.workspace.draft().core.nodes])\n"
    )
    answers = []
    for seed in "12":
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, "-c", script, str(program)], capture_output=True, text=True, check=True, env=environment
        )
        answers.append(done.stdout.split("\n", 1))
    assert [answer[0] for answer in answers] == ["False", "True"]
    assert answers[0][1] == answers[1][1]
    assert "precise.enters" in answers[0][1]


# --- forms with demand, for the command line -------------------------------------------------------------------------

DEMANDED = """
.decl e, g(x: number, y: number)
.decl s, q(y: number)
.output q
g(x, x) :- e(x, _).
g(x, y) :- e(a, x), g(a, b), e(b, y).
"""
FORMS = {"constants": ("q(y) :- g(1, y).", None), "sizes": ("q(y) :- s(x), g(x, y).", {"e": 1_000, "s": 3})}


@pytest.mark.parametrize("form", FORMS)
def test_forms_with_demand_are_the_same(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rule, sizes = FORMS[form]
    text = text_of(f"{DEMANDED}{rule}")
    fresh = programs.Demanded(text, GivenFunctions())
    assert (fresh.relations_on_demand(), fresh.relations_on_demand(sizes)) == ({"g"} if sizes is None else set(), {"g"})
    one = tidelog.connect()
    one.load(fresh.form(fresh.relations_on_demand(sizes)))
    assert "magic" in one.program.relations["g"].qualifiers
    monkeypatch.setattr(programs, "parse", None)  # Nothing is read any more.
    known = programs.Demanded(text, GivenFunctions())
    assert (known.relations_on_demand(), known.relations_on_demand(sizes)) == (
        fresh.relations_on_demand(),
        fresh.relations_on_demand(sizes),
    )
    assert not difference_of(fresh.as_written, known.as_written)
    other = tidelog.connect()
    other.load(known.form(known.relations_on_demand(sizes)))
    assert_same_drafts(one, other)
    plain = tidelog.connect()
    plain.load(known.form())
    assert "magic" not in plain.program.relations["g"].qualifiers
    assert is_found(f"{DEMANDED}{rule}")


def test_warnings_are_kept_with_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    text = text_of(f"{DEMANDED}q(y) :- g(1, y), e(z, y).")
    found = programs.Demanded(text, GivenFunctions()).warnings
    assert [(each.code, each.span and each.span.start) for each in found if each.code == "E0292"]
    monkeypatch.setattr(automatic, "warnings", None)  # Nobody looks for them again.
    known = programs.Demanded(text, GivenFunctions()).warnings
    assert list(map(str, known)) == list(map(str, found))


def test_machine_code_is_loaded_at_once_where_python_took_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many facts as Python took long over, or half as many, are too many for it next time."""
    text = text_of(f"{DEMANDED}q(y) :- g(1, y).")

    def stage_with(facts: int, seconds: float) -> int:
        """The stage of a process in which Python would take so long, before the program is evaluated."""
        monkeypatch.setattr(calling, "_pace", calling._Pace())
        program = programs.Demanded(text, GivenFunctions())
        _ = program.as_written
        with program.evaluation_note.record_evaluation(facts):
            found = calling._pace.stage
            calling.expect(int(seconds / calling.A_STEP))
        return found

    assert [stage_with(100, 0.1), stage_with(100, 0.5)] == [calling.PLAIN, calling.PLAIN]
    assert [stage_with(100, 0.0), stage_with(50, 0.0), stage_with(200, 0.0)] == [calling.KEPT] * 3
    assert [stage_with(49, 0.1), stage_with(49, 0.6)] == [calling.PLAIN, calling.PLAIN]  # It took longer with fewer.
    assert [stage_with(25, 0.0), stage_with(24, 0.0)] == [calling.KEPT, calling.PLAIN]


def test_a_program_with_errors_shows_them_each_time() -> None:
    text = text_of(f"{DEMANDED}q(y) :- g(1, z).")
    for _ in range(2):
        with pytest.raises(tidelog.ProgramError, match="E0215"):
            _ = programs.Demanded(text, GivenFunctions()).as_written


def test_options_of_the_preprocessor_count() -> None:
    text = ".decl a(x: number)\n#ifdef N\na(N).\n#else\na(0).\n#endif\n"
    for macros, rows in (((), {(0,)}), (("N=1",), {(1,)}), (("N=2",), {(2,)}), (("N=1",), {(1,)})):
        for _ in range(2):
            db = tidelog.connect()
            given = text_of(text, preprocessing=Preprocessing(macros=macros))
            db.load(programs.Demanded(given, GivenFunctions()).form())
            db.commit()
            assert set(db["a"]) == rows
