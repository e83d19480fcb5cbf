"""The syntax tree: the statements of a program text, with their places.

Every node is a frozen dataclass whose `span` does not take part in comparisons, so that two trees are equal when they
mean the same. `str(node)` is source text that parses back to an equal node (see `printer`). The checker returns the
same tree with the `kind` fields filled in.

A *kind* is how a value is represented: "number" (64-bit signed), "unsigned", "float", "symbol", or the name of a record
type. Sub-, union and equivalence types of the program all come down to one kind.
"""

from __future__ import annotations

import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from tidelog.common.source import Span
from tidelog.functions.callables import GivenFunctions
from tidelog.language.aggregates import AggregateName

Kind: TypeAlias = str
TypeForm: TypeAlias = typing.Literal["sub", "union", "alias", "record", "branches"]
RepeatOp: TypeAlias = typing.Literal["+", "*", "?"]
SelectOp: TypeAlias = typing.Literal["min", "max", "choice"]
PRIMITIVES: tuple[Kind, ...] = ("number", "unsigned", "float", "symbol")


def _span() -> Span | None:
    return field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True)
class About:
    """The documentation comments and the annotations of a statement or an attribute, which change no view."""

    doc: str = ""
    annotations: tuple[str, ...] = ()


def _about() -> About:
    return field(default=About(), compare=False, repr=False, kw_only=True)


class SyntaxNode:
    """The base of all nodes of the tree: `str(node)` is its source text."""

    __slots__ = ()

    def __str__(self) -> str:
        from tidelog.language.printer import source_text  # the printer needs the classes below

        return source_text(self)


# --- terms -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Variable(SyntaxNode):
    name: str
    span: Span | None = _span()


@dataclass(frozen=True)
class Anonymous(SyntaxNode):
    """`_`: any value; each occurrence is a variable of its own."""

    span: Span | None = _span()


@dataclass(frozen=True)
class Constant(SyntaxNode):
    """A literal. `kind` is None until checked where the text leaves it open (`1` may be number, unsigned or float)."""

    value: int | float | str
    kind: Kind | None = None
    span: Span | None = _span()


@dataclass(frozen=True)
class Functor(SyntaxNode):
    """An operator or function applied to terms; `name` is its spelling in the text, unary minus is "neg".

    `kind` is the kind of the operands (that decides which addition `+` is), `result` the kind of the value. A name with
    `@` in front is `declared` by the program.
    """

    name: str
    args: tuple[Term, ...]
    kind: Kind | None = field(default=None, compare=False)
    result: Kind | None = field(default=None, compare=False)
    declared: FunctorType | None = field(default=None, compare=False, repr=False)
    span: Span | None = _span()


@dataclass(frozen=True)
class Record(SyntaxNode):
    """`[a, b]`; `nil` is the record without fields. With the name of a `branch`, `$Cons(a, b)`."""

    fields: tuple[Term, ...] | None
    kind: Kind | None = field(default=None, compare=False)
    branch: str | None = None
    span: Span | None = _span()


@dataclass(frozen=True)
class Cast(SyntaxNode):
    """`as(term, type)`: the same word under another type."""

    term: Term
    type: str
    kind: Kind | None = field(default=None, compare=False)
    span: Span | None = _span()


@dataclass(frozen=True)
class Aggregate(SyntaxNode):
    """`op target : { body }`; count has no target.

    It ranges over the distinct substitutions of the body, each `_` of a positive atom included. Variables of the body
    that also occur in the rule outside of aggregates are given from there (they group).
    `kind` is the kind of the target, `result` the kind of the value.

    The op `own` stands for an aggregate with the name `called`, `declared` by the program, whose target is a record of
    its operands. With a `start`, `called` is a functor that takes the state and an operand, `@@f x : start, { body }`.
    """

    op: AggregateName
    target: Term | None
    body: tuple[Literal, ...]
    kind: Kind | None = field(default=None, compare=False)
    result: Kind | None = field(default=None, compare=False)
    called: str = ""
    start: Term | None = None
    declared: FunctorType | None = field(default=None, compare=False, repr=False)
    span: Span | None = _span()

    @property
    def word(self) -> str:
        """The word that begins it in a text."""
        return self.op if not self.called else self.called if self.start is None else f"@@{self.called}"


