"""Hints are promises: each is followed here in the place where it was given, and the command succeeds then."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.texts import cases_of, python
from tidelog.cli.prompt import Session
from tidelog.errors import UsageError


def hint_of(message: str) -> str:
    """Return the hint of an error."""
    return message.partition("  hint: ")[2].splitlines()[0]


@pytest.mark.parametrize(("columns", "data", "option"), cases_of(__file__, "hints about texts", str, python))
def test_hints_about_texts(folder: Path, tidelog: Run, columns: str, data: str, option: str) -> None:
    name = "q.csv" if "," in data or ";" in data else "q.txt"
    (folder / name).write_bytes(data.encode("latin-1"))
    given = ', delimiter=";"' if ";" in data else ""
    program = f'.decl q({columns})\n.input q(filename="{name}"{given})\n.printsize q\n'
    (folder / "q.dl").write_text(program)
    wrong = tidelog("run", "q.dl")
    assert wrong.code == 1
    assert f"add {option}" in hint_of(wrong.err) or f"or add {option}" in hint_of(wrong.err)
    (folder / "q.dl").write_text(program.replace(f"{given})\n.printsize", f", {option})\n.printsize"))
    right = tidelog("run", "q.dl")
    assert (right.code, right.err) == (0, "")


ROWS = [
    ("number", 1.5, "write a whole number, or declare x as float"),
    ("number", True, "write a whole number, or declare x as float"),
    ("number", "1", None),
    ("unsigned", -1, None),
    ("float", "a", None),
    ("symbol", 1, "write a text, or declare x as number"),
    ("symbol", 1.5, "write a text, or declare x as number"),
    ("P", 1, "write [a, b], or null for nil"),
    ("T", 1, 'write ["$Leaf"] or ["$Node", l, r]'),
    ("T", None, 'write ["$Leaf"] or ["$Node", l, r]'),
]


@pytest.mark.parametrize(("kind", "value", "hint"), ROWS)
def test_hints_about_values_in_json_speak_of_the_file(
    folder: Path, tidelog: Run, kind: str, value: object, hint: str | None
) -> None:
    types = ".type P = [a: number, b: symbol]\n.type T = Leaf {} | Node {l: T, r: T}\n"
    (folder / "j.dl").write_text(f"{types}.decl j(x: {kind})\n.input j(IO=json)\n")
    (folder / "j.json").write_text(json.dumps([[value]]))
    wrong = tidelog("run", "j.dl")
    assert wrong.code == 1
    assert hint_of(wrong.err) == hint if hint is not None else "(…)" not in hint_of(wrong.err)
    assert "pass " not in hint_of(wrong.err)
    followed = {
        "number": 1,
        "unsigned": 1,
        "float": 1.5,
        "symbol": "1",
        "P": [1, "b"],
        "T": ["$Node", ["$Leaf"], ["$Leaf"]],
    }
    (folder / "j.json").write_text(json.dumps([[followed[kind]]]))
    assert tidelog("run", "j.dl").code == 0


@pytest.mark.parametrize("rows", [[[1, 2], [3]], [1], [[1, 2, 3]]])
def test_hints_about_rows_in_json_speak_of_the_file(folder: Path, tidelog: Run, rows: list[object]) -> None:
    (folder / "j.dl").write_text(".decl j(x: number, y: number)\n.input j(IO=json)\n")
    (folder / "j.json").write_text(json.dumps(rows))
    assert hint_of(tidelog("run", "j.dl").err) == "write each row as a list of x, y, or as an object with these names"
    (folder / "j.json").write_text('[[1, 2], {"x": 1, "y": 2}]')
    assert tidelog("run", "j.dl").code == 0


def test_a_missing_file_has_the_place_of_its_directive(closure: Path, tidelog: Run) -> None:
    (closure / "e.facts").unlink()
    message = tidelog("run", "closure.dl").err
    assert message.startswith("closure.dl:2:8: error[E0410]: the facts file of e does not exist: e.facts\n")
    (closure / "e.csv").write_text("1,2\n")  # as the hint says
    assert tidelog("run", "closure.dl").code == 0


def test_a_size_limit_has_the_place_of_its_directive(closure: Path, tidelog: Run) -> None:
    with (closure / "closure.dl").open("a") as file:
        file.write(".limitsize t(n=2)\n")
    assert tidelog("run", "closure.dl").err.startswith(
        "closure.dl:7:12: error[E0504]: the epoch was stopped when t had"
    )


def test_the_hint_for_a_tuple_that_does_not_hold(closure: Path, tidelog: Run) -> None:
    """It names what the command or the prompt has."""
    assert tidelog("init", "s", "closure.dl").code == 0
    assert tidelog("explain", "s", "t(3, 1)", "--not").code == 0
    assert "--not" in hint_of(tidelog("explain", "s", "t(3, 1)", "--blame").err)
    assert (
        hint_of(tidelog("explain", "s", "t(1, 2)", "--not").err) == "ask without --not and --ways-to-derive for a proof"
    )
    assert tidelog("explain", "s", "t(1, 2)").code == 0
    session = Session()
    session.execute(".load closure.dl")
    with pytest.raises(UsageError, match=r"E0670[\s\S]*ask `.why-not` for the reason"):
        session.execute(".ways-to-remove t(3, 1)")
    assert session.execute(".why-not t(3, 1)")
    with pytest.raises(UsageError, match=r"E0672[\s\S]*ask `.explain` for a proof"):
        session.execute(".why-not t(1, 2)")


def test_encodings(folder: Path, tidelog: Run) -> None:
    program = '.decl q(x: symbol)\n.input q(filename="{}", encoding="{}")\n.output q(IO=stdout)\n'
    for encoding, name, text in [
        ("utf-16", "q.txt", "é\n"), ("cp1252", "q.csv", "é\n"), ("utf-16-le", "q.json", '["é"]'.join("[]")),
    ]:  # fmt: skip
        (folder / name).write_bytes(text.encode(encoding))
        (folder / "q.dl").write_text(program.format(name, encoding))
        assert tidelog("run", "q.dl").out.splitlines()[3] == "é"
    (folder / "q.txt").write_bytes(bytes(range(32, 256)))
    (folder / "q.dl").write_text(program.format("q.txt", "latin-1"))
    assert tidelog("run", "q.dl", "-D", "-").out.split("\n")[4] == bytes(range(32, 256)).decode("latin-1")
    for encoding in ("rot13", "utf-3", "\\0"):
        (folder / "q.dl").write_text(program.format("q.txt", encoding))
        assert "is no encoding of text" in tidelog("check", "q.dl").err
    (folder / "q.dl").write_text(program.format("q.txt", "ascii"))
    assert "q.txt: error[E0408]: the file is not in the encoding ascii" in tidelog("run", "q.dl").err
    (folder / "q.dl").write_text('.decl q(x: symbol)\n.output q(encoding="latin-1")\n')
    assert "error[E0413]: encoding is that of an input" in tidelog("run", "q.dl").err


def test_values_that_keep_their_quotes_are_a_warning(folder: Path, tidelog: Run) -> None:
    program = '.decl q(n: symbol, a: number)\n.input q(filename="q.csv")\n.output q(IO=stdout)\n'
    (folder / "q.dl").write_text(program)
    (folder / "q.csv").write_text('"Lee",3\n"Ann",4\n')
    kept = tidelog("run", "q.dl")
    assert kept.out.splitlines()[3] == '"Ann"\t4'
    assert kept.err.startswith("q.dl:2:8: warning[E0417]: the values of q keep the quotes around them in column n\n")
    assert hint_of(kept.err).startswith("add rfc4180=true to `.input`")
    assert tidelog("run", "q.dl", "-w").err == tidelog("run", "q.dl", "--wno", "E0417").err == ""
    assert json.loads(tidelog("run", "q.dl", "--json").out)["ok"]
    assert "warning[E0417]" in tidelog("init", "s", "q.dl").err
    assert "warning[E0417]" in tidelog("apply", "s", "-q=q.csv").err
    (folder / "q.dl").write_text(program.replace('q.csv"', 'q.csv", rfc4180=true'))
    followed = tidelog("run", "q.dl")
    assert (followed.out.splitlines()[3], followed.err) == ("Ann\t4", "")
    (folder / "q.dl").write_text(program)
    (folder / "q.csv").write_text('"Lee",3\nAnn,4\n')
    assert tidelog("run", "q.dl").err == ""
