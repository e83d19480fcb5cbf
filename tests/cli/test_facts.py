"""Facts for `tidelog apply`, the prompt and a new store: the options of `.input` hold for every way in."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.texts import cases_of
from tidelog.cli.prompt import Session
from tidelog.errors import TidelogError

# Per format: the options of `.input q`, the name of a file, and the text of a fact there.
FORMATS = {
    "quoted": ('filename="q.csv", rfc4180=true', "{}.csv", '"{}",{}\n'),
    "delimiter": ('filename="q.csv", delimiter=";"', "{}.csv", "{};{}\n"),
    "headers": ('filename="q.csv", headers=true, rfc4180=true', "{}.csv", "a,n\n{1},{0}\n"),
    "no ending": ('filename="q", delimiter="|"', "{}", "{}|{}\n"),
    "picked columns": ('filename="q.txt", columns="2:0", delimiter=","', "{}.txt", "{1},?,{0}\n"),
    "JSON": ("IO=json, format=object", "{}.json", '[{{"n": "{}", "a": {}}}]'),
    "JSON of another ending": ('IO=json, filename="q.txt"', "{}.txt", '[["{}", {}]]'),
    "JSON of no ending": ('IO=json, filename="q"', "{}", '[["{}", {}]]'),
}


def stored(folder: Path, tidelog: Run, *options: str) -> None:
    """Make the store `s` whose relation q has an `.input` with each of these options."""
    inputs = "".join(f".input q({each})\n" for each in options)
    (folder / "q.dl").write_text(f".decl q(n: symbol, a: number)\n{inputs}")
    outcome = tidelog("init", "s", "q.dl")
    assert outcome.code == 0, outcome.err


@pytest.mark.parametrize("form", FORMATS)
def test_the_options_of_the_declaration_hold(
    folder: Path, tidelog: Run, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options, name, fact = FORMATS[form]
    (folder / name.format("q")).write_text(fact.format("Lee, Ann" if form == "quoted" else "Lee", 3))
    (folder / name.format("new")).write_text(fact.format("Bob", 4))
    stored(folder, tidelog, options)
    assert tidelog("apply", "s", f"+q={name.format('new')}", "--changes", "-").out == "+ q(Bob, 4)\n"
    gone = tidelog("apply", "s", f"-q={name.format('q')}")
    assert gone.out.splitlines()[2:] == ["q                0        1"]
    if "JSON" not in form:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(fact.format("Eve", 5).encode())))
        assert tidelog("apply", "s", "+q=-", "--changes", "-").out == "+ q(Eve, 5)\n"


def test_json_from_standard_input(folder: Path, tidelog: Run) -> None:
    import subprocess

    (folder / "q.json").write_text("[]")
    stored(folder, tidelog, "IO=json")
    command = [sys.executable, "-m", "tidelog", "apply", "s", "+q=-", "--changes", "-"]
    done = subprocess.run(command, cwd=folder, input=b'[["Bob", 4]]', capture_output=True, check=True)
    assert done.stdout == b"+ q(Bob, 4)\n"


def test_options_of_the_argument_override_those_of_the_declaration(folder: Path, tidelog: Run) -> None:
    (folder / "q.csv").write_text("n;a\nLee;3\n")
    stored(folder, tidelog, 'filename="q.csv", delimiter=";", headers=true')
    (folder / "new.csv").write_text("Bob;4\n")
    (folder / "other.csv").write_text('a,n\n5,"Lee, Ann"\n')
    outcome = tidelog(
        "apply", "s", "+q(headers=false)=new.csv", '+q(rfc4180=true, delimiter=",")=other.csv',
        "--changes", "-",
    )  # fmt: skip
    assert (outcome.out.splitlines(), outcome.err) == (["+ q(Bob, 4)", '+ q("Lee, Ann", 5)'], "")


def test_the_ending_of_a_file_names_another_format(folder: Path, tidelog: Run) -> None:
    (folder / "q.csv").write_text("n;a\nLee;3\n")
    stored(folder, tidelog, 'filename="q.csv", delimiter=";", headers=true')
    (folder / "new.json").write_text('[["Bob", 4]]')
    assert tidelog("apply", "s", "+q=new.json", "--changes", "-").out == "+ q(Bob, 4)\n"
    assert tidelog("apply", "s", "+q(IO=json)=q.csv").err.startswith("q.csv:1:1: error[E0411]")


def test_of_several_directives_the_one_that_names_the_file_counts(folder: Path, tidelog: Run) -> None:
    (folder / "a.csv").write_text("Lee;3\n")
    (folder / "b.csv").write_text('"Ann",4\n')
    stored(folder, tidelog, 'filename="a.csv", delimiter=";"', 'filename="b.csv", rfc4180=true')
    assert tidelog("apply", "s", "-q=b.csv", "--changes", "-").out == "- q(Ann, 4)\n"
    (folder / "c.csv").write_text('"Eve",5\n')
    outcome = tidelog("apply", "s", "+q=c.csv")
    assert "error[E0413]: q has 2 directives `.input`, whose options differ" in outcome.err
    advised = outcome.err.rpartition("such as '")[2].rstrip("'\n")
    assert tidelog("apply", "s", f"+{advised}", "--changes", "-").out == "+ q(Eve, 5)\n"


def test_facts_without_a_file(folder: Path, tidelog: Run) -> None:
    (folder / "r.dl").write_text(
        ".type L = [n: number, l: L]  .type T = Leaf {} | Node {a: symbol, t: T}\n"
        ".comp C { .decl r(x: symbol, n: number, l: L, t: T) }  .init A = C\n"
    )
    assert tidelog("init", "s", "r.dl").code == 0
    facts = ['A.r("a, b=(c)=d", -3, [1, nil], $Node("x", $Leaf()))', 'A.r("", 4, nil, $Leaf()).']
    inserted = tidelog("apply", "s", *(f"+{fact}" for fact in facts), "--changes", "-")
    assert (inserted.code, len(inserted.out.splitlines())) == (0, 2)
    assert inserted.out.splitlines()[1] == '+ A.r("a, b=(c)=d", -3, [1, nil], $Node(x, $Leaf))'
    assert len(tidelog("apply", "s", f"-{facts[0]}", "--changes", "-").out.splitlines()) == 1
    assert len(tidelog("apply", "s", "-A.r(_, n, nil, _)", "--changes", "-").out.splitlines()) == 1


def test_the_options_of_earlier_versions_say_what_to_write(folder: Path, tidelog: Run) -> None:
    stored(folder, tidelog)
    inserted = tidelog("apply", "s", "--insert", 'q("Eve", 1)', "--changes", "-")
    assert (inserted.out, inserted.err.count("is deprecated, write +FACTS")) == ("+ q(Eve, 1)\n", 1)
    assert tidelog("apply", "s", '--delete=q("Eve", _)', "--changes", "-").out == "- q(Eve, 1)\n"
    assert "--insert" not in tidelog("apply", "--help").out


@pytest.mark.parametrize(
    ("argument", "status", "message"), cases_of(__file__, "a wrong argument changes nothing", str, int)
)
def test_a_wrong_argument_changes_nothing(folder: Path, tidelog: Run, argument: str, status: int, message: str) -> None:
    (folder / "q.facts").write_text("Lee\t3\n")
    stored(folder, tidelog, "")
    outcome = tidelog("apply", "s", f"+{argument}")
    assert outcome.code == status
    assert message in outcome.err
    assert tidelog("show", "s", "q").out.count("Lee") == 1


QUOTED = '.decl q(n: symbol, a: number)\n.input q(filename="q.csv", rfc4180=true)\n'


def test_programs_that_are_added_bring_the_facts_of_their_input(folder: Path, tidelog: Run) -> None:
    stored(folder, tidelog)
    (folder / "more.dl").write_text(
        QUOTED.replace("q(", "p(").replace("q.csv", "p.csv").replace(".input q", ".input p")
    )
    (folder / "facts").mkdir()
    (folder / "facts" / "p.csv").write_text('"Lee, Ann",3\n')
    outcome = tidelog("apply", "s", "--add-rules", "more.dl", "-F", "facts", "--changes", "-")
    assert (outcome.out, outcome.err) == ('+ p("Lee, Ann", 3)\n', "")


def test_the_prompt_reads_the_facts_of_input(folder: Path) -> None:
    (folder / "q.csv").write_text('"Lee, Ann",3\n')
    (folder / "q.dl").write_text(QUOTED)
    session = Session()
    session.execute(".decl q(n: symbol, a: number)")
    assert session.execute(QUOTED.splitlines()[1]) == '+ q("Lee, Ann", 3)'
    (folder / "q.csv").write_text('"Bob",4\n')
    assert session.execute(".load q.dl") == "+ q(Bob, 4)"
    assert session.execute('q("Eve", 5).') == "+ q(Eve, 5)"
    (folder / "q.csv").unlink()
    with pytest.raises(TidelogError, match="E0410"):
        session.execute(".load q.dl")
    assert len(session.db["q"]) == 3
