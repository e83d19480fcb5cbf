"""The steps of proofs: a tuple, and why it holds, in the words of the program."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from tidelog.common.source import Span
from tidelog.errors import position
from tidelog.explain.instances import FlatRule
from tidelog.explain.walks import Automaton
from tidelog.language.syntax import Value
from tidelog.storage.record_text import row_text

StepSort: TypeAlias = Literal["fact", "rule", "walk", "axiom", "open"]
RowOf: TypeAlias = tuple[str, tuple[Value, ...]]
"""A relation and a tuple of it."""
Facts: TypeAlias = tuple[RowOf, ...]
"""Facts: relation and tuple."""


@dataclass(frozen=True)
class Condition:
    """A literal of a body that is no tuple, with values for variables: a comparison, a negation, an aggregate."""

    sort: Literal["comparison", "negation", "aggregate"]
    text: str
    members: int | None = None
    """Of an aggregate: the number of its members; None if a limit was reached."""
    first: tuple[str, ...] = ()
    """The first of them, in the order of their values."""
    witness: tuple[int, ...] = ()
    """Of a `min`, a `max`, an `any` or an `argmin`: the steps of a member that gives it its value."""
    absent: tuple[str, tuple[Value, ...]] | None = None
    """Of a negation: the tuple that does not hold, so that `db.why_not(*absent)` says why; None if it has a `_`."""
    node: str | None = None
    """In a network: the node that says so."""

    @property
    def is_open(self) -> bool:
        """Return True if a limit was reached before the members of an aggregate were counted."""
        return self.sort == "aggregate" and self.members is None

    @property
    def line(self) -> str:
        """Return the condition as a proof prints it, with the members of an aggregate."""
        notes = [] if self.node is None else [f"node {self.node}"]
        if self.is_open:
            notes.append("members not counted: a limit was reached")
        elif self.members is not None:
            first = ", ".join([*self.first, *(["…"] if self.members > len(self.first) else [])])
            count = f"{self.members:,} member{'' if self.members == 1 else 's'}"
            notes.append(f"{count}: {first}" if self.first else count)
        return f"{self.text}   [{', '.join(notes)}]" if notes else self.text

    def to_dict(self) -> dict[str, Any]:
        """Return the condition as JSON has it."""
        found: dict[str, Any] = {"sort": self.sort, "text": self.text}
        if self.sort == "aggregate":
            found |= {"members": self.members, "first": list(self.first), "witness": list(self.witness)}
        if self.absent is not None:
            found["absent"] = [self.absent[0], list(self.absent[1])]
        return found if self.node is None else {**found, "node": self.node}


def as_it_is(relation: str, values: tuple[Value, ...]) -> RowOf:
    """Return a relation and a tuple."""
    return relation, values


def as_said(condition: Condition) -> Condition:
    """Return a condition."""
    return condition


@dataclass(frozen=True)
class BoundRule:
    """An instance of a rule, with values for all its variables: what a step is checked by. `row` says under which
    relation and values the steps have a tuple of the program, `words` how they show a condition."""

    flat: FlatRule
    values: Mapping[str, Any]
    row: Callable[[str, tuple[Value, ...]], RowOf] = as_it_is
    words: Callable[[Condition], Condition] = as_said

    @property
    def written(self) -> Mapping[str, Any]:
        """Return the values of the variables that the program has written."""
        values, written = self.values, self.flat.written
        return values if len(written) == len(values) else {name: values[name] for name in written}


@dataclass(frozen=True)
class Walk:
    """The automaton that the walks of a relation, or of a path, follow; `row` as in BoundRule."""

    relation: str
    automaton: Automaton
    row: Callable[[str, tuple[Value, ...]], RowOf] = as_it_is


class OwnCheck(ABC):
    """Another way to check a step: by a rule that the program does not have as it is shown."""

    @abstractmethod
    def wrong(self, step: ProofStep, below: Sequence[ProofStep]) -> str:
        """Return what is wrong with a step that has these premises, "" if nothing is."""


@dataclass(frozen=True)
class Removal:
    """Facts, or rules by name, without which a tuple would not hold."""

    facts: Facts
    rules: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the facts or rules as text, each on a line."""
        facts = (row_text(relation, values) for relation, values in self.facts)
        return "\n".join([*facts, *self.rules])