Term: TypeAlias = Variable | Anonymous | Constant | Functor | Record | Cast | Aggregate


# --- regular paths ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step(SyntaxNode):
    """A binary relation, read from its first column to its second."""

    relation: str
    span: Span | None = _span()


@dataclass(frozen=True)
class Inverse(SyntaxNode):
    """`^path`: backwards."""

    path: Path
    span: Span | None = _span()


@dataclass(frozen=True)
class Repeat(SyntaxNode):
    """`path+`, `path*`, `path?`: once or more often, any number of times, at most once.

    `domain` is, once checked, the type whose nodes `*` and `?` lead from each to itself.
    """

    path: Path
    op: RepeatOp
    domain: str | None = field(default=None, compare=False)
    span: Span | None = _span()


@dataclass(frozen=True)
class Sequence(SyntaxNode):
    """`a/b/c`: two parts or more, none of them a sequence itself."""

    parts: tuple[Path, ...]
    span: Span | None = _span()


@dataclass(frozen=True)
class Alternation(SyntaxNode):
    """`a|b|c`: two parts or more, none of them a choice itself."""

    parts: tuple[Path, ...]
    span: Span | None = _span()


Path: TypeAlias = Step | Inverse | Repeat | Sequence | Alternation


# --- literals --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Atom(SyntaxNode):
    """A tuple of a relation, or of the pairs that a `path` connects; `relation` is then the text of the path.

    `selects` are the positions of arguments of a head that stand in `min(…)` or `max(…)`: the relation selects by them.
    """

    relation: str
    args: tuple[Term, ...]
    location: int | None = None  # position of the argument marked @
    path: Path | None = None
    selects: tuple[tuple[int, SelectOp], ...] = ()
    span: Span | None = _span()


@dataclass(frozen=True)
class Negation(SyntaxNode):
    atom: Atom
    span: Span | None = _span()


@dataclass(frozen=True)
class Comparison(SyntaxNode):
    """`left op right` with `op` one of = != < <= > >=, or a test such as match or contains, or its negation, !match."""

    op: str
    left: Term
    right: Term
    kind: Kind | None = field(default=None, compare=False)
    span: Span | None = _span()


@dataclass(frozen=True)
class Truth(SyntaxNode):
    """`true` or `false`."""

    value: bool
    span: Span | None = _span()


@dataclass(frozen=True)
class Disjunction(SyntaxNode):
    """`(a, b ; c)`: each alternative is a conjunction."""

    alternatives: tuple[tuple[Literal, ...], ...]
    span: Span | None = _span()


Literal: TypeAlias = Atom | Negation | Comparison | Truth | Disjunction
Body: TypeAlias = tuple[Literal, ...]
"""A conjunction."""


# --- statements ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PlanOrder:
    """`version: (atoms)`: an order in which Soufflé would join the atoms of a body, counted from 1."""

    version: int
    atoms: tuple[int, ...]
    span: Span | None = _span()


@dataclass(frozen=True)
class Rule(SyntaxNode):
    """`name: heads :- body.`; an empty body states the heads outright. `kinds` maps its variables once checked. `plan`
    has the orders of a `.plan` behind it, without effect.

    One that `subsumes` is `name: a <= b :- body.`, with the heads a and b: the tuple b dominates the tuple a.
    """

    name: str | None
    heads: tuple[Atom, ...]
    body: tuple[Literal, ...] = ()
    kinds: Mapping[str, Kind] = field(default_factory=dict, compare=False)
    subsumes: bool = False
    plan: tuple[PlanOrder, ...] = field(default=(), compare=False, kw_only=True)
    span: Span | None = _span()
    about: About = _about()


@dataclass(frozen=True)
class Attribute(SyntaxNode):
    name: str
    type: str
    located: bool = False  # marked with @: the values say at which node a tuple lives
    span: Span | None = _span()
    about: About = _about()


@dataclass(frozen=True)
class SelectionClause(SyntaxNode):
    """`min(a)` or `max(a)`; in `choice-domain a, (b, c)` each domain is one."""

    op: SelectOp
    attributes: tuple[str, ...]
    span: Span | None = _span()


