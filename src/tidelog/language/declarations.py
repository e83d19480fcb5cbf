"""Types and relations: the declarations, the primitive type behind each type, and the flow of values between types.

`resolve` gathers the declarations of all programs into a `Scheme` and reports their problems. A type that is wrong has
the kind BROKEN, which fits everywhere, so that one mistake gives one message.

Equivalence relations are closed by two rules that no text has. `.decl same(x: node, y: node) eqrel` brings

    same(x, y) :- same(y, x).
    same(x, z) :- same(x, y), same(y, z).

So every value that occurs is equivalent to itself. All engines evaluate these rules like others; a hyper-node of an
equivalence relation that does not depend on itself is a symmetric closure (`rules/closures.py`), kept as components.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import lru_cache

from tidelog.common.source import Span
from tidelog.errors import Problem, UsageError, quote_name
from tidelog.functions.callables import GivenFunctions
from tidelog.language import foreign
from tidelog.language.aggregates import SPELLINGS
from tidelog.language.branches import Branch, branch_names, branched_type, class_of
from tidelog.language.problems import note
from tidelog.language.syntax import (
    PRIMITIVES,
    Atom,
    Attribute,
    Column,
    Declaration,
    FunctorType,
    Kind,
    Program,
    RecordType,
    RelationType,
    Rule,
    TypeDeclaration,
    Variable,
)

BROKEN: Kind = "?"


@dataclass(frozen=True)
class Scheme:
    """Relations and record types by name; `kinds` maps every type to its kind, `types` to its declaration, `branches`
    each branch to its type, `places` a relation, record type or `$branch` and an attribute of it to the place where the
    attribute is declared."""

    relations: Mapping[str, RelationType] = field(default_factory=dict)
    records: Mapping[str, RecordType] = field(default_factory=dict)
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    types: Mapping[str, TypeDeclaration] = field(default_factory=dict)
    places: Mapping[tuple[str, str], Span | None] = field(default_factory=dict)
    branches: Mapping[str, str] = field(default_factory=dict)
    functors: Mapping[str, FunctorType] = field(default_factory=dict)

    def is_record(self, kind: Kind) -> bool:
        """Return True if `[…]` and `nil` may have the kind."""
        return kind in self.records and not self.records[kind].branches

    def describe_kind(self, kind: Kind) -> str:
        """Return a kind in words: "a number", "a record `Pair`", "a `List`" for an algebraic data type."""
        return f"a `{kind}`" if kind in self.records and self.records[kind].branches else article(kind)

    def flows(self, lower: str, upper: str) -> bool:
        """Return True if each value of the type `lower` is one of `upper`. A broken type flows everywhere."""
        if BROKEN in (self.kinds.get(lower, BROKEN), self.kinds.get(upper, BROKEN)):
            return True
        allowed = self._types_within(upper)
        waiting = [lower]
        seen: set[str] = set()
        while waiting:
            name = waiting.pop()
            if name in allowed or name in seen:
                continue
            seen.add(name)
            type_ = self.types.get(name)
            if type_ is None or type_.form in ("record", "branches"):
                return False
            waiting += type_.members
        return True

    def has_common_subtype(self, types: Collection[str]) -> bool:
        """Return True if some declared type flows into all of `types`, as a member of two unions does."""
        return any(all(self.flows(name, type_) for type_ in types) for name in (*types, *self.types))

    def _types_within(self, upper: str) -> set[str]:
        """Return `upper` with the types that it renames or unites."""
        found: set[str] = set()
        waiting = [upper]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                type_ = self.types.get(name)
                if type_ is not None and type_.form in ("alias", "union"):
                    waiting += type_.members
        return found


def resolve(programs: Iterable[Program], given: GivenFunctions | None = None) -> tuple[Scheme, list[Problem]]:
    """Return the declarations of all programs together, and their problems. Functors take their functions from
    `given`."""
    programs = tuple(programs)
    problems: list[Problem] = []
    types: dict[str, TypeDeclaration] = {}
    declarations: dict[str, Declaration] = {}
    for program in programs:
        for type_ in program.types:
            if type_.name in PRIMITIVES:
                problems.append(
                    Problem("E0204", f"the type `{type_.name}` is built in", type_.span, hint="choose another name")
                )
            elif type_.name in types:
                problems.append(_double_declaration("E0204", "type", type_, types[type_.name]))
            else:
                types[type_.name] = type_
        for declaration in program.declarations:
            if declaration.name in declarations:
                problems.append(_double_declaration("E0202", "relation", declaration, declarations[declaration.name]))
            else:
                declarations[declaration.name] = declaration
    kinds = _Kinds(types, problems).all()
    places: dict[tuple[str, str], Span | None] = {}
    records = {
        name: RecordType(name, _columns("record type", name, type_.fields, kinds, places, problems))
        for name, type_ in types.items()
        if type_.form == "record"
    }
    branches = branch_names(types.values(), problems)
    for name, type_ in types.items():
        if type_.form == "branches":
            parts = [
                (branch.name, _columns("branch", f"${branch.name}", branch.fields, kinds, places, problems))
                for branch in type_.branches
                if branches[branch.name] == name
            ]
            records[name] = branched_type(name, parts, type_.span)
    relations = {
        name: RelationType(
            name,
            _columns("relation", name, declaration.attributes, kinds, places, problems),
            declaration.qualifiers,
            next((i for i, attribute in enumerate(declaration.attributes) if attribute.located), None),
            declaration.selections,
            span=declaration.span,
            about=declaration.about,
        )
        for name, declaration in declarations.items()
    }
    functors = _functors(programs, kinds, given or GivenFunctions(), problems)
    return Scheme(relations, records, kinds, types, places, branches, functors), problems


def _functors(
    programs: Iterable[Program], kinds: Mapping[str, Kind], given: GivenFunctions, problems: list[Problem]
) -> dict[str, FunctorType]:
    """Return the declared functors. One that is declared again with the same types is the same."""
    found: dict[str, FunctorType] = {}
    for declaration in (each for program in programs for each in program.functors):
        for type_ in dict.fromkeys([*(each.type for each in declaration.parameters), declaration.result]):
            if type_ not in kinds:
                problems.append(_unknown_type(type_, declaration.span, kinds))
        *columns, result = (
            Column(name, kinds.get(type_, BROKEN), type_)
            for name, type_ in [*((each.name, each.type) for each in declaration.parameters), ("", declaration.result)]
        )
        made = FunctorType(
            declaration.name,
            tuple(columns),
            result,
            given,
            declaration.aggregate,
            declaration.stateful,
            span=declaration.span,
        )
        first = found.setdefault(declaration.name, made)
        if made.stateful:
            found[made.name] = replace(first, stateful=True)
        if first.aggregate != made.aggregate or str(first) != str(made):
            notes = note(first.span, "first declared here")
            other = (
                f"{'an aggregate' if first.aggregate else 'a functor'} " if first.aggregate != made.aggregate else ""
            )
            message = f"{made.title} is declared twice, as {other}`{first}` and as `{made}`"
            problems.append(Problem("E0271", message, made.span, notes, hint="remove or rename one of the two"))
    return found


def declared_functor(
    name: str, functors: Mapping[str, FunctorType], place: Span | None, *, aggregate: bool, count: int
) -> FunctorType | Problem:
    """Return the declaration of a functor or an aggregate with `count` operands, or the problem (E0270) if there is
    none."""
    declared = functors.get(name)
    if declared is not None and declared.aggregate == aggregate:
        return declared
    word = "aggregate" if aggregate else "functor"
    known = [each.name for each in functors.values() if each.aggregate == aggregate]
    near = did_you_mean(name, [*known, *(SPELLINGS if aggregate else ())])
    hint = near or f"declare it with its types, such as `.{word} {name}({', '.join(['number'] * count)}): number`"
    if declared is not None and aggregate:
        hint = f"write `@@{name} x : start, {{ … }}`: it is a functor"
    elif declared is not None:
        hint = f"write `{name} x : {{ … }}`: it is an aggregate"
    return Problem("E0270", f"the {word} `{name}` is not declared", place, hint=hint)


def branch_named(name: str, records: Iterable[RecordType]) -> type[Branch]:
    """Return the class of the values of a branch of one of these types. Raise UsageError (E0616) if none has it."""
    found = {branch.name: branch for type_ in records for branch in type_.branches}
    if not isinstance(name, str) or name not in found:
        near = did_you_mean(quote_name(name), found)
        message = f"no type has a branch {quote_name(name):.60}"
        raise UsageError(Problem("E0616", message, hint=near or "load a program that declares it"))
    return class_of(found[name])


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    return _nearest(name, tuple(known))


@lru_cache(maxsize=32)
def _nearest(name: str, known: tuple[str, ...]) -> str | None:
    """Return the hint for a name. Every rule with the same unknown name asks for it, and the search takes long."""
    close = get_close_matches(name, known, 1)
    return f"did you mean `{close[0]}`?" if close else None


def _double_declaration(
    code: str, sort: str, second: TypeDeclaration | Declaration, first: TypeDeclaration | Declaration
) -> Problem:
    notes = note(first.span, "first declared here")
    message = f"the {sort} `{second.name}` is declared twice"
    return Problem(code, message, second.span, notes, hint="remove or rename one of the two")


def _columns(
    sort: str,
    owner: str,
    attributes: tuple[Attribute, ...],
    kinds: Mapping[str, Kind],
    places: dict[tuple[str, str], Span | None],
    problems: list[Problem],
) -> tuple[Column, ...]:
    columns: list[Column] = []
    for attribute in attributes:
        if attribute.type not in kinds:
            problems.append(_unknown_type(attribute.type, attribute.span, kinds))
        if (owner, attribute.name) in places:
            first = places[owner, attribute.name]
            notes = note(first, "first used here")
            message = f"the {sort} `{owner}` has two attributes named `{attribute.name}`"
            problems.append(Problem("E0207", message, attribute.span, notes, hint="rename one of the two"))
        else:
            places[owner, attribute.name] = attribute.span
        columns.append(Column(attribute.name, kinds.get(attribute.type, BROKEN), attribute.type))
    return tuple(columns)


def _unknown_type(name: str, span: Span | None, known: Iterable[str]) -> Problem:
    own = foreign.TYPES.get(name.lower())
    hint = f"did you mean `{own}`?" if own else did_you_mean(name, known)
    hint = hint or f"declare it with `.type {name} <: symbol`, or use {', '.join(PRIMITIVES)}"
    return Problem("E0203", f"the type `{name}` is not declared", span, hint=hint)


class _Kinds:
    """The kind of each type, found along its members; without recursion, for chains may be long."""

    def __init__(self, types: Mapping[str, TypeDeclaration], problems: list[Problem]) -> None:
        self.types = types
        self.problems = problems
        self.kinds: dict[str, Kind] = {name: name for name in PRIMITIVES}

    def all(self) -> dict[str, Kind]:
        for name in self.types:
            self._find(name)
        return self.kinds

    def _find(self, root: str) -> None:
        path = [root]
        entered = {root}
        while path:
            name = path[-1]
            if name in self.kinds:
                entered.discard(path.pop())
                continue
            type_ = self.types[name]
            if type_.form in ("record", "branches"):
                self.kinds[name] = name
                continue
            open_ = next((m for m in type_.members if m in self.types and m not in self.kinds), None)
            if open_ is None:
                self.kinds[name] = self._kind_of(type_)
            elif open_ in entered:
                self._cycle(path[path.index(open_) :])
            else:
                path.append(open_)
                entered.add(open_)

    def _kind_of(self, type_: TypeDeclaration) -> Kind:
        found: dict[Kind, str] = {}
        for member in type_.members:
            if member not in self.kinds:
                self.problems.append(_unknown_type(member, type_.span, self.kinds))
                return BROKEN
            found.setdefault(self.kinds[member], member)
        if BROKEN in found:
            return BROKEN
        if type_.form == "sub":
            self._check_base(type_)
        if len(found) > 1:
            (kind, member), (other_kind, other), *_ = found.items()
            one, two = (self._describe(each) for each in (kind, other_kind))
            message = f"the union `{type_.name}` mixes {one} (`{member}`) with {two} (`{other}`)"
            notes = tuple(
                (self.types[m].span, f"`{m}` is declared here")
                for m in (member, other)
                if m in self.types and self.types[m].span
            )
            hint = "use members that all come down to the same primitive type"
            self.problems.append(Problem("E0206", message, type_.span, notes, hint=hint))  # type: ignore[arg-type]
            return BROKEN
        return next(iter(found))

    def _check_base(self, type_: TypeDeclaration) -> None:
        """Note the problem (E0226) of a subtype of a union or of a record, as in Soufflé."""
        base = self.types.get(type_.members[0])
        while base is not None and base.form == "alias":
            base = self.types.get(base.members[0])
        if base is None or base.form not in ("union", "record"):
            return
        message = f"`{type_.name}` cannot be a subtype of the {base.form} `{base.name}`"
        hint = f"write `.type {type_.name} = {base.name}` for another name of the type"
        if base.form == "union":
            members = f"`.type {base.name} = … | {type_.name}`"
            hint = f"derive it from {self.kinds[base.name]}, and list it in the union: {members}"
        notes = note(base.span, f"`{base.name}` is declared here")
        self.problems.append(Problem("E0226", message, type_.span, notes, hint))

    def _describe(self, kind: Kind) -> str:
        type_ = self.types.get(kind)
        return f"a `{kind}`" if type_ is not None and type_.form == "branches" else article(kind)

    def _cycle(self, names: list[str]) -> None:
        first, *others = (self.types[name] for name in names)
        shown = " → ".join(f"`{name}`" for name in (*names[:8], *(["…"] if len(names) > 8 else []), names[0]))
        message = (
            f"the type `{first.name}` is defined by itself: {shown}"
            if others
            else f"the type `{first.name}` is defined by itself"
        )
        notes = tuple((t.span, f"through `{t.name}`") for t in others[:8] if t.span)
        hint = "let one of them come down to number, unsigned, float, symbol or a record"
        self.problems.append(Problem("E0205", message, first.span, notes, hint=hint))
        self.kinds.update(dict.fromkeys(names, BROKEN))


def article(kind: Kind) -> str:
    """Return a kind in words: "a number", "an unsigned", "a record `Pair`"."""
    match kind:
        case "unsigned":
            return "an unsigned"
        case "number" | "float" | "symbol":
            return f"a {kind}"
        case _:
            return f"a record `{kind}`"


# --- equivalence relations --------------------------------------------------------------------------------------------


EQREL = "eqrel"


def equivalence_problems(scheme: Scheme) -> Iterator[Problem]:
    """Yield the problems of equivalence relations that are no relations over one type (E0225)."""
    for relation in _equivalences(scheme):
        types = [column.type for column in relation.columns]
        if len(types) != 2:
            message = f"the equivalence relation `{relation.name}` needs two attributes, found {len(types)}"
            hint = f"declare it as `.decl {relation.name}(x: t, y: t) eqrel`"
            yield Problem("E0225", message, relation.span, hint=hint)
        elif not (scheme.flows(types[0], types[1]) and scheme.flows(types[1], types[0])):
            message = f"the attributes of `{relation.name}` have the types `{types[0]}` and `{types[1]}`"
            hint = "an equivalence relation needs attributes of one type"
            yield Problem("E0225", message, relation.span, hint=hint)


def equivalence_rules(scheme: Scheme) -> tuple[Rule, ...]:
    """Return the rules that close the equivalence relations of a program."""
    return tuple(rule for relation in _equivalences(scheme) for rule in _closing_rules(relation))


def _equivalences(scheme: Scheme) -> Iterator[RelationType]:
    return (relation for relation in scheme.relations.values() if EQREL in relation.qualifiers)


def _closing_rules(relation: RelationType) -> tuple[Rule, Rule]:
    """Return the rule of symmetry and that of transitivity. Their place is the declaration."""
    name, span = relation.name, relation.span
    x, y, z = (Variable(each, span=span) for each in "xyz")
    kinds = dict.fromkeys("xyz", relation.columns[0].kind)

    def pair(left: Variable, right: Variable) -> Atom:
        return Atom(name, (left, right), span=span)

    symmetric = Rule(f"#symmetric.{name}", (pair(x, y),), (pair(y, x),), kinds, span=span)
    transitive = Rule(f"#transitive.{name}", (pair(x, z),), (pair(x, y), pair(y, z)), kinds, span=span)
    return symmetric, transitive
