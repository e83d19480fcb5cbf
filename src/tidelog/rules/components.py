"""Strongly connected components."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def components(successors: Mapping[Node, Iterable[Node]]) -> list[list[Node]]:
    """Return the strongly connected components of a graph, each behind those that it leads to (Tarjan 1972).

    It does not recurse, so that long chains are no problem. Nodes without successors need no entry.
    """
    number: dict[Node, int] = {}
    low: dict[Node, int] = {}
    open_nodes: dict[Node, None] = {}
    found: list[list[Node]] = []
    for root in successors:
        if root in number:
            continue
        number[root] = low[root] = len(number)
        open_nodes[root] = None
        path = [(root, iter(successors.get(root, ())))]
        while path:
            node, rest = path[-1]
            successor = next(rest, None)
            if successor is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == number[node]:
                    found.append(_popped(open_nodes, node))
            elif successor not in number:
                number[successor] = low[successor] = len(number)
                open_nodes[successor] = None
                path.append((successor, iter(successors.get(successor, ()))))
            elif successor in open_nodes:
                low[node] = min(low[node], number[successor])
    return found


def _popped(open_nodes: dict[Node, None], last: Node) -> list[Node]:
    """Remove the nodes from the end up to `last` from `open_nodes`, and return them."""
    group = []
    while True:
        node, _ = open_nodes.popitem()
        group.append(node)
        if node == last:
            return group[::-1]
