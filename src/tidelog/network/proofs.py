"""From the reasons of nodes to a proof in the user's words: a step for each tuple of the user's relations.

Nodes that answer at different moments may give reasons that rest on each other. No tuple of a proof is below itself:
where it would be, it is open, as it is where no reason has come or the reasons show no instance of a rule.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.errors import Problem, UsageError
from tidelog.explain.proof import Proof
from tidelog.explain.steps import BoundRule, ProofStep, Walk
from tidelog.functions.callables import GivenFunctions
from tidelog.network.bases import Bases, shown_fact
from tidelog.network.inquiry import Asked, Inquiry
from tidelog.network.messages import NodeReason
from tidelog.network.rule_instances import DerivingInstance, PathWalk, UserRules
from tidelog.storage.record_text import row_text


def proof_of(inquiry: Inquiry, given: GivenFunctions) -> Proof:
    """Return the proof that the reasons of an inquiry show; rules call the functions `given`. Raise UsageError (E0670)
    if the node of the tuple says that it does not hold."""
    node, fact = inquiry.goal
    reason = inquiry.reasons.get(inquiry.goal)
    if reason is not None and reason.sort == "missing":
        message = f"{row_text(*shown_fact(fact, inquiry.program))} does not hold at node {node}"
        raise UsageError(Problem("E0670", message, hint="ask again when the network is quiet"))
    return _Proving(inquiry, given).proof()


class _Proving:
    """One proof in the making."""

    def __init__(self, inquiry: Inquiry, given: GivenFunctions) -> None:
        self.goal = inquiry.goal
        self.program = inquiry.program
        self.bases = Bases(inquiry)
        self.instances = UserRules(inquiry.checked, inquiry.program, given)
        self.written = {rule.name: rule for rule in inquiry.checked.texts if rule.name is not None}
        self.steps: list[ProofStep] = []
        self.numbers: dict[Asked, int] = {}

    def proof(self) -> Proof:
        """Return the proof of the goal, premises first."""
        waiting: list[tuple[Asked, DerivingInstance | None]] = [(self.goal, None)]
        active: set[Asked] = set()
        while waiting:
            asked, instance = waiting.pop()
            if instance is not None:
                active.discard(asked)
                self.numbers[asked] = self._derived(asked, instance)
            elif asked not in self.numbers and asked not in active:
                found = self._instance(asked)
                if isinstance(found, ProofStep):
                    self.numbers[asked] = self._add(found)
                    continue
                active.add(asked)
                waiting.append((asked, found))
                waiting += [(premise, None) for premise in reversed([*found.needed])]
        return Proof(tuple(self.steps))

    def _instance(self, asked: Asked) -> DerivingInstance | ProofStep:
        """Return the instance that derives a tuple, or the step of a tuple that has none."""
        node, reason = self.bases.source(asked)
        relation, values = shown_fact(asked[1], self.program)
        if not isinstance(reason, NodeReason):
            return ProofStep(relation, values, "open", node=node, gap=reason)
        if reason.sort == "asserted":
            return ProofStep(relation, values, "fact", node=node)
        basis = self.bases.of(node, reason)
        gap = basis.gap or f"the reason that node {node} gives does not fit the rules"
        try:
            found = self.instances.of(self.program.rule_of[reason.rule].origin, relation, values, basis)
        except UsageError as error:
            found, gap = None, error.problems[0].message
        return found or ProofStep(relation, values, "open", node=node, gap=gap)

    def _derived(self, asked: Asked, instance: DerivingInstance) -> int:
        """Add the step of an instance whose premises have steps."""
        node, reason = self.bases.source(asked)
        assert isinstance(reason, NodeReason)
        premises = tuple(
            self._walk(each) if isinstance(each, PathWalk) else self._number(each) for each in instance.premises
        )
        flat, bound = instance.flat, BoundRule(instance.flat, instance.values)
        rule = self.written.get(flat.rule.name or "", flat.rule)
        step = ProofStep(
            *shown_fact(asked[1], self.program),
            "rule",
            flat.rule.name,
            str(rule),
            rule.span,
            bound.written,
            premises,
            instance.conditions,
            self._height(premises),
            instance=bound,
            node=node,
            version=reason.version,
        )
        return self._add(step)

    def _walk(self, path: PathWalk) -> int:
        """Add the step of a walk."""
        premises, made = tuple(map(self._number, path.edges)), Walk(path.relation, path.automaton)
        height = self._height(premises)
        return self._add(ProofStep(path.relation, path.ends, "walk", premises=premises, height=height, instance=made))

    def _number(self, asked: Asked) -> int:
        """Return the number of the step of a premise. One without a step is above itself."""
        if asked in self.numbers:
            return self.numbers[asked]
        gap = "the reasons that nodes give rest on each other"
        return self._add(ProofStep(*shown_fact(asked[1], self.program), "open", node=asked[0], gap=gap))

    def _add(self, step: ProofStep) -> int:
        self.steps.append(step)
        return len(self.steps) - 1

    def _height(self, premises: Iterable[int]) -> int:
        return 1 + max((self.steps[number].height for number in premises), default=0)
