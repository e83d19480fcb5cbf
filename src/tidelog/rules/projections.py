"""Projections: the engine checks once that a value exists that no rule reads, and does not enumerate such values. Parts
of a body get relations of their own.

A derivation has values for all variables of its rule. Where several parts of a body have variables of their own, each
combination of their values is a derivation: the numbers multiply, although the head shows none of the values. Two
steps prevent that. Each leaves an atom over the variables that a part shares with the head and with the rest:

    q(x) :- a(x, y), b(y, z), c(x, u).
    q(x) :- a(x, y), #projection.b(y), #projection.c(x).
        An atom with variables of its own is projected, together with literals that only test or compute these.

    q(x, w) :- a(x, w), b(x, u), c(u, v), d(v, x).
    q(x, w) :- a(x, w), #projection.1(x).    #projection.1(x) :- #projection.a(x), b(x, u), c(u, v), d(v, x).
        A part that no variable of its own ties to the rest is a condition, and so is one that hangs by a single
        variable. The rest of the body restricts it, so that it derives no more than the whole rule did.

A rule stays as it is where nothing multiplies: where the rest has no values beyond those that it shares with the part.
So a projection costs one pass over the tuples of an atom, and saves a factor. Atoms that share variables with several
others stay, because their join may have more pairs than there are tuples. Projections never enumerate whole closures:
they restrict a closure by the rest of the body. The same holds for relations that are recursive with the head, often
the largest ones of a program: other relations restrict them, where one of the body's atoms can.

Where a recursion reads selected tuples only, no part has the values that they are selected by: without the key it would
select nothing.

The relation of a part is named after its content, and is one relation in the whole program. It is derived like any
other, with births, and with the number of its own derivations as counts.

`with_projections` keeps the projections of all rules from one program to the next. A rule is projected again only if it
sees others of the relations that it reads than before: closures, those that are recursive with its head, and those of
these that select.
"""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from tidelog.common.differing import difference_if_appended
from tidelog.common.looking import Look
from tidelog.language.syntax import PRIMITIVES, Column
from tidelog.rules.aggregates import AGGREGATE
from tidelog.rules.core import (
    AggregateRule,
    AnyRule,
    Computation,
    CoreAtom,
    CoreLiteral,
    CoreRule,
    CoreValue,
    CoreVariable,
    HyperNode,
    Pack,
    RelationInfo,
    Unpack,
    is_several,
    map_values,
    variables_of,
)

PROJECTION = "#projection."
"""How the names of the relations of parts begin."""
_LONGEST, _DIGITS = 100, 24
"""A relation is named by the text of a single atom with up to so many characters, else by so many digits of a hash."""
_WIDEST = 64
"""Bodies with more atoms are not searched for parts of several atoms."""

_Names = frozenset[CoreVariable]


Orders: TypeAlias = frozenset[tuple[str, tuple[int, ...]]]
"""Relations with the columns by which a recursion selects their tuples."""


def projections(
    rule: CoreRule, closed: Collection[str] = (), internal: Set[str] = frozenset(), orders: Orders = frozenset()
) -> tuple[CoreRule, ...]:
    """Return the rule without the enumeration of values that nothing reads, behind the rules of the relations that this
    takes. `closed` are the relations that are closures, `internal` those that are recursive with the rule's head.
    Those of `orders` keep their dominated tuples out of the recursion: no relation of a part has the values that they
    select by, because it would select nothing."""
    body = _Body(rule, closed, internal, orders)
    if len(body.atoms) < 2 or body.head.issuperset(body.places):
        return (rule,)
    body.project()
    if len(body.atoms) <= _WIDEST:
        body.split()
    return (*body.made.values(), body.rule()) if body.made else (rule,)


@dataclass(frozen=True)
class _Part:
    """Literals of a body, by number, and the variables that they share with the head and with the rest."""

    literals: frozenset[int]
    shared: _Names


