"""Functors in shared libraries: what they take and give, which functions are found, and who may call them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tests.libraries import built
from tidelog.errors import UsageError
from tidelog.reference.naive import evaluate
from tidelog.workbench.service import Service


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the library `own`."""
    return built(tmp_path_factory.mktemp("libraries"))


def database(text: str, *libraries: tidelog.Library) -> tidelog.Database:
    db = tidelog.connect(functors=libraries)
    db.load(text)
    return db


def problem(db: tidelog.Database) -> str:
    with pytest.raises(UsageError) as caught:
        db.commit()
    db.rollback()
    return str(caught.value)


# --- values ----------------------------------------------------------------------------------------------------------


def test_values_of_all_kinds(folder: Path) -> None:
    text = """
    .functor scaled(x: number, by: number): number
    .functor top(): unsigned
    .functor ratio(x: number, y: unsigned): float
    .functor label(x: number, s: symbol): symbol
    .decl e(x: number, s: symbol)
    .decl n(x: number)
    .decl u(x: unsigned)
    .decl f(x: float)
    .decl t(s: symbol)
    n(@scaled(x, 5000000000)) :- e(x, _).
    u(@top()).
    f(@ratio(x, 4)) :- e(x, _).
    t(@label(x, s)) :- e(x, s).
    """
    db = database(text, tidelog.Library("own", folder))
    db.insert("e", [(-1, "é"), (2, "b")])
    db.commit()
    views = {name: set(db[name]) for name in "nuft"}
    assert views == {
        "n": {(-5_000_000_000,), (10_000_000_000,)},
        "u": {(2**64 - 1,)},
        "f": {(-0.25,), (0.5,)},
        "t": {("é-1",), ("b2",)},
    }
    assert evaluate(db.program, {"e": {(-1, "é"), (2, "b")}}).items() >= views.items()
    db.check()
    db.delete("e", [(2, "b")])
    db.commit()
    assert set(db["t"]) == {("é-1",)}


def test_a_function_without_a_number_as_value_has_none() -> None:
    db = database(".functor log(x: float): float .decl r(x: float) r(@log(-1.0)). r(@log(1.0)).", tidelog.Library("m"))
    db.commit()
    assert set(db["r"]) == {(0.0,)}


def test_a_fold_calls_a_function_of_a_library() -> None:
    text = ".functor fmax(x: float, y: float): float .decl e(x: float) e(1.5). e(2.5). .decl r(x: float)"
    db = database(f"{text} r(@@fmax x : 0.0, {{ e(x) }}).", tidelog.Library("m"))
    db.commit()
    assert set(db["r"]) == {(2.5,)}


def test_a_text_that_is_no_text_of_utf_8_is_an_error(folder: Path) -> None:
    text = ".functor same(s: symbol): symbol .functor nothing(s: symbol): symbol .functor bytes(s: symbol): symbol"
    db = database(f"{text} .decl e(s: symbol) .decl r(s: symbol)", tidelog.Library("own", folder))
    db.load("rule: r(@same(s)) :- e(s).")
    db.insert("e", [("a",)])
    db.commit()
    for name, message in {
        "nothing": '`@nothing("a")` returned NULL, expected a symbol',
        "bytes": "`@bytes(\"a\")` returned b'\\xff', expected a symbol",
    }.items():
        db.load(f"{name}: r(@{name}(s)) :- e(s).")
        found = problem(db)
        assert f"<text>:1:1: error[E0648]: in rule {name}, {message}" in found
    db.insert("e", [("b\0c",)])
    assert 'error[E0648]: in rule rule, `@same("b\0c")` passes a text with the character \\0' in problem(db)
    assert set(db["r"]) == {("a",)}


# --- 32 bits ---------------------------------------------------------------------------------------------------------

WIDTHS = """
.functor before(x: number): number
.functor inverted(x: unsigned): unsigned
.functor half(x: float): float
.decl e(x: number)
.decl n(x: number)
.decl u(x: unsigned)
.decl f(x: float)
n(@before(x)) :- e(x).
u(@inverted(itou(x))) :- e(x), x >= 0.
f(@half(itof(x))) :- e(x).
"""


