"""Queries that are the body of a rule: several atoms, conditions, negation, aggregates, paths, alternatives.

    r(x, y), e(y, z), z > limit        #query(x, y, z) :- #given(limit), r(x, y), e(y, z), z > limit.

`#query` has the variables of the body in the order in which they first occur; `#given` has one tuple, the values of the
parameters. The rule is checked and translated like any other, but belongs to no program.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from tidelog.errors import Problem, ProgramError
from tidelog.functions.callables import GivenFunctions
from tidelog.language import Checker
from tidelog.language.aggregate_variables import separate
from tidelog.language.counters import counters_in
from tidelog.language.declarations import resolve
from tidelog.language.grounding import grounding_problems
from tidelog.language.inlining import INLINE
from tidelog.language.kinds import infer
from tidelog.language.syntax import (
    Aggregate,
    Anonymous,
    Atom,
    Attribute,
    CheckedProgram,
    Column,
    Constant,
    Declaration,
    Disjunction,
    Kind,
    Literal,
    Program,
    RelationType,
    Rule,
    Term,
    Variable,
)
from tidelog.language.trees import FreshNames, rebuild, rebuild_term, variables, walk
from tidelog.queries.evaluation import Evaluation
from tidelog.queries.pattern import QUERY, check_names, with_nodes
from tidelog.rules import Compiler
from tidelog.rules.paths import has_nodes

GIVEN = "#given"
"""The relation of the values of the parameters."""


@dataclass(frozen=True)
class BodyQuery:
    """A checked body: the program of its one rule, and the columns of its answer and of its parameters."""

    program: CheckedProgram
    columns: tuple[Column, ...]
    parameters: tuple[Column, ...]

    def evaluation(
        self, committed: CheckedProgram, others: Collection[str] = (), given: Iterable[str] = ()
    ) -> Evaluation:
        """Return the evaluation of the body over the views of a `committed` program; the relations `given` have other
        rows than there. Relations that it derives, and `others`, give no nodes to paths. With `others`, paths have
        other nodes than those of the program. Raise ProgramError (E0305)."""
        program = with_nodes(self.program, committed, others)
        # A query that begins with a value reads few rows; a projection would read the whole of a relation.
        begins = bool(self.parameters) or any(isinstance(node, Constant) for node in walk(program.rules[0].body))
        core = Compiler(as_written=begins).compile(program)
        facts = tuple({*given, *([GIVEN] if self.parameters else [])})
        return Evaluation(core, QUERY, facts, has_nodes if others else None)


def body_of(
    literals: tuple[Literal, ...], names: Collection[str], programs: Iterable[Program], given: GivenFunctions
) -> BodyQuery:
    """Return a checked body, in which `names` are parameters, with functions `given` for functors in Python.

    Raise ProgramError, or UsageError (E0612).
    """
    check_names(names, variables(literals))
    declared = declarations(programs)
    try:
        return _checked_body(literals, tuple(names), declared, given)
    except ProgramError as error:
        raise ProgramError(*map(_of_query, error.problems)) from None


def declarations(programs: Iterable[Program]) -> list[Program]:
    """Return the declarations of programs, with the rules of inline relations, for which these stand."""
    programs = list(programs)
    inline = {each.name for program in programs for each in program.declarations if INLINE in each.qualifiers}
    return [
        Program(
            types=program.types,
            declarations=program.declarations,
            rules=tuple(rule for rule in program.rules if any(head.relation in inline for head in rule.heads)),
            functors=program.functors,
        )
        for program in programs
    ]


def _checked_body(
    literals: tuple[Literal, ...], names: tuple[str, ...], declared: list[Program], given: GivenFunctions
) -> BodyQuery:
    body = (_parameter_atom(names, names), *_with_targets(literals, names)) if names else literals
    rule = Rule(None, (Atom(QUERY, ()),), body)
    parameters = tuple(Column(name, kind, kind) for name, kind in _kinds_of(names, rule, declared))
    attributes = tuple(Attribute(column.name, column.type) for column in parameters)
    own = (Declaration(QUERY, ()), *((Declaration(GIVEN, attributes),) if names else ()))
    for counter in counters_in(literals):
        hint = "number the tuples in a rule, and ask for those of its relation"
        raise ProgramError(Problem("E0275", "a counter cannot stand in a query", counter.span, hint=hint))
    checked = Checker(given).check(*declared, Program(declarations=own, rules=(rule,)))
    (found,) = (each for each in checked.rules if each.heads[0].relation == QUERY)
    shown = [name for name in _in_all(literals) if name not in names]
    found = replace(found, name=QUERY, heads=(Atom(QUERY, tuple(map(Variable, shown))),))
    problems = grounding_problems(replace(found, name=None))
    if problems:
        raise ProgramError(*problems)
    types = _types(found.body, checked)
    columns = tuple(Column(name, found.kinds[name], types.get(name, found.kinds[name])) for name in shown)
    relations = {**checked.relations, QUERY: RelationType(QUERY, columns)}
    return BodyQuery(replace(checked, relations=relations, rules=(found,)), columns, parameters)


def _parameter_atom(names: tuple[str, ...], used: Collection[str]) -> Atom:
    """Return the atom that gives the parameters in `used` their values."""
    return Atom(GIVEN, tuple(Variable(name) if name in used else Anonymous() for name in names))


def _with_targets(literals: Iterable[Literal], names: tuple[str, ...]) -> tuple[Literal, ...]:
    """Return the literals with values for parameters in targets of aggregates, whose variables are always their own."""

    def change(term: Term) -> Term | None:
        if not isinstance(term, Aggregate):
            return None
        body = tuple(rebuild(literal, change) for literal in term.body)
        target = term.target and rebuild_term(term.target, change)
        used = set(names).intersection(variables([target], aggregates=False) if target is not None else ())
        return replace(term, target=target, body=(_parameter_atom(names, used), *body) if used else body)

    return tuple(rebuild(literal, change) for literal in literals)


def _kinds_of(names: tuple[str, ...], rule: Rule, declared: list[Program]) -> list[tuple[str, Kind]]:
    """Return the kind of each parameter, from the places where it stands."""
    if not names:
        return []
    scheme, problems = resolve(declared)
    if not problems:
        inferred, problems = infer(separate(rule, FreshNames(rule)), scheme)
    if problems:
        raise ProgramError(*problems)
    return [(name, inferred.kinds[name]) for name in names]


def _in_all(body: Iterable[Literal]) -> Iterator[str]:
    """Yield the variables of a body in the order in which they first occur, without those that belong to some
    alternatives only."""
    body = tuple(body)
    shown = {name for literal in body for name in _of_all(literal)}
    return (name for name in variables(body, aggregates=False) if name in shown)


def _of_all(literal: Literal) -> Iterable[str]:
    if not isinstance(literal, Disjunction):
        return variables((literal,), aggregates=False)
    return set.intersection(*(set(_in_all(alternative)) for alternative in literal.alternatives))


def _types(body: tuple[Literal, ...], checked: CheckedProgram) -> Mapping[str, str]:
    """Return the declared type of variables: that of the column of a relation where one stands first."""
    found: dict[str, str] = {}
    for atom in body:
        if isinstance(atom, Atom) and atom.path is None and atom.relation != GIVEN:
            for term, column in zip(atom.args, checked.relations[atom.relation].columns, strict=True):
                if isinstance(term, Variable):
                    found.setdefault(term.name, column.type)
    return found


def _of_query(problem: Problem) -> Problem:
    """Return a problem of the rule as one of the query."""
    hint = problem.hint
    if problem.code in ("E0215", "E0216", "E0217") and "`" in problem.message:
        name = problem.message.split("`")[1]
        hint = f"{hint}, or pass its value: db.query(…, {name}=…)"
    return replace(problem, message=problem.message.replace("this rule", "this query"), hint=hint)
