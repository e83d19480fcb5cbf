"""The files of `tidelog node` and `tidelog network`: TOML, checked key by key.

    name = "a"                              nodes = ["a", "b", "c"]
    program = "reach.dl"                    program = "reach.dl"
    secret = "a.secret"                     [facts]
    store = "a.node"      # optional        link = [["a", "b"], ["b", "c"]]
    [nodes.a]
    address = "tcp://192.0.2.1:5501"
    key = "…"             # the public one
    [facts]               # optional
    link = [["a", "b"]]

Paths are relative to the file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tidelog.errors import Problem, UsageError

Facts = Mapping[str, list[list[Any]]]


@dataclass(frozen=True)
class NodeConfig:
    """One node: `nodes` maps every name to address and public key."""

    name: str
    program: Path
    secret: str
    nodes: Mapping[str, tuple[str, str]]
    store: Path | None = None
    sticky: bool = False
    roots: bool = False
    facts: Facts = field(default_factory=dict)


@dataclass(frozen=True)
class NetworkConfig:
    """A network on one machine."""

    program: Path
    nodes: tuple[str, ...]
    sticky: bool = False
    roots: bool = False
    facts: Facts = field(default_factory=dict)


def node_config(path: Path) -> NodeConfig:
    """The configuration of a node. Raises UsageError (E0624), and OSError where a file cannot be read."""
    table = _Table(path)
    name = table.take("name", str)
    secret = path.parent / table.take("secret", str)
    nodes = {}
    for other, each in table.take("nodes", dict).items():
        if not isinstance(each, dict) or set(each) != {"address", "key"} or not all(map(_is_text, each.values())):
            raise table.wrong(f"nodes.{other} has the two texts `address` and `key`, found {each!r}")
        nodes[other] = (each["address"], each["key"])
    if name not in nodes:
        raise table.wrong(f"the node {name} itself is not among the nodes")
    store = table.take("store", str, "")
    config = NodeConfig(
        name=name,
        program=path.parent / table.take("program", str),
        secret=secret.read_text("utf-8").strip(),
        nodes=nodes,
        store=path.parent / store if store else None,
        sticky=table.take("sticky", bool, False),
        roots=table.take("roots", bool, False),
        facts=table.facts(),
    )
    table.end()
    return config


def network_config(path: Path) -> NetworkConfig:
    """The configuration of a network on one machine. Raises UsageError (E0624)."""
    table = _Table(path)
    nodes = table.take("nodes", list)
    if not nodes or not all(map(_is_text, nodes)) or len(set(nodes)) != len(nodes):
        raise table.wrong(f"nodes is a list of different names, found {nodes!r}")
    config = NetworkConfig(
        program=path.parent / table.take("program", str),
        nodes=tuple(nodes),
        sticky=table.take("sticky", bool, False),
        roots=table.take("roots", bool, False),
        facts=table.facts(),
    )
    table.end()
    return config


class _Table:
    """The keys of a file, taken one by one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._values = tomllib.loads(path.read_text("utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise self.wrong(f"this is no TOML: {error}") from None

    def take(self, key: str, kind: type, default: Any = None) -> Any:
        """The value of a key, which has to be there if it has no default."""
        value = self._values.pop(key, default)
        if type(value) is not kind:
            names = {str: "a text", bool: "true or false", list: "a list", dict: "a table"}
            raise self.wrong(f"`{key}` is {names[kind]}, found {'nothing' if value is None else repr(value)}")
        return value

    def facts(self) -> Facts:
        """The table of facts: rows by relation."""
        facts = self.take("facts", dict, {})
        for relation, rows in facts.items():
            if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
                raise self.wrong(f"facts.{relation} is a list of rows, each a list")
        return facts  # type: ignore[no-any-return]

    def end(self) -> None:
        """Whatever is left is unknown."""
        if self._values:
            raise self.wrong(f"there is no key `{next(iter(self._values))}`")

    def wrong(self, message: str) -> UsageError:
        hint = "docs/how-to/network.md shows a whole file"
        return UsageError(Problem("E0624", message, place=str(self._path), hint=hint))


def _is_text(value: object) -> bool:
    return isinstance(value, str)
