"""The core language: flat rules over relations of words, the input of planners and engines.

One head, no disjunction, no nesting: arguments are variables or constants, everything computed has a literal of its
own, and an aggregate is a rule of its own over an auxiliary relation. Names of auxiliary relations and variables start
with "#", which no program text can contain.
"""

from __future__ import annotations

import typing
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias

from tidelog.common.source import Span
from tidelog.language.aggregates import AggregateName
from tidelog.language.functors import TESTS, several
from tidelog.language.syntax import BranchType, Column, Fact, FunctorType, Kind, RecordType, Term


@dataclass(frozen=True)
class CoreVariable:
    name: str
    kind: Kind

    def __str__(self) -> str:
        return "_" if self.name.startswith("#_") else self.name


@dataclass(frozen=True)
class CoreConstant:
    """A value of a primitive kind, or `nil` (None) of a record kind."""

    value: int | float | str | None
    kind: Kind

    def __str__(self) -> str:
        if self.value is None:
            return "nil"
        if isinstance(self.value, str):
            escaped = self.value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
            return f'"{escaped}"'
        return str(self.value)


CoreValue: TypeAlias = CoreVariable | CoreConstant


def _names(values: Iterable[CoreValue]) -> frozenset[str]:
    return frozenset([value.name for value in values if isinstance(value, CoreVariable)])


def _list(values: Iterable[object]) -> str:
    return ", ".join(map(str, values))


@dataclass(frozen=True)
class CoreAtom:
    """A relation that has, or when `negated` has not, a tuple that matches `args`.

    The variables of a negated atom are bound by other literals.
    """

    relation: str
    args: tuple[CoreValue, ...]
    negated: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def values(self) -> tuple[CoreValue, ...]:
        """The variables and constants of the literal, from left to right; other literals have the same property."""
        return self.args

    @property
    def needs(self) -> tuple[CoreValue, ...]:
        """The values that have to be there before the literal can be evaluated, also of others; a positive atom can be
        at any time."""
        return self.args if self.negated else ()

    def __str__(self) -> str:
        return f"{'!' if self.negated else ''}{self.relation}({_list(self.args)})"


@dataclass(frozen=True)
class CoreComparison:
    """`left op right`, `op` one of = != < <= > >=, or a test such as match or !match; both sides have `kind`."""

    op: str
    kind: Kind
    left: CoreValue
    right: CoreValue
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def values(self) -> tuple[CoreValue, ...]:
        return self.left, self.right

    @property
    def needs(self) -> tuple[CoreValue, ...]:
        return self.left, self.right

    def __str__(self) -> str:
        if self.op.lstrip("!") in TESTS:
            return f"{self.op}({self.left}, {self.right})"
        return f"{self.left} {self.op} {self.right}"


_INFIX = frozenset(
    ("+", "-", "*", "/", "%", "^", "band", "bor", "bxor", "bshl", "bshr", "bshru", "land", "lor", "lxor")
)


@dataclass(frozen=True)
class Computation:
    """`target = functor(args)`. `kind` is the operands' kind. A functor has at most one value, unless it
    is one of `several`.

    Once `args` are bound it binds `target`, or compares with it if that is bound (or a constant). A functor without a
    value (division by zero, a text that is no number) makes the literal false.
    """

    target: CoreValue
    functor: str
    kind: Kind
    args: tuple[CoreValue, ...]
    declared: FunctorType | None = field(default=None, compare=False, repr=False)
    """The functor in Python of this name, which begins with `@`."""
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def values(self) -> tuple[CoreValue, ...]:
        return self.target, *self.args

    @property
    def needs(self) -> tuple[CoreValue, ...]:
        return self.args

    def __str__(self) -> str:
        match self.functor, self.args:
            case "neg", (arg,):
                return f"{self.target} = -{arg}"
            case "as", (arg,):
                return f"{self.target} = as({arg}, {self.target.kind})"
            case functor, (left, right) if functor in _INFIX:
                return f"{self.target} = {left} {functor} {right}"
        return f"{self.target} = {self.functor}({_list(self.args)})"


def _record_text(record: CoreValue, fields: tuple[CoreValue, ...], branch: BranchType | None) -> str:
    """Return `record = [fields]`, or `record = $branch(…)` with the fields that the branch has."""
    if branch is None:
        return f"{record} = [{_list(fields)}]"
    parts = _list(fields[place] for place in branch.places)
    return f"{record} = ${branch.name}" + (f"({parts})" if parts else "")


