"""Proofs for the Lean checker of Datalog proofs (github.com/knowsys/CertifyingDatalog), as its ordered graphs.

    {"graph": {"edges": [{"label": ATOM, "predecessors": [0, 1]}, …]},
     "program": [{"head": ATOM, "body": [ATOM, …]}, …]}
    ATOM = {"symbol": "reach", "terms": [{"constant": "1"}, {"variable": "?x"}]}

A step is an edge, after its premises. The program has the rules that the steps use, and each fact as a rule without a
body. A walk is written with the rules of its automaton: `reach@1` has the pairs that lead to its state 1.

    reach@1(?x, ?y) :- e(?x, ?y).    reach@1(?x, ?z) :- reach@1(?x, ?y), e(?y, ?z).    reach(?x, ?y) :- reach@1(?x, ?y).

The format is that of Datalog in the narrow sense. A step that needs more, a comparison or an absent tuple, is an error.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from tidelog.errors import Problem, UsageError
from tidelog.explain.instances import FlatRule, Premise
from tidelog.explain.steps import BoundRule, ProofStep, Walk
from tidelog.explain.walks import ASSERTED, WalkEdge
from tidelog.language.syntax import Atom, Value
from tidelog.semantics.values import normal
from tidelog.storage.record_text import value_text

JsonAtom: TypeAlias = dict[str, Any]


def lean_text(steps: Sequence[ProofStep]) -> str:
    """Return the steps of a proof as a JSON text. Raise UsageError (E0676) for a step that the format cannot have."""
    return json.dumps(_LeanGraph(steps).document, ensure_ascii=False)


class _LeanGraph:
    """The graph and the rules of a proof."""

    def __init__(self, steps: Sequence[ProofStep]) -> None:
        self.steps = steps
        self.edges: list[dict[str, Any]] = []
        self.rules: dict[str, dict[str, Any]] = {}
        self.places: list[int] = []
        """The edge of each step."""
        for step in steps:
            self.places.append(self.place(step))

    @property
    def document(self) -> dict[str, Any]:
        return {"graph": {"edges": self.edges}, "program": [*self.rules.values()]}

    def place(self, step: ProofStep) -> int:
        """Add a step, and return the number of its edge."""
        label = _ground(step.relation, step.values)
        below = [self.places[premise] for premise in step.premises]
        instance = step.instance
        if step.sort == "fact":
            return self.add(label, [], label, [])
        if isinstance(instance, BoundRule):
            head, body = _rule(step, instance.flat)
            return self.add(label, below, head, body)
        if isinstance(instance, Walk) and below:
            return self.walk(step, instance, below)
        if step.sort == "open":
            raise _no_form(step, "a limit was reached before it was explained")
        raise _no_form(step, "it is a walk of no steps")

    def add(self, label: JsonAtom, predecessors: list[int], head: JsonAtom, body: list[JsonAtom]) -> int:
        """Add an edge, and its rule if that is new; return the number of the edge."""
        rule = {"head": head, "body": body}
        self.rules.setdefault(json.dumps(rule), rule)
        self.edges.append({"label": label, "predecessors": predecessors})
        return len(self.edges) - 1

    def walk(self, step: ProofStep, walk: Walk, below: list[int]) -> int:
        """Add an edge for each tuple of a walk, from its beginning to there, and one for the whole of it."""
        name, start = step.relation, step.values[0]
        last: tuple[int, JsonAtom] | None = None
        for premise, place, taken in zip(step.premises, below, _run(step, walk, self.steps), strict=True):
            tuple_ = self.steps[premise]
            ends = (tuple_.values[0], tuple_.values[-1])
            node = ends[0] if taken.form == "backward" else ends[1]
            symbol = f"{name}@{taken.target}"
            if last is None:
                head, body = _atom(symbol, "xy"), [_edge_atom(taken, tuple_, "xy")]
                predecessors = [place]
            else:
                head, body = _atom(symbol, "xz"), [last[1], _edge_atom(taken, tuple_, "yz")]
                predecessors = [last[0], place]
            if taken.form == "loop":
                head = _atom(symbol, "xx" if last is None else "xy")
            last = self.add(_ground(symbol, (start, node)), predecessors, head, body), _atom(symbol, "xy")
        assert last is not None
        label = _ground(name, step.values)
        return self.add(label, [last[0]], _atom(name, "xy"), [last[1]])


def _run(step: ProofStep, walk: Walk, steps: Sequence[ProofStep]) -> list[WalkEdge]:
    """Return the edges of an automaton that a walk takes."""
    automaton = walk.automaton

    def as_well(state: int) -> frozenset[int]:
        return automaton.silent.get(state, frozenset()) | {state}

    reached: list[dict[tuple[Value, int], tuple[tuple[Value, int], WalkEdge] | None]] = [{(step.values[0], 0): None}]
    for premise in step.premises:
        values, relation = steps[premise].values, steps[premise].relation
        found: dict[tuple[Value, int], tuple[tuple[Value, int], WalkEdge] | None] = {}
        for place in reached[-1]:
            for edge in automaton.edges:
                ends = (values[-1], values[0]) if edge.form == "backward" else (values[0], values[-1])
                fits = edge.relation.removeprefix(ASSERTED) == relation and edge.source in as_well(place[1])
                if fits and ends[0] == place[0]:
                    found.setdefault((ends[1], edge.target), (place, edge))
        reached.append(found)
    place = next(each for each in reached[-1] if each[0] == step.values[1] and automaton.ends & as_well(each[1]))
    taken: list[WalkEdge] = []
    for level in reached[:0:-1]:
        before = level[place]
        assert before is not None
        place = before[0]
        taken.append(before[1])
    return taken[::-1]


def _edge_atom(edge: WalkEdge, step: ProofStep, ends: str) -> JsonAtom:
    """Return the atom of a step of a walk between two variables."""
    if edge.form == "loop":
        return _atom(step.relation, ends[0] * len(step.values))
    return _atom(step.relation, ends[::-1] if edge.form == "backward" else ends)


def _rule(step: ProofStep, flat: FlatRule) -> tuple[JsonAtom, list[JsonAtom]]:
    """Return the head and the body of a rule. Raise UsageError (E0676) if it has more than tuples."""
    for literal in flat.literals[1:]:
        if not isinstance(literal, Atom) or literal.relation in flat.read:
            raise _no_form(step, f"rule {flat.rule.name} has `{literal}`")
    return _premise(flat.head, flat), [_premise(each, flat) for each in flat.premises]


def _premise(premise: Premise, flat: FlatRule) -> JsonAtom:
    terms = [
        {"variable": f"?{flat.variables[source]}"}
        if isinstance(source, int)
        else {"constant": value_text(normal(source.value, kind))}
        for source, kind in zip(premise.arguments, premise.kinds, strict=True)
    ]
    return {"symbol": premise.relation, "terms": terms}


def _atom(symbol: str, variables: Iterable[str]) -> JsonAtom:
    return {"symbol": symbol, "terms": [{"variable": f"?{name}"} for name in variables]}


def _ground(symbol: str, values: Iterable[Value]) -> JsonAtom:
    return {"symbol": symbol, "terms": [{"constant": value_text(value)} for value in values]}


def _no_form(step: ProofStep, reason: str) -> UsageError:
    message = f"the Lean checker has no form for {step.tuple_text}: {reason}"
    hint = "it checks rules of tuples only; `proof.check()` checks the other ones"
    return UsageError(Problem("E0676", message, step.span, hint=hint))
