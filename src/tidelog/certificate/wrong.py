"""The problems that a check finds, as messages: the condition that is broken, the rule, and a few tuples."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tidelog.certificate.certificate import CertifiedProgram
from tidelog.errors import Problem
from tidelog.language.functors import NUMERIC
from tidelog.language.syntax import Kind, Value
from tidelog.rules.edges import AnyRule, body_of, head_of
from tidelog.storage.record_text import format_value

SHOWN = 3
"""Tuples that a message names."""
MOST = 10
"""Problems that an error lists."""


def wrong_strata(certified: CertifiedProgram) -> Iterator[Problem]:
    """Yield the problems of condition 4."""
    strata = certified.strata
    for rule in certified.rules:
        head = head_of(rule)
        for name, negative in body_of(rule):
            if strata[name] > strata[head] or (negative and strata[name] == strata[head]):
                how = "in full (by negation or an aggregate)" if negative else "to derive a relation"
                message = f"condition 4 (strata): rule {rule.origin} reads stratum {strata[name]} {how}"
                message += f" in stratum {strata[head]}"
                hint = "let a rule read lower strata or its own, and lower ones only by negation or an aggregate"
                yield Problem("E0804", message, rule.span, hint=hint, place=certified.place)


@dataclass(frozen=True)
class Findings:
    """The problems of views. Rows are some of those in question, as SQL has them: words for symbols and records."""

    certified: CertifiedProgram

    def unfit(self, name: str) -> Problem:
        """Return the problem of a view with something other than a tuple."""
        message = f"condition 3 (founded): the view of {self.called(name)} has a row that does not fit its declaration"
        return Problem("E0803", message, hint="save the certificate again", place=self.certified.place)

    def unfit_fact(self, name: str) -> Problem:
        """Return the problem of facts with something other than a tuple."""
        message = f"condition 1 (facts): the facts of {name} have a row that does not fit its declaration"
        return Problem("E0801", message, hint="save the certificate again", place=self.certified.place)

    def lost_fact(self, view: str, rows: Sequence[tuple[Any, ...]]) -> Problem:
        """Return the problem of facts that are not in the view."""
        message = f"condition 1 (facts): {self.shown(view, rows)} is a fact, but not in the view"
        hint = "check that the view and the facts belong together"
        return Problem("E0801", message, hint=hint, place=self.certified.place)

    def not_closed(self, rule: AnyRule, rows: Sequence[tuple[Any, ...]]) -> Problem:
        """Return the problem of heads of a rule that are not in the view."""
        name, selects = head_of(rule), self.certified.selects
        message = f"condition 2 (closed): rule {rule.origin} derives {self.shown(name, rows)} from the view,"
        chosen = name in selects and selects[name].domains
        message += f" but the view does not contain it{', nor a tuple of its key' if chosen else ''}"
        hint = "check that the view is complete, and that the rule reads the right tuples"
        return Problem("E0802", message, rule.span, hint=hint, place=self.certified.place)

    def not_founded(self, name: str, rows: Sequence[tuple[Any, ...]]) -> Problem:
        """Return the problem of tuples of a view that nothing supports."""
        message = f"condition 3 (founded): {self.shown(name, rows)} is in the view, but is no fact and no rule"
        message += " derives it from older tuples of the view"
        rules = [rule for rule in self.certified.rules if head_of(rule) == name]
        notes = tuple((rule.span, f"rule {rule.origin} does not") for rule in rules[:SHOWN] if rule.span)
        hint = "remove it from the view, or look for a missing fact or a wrong birth"
        return Problem("E0803", message, None, notes, hint, self.certified.place)

    def not_selected(self, name: str, rows: Sequence[tuple[Any, ...]]) -> Problem:
        """Return the problem of tuples that others of the view dominate, or agree with in a domain."""
        domains = self.certified.selects[name].domains
        why = "another tuple of the same key" if domains else "a tuple that dominates it"
        message = f"condition 5 (selected): {self.shown(name, rows)} is in the view, with {why}"
        hint = "keep one tuple of each key" if domains else "remove it from the view"
        return Problem("E0805", message, hint=hint, place=self.certified.place)

    def shown(self, name: str, rows: Sequence[tuple[Any, ...]]) -> str:
        """Return a few tuples of a relation as text, without a name if a rewrite of a rule made the relation."""
        info = self.certified.program.relations[name]
        kinds = [column.kind for column in info.columns]
        texts = []
        for row in rows[:SHOWN]:
            values = zip(row, kinds, strict=False)  # without columns there is a 1
            cells = ", ".join(format_value(self._decoded(value, kind), _quoted) for value, kind in values)
            texts.append(f"{'' if info.auxiliary else name}({cells})")
        more = " and more" if len(rows) > SHOWN else ""
        return f"{', '.join(texts)}{more}{' (an intermediate result)' if info.auxiliary else ''}"

    def called(self, name: str) -> str:
        """Return the name of a relation in messages. Relations that a rewrite of a rule made have no name."""
        return "an intermediate result" if self.certified.program.relations[name].auxiliary else name

    def _decoded(self, value: Any, kind: Kind) -> Value:
        return value if kind in NUMERIC else self.certified.dictionary.decode(value, kind)


def _quoted(text: str, _in_branch: bool) -> str:
    return json.dumps(text)