class _Body:
    """A body on its way: its literals by number, the variables of each, and the literals in which each occurs.

    A variable that occurs in one negated atom only stands for "no value": it is none of the body's variables.
    """

    def __init__(self, rule: CoreRule, closed: Collection[str], internal: Set[str], orders: Orders) -> None:
        self.written = rule
        self.closed = closed
        self.internal = internal
        self.orders = orders
        self.head = frozenset(variables_of(rule.head))
        self.uses = Counter(variable for literal in rule.body for variable in set(variables_of(literal)))
        self.literals: dict[int, CoreLiteral] = {}
        self.names: dict[int, _Names] = {}
        self.places: dict[CoreVariable, set[int]] = {}
        self.made: dict[str, CoreRule] = {}
        self.last = 0
        for literal in rule.body:
            self.add(literal)

    @property
    def atoms(self) -> list[int]:
        """The numbers of the atoms that are not negated."""
        return [i for i, literal in self.literals.items() if binds(literal)]

    def add(self, literal: CoreLiteral) -> None:
        self.last += 1
        names = frozenset(variables_of(literal))
        if isinstance(literal, CoreAtom) and literal.negated:
            names = frozenset(variable for variable in names if variable in self.head or self.uses[variable] > 1)
        self.literals[self.last], self.names[self.last] = literal, names
        for variable in names:
            self.places.setdefault(variable, set()).add(self.last)

    def remove(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            del self.literals[number]
            for variable in self.names.pop(number):
                self.places[variable].discard(number)
                if not self.places[variable]:
                    del self.places[variable]

    def rule(self) -> CoreRule:
        """Return the rule with the body as it is now."""
        return replace(self.written, body=tuple(dict.fromkeys(self.literals.values())))

    def content(self, part: _Part) -> tuple[CoreLiteral, ...]:
        """Return the literals of a part in their order."""
        return tuple(self.literals[i] for i in sorted(part.literals))

    def is_grounded(self, part: _Part) -> bool:
        """Return True if a part grounds all of its variables, including those of the context."""
        return _is_grounded(
            part.shared if self.covering_atoms(part) else frozenset(), self.literals_with_variables(part)
        )

    def literals_with_variables(self, part: _Part) -> list[tuple[CoreLiteral, _Names]]:
        return [(self.literals[i], self.names[i]) for i in sorted(part.literals)]

    def aggregate_value(self, number: int) -> _Names:
        """Return the value of an aggregate in its atom, which follows from the group."""
        atom = self.literals[number]
        if (
            isinstance(atom, CoreAtom)
            and atom.relation.startswith(AGGREGATE)
            and isinstance(value := atom.args[-1], CoreVariable)
        ):
            return frozenset([value])
        return frozenset()

    def is_steady(self, part: _Part) -> bool:
        """Return True if the relations that a part joins are complete before the rule is evaluated."""
        names = [x.relation for i in part.literals if isinstance(x := self.literals[i], CoreAtom)]
        return len(part.literals) == 1 or self.internal.isdisjoint(names)

    def selects(self, part: _Part) -> bool:
        """Return True if a part shares values that its atoms select by, or that are computed from such values."""
        if not self.orders:
            return False
        columns = dict(self.orders)
        content = self.content(part)
        atoms = [each for each in content if isinstance(each, CoreAtom)]
        found = {atom.args[column] for atom in atoms for column in columns.get(atom.relation, ())}
        computed = [each for each in content if isinstance(each, Computation | Pack)]
        while more := {each.target for each in computed if not found.isdisjoint(each.args)} - found:
            found |= more
        return not found.isdisjoint(part.shared)

    def multiplies(self, part: _Part) -> bool:
        """Return True if the rest of the body has values beyond those that it shares with a part."""
        return self.is_steady(part) and any(
            not self.names[i] - self.aggregate_value(i) <= part.shared
            for i, literal in self.literals.items()
            if i not in part.literals and (binds(literal) or is_several(literal))
        )

    # --- atoms with variables of their own ---------------------------------------------------------------------------

    def project(self) -> None:
        """Project every atom that multiplies with the rest, those that share the fewest variables first."""
        waiting = [(len(part.shared), i) for i in self.atoms if (part := self.own(i)) is not None]
        heapq.heapify(waiting)
        while waiting:
            size, i = heapq.heappop(waiting)
            part = self.own(i) if i in self.literals else None
            if part is None:
                continue
            if len(part.shared) != size:
                heapq.heappush(waiting, (len(part.shared), i))
            elif self.multiplies(part) or self.is_made(part) or self.asks_for_ends(i, part):
                self.project_one(i, part)
                for near in {j for variable in part.shared for j in self.places[variable]}:
                    other = self.own(near) if binds(self.literals[near]) else None
                    if other is not None:
                        heapq.heappush(waiting, (len(other.shared), near))

    def is_made(self, part: _Part) -> bool:
        """Return True if the relation of a part exists already."""
        return named_by_content(self.content(part), part.shared, self.written)[1].relation in self.made

    def project_one(self, number: int, part: _Part) -> None:
        relation = self.relation(number)
        restricted = relation in self.closed or relation in self.internal
        self.replace_part(part, self.context(part) if restricted and not self.asks_for_ends(number, part) else ())

    def asks_for_ends(self, number: int, part: _Part) -> bool:
        """Return True if an atom of a closure only asks which values begin, or end, a pair, and nothing but aggregates
        has these values besides. The engine knows the ends of a closure without its pairs."""
        if self.relation(number) not in self.closed or len(part.literals) > 1 or len(part.shared) != 1:
            return False
        covering = self.covering_atoms(part)
        return len(self.names[number]) == 2 and bool(covering) and all(map(self.is_aggregate, covering))

    def is_aggregate(self, number: int) -> bool:
        """Return True if an atom reads an aggregate."""
        return self.relation(number).startswith(AGGREGATE)

    def own(self, number: int) -> _Part | None:
        """Return an atom with all literals that test or compute variables of its own; None if it has none of its
        own."""
        without: frozenset[int] = frozenset()
        while True:
            known, group = self.determine_variables(number, without)
            own = frozenset(variable for variable in known - self.head if self.places[variable] <= group)
            carried = own | self.names[number]
            computed = {i for i in group if isinstance(x := self.literals[i], Computation | Pack) if x.target in known}
            needed = frozenset(i for i in computed if not self.names[i] <= carried)
            if not needed:
                break
            without |= needed
        if not own & self.names[number] - self.aggregate_value(number):
            return None
        group = frozenset(i for i in group if i == number or self.names[i] & own)
        part = _Part(group, frozenset[CoreVariable]().union(*(self.names[i] for i in group)) - own)
        return (
            part if _is_grounded(frozenset(), self.literals_with_variables(part)) and not self.selects(part) else None
        )

    def determine_variables(self, number: int, without: frozenset[int]) -> tuple[_Names, frozenset[int]]:
        """Return the variables whose values follow from a tuple of an atom, and the literals that are then tested."""
        known, group = set(self.names[number]), {number}
        size = 0
        while size != len(group):
            size = len(group)
            near = {i for variable in known - self.head for i in self.places[variable]}
            for i in near - group - without:
                needed = None if is_several(self.literals[i]) else _inputs(self.literals[i])
                if (self.names[i] if needed is None else needed) <= known:
                    group.add(i)
                    known |= self.names[i]
        return frozenset(known), frozenset(group)

    # --- parts of several atoms --------------------------------------------------------------------------------------

    def split(self) -> None:
        """Make conditions of the parts of several atoms that multiply with the rest."""
        while True:
            for part in self.hanging_parts():
                if self.multiplies(part) and self.is_grounded(part) and not self.selects(part):
                    context = self.context(part)
                    if context or not part.shared:
                        self.replace_part(part, context)
                        break
            else:
                return

    def hanging_parts(self) -> Iterator[_Part]:
        """Return parts of several atoms: those that only variables of the head tie to the rest, then those that a
        single other variable ties to it."""
        hidden = self.places.keys() - self.head
        yield from self.components(hidden)
        for variable in sorted(hidden, key=lambda each: each.name):
            for part in self.components(self.places.keys() - {variable}):
                if part.shared == {variable}:
                    yield part

    def components(self, links: Collection[CoreVariable]) -> Iterator[_Part]:
        """Return the parts of several atoms that these variables connect, except the whole body."""
        left = {i for i, names in self.names.items() if not names.isdisjoint(links)}
        while left:
            group: set[int] = set()
            waiting = [min(left)]
            while waiting:
                i = waiting.pop()
                if i not in group:
                    group.add(i)
                    waiting += [j for variable in self.names[i] if variable in links for j in self.places[variable]]
            left -= group
            names: _Names = frozenset().union(*(self.names[i] for i in group))
            shared = frozenset(v for v in names if v in self.head or not self.places[v] <= group)
            if names > shared and sum(binds(self.literals[i]) for i in group) > 1 and len(group) < len(self.literals):
                yield _Part(frozenset(group), shared)

    def context(self, part: _Part) -> tuple[CoreLiteral, ...]:
        """Return atoms of the rest that restrict the variables of a part; none where no atom has all of them. A part
        that is recursive with the head gets a context that is not."""
        covering = self.covering_atoms(part)
        if any(self.relation(i) in self.internal for i in part.literals if binds(self.literals[i])):
            covering = [i for i in covering if self.relation(i) not in self.internal][:1]
        written = [i for i in covering if self.relation(i) not in self.closed] or covering[:1]
        return tuple(
            self.literals[i] if self.names[i] == part.shared else self.project_body((self.literals[i],), part.shared)
            for i in written
        )

    def covering_atoms(self, part: _Part) -> list[int]:
        """Return the atoms of the rest that have all variables which a part shares; none if it shares none."""
        return [i for i in self.atoms if i not in part.literals and frozenset() < part.shared <= self.names[i]]

    def relation(self, number: int) -> str:
        """Return the relation of an atom."""
        atom = self.literals[number]
        assert isinstance(atom, CoreAtom)
        return atom.relation

    # --- relations ---------------------------------------------------------------------------------------------------

    def replace_part(self, part: _Part, context: tuple[CoreLiteral, ...]) -> None:
        """Put an atom in the place of a part, restricted by `context`."""
        atom = self.project_body((*context, *self.content(part)), part.shared)
        self.remove(part.literals)
        self.add(atom)

    def project_body(self, body: tuple[CoreLiteral, ...], shared: _Names) -> CoreAtom:
        """Return the atom of the relation that a body derives of the variables `shared`."""
        rule, atom = named_by_content(body, shared, self.written)
        if atom.relation not in self.made:
            made = projections(rule, self.closed, self.internal, self.orders)
            self.made.update({each.head.relation: each for each in made})
            if not self.internal.isdisjoint(x.relation for x in body if isinstance(x, CoreAtom)):
                self.internal |= {atom.relation}
        return atom


def named_by_content(
    body: Sequence[CoreLiteral], shared: Set[CoreVariable], written: CoreRule
) -> tuple[CoreRule, CoreAtom]:
    """Return a rule that derives the variables `shared` of a body, and the atom that stands for these. The names of the
    rule, of its relation and of its variables depend only on the shape of the body."""
    uses = Counter(variable for literal in body for variable in variables_of(literal))
    kept = tuple(variable for variable in uses if variable in shared)
    names: dict[CoreValue, CoreValue] = {}
    for number, variable in enumerate(uses):
        kind = "" if variable.kind in PRIMITIVES else f":{variable.kind}"
        letter = "x" if variable in shared else "y" if uses[variable] > 1 else "#_"
        names[variable] = replace(variable, name=f"{letter}{number}{kind}")

    def rename(value: CoreValue) -> CoreValue:
        return names.get(value, value)

    renamed = tuple(map_values(literal, rename) for literal in body)
    text = ", ".join(map(str, renamed))
    if len(body) > 1 or len(text) > _LONGEST:
        text = hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]
    name = f"{PROJECTION}{text}"
    head = CoreAtom(name, tuple(map(rename, kept)))
    return CoreRule(name, written.origin, head, renamed, written.span), CoreAtom(name, kept)


