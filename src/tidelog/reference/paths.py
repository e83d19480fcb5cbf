"""The meaning of a path, by the algebra of binary relations: the specification of the rules in `tidelog.rules.paths`.

    a       the tuples of a            a/b   {(x, z) | (x, y) in a, (y, z) in b}
    ^p      {(y, x) | (x, y) in p}     p|q   the union
    p+      p, p/p, p/p/p, …           p*    p+ and {(v, v) | v a node}           p?   p and {(v, v) | v a node}

The nodes of a type are its values in the binary relations that no rule with a body derives.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from tidelog.language.syntax import Alternation, CheckedProgram, Inverse, Path, Repeat, Sequence, Step, Value
from tidelog.language.trees import atoms
from tidelog.semantics.values import Row

PathTables: TypeAlias = Mapping[str, set[Row]]


class WithPaths(Mapping[str, set[Row]]):
    """The tables of a program that only ever grow, and the pairs that its paths connect as they are now."""

    def __init__(self, tables: PathTables, checked: CheckedProgram) -> None:
        self.tables = tables
        self.derived = {head.relation for rule in checked.rules if rule.body for head in rule.heads}
        self.domains = checked.domains
        rules = (*checked.rules, *checked.subsumptions)
        found = (atom for rule in rules for atom in atoms((*rule.heads, *rule.body)))
        self.paths = {atom.relation: atom.path for atom in found if atom.path is not None}
        self.known: dict[str, tuple[int, set[Row]]] = {}

    def __getitem__(self, name: str) -> set[Row]:
        if name in self.tables:
            return self.tables[name]
        size = sum(map(len, self.tables.values()))
        if name not in self.known or self.known[name][0] != size:
            self.known[name] = size, self.pairs(self.paths[name])
        return self.known[name][1]

    def __iter__(self) -> Iterator[str]:
        return iter((*self.tables, *self.paths))

    def __len__(self) -> int:
        return len(self.tables) + len(self.paths)

    def pairs(self, path: Path) -> set[Row]:
        """Return the pairs that a path connects."""
        match path:
            case Step(relation=name):
                return set(self.tables[name])
            case Inverse(path=inner):
                return {(y, x) for x, y in self.pairs(inner)}
            case Sequence(parts=parts):
                found = self.pairs(parts[0])
                for part in parts[1:]:
                    found = compose_pairs(found, self.pairs(part))
                return found
            case Alternation(parts=parts):
                return set().union(*map(self.pairs, parts))
            case Repeat(path=inner, op=op):
                found = self.pairs(inner)
                found = found if op == "?" else closure(found)
                return found if op == "+" else found | {(node, node) for node in self.nodes(path.domain or "")}

    def nodes(self, domain: str) -> set[Value]:
        """Return the nodes of a type."""
        columns = [(name, position) for name, position in self.domains[domain] if name not in self.derived]
        return {row[position] for name, position in columns for row in self.tables[name]}


def compose_pairs(one: set[Row], other: set[Row]) -> set[Row]:
    """Return the pairs that lead from the one relation on through the other."""
    onward: dict[Value, list[Value]] = {}
    for y, z in other:
        onward.setdefault(y, []).append(z)
    return {(x, z) for x, y in one for z in onward.get(y, ())}


def closure(pairs: set[Row]) -> set[Row]:
    """Return the transitive closure."""
    found, new = set(pairs), set(pairs)
    while new:
        new = compose_pairs(new, pairs) - found
        found |= new
    return found
