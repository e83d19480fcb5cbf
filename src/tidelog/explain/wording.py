"""How explanations show tuples, literals and rules: as the program has them. Other rooms have other words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tidelog.common.source import Span
from tidelog.explain.instances import FlatRule
from tidelog.language.syntax import Literal, Rule, Value
from tidelog.storage.record_text import row_text


@dataclass(frozen=True)
class RuleWords:
    """The name of a rule, its text and place, and the `axioms` on which it rests."""

    name: str
    text: str
    span: Span | None = None
    axioms: tuple[str, ...] = ()


class Wording:
    """The words of a program; `written` are its rules by name, as its user has written them."""

    def __init__(self, written: Mapping[str, Rule]) -> None:
        self.written = written
        self._rules: dict[int, RuleWords] = {}

    def row(self, relation: str, values: tuple[Value, ...]) -> tuple[str, tuple[Value, ...]]:
        """Return the relation and the values under which a tuple is shown."""
        return relation, values

    def row_text(self, relation: str, values: tuple[Value, ...]) -> str:
        """Return a tuple as text."""
        return row_text(relation, values)

    def literal_text(self, literal: Literal) -> str:
        """Return a literal, with values for its variables, as text."""
        return str(literal)

    def rule(self, flat: FlatRule) -> RuleWords:
        """Return the words for a rule, which are made once."""
        if flat.number not in self._rules:
            rule = self.written.get(flat.rule.name or "", flat.rule)
            self._rules[flat.number] = RuleWords(flat.rule.name or "", str(rule), rule.span)
        return self._rules[flat.number]
