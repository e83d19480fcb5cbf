"""Commands to the processes of a network on one machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.network.cases import REACHABILITY
from tidelog.errors import UsageError
from tidelog.network import Limits
from tidelog.network.config import NetworkConfig, NodeConfig, line_of, node_config_of_line
from tidelog.network.local import LocalNetwork, node_configs


@pytest.mark.parametrize("sticky", [True, False])
@pytest.mark.parametrize("roots", [True, False])
def test_every_node_has_the_options_of_the_network(sticky: bool, roots: bool) -> None:
    network = NetworkConfig(REACHABILITY, ("a", "b"), sticky=sticky, roots=roots)
    configs = node_configs(network, REACHABILITY)
    assert [(name, each.name, each.sticky, each.roots, each.incarnation) for name, each in configs.items()] == [
        ("a", "a", sticky, roots, 0),
        ("b", "b", sticky, roots, 0),
    ]
    assert configs["a"].nodes == configs["b"].nodes
    assert len({configs["a"].secret, configs["b"].secret, *configs["a"].nodes.values()}) == 4


def test_a_line_says_everything_about_a_node() -> None:
    config = NodeConfig(
        name="a",
        program=REACHABILITY,
        secret="s",
        nodes={"a": ("tcp://127.0.0.1:5501", "k")},
        incarnation=3,
        sticky=True,
        roots=False,
        limits=Limits(peers=7, senders=frozenset(["a"])),
        facts={"link": [["a", "b"]]},
    )
    assert node_config_of_line(line_of(config)) == config


def test_facts_that_one_node_rejects_are_at_no_node(tmp_path: Path) -> None:
    """The functor fails for the number of facts at b: all that node a has done for the same call is undone."""
    path = tmp_path / "inverses.py"
    path.write_text("import tidelog\n@tidelog.functor('number -> number')\ndef inverse(x):\n    return 12 // (x - 2)\n")
    text = (
        ".functor inverse(x: number): number .decl e(@n: symbol, x: number) .decl r(@n: symbol, x: number)"
        " one: r(@n, @inverse(c)) :- e(@n, _), c = count : { e(n, _) }."
    )
    facts = {"e": [["a", 1], *(["b", x] for x in range(3))]}
    with LocalNetwork(NetworkConfig(text, ("a", "b"), functors=(str(path),), facts=facts)) as network:
        before, stamps = network.views(["e", "r"]), network._stamps_of("e")
        for rows in ([("a", 1), ("b", 2)], [("b", 2), ("a", 1), ("a", 7)]):
            with pytest.raises(UsageError, match="E0647"):
                network.delete("e", rows)
            assert network.views(["e", "r"]) == before
            assert network._stamps_of("e") == stamps
        network.insert("e", [("b", 3)])
        network.delete("e", [("a", 1), ("b", 0), ("b", 1), ("b", 2)])
        before = network.views(["e", "r"])
        assert before["e"] == {("b", 3)}
        for rows in ([("a", 1), ("b", 2)], [("b", 2), ("a", 1), ("a", 2), ("a", 3)]):
            with pytest.raises(UsageError, match="E0647"):
                network.insert("e", rows)
            assert network.views(["e", "r"]) == before


def test_a_rule_that_its_node_rejects_is_none_of_the_network(tmp_path: Path) -> None:
    """The node calls the function, which raises: the network does not know of the rule either."""
    path = tmp_path / "inverses.py"
    path.write_text("import tidelog\n@tidelog.functor('number -> number')\ndef inverse(x):\n    return 12 // x\n")
    text = ".functor inverse(x: number): number .decl e(@n: symbol, x: number) .decl r(@n: symbol, x: number)"
    config = NetworkConfig(text, ("a",), functors=(str(path),), facts={"e": [["a", 0]]})
    with LocalNetwork(config) as network:
        with pytest.raises(UsageError, match="E0647"):
            network.rules.add("one: r(@n, @inverse(x)) :- e(@n, x).")
        with pytest.raises(UsageError, match="E0608"):
            network.rules.remove("one")
        assert "[one" not in str(network.why_not("r", ("a", 1)))
        network.rules.add("one: r(@n, x) :- e(@n, x).")
        assert str(network.blame("r", ("a", 0))).endswith("rule: one   [version 3]")
        assert str(network.explain("r", ("a", 0))).startswith('r("a", 0)   [one version 3, node a]')
