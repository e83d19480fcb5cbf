"""Compares the engine of Regular Datalog that is proved in Coq with the reference in Python, on random programs.

    python -m proofs.regular_reference > RegularReference.v

Writes a Coq file: the clause maps of random rules, updates of their given symbols, and after each call of the engine
what `papers.regular` has for every symbol and its closure. That the engine of RegularEngine.v has the same,
with deletions maintained and recomputed, is for Coq to compute; where it is not so, the file does not compile.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping

from papers.regular import NONE, Edge, Views
from papers.regular_programs import EQUAL, Clause, Label, Literal, Program, Term, Variable, clause_map
from tests.papers.test_regular import GIVEN, SOME_NODES, random_rules, some_edges
from tests.suite import FIRST_SEED

PROGRAMS, CALLS = 24, 4

HEAD = f"""(** Written by proofs/regular_reference.py. *)

#[local] Set Warnings "-notation-overridden".
From mathcomp Require Import all_ssreflect.
From Tidelog Require Import RegularPrograms RegularEngine.

Notation edges := (edges nat_eqType).
Notation program := (program nat_eqType nat_eqType).
Notation graph := (graph nat_eqType nat_eqType).
Notation changes := (seq (nat * (edges * edges))).

Definition nodes : seq nat := [:: {"; ".join(map(str, SOME_NODES))}].
Definition nothing : graph := fun _ _ => [::].

(** The graph after a first call, with the given symbols as support, and later ones with all. *)
Definition views (deletions : bool) (P : program) (given derived : seq nat) (history : seq changes) : graph :=
  if history is first :: later then
    let D := edge_update (@naive_closure _) nothing first in
    foldl (epoch nodes (@naive_closure _) deletions P given derived)
      (nothing :+: maintain nodes (@naive_closure _) deletions P nothing given D derived) later
  else nothing.

Definition same (G : graph) (expected : seq (nat * label * edges)) : bool :=
  all (fun symbol => perm_eq (undup (G symbol.1.1 symbol.1.2)) symbol.2) expected.

Definition agrees (P : program) (given derived : seq nat) (history : seq changes) expected : bool :=
  all (fun deletions => same (views deletions P given derived history) expected) [:: true; false].
"""


def listed(items: Iterable[object]) -> str:
    texts = [str(item) for item in items]
    return f"[:: {'; '.join(texts)}]" if texts else "[::]"


def edges_text(edges: Iterable[Edge]) -> str:
    return listed(f"({x}, {y})" for x, y in sorted(edges))


def clause_text(clause: Clause, numbers: Mapping[str, int]) -> str:
    variables: dict[Variable, int] = {}

    def pair(terms: tuple[Term, Term]) -> str:
        left, right = (
            f"Var {variables.setdefault(term, len(variables))}" if isinstance(term, Variable) else f"Node {term}"
            for term in terms
        )
        return f"({left}, {right})"

    def literal(some: Literal) -> str:
        if some.name == EQUAL:
            return f"Equal {pair(some.arguments)}"
        return f"Edge {numbers[some.name]} {label_text(some.label)} {pair(some.arguments)}"

    return f"Clause {pair(clause.head)} {listed(listed(map(literal, body)) for body in clause.bodies)}"


def label_text(label: Label) -> str:
    return "Plus" if label is Label.PLUS else "Single"


def program_text(name: str, program: Program, numbers: Mapping[str, int]) -> Iterator[str]:
    yield f"Definition {name} : program := fun s => match s with"
    for symbol, clause in program.items():
        yield f"  | {numbers[symbol]} => {clause_text(clause, numbers)}"
    yield "  | _ => Clause (Var 0, Var 1) [::]"
    yield "  end."


def case(seed: int) -> Iterator[str]:
    """Yield a program, and an example for the state after each call."""
    rng = random.Random(seed)
    program = clause_map(random_rules(rng), GIVEN)
    numbers = {symbol: number for number, symbol in enumerate(program)}
    views = Views(program, SOME_NODES, {})
    yield from program_text(f"P{seed}", program, numbers)
    given, derived = listed(numbers[name] for name in GIVEN), listed(numbers[name] for name in views.todo)
    history = []
    for call in range(CALLS):
        insert = {name: some_edges(rng, 2 if call else 6) for name in GIVEN if not call or rng.random() < 0.5}
        delete = {name: some_edges(rng, 2) for name in GIVEN if rng.random() < 0.5} if call % 2 else {}
        views.epoch(insert, delete)
        history.append(
            listed(
                f"({numbers[name]}, ({edges_text(insert.get(name, ()))}, {edges_text(delete.get(name, ()))}))"
                for name in {**insert, **delete}
            )
        )
        expected = listed(
            f"({number}, {label_text(label)}, {edges_text(views.graph.get((name, label), NONE))})"
            for name, number in numbers.items()
            for label in Label
        )
        yield f"Example P{seed}_{call} : agrees P{seed} {given} {derived}\n  {listed(history)}\n  {expected}."
        yield "Proof. by vm_compute. Qed."


def main() -> None:
    print(HEAD)
    for seed in range(FIRST_SEED, FIRST_SEED + PROGRAMS):
        print("\n".join(case(seed)), end="\n\n")


if __name__ == "__main__":
    main()
