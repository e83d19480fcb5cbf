"""Proofs: steps that each follow from steps before them, in the words of the program.

A proof prints as a tree. Each of its steps is shown once; where the tree needs it again, it says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

from tidelog.errors import position
from tidelog.explain.instances import FlatRule
from tidelog.explain.walks import Automaton
from tidelog.language.syntax import Value
from tidelog.source import Span
from tidelog.storage.record_text import format_value

StepSort: TypeAlias = Literal["fact", "rule", "walk", "open"]
Facts: TypeAlias = tuple[tuple[str, tuple[Value, ...]], ...]
"""Facts: relation and tuple."""
MOST_LINES = 200
"""Lines of a printed tree."""


@dataclass(frozen=True)
class Condition:
    """A literal of a body that is no tuple, with values for variables: a comparison, a negation, an aggregate."""

    sort: Literal["comparison", "negation", "aggregate"]
    text: str
    members: int | None = None
    """Of an aggregate: the number of its members."""
    first: tuple[str, ...] = ()
    """The first of them, in the order of their values."""

    def to_dict(self) -> dict[str, Any]:
        """Return the condition as JSON has it."""
        found: dict[str, Any] = {"sort": self.sort, "text": self.text}
        return found if self.members is None else {**found, "members": self.members, "first": list(self.first)}


@dataclass(frozen=True)
class Instance:
    """An instance of a rule, with values for all its variables: what a step is checked by."""

    flat: FlatRule
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Walk:
    """The automaton that the walks of a relation, or of a path, follow."""

    relation: str
    automaton: Automaton


@dataclass(frozen=True)
class Removal:
    """Facts, or rules by name, without which a tuple would not hold."""

    facts: Facts
    rules: tuple[str, ...]

    def __str__(self) -> str:
        """Return the facts or rules as text, each on a line."""
        facts = (row_text(relation, values) for relation, values in self.facts)
        return "\n".join([*facts, *self.rules])


@dataclass(frozen=True)
class Step:
    """A tuple and why it holds.

    An asserted "fact" needs nothing else. A "rule" derives the tuple from `premises`, the numbers of earlier steps,
    under `conditions`, with values for the variables that the program has written. A "walk" leads along its premises
    from the first value to the second. An "open" step has not been explained, because a limit was reached.
    `is_candidate` says that the tuple is one that its relation, which selects, does not show.
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
    instance: Instance | Walk | None = field(default=None, compare=False, repr=False)

    @property
    def tuple_text(self) -> str:
        """Return the tuple as text: `edge(1, "a")`."""
        return row_text(self.relation, self.values)

    @property
    def reason(self) -> str:
        """Return in a few words why the tuple holds."""
        match self.sort:
            case "fact":
                return "fact"
            case "walk":
                return f"a walk of {len(self.premises)} step{'' if len(self.premises) == 1 else 's'}"
            case "open":
                return "not explained: a limit was reached"
        return f"{self.rule}{'' if self.span is None else f' at {position(self.span)}'}"

    def to_dict(self) -> dict[str, Any]:
        """Return the step as JSON has it."""
        return {
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


@dataclass(frozen=True, repr=False)
class Proof:
    """Why a tuple holds: `steps`, each after its premises, the tuple itself last."""

    steps: tuple[Step, ...]

    @property
    def goal(self) -> Step:
        """The step of the tuple that was asked for."""
        return self.steps[-1]

    @property
    def height(self) -> int:
        """The height of the tree: 0 for a fact."""
        return self.goal.height

    @cached_property
    def facts(self) -> Facts:
        """The asserted facts that the proof uses: relation and tuple."""
        return tuple((step.relation, step.values) for step in self.steps if step.sort == "fact")

    @cached_property
    def rules(self) -> tuple[str, ...]:
        """The names of the rules that it uses, each once."""
        return tuple(dict.fromkeys(step.rule for step in self.steps if step.rule is not None))

    @property
    def is_partial(self) -> bool:
        """Return True if a limit left some of its tuples open."""
        return any(step.sort == "open" for step in self.steps)

    def to_dict(self) -> dict[str, Any]:
        """Return the proof as JSON has it."""
        return {"height": self.height, "partial": self.is_partial, "steps": [step.to_dict() for step in self.steps]}

    def to_json(self) -> str:
        """Return the proof as a JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def __str__(self) -> str:
        """Return the proof as a tree, its first 200 lines."""
        lines: list[str] = []
        for line in tree_lines(self):
            if len(lines) == MOST_LINES:
                lines.append(f"… ({len(self.steps):,} steps in all)")
                break
            lines.append(line)
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Proof of {self.goal.tuple_text}: {len(self.steps)} steps, height {self.height}>"


def tree_lines(proof: Proof) -> Iterator[str]:
    """Yield the lines of a proof as a tree; a step that was shown before is not shown again."""
    shown: set[int] = set()
    waiting: list[tuple[str, str, int | str]] = [("", "", len(proof.steps) - 1)]
    while waiting:
        lead, below, item = waiting.pop()
        if isinstance(item, str):
            yield lead + item
            continue
        step = proof.steps[item]
        again = item in shown and step.sort != "fact"
        candidate = ", not shown by its selection" if step.is_candidate else ""
        yield f"{lead}{step.tuple_text}   [{step.reason}{candidate}]" + ("  (shown above)" if again else "")
        if again:
            continue
        shown.add(item)
        parts: list[int | str] = [*step.premises, *map(_condition_text, step.conditions)]
        for i in range(len(parts) - 1, -1, -1):
            last = i == len(parts) - 1
            waiting.append((f"{below}{'└─ ' if last else '├─ '}", f"{below}{'   ' if last else '│  '}", parts[i]))


def _condition_text(condition: Condition) -> str:
    if condition.members is None:
        return condition.text
    more = ", …" if condition.members > len(condition.first) else ""
    return f"{condition.text}   [{condition.members:,} members: {', '.join(condition.first)}{more}]"


def row_text(relation: str, values: Iterable[Value]) -> str:
    """Return a tuple as a program has it: `edge(1, "a")`."""
    return f"{relation}({', '.join(map(value_text, values))})"


def value_text(value: Value) -> str:
    """Return a value as a program has it."""
    return format_value(value, lambda text, _: json.dumps(text, ensure_ascii=False))