@dataclass(frozen=True)
class Pack:
    """`target = [args]` for the record type `kind`, once `args` are bound. Records of a type with branches represent
    its values; `branch` is the one that they belong to."""

    target: CoreValue
    kind: Kind
    args: tuple[CoreValue, ...]
    branch: BranchType | None = None
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def values(self) -> tuple[CoreValue, ...]:
        return self.target, *self.args

    @property
    def needs(self) -> tuple[CoreValue, ...]:
        return self.args

    def __str__(self) -> str:
        return _record_text(self.target, self.args, self.branch)


@dataclass(frozen=True)
class Unpack:
    """`source = [targets]`, once `source` is bound; false for nil. Bound targets are compared, others are bound."""

    source: CoreValue
    kind: Kind
    targets: tuple[CoreValue, ...]
    branch: BranchType | None = None
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def values(self) -> tuple[CoreValue, ...]:
        return self.source, *self.targets

    @property
    def needs(self) -> tuple[CoreValue, ...]:
        return (self.source,)

    def __str__(self) -> str:
        return _record_text(self.source, self.targets, self.branch)


CoreLiteral: TypeAlias = CoreAtom | CoreComparison | Computation | Pack | Unpack


@dataclass(frozen=True)
class CoreRule:
    """`head :- body`. `origin` is the name of the user's rule that it stems from, the first one of those that share it;
    `name` is unique among core rules."""

    name: str
    origin: str = field(compare=False)
    head: CoreAtom
    body: tuple[CoreLiteral, ...]
    span: Span | None = field(default=None, compare=False, repr=False)

    @cached_property
    def reads(self) -> tuple[tuple[str, bool], ...]:
        """The relations of the body's atoms in their order, each with whether the atom is negated."""
        return tuple([(literal.relation, literal.negated) for literal in self.body if isinstance(literal, CoreAtom)])

    @cached_property
    def variables(self) -> tuple[frozenset[str], ...]:
        """The names of the variables of each literal of the body."""
        return tuple([_names(literal.values) for literal in self.body])

    @cached_property
    def needs(self) -> tuple[frozenset[str], ...]:
        """The names of the variables that each literal of the body needs before an engine can evaluate it. A variable
        that only a negated atom has does not count."""
        uses = Counter(name for names in self.variables for name in names)
        uses.update(_names(self.head.args))
        return tuple(
            [
                frozenset(
                    [name for name in _names(literal.needs) if not isinstance(literal, CoreAtom) or uses[name] > 1]
                )
                for literal in self.body
            ]
        )

    def __str__(self) -> str:
        body = f" :- {_list(self.body)}" if self.body else ""
        return f"{self.name}: {self.head}{body}."


NUMBERED = "#counter."
"""How the names of the relations of counters begin; their last column has the numbers."""


@dataclass(frozen=True)
class OwnAggregate:
    """An aggregate that the program declares, or the fold of a functor from `start` on; `keys` are the kinds of the
    groups."""

    declared: FunctorType
    start: Term | None
    keys: tuple[Kind, ...]

    @property
    def operands(self) -> tuple[Column, ...]:
        """The parameters for the operands of a member of a group."""
        return self.declared.parameters if self.start is None else self.declared.parameters[1:]

    @property
    def word(self) -> str:
        """The word that begins it in a text."""
        return self.declared.name if self.start is None else f"@@{self.declared.name}"


@dataclass(frozen=True)
class AggregateRule:
    """`head(groups, value)`: `op` over the column behind the first `groups` columns of `inner`.

    `inner` has the columns groups, value (missing for count), and witnesses that keep equal values apart. `outer` has
    the columns groups, and contains the requested groups: those without rows in `inner` give 0 for count and sum and no
    tuple for the other operations. `kind` is the kind of the value aggregated. mean and median are floats. For a
    counter, autoinc, both are the substitutions of a rule, and the value is the number of one. `own` is an aggregate of
    the program, with a column of `inner` for each operand.
    """

    name: str
    origin: str
    head: str
    op: AggregateName
    kind: Kind
    groups: int
    inner: str
    outer: str
    own: OwnAggregate | None = None
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def word(self) -> str:
        """The word that begins the aggregate in a text."""
        return self.op if self.own is None else self.own.word

    @property
    def reads(self) -> tuple[tuple[str, bool], ...]:
        """The two relations that it folds, which it needs complete, as if it negated them."""
        return (self.outer, True), (self.inner, True)

    def __str__(self) -> str:
        return f"{self.head}: {self.word} of {self.inner} for each tuple of {self.outer}."