def test_a_library_for_numbers_of_32_bits(folder: Path) -> None:
    db = database(WIDTHS, tidelog.Library("own", folder, bits=32))
    db.insert("e", [(0,), (-2,)])
    db.commit()
    views = {name: set(db[name]) for name in "nuf"}
    assert views == {"n": {(-1,), (-3,)}, "u": {(2**32 - 1,)}, "f": {(0.0,), (-1.0,)}}
    db.insert("e", [(2**31,)])
    assert "`@before(2147483648)` passes 2147483648, but the library takes numbers of 32 bits" in problem(db)


def test_functions_of_the_c_library_have_32_bits() -> None:
    text = """
    .functor atoi(s: symbol): number
    .functor toupper(x: number): number
    .decl r(x: number)
    r(@atoi("-5")). r(@toupper(97)).
    """
    db = database(text, tidelog.Library("c", bits=32))
    db.commit()
    assert set(db["r"]) == {(-5,), (65,)}


# --- which function --------------------------------------------------------------------------------------------------


def test_a_function_that_is_missing_is_an_error_before_any_call() -> None:
    """That of another library, which this one needs, is missing, too: nobody has meant it."""
    text = ".functor cbrt(x: float): float\n.functor remove(s: symbol): number\n.decl r(x: float)\n.decl s(x: number)\n"
    db = database(f"{text}r(@cbrt(8.0)).\n", tidelog.Library("m"))
    db.commit()
    db.load('s(@remove("file")) :- r(-1.0).\n')
    found = problem(db)
    assert (
        "<text>:2:1: error[E0645]: the functor `remove` has no function, neither in Python nor in the library `m`"
        in found
    )
    assert 'define it there as `extern "C"`' in found


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (".functor concatenated(a: number, b: number): number stateful .decl r(x: number)", "is stateful"),
        (
            ".type List = [head: number, tail: List] .functor concatenated(a: List, b: List): List .decl r(x: List)",
            "has records",
        ),
    ],
)
def test_a_functor_that_needs_the_tables_of_souffle_is_in_python(folder: Path, text: str, reason: str) -> None:
    arguments = "[1, nil], [2, nil]" if "List" in text else "1, 2"
    db = database(f"{text} r(@concatenated({arguments})).", tidelog.Library("own", folder))
    with pytest.raises(UsageError) as caught:
        db.commit()
    assert f"the functor `concatenated` {reason}: only Soufflé can call its function in a library" in str(caught.value)
    assert "hint: write it in Python" in str(caught.value)
    db.functor("concatenated", lambda a, b: b)
    db.commit()
    assert len(db["r"]) == 1


def test_two_declarations_of_which_one_is_stateful(folder: Path) -> None:
    stateless = ".functor concatenated(a: number, b: number): number"
    for text in (f"{stateless} {stateless} stateful", f"{stateless} stateful {stateless}"):
        db = database(f"{text} .decl r(x: number) r(@concatenated(1, 2)).", tidelog.Library("own", folder))
        assert "is stateful" in problem(db)


def test_a_function_in_python_comes_first() -> None:
    text = (
        ".functor cbrt(x: float): float .functor exp2(x: float): float .decl r(x: float) r(@cbrt(8.0)). r(@exp2(3.0))."
    )
    db = tidelog.connect(functors=[tidelog.Library("m")])
    db.functor("cbrt", lambda x: 7.0)
    db.load(text)
    db.commit()
    assert set(db["r"]) == {(7.0,), (8.0,)}
    with pytest.raises(UsageError, match=r"E0646.*has a function already: `exp2` in the library `m`"):
        db.functor("exp2", lambda x: 7.0)


def test_the_first_of_several_libraries_that_has_a_function(folder: Path) -> None:
    text = ".functor cbrt(x: float): float .functor scaled(x: number, y: number): number"
    libraries = tidelog.Library("m"), tidelog.Library(folder / "libown.so")
    db = database(f"{text} .decl f(x: float) .decl n(x: number) f(@cbrt(8.0)). n(@scaled(2, 3)).", *libraries)
    db.commit()
    assert (set(db["f"]), set(db["n"])) == ({(2.0,)}, {(6,)})


def test_a_functor_that_is_declared_anew_with_other_types(folder: Path) -> None:
    first = ".functor top(): unsigned .decl r(x: unsigned) r(@top())."
    then = ".functor top(): number .decl t(x: number) t(@top())."
    db = database(first, tidelog.Library("own", folder))
    db.commit()
    db.load(then, replace=first)
    db.commit()
    assert set(db["t"]) == {(-1,)}


