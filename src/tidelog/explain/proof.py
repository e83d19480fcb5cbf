"""Proofs: steps that each follow from steps before them.

A proof prints as a tree. Each of its steps is shown once; where the tree needs it again, it says so.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any, Literal

from tidelog.errors import Problem, UsageError, quote_name, wrong_argument
from tidelog.explain.checking import Checked, Explained, ViewTables, check_steps
from tidelog.explain.drawing import dot, html
from tidelog.explain.lean import lean_text
from tidelog.explain.steps import Condition, Facts, ProofStep
from tidelog.rules.picture import write_picture

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
    def shown(self) -> tuple[int, ...]:
        """The numbers of the steps that are shown: all but those that the text of an axiom has already."""
        needed = {len(self.steps) - 1}
        for number in range(len(self.steps) - 1, -1, -1):
            if number in needed:
                step = self.steps[number]
                needed.update(step.direct, *(each.witness for each in step.conditions))
        return tuple(sorted(needed))

    @property
    def is_partial(self) -> bool:
        """Return True if a limit left some of its tuples open, or members of aggregates uncounted."""
        return any(step.sort == "open" or any(each.is_open for each in step.conditions) for step in self.steps)

    def to_dict(self) -> dict[str, Any]:
        """Return the proof as JSON has it."""
        return {"height": self.height, "partial": self.is_partial, "steps": [step.to_dict() for step in self.steps]}

    def to_json(self) -> str:
        """Return the proof as a JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def to_dot(self) -> str:
        """Return the proof as a text for Graphviz: tuples, with arrows to what they need."""
        return dot(self.steps, self.shown)

    def draw(self, path: str | os.PathLike[str]) -> None:
        """Draw the proof: to a file .svg, .png or .pdf, laid out by Graphviz, or to a page .html around that; .dot is
        the text. Raise UsageError (E0690) for another ending, SetupError (E0790) where pygraphviz is missing."""
        write_picture(self.to_dot, path, "proof")

    def to_html(self) -> str:
        """Return the proof as a page of its own, in which each tuple opens to show why it holds."""
        return html(self.steps)

    def _repr_html_(self) -> str:
        """Return the tree for a notebook."""
        return f"<pre>{escape(str(self))}</pre>"

    def export(self, form: Literal["lean"]) -> str:
        """Return the proof as a JSON text for another checker: that of Datalog proofs in Lean, CertifyingDatalog, which
        reads it with `-o`. Raise UsageError (E0635 for another form, E0676 if the proof needs more than tuples:
        comparisons, negation, aggregates)."""
        if not isinstance(form, str) or form != "lean":
            raise UsageError(Problem("E0635", f"`{quote_name(form)}` is no form of a proof", hint='pass "lean"'))
        return lean_text(self.steps)

    def check(self, database: Explained | None = None) -> Checked:
        """Check each step by itself, without an engine. With a `database` of the same facts, read all of its views to
        check also that facts and rules are its own, tuples absent and aggregates complete; without, the result names
        the conditions that were taken for granted. Raise ProofRejected (E0820)."""
        given: object = database
        if given is not None and not (hasattr(given, "program") and hasattr(given, "local")):
            raise wrong_argument("the database of a proof", "a database or a snapshot", given)
        return check_steps(self.steps, None if database is None else ViewTables(database))

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
    waiting: list[tuple[str, str, int | Condition]] = [("", "", len(proof.steps) - 1)]
    while waiting:
        lead, below, item = waiting.pop()
        parts: list[int | Condition]
        if isinstance(item, Condition):
            yield lead + item.line
            parts = [*item.witness]
        else:
            step = proof.steps[item]
            again = item in shown and step.sort != "fact"
            yield f"{lead}{step.tuple_text}   [{step.reason}]" + ("  (shown above)" if again else "")
            parts = [] if again else [*step.direct, *step.conditions]
            shown.add(item)
        for i in range(len(parts) - 1, -1, -1):
            last = i == len(parts) - 1
            waiting.append((f"{below}{'└─ ' if last else '├─ '}", f"{below}{'   ' if last else '│  '}", parts[i]))
