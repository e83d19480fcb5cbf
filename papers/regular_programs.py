"""Regular Datalog programs: Section 2.1 of *Certified Graph View Maintenance with Regular Datalog* (Bonifati, Dumbrava
and Gallego Arias, 2018).

The classes are the grammar of Figure 1. A program is a clause map: each symbol has one clause, whose head are two terms
and whose body is a disjunction of conjunctions. `clause_map` makes it out of rules as one writes them, by Clark's
completion; before that it compiles the surface syntax of paths away:

    s⁻(X, Y)          s(Y, X)                            Section 2.2, before Definition 5
    s*(X, Y)          X = Y ∨ s⁺(X, Y)                   the same
    (r + s)(X, Y)     r(X, Y) ∨ s(X, Y)                  Section 2.3
    (r · s)(X, Y)     r(X, Z) ∧ s(Z, Y), Z fresh         the same

The paper puts ⁺ and * on symbols only. Here they may stand on any path: that gets a symbol of its own, the same one
wherever the path occurs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from itertools import product
from typing import TypeAlias

from tidelog.errors import Problem, ProgramError
from tidelog.language.syntax import Value

Node: TypeAlias = Value
"""n ∈ V."""


@dataclass(frozen=True)
class Variable:
    """x ∈ 𝒱."""

    name: str


Term: TypeAlias = "Node | Variable"
Pair: TypeAlias = tuple[Term, Term]


class Label(Enum):
    """L of the Coq code: the edges of a symbol, or their transitive closure."""

    SINGLE = ""
    PLUS = "+"


Symbol: TypeAlias = tuple[str, Label]
"""A symbol with its label: what graphs, updates and supports are indexed by."""


EQUAL = "="
"""t1 = t2 is a literal of this symbol, whose edges are (n, n) for each n ∈ V."""


@dataclass(frozen=True)
class Literal:
    """L: s(t1, t2), s⁺(t1, t2) or t1 = t2."""

    name: str
    arguments: Pair
    label: Label = Label.SINGLE

    @property
    def symbol(self) -> Symbol:
        return self.name, self.label


Body: TypeAlias = tuple[Literal, ...]
"""B, a conjunction."""


@dataclass(frozen=True)
class Clause:
    """C: (t1, t2) ← B1 ∨ … ∨ Bn."""

    head: Pair
    bodies: tuple[Body, ...] = ()


Program: TypeAlias = Mapping[str, Clause]
"""Π: a symbol that no rule derives has a clause without bodies."""


# --- the surface ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Inverse:
    path: Path


@dataclass(frozen=True)
class Plus:
    path: Path


@dataclass(frozen=True)
class Star:
    path: Path


@dataclass(frozen=True)
class Either:
    left: Path
    right: Path


@dataclass(frozen=True)
class Then:
    left: Path
    right: Path


Path: TypeAlias = str | Inverse | Plus | Star | Either | Then


@dataclass(frozen=True)
class Rule:
    """A rule as a user writes it: s(t1, t2) ← …, with a path between two terms for each literal; without a body it is a
    fact."""

    name: str
    head: Pair
    body: tuple[tuple[Path, Pair], ...] = ()


def clause_map(rules: Iterable[Rule], edges: Iterable[str]) -> Program:
    """Return the normal form of `rules` over the symbols `edges`, which have no rules (Section 2.1, below Definition
    2).

    Raises ProgramError if a variable of a head does not occur in each of its bodies: the clause would not be safe.
    """
    paths = _Paths()
    bodies: dict[str, list[Body]] = {name: [] for name in edges}
    for rule in rules:
        bodies.setdefault(rule.name, []).extend(_completed(rule.head, body) for body in paths.bodies(rule.body))
    bodies |= paths.defined
    program = {name: Clause(_HEAD, tuple(dict.fromkeys(some))) for name, some in bodies.items()}
    for name, clause in program.items():
        for body in clause.bodies:
            loose = set(clause.head) - {term for literal in body for term in literal.arguments}
            if loose:
                raise ProgramError(Problem("E0215", f"a clause of {name} is not safe: {body}"))
    return program


_HEAD: Pair = (Variable("x"), Variable("y"))


def _completed(head: Pair, body: Body) -> Body:
    """Return a body for the common head. The variables of `head` become those of the common one; a constant or a
    repeated variable becomes an equality. All other variables get names that differ from those of the head."""
    renamed: dict[Term, Term] = {}
    equalities = []
    for place, term in zip(_HEAD, head, strict=True):
        if isinstance(term, Variable) and term not in renamed:
            renamed[term] = place
        else:
            equalities.append(Literal(EQUAL, (renamed.get(term, term), place)))
    for literal in body:
        for term in literal.arguments:
            if isinstance(term, Variable) and term not in renamed:
                renamed[term] = Variable(f"{term.name}'")
    return (*equalities, *(replace(each, arguments=_mapped(renamed, each.arguments)) for each in body))


def _mapped(names: Mapping[Term, Term], pair: Pair) -> Pair:
    left, right = pair
    return names.get(left, left), names.get(right, right)


class _Paths:
    """Compiles paths away; `defined` has the symbols made for that, with their bodies."""

    def __init__(self) -> None:
        self.defined: dict[str, list[Body]] = {}
        self._names: dict[Path, str] = {}
        self._fresh = 0

    def bodies(self, literals: Iterable[tuple[Path, Pair]]) -> Iterator[Body]:
        """Yield the disjunctive normal form of a conjunction of paths."""
        for chosen in product(*(self._alternatives(path, ends) for path, ends in literals)):
            yield tuple(literal for body in chosen for literal in body)

    def _alternatives(self, path: Path, ends: Pair) -> list[Body]:
        match path:
            case str():
                return [(Literal(path, ends),)]
            case Inverse(inner):
                return self._alternatives(inner, ends[::-1])
            case Plus(inner):
                return [(Literal(self._name(inner), ends, Label.PLUS),)]
            case Star(inner):
                return [(Literal(EQUAL, ends),), *self._alternatives(Plus(inner), ends)]
            case Either(left, right):
                return [*self._alternatives(left, ends), *self._alternatives(right, ends)]
            case Then(left, right):
                self._fresh += 1
                middle = Variable(f"#{self._fresh}")
                first = self._alternatives(left, (ends[0], middle))
                second = self._alternatives(right, (middle, ends[1]))
                return [one + other for one in first for other in second]

    def _name(self, path: Path) -> str:
        """Return the symbol of a path under a closure."""
        if isinstance(path, str):
            return path
        if path not in self._names:
            name = self._names[path] = f"#path{len(self._names)}"
            self.defined[name] = [_completed(_HEAD, body) for body in self.bodies([(path, _HEAD)])]
        return self._names[path]