# --- which library ---------------------------------------------------------------------------------------------------


def test_libraries_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "libtext.so").write_text("no library")
    cases: list[tuple[Callable[[], object], str, str]] = [
        (lambda: tidelog.Library("none", tmp_path), "E0642", f"there is no 'libnone.so' in '{tmp_path}'"),
        (lambda: tidelog.Library(tmp_path / "none.so"), "E0642", f"the library '{tmp_path}/none.so' does not exist"),
        (lambda: tidelog.Library("text", tmp_path), "E0642", f"'{tmp_path}/libtext.so' cannot be loaded: "),
        (lambda: tidelog.Library(3), "E0635", "expected a name or a path as a library, found 3"),  # type: ignore[arg-type] # on purpose
        (lambda: tidelog.Library("m", [3]), "E0635", "the folders of a library"),  # type: ignore[list-item] # on purpose
        (lambda: tidelog.Library("m", bits=16), "E0603", "`bits` of the library `m` must be 64 or 32, found 16"),
    ]
    for make, code, message in cases:
        with pytest.raises(UsageError) as caught:
            make()
        assert caught.value.code == code
        assert message in str(caught.value)


# --- who calls -------------------------------------------------------------------------------------------------------

ROOTS = ".functor cbrt(x: float): float .decl e(x: float) .decl r(x: float) r(@cbrt(x)) :- e(x)."


def test_a_store_gets_its_libraries_when_it_opens(tmp_path: Path) -> None:
    with tidelog.connect(tmp_path / "store", functors=tidelog.Library("m")) as db:
        db.load(ROOTS)
        db.insert("e", [(8.0,)])
        db.commit()
    with tidelog.connect(tmp_path / "store", functors=tidelog.Library("m")) as db:
        db.insert("e", [(-1.0,)])
        db.commit()
        assert set(db["r"]) == {(2.0,), (-1.0,)}
    with pytest.raises(UsageError, match="E0645"):
        tidelog.connect(tmp_path / "store")


def test_a_certificate_trusts_functions_of_libraries(tmp_path: Path) -> None:
    db = database(ROOTS, tidelog.Library("m"))
    db.insert("e", [(8.0,)])
    db.commit()
    db.save_certificate(tmp_path / "certificate")
    verdict = tidelog.check_certificate(tmp_path / "certificate", functors=tidelog.Library("m"))
    assert verdict.trusted == ("cbrt",)
    with pytest.raises(UsageError, match="E0645"):
        tidelog.check_certificate(tmp_path / "certificate")


def test_programs_that_clients_send_find_no_functions_in_libraries() -> None:
    """Else they could pass numbers for the addresses of texts. An earlier client may have declared `exp2`."""
    db = database(f"{ROOTS} .functor exp2(x: float): float", tidelog.Library("m"))
    db.commit()
    service = Service(db)
    try:
        db.insert("e", [(8.0,)])
        db.load("r(@cbrt(-x)) :- e(x).")
        db.commit()
        assert set(db["r"]) == {(2.0,), (-2.0,)}
        for text in ("r(@exp2(x)) :- e(x).", ".functor sqrt(x: float): float r(@sqrt(x)) :- e(x)."):
            db.load(text)
            assert "has no function" in problem(db)
    finally:
        service.close()


def test_the_program_of_a_client_cannot_change_the_types_of_a_function(folder: Path) -> None:
    text = '.type Text <: symbol .functor same(s: Text): Text .decl r(s: Text) r(@same(as("a", Text))).'
    other = ".type Text <: number .functor same(s: Text): Text .decl t(s: Text) t(@same(as(1, Text)))."
    db = database(text, tidelog.Library("own", folder))
    db.commit()
    service = Service(db)
    try:
        db.load(other, replace=text)
        assert "the functor `same` has no function" in problem(db)
    finally:
        service.close()


def test_other_processes_and_nodes_call_no_libraries() -> None:
    db = database(ROOTS, tidelog.Library("m"))
    db.commit()
    function: Any = db.workspace.given.of_library(("cbrt", "float", "float"))
    with pytest.raises(UsageError, match=r"E0649.*`cbrt`: it is in a library"):
        _ = function.importable_form
    with pytest.raises(UsageError, match=r"E0603.*a node cannot use the library `m`"):
        tidelog.network.Simulation(".decl a(@n: symbol)", functors=tidelog.Library("m")).insert("a", [("b",)])