def binds(literal: CoreLiteral) -> bool:
    """Return True for an atom that is not negated."""
    return isinstance(literal, CoreAtom) and not literal.negated


def info_of_part(head: CoreAtom) -> RelationInfo:
    """Return the relation of a part, which its rules derive as `head`."""
    columns = tuple(Column(f"c{i}", arg.kind, arg.kind) for i, arg in enumerate(head.args))
    return RelationInfo(head.relation, columns, auxiliary=True)


def _inputs(literal: CoreLiteral) -> _Names | None:
    """Return the variables from which the others of a literal are computed; None for atoms and comparisons."""
    match literal:
        case Computation(args=args) | Pack(args=args):
            return frozenset(each for each in args if isinstance(each, CoreVariable))
        case Unpack(source=source):
            return frozenset(each for each in (source,) if isinstance(each, CoreVariable))
    return None


def _is_grounded(known: _Names, body: Sequence[tuple[CoreLiteral, _Names]]) -> bool:
    """Return True if a part of a body grounds all of its variables where `known` are grounded."""
    known = known.union(*(names for literal, names in body if binds(literal)))
    waiting = [(literal, names) for literal, names in body if not names <= known]
    while waiting:
        ready = [names for literal, names in waiting if (needed := _inputs(literal)) is not None and needed <= known]
        if not ready:
            return False
        known = known.union(*ready)
        waiting = [(literal, names) for literal, names in waiting if not names <= known]
    return True


