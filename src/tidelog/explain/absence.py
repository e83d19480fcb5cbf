"""Why a tuple does not hold: how far the body of each of its rules gets, and which rivals a selection prefers.

The head of a rule is bound, and its literals are taken one after the other, in `FlatRule.order`: those that only test
something as soon as their variables have values, then tuples that have a bound variable. The first literal without a
match ends the attempt. It is shown with the values that led there, with the nearest tuples that do exist, and, to a
depth that the caller gives, with the reason why the missing tuple cannot be derived itself.

A relation that selects shows the best of its candidates, a choice one of them. `Rivals` finds the tuples that it shows
instead, and those that it could show.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from heapq import nsmallest
from typing import Any

import numpy

from tidelog.common.arrays import AnyWords
from tidelog.common.source import Span
from tidelog.errors import LimitError, position, wrong_argument
from tidelog.explain.derivations import TupleDerivations
from tidelog.explain.instances import FlatRule, Question
from tidelog.explain.steps import Wording, with_values
from tidelog.explain.views import EngineViews
from tidelog.explain.walks import Key
from tidelog.language.selections import Selection, selections_of
from tidelog.language.syntax import Anonymous, Atom, Comparison, Constant, Kind, Literal, Rule, Value, Variable
from tidelog.language.trees import rename, variables
from tidelog.limits.watch import Watch
from tidelog.queries.bodies import GIVEN
from tidelog.reference.selections import order_of
from tidelog.rules.selections import BEATS, candidates_of


class Rivals:
    """The competition between the candidates of relations, over the views of an engine."""

    def __init__(self, derivations: TupleDerivations) -> None:
        self.derivations = derivations

    @cached_property
    def selections(self) -> dict[str, Selection]:
        checked = self.derivations.checked
        return selections_of(checked.relations, checked.rules, checked.subsumptions)

    def better(self, views: EngineViews, key: Key, watch: Watch) -> tuple[Value, ...] | None:
        """Return the tuple that beats a candidate which is not shown: the first one by values, one that is shown if
        there is one."""
        selection = self.selections[self.derivations.selection_of(key.relation)]
        if selection.form == "dominance":
            found = self._find_dominators(views, selection, key, watch)
        else:
            found = [each for each in self._near(views, selection, key) if self._beats(selection, each, key)]
        shown = [each for each in found if self.derivations.holds(views, Key(selection.relation, each.words))]
        rows = map(self.derivations.values, shown or found)
        return min(rows, key=order_of, default=None)

    def rivals(self, views: EngineViews, key: Key) -> list[tuple[Value, ...]]:
        """Return the other candidates that agree with a tuple of a choice in one of its domains, by their values."""
        selection = self.selections.get(key.relation)
        if selection is None or selection.form != "choice":
            return []
        found = dict.fromkeys(self._near(views, selection, key))
        return sorted(map(self.derivations.values, found), key=order_of)

    def _near(self, views: EngineViews, selection: Selection, key: Key) -> Iterator[Key]:
        """Yield the other candidates that compete with a tuple."""
        name = candidates_of(selection.relation)
        if name not in views.state.program.relations:
            name = selection.relation
        for domain in selection.domains or (selection.keys,):
            columns = tuple(sorted(domain))
            group = numpy.array([[key.words[column] for column in columns]], numpy.int64)
            rows = views.near(name, columns, group)
            yield from (each for row in rows.tolist() if (each := Key(name, tuple(row))).words != key.words)

    def _beats(self, selection: Selection, one: Key, other: Key) -> bool:
        """Return True if a tuple is better than another one of its key."""
        if selection.form == "choice":
            return True
        costs = [self._costs(selection, each) for each in (one, other)]
        if selection.form == "best":
            return costs[0] < costs[1]
        return all(better <= worse for better, worse in zip(*costs, strict=True))

    def _costs(self, selection: Selection, key: Key) -> tuple[float, ...]:
        values: Sequence[Value] = self.derivations.values(key)
        return tuple(values[i] if op == "min" else -values[i] for i, op in selection.orders)  # type: ignore[operator,misc]  # Numbers.

    def _find_dominators(self, views: EngineViews, selection: Selection, key: Key, watch: Watch) -> list[Key]:
        """Return the candidates that dominate one by subsumption rules, without being dominated by it."""
        better = self._pairs(views, selection, key, watch, (0, 1))
        worse = set(self._pairs(views, selection, key, watch, (1, 0)))
        return [each for each in better if each not in worse]

    def _pairs(
        self, views: EngineViews, selection: Selection, key: Key, watch: Watch, order: tuple[int, int]
    ) -> list[Key]:
        """Return the candidates that stand in the second head of a subsumption rule where a tuple stands in the first
        one, in this order of the heads."""
        found: dict[Key, None] = {}
        for rule in selection.rules:
            given = numpy.array([key.words], numpy.int64)
            renamed = views.candidates_read(f"{BEATS}{selection.relation}")
            rows = self._question(selection.relation, rule, order, renamed).answers(views, given, watch)
            found |= dict.fromkeys(Key(key.relation, tuple(row)) for row in rows.tolist())
        return list(found)

    def _question(self, name: str, rule: Rule, order: tuple[int, int], renamed: Mapping[str, str]) -> Question:
        """Return the question for the tuples in one head of a subsumption rule, with the other head given. The rule
        reads the candidates of the relations `renamed`."""
        checked = self.derivations.checked
        relation, candidates = checked.relations[name], candidates_of(name)
        rule = rename(rule, lambda each: renamed.get(each, each), str, str)
        kinds: dict[str, Kind] = dict(rule.kinds)
        equations: list[Literal] = []

        def columns_of(head: Atom, stem: str) -> tuple[Variable, ...]:
            found = tuple(Variable(f"#{stem}{i}") for i in range(len(head.args)))
            for variable, term, column in zip(found, head.args, relation.columns, strict=True):
                kinds[variable.name] = column.kind
                if not isinstance(term, Anonymous):
                    equations.append(Comparison("=", variable, term, kind=column.kind))
            return found

        given = columns_of(rule.heads[order[0]], "given")
        other = columns_of(rule.heads[order[1]], "other")
        body = (Atom(GIVEN, given), Atom(candidates, other), *equations, *rule.body)
        shown = [each.name for each in other]
        read = {own: replace(checked.relations[each], name=own) for each, own in renamed.items()}
        return Question(body, shown, relation.columns, kinds, checked, read)


DEEPEST = 100
"""Missing tuples below one another: an explanation nests as deeply as that, in Python's stack too."""
MOST_NEAR = 3
"""Tuples that are shown beside a missing one, and bindings of the last literal that has a match."""


