"""`localize`: the rule localization rewrite of declarative networking.

A rule whose atoms live at several nodes becomes a chain of rules, each of which reads one node's tuples. A rule sends
the join of the atoms at one node, as a tuple of an auxiliary relation, to another node that they name. The next rule
joins it there with local tuples, and so on up to the node of the head. So

    r2: reachable(@s, d) :- link(@s, z), reachable(@z, d).

becomes `#r2(@z, s) :- link(@s, z).` and `reachable(@s, d) :- #r2(@z, s), reachable(@z, d).`

Senders and receivers form a tree of locations. Rules have few locations, so `localize` tries all trees. It takes the
one that sends the fewest tuples that change often: those of the head's own recursion first, then derived ones. (Section
2.2 of *Maintaining Distributed Recursive Views Incrementally*.)

The locations of relations come from the marks `@` of declarations and atoms. A mark in the declaration settles the
location; without one, the marks of the atoms do, and they have to agree. Atoms need no mark if the declaration has one.
A relation without any mark is one that every node has for itself: its facts stand in the program, and its rules read no
others. Rewrites make auxiliary relations. Such a relation lives with most of the relations that derive it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import product

from tidelog.common.source import Span
from tidelog.errors import Problem, ProgramError, wrong_argument
from tidelog.language.selections import Selection, selections_of
from tidelog.language.syntax import CheckedProgram, Column
from tidelog.language.trees import atoms
from tidelog.network.joins import is_ready, variables
from tidelog.network.program import LOCATABLE, LocalAggregate, LocalRule, LocatedProgram, RelationLocation
from tidelog.network.values import stored_row, with_branch_names
from tidelog.rules import compile_program, core
from tidelog.rules.core import head_of
from tidelog.rules.graph import components
from tidelog.rules.recursions import VALUES

MOST_LOCATIONS = 6


def localize(checked: CheckedProgram) -> LocatedProgram:
    """Return the rules of a located program, each for one node. Raise ProgramError with every rule that cannot be made
    local (E0313, E0314, E0315), for relations that select and counters (E0316), and for wrong
    marks (E0310 to E0312), UsageError (E0635) for anything but a checked program."""
    given: object = checked
    if not isinstance(given, CheckedProgram):
        raise wrong_argument("a located program", "a program that `tidelog.language.check` returned", checked)
    selections = selections_of(checked.relations, checked.rules, checked.subsumptions)
    if selections:
        raise ProgramError(*map(_selection_problem, selections.values()))
    declared = declared_locations(checked)
    program = compile_program(checked, as_written=True)
    if program.counters:
        raise ProgramError(*map(_counter_problem, program.counters))
    if program.candidates:
        grouped = {rule.origin: rule for node in program.nodes for rule in node.rules if _asks_for_values(rule)}
        raise ProgramError(*map(_recursion_problem, grouped.values()))
    rules = [
        replace(rule, body=tuple(map(with_branch_names, rule.body))) if isinstance(rule, core.CoreRule) else rule
        for node in program.nodes
        for rule in node.rules
    ]
    reads: dict[str, list[str]] = {}
    for rule in rules:
        reads.setdefault(head_of(rule), []).extend(name for name, _ in rule.reads)
    group_of = {name: index for index, group in enumerate(components(reads)) for name in group}
    shipping = _Shipping(places(program, declared), group_of, frozenset(reads))
    local: list[LocalRule | LocalAggregate] = []
    problems: list[Problem] = []
    for rule in rules:
        try:
            local += shipping.local_rules(rule)
        except _NotLocalError as error:
            problems += [problem for problem in (error.problem,) if problem not in problems]
    if problems:
        raise ProgramError(*problems)
    renamed, named = _name_by_content(local, shipping.places)
    facts = [
        (fact.relation, stored_row(fact.values, checked.relations[fact.relation].columns, checked.records))
        for fact in checked.facts
    ]
    return LocatedProgram(
        named,
        checked.records,
        tuple(dict.fromkeys(rule for rule in renamed if isinstance(rule, LocalRule))),
        tuple(dict.fromkeys(rule for rule in renamed if isinstance(rule, LocalAggregate))),
        tuple(facts),
    )


def _selection_problem(selection: Selection) -> Problem:
    message = f"nodes cannot evaluate {selection.title}, by which `{selection.relation}` selects"
    hint = "declare the relation without it, and take the minimum or maximum in a rule of its own"
    if selection.form == "choice":
        message += ": messages may come in any order, and choose differently each time"
        hint = "choose in a database, and insert the tuples that it shows at the nodes"
    return Problem("E0316", message, selection.span, hint=hint)


def _asks_for_values(rule: core.CoreRule | core.AggregateRule) -> bool:
    """Return True if a rule asks for groups among the values of a recursion."""
    return head_of(rule).startswith("#outer.") and any(name.startswith(VALUES) for name, _ in rule.reads)


def _recursion_problem(rule: core.CoreRule | core.AggregateRule) -> Problem:
    message = f"nodes cannot evaluate an aggregate whose groups come through the recursion, in rule {rule.origin}"
    hint = "bind the variables that it shares with the rule by an atom inside of the aggregate"
    return Problem("E0316", message, rule.span, hint=hint)


def _counter_problem(rule: core.AggregateRule) -> Problem:
    message = f"nodes cannot evaluate the counter of rule {rule.origin}: they would give a number twice"
    hint = "number the tuples in a database, or tell them apart by values that they have"
    return Problem("E0316", message, rule.span, hint=hint)


class _NotLocalError(Exception):
    def __init__(self, problem: Problem) -> None:
        self.problem = problem


# --- one rule --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Step:
    """The work of a node of the tree: it joins `body` with the tuples from its children, and sends `head`."""

    head: core.CoreAtom
    body: tuple[core.CoreLiteral, ...]
    at: core.CoreValue


@dataclass
class _Shipping:
    """A rewrite in progress; `places` grows by the relations that carry tuples from node to node."""

    places: dict[str, RelationLocation]
    group_of: Mapping[str, int]
    derived: frozenset[str]

    def local_rules(self, rule: core.CoreRule | core.AggregateRule) -> list[LocalRule | LocalAggregate]:
        """Return the rules that replace one rule."""
        if isinstance(rule, core.AggregateRule):
            names = (rule.head, rule.op, rule.kind, rule.groups, rule.inner, rule.outer)
            return [LocalAggregate("", *names, rule.origin, rule.own, rule.span)]
        keys = list(dict.fromkeys(key for key in map(self._key, _atoms(rule)) if key is not None))
        home = self._key(rule.head)
        if home is None and keys:
            raise _NotLocalError(_no_home_problem(rule, self.places[rule.head.relation].auxiliary))
        if len(keys) <= 1:
            return [LocalRule("", rule.head, rule.body, keys[0] if keys else home, rule.origin)]
        plan = min(self._plans(rule, keys), key=lambda plan: plan[0], default=None)
        if plan is None:
            raise _NotLocalError(_no_way_problem(rule, keys))
        return [LocalRule("", step.head, step.body, step.at, rule.origin) for step in plan[1]]

    def _key(self, atom: core.CoreAtom) -> core.CoreValue | None:
        location = self.places[atom.relation].location
        return None if location is None else atom.args[location]

    def _plans(
        self, rule: core.CoreRule, keys: Sequence[core.CoreValue]
    ) -> Iterator[tuple[tuple[int, ...], list[_Step]]]:
        """Yield every tree of locations along which the rule can be evaluated, with its cost."""
        indexes = range(len(keys) if len(keys) <= MOST_LOCATIONS else 0)
        for root in indexes:
            choices = ([root] if each == root else [other for other in indexes if other != each] for each in indexes)
            for parents in product(*choices):
                order = _children_first(root, parents)
                steps = self._steps(rule, keys, order, parents) if len(order) == len(keys) else None
                if steps is not None:
                    yield (*self._cost(rule, steps), int(keys[root] != self._key(rule.head)), root, *parents), steps

    def _steps(
        self, rule: core.CoreRule, keys: Sequence[core.CoreValue], order: Sequence[int], parents: Sequence[int]
    ) -> list[_Step] | None:
        """Return the work of each node of a tree; None if some variable is not known in time."""
        here = {index: [atom for atom in _atoms(rule) if self._key(atom) == keys[index]] for index in order}
        everywhere: list[core.CoreLiteral] = [atom for atom in _atoms(rule) if self._key(atom) is None]
        computed: list[core.CoreLiteral] = [literal for literal in rule.body if not isinstance(literal, core.CoreAtom)]
        sent: dict[int, list[core.CoreLiteral]] = {index: [] for index in order}
        steps = []
        for index in order:
            body = [*sent.pop(index), *(atom for atom in here[index] if not atom.negated)]
            known = {variable.name for variable in variables(body)}
            absent: list[core.CoreLiteral] = [atom for atom in here.pop(index) if atom.negated]
            body += _take_ready(everywhere, known, at_once=not here)
            body += _take_ready(computed, known)
            body += absent
            if any(variable.name not in known for variable in variables(absent)):
                return None
            if not here:
                steps.append(_Step(rule.head, tuple(body), keys[index]))
                return None if computed else steps
            target = keys[parents[index]]
            if isinstance(target, core.CoreVariable) and target.name not in known:
                return None
            later = [*everywhere, *computed, *(atom for atoms in here.values() for atom in atoms)]
            later += [atom for atoms in sent.values() for atom in atoms]
            needed = {variable.name for variable in variables([rule.head, *later])}
            carried = [each for each in variables(body) if each.name in needed and each != target]
            head = self._carrier(f"#{rule.origin}.{keys[index]}", target, carried)
            steps.append(_Step(head, tuple(body), keys[index]))
            sent[parents[index]].append(head)
        return None

    def _carrier(self, stem: str, target: core.CoreValue, carried: Sequence[core.CoreVariable]) -> core.CoreAtom:
        """Return the head of a rule that sends `carried` to `target`, of a relation of its own."""
        name = f"{stem}.{len(self.places)}"
        args = (target, *carried)
        columns = tuple(Column(f"c{i}", arg.kind, arg.kind) for i, arg in enumerate(args))
        self.places[name] = RelationLocation(name, columns, 0, auxiliary=True)
        return core.CoreAtom(name, args)

    def _cost(self, rule: core.CoreRule, steps: Sequence[_Step]) -> tuple[int, int, int]:
        """Return the numbers of atoms sent on: those that depend on the head, those that are derived, all."""
        content: dict[str, list[str]] = {}
        sent: list[str] = []
        for step in steps[:-1]:
            names = [name for atom in _atoms(step) for name in content.get(atom.relation, [atom.relation])]
            content[step.head.relation] = names
            sent += names
        own = self.group_of.get(rule.head.relation)
        recursive = sum(self.group_of.get(name) == own for name in sent)
        return recursive, sum(name in self.derived for name in sent), len(sent)


def _atoms(rule: core.CoreRule | LocalRule | _Step) -> list[core.CoreAtom]:
    return [literal for literal in rule.body if isinstance(literal, core.CoreAtom)]


def _children_first(root: int, parents: Sequence[int]) -> list[int]:
    """Return the members of the tree below `root`, each behind its children."""
    order = [root]
    for index in order:
        order += [child for child, parent in reversed(list(enumerate(parents))) if parent == index and child != root]
    return order[::-1]


def _take_ready(waiting: list[core.CoreLiteral], known: set[str], *, at_once: bool = False) -> list[core.CoreLiteral]:
    """Take the literals from `waiting` that can be evaluated with the `known` variables; add the variables that they
    bind."""
    taken: list[core.CoreLiteral] = []
    while True:
        ready = next((literal for literal in waiting if at_once or is_ready(literal, known)), None)
        if ready is None:
            return taken
        waiting.remove(ready)
        taken.append(ready)
        known |= {variable.name for variable in variables([ready])}


# --- what is wrong ---------------------------------------------------------------------------------------------------


def _no_way_problem(rule: core.CoreRule, keys: Sequence[core.CoreValue]) -> Problem:
    """Return the error that no node of one location of a rule knows another location."""
    shown = " and ".join(f"`{key}`" for key in keys[:2])
    if len(keys) > MOST_LOCATIONS:
        message = f"rule `{rule.origin}` reads tuples at {len(keys)} locations, among them {shown}"
        return Problem(
            "E0313", message, rule.span, hint=f"split the rule; it can have at most {MOST_LOCATIONS} locations"
        )
    message = f"rule `{rule.origin}` reads tuples at {shown}, and no tuple leads from one to the other"
    hint = "let an atom at one location name the other: `link(@s, z), reachable(@z, d)`"
    return Problem("E0313", message, rule.span, hint=hint)


def _no_home_problem(rule: core.CoreRule, auxiliary: bool) -> Problem:
    """Return the error that tuples come from nodes and have no node to go to."""
    if auxiliary:
        message = f"rule `{rule.origin}` negates or aggregates tuples of several nodes, but has no location for that"
        hint = "share the location with the rest of the rule: `c = count : { link(s, _) }` where `s` is a location"
        return Problem("E0314", message, rule.span, hint=hint)
    message = f"rule `{rule.origin}` derives `{rule.head.relation}`, which has no location, from tuples that have one"
    return Problem("E0315", message, rule.span, hint=f"mark where a tuple of `{rule.head.relation}` lives with `@`")


# --- names -----------------------------------------------------------------------------------------------------------


def _name_by_content(
    rules: Sequence[LocalRule | LocalAggregate], relations: Mapping[str, RelationLocation]
) -> tuple[list[LocalRule | LocalAggregate], dict[str, RelationLocation]]:
    """Return the rules with keys, and with auxiliary relations named by the rules that derive them, directly or not."""
    deriving: dict[str, list[LocalRule | LocalAggregate]] = {}
    for rule in rules:
        deriving.setdefault(_head_relation(rule), []).append(rule)
    reads = {
        name: [each for rule in own for each in _relations_read(rule) if relations[each].auxiliary]
        for name, own in deriving.items()
        if relations[name].auxiliary
    }
    names = {name: name for name, place in relations.items() if not place.auxiliary}
    for group in components(reads):  # each behind what it reads
        placeholder = {name: f"#{index}" for index, name in enumerate(sorted(group))}
        texts = sorted(
            f"{placeholder[name]} {relations[name].location} {_with_names(rule, {**names, **placeholder})!r}"
            for name in group
            for rule in deriving.get(name, ())
        )
        for name in group:
            names[name] = f"{_stem(name)}.{_digest(f'{placeholder[name]} {texts}')}"
    renamed = [_with_names(rule, names) for rule in rules]
    keyed = [replace(rule, key=f"{rule.origin}.{_digest(repr(rule))}") for rule in renamed]
    return keyed, {names[name]: replace(place, name=names[name]) for name, place in relations.items() if name in names}


def _stem(name: str) -> str:
    """Return the readable part of a name: the kind of auxiliary relation and the rule."""
    return name.rsplit(".", 1)[0]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _head_relation(rule: LocalRule | LocalAggregate) -> str:
    return rule.head.relation if isinstance(rule, LocalRule) else rule.head


def _relations_read(rule: LocalRule | LocalAggregate) -> Iterable[str]:
    if isinstance(rule, LocalAggregate):
        return (rule.inner, rule.outer)
    return [atom.relation for atom in _atoms(rule)]


def _with_names(rule: LocalRule | LocalAggregate, names: Mapping[str, str]) -> LocalRule | LocalAggregate:
    """Return the rule with other names of relations, and without the parts that do not belong to its meaning."""
    if isinstance(rule, LocalAggregate):
        return replace(rule, head=names[rule.head], inner=names[rule.inner], outer=names[rule.outer])
    body = tuple(
        replace(literal, relation=names[literal.relation]) if isinstance(literal, core.CoreAtom) else literal
        for literal in rule.body
    )
    return replace(rule, head=replace(rule.head, relation=names[rule.head.relation]), body=body)


# --- locations -------------------------------------------------------------------------------------------------------


def declared_locations(checked: CheckedProgram) -> dict[str, int | None]:
    """Return the location of each relation of a program. Raise ProgramError if marks disagree (E0310), if a value
    cannot name a node (E0311), and if nothing is located at all (E0312)."""
    found: dict[str, int | None] = {name: relation.location for name, relation in checked.relations.items()}
    said: dict[str, Span | None] = {
        name: relation.span for name, relation in checked.relations.items() if relation.location is not None
    }
    problems = []
    for atom in (atom for rule in checked.rules for atom in atoms((*rule.heads, *rule.body))):
        if atom.location is None:
            continue
        before = found[atom.relation]
        if before is None:
            found[atom.relation], said[atom.relation] = atom.location, atom.span
        elif before != atom.location:
            columns = checked.relations[atom.relation].columns
            message = (
                f"the location of `{atom.relation}` is its column `{columns[before].name}`, "
                f"but this atom marks `{columns[atom.location].name}`"
            )
            span = said[atom.relation]
            notes = ((span, "the location is marked here"),) if span else ()
            problems.append(Problem("E0310", message, atom.span, notes, "mark the same column in every atom"))
    for name, location in found.items():
        column = checked.relations[name].columns[location] if location is not None else None
        if column is not None and column.kind not in LOCATABLE:
            message = f"`{name}` has the location `{column.name}`, but a {column.kind} cannot name a node"
            hint = "use a symbol, a number or an unsigned as location"
            problems.append(Problem("E0311", message, said[name], hint=hint))
    if problems:
        raise ProgramError(*problems)
    if all(location is None for location in found.values()):
        message = "no relation of the program has a location, so nodes cannot share the program"
        hint = "mark the argument that says where a tuple lives: `.decl link(@x: symbol, y: symbol)`"
        raise ProgramError(Problem("E0312", message, place="program", hint=hint))
    return found


def places(program: core.CoreProgram, declared: Mapping[str, int | None]) -> dict[str, RelationLocation]:
    """Return the place of every relation of a compiled program, auxiliary ones included."""
    found = {
        name: RelationLocation(name, info.columns, declared.get(name), info.auxiliary)
        for name, info in program.relations.items()
    }
    settled = {name for name, info in program.relations.items() if not info.auxiliary}
    rules = [rule for node in program.nodes for rule in node.rules]
    for rule in rules:
        if isinstance(rule, core.AggregateRule):
            location = _location({rule.outer, rule.inner}, rules, found, rule.groups)
            for name in (rule.outer, rule.inner, rule.head):
                found[name] = RelationLocation(name, found[name].columns, location, auxiliary=True)
                settled.add(name)
    for node in program.nodes:  # each node comes behind those that it reads
        for name in node.relations:
            if name not in settled:
                location = _location({name}, rules, found, len(found[name].columns))
                found[name] = RelationLocation(name, found[name].columns, location, auxiliary=True)
    return found


def _location(
    names: Set[str],
    rules: Sequence[core.CoreRule | core.AggregateRule],
    found: Mapping[str, RelationLocation],
    width: int,
) -> int | None:
    """Return the column, among the first `width`, that most often holds the location of an atom in the rules that
    derive auxiliary relations; else in those that read them. Return None if every node has all atoms that derive it."""
    votes: Counter[int] = Counter()
    located = False
    plain = [rule for rule in rules if isinstance(rule, core.CoreRule)]
    for rule in plain:
        if rule.head.relation in names:
            here = _locations_of(rule, found)
            located |= bool(here)
            votes.update(i for i, arg in enumerate(rule.head.args[:width]) if arg in here)
    if not located:
        return None
    for rule in plain if not votes else ():
        here = {*_locations_of(rule, found), *_location_of(rule.head, found)}
        for atom in _atoms(rule):
            if atom.relation in names:
                votes.update(i for i, arg in enumerate(atom.args[:width]) if arg in here)
    if not votes:
        columns = found[min(names)].columns[:width]
        votes.update(i for i, column in enumerate(columns) if column.kind in LOCATABLE)
    return min(votes, key=lambda column: (-votes[column], column), default=None)


def _locations_of(rule: core.CoreRule, found: Mapping[str, RelationLocation]) -> set[core.CoreValue]:
    """Return the variables and constants that give the locations of a body's atoms."""
    return {value for atom in _atoms(rule) for value in _location_of(atom, found)}


def _location_of(atom: core.CoreAtom, found: Mapping[str, RelationLocation]) -> Iterable[core.CoreValue]:
    location = found[atom.relation].location
    return () if location is None else (atom.args[location],)
