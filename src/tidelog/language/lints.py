"""`warnings`: constructs that the language allows, but that probably are mistakes. `rules.lints` has more of them.

A comment `// no-warn` or `// no-warn: E0292` hides the warnings of its line, or those with these codes; alone on a line
it does so for the whole text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from tidelog.common.source import SourceText, Span
from tidelog.errors import Problem, locate
from tidelog.language.aggregate_variables import separate
from tidelog.language.branches import types_without_values
from tidelog.language.directives import unknown_options
from tidelog.language.functors import COMPARISONS
from tidelog.language.inlining import INLINE
from tidelog.language.paths import readings, repeats
from tidelog.language.problems import how_many
from tidelog.language.syntax import (
    Aggregate,
    Atom,
    CheckedProgram,
    Comparison,
    Constant,
    Disjunction,
    Functor,
    Literal,
    Negation,
    Rule,
    Step,
    Truth,
    Value,
    Variable,
)
from tidelog.language.trees import FreshNames, Tree, atoms, has_anonymous, occurrences, parts, walk, whole

CODES = ("E0289", "E0290", "E0291", "E0292", "E0293", "E0294", "E0295", "E0296", "E0297", "E0298", "E0299")
"""The codes of warnings."""
_COMMENT = re.compile(r"//[/<]?\s*no-warn\b:?(?P<codes>(?:[\s,]*E\d{4})*)")


def warnings(checked: CheckedProgram) -> list[Problem]:
    """Return problems of severity "warning", except those that comments hide."""
    found = (
        *types_without_values(checked),
        *_empty_relations(checked),
        *(problem for rule in checked.texts for problem in _variables(rule)),
        *_deprecated_forms(checked),
        *_never_read(checked),
        *_never_fires(checked),
        *(problem for rule in checked.texts for problem in _anonymous_members(rule)),
        *unknown_options(checked.directives),
        *unfit_plans(checked),
    )
    return without_hidden(found)


def without_hidden(found: Iterable[Problem]) -> list[Problem]:
    """Return the warnings without those that comments hide."""
    comments: dict[int, _Comments] = {}
    different = dict.fromkeys(found)  # Instances of a component have the same variables.
    return [problem for problem in different if not _is_hidden(problem, comments)]


def _warning(code: str, message: str, span: Span | None, hint: str) -> Problem:
    return Problem(code, message, span, hint=hint, severity="warning")


def _empty_relations(checked: CheckedProgram) -> Iterator[Problem]:
    """Yield a warning for each relation that rules read, but that has no facts, rules or input."""
    filled = {head.relation for rule in checked.texts for head in rule.heads}
    filled |= {fact.relation for fact in checked.facts}
    filled |= {directive.relation for directive in checked.directives if directive.name == "input"}
    first: dict[str, Atom | Step] = {}
    for rule in checked.texts:
        for atom in atoms(_read_by(rule)):
            for reading in readings(atom):
                if reading.relation not in filled:
                    first.setdefault(reading.relation, reading)
    hint = "declare `.input`, or insert facts from outside"
    for name, reading in first.items():
        yield _warning("E0291", f"the relation `{name}` has no facts, rules or input", reading.span, hint)


def _read_by(rule: Rule) -> tuple[Tree, ...]:
    """Return the parts of a rule in which atoms read: its body, and aggregates in its heads."""
    return (*(term for head in rule.heads for term in head.args), *rule.body)


def _variables(rule: Rule) -> Iterator[Problem]:
    """Yield a warning for each variable that occurs once in a rule, unless its name begins with `_`, and for each whose
    name does and that occurs more than once."""
    if not rule.body:
        return
    found = list(occurrences(whole(separate(rule, FreshNames(rule)))))
    counts = Counter(variable.name for variable in found)
    seen: set[str] = set()
    for variable in found:
        name = variable.name
        if counts[name] == 1 and not name.startswith("_"):
            hint = "write `_` if any value will do"
            yield _warning("E0292", f"variable `{_written_name(variable)}` occurs once", variable.span, hint)
        elif counts[name] > 1 and name.startswith("_") and name not in seen:
            seen.add(name)
            message = (
                f"variable `{_written_name(variable)}` occurs {counts[name]} times, although its name begins with `_`"
            )
            yield _warning("E0297", message, variable.span, "remove the `_` at the beginning of its name")


def _deprecated_forms(checked: CheckedProgram) -> Iterator[Problem]:
    """Yield a warning for each old form that is read as a new one."""
    for directive in checked.directives:
        if directive.deprecated:
            message = f"the qualifier `{directive.name}` is deprecated"
            # Once for a component: its instances have the place and the plain name in common.
            written = replace(directive, relation=directive.relation.rpartition(".")[2])
            place = directive.span and replace(directive.span, via=())
            yield _warning("E0294", message, place, f"write `{written}` behind the declaration")
    for type_ in checked.types:
        if type_.deprecated:
            message = f"`.{type_.members[0]}_type` is deprecated"
            yield _warning("E0294", message, type_.span, f"write `{type_}`")


def _never_read(checked: CheckedProgram) -> Iterator[Problem]:
    """Yield a warning for each relation with rules that neither rules nor outputs read, if there are outputs.
    A component may offer more than those who initialise it read."""
    shown = {each.relation for each in checked.directives if each.name in ("output", "printsize")}
    if not shown:
        return
    read = set(shown)
    for rule in checked.texts:
        for atom in atoms(_read_by(rule)):
            read.update(each.relation for each in readings(atom))
            for repeat in repeats(atom.path):
                read.update(name for name, _ in checked.domains.get(repeat.domain or "", ()))
    for name in dict.fromkeys(head.relation for rule in checked.texts for head in rule.heads):
        span = checked.relations[name].span
        if name not in read and not (span is not None and span.via):
            hint = f"add `.output {name}`, or remove its rules"
            yield _warning("E0295", f"nothing reads the relation `{name}`", span, hint)


def _never_fires(checked: CheckedProgram) -> Iterator[Problem]:
    """Yield a warning for each rule with a condition that never holds."""
    for rule in checked.texts:
        values: dict[str, Value] = {}
        literal = next((each for each in rule.body if not _may_hold(each, values)), None)
        if literal is not None:
            message = f"rule {rule.name} never derives anything: `{literal}` does not hold"
            yield _warning("E0296", message, literal.span, "remove the rule, or mend the condition")


def _may_hold(literal: Literal, values: dict[str, Value]) -> bool:
    """Return False for a condition that is plainly false; `values` are those of variables that equal constants."""
    match literal:
        case Truth(value=value):
            return value
        case Comparison(op="=", left=Variable(name=name), right=Constant(value=value)):
            return bool(values.setdefault(name, value) == value)
        case Comparison(op="=", left=Constant(value=value), right=Variable(name=name)):
            return bool(values.setdefault(name, value) == value)
        case Comparison(op=op, left=Constant(value=left), right=Constant(value=right)) if op in COMPARISONS:
            return type(left) is not type(right) or COMPARISONS[op](left, right)
        case Comparison(op="!=" | "<" | ">", left=Variable(name=name), right=Variable(name=other)):
            return name != other
    return True


def _anonymous_members(rule: Rule) -> Iterator[Problem]:
    """Yield a warning for each aggregate with a member for each value of `_`, where Soufflé has one for all of them."""
    for term in walk(whole(rule)):
        # Equal members change no other aggregate, or Soufflé lacks it.
        if isinstance(term, Aggregate) and (term.op in ("count", "sum", "mean") or term.start is not None):
            found = [literal for literal in term.body if isinstance(literal, Atom)]
            if has_anonymous(found, aggregates=False) and _is_projected(term, found):
                message = f"tidelog's `{term.word}` has a member for each value of `_`, Soufflé's one for all of them"
                hint = "name each `_` to have all members in both, such as `_y`, or move the body to a rule to have one"
                yield _warning("E0289", message, term.span, hint)


def _is_projected(aggregate: Aggregate, found: list[Atom]) -> bool:
    """Return True if Soufflé projects the body of an aggregate, with the atoms `found`, to its named variables. It does
    so for several atoms, a variable twice in an atom, and an aggregate or `range` inside. It rejects disjunctions."""
    names = [variable.name for variable in occurrences(found)]
    return not any(isinstance(literal, Disjunction) for literal in aggregate.body) and (
        len(found) > 1
        or len(set(names)) < len(names)
        or any(isinstance(each, Aggregate) or _is_range(each) for each in walk(parts(aggregate)))
    )


def _is_range(node: Tree) -> bool:
    return isinstance(node, Functor) and node.name == "range"


def _written_name(variable: Variable) -> str:
    """Return the name as the text has it, because `separate` renames the variables of aggregates."""
    span = variable.span
    text = variable.name if span is None else span.text
    return text if variable.name.startswith(f"{text}_") else variable.name


# --- comments that hide warnings -------------------------------------------------------------------------------------


class _Comments:
    """The comments of a text that hide warnings: their codes by line, those of the whole text under 0. No codes mean
    all."""

    def __init__(self, source: SourceText) -> None:
        self.codes: dict[int, tuple[str, ...]] = {}
        for match in _COMMENT.finditer(source.text):
            begin = source.text.rfind("\n", 0, match.start()) + 1
            alone = not source.text[begin : match.start()].strip()
            line = 0 if alone else source.text.count("\n", 0, begin) + 1
            codes = tuple(match["codes"].replace(",", " ").split()) or CODES
            self.codes[line] = (*self.codes.get(line, ()), *codes)


def _is_hidden(problem: Problem, known: dict[int, _Comments]) -> bool:
    """Return True if a comment in the text hides a warning; `known` has the comments by the identity of the text."""
    if problem.span is None:
        return False
    source = problem.span.source
    if id(source) not in known:
        known[id(source)] = _Comments(source)
    codes = known[id(source)].codes
    return problem.code in (*codes.get(0, ()), *codes.get(locate(problem.span)[0], ()))


# --- orders of `.plan`, ignored because the planner knows the sizes of relations --------------------------------------


def unfit_plans(checked: CheckedProgram) -> Iterator[Problem]:
    """Yield a warning (E0299) for each order that does not name all atoms of its rule once, or is one too many. As in
    Soufflé, an atom of an inline relation counts as the atoms of the relation's rule."""
    rules = [rule for rule in checked.texts if rule.plan and not rule.subsumes]
    if not rules:
        return
    inline: dict[str, list[Rule]] = {
        name: [] for name, relation in checked.relations.items() if INLINE in relation.qualifiers
    }
    for rule in checked.texts:
        for head in rule.heads:
            if head.relation in inline:
                inline[head.relation].append(rule)
    for rule in rules:
        total = _count_atoms(rule.body, inline)
        if total is not None:
            yield from _unfit_orders(rule, total)


