"""The instances of rules: the substitutions of a rule's variables under which it derives given tuples.

A rule is asked with its head bound, over the views of an engine as they are. For `p(x, d + 1) :- q(x, d), !r(_, x).`:

    #query(x, #head1, d) :- #given(x, #head1), #head1 = d + 1, q(x, d), !r(_, x).

`#given` has the tuples to explain, all at once. Disjunctions are one rule for each alternative, and each argument of a
positive atom has a variable, so that an instance says which tuples it needs. What the literals mean is left to the
translation that all rules take (`rules/`), and joins to the engine's plans (`queries.evaluation`).

A `min`, a `max`, an `any` or an `argmin` has a *witness*, a member that gives it its value. For
`s = min z : { talk(p, z, _), z >= now }` a rule also needs a member whose value is `s`:

    talk(p, #witness0_z, _), #witness0_z >= now, #witness0_z = s

The tuples of these atoms are premises of the rule's instances, so that a proof continues below them. All members of a
group are asked for like the instances of rules. Each `_` of a tuple takes part in substitutions, so it gets a name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from typing import Any

import numpy

from tidelog.common.arrays import AnyWords, Words
from tidelog.explain.views import EngineViews
from tidelog.explain.walks import end_kinds
from tidelog.language.counters import counters_in
from tidelog.language.syntax import (
    Aggregate,
    Anonymous,
    Atom,
    CheckedProgram,
    Column,
    Comparison,
    Constant,
    Disjunction,
    Kind,
    Literal,
    Negation,
    Record,
    RelationType,
    Rule,
    Term,
    Variable,
)
from tidelog.language.trees import outermost, rebuild, rebuild_term, renaming, variables, whole
from tidelog.limits.watch import Watch
from tidelog.queries.bodies import GIVEN
from tidelog.queries.evaluation import Evaluation, Evaluations
from tidelog.queries.pattern import QUERY, with_nodes
from tidelog.reference.substitutions import bound_by
from tidelog.rules import Compiler
from tidelog.rules.aggregates import arguments
from tidelog.rules.anonymous import name_wildcards, name_wildcards_in
from tidelog.rules.core import NUMBERED
from tidelog.rules.counters import counters
from tidelog.rules.disjunctions import disjunctions
from tidelog.rules.grounding import grounded_variables
from tidelog.rules.rewrite_state import RewriteState
from tidelog.semantics.values import Row, normal

WITNESSED = ("min", "max", "any")
"""The aggregates whose value is that of a member."""
_EXTREMES = {"argmin": "min", "argmax": "max"}


@dataclass(frozen=True)
class Witness:
    """A member of the aggregate in condition number `condition` of a rule: `literals` that hold for it."""

    condition: int
    literals: tuple[Literal, ...]


def witness_of(
    literal: Literal, condition: int, around: frozenset[str], kinds: Mapping[str, Kind], made: Mapping[str, str]
) -> tuple[Witness | None, dict[str, Kind]]:
    """Return what holds for the member that gives the first aggregate of a literal its value, and the kinds of its
    variables; None if the body of the aggregate is no conjunction with a tuple, or if the rule has the tuple already:
    then the checker has `made` a variable for the value. `around` are the variables outside of aggregates."""
    aggregate = next(outermost([literal]), None)
    if aggregate is None or aggregate.target is None or not _is_plain(aggregate):
        return None, {}
    value = _name_of(aggregate, literal)
    if value is not None and made.get(value.name) == "value":
        return None, {}
    own = {name: f"#witness{condition}_{name}" for name in variables([aggregate]) if name not in around}
    added = {new: kinds[old] for old, new in own.items() if old in kinds}

    change = renaming(own)

    def equal(stem: str, value: Aggregate, term: Term) -> list[Literal]:
        kind = value.result or value.kind or "number"
        name = _name_of(value, literal)
        named: list[Literal] = []
        if name is None:
            name = Variable(f"#{stem}{condition}")
            added[name.name] = kind
            named.append(Comparison("=", name, value, kind=kind, span=value.span))
        return [*named, Comparison("=", rebuild_term(term, change), name, kind=kind, span=value.span)]

    body = [rebuild(each, change) for each in aggregate.body]
    target = aggregate.target
    if aggregate.op in _EXTREMES:
        assert isinstance(target, Record)
        assert target.fields is not None
        target, rank = target.fields
        kind = aggregate.target.kind or "number"  # type: ignore[union-attr]  # It is a record.
        least = Aggregate(_EXTREMES[aggregate.op], rank, aggregate.body, kind, kind, span=aggregate.span)  # type: ignore[arg-type]
        body += equal("rank", least, rank)
    body += equal("value", aggregate, target)
    return Witness(condition, tuple(body)), added


def _is_plain(aggregate: Aggregate) -> bool:
    """Return True if the value of an aggregate is that of a member, and its body a conjunction with a tuple."""
    if aggregate.op not in (*WITNESSED, *_EXTREMES) or next(outermost(aggregate.body), None) is not None:
        return False
    kept = all(isinstance(each, Atom | Comparison | Negation) for each in aggregate.body)
    return kept and any(isinstance(each, Atom) for each in aggregate.body)


def _name_of(aggregate: Aggregate, literal: Literal) -> Variable | None:
    """Return the variable that a literal gives the value of an aggregate."""
    if not isinstance(literal, Comparison) or literal.op != "=":
        return None
    for one, other in ((literal.left, literal.right), (literal.right, literal.left)):
        if isinstance(one, Variable) and other is aggregate:
            return one
    return None


ArgumentSource = int | Constant
"""Where an argument of an atom comes from: the column of an answer, or a constant."""


@dataclass(frozen=True)
class Premise:
    """A positive atom of a body: `relation` is the text of the path where it is one."""

    atom: Atom
    relation: str
    arguments: tuple[ArgumentSource, ...]
    kinds: tuple[Kind, ...]

    def row(self, values: Mapping[str, Any]) -> Row:
        """Return the tuple of the atom for the values of an instance, in the order of its rule's variables."""
        given = tuple(values.values())
        return tuple(
            given[source] if isinstance(source, int) else normal(source.value, kind)
            for source, kind in zip(self.arguments, self.kinds, strict=True)
        )


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
    witnesses: tuple[tuple[Witness, tuple[Premise, ...]], ...] = ()
    """Members that give aggregates their values, with their tuples."""
    made: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Variables that the checker has named, for inline relations and witnesses, with their names in the text."""

    @cached_property
    def needed_premises(self) -> tuple[Premise, ...]:
        """The tuples that an instance needs: the premises, then those of witnesses."""
        return (*self.premises, *(premise for _, own in self.witnesses for premise in own))

    @cached_property
    def constants(self) -> tuple[tuple[object, Kind], ...]:
        """The constants among the arguments of its atoms, each once."""
        atoms = (self.head, *self.needed_premises)
        pairs = (pair for atom in atoms for pair in zip(atom.arguments, atom.kinds, strict=True))
        return tuple(dict.fromkeys((each.value, kind) for each, kind in pairs if isinstance(each, Constant)))

    @cached_property
    def columns(self) -> tuple[tuple[int, ...], ...]:
        """Of the head and of each tuple that is needed: the columns in which instances have its words. Those behind the
        variables stand for the constants."""
        places = {each: len(self.variables) + i for i, each in enumerate(self.constants)}
        return tuple(
            tuple(
                source if isinstance(source, int) else places[source.value, kind]
                for source, kind in zip(atom.arguments, atom.kinds, strict=True)
            )
            for atom in (self.head, *self.needed_premises)
        )

    @cached_property
    def order(self) -> tuple[Literal, ...]:
        """The body behind the tuples that are given, in the order in which a search binds its variables best: literals
        that only test as soon as they can, then tuples with a bound variable, and the fewest open ones; numbers of
        counters last."""
        given, *rest = self.body
        ordered: list[Literal] = []

        def rank(literal: Literal) -> tuple[int, bool, int]:
            own, bound = set(variables([literal], aggregates=False)), grounded_variables([given, *ordered])
            of_members = set(variables([literal])) & set(variables(self.body, aggregates=False)) - own
            if not (own <= grounded_variables([given, *ordered, literal]) and of_members <= bound):
                return 2, False, 0
            if isinstance(literal, Atom) and literal.relation in self.read:
                return 1, True, len(own)  # A counter numbers what the rest of the body has found.
            return int(isinstance(literal, Atom)), bool(own) and own.isdisjoint(bound), len(own - bound)

        while rest:
            ordered.append(min(rest, key=rank))
            rest.remove(ordered[-1])
        return tuple(ordered)

    @cached_property
    def source_variables(self) -> tuple[str, ...]:
        return tuple(name for name in self.variables if "#" not in name and name not in self.made)

    @cached_property
    def literals(self) -> tuple[Literal, ...]:
        """The body, and what holds for witnesses."""
        return (*self.body, *(literal for witness, _ in self.witnesses for literal in witness.literals))


def flat_rules(checked: CheckedProgram, *, witnesses: bool = True) -> dict[str, tuple[FlatRule, ...]]:
    """Return the flat rules of a program by the relation of their head, in the order of the rules; without `witnesses`
    aggregates need no tuples."""
    numbers = count()
    found: dict[str, list[FlatRule]] = {}
    texts = {rule.name: rule for rule in checked.texts}
    for rule in checked.rules:
        state = RewriteState(rule.name or "", checked.relations, checked.records)
        made = _made_variables(rule, texts.get(rule.name))
        for alternative in disjunctions(rule, state):
            numbered, read = _with_numbers(alternative, state)
            for head in numbered.heads:
                flat = _flat(numbered, head, rule, next(numbers), checked, read, made, witnesses)
                found.setdefault(head.relation, []).append(flat)
    return {name: tuple(rules) for name, rules in found.items()}


def _with_numbers(rule: Rule, state: RewriteState) -> tuple[Rule, dict[str, RelationType]]:
    """Return a rule that reads the numbers that its counters have given, and the relations that have them."""
    if next(counters_in(whole(rule)), None) is None:
        return rule, {}
    (rule,) = arguments(rule, state)
    (numbered,) = counters(rule, state)
    steady = state.pending[-1].body
    made = {
        name: RelationType(name, info.columns) for name, info in state.auxiliary.items() if name.startswith(NUMBERED)
    }
    return replace(numbered, body=(*numbered.body, *steady), kinds={**rule.kinds, **state.kinds}), made


def _flat(
    rule: Rule,
    head: Atom,
    origin: Rule,
    number: int,
    checked: CheckedProgram,
    read: Mapping[str, RelationType],
    made: Mapping[str, str],
    with_witnesses: bool,
) -> FlatRule:
    """Return one head of a rule without disjunctions, with a variable for each argument of positive atoms."""
    kinds = dict(rule.kinds)
    added: list[Literal] = []

    def name_arguments(atom: Atom, stem: str, added: list[Literal]) -> Atom:
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

    given = name_arguments(head, "head", added)
    body: list[Literal] = []
    for i, literal in enumerate(rule.body):
        is_premise = isinstance(literal, Atom) and literal.relation not in read
        body.append(
            name_arguments(literal, f"premise{i}_", added) if is_premise and isinstance(literal, Atom) else literal
        )
    atoms = [literal for literal in body if isinstance(literal, Atom) and literal.relation not in read]
    conditions: list[Literal] = [
        literal for literal in rule.body if not isinstance(literal, Atom) and not _only_names(literal, made)
    ]
    conditions += [literal for literal in added if next(outermost([literal]), None) is not None]
    witnesses: list[Witness] = []
    around = frozenset(variables([given, *body, *added], aggregates=False))
    for i, literal in enumerate(conditions if with_witnesses else ()):
        witness, own_kinds = witness_of(literal, i, around, kinds, made)
        kinds |= own_kinds
        if witness is not None:
            own: list[Literal] = []
            for j, each in enumerate(witness.literals):
                own.append(name_arguments(each, f"witness{i}_{j}_", own) if isinstance(each, Atom) else each)
            witnesses.append(replace(witness, literals=tuple(own)))
    searched = [given, *body, *added, *(literal for witness in witnesses for literal in witness.literals)]
    columns = tuple(variables(searched, aggregates=False))

    def premises(literals: Iterable[Literal]) -> tuple[Premise, ...]:
        return tuple(_premise(atom, columns, checked) for atom in literals if isinstance(atom, Atom))

    return FlatRule(
        origin,
        number,
        _premise(given, columns, checked),
        premises(atoms),
        tuple(conditions),
        columns,
        kinds,
        (Atom(GIVEN, given.args), *added, *body),
        read,
        tuple((witness, premises(witness.literals)) for witness in witnesses),
        made,
    )


def _made_variables(rule: Rule, text: Rule | None) -> dict[str, str]:
    """Return the variables of a rule that its text does not have, with those that they come from."""
    if text is None:
        return {}
    written = set(variables(whole(text)))
    return {name: name.rpartition("_")[0] for name in variables(whole(rule)) if name not in written}


def _only_names(literal: Literal, made: Mapping[str, str]) -> bool:
    """Return True for an equality that only names a value: one of its sides is a variable of a rewrite."""
    if not isinstance(literal, Comparison) or literal.op != "=":
        return False
    sides = (literal.left, literal.right)
    simple = all(isinstance(side, Variable | Constant | Anonymous) for side in sides)
    return simple and any(isinstance(side, Variable) and side.name in made for side in sides)


def kinds_of(atom: Atom, checked: CheckedProgram) -> tuple[Kind, ...]:
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
        relations = {
            name: replace(each, selections=()) if each.selections else each for name, each in checked.relations.items()
        }
        relations |= read
        relations |= {QUERY: RelationType(QUERY, self.columns), GIVEN: RelationType(GIVEN, given)}
        program = CheckedProgram(
            relations, checked.records, (rule,), domains=checked.domains, functors=checked.functors
        )
        core = Compiler(as_written=True).compile(with_nodes(program, checked, ()))
        self.evaluation = Evaluation(core, QUERY, (GIVEN,))
        self._alone = Evaluations((self.evaluation,))

    def answers(self, views: EngineViews, given: Words, watch: Watch) -> AnyWords:
        """Return the answers, shape (n, len(columns)), for given tuples, int64. Raise what `Evaluation.rows` raises."""
        return views.answers(self._alone, given, watch)[0]


def question_of(
    flat: FlatRule, checked: CheckedProgram, renamed: Mapping[str, str], candidates: Mapping[str, RelationType]
) -> Question:
    """Return the question for the instances of a flat rule. Atoms of the relations `renamed` read others instead."""
    given = checked.relations[flat.head.relation].columns
    body = renamed_literals(flat.literals, renamed)
    return Question(body, flat.variables, given, flat.kinds, checked, {**candidates, **flat.read})


def renamed_literals(literals: Iterable[Literal], renamed: Mapping[str, str]) -> tuple[Literal, ...]:
    """Return literals whose atoms read others in the place of the relations `renamed`."""
    return tuple(
        replace(each, relation=renamed.get(each.relation, each.relation))
        if isinstance(each, Atom) and each.path is None
        else each
        for each in literals
    )


@dataclass(frozen=True)
class MemberGroup:
    """An aggregate of a rule, asked for its members: the variables `given` from around it, those that are `shown`, and
    the tuples of its body."""

    question: Question
    given: tuple[str, ...]
    shown: tuple[str, ...]
    atoms: tuple[Atom, ...]
    kinds: Mapping[str, Kind]

    def answers(self, views: EngineViews, words: Mapping[str, int], watch: Watch) -> AnyWords:
        """Return the members, shape (n, len(shown)), for the words of variables. Raise LimitError."""
        row = numpy.array([words[name] for name in self.given], numpy.int64).reshape(1, -1)
        return self.question.answers(views, row, watch)


def group_of(aggregate: Aggregate, flat: FlatRule, checked: CheckedProgram) -> MemberGroup:
    """Return the question for the members of an aggregate of a rule."""
    state = RewriteState("members", checked.relations, checked.records)
    body = _with_names(aggregate.body, state)
    kinds = {**flat.kinds, **state.kinds}
    bound = bound_by(body)
    shown = tuple(name for name in variables(body, aggregates=False) if name in bound)
    given = tuple(name for name in variables([aggregate]) if name in flat.variables)
    columns = tuple(Column(name, kinds[name], kinds[name]) for name in given)
    asked = (Atom(GIVEN, tuple(map(Variable, given))), *body)
    atoms = tuple(literal for literal in body if isinstance(literal, Atom))
    return MemberGroup(Question(asked, shown, columns, kinds, checked, flat.read), given, shown, atoms, kinds)


def _with_names(body: tuple[Literal, ...], state: RewriteState) -> tuple[Literal, ...]:
    """Return a body with names for every `_`, in alternatives and at the ends of paths as well."""
    found: list[Literal] = []
    for literal in body:
        if isinstance(literal, Disjunction):
            alternatives = tuple(_with_names(each, state) for each in literal.alternatives)
            found.append(replace(literal, alternatives=alternatives))
        elif isinstance(literal, Atom) and literal.path is not None:
            ends = zip(literal.args, end_kinds(literal.path, state.relations), strict=True)
            found.append(replace(literal, args=tuple(name_wildcards_in(term, kind, state) for term, kind in ends)))
        else:
            found += name_wildcards((literal,), state)
    return tuple(found)
