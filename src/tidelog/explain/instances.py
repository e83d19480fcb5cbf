"""The instances of rules: the substitutions of a rule's variables under which it derives given tuples.

A rule is asked with its head bound, over the views of an engine as they are. For `p(x, d + 1) :- q(x, d), !r(_, x).`:

    #query(x, #head1, d) :- #given(x, #head1), #head1 = d + 1, q(x, d), !r(_, x).

`#given` has the tuples to explain, all at once. Disjunctions are one rule for each alternative, and each argument of a
positive atom has a variable, so that an instance says which tuples it needs. What the literals mean is left to the
translation that all rules take (`rules/`), and joins to the engine's plans (`queries.evaluation`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count

import numpy

from tidelog.arrays import AnyWords, Words
from tidelog.explain.views import EngineViews
from tidelog.explain.walks import end_kinds
from tidelog.language.counters import counters_in
from tidelog.language.syntax import (
    Anonymous,
    Atom,
    CheckedProgram,
    Column,
    Comparison,
    Constant,
    Kind,
    Literal,
    RelationType,
    Rule,
    Term,
    Variable,
)
from tidelog.language.trees import variables, whole
from tidelog.limits.watch import Watch
from tidelog.queries.bodies import GIVEN
from tidelog.queries.evaluation import Evaluation
from tidelog.queries.pattern import QUERY, with_nodes
from tidelog.rules import Compiler
from tidelog.rules.arguments import arguments
from tidelog.rules.bench import Bench
from tidelog.rules.core import NUMBERED
from tidelog.rules.counters import counters
from tidelog.rules.disjunctions import disjunctions

ArgumentSource = int | Constant
"""Where an argument of an atom comes from: the column of an answer, or a constant."""


@dataclass(frozen=True)
class Premise:
    """A positive atom of a body: `relation` is the text of the path where it is one."""

    atom: Atom
    relation: str
    arguments: tuple[ArgumentSource, ...]
    kinds: tuple[Kind, ...]


@dataclass(frozen=True)
class FlatRule:
    """One alternative of a rule with one head: `variables` are the columns of its instances, the words of the head
    first among them in the order of `head`. `conditions` are the literals that are no premises."""

    rule: Rule
    number: int
    """Its position among the flat rules of the program."""
    head: Premise
    premises: tuple[Premise, ...]
    conditions: tuple[Literal, ...]
    variables: tuple[str, ...]
    kinds: Mapping[str, Kind] = field(repr=False)
    body: tuple[Literal, ...] = field(repr=False)
    read: Mapping[str, RelationType] = field(repr=False)
    """Relations with the numbers of counters, which the body reads besides."""


def flat_rules(checked: CheckedProgram) -> dict[str, tuple[FlatRule, ...]]:
    """Return the flat rules of a program by the relation of their head, in the order of the rules."""
    numbers = count()
    found: dict[str, list[FlatRule]] = {}
    for rule in checked.rules:
        bench = Bench(rule.name or "", checked.relations, checked.records)
        for alternative in disjunctions(rule, bench):
            numbered, read = _with_numbers(alternative, bench)
            for head in numbered.heads:
                flat = _flat(numbered, head, rule, next(numbers), checked, read)
                found.setdefault(head.relation, []).append(flat)
    return {name: tuple(rules) for name, rules in found.items()}


def _with_numbers(rule: Rule, bench: Bench) -> tuple[Rule, dict[str, RelationType]]:
    """Return a rule that reads the numbers that its counters have given, and the relations that have them."""
    if next(counters_in(whole(rule)), None) is None:
        return rule, {}
    (rule,) = arguments(rule, bench)
    (numbered,) = counters(rule, bench)
    steady = bench.pending[-1].body
    made = {
        name: RelationType(name, info.columns) for name, info in bench.auxiliary.items() if name.startswith(NUMBERED)
    }
    return replace(numbered, body=(*numbered.body, *steady), kinds={**rule.kinds, **bench.kinds}), made


def _flat(
    rule: Rule,
    head: Atom,
    origin: Rule,
    number: int,
    checked: CheckedProgram,
    read: Mapping[str, RelationType],
) -> FlatRule:
    """Return one head of a rule without disjunctions, with a variable for each argument of positive atoms."""
    kinds = dict(rule.kinds)
    added: list[Literal] = []

    def named(atom: Atom, stem: str) -> Atom:
        args: list[Term] = []
        for i, (term, kind) in enumerate(zip(atom.args, kinds_of(atom, checked), strict=True)):
            if not isinstance(term, Variable | Constant):
                variable = Variable(f"#{stem}{i}")
                kinds[variable.name] = kind
                if not isinstance(term, Anonymous):
                    added.append(Comparison("=", variable, term, kind=kind, span=atom.span))
                term = variable
            args.append(term)
        return replace(atom, args=tuple(args))

    given = named(head, "head")
    body: list[Literal] = []
    for i, literal in enumerate(rule.body):
        is_premise = isinstance(literal, Atom) and literal.relation not in read
        body.append(named(literal, f"premise{i}_") if is_premise and isinstance(literal, Atom) else literal)
    atoms = [literal for literal in body if isinstance(literal, Atom) and literal.relation not in read]
    columns = tuple(variables([given, *body, *added], aggregates=False))
    return FlatRule(
        origin,
        number,
        _premise(given, columns, checked),
        tuple(_premise(atom, columns, checked) for atom in atoms),
        tuple(literal for literal in rule.body if not isinstance(literal, Atom)),
        columns,
        kinds,
        (Atom(GIVEN, given.args), *added, *body),
        read,
    )


def kinds_of(atom: Atom, checked: CheckedProgram) -> tuple[Kind, ...]:
    """Return the kinds of the columns of a positive atom."""
    if atom.path is not None:
        return end_kinds(atom.path, checked.relations)
    return tuple(column.kind for column in checked.relations[atom.relation].columns)


def _premise(atom: Atom, columns: tuple[str, ...], checked: CheckedProgram) -> Premise:
    """Return an atom whose arguments are variables and constants."""
    sources: list[ArgumentSource] = []
    for term in atom.args:
        assert isinstance(term, Variable | Constant)
        sources.append(columns.index(term.name) if isinstance(term, Variable) else term)
    return Premise(atom, atom.relation, tuple(sources), kinds_of(atom, checked))


class Question:
    """A body with given tuples, compiled once, for as long as a program stays."""

    def __init__(
        self,
        body: tuple[Literal, ...],
        shown: Iterable[str],
        given: tuple[Column, ...],
        kinds: Mapping[str, Kind],
        checked: CheckedProgram,
        read: Mapping[str, RelationType],
    ) -> None:
        """`shown` are the variables of an answer, `given` the columns of the tuples, `read` relations that the program
        does not declare."""
        self.columns = tuple(Column(name, kinds[name], kinds[name]) for name in shown)
        rule = Rule(QUERY, (Atom(QUERY, tuple(Variable(column.name) for column in self.columns)),), body, dict(kinds))
        relations = {name: replace(each, selections=()) for name, each in checked.relations.items()}
        relations |= read
        relations |= {QUERY: RelationType(QUERY, self.columns), GIVEN: RelationType(GIVEN, given)}
        program = CheckedProgram(
            relations, checked.records, (rule,), domains=checked.domains, functors=checked.functors
        )
        core = Compiler(as_written=True).compile(with_nodes(program, checked, ()))
        self.evaluation = Evaluation(core, QUERY, (GIVEN,))

    def answers(self, views: EngineViews, given: Words, watch: Watch) -> AnyWords:
        """Return the answers, shape (n, len(columns)), for given tuples, int64. Raise what `Evaluation.rows` raises."""
        return views.answers(self.evaluation, given, watch)


def question_of(
    flat: FlatRule, checked: CheckedProgram, renamed: Mapping[str, str], candidates: Mapping[str, RelationType]
) -> Question:
    """Return the question for the instances of a flat rule. Atoms of the relations `renamed` read others instead."""

    def read(literal: Literal) -> Literal:
        if isinstance(literal, Atom) and literal.path is None and literal.relation in renamed:
            return replace(literal, relation=renamed[literal.relation])
        return literal

    given = checked.relations[flat.head.relation].columns
    body = tuple(map(read, flat.body))
    return Question(body, flat.variables, given, flat.kinds, checked, {**candidates, **flat.read})


def rows_of_premise(premise: Premise, answers: AnyWords, constants: Mapping[tuple[object, Kind], int]) -> AnyWords:
    """Return the tuples of an atom, shape (n, arity), one for each answer."""
    rows = numpy.empty((len(answers), len(premise.arguments)), numpy.int64)
    for i, (source, kind) in enumerate(zip(premise.arguments, premise.kinds, strict=True)):
        rows[:, i] = answers[:, source] if isinstance(source, int) else constants[source.value, kind]
    return rows