@dataclass(frozen=True)
class Declaration(SyntaxNode):
    """`.decl name(attributes) qualifiers selections`."""

    name: str
    attributes: tuple[Attribute, ...]
    qualifiers: tuple[str, ...] = ()
    selections: tuple[SelectionClause, ...] = ()
    span: Span | None = _span()
    about: About = _about()


@dataclass(frozen=True)
class BranchDeclaration(SyntaxNode):
    """`name { attributes }`, a branch of an algebraic data type."""

    name: str
    fields: tuple[Attribute, ...] = ()
    span: Span | None = _span()


@dataclass(frozen=True)
class FunctorDeclaration(SyntaxNode):
    """`.functor name(parameters): result`, or `.aggregate` for an `aggregate`. Parameters without names have the name
    ""."""

    name: str
    parameters: tuple[Attribute, ...]
    result: str
    aggregate: bool = False
    stateful: bool = False
    span: Span | None = _span()


@dataclass(frozen=True)
class TypeDeclaration(SyntaxNode):
    """`.type name <: a` ("sub"), `= a | b` ("union"; of one, an equivalence: "alias"), `= [x: a]` ("record"), or
    `= A {} | B { x: a }` ("branches"). A `deprecated` one is written as `.number_type` or `.symbol_type`."""

    name: str
    form: TypeForm
    members: tuple[str, ...] = ()
    fields: tuple[Attribute, ...] = ()
    branches: tuple[BranchDeclaration, ...] = ()
    deprecated: bool = field(default=False, compare=False)
    span: Span | None = _span()
    about: About = _about()


@dataclass(frozen=True)
class Directive(SyntaxNode):
    """`.input r(key=value, …)`, and output, printsize, limitsize; one per relation named. A `deprecated` one is
    written as a qualifier of the declaration."""

    name: str
    relation: str
    options: Mapping[str, str | int | bool] = field(default_factory=dict)
    deprecated: bool = field(default=False, compare=False)
    span: Span | None = _span()
    about: About = _about()


@dataclass(frozen=True)
class Pragma(SyntaxNode):
    """`.pragma "name" "value"`: no part of a program; `read` puts those that it knows into the declarations."""

    words: tuple[str, ...]


@dataclass(frozen=True)
class PlanDirective(SyntaxNode):
    """`.plan 0: (2, 1), 1: (1, 2)`: belongs to the rule before it."""

    orders: tuple[PlanOrder, ...]
    span: Span | None = _span()


@dataclass(frozen=True)
class ComponentType(SyntaxNode):
    """`name<a, b>`: a component with the names of its parameters, or with the arguments for them."""

    name: str
    parameters: tuple[str, ...] = ()
    span: Span | None = _span()


@dataclass(frozen=True)
class Override(SyntaxNode):
    """`.override relation`: the rules that a component inherits for the relation do not count."""

    relation: str
    span: Span | None = _span()


@dataclass(frozen=True)
class Instance(SyntaxNode):
    """`.init name = component`."""

    name: str
    component: ComponentType
    span: Span | None = _span()
    about: About = _about()


@dataclass(frozen=True)
class Program(SyntaxNode):
    """A parsed text, its statements by sort, each in the order written."""

    types: tuple[TypeDeclaration, ...] = ()
    declarations: tuple[Declaration, ...] = ()
    directives: tuple[Directive, ...] = ()
    rules: tuple[Rule, ...] = ()
    components: tuple[Component, ...] = ()
    instances: tuple[Instance, ...] = ()
    functors: tuple[FunctorDeclaration, ...] = ()


@dataclass(frozen=True)
class Component(SyntaxNode):
    """`.comp type : parents { body }`."""

    type: ComponentType
    parents: tuple[ComponentType, ...] = ()
    body: Program = field(default_factory=Program)
    overrides: tuple[Override, ...] = ()
    span: Span | None = _span()
    about: About = _about()


# --- the checked program ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Column:
    """A column of a relation: the attribute's name, its declared type and the kind that this comes down to."""

    name: str
    kind: Kind
    type: str