def _count_atoms(body: tuple[Literal, ...], inline: dict[str, list[Rule]]) -> int | None:
    """Return the number of atoms of a body, None if alternatives have atoms of their own."""
    total = 0
    for literal in body:
        atom = literal.atom if isinstance(literal, Negation) else literal
        count: int | None = int(isinstance(literal, Atom))
        if isinstance(atom, Disjunction):
            count = None
        elif isinstance(atom, Atom) and atom.relation in inline:
            own = inline[atom.relation]
            count = _count_atoms(own[0].body, inline) if atom is literal and len(own) == 1 else None
        if count is None:
            return None
        total += count
    return total


def _unfit_orders(rule: Rule, total: int) -> Iterator[Problem]:
    """Yield a warning for each order that does not fit a rule with so many atoms."""
    atoms = how_many(total, "atom")
    versions: set[int] = set()
    for order in rule.plan:
        message, hint = "", ""
        if sorted(order.atoms) != list(range(1, total + 1)):
            found = ", ".join(map(str, order.atoms))
            message = f"the order ({found}) of this plan does not name each of the rule's {atoms} once"
            hint = f"use each number from 1 to {total}" if total else "remove the plan"
        elif not 0 <= order.version < max(total, 1):
            message, hint = f"the rule has {atoms}, and no version {order.version}", "count versions from 0"
        elif order.version in versions:
            message, hint = f"this plan has two orders for version {order.version}", "remove one of the two"
        if message:
            yield _warning("E0299", message, order.span, hint)
        versions.add(order.version)