# --- the projections of a program -------------------------------------------------------------------------------------


_Seen: TypeAlias = tuple[frozenset[str], frozenset[str], Orders]
"""Of the relations that a rule reads, the closures, those that are recursive with its head, and those of these that
select."""
_NOTHING: _Seen = frozenset(), frozenset(), frozenset()
_NO_RELATIONS: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Projected:
    """Rules after projections, with the relations that these add.

    `rules` are those before, `closed`, `recursions` and `orders` the closures, the relations of each recursion and the
    selections that they see. `seen` has for each, by its identity, the rule, what of these its projection has seen, and
    what has become of it. A pickle has the same without identities, which differ after loading.
    """

    rules: tuple[AnyRule, ...] = ()
    closed: frozenset[str] = frozenset()
    recursions: frozenset[tuple[str, ...]] = frozenset()
    orders: Orders = frozenset()
    projected: Sequence[AnyRule] = ()
    added: Mapping[str, RelationInfo] = field(default_factory=dict)
    seen: Mapping[int, tuple[CoreRule, _Seen, tuple[CoreRule, ...]]] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "seen": [*self.seen.values()]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({**state, "seen": {id(each[0]): each for each in state["seen"]}})

    def trim_to(self, rules: Sequence[AnyRule]) -> Projected | None:
        """Return the part of it for the rules with which `rules` begin, if these are all those that are left. None
        where others stand between them, or where the projection of a rule that has gone may have added a relation."""
        removed, added = difference_if_appended(self.rules, rules)
        if not removed:
            return self
        if len(removed) == len(self.rules):
            return None
        entries = [(rule, self.seen.get(id(rule))) for rule in removed]
        parts = [(rule,) if entry is None else entry[2] for rule, entry in entries]
        if any(len(each) > 1 for each in parts):
            return None
        kept = len(rules) - len(added)
        seen, lost = {**self.seen}, {id(part) for each in parts for part in each}
        for rule in removed:
            seen.pop(id(rule), None)
        projected = [rule for rule in self.projected if id(rule) not in lost]
        state = self.closed, self.recursions, self.orders, projected, self.added, seen
        return Projected(tuple(rules[:kept]), *state)


