"""Commands to the processes of a network on one machine."""

from __future__ import annotations

import pytest

from tests.network.cases import REACHABILITY
from tidelog.network import Limits
from tidelog.network.config import NetworkConfig, NodeConfig, line_of, node_config_of_line
from tidelog.network.local import node_configs


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