@dataclass(frozen=True)
class RuleAttempt:
    """How far the body of a rule gets: the literals that are `met`, with values for their variables, the one that
    `failed`, None where the head already does not fit, and the tuples that are `near` it. `bindings` is the number of
    ways in which those that are met are. `below` says why a missing tuple cannot be derived. A limit has ended one that
    `is_open`: its rule may derive the tuple for all that it says. A rule that `derives` the tuple meets all literals:
    the relation selects, and does not show it."""

    rule: str
    text: str
    span: Span | None = field(compare=False, repr=False)
    met: tuple[str, ...]
    failed: str | None
    bindings: int
    near: tuple[str, ...] = ()
    below: Absence | None = None
    is_open: bool = False

    @property
    def derives(self) -> bool:
        """Return True if the rule derives the tuple."""
        return self.failed is None and self.bindings > 0 and not self.is_open

    def to_dict(self) -> dict[str, Any]:
        """Return the attempt as JSON has it."""
        found: dict[str, Any] = {
            "rule": self.rule,
            "text": self.text,
            "met": list(self.met),
            "failed": self.failed,
            "bindings": self.bindings,
            "near": list(self.near),
            "below": None if self.below is None else self.below.to_dict(),
            "open": self.is_open,
        }
        return {**found, "derives": True} if self.derives else found


