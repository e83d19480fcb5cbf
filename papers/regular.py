"""The engine of *Certified Graph View Maintenance with Regular Datalog* (Bonifati, Dumbrava and Gallego Arias, 2018).

Definitions and sections in comments are the paper's, names in parentheses those of its Coq code; programs and their
normal form are in `regular_programs`. The views of a stratified program, which recurs through closures of symbols only,
are maintained in one pass over the strata: a clause is evaluated from the changes of what it reads where that is
possible (Definition 11), and anew where something that it reads loses edges.

Where the paper leaves a choice:

- V and Σ are fixed. An equality of two variables that nothing else binds ranges over V.
- Supports, processed symbols and `symbols` of an update are sets of symbols with their labels, as `s ∪ s⁺ ∪ Σ▷` in
  `fwd_program` has it: an edge of s that goes while s⁺ loses nothing is no deletion for a clause that reads s⁺ alone.
- `compute_closures` may be any algorithm (Section 3.1); here it is the naive one.
- Theorem 1 wants an update of edges to say what becomes of their closures: `edge_update` sees to that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from enum import Enum
from itertools import product
from typing import TypeAlias

from papers.regular_programs import EQUAL, Body, Clause, Label, Literal, Node, Program, Symbol, Term, Variable
from tidelog.errors import Problem, ProgramError

Edge: TypeAlias = tuple[Node, Node]
Edges: TypeAlias = frozenset[Edge]
Graph: TypeAlias = Mapping[Symbol, Edges]
"""(lrel) For each symbol its edges, and under the label PLUS their transitive closure; absent symbols have none."""
Substitution: TypeAlias = Mapping[Variable, Node]

NONE: Edges = frozenset()


# --- updates: Section 3.1 ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Update:
    """(edelta) Definition 7: insertions and deletions, which are disjoint; ValueError if they are not."""

    inserted: Graph = field(default_factory=dict)
    deleted: Graph = field(default_factory=dict)

    def __post_init__(self) -> None:
        for symbol, edges in self.inserted.items():
            if edges & self.deleted.get(symbol, NONE):
                raise ValueError(f"edges of {symbol} are inserted and deleted")

    def modified(self, symbol: Symbol, inserted: Edges, deleted: Edges) -> Update:
        """Return, by Definition 8, Δ{s → (g₊, g₋)}."""
        return Update({**self.inserted, symbol: inserted}, {**self.deleted, symbol: deleted - inserted})

    @property
    def symbols(self) -> set[Symbol]:
        """Return sym(Δ)."""
        return symbols(self.inserted) | symbols(self.deleted)


def symbols(graph: Graph) -> set[Symbol]:
    """Return the symbols that have edges."""
    return {symbol for symbol, edges in graph.items() if edges}


def applied(graph: Graph, update: Update) -> Graph:
    """Return, by Definition 8, 𝒢 :+: Δ ≡ 𝒢 ∖ Δ₋ ∪ Δ₊."""
    return {
        symbol: graph.get(symbol, NONE) - update.deleted.get(symbol, NONE) | update.inserted.get(symbol, NONE)
        for symbol in {**graph, **update.inserted}
    }


def edge_update(graph: Graph, insert: Mapping[str, Iterable[Edge]], delete: Mapping[str, Iterable[Edge]]) -> Update:
    """Return the update of a graph by inserted and deleted edges, with the changes of the closures. An edge in both is
    inserted."""
    update = Update()
    for name in {**insert, **delete}:
        symbol = name, Label.SINGLE
        update = update.modified(symbol, frozenset(insert.get(name, ())), frozenset(delete.get(name, ())))
        update = compute_closures(graph, update, name)
    return update


def compute_closures(graph: Graph, update: Update, name: str) -> Update:
    """(compute_closures) Return Δ with the changes of s⁺."""
    edges = applied(graph, update).get((name, Label.SINGLE), NONE)
    return _towards(graph, update, (name, Label.PLUS), closure(edges))


def closure(edges: Edges) -> Edges:
    """(is_closure, Section 2.2) Return the pairs that a path of one edge or more connects."""
    while True:
        longer = edges | {(x, z) for x, y in edges for other, z in edges if y == other}
        if longer == edges:
            return edges
        edges = longer


def _towards(graph: Graph, update: Update, symbol: Symbol, wanted: Edges) -> Update:
    """Return Δ{s → 𝒢(s) ⊖ wanted}, so that 𝒢 :+: Δ has these edges for the symbol."""
    present = graph.get(symbol, NONE)
    return update.modified(symbol, wanted - present, present - wanted)


# --- matching: Sections 3.2 and 3.4 -----------------------------------------------------------------------------------


class Mask(Enum):
    """The graph that a literal is matched against: the base, the update, or both."""

    BASE = "B"
    DELTA = "D"
    FULL = "F"


def match_literal(graph: Graph, literal: Literal, substitution: Substitution) -> Iterator[Substitution]:
    """(match_lit) M^L: return the extensions of a substitution that satisfy a literal."""
    for edge in graph.get(literal.symbol, NONE):
        extended = dict(substitution)
        if all(
            extended.setdefault(term, node) == node if isinstance(term, Variable) else term == node
            for term, node in zip(literal.arguments, edge, strict=True)
        ):
            yield extended


def match_body(graph: Graph, body: Body) -> list[Substitution]:
    """(match_body) M^B: return the nested-loop join of a conjunction, as a fold over its literals."""
    found: list[Substitution] = [{}]
    for literal in body:
        found = [longer for shorter in found for longer in match_literal(graph, literal, shorter)]
    return found


def match_delta_literal(
    graph: Graph, update: Update, mask: Mask, literal: Literal, substitution: Substitution
) -> Iterator[Substitution]:
    """(match_delta_atom) Return M^{A,m}."""
    if mask in {Mask.BASE, Mask.FULL}:
        yield from match_literal(graph, literal, substitution)
    if mask in {Mask.DELTA, Mask.FULL}:
        yield from match_literal(update.inserted, literal, substitution)


def body_mask(body: Body) -> list[tuple[Mask, ...]]:
    """(body_mask) Return the diagonal factoring: before the D of a row all literals are B, behind it all are F."""
    size = len(body)
    return [(Mask.BASE,) * i + (Mask.DELTA,) + (Mask.FULL,) * (size - i - 1) for i in range(size)]


def match_delta_body(graph: Graph, update: Update, body: Body, masks: Sequence[Mask]) -> list[Substitution]:
    """(match_delta_body) Return M^B of a decorated body."""
    found: list[Substitution] = [{}]
    for literal, mask in zip(body, masks, strict=True):
        found = [s for shorter in found for s in match_delta_literal(graph, update, mask, literal, shorter)]
    return found


def grounded(clause: Clause, substitutions: Iterable[Substitution]) -> Edges:
    """Return the heads σ(t1, t2)."""
    left, right = clause.head
    return frozenset((_node(left, substitution), _node(right, substitution)) for substitution in substitutions)


def _node(term: Term, substitution: Substitution) -> Node:
    return substitution[term] if isinstance(term, Variable) else term


# --- clauses ----------------------------------------------------------------------------------------------------------


def base(graph: Graph, update: Update, name: str, clause: Clause) -> Update:
    """(fwd_or_clause_base) Definition 9: return all that follows from 𝒢 :+: Δ, as a difference."""
    full = applied(graph, update)
    consequences = grounded(clause, [s for body in clause.bodies for s in match_body(full, body)])
    return _towards(full, update, (name, Label.SINGLE), consequences)


def delta(graph: Graph, update: Update, name: str, clause: Clause) -> Update:
    """(fwd_or_clause_delta) Definition 11, the second case: return all that follows by at least one inserted edge."""
    matched = [
        substitution
        for body in clause.bodies
        for masks in body_mask(body)
        for substitution in match_delta_body(graph, update, body, masks)
    ]
    return update.modified((name, Label.SINGLE), grounded(clause, matched), NONE)


def clause_update(graph: Graph, support: Set[Symbol], update: Update, name: str, clause: Clause) -> Update:
    """(fwd_or_clause) Definition 11: evaluate incrementally a symbol of the support whose body loses nothing."""
    reads = {literal.symbol for body in clause.bodies for literal in body}
    if (name, Label.SINGLE) not in support or reads & symbols(update.deleted):
        return base(graph, update, name, clause)
    return delta(graph, update, name, clause)


# --- programs ---------------------------------------------------------------------------------------------------------


def maintain(program: Program, graph: Graph, support: Set[Symbol], update: Update, todo: Sequence[str]) -> Update:
    """(fwd_program) T^Π: evaluate along the strata `todo`, each after all that it reads.

    By Theorem 1, 𝒢 :+: Δ is a model of the program if 𝒢 is one up to the support, and 𝒢 :+: Δ one of all that is not in
    `todo`. The symbols Σ▷ that are done are an argument for the proof only.
    """
    for name in todo:
        update = clause_update(graph, support, update, name, program[name])
        update = compute_closures(graph, update, name)
    return update


def strata(program: Program) -> list[str]:
    """(is_strata) Definition 12: return the symbols with bodies, each behind those that it reads.

    Raises ProgramError if there is no such order: a clause that reads what it derives has to be a closure.
    """
    order: list[str] = []
    todo = {name: clause for name, clause in program.items() if clause.bodies}
    while todo:
        ready = [name for name, clause in todo.items() if not reads(clause) & todo.keys()]
        if not ready:
            raise ProgramError(Problem("E0301", f"recursion other than by closures: {', '.join(sorted(todo))}"))
        order += ready
        todo = {name: clause for name, clause in todo.items() if name not in ready}
    return order


def reads(clause: Clause) -> set[str]:
    """Return sym(C), without labels."""
    return {literal.name for body in clause.bodies for literal in body}


class Views:
    """A graph that repeated calls of the engine keep a model of a program (Section 3.1).

    `update` is what the last call returned, ΔO. The support is Σ_E at first, and Σ once all has been computed.
    """

    def __init__(self, program: Program, nodes: Iterable[Node], edges: Mapping[str, Iterable[Edge]]) -> None:
        equal = frozenset((node, node) for node in nodes)
        self.program = program
        self.todo = strata(program)
        self.graph: Graph = {(EQUAL, label): equal for label in Label}
        self.support = {(name, label) for name in program.keys() - set(self.todo) for label in Label}
        self.epoch(edges, {})
        self.support = {(name, label) for name in program for label in Label}

    def epoch(self, insert: Mapping[str, Iterable[Edge]], delete: Mapping[str, Iterable[Edge]]) -> None:
        """Insert and delete edges of symbols without bodies, and maintain all others."""
        update = edge_update(self.graph, insert, delete)
        self.update = maintain(self.program, self.graph, self.support, update, self.todo)
        self.graph = applied(self.graph, self.update)

    def __getitem__(self, name: str) -> Edges:
        return self.graph.get((name, Label.SINGLE), NONE)


# --- what a program means: Section 2.2 --------------------------------------------------------------------------------


def well_formed(graph: Graph) -> bool:
    """(wfG) Return True if every stored closure is one."""
    names = {name for name, _ in graph}
    return all(closure(graph.get((name, Label.SINGLE), NONE)) == graph.get((name, Label.PLUS), NONE) for name in names)


def satisfied(graph: Graph, name: str, clause: Clause) -> bool:
    """(sTc) Definition 5, over all groundings: return True if the head holds whenever a body holds."""
    nodes = [node for node, _ in graph[EQUAL, Label.SINGLE]]
    for body in clause.bodies:
        terms = [*clause.head, *(term for literal in body for term in literal.arguments)]
        variables = list(dict.fromkeys(term for term in terms if isinstance(term, Variable)))
        for chosen in product(nodes, repeat=len(variables)):
            grounding = dict(zip(variables, chosen, strict=True))
            holds = all(_ground(literal.arguments, grounding) in graph.get(literal.symbol, NONE) for literal in body)
            if holds and _ground(clause.head, grounding) not in graph.get((name, Label.SINGLE), NONE):
                return False
    return True


def is_model(graph: Graph, program: Program) -> bool:
    """(sTp) Definition 6: return True if the graph is a model."""
    return well_formed(graph) and all(satisfied(graph, name, clause) for name, clause in program.items())


def _ground(arguments: tuple[Term, Term], grounding: Substitution) -> Edge:
    left, right = arguments
    return _node(left, grounding), _node(right, grounding)
