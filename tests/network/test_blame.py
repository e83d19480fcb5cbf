"""Since when a tuple of a network holds: like a database that gets the same changes one by one, and by brute force."""

from __future__ import annotations

import random
import struct
import subprocess
import sys
import time
import zlib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import tidelog
from tests.depth import cases
from tests.generate import Row
from tests.network.cases import CASES, NON_LINEAR, REACHABILITY, Case, random_case
from tests.network.test_branches import LINKS, End, Hop, Named
from tests.network.test_branches import PROGRAM as BRANCHES
from tests.suite import FIRST_SEED, evaluate_naive
from tidelog.errors import UsageError
from tidelog.network import Node, SimulatedNetwork, Simulation, local
from tidelog.network.config import NetworkConfig, NodeConfig
from tidelog.network.local import LocalNetwork, node_configs
from tidelog.network.messages import WallClock
from tidelog.network.proofs import NetworkBlame
from tidelog.network.simulation import SCHEDULES

NODES = "abcd"
Fact = tuple[str, Row]


@dataclass
class Script:
    """Random changes of a network, one at a time, and of a database that commits each. `facts` and `rules` are there
    since these changes, and `views` are those of the network at rest after each change."""

    network: Simulation
    case: Case
    rng: random.Random
    db: tidelog.Database = field(default_factory=tidelog.connect)
    facts: dict[Fact, int] = field(default_factory=dict)
    rules: dict[str, int] = field(default_factory=dict)
    views: dict[int, dict[str, set[Row]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.db.numbered = 0
        self.db.load(self.case.text)
        self.db.commit()
        self.texts = {line.split(":")[0]: line for line in self.case.text.splitlines() if ":-" in line}
        self.texts |= {text.split(":")[0]: text for text in self.case.spare}
        self.rules = {name: 0 for name in self.texts if name in self.db.rules}
        self.given = {(name, row) for name in self.case.base for row in self.db.asserted(name)}
        self.facts = dict.fromkeys(self.given, 0)
        self.rest()

    def rest(self) -> None:
        self.network.run()
        self.views[self.network.changes] = {name: self.network[name] for name in self.case.views}

    def step(self) -> None:
        """Make a random change."""
        self.db.numbered = self.network.changes + 1
        match self.rng.choices(("insert", "delete", "rule", "restart", "lose"), (8, 5, 3, 1, 0.5))[0]:
            case "insert":
                self._insert()
            case "delete" if self.facts:
                relation, row = self.rng.choice(list(self.facts))
                del self.facts[relation, row]
                self.network.delete(relation, [row])
                self.db.delete(relation, [row])
            case "rule":
                self._change_rule(self.rng.choice(list(self.texts)))
            case "lose" if self.network.nodes:
                self._lose(self.rng.choice(list(self.network.nodes)))
            case _ if self.network.nodes:
                self.network.restart(self.rng.choice(list(self.network.nodes)))
        self.db.commit()
        assert self.network.changes in (self.db.numbered, self.db.numbered - 1)
        self.rest()

    def _insert(self) -> None:
        relation, columns = self.rng.choice(list(self.case.base.items()))
        kinds = [NODES if each == "n" else (1, 2, 3) for each in columns]
        rows = [tuple(map(self.rng.choice, kinds)) for _ in range(self.rng.randrange(1, 4))]
        self.network.insert(relation, rows)
        self.db.insert(relation, rows)
        for row in rows:
            self.facts.setdefault((relation, row), self.network.changes)

    def _change_rule(self, name: str) -> None:
        if name in self.rules:
            del self.rules[name]
            self.network.rules.remove(name)
            self.db.rules.remove(name)
        else:
            self.network.rules.add(self.texts[name])
            self.db.rules.add(self.texts[name])
            self.rules[name] = self.network.changes

    def _lose(self, name: str) -> None:
        """A node begins again with its facts of the program, which come in that change."""
        self.network.lose(name)
        places = self.network.book.program.places
        for relation, row in {*self.facts, *self.given}:
            is_there = str(row[places[relation].location or 0]) == name
            if is_there and self.facts.pop((relation, row), None) is not None:
                self.db.delete(relation, [row])
        self.db.commit()
        for relation, row in self.given:
            if str(row[places[relation].location or 0]) == name:
                self.db.insert(relation, [row])
                self.facts[relation, row] = self.network.changes

    def models(self) -> dict[int, dict[str, set[Row]]]:
        """The views of the facts and rules that are there now and were there after each change."""
        declared = [line for line in self.case.text.splitlines() if line.startswith(".decl")]
        found = {}
        for until in range(self.network.changes + 1):
            rules = [self.texts[name] for name, since in self.rules.items() if since <= until]
            given: dict[str, set[Row]] = {name: set() for name in self.case.base}
            for (name, row), since in self.facts.items():
                if since <= until:
                    given[name].add(row)
            found[until] = evaluate_naive("\n".join([*declared, *rules]), given)
        return found

    def check(self, most: int = 12) -> None:
        """Compare answers with those of the database and, without negations and aggregates, with brute force."""
        models = self.models() if is_positive("\n".join(self.texts[name] for name in self.rules)) else {}
        goals = sorted((name, row) for name in [*self.case.base, *self.case.views] for row in self.network[name])
        for name, row in self.rng.sample(goals, min(most, len(goals))):
            found, same = self.network.blame(name, row), self.db.blame(name, row)
            assert (found.since, found.facts, found.rules) == (same.epoch, same.facts, same.rules), f"{found}\n{same}"
            assert [each.text for each in found.conditions] == [each.text for each in same.conditions]
            assert not found.or_before
            assert not found.proof.check(self.network).granted
            assert {self.facts[fact] for fact in found.facts} | {self.rules[rule] for rule in found.rules} == {
                found.since
            }
            if models:
                assert found.since == min(until for until, model in models.items() if row in model[name]), f"{found}"
                since = [views for number, views in self.views.items() if number >= int(str(found.since))]
                assert name in self.case.base or all(row in views[name] for views in since), "it has held ever since"


def is_positive(text: str) -> bool:
    return not any(sign in text.replace("!=", "") for sign in "!{")


def script_of(case: Case, seed: int) -> Script:
    rng = random.Random(f"blame {seed}")
    how: dict[str, Any] = {"loss": rng.choice([0.0, 0.2]), "duplicates": rng.choice([0.0, 0.3])}
    how |= {"schedule": rng.choice(SCHEDULES), "restarts": rng.random() < 0.5, "sticky": rng.random() < 0.3}
    return Script(Simulation(case.text, seed, **how), case, rng)


# --- random changes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_classic_programs_after_random_changes(name: str) -> None:
    for seed in range(FIRST_SEED, FIRST_SEED + cases(2)):
        script = script_of(CASES[name], seed)
        for _ in range(25):
            script.step()
        script.check()


def test_random_programs_after_random_changes() -> None:
    for seed in range(FIRST_SEED, FIRST_SEED + cases(10)):
        script = script_of(random_case(random.Random(f"blamed {seed}")), seed)
        for _ in range(20):
            script.step()
        script.check()


FACTS = 'link("a", "b"). link("b", "c"). link("c", "a").'
GIVEN = Case(f"{NON_LINEAR}{FACTS}", {"link": "nn"}, ("x1: reachable(@d, s) :- link(@s, d).",))


def test_programs_with_facts_after_random_changes() -> None:
    numbers = set()
    for seed in range(FIRST_SEED, FIRST_SEED + cases(6)):
        script = script_of(GIVEN, seed)
        for _ in range(12):
            script.step()
            script.check(3)
            numbers |= {script.network.blame("link", row).since for row in script.network["link"]}
    assert 0 in numbers
    assert len(numbers) >= min(5, 1 + cases(6))  # A network gives at least one number of its own.


# --- by hand ---------------------------------------------------------------------------------------------------------


def line() -> Simulation:
    network = Simulation(REACHABILITY)
    network.insert("link", [("a", "b"), ("b", "c")])
    network.insert("link", [("c", "d")])
    network.run()
    return network


def test_an_answer_names_nodes_and_versions() -> None:
    network = line()
    assert str(network.blame("reachable", ("a", "d"))) == (
        'reachable("a", "d") holds since change 2\n  fact: link("c", "d")   [node c]'
    )
    network.rules.remove("r2")
    network.rules.add(".decl shut(@x: symbol) r2: reachable(@s, d) :- link(@s, z), reachable(@z, d), !shut(@z).")
    network.run()
    found = network.blame("reachable", ("a", "c"))
    assert (
        str(found)
        == """\
reachable("a", "c") holds since change 4
  rule: r2   [version 2]
  under the condition: !shut(@"b")"""
    )
    assert repr(found) == '<NetworkBlame of reachable("a", "c"): since change 4>'
    assert found.to_dict() == {
        "since": 4,
        "or_before": False,
        "facts": [],
        "rules": ["r2"],
        "conditions": ['!shut(@"b")'],
        "nodes": [],
        "versions": [2],
    }
    assert 'reachable("a", "c")   [r2 version 2]\n├─ link("a", "b")   [fact, node a]' in str(found.proof)
    with pytest.raises(UsageError, match="E0670"):
        network.blame("reachable", ("d", "a"))
    with pytest.raises(UsageError, match="E0601"):
        network.blame("nobody", ("d", "a"))


def test_a_tuple_of_the_program_alone_holds_since_the_beginning() -> None:
    network = Simulation(f'{REACHABILITY}link("a", "b"). .decl known(x: symbol) known("b").')
    found = network.blame("reachable", ("a", "b"))
    assert str(found) == (
        'reachable("a", "b") holds since the beginning\n  fact: link("a", "b")   [node a]\n  rule: r1'
    )
    network.rules.add("r3: reachable(@s, s) :- link(@s, d), known(d).")
    network.run()
    assert str(network.blame("reachable", ("a", "a"))).splitlines()[1:] == ["  rule: r3   [version 1]"]
    assert str(network.blame("known", ("b",))) == 'known("b") holds since the beginning\n  fact: known("b")'


def test_a_fact_that_comes_again_is_as_old_as_that() -> None:
    network = line()
    network.insert("link", [("a", "b"), ("x", "y")])
    assert network.blame("link", ("a", "b")).since == 1, "it was there"
    network.delete("link", [("a", "b")])
    network.insert("link", [("a", "b")])
    assert network.blame("link", ("a", "b")).since == 5 == network.changes
    assert network.blame("reachable", ("a", "d")).facts == (("link", ("a", "b")),)
    network.node("b").insert("link", [("b", "a")])
    assert network.blame("link", ("b", "a")).since == 6 == network.changes


def test_a_network_need_not_be_quiet() -> None:
    network = line()
    network.cut(["a"], ["b", "c", "d"])
    network.insert("link", [("d", "e")])
    assert ("a", "e") not in network["reachable"]
    assert network.blame("reachable", ("a", "e")).since == 3


def test_restarts_keep_and_losses_renew() -> None:
    network = Simulation(f'{REACHABILITY}link("b", "z").')
    network.insert("link", [("a", "b"), ("b", "c")])
    network.run()
    for name in "abcz":
        network.restart(name)
    network.run()
    assert network.blame("reachable", ("a", "z")).since == 1
    network.lose("b")
    network.run()
    assert network["link"] == {("a", "b"), ("b", "z")}
    found = network.blame("reachable", ("a", "z"))
    assert (found.since, found.facts, found.nodes) == (2, (("link", ("b", "z")),), ("b",))
    assert network.blame("link", ("a", "b")).since == 1


def test_values_with_branches() -> None:
    network = Simulation(BRANCHES)
    network.insert("link", LINKS[:1])
    network.insert("known", [("a", (End(), Named("z")))])
    network.insert("known", [("a", (Hop("x", 2, End()), Named("y")))])
    network.insert("link", LINKS[1:])
    network.run()
    assert network.blame("known", ("a", (End(), Named("z")))).since == 2
    assert network.blame("known", ("a", (Hop("x", 2, End()), Named("y")))).since == 3
    assert network.blame("link", LINKS[0]).since == 1
    assert network.blame("link", LINKS[-1]).since == 4


def test_a_change_that_a_functor_ends_leaves_facts_as_old_as_they_were() -> None:
    def share(x: int) -> int:
        return 10 // (x - 2)

    text = (
        ".functor share(x: number): number .decl e(@x: symbol, y: number) .decl all(@x: symbol, n: number)\n"
        ".decl r(@x: symbol, y: number)\nall(@x, n) :- e(@x, _), n = sum y : { e(x, y) }.\n"
        "r(@x, @share(n)) :- all(@x, n)."
    )
    network = Simulation(text, functors={"share": share})
    network.insert("e", [("a", 1)])
    network.insert("e", [("a", 2)])
    with pytest.raises(UsageError, match="E0647"):
        network.delete("e", [("a", 1)])
    assert network["e"] == {("a", 1), ("a", 2)}
    assert [network.blame("e", ("a", y)).since for y in (1, 2)] == [1, 2]


# --- stores and clocks -----------------------------------------------------------------------------------------------


def stamps(node: Node) -> dict[str, int]:
    return {row[1]: stamp for row, stamp in node.state.asserted_facts("link").items()}


def test_a_store_keeps_stamps_and_the_order_of_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidelog.network.journal.LONGEST", 300)
    wires, seen = SimulatedNetwork(1), dict[str, int]()
    begun = time.time_ns() // 1_000
    for number in range(8):
        with Node("a", REACHABILITY, wires.transport("a"), store=tmp_path) as node:
            assert stamps(node) == seen, "from the journal or from a state"
            node.insert("link", [("a", str(number)), ("a", str(max(number - 1, 0)))])
            assert seen.items() <= stamps(node).items()
            seen = stamps(node)
    assert list(seen.values()) == sorted(set(seen.values()))
    assert begun <= seen["0"]
    assert seen["7"] <= time.time_ns() // 1_000
    monkeypatch.setattr(time, "time_ns", lambda: 5_000)
    with Node("a", REACHABILITY, wires.transport("a"), store=tmp_path) as node:
        node.insert("link", [("a", "x")])
        node.insert("link", [("a", "y")])
        assert (stamps(node)["x"], stamps(node)["y"]) == (seen["7"] + 1, seen["7"] + 2), "a clock never goes back"
        with pytest.raises(UsageError, match="E0635"):
            node.insert("link", [("a", "z")], stamp=-1)


def test_a_clock_goes_on_when_the_time_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([7_000_000, 7_000_500, 3_000_000, 9_000_000])
    monkeypatch.setattr(time, "time_ns", lambda: next(times))
    clock = WallClock(6_000)
    assert [clock() for _ in range(4)] == [7_000, 7_001, 7_002, 9_000]


def test_a_store_of_an_earlier_version_has_facts_of_the_beginning(tmp_path: Path) -> None:
    wires = SimulatedNetwork(1)
    with Node("a", REACHABILITY, wires.transport("a"), store=tmp_path) as node:
        node.insert("link", [("a", "b")], stamp=0)
        assert node._journal is not None
        node._journal.begin(node.state)
    state = tmp_path / "state"
    state.write_bytes(state.read_bytes().replace(b'{"format":5,', b'{"format":3,', 1))
    entry = b'["step",[["a",["base","link",["a","c"],true]]]]'
    (journal,) = tmp_path.glob("journal.*")
    journal.write_bytes(struct.pack(">II", len(entry), zlib.crc32(entry)) + entry)
    with Node("a", REACHABILITY, wires.transport("a"), store=tmp_path) as node:
        assert stamps(node) == {"b": 0, "c": 0}
        assert b'{"format":5,' in state.read_bytes(), "an earlier version does not read what follows"
        node.insert("link", [("a", "d")])
        known = stamps(node)
    with Node("a", REACHABILITY, wires.transport("a"), store=tmp_path) as node:
        assert stamps(node) == known
        assert known["d"] > 0


# --- processes -------------------------------------------------------------------------------------------------------


def time_of(found: NetworkBlame) -> datetime:
    assert isinstance(found.since, datetime)
    return found.since


def begin_again(network: LocalNetwork, config: NodeConfig, folder: Path) -> None:
    """End the process of a node, and start one in its place that has a store."""
    old = network._processes[config.name]
    assert old.stdin is not None
    assert old.stdout is not None
    old.stdin.close()
    assert old.wait(30) == 0
    old.stdout.close()
    lines = [f'name = "{config.name}"', 'program = "p.dl"', 'secret = "s"', 'store = "store"', "incarnation = 1"]
    for name, (address, key) in config.nodes.items():
        lines += [f"[nodes.{name}]", f'address = "{address}"', f"key = '{key}'"]
    (folder / "p.dl").write_text(str(config.program))
    (folder / "s").write_text(config.secret)
    (folder / "node.toml").write_text("\n".join(lines))
    command = [sys.executable, "-m", "tidelog", "node", str(folder / "node.toml"), "--commands"]
    network._processes[config.name] = subprocess.Popen(
        command, text=True, encoding="utf-8", stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert network._answer(config.name) == "ready"


@pytest.mark.deep
def test_processes_and_the_restart_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: dict[str, NodeConfig] = {}

    def noted(network: NetworkConfig, program: str) -> dict[str, NodeConfig]:
        made.update(node_configs(network, program))
        return made

    monkeypatch.setattr(local, "node_configs", noted)
    begun = datetime.now(UTC)
    facts = {"link": [["a", "b"], ["b", "c"]]}
    with LocalNetwork(NetworkConfig(f'{REACHABILITY}link("c", "c").', ("a", "b", "c"), facts=facts)) as network:
        first = network.blame("reachable", ("a", "c"))
        assert (first.facts, first.nodes) == ((("link", ("b", "c")), ("link", ("a", "b"))), ("b", "a")), "one change"
        assert begun <= time_of(first) <= datetime.now(UTC)
        assert first.to_dict()["since"] == time_of(first).isoformat()
        assert str(first).startswith(f'reachable("a", "c") holds since {time_of(first):%Y-%m-%d %H:%M:%S}.')
        assert "UTC\n" in str(first)
        assert network.blame("reachable", ("c", "c")).since == 0
        network.rules.add("r3: reachable(@d, s) :- link(@s, d).")
        assert network.settle(30)
        assert network.blame("reachable", ("b", "a")).rules == ("r3",)

        begin_again(network, made["b"], tmp_path)
        assert network.settle(30)
        assert network["link"] == {("a", "b"), ("c", "c")}
        network.insert("link", [("b", "c")])
        network.insert("link", [("c", "a")])
        second = network.blame("reachable", ("a", "c"))
        assert (second.facts, second.nodes) == ((("link", ("b", "c")),), ("b",))
        assert time_of(second) > time_of(first)
        assert time_of(network.blame("link", ("a", "b"))) == time_of(first)

        begin_again(network, made["b"], tmp_path)
        assert network.settle(30)
        assert network["link"] == {("a", "b"), ("b", "c"), ("c", "a"), ("c", "c")}
        assert time_of(network.blame("reachable", ("a", "c"))) == time_of(second), "the store has it"
        third = network.blame("reachable", ("c", "a"))
        assert third.facts == (("link", ("c", "a")),)
        assert time_of(third) > time_of(second)
        network.rules.remove("r3")
        network.rules.add("r3: reachable(@d, s) :- link(@s, d).")
        assert time_of(network.blame("reachable", ("b", "a"))) == time_of(third), "by way of c"
        network.delete("link", [("c", "a")])
        assert time_of(network.blame("reachable", ("b", "a"))) > time_of(third)