def with_projections(
    rules: Sequence[AnyRule],
    nodes: Sequence[HyperNode],
    chosen: frozenset[str],
    orders: Orders,
    last: Projected,
    look: Look,
) -> Projected:
    """Return the rules after projections; `nodes` are the hyper-nodes of the rules before. Rules of a recursion with a
    relation that is `chosen` stay: a derivation by way of a projection comes a round later, after other choices.
    `orders` are the selections that need not read dominated tuples. Call `look` for each rule that is projected."""
    closed = frozenset([name for node in nodes if node.closure or node.mirrors for name in node.relations])
    recursions = frozenset([node.relations for node in nodes if node.recursive])
    own: dict[str, frozenset[str]] = {}
    for group in recursions:
        own |= dict.fromkeys(group, frozenset(group))
    projected: list[AnyRule] = []
    added: dict[str, RelationInfo] = {}
    seen: dict[int, tuple[CoreRule, _Seen, tuple[CoreRule, ...]]] = {}
    done = 0
    same = closed == last.closed and recursions == last.recursions and orders == last.orders
    begun = last.trim_to(rules) if same else None
    if begun is not None:
        projected, added, seen, done = [*begun.projected], {**begun.added}, {**begun.seen}, len(begun.rules)
    for rule in rules[done:]:
        if isinstance(rule, AggregateRule) or not chosen.isdisjoint(own.get(rule.head.relation, ())):
            projected.append(rule)
            continue
        sight = _NOTHING
        if closed or rule.head.relation in own:
            reads = frozenset([name for name, _ in rule.reads])
            inside = reads & own.get(rule.head.relation, _NO_RELATIONS)
            sight = reads & closed, inside, frozenset([each for each in orders if each[0] in inside])
        entry = last.seen.get(id(rule))
        if entry is None or entry[1] != sight:
            look()
            entry = rule, sight, projections(rule, *sight)
        seen[id(rule)] = entry
        *auxiliary, rest = entry[2]
        for each in auxiliary:
            name = each.head.relation
            if name not in added:
                added[name] = info_of_part(each.head)
                projected.append(each)
        projected.append(rest)
    return Projected(tuple(rules), closed, recursions, orders, projected, added, seen)