@dataclass(frozen=True)
class ProofStep:
    """A tuple and why it holds.

    An asserted "fact" needs nothing else. A "rule" derives the tuple from `premises`, the numbers of earlier steps,
    under `conditions`, with values for the variables that the program has written. A "walk" leads along its premises
    from the first value to the second. An "axiom" is a fact that takes several, those of its premises. An "open" step
    has not been explained: the `gap` says why, None stands for a limit that was reached. `is_candidate` says that the
    tuple is one that its relation, which selects, does not show: `better` is one that it prefers. Of a tuple that a
    choice shows, `rivals` is the number of other candidates that it could show in its place, and `first_rivals` are the
    first of them.
    """

    relation: str
    values: tuple[Value, ...]
    sort: StepSort
    rule: str | None = None
    text: str | None = None
    """The rule as it is written."""
    span: Span | None = field(default=None, compare=False, repr=False)
    variables: Mapping[str, Value] = field(default_factory=dict)
    premises: tuple[int, ...] = ()
    conditions: tuple[Condition, ...] = ()
    height: int = 0
    is_candidate: bool = False
    better: tuple[Value, ...] | None = None
    rivals: int = 0
    first_rivals: tuple[tuple[Value, ...], ...] = ()
    instance: BoundRule | Walk | OwnCheck | None = field(default=None, compare=False, repr=False)
    node: str | None = None
    """In a network: the node that asserts or derives the tuple, or that did not answer."""
    version: int = 0
    """Of a rule that has travelled in a network: its version at that node."""
    gap: str | None = None

    @property
    def tuple_text(self) -> str:
        """Return the tuple as text: `edge(1, "a")`."""
        return row_text(self.relation, self.values)

    @property
    def reason(self) -> str:
        """Return in a few words why the tuple holds, and that its relation does not show it or could show others."""
        reason = self._reason
        if self.is_candidate:
            reason += ", not shown by its selection"
            reason += "" if self.better is None else f": {row_text(self.relation, self.better)} is preferred"
        if self.rivals:
            first = ", ".join(row_text(self.relation, values) for values in self.first_rivals)
            reason += f", chosen before {first}"
            more = self.rivals - len(self.first_rivals)
            reason += f" and {more:,} others" if more > 1 else " and one other" if more else ""
        return reason

    @property
    def _reason(self) -> str:
        match self.sort:
            case "fact":
                return f"fact{self._at}"
            case "walk":
                return f"a walk of {len(self.premises)} step{'' if len(self.premises) == 1 else 's'}"
            case "axiom":
                return "axiom"
            case "open":
                return f"not explained: {self.gap or 'a limit was reached'}"
        rule = "its declaration" if self.rule is not None and self.rule.startswith("#") else self.rule
        if self.version:
            return f"{rule} version {self.version}{self._at}"
        return f"{rule}{'' if self.span is None else f' at {position(self.span)}'}{self._at}"

    @property
    def _at(self) -> str:
        return "" if self.node is None else f", node {self.node}"

    @property
    def direct(self) -> tuple[int, ...]:
        """Return the premises that are no tuples of witnesses."""
        witnesses = sum(len(condition.witness) for condition in self.conditions)
        return self.premises[: len(self.premises) - witnesses]

    def to_dict(self) -> dict[str, Any]:
        """Return the step as JSON has it."""
        found: dict[str, Any] = {
            "relation": self.relation,
            "tuple": list(self.values),
            "sort": self.sort,
            "rule": self.rule,
            "text": self.text,
            "variables": dict(self.variables),
            "premises": list(self.premises),
            "conditions": [each.to_dict() for each in self.conditions],
            "height": self.height,
        }
        if self.is_candidate:
            found["better"] = None if self.better is None else list(self.better)
        if self.rivals:
            found |= {"rivals": self.rivals, "first_rivals": [list(values) for values in self.first_rivals]}
        where = {"node": self.node, "version": self.version or None, "gap": self.gap}
        return {**found, **{name: value for name, value in where.items() if value is not None}}
