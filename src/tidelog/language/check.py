"""`check`: from parsed programs to one checked program, or to everything that is wrong with them.

In this order: declarations, directives, and for each rule names and numbers of arguments (names), kinds of variables
and terms (kinds), grounding, and if all that is well flow between types of one kind (subtypes) and regular
expressions (patterns). Negation and aggregation through recursion are the rule graph's (`tidelog.rules`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import count

from tidelog.errors import Problem, ProgramError
from tidelog.language.declarations import Scheme, resolve
from tidelog.language.directives import directive_problems
from tidelog.language.grounding import grounding_problems
from tidelog.language.kinds import infer
from tidelog.language.names import atoms, name_problems
from tidelog.language.paths import repeats
from tidelog.language.patterns import pattern_problems
from tidelog.language.subtypes import subtype_problems
from tidelog.language.syntax import CheckedProgram, Constant, Fact, Program, Record, Rule, Span, Term, Value


def check(*programs: Program) -> CheckedProgram:
    """All programs together, checked. Raises ProgramError with every problem found."""
    scheme, problems = resolve(programs)
    directives = tuple(directive for program in programs for directive in program.directives)
    problems += directive_problems(directives, scheme)
    statements = [rule for program in programs for rule in program.rules]
    problems += _double_names(statements)
    rules: list[Rule] = []
    facts: list[Fact] = []
    named = [rule for program in name_rules(programs) for rule in program.rules]
    for statement, final in zip(statements, named, strict=True):
        checked, found = _check_rule(statement, scheme)
        problems += found
        fact = _fact(checked)
        if fact is not None:
            facts.append(fact)
        else:
            rules.append(replace(checked, name=final.name))
    if problems:
        raise ProgramError(*problems)
    domains = {domain: _holding(domain, scheme) for domain in _domains(rules)}
    return CheckedProgram(scheme.relations, scheme.records, tuple(rules), tuple(facts), directives, domains)


def _domains(rules: Iterable[Rule]) -> Iterator[str]:
    """The types of the nodes that paths with `*` and `?` connect with themselves, each once."""
    found = (
        repeat.domain for rule in rules for atom in atoms((*rule.heads, *rule.body)) for repeat in repeats(atom.path)
    )
    return iter(dict.fromkeys(domain for domain in found if domain is not None))


def _holding(domain: str, scheme: Scheme) -> tuple[tuple[str, int], ...]:
    """The columns of binary relations whose values all have the type."""
    return tuple(
        (relation.name, position)
        for relation in scheme.relations.values()
        for position, column in enumerate(relation.columns)
        if len(relation.columns) == 2 and column.kind == scheme.kinds[domain] and scheme.flows(column.type, domain)
    )


def name_rules(programs: Iterable[Program]) -> tuple[Program, ...]:
    """The programs with the names r1, r2, … for rules that have none, taken names skipped; facts stay without."""
    programs = tuple(programs)
    taken = {rule.name for program in programs for rule in program.rules if rule.name is not None}
    numbers = (name for name in map("r{}".format, count(1)) if name not in taken)
    return tuple(
        replace(
            program,
            rules=tuple(
                rule if rule.name is not None or _fact(rule) is not None else replace(rule, name=next(numbers))
                for rule in program.rules
            ),
        )
        for program in programs
    )


def _check_rule(rule: Rule, scheme: Scheme) -> tuple[Rule, list[Problem]]:
    """The rule with its kinds, and what is wrong with it."""
    problems = name_problems(rule, scheme)
    checked, found = infer(rule, scheme)
    problems += found
    problems += grounding_problems(rule)
    if not problems:
        problems = subtype_problems(checked, scheme) + pattern_problems(checked)
    return checked, problems


def _double_names(rules: list[Rule]) -> list[Problem]:
    first: dict[str, Rule] = {}
    problems = []
    for rule in rules:
        if rule.name is None:
            continue
        other = first.setdefault(rule.name, rule)
        if other is not rule:
            place = name_span(other)
            notes = ((place, "first used here"),) if place else ()
            message = f"two rules have the name `{rule.name}`"
            problems.append(Problem("E0221", message, name_span(rule), notes, "rename one of the two"))
    return problems


def name_span(rule: Rule) -> Span | None:
    """The place of a rule's name, with which its span begins."""
    if rule.span is None or rule.name is None:
        return rule.span
    return Span(rule.span.source, rule.span.start, rule.span.start + len(rule.name))


def _fact(rule: Rule) -> Fact | None:
    """The fact that an unnamed rule states, if it is made of constants only."""
    if rule.body or rule.name is not None or len(rule.heads) != 1:
        return None
    head = rule.heads[0]
    values = []
    for term in head.args:
        if not _constant(term):
            return None
        values.append(_value(term))
    return Fact(head.relation, tuple(values), span=head.span)


def _constant(term: Term) -> bool:
    match term:
        case Constant() | Record(fields=None):
            return True
        case Record(fields=tuple(parts)):
            return all(map(_constant, parts))
        case _:
            return False


def _value(term: Term) -> Value:
    match term:
        case Constant(value=value):
            return value
        case Record(fields=tuple(parts)):
            return tuple(map(_value, parts))
        case _:
            return None