@dataclass(frozen=True, repr=False)
class Absence:
    """Why a relation does not have a tuple: an attempt for each of its rules, and the tuples that are `near` it. A
    relation without rules has a tuple only where it is asserted. One that selects prefers the tuple `better`: it does
    not show one that `is_candidate`, asserted or derived, and would not show another one. A limit may end the search
    for it, which is None then."""

    relation: str
    values: tuple[Value, ...]
    attempts: tuple[RuleAttempt, ...]
    near: tuple[str, ...]
    tuple_text: str
    """The tuple as text."""
    is_above: bool = False
    """The explanation has this absence before, with at least as much below it: here it has no attempts."""
    is_candidate: bool = False
    better: tuple[Value, ...] | None = None
    better_text: str = ""

    @property
    def is_partial(self) -> bool:
        """Return True if a limit ended an attempt, here or below."""
        return any(each.is_open or (each.below is not None and each.below.is_partial) for each in self.attempts)

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as JSON has it."""
        found: dict[str, Any] = {
            "relation": self.relation,
            "tuple": list(self.values),
            "near": list(self.near),
            "partial": self.is_partial,
            "attempts": [attempt.to_dict() for attempt in self.attempts],
        }
        if self.is_candidate or self.better is not None:
            better = None if self.better is None else list(self.better)
            found |= {"candidate": self.is_candidate, "better": better}
        return {**found, "above": True} if self.is_above else found

    def __str__(self) -> str:
        """Return the explanation as text."""
        return "\n".join(_lines(self, ""))

    def __repr__(self) -> str:
        return f"<Absence of {self.tuple_text}: {len(self.attempts)} attempts>"


def check_depth(depth: object) -> None:
    """Raise UsageError (E0635) unless this is a depth to which `why_not` can go."""
    if not (isinstance(depth, int) and 0 <= depth <= DEEPEST):
        raise wrong_argument("`depth`", f"a number from 0 to {DEEPEST}", depth)


def _lines(absence: Absence, indent: str) -> Iterator[str]:
    if absence.is_above:
        yield f"{indent}{absence.tuple_text} does not hold: shown above"
        return
    yield f"{indent}{absence.tuple_text} does not hold: {_reason(absence)}"
    if absence.near and not absence.attempts:
        yield f"{indent}  near: {', '.join(absence.near)}"
    for attempt in absence.attempts:
        place = "" if attempt.span is None else f" at {position(attempt.span)}"
        yield f"{indent}  [{attempt.rule}{place}]"
        yield from (f"{indent}    holds: {met}" for met in attempt.met)
        if attempt.is_open:
            yield f"{indent}    not explained: a limit was reached"
        elif attempt.derives:
            yield f"{indent}    derives it"
        elif attempt.failed is None:
            yield f"{indent}    the head of the rule does not fit"
        else:
            ways = f" (for {attempt.bindings:,} bindings, the first one shown)" if attempt.bindings > 1 else ""
            yield f"{indent}    fails: {attempt.failed}{ways}"
        if attempt.near:
            yield f"{indent}    near: {', '.join(attempt.near)}"
        if attempt.below is not None:
            yield from _lines(attempt.below, indent + "    ")


def _reason(absence: Absence) -> str:
    """Return the first line of an explanation, behind the tuple."""
    if not absence.is_candidate:
        reason = "no rule derives it" if absence.attempts else "it is not asserted"
        return f"{reason}, and {absence.better_text} would be preferred" if absence.better_text else reason
    whence = "it is derived" if any(attempt.derives for attempt in absence.attempts) else "it is asserted"
    return f"{whence}, but {absence.better_text or 'another tuple'} is preferred"


@dataclass
class Missing:
    """Explains absences over the views of an engine."""

    derivations: TupleDerivations
    rivals: Rivals
    views: EngineViews
    watch: Watch
    wording: Wording
    explained: dict[Key, int] = field(default_factory=dict)
    """The depths to which tuples have been explained."""

    def absence(self, key: Key, depth: int) -> Absence:
        """Return why a tuple does not hold, and why those that it misses do not, to a depth. A tuple that has been
        explained to this depth is not explained again. A limit ends the attempts that have not been made; raise
        LimitError if that are all."""
        if self.explained.get(key, -1) >= depth:
            text = self.wording.row_text(key.relation, self.derivations.values(key))
            return Absence(*self.wording.row(key.relation, self.derivations.values(key)), (), (), text, is_above=True)
        self.explained[key] = depth
        attempts = tuple(self.attempt(flat, goal, depth) for flat, goal in self.rules(key))
        if attempts and all(each.is_open and not each.bindings for each in attempts):
            self.watch.look()
        near = self.near(key.relation, dict(enumerate(key.words)))
        text = self.wording.row_text(key.relation, self.derivations.values(key))
        absence = Absence(*self.wording.row(key.relation, self.derivations.values(key)), attempts, near, text)
        return self.with_rival(absence, key) if key.relation in self.rivals.selections else absence

    def with_rival(self, absence: Absence, key: Key) -> Absence:
        """Return the absence of a tuple from a relation that selects with the tuple that it prefers. Partitions of a
        cluster derive candidates from dominated tuples, too: only what is asserted and what rules derive counts."""
        candidate = Key(candidates_of(key.relation), key.words)
        is_derived = any(attempt.derives for attempt in absence.attempts)
        is_candidate = is_derived or self.derivations.are_asserted(self.views, [key])[0]
        if not is_candidate and self.rivals.selections[key.relation].form == "choice":
            return absence
        try:
            better = self.rivals.better(self.views, candidate, self.watch)
        except LimitError:
            better = None
        text = "" if better is None else self.wording.row_text(key.relation, better)
        return replace(absence, is_candidate=is_candidate, better=better, better_text=text)

    def rules(self, key: Key) -> Iterator[tuple[FlatRule, Key]]:
        """Yield the rules that could derive a tuple, each with the tuple that it would derive."""
        yield from ((flat, key) for flat in self.derivations.by_head.get(key.relation, ()))

    def attempt(self, flat: FlatRule, key: Key, depth: int) -> RuleAttempt:
        """Return how far a rule gets that would derive a tuple."""
        rule = self.wording.rule(flat)
        made = RuleAttempt(rule.name, rule.text, rule.span, rule.axioms, None, 0)
        met: list[Literal] = []
        answers, shown = numpy.empty((0, 0), numpy.int64), tuple[str, ...]()
        try:
            self.watch.look()
            answers, shown = self.bindings(flat, key, [])
            if not len(answers):
                return made
            for literal in flat.order:
                self.watch.look()
                found, columns = self.bindings(flat, key, [*met, literal])
                if not len(found):
                    return self.failed_attempt(
                        replace(made, bindings=len(answers)), flat, met, literal, answers, shown, depth
                    )
                answers, shown = found, columns
                met.append(literal)
        except LimitError:
            made = replace(made, is_open=True)
        if not len(answers):
            return made
        bound, _ = self.first(flat, answers, shown)
        return replace(made, met=(*made.met, *self.texts(flat, met, bound)), bindings=len(answers))

    def failed_attempt(
        self,
        made: RuleAttempt,
        flat: FlatRule,
        met: Sequence[Literal],
        literal: Literal,
        answers: AnyWords,
        shown: tuple[str, ...],
        depth: int,
    ) -> RuleAttempt:
        """Return an attempt that ends at a literal without a match, for the first of the answers before it."""
        bound, words = self.first(flat, answers, shown)
        near, below = self.near_and_below(literal, bound, words, depth)
        failed = self.text(flat, literal, bound)
        return replace(made, met=(*made.met, *self.texts(flat, met, bound)), failed=failed, near=near, below=below)

    def texts(self, flat: FlatRule, literals: Iterable[Literal], bound: Mapping[str, Value]) -> Iterator[str]:
        """Yield literals with values, as texts, without those that their rule does not have."""
        return (self.text(flat, each, bound) for each in literals if not is_made(each))

    def text(self, flat: FlatRule, literal: Literal, bound: Mapping[str, Value]) -> str:
        found = with_values(literal, bound)
        if isinstance(found, Atom) and found.relation in flat.read:
            return f"{found.args[-1]} = autoinc()"
        return self.wording.literal_text(found)

    def bindings(self, flat: FlatRule, key: Key, literals: Sequence[Literal]) -> tuple[AnyWords, tuple[str, ...]]:
        """Return the values of the variables of some literals of a rule with its head bound, and these variables."""
        body = (flat.body[0], *literals)
        shown = variables(body, aggregates=False)
        renamed = self.views.candidates_read(self.derivations.selection_of(key.relation))
        question = self.derivations.partial(flat, body, shown, renamed)
        rows = numpy.array([key.words], numpy.int64).reshape(1, -1)
        return question.answers(self.views, rows, self.watch), shown

    def first(
        self, flat: FlatRule, answers: AnyWords, shown: tuple[str, ...]
    ) -> tuple[dict[str, Value], dict[str, int]]:
        """Return the first of some bindings, by values: decoded, and in words."""
        rows = answers[:1_000].astype(numpy.int64)
        bound: dict[str, Value] = {}
        for i, name in enumerate(shown):
            words = numpy.unique(rows[:, i]) if len(rows) > 1 else rows[:, i]
            values = self.derivations.dictionary.decode_list(words, flat.kinds[name])
            least = min(range(len(values)), key=lambda at: repr(values[at])) if len(values) > 1 else 0
            bound[name] = values[least]
            rows = rows[rows[:, i] == words[least]]
        return bound, dict(zip(shown, rows[0].tolist(), strict=True))

    def near_and_below(
        self, literal: Literal, bound: Mapping[str, Value], words: Mapping[str, int], depth: int
    ) -> tuple[tuple[str, ...], Absence | None]:
        """Return the tuples near a literal without a match, and why it has none."""
        if not isinstance(literal, Atom) or literal.relation not in self.derivations.checked.relations:
            return (), None
        known: dict[int, int] = {}
        for i, (term, kind) in enumerate(zip(literal.args, self.derivations.kinds(literal.relation), strict=True)):
            if isinstance(term, Variable) and term.name in words:
                known[i] = words[term.name]
            elif isinstance(term, Constant):
                word = self.derivations.dictionary.find(term.value, kind)
                if word is not None:
                    known[i] = word
        near = self.near(literal.relation, known)
        if depth and len(known) == len(literal.args) and literal.relation in self.derivations.by_head:
            return near, self.absence(Key(literal.relation, tuple(known[i] for i in range(len(known)))), depth - 1)
        return near, None

    def near(self, relation: str, known: Mapping[int, int]) -> tuple[str, ...]:
        """Return some tuples that agree with these words in all columns but one."""
        found: list[str] = []
        for left_out in known if len(known) > 1 else ():
            others = tuple(sorted(column for column in known if column != left_out))
            group = numpy.array([[known[column] for column in others]], numpy.int64)
            rows = self.views.near(relation, others, group, most=1_000)[:1_000].astype(numpy.int64)
            values = self.derivations.decode_rows(rows, self.derivations.kinds(relation))
            found += (self.wording.row_text(relation, row) for row in nsmallest(MOST_NEAR, values, key=order_of))
        return tuple(dict.fromkeys(found))[:MOST_NEAR]


def is_made(literal: Literal) -> bool:
    """Return True for an equality that a rule does not have as it is written: one for an argument."""
    return isinstance(literal, Comparison) and isinstance(literal.left, Variable) and literal.left.name.startswith("#")
