"""Blank nodes of one version of a graph, matched with those of the next: what has not changed keeps its name.

Blank nodes get colours by what their triples say, round by round, as in the refinement that canonical forms begin with.
A node of the new version takes the name of one of the old version with the same colour. Any matching gives the new
version, up to the names of blank nodes; a good one gives a small change.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.common.arrays import Words

_ROUNDS = 64
"""Further than so many steps away, triples do not tell nodes apart."""
_TO, _FROM, _UNKNOWN = 0, 1, 2


def names_of(old: Words, new: Words, blank: set[int]) -> dict[int, int]:
    """Return for blank nodes of a new version the node of the old version that each one is. Triples are words, int64 of
    shape (n, 3); `blank` are the blank nodes among them, of which no version has one of the other."""
    triples = [tuple(row) for each in (old, new) for row in each.tolist()]
    near: dict[int, list[tuple[int, int, int]]] = {node: [] for node in blank}
    for subject, predicate, value in triples:
        if subject in near:
            near[subject].append((_TO, predicate, value))
        if value in near:
            near[value].append((_FROM, predicate, subject))
    colours = dict.fromkeys(near, 0)
    for _ in range(_ROUNDS):
        found = {node: hash(tuple(sorted(_seen(each, colours)))) for node, each in near.items()}
        stable = len(set(found.values())) == len(set(colours.values()))
        colours = found
        if stable:
            break
    before, after = (_by_colour(each, colours) for each in (old, new))
    return {
        node: name for colour, nodes in after.items() for node, name in zip(nodes, before.get(colour, ()), strict=False)
    }


def _seen(near: Iterable[tuple[int, int, int]], colours: dict[int, int]) -> Iterable[tuple[int, int, int, int]]:
    """Yield the triples of a node, blank nodes by their colours."""
    for way, predicate, other in near:
        yield (way + _UNKNOWN, predicate, 0, colours[other]) if other in colours else (way, predicate, 1, other)


def _by_colour(triples: Words, colours: dict[int, int]) -> dict[int, list[int]]:
    """Return the blank nodes of triples by colour."""
    found: dict[int, list[int]] = {}
    nodes = dict.fromkeys(word for column in (0, 2) for word in triples[:, column].tolist() if word in colours)
    for node in nodes:
        found.setdefault(colours[node], []).append(node)
    return found
