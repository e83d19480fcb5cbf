"""`check`: from parsed programs to one checked program, or to all of their problems.

In this order: declarations, directives, and for each rule which variables are an aggregate's own (aggregate_variables),
names and numbers of arguments (names), kinds of variables and terms (kinds), grounding, and if all that is well flow
between types of one kind (subtypes) and regular expressions (regex). Negation and aggregation through recursion are the
rule graph's (`tidelog.rules`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import count
from operator import is_
from typing import Any

from tidelog.common.collecting import pause_collection
from tidelog.common.differing import Item, difference_if_appended
from tidelog.common.looking import Look, ignore_limits
from tidelog.common.source import Span
from tidelog.errors import Problem, ProgramError
from tidelog.functions.callables import GivenFunctions
from tidelog.language.aggregate_variables import separate, with_values, with_witnesses
from tidelog.language.components import expand
from tidelog.language.counters import counter_problems
from tidelog.language.declarations import Scheme, equivalence_problems, equivalence_rules, resolve
from tidelog.language.directives import directive_problems
from tidelog.language.grounding import grounding_problems
from tidelog.language.inlining import (
    INLINE,
    Definitions,
    conflicts,
    definitions_of,
    inline_bodies,
    inlined_relations,
    paths_over_inline,
    reads_inline,
    used_by,
)
from tidelog.language.kinds import infer
from tidelog.language.lexer import NO_NODES
from tidelog.language.names import name_problems
from tidelog.language.paths import repeats
from tidelog.language.plain_statements import fact, plain_fact, plain_rule, states_fact
from tidelog.language.problems import as_written, note, once, with_instances
from tidelog.language.regex import pattern_problems
from tidelog.language.retyping import with_field_equalities, with_types_apart
from tidelog.language.selections import selection_problems
from tidelog.language.sizes import size_problems
from tidelog.language.subtypes import subtype_problems
from tidelog.language.syntax import (
    Atom,
    CheckedProgram,
    Declaration,
    Directive,
    Fact,
    FunctorDeclaration,
    Program,
    Rule,
    TypeDeclaration,
)
from tidelog.language.trees import FreshNames, atoms


def check(*programs: Program, look: Look = ignore_limits) -> CheckedProgram:
    """Return all programs together, checked. Call `look` before each rule; it may raise. Raise ProgramError with all
    problems."""
    return Checker().check(*programs, look=look)


@dataclass(frozen=True)
class _Passed:
    """A statement that has passed, its checked form, and the types of the nodes of its paths."""

    statement: Rule
    checked: Rule | Fact
    domains: tuple[str, ...]


@dataclass(frozen=True)
class _Statements:
    """Statements that have passed, in their order, and their rules and facts. Those `selecting` are the rules that
    select tuples."""

    passed: tuple[_Passed, ...] = ()
    statements: tuple[Rule, ...] = ()
    written: tuple[Rule, ...] = ()
    texts: tuple[Rule, ...] = ()
    facts: tuple[Fact, ...] = ()
    selecting: tuple[Rule, ...] = ()
    domains: tuple[str, ...] = ()

    def plus(self, passed: Sequence[_Passed]) -> _Statements:
        """Return these statements and more behind them."""
        rules = [(each.checked, each.statement) for each in passed if isinstance(each.checked, Rule)]
        selecting = [rule for rule, _ in rules if rule.subsumes or any(head.selects for head in rule.heads)]
        return _Statements(
            (*self.passed, *passed),
            (*self.statements, *(each.statement for each in passed)),
            (*self.written, *(rule for rule, _ in rules)),
            (*self.texts, *(text for _, text in rules)),
            (*self.facts, *(each.checked for each in passed if isinstance(each.checked, Fact))),
            (*self.selecting, *selecting),
            tuple(dict.fromkeys([*self.domains, *(domain for each in passed for domain in each.domains)])),
        )

    def followed_by(self, statements: Sequence[Rule]) -> tuple[_Statements, Sequence[Rule]]:
        """Return those with which `statements` begin, and the rest of these; none where paths, or a fact that is there
        twice, have gone."""
        removed, added = difference_if_appended(self.statements, statements)
        if not removed:
            return self, added
        lost = set(map(id, removed))
        away = [each for each in self.passed if id(each.statement) in lost]
        if len(away) != len(removed) or any(each.domains for each in away):
            return _Statements(), statements
        lost.update(id(each.checked) for each in away)
        return (
            _Statements(
                tuple([each for each in self.passed if id(each.statement) not in lost]),
                _drop(self.statements, lost),
                _drop(self.written, lost),
                _drop(self.texts, lost),
                _drop(self.facts, lost),
                _drop(self.selecting, lost),
                self.domains,
            ),
            added,
        )


@dataclass(frozen=True)
class _Inlined:
    """A checked rule, the rules inlined into it, and the result, if any of its heads has tuples."""

    rule: Rule
    used: tuple[Rule, ...]
    result: Rule | None


@dataclass(frozen=True)
class CheckerState:
    """The programs that passed last, and the results for them; `passed` by the identity of the statements, which live
    as long as their entries. A pickle has these without their identities, which differ after loading."""

    programs: tuple[Program, ...]
    types: tuple[TypeDeclaration | FunctorDeclaration, ...]
    declarations: tuple[Declaration, ...]
    scheme: Scheme
    passed: Mapping[int, _Passed]
    implied: tuple[Rule, ...] = ()
    """The rules that declarations bring."""
    inlined: Mapping[int, _Inlined] = field(default_factory=dict)
    """By the identity of the rules."""
    statements: _Statements = field(default_factory=_Statements)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "passed": [*self.passed.values()], "inlined": [*self.inlined.values()]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        passed = {id(each.statement): each for each in state["passed"]}
        vars(self).update({**state, "passed": passed, "inlined": {id(each.rule): each for each in state["inlined"]}})


class Checker:
    """Checks the programs of a database one after another: it does not check statements again that the last program has
    as well, so the cost of a change of rules depends on the change only."""

    def __init__(self, given: GivenFunctions | None = None) -> None:
        self._given = given or GivenFunctions()
        self._last = CheckerState((), (), (), Scheme(), {})
        """All of it is replaced at once, whatever interrupts a check."""

    @property
    def programs(self) -> tuple[Program, ...]:
        """The last programs that passed, with names for all rules."""
        return self._last.programs

    @property
    def state(self) -> CheckerState:
        """The state between two checks, for a `Checker` that resumes after the same programs."""
        return self._last

    def resume(self, state: CheckerState) -> None:
        """Go on from the state of another `Checker`."""
        self._last = state

    def facts_of(self, program: Program) -> tuple[Fact, ...]:
        """Return the facts that one of `programs` states."""
        found = (self._last.passed[id(rule)].checked for rule in program.rules)
        return tuple(each for each in found if isinstance(each, Fact))

    @pause_collection()
    def check(self, *programs: Program, look: Look = ignore_limits) -> CheckedProgram:
        """Return all programs together, checked. Raise ProgramError with all problems, and the exceptions of `look`."""
        programs = expand(programs, {id(program) for program in self._last.programs})
        types: tuple[TypeDeclaration | FunctorDeclaration, ...] = ()
        for program in programs:
            types = (*types, *program.types, *program.functors)
        declarations = tuple(declaration for program in programs for declaration in program.declarations)
        last = self._last
        known = len(last.declarations)
        extended = same_objects(types, last.types) and same_objects(declarations[:known], last.declarations)
        if extended and len(declarations) == known:
            scheme, problems, implied = last.scheme, list[Problem](), last.implied
        else:
            scheme, problems = resolve(programs, self._given)
            problems += equivalence_problems(scheme)
            implied = () if problems else _reuse_rules(equivalence_rules(scheme), last.implied)
        # What has passed stays right when relations are declared besides, but a type may make another one of a term.
        before = last.passed if extended else {}
        directives = tuple(directive for program in programs for directive in program.directives)
        problems += directive_problems(directives, scheme)
        statements = [rule for program in programs for rule in program.rules]
        problems += double_names(statements)
        programs, inline = name_rules(programs), inlined_relations(scheme)
        kept, rest = last.statements.followed_by(statements) if extended else (_Statements(), statements)
        named = [rule for program in programs for rule in program.rules][len(kept.passed) :]
        passed: list[_Passed] = []
        for statement, final in zip(rest, named, strict=True):
            each = before.get(id(statement))
            if each is None:
                look()
                stated = plain_fact(statement, scheme) if final.name is None else None
                checked, wrong = (
                    (stated, []) if stated is not None else check_statement(statement, final, scheme, inline)
                )
                problems += wrong
                result = fact(checked) or checked
                each = _Passed(final, result, tuple(_domains(checked)) if stated is None else ())
            passed.append(each)
        found = kept.plus(passed)
        problems += selection_problems(scheme, found.selecting)
        if problems:
            raise ProgramError(*once(problems))
        rules = found.written
        if any(rule.subsumes for rule in found.selecting):
            rules = tuple(rule for rule in rules if not rule.subsumes)
        results = self._inline_rules(rules, inline, scheme, directives) if inline else None
        known_now = dict(zip(map(id, found.statements), found.passed, strict=True))
        self._last = CheckerState(programs, types, declarations, scheme, known_now, implied, results or {}, found)
        if results is not None:
            rules = tuple(one for rule in rules if (one := results[id(rule)].result) is not None)
        return CheckedProgram(
            scheme.relations,
            scheme.records,
            (*rules, *implied),
            found.facts,
            directives,
            {domain: _columns_of_domain(domain, scheme) for domain in found.domains},
            found.written,
            found.texts,
            tuple(each for program in programs for each in program.types),
            functors=scheme.functors,
        )

    def _inline_rules(
        self, rules: tuple[Rule, ...], inline: frozenset[str], scheme: Scheme, directives: tuple[Directive, ...]
    ) -> dict[int, _Inlined]:
        """Return the rules with the bodies of inline relations in place of their atoms. Raise ProgramError."""
        definitions = definitions_of(inline, rules)
        problems = list(conflicts(definitions, scheme, directives))
        if problems:
            raise ProgramError(*problems)
        found: dict[int, _Inlined] = {}
        for rule in rules:
            used = used_by(rule, definitions)
            known = self._last.inlined.get(id(rule))
            if known is None or not same_objects(known.used, used):
                result: Rule | None = rule
                if used or reads_inline(rule, inline):
                    result, new = _inline(rule, definitions, scheme)
                    problems += new
                known = _Inlined(rule, used, result)
            found[id(rule)] = known
        if problems:
            raise ProgramError(*once(problems))
        return found


def _inline(rule: Rule, definitions: Definitions, scheme: Scheme) -> tuple[Rule | None, list[Problem]]:
    """Return a rule without atoms of inline relations, and the problems that it then has."""
    try:
        result, written = inline_bodies(rule, definitions, scheme)
    except ProgramError as error:
        return None, with_instances(list(error.problems), rule.span)
    if result is None:
        return None, []
    problems = size_problems(result) or [*grounding_problems(result), *pattern_problems(result)]
    where = () if rule.span is None else ((rule.span, "inlined into this rule"),)
    return result, [
        each if _is_within(each.span, rule.span) else replace(each, notes=(*each.notes, *where))
        for each in as_written(problems, written)
    ]


def _drop(items: tuple[Item, ...], lost: Set[int]) -> tuple[Item, ...]:
    """Return the items but those of some identities."""
    return tuple([each for each in items if id(each) not in lost])


def _is_within(span: Span | None, outer: Span | None) -> bool:
    if span is None or outer is None:
        return True
    return span.source is outer.source and outer.start <= span.start and span.end <= outer.end


def same_objects(one: Sequence[object], other: Sequence[object]) -> bool:
    """Return True if two sequences are of the same objects, whose places messages show."""
    return len(one) == len(other) and all(map(is_, one, other))


def _reuse_rules(rules: tuple[Rule, ...], before: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """Return the rules, as the same objects as before where they are equal."""
    known = {rule.name: rule for rule in before}
    return tuple(old if (old := known.get(rule.name)) == rule and old is not None else rule for rule in rules)


def _domains(rule: Rule) -> Iterator[str]:
    """Return the types of the nodes that paths with `*` and `?` of a rule connect with themselves."""
    found = (repeat.domain for atom in atoms((*rule.heads, *rule.body)) for repeat in repeats(atom.path))
    return (domain for domain in found if domain is not None)


def _columns_of_domain(domain: str, scheme: Scheme) -> tuple[tuple[str, int], ...]:
    """Return the columns of binary relations whose values all have the type and are nodes."""
    return tuple(
        (relation.name, position)
        for relation in scheme.relations.values()
        if NO_NODES not in relation.qualifiers
        for position, column in enumerate(relation.columns)
        if len(relation.columns) == 2 and column.kind == scheme.kinds[domain] and scheme.flows(column.type, domain)
    )


def name_rules(programs: Iterable[Program]) -> tuple[Program, ...]:
    """Return the programs with the names r1, r2, … for rules that have none. Skip taken names, and leave facts unnamed,
    except those of inline relations."""
    programs = tuple(programs)
    inline = {each.name for program in programs for each in program.declarations if INLINE in each.qualifiers}
    taken = {rule.name for program in programs for rule in program.rules if rule.name is not None}
    numbers = (name for name in map("r{}".format, count(1)) if name not in taken)
    return tuple(
        replace(
            program,
            rules=tuple(
                rule if rule.name is not None or _is_fact(rule, inline) else replace(rule, name=next(numbers))
                for rule in program.rules
            ),
        )
        if None in [rule.name for rule in program.rules]
        else program
        for program in programs
    )


def _is_fact(rule: Rule, inline: set[str]) -> bool:
    return states_fact(rule) and rule.heads[0].relation not in inline


def check_statement(statement: Rule, final: Rule, scheme: Scheme, inline: frozenset[str]) -> tuple[Rule, list[Problem]]:
    """Return a statement with its kinds and the name of the `final` one, and its problems; see `check_rule`."""
    checked, problems = check_rule(statement, scheme, inline)
    checked = replace(checked, name=final.name) if checked.name != final.name else checked
    return checked, with_instances(problems, statement.span)


def check_rule(rule: Rule, scheme: Scheme, inline: frozenset[str]) -> tuple[Rule, list[Problem]]:
    """Return the rule with its kinds, and its problems. Rules that derive or read one of the `inline` relations are
    grounded later."""
    plain = None if inline else plain_rule(rule, scheme)
    if plain is not None:
        return plain, []
    if rule.subsumes:
        return _check_subsumption(rule, scheme, inline)
    too_large = [] if states_fact(rule) else size_problems(rule)
    if too_large:
        return rule, too_large
    names = FreshNames(rule)
    rule = separate(with_witnesses(with_values(rule, names), names), names)
    problems = name_problems(rule, scheme)
    checked, found = infer(rule, scheme)
    if any(problem.code == "E0213" for problem in found) and (apart := with_field_equalities(rule)) != rule:
        rule = apart  # a type that nothing says is of no account where records are only taken to pieces
        checked, found = infer(rule, scheme)
    if found and rule.heads and (typed := with_types_apart(rule, scheme, names)) is not None:
        rule, found = typed
        if not found:
            checked, found = infer(rule, scheme)
    problems += found
    problems += paths_over_inline(rule, inline) if reads_inline(rule, inline) else grounding_problems(rule)
    problems += counter_problems(rule, inline)
    if not problems:
        problems = subtype_problems(checked, scheme) + pattern_problems(checked)
    return checked, as_written(problems, names.written) if names.written else problems


def _check_subsumption(rule: Rule, scheme: Scheme, inline: frozenset[str]) -> tuple[Rule, list[Problem]]:
    """Return a subsumption rule with its kinds, and its problems: a condition on two tuples."""
    counted = counter_problems(rule)
    if counted:
        return rule, counted
    if reads_inline(rule, inline):
        hint = "remove `inline`, or write what the relation stands for"
        return rule, [Problem("E0241", "a subsumption rule reads an inline relation", rule.span, hint=hint)]
    condition = replace(rule, heads=(), body=(*rule.heads, *rule.body), subsumes=False)
    checked, problems = check_rule(condition, scheme, inline)
    worse, better, *body = checked.body
    assert isinstance(worse, Atom)
    assert isinstance(better, Atom)
    return replace(checked, heads=(worse, better), body=tuple(body), subsumes=True), problems


def double_names(rules: list[Rule]) -> list[Problem]:
    first: dict[str, Rule] = {}
    problems: list[Problem] = []
    names = [rule.name for rule in rules if rule.name is not None]
    if len({*names}) == len(names):
        return problems
    for rule in rules:
        if rule.name is None:
            continue
        other = first.setdefault(rule.name, rule)
        if other is not rule:
            place = name_span(other)
            notes = note(place, "first used here")
            message = f"two rules have the name `{rule.name}`"
            problems.append(Problem("E0221", message, name_span(rule), notes, "rename one of the two"))
    return problems


def name_span(rule: Rule) -> Span | None:
    """Return the place of a rule's name, with which its span begins."""
    if rule.span is None or rule.name is None:
        return rule.span
    length = len(rule.name.rpartition(".")[2] if rule.span.via else rule.name)
    return replace(rule.span, end=rule.span.start + length)
