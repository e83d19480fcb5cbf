"""The text that the extracted checker reads, and the corruptions that it has to find (proofs/)."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

import tidelog
from proofs.corruptions import CORRUPTIONS, FORGERIES
from proofs.export import covered, main, text_of
from tests.suite import compiled, loaded
from tidelog.certificate import Certificate, certificate_of, check
from tidelog.errors import CertificateRejected

PROOFS = Path(__file__).parents[2] / "proofs"
PATHS = """
.decl edge(x: symbol, y: symbol)
.decl path(x: symbol, y: symbol)
.decl end(x: symbol)
path(x, y) :- edge(x, y).
path(x, z) :- path(y, z), edge(x, y), x != "c".
end(y) :- path(_, y), !edge(y, "b"), "a" < y.
"""
EDGES = {"edge": [("b", "c"), ("a", "b"), ("a", "")]}


def certificate(text: str = PATHS, facts: object = EDGES) -> Certificate:
    return _certificate(loaded(text, facts))  # type: ignore[arg-type]


def _certificate(db: tidelog.Database) -> Certificate:
    return certificate_of(db.engine, db.workspace.committed.checked)


def test_rules_facts_and_tuples_are_lines_and_symbols_are_numbered_in_their_order() -> None:
    lines = text_of(certificate()).splitlines()
    assert [line for line in lines if not line.startswith(("fact", "tuple"))] == [
        "declared 0 0 edge",
        "declared 1 1 path",
        "declared 2 2 end",
        "rule r1",
        "head 1 x0 x1",
        "body 0 x0 x1",
        "rule r2",
        "head 1 x0 x1",
        "body 1 x2 x1",
        "body 0 x0 x2",
        "test != x0 3",
        "rule r3",
        "head 2 x0",
        "body 1 x1 x0",
        "not 0 x0 2",
        "test < 1 x0",
    ]
    assert sorted(line for line in lines if line.startswith("fact")) == ["fact 0 1 0", "fact 0 1 2", "fact 0 2 3"]
    paths = {line.split(" ", 2)[2] for line in lines if line.startswith("tuple")}
    assert paths == {"0 1 0", "0 1 2", "0 2 3", "1 1 0", "1 1 2", "1 2 3", "1 1 3", "2 2", "2 3"}


def test_numbers_stand_for_themselves_and_comparisons_are_turned_round() -> None:
    text = ".decl a(x: number, y: unsigned)\n.decl b(x: number)\nb(x) :- a(x, y), x >= -3, y > 18446744073709551614."
    lines = text_of(certificate(text, {"a": [(-(2**63), 2**64 - 1)]})).splitlines()
    conditions = [line for line in lines if line.startswith(("body", "test"))]
    assert conditions == ["body 0 x0 x1", "test <= -3 x0", "test < 18446744073709551614 x1"]
    assert "fact 0 -9223372036854775808 18446744073709551615" in lines


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("b(x) :- a(x, y), x >= y.", True),
        ("b(x) :- a(x, _), !a(_, x).", True),
        ("b(x) :- a(x, y), x = y + 1.", True),
        ("b(x + y - 1) :- a(x, y), max(x, y) > 1.", True),
        ("b(x * y) :- a(x, y).", False),
        ("b(x) :- a(x, _), y = range(0, x), a(_, y).", False),
        ("b(x) :- a(x, _), c(u), u = itou(x) + 1.", False),
        ("b(x) :- a(_, _), x = count : { a(_, _) }.", False),
    ],
)
def test_the_proofs_cover_atoms_comparisons_and_sums(rule: str, expected: bool) -> None:
    text = f".decl a(x: number, y: number)\n.decl b(x: number)\n.decl c(x: unsigned)\n{rule}"
    assert covered(compiled(text)) == expected
    assert not covered(compiled(f"{text}\n.decl d(x: float)"))


def test_computations_stand_in_the_place_of_their_variables_or_compare() -> None:
    text = """
    .decl a(x: number, y: number)
    .decl b(x: number)
    b(x + y - 2) :- a(x, y), !a(y, max(x, 3)), x + 1 < y, y = x + x.
    """
    lines = text_of(certificate(text, {"a": [(3, 6), (2, 4), (1, 2)]})).splitlines()
    assert [line for line in lines if line.startswith(("head", "body", "not", "test", "tuple 1"))] == [
        "head 1 -,+,x1,x2,2",
        "body 0 x1 x2",
        "not 0 x2 max,x1,3",
        "test < +,x1,1 x2",
        "test = x2 +,x1,x1",
        "tuple 1 1 7",
        "tuple 1 1 4",
    ]


def test_relations_that_select_have_their_orders_and_no_candidates() -> None:
    text = """
    .decl e(x: number, y: number, w: number)
    .decl d(x: number, c: number) min(c)
    .decl f(x: number, c: number, t: number)
    d(0, 0).
    d(y, c + w) :- d(x, c), e(x, y, w).
    f(x, c, t) <= f(x, k, u) :- k <= c, u >= t.
    f(0, 0, 9).
    f(y, c + w, min(t, w)) :- f(x, c, t), e(x, y, w).
    """
    lines = text_of(certificate(text, {"e": [(0, 1, 4), (1, 0, 1)]})).splitlines()
    assert [line for line in lines if line.startswith(("declared", "auxiliary", "select", "front", "head"))] == [
        "declared 0 0 e",
        "declared 1 1 d",
        "declared 2 2 f",
        "select 1 min 1",
        "front 2 min 1 max 2",
        "head 1 x0 +,x3,x4",
        "head 2 x0 +,x4,x6 min,x5,x6",
    ]
    assert [line for line in lines if line.startswith(("fact 1", "fact 2"))] == ["fact 1 0 0", "fact 2 0 0 9"]
    tuples = {line.split(" ", 2)[2] for line in lines if line.startswith("tuple")}
    assert tuples == {"0 0 1 4", "0 1 0 1", "1 0 0", "1 1 4", "2 0 0 9", "2 1 4 4"}


def test_choices_have_a_line_for_each_domain() -> None:
    text = """
    .decl e(x: number, y: number)
    .decl m(x: number, y: number, z: number) choice-domain x, (y, z)
    m(x, y, 0) :- e(x, y).
    m(y, z, x) :- m(x, y, _), e(y, z).
    """
    lines = text_of(certificate(text, {"e": [(0, 1), (1, 0), (1, 2)]})).splitlines()
    assert [line for line in lines if line.startswith(("declared", "auxiliary", "select", "choice", "head"))] == [
        "declared 0 0 e",
        "declared 1 1 m",
        "choice 1 0",
        "choice 1 1 2",
        "head 1 x0 x1 0",
        "head 1 x0 x1 x2",
    ]


def test_a_folder_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    db = loaded(PATHS, EDGES)
    db.save_certificate(tmp_path / "certificate")
    assert main(str(tmp_path / "certificate")) == 0
    printed = capsys.readouterr().out.splitlines()
    assert sorted(printed) == sorted(text_of(_certificate(db)).splitlines())


def test_a_program_that_is_not_covered_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loaded(".decl a(x: float)\na(1.5).").save_certificate(tmp_path / "certificate")
    assert main(str(tmp_path / "certificate")) == 2
    assert "floats" in capsys.readouterr().err


# --- corruptions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("fault", "codes"),
    [
        ("tuple removed", {"E0801", "E0802"}),
        ("tuple added", {"E0802", "E0803"}),
        ("births shuffled", {"E0803"}),
        ("fact removed", {"E0803"}),
    ],
)
def test_what_is_corrupted_is_rejected(fault: str, codes: set[str], seed: int) -> None:
    sound = certificate(facts={"edge": [("b", "d"), ("a", "b"), ("d", "a"), ("d", "e")]})
    check(sound)
    corrupted = CORRUPTIONS[fault](random.Random(seed), sound)
    assert corrupted is not None
    with pytest.raises(CertificateRejected) as caught:
        check(corrupted)
    assert {problem.code for problem in caught.value.problems} & codes
    check(sound)


@pytest.mark.parametrize("fault", sorted(CORRUPTIONS))
def test_where_there_is_nothing_nothing_is_corrupted(fault: str) -> None:
    assert CORRUPTIONS[fault](random.Random(1), _certificate(tidelog.connect())) is None


def test_births_without_a_cycle_are_not_shuffled() -> None:
    flat = certificate(".decl e(x: number)\n.decl f(x: number)\nf(x) :- e(x).", {"e": [(1,), (2,), (3,)]})
    assert CORRUPTIONS["births shuffled"](random.Random(1), flat) is None


def test_forged_texts_differ_in_what_a_check_of_the_folder_computes() -> None:
    text = text_of(certificate(f"{PATHS}.decl lost(x: symbol)\nlost(x) :- edge(x, _), !path(_, x)."))
    swapped = FORGERIES["strata"](random.Random(1), text)
    assert swapped is not None
    changed = [line for line in swapped.splitlines() if line not in text.splitlines()]
    assert len(changed) == 2
    assert all(line.startswith(("declared", "auxiliary")) for line in changed)
    (number,) = re.findall(r"^auxiliary (\d+) ", text, flags=re.M)
    assert FORGERIES["declared"](random.Random(1), text) == f"{text}fact {number} 7777\ntuple 0 {number} 7777\n"
    assert FORGERIES["declared"](random.Random(1), text_of(certificate())) is None


# --- the documentation -----------------------------------------------------------------------------------------------


def test_every_theorem_that_the_documentation_names_is_proved_and_its_assumptions_are_printed() -> None:
    page = (PROOFS.parent / "docs" / "theory.md").read_text(encoding="utf-8")
    printed = (PROOFS / "Assumptions.v").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) in `proofs/(\w+)\.v`", page, flags=re.M)
    assert len(rows) > 5
    for names, module in rows:
        source = (PROOFS / f"{module}.v").read_text(encoding="utf-8")
        for name in re.findall(r"`(\w+)`", names):
            assert re.search(rf"^(Theorem|Lemma|Corollary) {name}\b", source, flags=re.M), name
            assert f"Print Assumptions {module}.{name}." in printed


def test_every_file_that_the_documentation_ties_to_a_theorem_is_there() -> None:
    page = (PROOFS.parent / "docs" / "theory.md").read_text(encoding="utf-8")
    section = page[page.index("## Proofs") : page.index("## Plans and their interpreter")]
    paths = set(
        re.findall(r"`((?:tests|proofs|reference|maintain|kernels|rules|certificate|language)/[\w/.]*)`", section)
    )
    assert len(paths) > 10
    for path in paths:
        assert (PROOFS.parent / path).exists() or (PROOFS.parent / "src" / "tidelog" / path).exists(), path
