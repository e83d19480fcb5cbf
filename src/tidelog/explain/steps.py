"""The steps of proofs: a tuple, and why it holds, in the words of the program.

The conditions of a step by a rule are the literals of the rule other than tuples, with values for variables. An
aggregate also shows how many members its group has, and the first ones. A negation names the tuple that is absent.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from types import MappingProxyType
from typing import Any, TypeAlias
from typing import Literal as OneOf

from tidelog.common.source import Span
from tidelog.errors import LimitError, position, wrong_argument
from tidelog.explain.instances import FlatRule
from tidelog.explain.search import ProofSearch
from tidelog.explain.walks import Automaton
from tidelog.language.branches import Branch
from tidelog.language.syntax import (
    Aggregate,
    Anonymous,
    Atom,
    Constant,
    Literal,
    Negation,
    Record,
    Rule,
    Term,
    Value,
    Variable,
)
from tidelog.language.trees import outermost, rebuild, walk
from tidelog.reference.selections import order_of
from tidelog.reference.substitutions import RuleScope, combinations
from tidelog.storage.record_text import row_text

StepSort: TypeAlias = OneOf["fact", "rule", "walk", "axiom", "open"]
RowOf: TypeAlias = tuple[str, tuple[Value, ...]]
"""A relation and a tuple of it."""
Facts: TypeAlias = tuple[RowOf, ...]
"""Facts: relation and tuple."""


@dataclass(frozen=True)
class Condition:
    """A literal of a body that is no tuple, with values for variables: a comparison, a negation, an aggregate."""

    sort: OneOf["comparison", "negation", "aggregate"]
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


def row_itself(relation: str, values: tuple[Value, ...]) -> RowOf:
    return relation, values


def condition_itself(condition: Condition) -> Condition:
    return condition


@dataclass(frozen=True)
class BoundRule:
    """An instance of a rule, with values for all its variables: what a step is checked by. `row` says under which
    relation and values the steps have a tuple of the program, `words` how they show a condition."""

    flat: FlatRule
    values: Mapping[str, Any]
    row: Callable[[str, tuple[Value, ...]], RowOf] = row_itself
    words: Callable[[Condition], Condition] = condition_itself

    @property
    def source_values(self) -> Mapping[str, Any]:
        """Return the values of the variables that the program has written."""
        values, written = self.values, self.flat.source_variables
        return values if len(written) == len(values) else {name: values[name] for name in written}


@dataclass(frozen=True)
class Walk:
    """The automaton that the walks of a relation, or of a path, follow; `row` as in BoundRule."""

    relation: str
    automaton: Automaton
    row: Callable[[str, tuple[Value, ...]], RowOf] = row_itself


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


_LOOKS = 10_000
"""Members between two looks at limits."""


def check_members(most: object) -> None:
    """Raise UsageError (E0635) unless this is a number of members to show, or None for all."""
    if most is not None and not (isinstance(most, int) and most >= 0):
        raise wrong_argument("`members`", "a number, 0 or more, or None for all", most)


def conditions_of(
    flat: FlatRule, words: tuple[int, ...], bound: Mapping[str, Any], search: ProofSearch, most: int | None
) -> tuple[Condition, ...]:
    """Return the conditions of an instance, whose variables have these words and values, in the order written; of each
    aggregate at most so many members, None for all."""
    return tuple(condition_of(literal, flat, words, bound, search, most) for literal in flat.conditions)


def condition_of(
    literal: Literal,
    flat: FlatRule,
    words: tuple[int, ...],
    bound: Mapping[str, Any],
    search: ProofSearch,
    most: int | None,
) -> Condition:
    """Return a literal with values for the variables that are bound."""
    plain = plain_condition(literal, bound, flat.made)
    aggregate = next(outermost([literal]), None)
    if aggregate is None or plain.sort != "aggregate":
        return plain
    try:
        number, first = members(aggregate, flat, dict(zip(flat.variables, words, strict=True)), search, most)
    except LimitError:
        return plain
    return replace(plain, members=number, first=first)


def plain_condition(literal: Literal, bound: Mapping[str, Any], made: Mapping[str, str]) -> Condition:
    """Return a literal with values for variables, without members and witnesses. `made` has the names in the text of
    variables that rewrites have named."""
    text = str(with_values(literal, bound, made))
    if isinstance(literal, Negation):
        return Condition("negation", text, absent=_ground(literal.atom, bound))
    has_members = next(outermost([literal]), None) is not None
    return Condition("aggregate" if has_members else "comparison", text)


def with_witnesses(conditions: tuple[Condition, ...], flat: FlatRule, below: tuple[int, ...]) -> tuple[Condition, ...]:
    """Return conditions with the numbers of the steps of their witnesses; `below` has those of all premises."""
    found = witnesses_in(flat, below)
    return tuple(replace(each, witness=found[i]) if i in found else each for i, each in enumerate(conditions))


def witnesses_in(flat: FlatRule, below: tuple[int, ...]) -> dict[int, tuple[int, ...]]:
    """Return the steps of witnesses by the number of their condition, of the steps `below` of all premises."""
    found: dict[int, tuple[int, ...]] = {}
    start = len(flat.premises)
    for witness, premises in flat.witnesses:
        found[witness.condition] = below[start : start + len(premises)]
        start += len(premises)
    return found


def members(
    aggregate: Aggregate, flat: FlatRule, words: Mapping[str, int], search: ProofSearch, most: int | None
) -> tuple[int, tuple[str, ...]]:
    """Return the number of members of an aggregate's group, and the first ones as text, by their values. Raise
    LimitError."""
    derivations = search.derivations
    group = derivations.group(flat, aggregate)
    answers = group.answers(search.views, words, search.watch)
    if not group.atoms:
        return len(answers), ()
    kinds = [group.kinds[name] for name in group.shown]

    def rows() -> Iterator[tuple[Any, ...]]:
        for i, answer in enumerate(answers.tolist()):
            if i % _LOOKS == 0:
                search.watch.look()
            yield tuple(map(derivations.dictionary.decode, answer, kinds))

    first = sorted(rows(), key=order_of) if most is None else nsmallest(most, rows(), key=order_of)
    bindings = (dict(zip(group.shown, row, strict=True)) for row in first)
    return len(answers), tuple(", ".join(str(with_values(atom, bound)) for atom in group.atoms) for bound in bindings)


def _ground(atom: Atom, bound: Mapping[str, Any]) -> tuple[str, tuple[Any, ...]] | None:
    """Return the tuple that an atom is for some values; None for a path, and if a `_` leaves a value open."""
    if atom.path is not None or any(isinstance(node, Anonymous | Aggregate) for node in walk(atom.args)):
        return None
    rows = list(combinations(atom.args, dict(bound), RuleScope(frozenset(bound), {})))
    return (atom.relation, tuple(rows[0])) if len(rows) == 1 else None


def with_values(literal: Literal, bound: Mapping[str, Any], made: Mapping[str, str] = MappingProxyType({})) -> Literal:
    """Return a literal with values in the place of the variables that are bound, and `_` for those of a rewrite; others
    have the names of the text if these are `made`."""

    def change(term: Term) -> Term | None:
        if not isinstance(term, Variable):
            return None
        if term.name in bound:
            return term_of(bound[term.name])
        return Anonymous() if "#" in term.name else Variable(made.get(term.name, term.name))

    return rebuild(literal, change)


def term_of(value: Any) -> Term:
    if value is None:
        return Record(None)
    if isinstance(value, Branch):
        return Record(tuple(map(term_of, value)), branch=value._name)
    if isinstance(value, tuple):
        return Record(tuple(map(term_of, value)))
    return Constant(value)


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
        return row_text(relation, values)

    def literal_text(self, literal: Literal) -> str:
        return str(literal)

    def rule(self, flat: FlatRule) -> RuleWords:
        """Return the words for a rule, which are made once."""
        if flat.number not in self._rules:
            rule = self.written.get(flat.rule.name or "", flat.rule)
            self._rules[flat.number] = RuleWords(flat.rule.name or "", str(rule), rule.span)
        return self._rules[flat.number]
