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
from functools import cached_property
from itertools import count

from tidelog.common.arrays import AnyWords, Words
from tidelog.explain.views import EngineViews
from tidelog.explain.walks import end_kinds
from tidelog.explain.witnesses import Witness, witness_of
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
from tidelog.language.trees import outermost, variables, whole
from tidelog.limits.watch import Watch
from tidelog.queries.bodies import GIVEN
from tidelog.queries.evaluation import Evaluation, Evaluations
from tidelog.queries.pattern import QUERY, with_nodes
from tidelog.rules import Compiler
from tidelog.rules.arguments import arguments
from tidelog.rules.bench import Bench
from tidelog.rules.core import NUMBERED
from tidelog.rules.counters import counters
from tidelog.rules.disjunctions import disjunctions
from tidelog.rules.grounding import grounded

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
    witnesses: tuple[tuple[Witness, tuple[Premise, ...]], ...] = ()
    """Members that give aggregates their values, with their tuples."""
    made: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Variables that the checker has named, for inline relations and witnesses, with their names in the text."""

    @cached_property
    def needed(self) -> tuple[Premise, ...]:
        """The tuples that an instance needs: the premises, then those of witnesses."""
        return (*self.premises, *(premise for _, own in self.witnesses for premise in own))

    @cached_property
    def constants(self) -> tuple[tuple[object, Kind], ...]:
        """The constants among the arguments of its atoms, each once."""
        atoms = (self.head, *self.needed)
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
            for atom in (self.head, *self.needed)
        )

    @cached_property
    def order(self) -> tuple[Literal, ...]:
        """The body behind the tuples that are given, in the order in which a search binds its variables best: literals
        that only test as soon as they can, then tuples with a bound variable, and the fewest open ones; numbers of
        counters last."""
        given, *rest = self.body
        ordered: list[Literal] = []

        def rank(literal: Literal) -> tuple[int, bool, int]:
            own, bound = set(variables([literal], aggregates=False)), grounded([given, *ordered])
            of_members = set(variables([literal])) & set(variables(self.body, aggregates=False)) - own
            if not (own <= grounded([given, *ordered, literal]) and of_members <= bound):
                return 2, False, 0
            if isinstance(literal, Atom) and literal.relation in self.read:
                return 1, True, len(own)  # A counter numbers what the rest of the body has found.
            return int(isinstance(literal, Atom)), bool(own) and own.isdisjoint(bound), len(own - bound)

        while rest:
            ordered.append(min(rest, key=rank))
            rest.remove(ordered[-1])
        return tuple(ordered)

    @cached_property
    def written(self) -> tuple[str, ...]:
        """The variables that the program has written."""
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
        bench = Bench(rule.name or "", checked.relations, checked.records)
        made = _made(rule, texts.get(rule.name))
        for alternative in disjunctions(rule, bench):
            numbered, read = _with_numbers(alternative, bench)
            for head in numbered.heads:
                flat = _flat(numbered, head, rule, next(numbers), checked, read, made, witnesses)
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
    made: Mapping[str, str],
    with_witnesses: bool,
) -> FlatRule:
    """Return one head of a rule without disjunctions, with a variable for each argument of positive atoms."""
    kinds = dict(rule.kinds)
    added: list[Literal] = []

    def named(atom: Atom, stem: str, added: list[Literal]) -> Atom:
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

    given = named(head, "head", added)
    body: list[Literal] = []
    for i, literal in enumerate(rule.body):
        is_premise = isinstance(literal, Atom) and literal.relation not in read
        body.append(named(literal, f"premise{i}_", added) if is_premise and isinstance(literal, Atom) else literal)
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
                own.append(named(each, f"witness{i}_{j}_", own) if isinstance(each, Atom) else each)
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


def _made(rule: Rule, text: Rule | None) -> dict[str, str]:
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
    body = reading(flat.literals, renamed)
    return Question(body, flat.variables, given, flat.kinds, checked, {**candidates, **flat.read})


def reading(literals: Iterable[Literal], renamed: Mapping[str, str]) -> tuple[Literal, ...]:
    """Return literals whose atoms read others in the place of the relations `renamed`."""
    return tuple(
        replace(each, relation=renamed.get(each.relation, each.relation))
        if isinstance(each, Atom) and each.path is None
        else each
        for each in literals
    )