@dataclass(frozen=True)
class RelationInfo:
    """A relation of the core program; `auxiliary` ones are never shown to a user."""

    name: str
    columns: tuple[Column, ...]
    auxiliary: bool = False


EdgeForm: TypeAlias = typing.Literal["forward", "backward", "loop"]


@dataclass(frozen=True)
class EdgeSource:
    """Edges of a closure: the pairs of a binary relation, as they are or turned round, or a loop for each tuple of a
    unary one."""

    relation: str
    form: EdgeForm


@dataclass(frozen=True)
class ClosureShape:
    """A hyper-node of one relation that holds the pairs between which the edges of `sources` make a way.

    In a `symmetric` one every edge leads both ways; an `irreflexive` one has pairs (x, x) only where that is an edge.
    Facts asserted for the relation are edges as well, but not those of a `linear` one, whose rules extend them at one
    end only.
    """

    sources: tuple[EdgeSource, ...]
    symmetric: bool
    irreflexive: bool
    linear: bool


@dataclass(frozen=True)
class MembersShape:
    """A hyper-node of one relation that holds the members of an aggregate's groups, which are pairs of a `closure`:
    those that begin with a tuple of `outer`, or with `backward` those that end with one, turned round. If `outer` has
    no columns, they are all pairs."""

    closure: str
    outer: str
    backward: bool


@dataclass(frozen=True)
class NodeSelection:
    """A relation of a hyper-node, `shown`, with the selected tuples of another one, `candidates`.

    Of two tuples that agree in the columns `keys` the one is better that is first by `orders` (column, min or max,
    kind), one after the other; of a `front` the one that is at least as good in all of them. With `domains`, lists of
    columns, it is a choice instead: no two tuples agree in all columns of one of them; `orders` then are all columns.
    """

    shown: str
    candidates: str
    keys: tuple[int, ...]
    orders: tuple[tuple[int, str, Kind], ...]
    front: bool = False
    domains: tuple[tuple[int, ...], ...] = ()


NodeKind: TypeAlias = Literal["members", "mirrors", "closure", "counter", "aggregate", "rules"]


@dataclass(frozen=True)
class HyperNode:
    """A strongly connected component of the rule graph, with all rules of the relations that it derives.

    `recursive` is True if some body refers to a relation of the node itself. A node may be known to be a `closure`, or
    to show one under another name (`mirrors`). It may hold the `members` of groups that are pairs of a closure; the
    aggregate of these `folds` that closure. One that `selects` reads selected tuples only, also inside of its
    recursion; `whole` are the hyper-nodes that take its place where that does not settle. All of its selections are
    choices, or none is.
    """

    relations: tuple[str, ...]
    rules: tuple[CoreRule | AggregateRule, ...]
    recursive: bool
    closure: ClosureShape | None = None
    mirrors: str | None = None
    members: MembersShape | None = None
    folds: str | None = None
    selects: tuple[NodeSelection, ...] = ()
    whole: tuple[HyperNode, ...] = field(default=(), repr=False, compare=False)

    @cached_property
    def chooses(self) -> bool:
        """Return True if its selections are choices."""
        return any(each.domains for each in self.selects)

    @cached_property
    def kind(self) -> NodeKind:
        """The kind, by which an engine chooses how to maintain it: the members of groups are pairs of a closure, it
        shows a closure, is one, numbers the substitutions of an aggregate, aggregates, or has ordinary rules."""
        if self.members is not None:
            return "members"
        if self.mirrors is not None:
            return "mirrors"
        if self.closure is not None:
            return "closure"
        if not self.aggregates:
            return "rules"
        return "counter" if any(rule.op == "autoinc" for rule in self.aggregates) else "aggregate"

    @cached_property
    def aggregates(self) -> tuple[AggregateRule, ...]:
        """Its rules that aggregate."""
        return tuple([rule for rule in self.rules if isinstance(rule, AggregateRule)])

    @cached_property
    def derives(self) -> frozenset[str]:
        """The relations that it derives, as a set."""
        return frozenset(self.relations)

    @cached_property
    def reads_set(self) -> frozenset[str]:
        """The relations that it reads, as a set."""
        return frozenset(self.reads)

    @cached_property
    def inputs(self) -> frozenset[str]:
        """The relations of other hyper-nodes that it reads."""
        return self.reads_set - self.derives

    @cached_property
    def touches(self) -> tuple[str, ...]:
        """The relations that it reads or derives, each once."""
        return tuple(dict.fromkeys((*self.reads, *self.relations)))

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """The relations that its rules read, its own among them where it is recursive, each once; and the closure that
        it folds."""
        read = [name for rule in self.rules for name, _ in rule.reads]
        return tuple(dict.fromkeys(read if self.folds is None else [*read, self.folds]))


