"""`tidelog node` and `tidelog network`."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest

from tests.texts import cases_of, python
from tidelog.cli.entry import main

PROGRAM = """.decl link(@x: symbol, y: symbol)
.decl reachable(@x: symbol, y: symbol)
r1: reachable(@s, d) :- link(@s, d).
r2: reachable(@s, d) :- link(@s, z), reachable(@z, d).
"""


@pytest.fixture
def network(tmp_path: Path) -> Path:
    (tmp_path / "reach.dl").write_text(PROGRAM)
    path = tmp_path / "network.toml"
    path.write_text('program = "reach.dl"\nnodes = ["a", "b"]\n[facts]\nlink = [["a", "b"]]\n')
    return path


def test_processes_follow_commands(
    network: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = ["?reachable", '+link("b", "a").', "?reachable", "-r2", "?reachable"]
    lines += ["+back: reachable(@d, s) :- link(@s, d).", '-link("a", "b")', "?reachable", "", "?road", "-r9", "+x(1)"]
    lines += ['+link("z", "a")', "+reachable(@x, y) :- link(@x, _), link(@y, _)."]
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
    assert main(["network", str(network)]) == 0
    shown = capsys.readouterr().out
    rows = [line.split("\t") for line in shown.splitlines() if "\t" in line]
    assert rows == [["a", "b"], *(list(pair) for pair in ("aa", "ab", "ba", "bb")), *(list(p) for p in ("ab", "ba")),
                    *(list(p) for p in ("ab", "ba"))]  # fmt: skip
    assert shown.count("quiet after") == 5
    assert [code for code in ("E0601", "E0608", "E0201", "E0624", "E0313") if code not in shown] == []
    assert "assert a fact" in shown


def test_a_session_asks_why_a_tuple_holds(
    network: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = ['+link("b", "a").', '?reachable("a", "a")', '? reachable("a", "z").', '?reachable("z", "a")', "-r1"]
    lines += ["+back: reachable(@d, s) :- link(@s, d).", '?reachable("b", "a")']
    lines += ['^link("a", "b")', '^ reachable("b", "a").', '^reachable("b", "z")']
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
    assert main(["network", str(network)]) == 0
    shown = capsys.readouterr().out
    expected = """\
reachable("a", "a")   [r2 at <text>:4:1, node b]
├─ link("a", "b")   [fact, node a]
└─ reachable("b", "a")   [r1 at <text>:3:1, node b]
   └─ link("b", "a")   [fact, node b]
"""
    assert expected in shown
    assert 'error[E0670]: reachable("a", "z") does not hold at node a' in shown
    assert 'reachable("b", "a")   [back version 2, node a]' in shown
    assert "error[E0624]: 'z' is not a node of this network" in shown
    assert re.search(
        r'\nlink\("a", "b"\) holds since [-0-9]{10} [:.0-9]{12} UTC\n  fact: link\("a", "b"\)   \[node a\]\n', shown
    )
    assert re.search(r'\nreachable\("b", "a"\) holds since [^\n]* UTC\n  rule: back   \[version 2\]\n', shown)
    assert 'error[E0670]: reachable("b", "z") does not hold' in shown


FUNCTIONS = """
import tidelog

@tidelog.functor("number -> number")
def inverse(x):
    return 12 // x
"""


@pytest.mark.parametrize("how", ["option", "file"])
def test_processes_call_functions(
    tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A function that raises takes the fact back, and the node goes on."""
    (tmp_path / "my_inverse.py").write_text(FUNCTIONS)
    (tmp_path / "p.dl").write_text(
        ".functor inverse(x: number): number\n.decl e(@n: symbol, m: symbol, x: number)\n"
        ".decl r(@n: symbol, x: number)\nr(@m, @inverse(x)) :- e(@n, m, x).\n"
    )
    more = 'functors = ["my_inverse.py"]\n' if how == "file" else ""
    (tmp_path / "n.toml").write_text(f'program = "p.dl"\nnodes = ["a", "b"]\n{more}[facts]\ne = [["a", "b", 3]]\n')
    lines = ['+e("a", "b", 0)', '+e("b", "a", 5)', "?r"]
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
    option = ["--functors", str(tmp_path / "my_inverse.py")] if how == "option" else []
    assert main(["network", str(tmp_path / "n.toml"), *option]) == 0
    shown = capsys.readouterr().out
    assert "error[E0647]: in rule r1, `@inverse(0)` raised ZeroDivisionError" in shown
    assert [line for line in shown.splitlines() if "\t" in line] == ["a\t2", "b\t4"]


