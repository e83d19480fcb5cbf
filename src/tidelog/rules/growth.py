"""Unbounded values: a check that `*` does not repeat relations whose functors make values from values of the same
relations.

A column grows when a rule adds to it the result of a functor or a record over values that come, through any rules, from
the same column. A comparison of such a value, an atom that it has to satisfy and that does not grow, and a rest of a
division by a constant bound it. This is weak acyclicity (Fagin et al., Data Exchange), with these exceptions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from tidelog.errors import Problem, ProgramError
from tidelog.language.paths import repeats, steps
from tidelog.language.problems import note
from tidelog.language.syntax import (
    Alternation,
    Atom,
    Cast,
    CheckedProgram,
    Comparison,
    Constant,
    Functor,
    Inverse,
    Path,
    Record,
    Repeat,
    Rule,
    Sequence,
    Step,
    Term,
    Variable,
)
from tidelog.language.trees import atoms, variables, walk
from tidelog.rules.graph import components
from tidelog.rules.grounding import pattern_variables

DomainColumn: TypeAlias = tuple[str, int]


@dataclass(frozen=True)
class _Flow:
    """`rule` puts a value into the column `target` that it takes, or makes if `grows`, from one that is in all of
    `sources`."""

    rule: Rule
    target: DomainColumn
    sources: frozenset[DomainColumn]
    grows: bool


def check_growth(checked: CheckedProgram) -> None:
    """Raise ProgramError (E0305) with one problem for each `*` over a relation that grows."""
    if not checked.domains:
        return
    stars = [
        repeat
        for rule in checked.rules
        for atom in atoms((*rule.heads, *rule.body))
        for repeat in repeats(atom.path)
        if repeat.op == "*"
    ]
    growing = _growing_columns(checked.rules) if stars else {}
    found = {id(star): problem for star in stars if (problem := _problem(star, growing, checked)) is not None}
    if found:
        raise ProgramError(*found.values())


def _problem(star: Repeat, growing: Mapping[DomainColumn, _Flow], checked: CheckedProgram) -> Problem | None:
    for step in steps(star):
        for position in (0, 1):
            flow = growing.get((step.relation, position))
            if flow is not None:
                relation, place = flow.target
                column = checked.relations[relation].columns[place].name
                message = (
                    f"`{star}` may not terminate: rule {flow.rule.name} makes new values of "
                    f"column `{column}` of `{relation}` from earlier ones"
                )
                hint = "bound the values, for example with `x < 100`, or use relations with facts only"
                return Problem("E0305", message, star.span, note(flow.rule.span, "this rule makes them"), hint)
    return None


def _growing_columns(rules: Iterable[Rule]) -> dict[DomainColumn, _Flow]:
    """Return for each column with unbounded values the flow that makes them."""
    flows = [flow for rule in rules for flow in _flows(rule)]
    while True:
        reads: dict[DomainColumn, dict[DomainColumn, None]] = {}
        for flow in flows:
            reads.setdefault(flow.target, {}).update(dict.fromkeys(flow.sources))
        group = {column: index for index, part in enumerate(components(reads)) for column in part}
        found: dict[DomainColumn, _Flow] = {}
        for flow in flows:
            if flow.grows and group[flow.target] in {group[source] for source in flow.sources}:
                found.setdefault(flow.target, flow)
        size = -1
        while size != len(found):
            size = len(found)
            for flow in flows:
                made = next((found[source] for source in flow.sources if source in found), None)
                if made is not None:
                    found.setdefault(flow.target, made)
        kept = [flow for flow in flows if flow.sources <= found.keys()]
        if len(kept) == len(flows):
            return found
        flows = kept


def _flows(rule: Rule) -> Iterator[_Flow]:
    """Return a flow for each variable from which a rule takes or makes a value of a head."""
    taken: dict[str, set[DomainColumn]] = {}
    equations: dict[str, list[Term]] = {}
    compared: set[str] = set()
    for node in walk(rule.body, aggregates=False):
        match node:
            case Atom(args=args):
                for columns, arg in zip(_columns(node), args, strict=True):
                    for name in pattern_variables(arg):
                        taken.setdefault(name, set()).update(columns)
            case Comparison(op="=", left=left, right=right):
                for pattern, value in ((left, right), (right, left)):
                    for name in pattern_variables(pattern):
                        equations.setdefault(name, []).append(value)
            case Comparison(op="<" | "<=" | ">" | ">=", left=left, right=right):
                compared.update(variables([left, right], aggregates=False))
    for head in rule.heads:
        for position, term in enumerate(head.args):
            used: dict[str, bool] = {}
            _resolve(term, False, taken, equations, used)
            for name, grows in used.items():
                if name in taken:
                    bounded = bool(compared & used.keys())
                    yield _Flow(rule, (head.relation, position), frozenset(taken[name]), grows and not bounded)


def _resolve(
    term: Term,
    made: bool,
    taken: Mapping[str, set[DomainColumn]],
    equations: Mapping[str, list[Term]],
    used: dict[str, bool],
) -> None:
    """Note in `used` the variables from which `term` has its value, along equations, and whether it is made of them."""
    match term:
        case Variable(name=name):
            if name in used and (used[name] or not made):
                return
            used[name] = made
            if name not in taken:
                for other in equations.get(name, ()):
                    _resolve(other, made, taken, equations, used)
        case Functor(name="%" | "band", args=(_, Constant())):
            pass  # a rest, or some bits, of whatever there is
        case Functor(args=parts) | Record(fields=tuple(parts)):
            for part in parts:
                _resolve(part, True, taken, equations, used)
        case Cast(term=inner):
            _resolve(inner, made, taken, equations, used)
        case _:
            pass


def _columns(atom: Atom) -> tuple[Iterable[DomainColumn], ...]:
    """Return for each argument of an atom the columns that contain its values."""
    if atom.path is None:
        return tuple([(atom.relation, position)] for position in range(len(atom.args)))
    return _ends(atom.path)


def _ends(path: Path) -> tuple[tuple[DomainColumn, ...], tuple[DomainColumn, ...]]:
    match path:
        case Step(relation=name):
            return ((name, 0),), ((name, 1),)
        case Inverse(path=inner):
            begin, end = _ends(inner)
            return end, begin
        case Repeat(path=inner):
            return _ends(inner)
        case Sequence(parts=parts):
            return _ends(parts[0])[0], _ends(parts[-1])[1]
        case Alternation(parts=parts):
            ends = [_ends(part) for part in parts]
            return tuple(c for begin, _ in ends for c in begin), tuple(c for _, end in ends for c in end)
