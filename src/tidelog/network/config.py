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

Both may have `sticky`, `roots`, `functors` and a table `limits`, and that of a node `incarnation`, as for `Node`;
`functors` are names of modules or paths that end in ".py". Paths are relative to the file. The processes of
`network.local` take the keys of a node as a line of JSON from standard input instead, with the text of the program and
the secret itself, so that no secret is ever written to a disk.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from tidelog.errors import Problem, UsageError
from tidelog.functions.importing import is_file
from tidelog.network.limits import Limits

FactLists = Mapping[str, list[list[Any]]]


@dataclass(frozen=True, kw_only=True)
class _CommonConfig:
    """Settings that the nodes of a network share, and the facts that are there at the beginning."""

    sticky: bool = False
    roots: bool = True
    limits: Limits | None = None
    functors: tuple[str, ...] = ()
    facts: FactLists = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class NodeConfig(_CommonConfig):
    """Configuration of one node: `program` is a path or a text, `nodes` maps every name to address and public key."""

    name: str
    program: Path | str
    secret: str
    nodes: Mapping[str, tuple[str, str]]
    store: Path | None = None
    incarnation: int = 0


@dataclass(frozen=True)
class NetworkConfig(_CommonConfig):
    """Configuration of a network on one machine; `program` is a path or a text."""

    program: Path | str
    nodes: tuple[str, ...]


def node_config(path: Path) -> NodeConfig:
    """Return the configuration of a node. Raise UsageError (E0624), and OSError if a file cannot be read."""
    table = _Table.of_file(path)
    name, program, secret = (table.take(key, str) for key in ("name", "program", "secret"))
    store = table.take("store", str, "")
    return _node_config(
        table,
        name,
        path.parent / program,
        (path.parent / secret).read_text("utf-8").strip(),
        path.parent / store if store else None,
    )


def node_config_of_line(line: str) -> NodeConfig:
    """Return the configuration of a node from a line of JSON with the program and the secret in it. Raise UsageError
    (E0624)."""
    table = _Table.of_line(line)
    name, program, secret = (table.take(key, str) for key in ("name", "program", "secret"))
    return _node_config(table, name, program, secret, None)


def line_of(config: NodeConfig) -> str:
    """Return the line of JSON for a configuration whose program is a text, and which has no store."""
    nodes = {name: {"address": address, "key": key} for name, (address, key) in config.nodes.items()}
    values = {"name": config.name, "program": config.program, "secret": config.secret, "nodes": nodes}
    options = {"incarnation": config.incarnation, "sticky": config.sticky, "roots": config.roots}
    limits = config.limits.to_json() if config.limits is not None else {}
    limits = {name: value for name, value in limits.items() if value is not None}
    return json.dumps({**values, **options, "functors": config.functors, "limits": limits, "facts": config.facts})


def _node_config(table: _Table, name: str, program: Path | str, secret: str, store: Path | None) -> NodeConfig:
    nodes = {}
    for other, each in table.take("nodes", dict).items():
        if not isinstance(each, dict) or set(each) != {"address", "key"} or not all(map(_is_text, each.values())):
            raise table.wrong(f"nodes.{other} must have the two texts `address` and `key`, found {each!r}")
        nodes[other] = (each["address"], each["key"])
    if name not in nodes:
        raise table.wrong(f"the list of nodes lacks the node {name} itself")
    config = NodeConfig(
        name=name,
        program=program,
        secret=secret,
        nodes=nodes,
        store=store,
        incarnation=_incarnation(table),
        **table.common(),
    )
    table.end()
    return config


def _incarnation(table: _Table) -> int:
    value: int = table.take("incarnation", int, 0)
    if value < 0:
        raise table.wrong(f"`incarnation` must be 0 or more, found {value}")
    return value


def network_config(path: Path) -> NetworkConfig:
    """Return the configuration of a network on one machine. Raise UsageError (E0624)."""
    table = _Table.of_file(path)
    nodes = table.take("nodes", list)
    if not nodes or not all(map(_is_text, nodes)) or len(set(nodes)) != len(nodes):
        raise table.wrong(f"`nodes` must be a list of different names, found {nodes!r}")
    config = NetworkConfig(
        program=path.parent / table.take("program", str),
        nodes=tuple(nodes),
        **table.common(),
    )
    table.end()
    return config


class _Table:
    """Keys with their values, taken one by one; `place` is their place in the file."""

    def __init__(self, values: dict[str, Any], place: str, folder: Path = Path()) -> None:
        self._values = values
        self._place = place
        self._folder = folder

    @staticmethod
    def of_file(path: Path) -> _Table:
        table = _Table({}, str(path), path.parent)
        try:
            table._values = tomllib.loads(path.read_text("utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise table.wrong(f"the text is not TOML: {error}") from None
        return table

    @staticmethod
    def of_line(line: str) -> _Table:
        table = _Table({}, "<stdin>:1")
        try:
            table._values = json.loads(line)
        except ValueError as error:
            raise table.wrong(f"the text is not JSON: {error}") from None
        if not isinstance(table._values, dict):
            raise table.wrong(f"expected an object with the keys of a node, found {line.strip()}")
        return table

    def take(self, key: str, kind: type, default: Any = None) -> Any:
        """Return the value of a key, which must be present if it has no default."""
        value = self._values.pop(key, default)
        if type(value) is not kind:
            names = {str: "a text", bool: "true or false", list: "a list", dict: "a table", int: "a number"}
            raise self.wrong(f"`{key}` must be {names[kind]}, found {'nothing' if value is None else repr(value)}")
        return value

    def common(self) -> dict[str, Any]:
        """Return the settings that `_CommonConfig` has."""
        return {
            "sticky": self.take("sticky", bool, False),
            "roots": self.take("roots", bool, True),
            "limits": self._limits(),
            "functors": self._functors(),
            "facts": self._facts(),
        }

    def _limits(self) -> Limits | None:
        """Return the limits in the table of that name, or None without such a table."""
        values = self.take("limits", dict, {})
        known = [each.name for each in fields(Limits)]
        for key, value in values.items():
            if key not in known:
                raise self.wrong(f"unknown limit `{key}`; use one of {', '.join(known)}")
            if key in ("senders", "names") and not isinstance(value, list):
                raise self.wrong(f"limits.{key} must be a list of texts, found {value!r}")
        return Limits(**values) if values else None

    def _functors(self) -> tuple[str, ...]:
        """Return the list of modules with functions, their files as seen from here."""
        functors = self.take("functors", list, [])
        if not all(map(_is_text, functors)):
            raise self.wrong(f"`functors` must be a list of texts, found {functors!r}")
        return tuple(str(self._folder / each) if is_file(each) else each for each in functors)

    def _facts(self) -> FactLists:
        """Return the table of facts: rows by relation."""
        facts = self.take("facts", dict, {})
        for relation, rows in facts.items():
            if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
                raise self.wrong(f"facts.{relation} must be a list of rows, each of them a list")
        return facts  # type: ignore[no-any-return]

    def end(self) -> None:
        """Raise UsageError for the keys that are left."""
        if self._values:
            raise self.wrong(f"unknown key `{next(iter(self._values))}`")

    def wrong(self, message: str) -> UsageError:
        hint = "see docs/how-to/network.md for a complete file"
        return UsageError(Problem("E0624", message, place=self._place, hint=hint))


def _is_text(value: object) -> bool:
    return isinstance(value, str)
