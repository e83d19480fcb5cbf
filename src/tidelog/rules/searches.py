"""A path from one node is a search: relations of nodes, not of pairs.

`<a/b*>("x", Y)` needs the nodes that some way from "x" leads to. Pairs would hold each node once for each node before
it, so the rules of a search name nodes only:

    #search.1(y) :- #search(x), a(x, y).                          after a
    #search.2(y) :- #search.1(y).    #search.2(y) :- #search.3(y).
    #search.3(y) :- #search.2(x), b(x, y).                        after b, once or more often
    #search.4(y) :- #search.3(y).    #search.4(x) :- #search.1(x), #nodes.t(x).

`#search` holds the node that the search begins with. Each edge of the graph is followed once for each step of the path.
Existing relations of paths are searched for the pairs that begin, or end, in that node.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field

from tidelog.language.syntax import Column, Kind
from tidelog.rules.core import CoreAtom, CoreRule, CoreVariable, RelationInfo
from tidelog.rules.paths import NODES, PATH, Edge, Join, PathForm, Repetition, inverse

SEARCH = "#search"
"""The relation of the node that a search begins with."""

Columns = tuple[tuple[str, int], ...]
"""Relations and positions in them."""


@dataclass
class Search:
    """The rules of a search that begins with a node of this `kind`, and the relations of nodes that they derive, as far
    as they are made.

    `relations` are those that a path may go along, of which some are `kept`; `nodes` are by domain the columns whose
    values are the nodes that `*` and `?` lead to themselves.
    """

    relations: Mapping[str, RelationInfo]
    kept: Container[str]
    nodes: Mapping[str, Columns]
    kind: Kind
    rules: list[CoreRule] = field(default_factory=list)
    made: dict[str, RelationInfo] = field(init=False)

    def __post_init__(self) -> None:
        self.made = {SEARCH: _unary(SEARCH, self.kind)}

    def ends(self, form: PathForm, *, backward: bool) -> str:
        """Return the relation of the end nodes of the ways of `form` that begin in SEARCH; if `backward`, of the start
        nodes of ways to it."""
        return self._along(inverse(form) if backward else form, SEARCH)

    def pairs(self, name: str, ends: str, *, backward: bool) -> None:
        """Derive the relation `name` of the pairs of SEARCH and `ends`, turned round if `backward`."""
        start, end = CoreVariable("x", self.kind), CoreVariable("y", self._kind(ends))
        head = CoreAtom(name, (end, start) if backward else (start, end))
        self._leave(head, CoreAtom(SEARCH, (start,)), CoreAtom(ends, (end,)))

    def _along(self, form: PathForm, begin: str) -> str:
        for edge in form:
            begin = self._edge(edge, begin)
        return begin

    def _edge(self, edge: Edge, begin: str) -> str:
        made = edge.relation
        if isinstance(made, str):
            return self._step(made, edge.backward, begin)
        if begin == SEARCH and self._is_kept(name := f"{PATH}{made.text}"):
            return self._step(name, edge.backward, begin)
        if isinstance(made, Join):
            return self._along(inverse(made.form) if edge.backward else made.form, begin)
        if isinstance(made, Repetition):
            return self._closure(made, inverse(made.form) if edge.backward else made.form, begin)
        reached = [self._along(inverse(form) if edge.backward else form, begin) for form in made.forms]
        found = self._fresh(self._kind(reached[0]))
        for each in reached:
            self._add(found, each)
        return found

    def _step(self, relation: str, backward: bool, begin: str) -> str:
        columns = self.relations[relation].columns
        ends = CoreVariable("x", columns[0].kind), CoreVariable("y", columns[1].kind)
        before, after = reversed(ends) if backward else ends
        found = self._fresh(after.kind)
        self._leave(CoreAtom(found, (after,)), CoreAtom(begin, (before,)), CoreAtom(relation, ends))
        return found

    def _closure(self, closure: Repetition, form: PathForm, begin: str) -> str:
        before = begin
        if closure.op != "?":
            before = self._fresh(self._kind(begin))
            self._add(before, begin)
        after = self._along(form, before)
        if closure.op != "?":
            self._add(before, after)
        if closure.domain is None:
            return after
        found = self._fresh(self._kind(begin))
        self._add(found, after)
        node = CoreVariable("x", self._kind(begin))
        for atom in self._nodes(closure.domain, node):
            self._leave(CoreAtom(found, (node,)), CoreAtom(begin, (node,)), atom)
        return found

    def _is_kept(self, name: str) -> bool:
        return name in self.relations and name in self.kept

    def _nodes(self, domain: str, node: CoreVariable) -> list[CoreAtom]:
        """Return atoms one of which holds for every node of a domain."""
        if self._is_kept(f"{NODES}{domain}"):
            return [CoreAtom(f"{NODES}{domain}", (node,))]
        atoms = []
        for relation, position in self.nodes.get(domain, ()):
            other = CoreVariable("y", self.relations[relation].columns[1 - position].kind)
            atoms.append(CoreAtom(relation, (other, node) if position else (node, other)))
        return atoms

    def _add(self, found: str, more: str) -> None:
        """Let `found` have the nodes that `more` has."""
        node = CoreVariable("x", self._kind(more))
        self._leave(CoreAtom(found, (node,)), CoreAtom(more, (node,)))

    def _leave(self, head: CoreAtom, *body: CoreAtom) -> None:
        self.rules.append(CoreRule(f"{head.relation}#{len(self.rules)}", SEARCH, head, body))

    def _kind(self, name: str) -> Kind:
        return self.made[name].columns[0].kind

    def _fresh(self, kind: Kind) -> str:
        name = f"{SEARCH}.{len(self.made)}"
        self.made[name] = _unary(name, kind)
        return name


def _unary(name: str, kind: Kind) -> RelationInfo:
    return RelationInfo(name, (Column("x", kind, kind),), auxiliary=True)