@pytest.mark.parametrize(("text", "wrong"), cases_of(__file__, "a wrong network file", python))
def test_a_wrong_network_file(network: Path, text: str, wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    network.write_text(text)
    assert main(["network", str(network)]) == 2
    error = capsys.readouterr().err
    assert "E0624" in error
    assert wrong in error


def test_keys_of_a_node(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.secret"
    assert main(["node", "--new-keys", str(path)]) == 0
    assert len(capsys.readouterr().out.strip()) == len(path.read_text().strip()) == 40
    assert path.stat().st_mode & 0o077 == 0
    assert main(["node", "--new-keys", str(path)]) == 2
    assert "E0650" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "`name` must be a text"),
        (
            'name = "a"\nsecret = "s"\nprogram = "reach.dl"\n[nodes.b]\naddress = "tcp://h:1"\nkey = "k"',
            "the list of nodes lacks the node a itself",
        ),
        ('name = "a"\nsecret = "s"\nprogram = "reach.dl"\n[nodes]\na = 3', "two texts"),
        (
            'name = "a"\nsecret = "s"\nprogram = "reach.dl"\n[nodes.a]\naddress = "tcp://h:1"\nkey = "k"',
            "cannot listen",
        ),
    ],
)
def test_a_wrong_node_file(network: Path, text: str, wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    (network.parent / "s").write_text("secret")
    path = network.parent / "node.toml"
    path.write_text(text)
    assert main(["node", str(path)]) == 2
    error = capsys.readouterr().err
    assert "E0624" in error
    assert wrong in error


def with_key(key: str, value: object) -> str:
    """The line of a right configuration in which one key is something else."""
    nodes = {"a": {"address": "tcp://h:1", "key": "k"}}
    return json.dumps({"name": "a", "program": "p", "secret": "s", "nodes": nodes, key: value}) + "\n"


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("", "has no configuration"),
        ("[\n", "the text is not JSON"),
        ("[]\n", "expected an object"),
        ('{"program": "p"}\n', "`name` must be a text"),
        ('{"name": "a", "program": "p", "secret": "s", "nodes": {}}\n', "the list of nodes lacks the node a itself"),
        (with_key("incarnation", -1), "`incarnation` must be 0 or more, found -1"),
        (with_key("incarnation", True), "`incarnation` must be a number, found True"),
        (with_key("sticky", 1), "`sticky` must be true or false, found 1"),
        (with_key("limits", {"speed": 1}), "unknown limit `speed`"),
        (with_key("limits", {"senders": "bc"}), "limits.senders must be a list of texts, found 'bc'"),
        (with_key("limits", {"names": "bc"}), "limits.names must be a list of texts, found 'bc'"),
        (with_key("facts", {"link": [["a", "b"], 3]}), "facts.link must be a list of rows"),
        (with_key("nodes", {"a": {"address": "tcp://h:1", "key": 3}}), "the two texts `address` and `key`"),
        (with_key("nodes", {"a": {"address": "tcp://h:1", "kex": "k"}}), "the two texts `address` and `key`"),
    ],
)
def test_a_wrong_line_for_a_node(
    line: str, wrong: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(line))
    assert main(["node", "-"]) == 2
    error = capsys.readouterr().err
    assert "E0624" in error
    assert wrong in error


def test_a_node_whose_commands_have_ended_before_it_began(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert main(["node", "-", "--commands"]) == 0
    assert capsys.readouterr() == ("", "")


def test_a_node_without_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["node"]) == 2
    assert "the configuration file of the node is missing" in capsys.readouterr().err
