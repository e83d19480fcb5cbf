"""Proofs: steps that each follow from steps before them.

A proof prints as a tree. Each of its steps is shown once; where the tree needs it again, it says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

from tidelog.explain.checking import Checked, Explained, check_steps, tables_of
from tidelog.explain.drawing import dot, html
from tidelog.explain.steps import Condition, Facts, ProofStep

MOST_LINES = 200
"""Lines of a printed tree."""


@dataclass(frozen=True, repr=False)
class Proof:
    """Why a tuple holds: `steps`, each after its premises, the tuple itself last."""

    steps: tuple[ProofStep, ...]

    @property
    def goal(self) -> ProofStep:
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

    def to_dot(self) -> str:
        """Return the proof as a text for Graphviz: tuples, with arrows to what they need."""
        return dot(self.steps)

    def to_html(self) -> str:
        """Return the proof as a page of its own, in which each tuple opens to show why it holds."""
        return html(self.to_dict(), [step.tuple_text for step in self.steps], [step.reason for step in self.steps])

    def _repr_html_(self) -> str:
        """Return the tree for a notebook."""
        return f"<pre>{escape(str(self))}</pre>"

    def check(self, database: Explained | None = None) -> Checked:
        """Check each step by itself, without an engine. With a `database` of the same facts, read all of its views to
        check also that tuples are absent and aggregates complete; without, the result names the conditions that were
        taken for granted. Raise ProofRejected (E0820)."""
        return check_steps(self.steps, None if database is None else tables_of(database))

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
    at = "" if condition.node is None else f"node {condition.node}"
    if condition.members is None:
        return f"{condition.text}   [{at}]" if at else condition.text
    more = ["…"] if condition.members > len(condition.first) else []
    first = ", ".join([*condition.first, *more])
    members = f"{condition.members:,} members{': ' if first else ''}{first}"
    return f"{condition.text}   [{at}, {members}]" if at else f"{condition.text}   [{members}]"