@dataclass(frozen=True)
class Obstacle:
    """The reason why the recursion of a relation that selects reads dominated tuples, its place, and what removes
    it; `dropping` is the hyper-node that would read none, where it can be written."""

    text: str
    hint: str
    span: Span | None = field(default=None, compare=False, repr=False)
    dropping: HyperNode | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class CoreProgram:
    """Everything that an engine needs: `nodes` in an order in which each comes after those that it reads.

    `candidates` maps each relation that selects to the relation that it selects from, where its facts belong.
    `dropping` are hyper-nodes that an engine may evaluate in the place of others; `obstacles` says for relations that
    select why there is none.
    """

    relations: Mapping[str, RelationInfo]
    records: Mapping[str, RecordType]
    nodes: tuple[HyperNode, ...]
    facts: tuple[Fact, ...] = ()
    candidates: Mapping[str, str] = field(default_factory=dict)
    functors: Mapping[str, FunctorType] = field(default_factory=dict)
    """The functors in Python that rules call."""
    dropping: tuple[HyperNode, ...] = ()
    obstacles: Mapping[str, Obstacle] = field(default_factory=dict)

    @cached_property
    def counters(self) -> tuple[AggregateRule, ...]:
        """The rules that number substitutions, in the order of evaluation."""
        rules = (rule for node in self.nodes for rule in node.rules)
        return tuple(rule for rule in rules if isinstance(rule, AggregateRule) and rule.op == "autoinc")

    @property
    def choices(self) -> tuple[str, ...]:
        """The relations with choice-domains."""
        return tuple(each.shown for node in self.dropping if node.chooses for each in node.selects)

    def nodes_to_evaluate(self, whole: Collection[str] = ()) -> tuple[HyperNode, ...]:
        """Return the hyper-nodes with those in their places that drop dominated tuples, except for the relations
        `whole`."""
        chosen = [node for node in self.dropping if not any(each.shown in whole for each in node.selects)]
        if not chosen:
            return self.nodes
        place = {part.relations: node for node in chosen for part in node.whole}
        return tuple({id(each): each for node in self.nodes for each in [place.get(node.relations, node)]}.values())


AnyRule: TypeAlias = CoreRule | AggregateRule


def head_of(rule: AnyRule) -> str:
    """Return the relation that a rule derives."""
    return rule.head if isinstance(rule, AggregateRule) else rule.head.relation


def variables_of(literal: CoreLiteral) -> Iterator[CoreVariable]:
    """Return the variables of a literal, from left to right, one for each place."""
    return (value for value in literal.values if isinstance(value, CoreVariable))


def map_values(literal: CoreLiteral, change: Callable[[CoreValue], CoreValue]) -> CoreLiteral:
    """Return the literal with each value changed."""

    def each(given: Iterable[CoreValue]) -> tuple[CoreValue, ...]:
        return tuple(map(change, given))

    match literal:
        case CoreAtom(relation=relation, args=args, negated=negated, span=span):
            return CoreAtom(relation, each(args), negated, span)
        case CoreComparison(op=op, kind=kind, left=left, right=right, span=span):
            return CoreComparison(op, kind, change(left), change(right), span)
        case Computation(target=target, functor=functor, kind=kind, args=args, declared=declared, span=span):
            return Computation(change(target), functor, kind, each(args), declared, span)
        case Pack(target=target, kind=kind, args=args, branch=branch, span=span):
            return Pack(change(target), kind, each(args), branch, span)
        case Unpack(source=source, kind=kind, targets=targets, branch=branch, span=span):
            return Unpack(change(source), kind, each(targets), branch, span)


def is_several(literal: CoreLiteral) -> bool:
    """Return True if a literal may compute several values of a functor. A rule does not know which function there will
    be for a functor in Python."""
    if not isinstance(literal, Computation):
        return False
    return literal.declared is not None or several(literal.functor, len(literal.args))