@dataclass(frozen=True)
class BranchType:
    """A branch of an algebraic data type; `places` are those of its fields in the record that represents a value."""

    name: str
    fields: tuple[Column, ...]
    places: tuple[int, ...]


@dataclass(frozen=True)
class RecordType:
    """A record type; with `branches`, an algebraic data type, whose values are represented by records of `fields`: the
    number of the branch, and places for the fields of all branches."""

    name: str
    fields: tuple[Column, ...]
    branches: tuple[BranchType, ...] = ()
    span: Span | None = _span()

    def branch(self, name: str | None) -> BranchType | None:
        return next((branch for branch in self.branches if branch.name == name), None)

    def parts(self, name: str | None) -> tuple[Column, ...]:
        """Return the fields of a branch, or of the record if it has no branches."""
        branch = self.branch(name)
        return self.fields if branch is None else branch.fields


@dataclass(frozen=True)
class RelationType:
    name: str
    columns: tuple[Column, ...]
    qualifiers: tuple[str, ...] = ()
    location: int | None = None  # position of the column marked @
    selections: tuple[SelectionClause, ...] = ()
    span: Span | None = _span()
    about: About = _about()


@dataclass(frozen=True)
class FunctorType:
    """A functor that the program declares, without the `@` of its calls, or an `aggregate`; `given` are the functions
    that the database has. A function in a library cannot be called for a `stateful` one."""

    name: str
    parameters: tuple[Column, ...]
    result: Column
    given: GivenFunctions = field(compare=False, repr=False)
    aggregate: bool = False
    stateful: bool = field(default=False, compare=False)
    span: Span | None = _span()

    @property
    def title(self) -> str:
        """The functor or aggregate with its name, for messages."""
        return f"the {'aggregate' if self.aggregate else 'functor'} `{self.name}`"

    @property
    def key(self) -> tuple[str, ...]:
        """The name, and the kinds of the parameters and the result."""
        return self.name, *(column.kind for column in (*self.parameters, self.result))

    def __str__(self) -> str:
        return f"{', '.join(column.type for column in self.parameters)} -> {self.result.type}"


Value: TypeAlias = "int | float | str | tuple[Value, ...] | None"
"""A value as the user sees it: records are tuples, `nil` is None."""


@dataclass(frozen=True)
class Fact:
    """An unnamed fact made of constants only."""

    relation: str
    values: tuple[Value, ...]
    span: Span | None = _span()


@dataclass(frozen=True)
class CheckedProgram:
    """A program that has passed every check of `language.check`; all kinds are filled in, all rules have names.

    `rules` contains the statements with a body, a name or a term to compute, and rules that declarations bring; every
    other fact is in `facts`. `domains` maps the type of each `*` and `?` of a path to the columns (relation, position)
    of binary relations with its values. `written` are the rules that stand in the texts, subsumption rules among them,
    `texts` the same rules before the checker has changed anything, `types` all types that the texts declare.
    """

    relations: Mapping[str, RelationType] = field(default_factory=dict)
    records: Mapping[str, RecordType] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()
    facts: tuple[Fact, ...] = ()
    directives: tuple[Directive, ...] = ()
    domains: Mapping[str, tuple[tuple[str, int], ...]] = field(default_factory=dict)
    written: tuple[Rule, ...] = ()
    texts: tuple[Rule, ...] = ()
    types: tuple[TypeDeclaration, ...] = ()
    functors: Mapping[str, FunctorType] = field(default_factory=dict)

    @cached_property
    def subsumptions(self) -> tuple[Rule, ...]:
        """The rules that say which tuples dominate others."""
        return tuple(rule for rule in self.written if rule.subsumes)

    @cached_property
    def size_limits(self) -> Mapping[str, tuple[int, Span | None]]:
        """The `.limitsize` of relations, with their places."""
        limits = (directive for directive in self.directives if directive.name == "limitsize")
        return {directive.relation: (int(directive.options["n"]), directive.span) for directive in limits}

    @cached_property
    def order(self) -> Mapping[str, int]:
        """The positions of the relations among the declarations."""
        return {name: i for i, name in enumerate(self.relations)}
