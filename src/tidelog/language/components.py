"""Components: each instance becomes statements of the program, under names that begin with its own.

`expand` goes through the instances. A statement of the component, or of one that it inherits from, comes once for each
instance. A name in it means the nearest declaration: of the instance, of the instance around it, and so on, at last of
the program. So a relation `r` of the instance `y` in the instance `x` is `x.y.r`, and later stages see flat relations
only. Types take the same way, after the component's parameters have got their arguments.

Spans stay those of the component; `Span.via` says by which instance a statement came.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from tidelog.common.source import Span
from tidelog.errors import Problem, ProgramError
from tidelog.language.declarations import did_you_mean
from tidelog.language.plain_statements import fact
from tidelog.language.problems import how_many, note, once
from tidelog.language.sizes import LIMIT
from tidelog.language.syntax import (
    PRIMITIVES,
    Attribute,
    BranchDeclaration,
    Component,
    ComponentType,
    Declaration,
    Directive,
    Instance,
    Program,
    Rule,
    TypeDeclaration,
)
from tidelog.language.trees import rename

_MOST = 10_000
"""Most instances of a program. Components that have two instances each of the next one double their number."""

_Flat = TypeDeclaration | Declaration | Directive | Rule


def expand(programs: Sequence[Program], known: Collection[int] = ()) -> tuple[Program, ...]:
    """Return the programs with statements in place of instances.

    Components stay, for instances of later programs; a program without instances stays as it is. `known` are the
    identities of programs that came out of an earlier call. Raise ProgramError with everything that is wrong with
    components (E0230 to E0236), or at once where their instances are too deep (E0106) or too many (E0237).
    """
    if not any(program.components or program.instances for program in programs if id(program) not in known):
        return tuple(programs)
    problems = list(_declared_twice([each for program in programs for each in program.components]))
    outermost = _Scope({each.type.name: each for program in programs for each in program.components})
    expansions = []
    for program in programs:
        expansion = _Expansion(problems)
        top = _Context(outermost)
        for instance in program.instances:
            expansion.instance(instance, top)
        expansions.append(expansion)
    used = {id(component) for expansion in expansions for component in expansion.used}
    for program in programs:
        for component in program.components:
            if id(component) not in used and id(program) not in known:
                _Expansion(problems).try_out(component, outermost)
    if problems:
        raise ProgramError(*once(dict.fromkeys(problems)))
    return tuple(map(_Names(programs, expansions).flat, programs, expansions))


# --- which statements there are --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Scope:
    """The components that can be named at some place of a text: those of a component, then those around it."""

    components: Mapping[str, Component]
    outer: _Scope | None = None

    def find(self, name: str) -> tuple[Component, _Scope] | None:
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.components:
                return scope.components[name], scope
            scope = scope.outer
        return None

    def names(self) -> Iterator[str]:
        """Yield the names of all components in sight."""
        scope: _Scope | None = self
        while scope is not None:
            yield from scope.components
            scope = scope.outer


@dataclass(frozen=True)
class _Context:
    """The place of a statement: the scope of its component, the instance that it belongs to, the arguments of the
    component's parameters, and the instances on the way."""

    scope: _Scope
    path: tuple[str, ...] = ()
    arguments: Mapping[str, str] = field(default_factory=dict)
    via: tuple[tuple[Span, str], ...] = ()
    within: tuple[tuple[int, tuple[str, ...]], ...] = ()
    """The components, with their arguments, whose instances are being made."""
    depth: int = 0
    """The number of components around it: those of the instances on the way, and those that inherit it."""


class _Expansion:
    """The statements that the instances of a program bring, each with its context."""

    def __init__(self, problems: list[Problem]) -> None:
        self.statements: list[tuple[_Flat, _Context]] = []
        self.used: list[Component] = []
        self._problems = problems
        self._names: dict[tuple[str, ...], Instance] = {}
        self._open: frozenset[str] = frozenset()
        """Parameters that have no arguments yet, in a component that has no instance."""

    def instance(self, instance: Instance, context: _Context) -> None:
        """Add the statements of an instance that stands in this context. Raise ProgramError (E0106, E0237)."""
        path = (*context.path, instance.name)
        shown = ".".join(path)
        first = self._names.setdefault(path, instance)
        if first is not instance:
            notes = note(first.span, "first initialised here")
            message = f"the instance `{shown}` is initialised twice"
            self._report("E0236", message, instance.span, context, notes, "rename one of the two")
        if len(self._names) > _MOST:
            message = f"this makes more than {_MOST:,} instances of components"
            hint = "let the components that it uses have fewer instances of others"
            raise ProgramError(Problem("E0237", message, _outermost_place(instance.span, context), hint=hint))
        found = self._component(instance.component, context)
        if found is None:
            return
        component, scope = found
        arguments = tuple(context.arguments.get(name, name) for name in instance.component.parameters)
        step = (id(component), arguments)
        if step in context.within:
            message = f"the component `{component.type.name}` contains an instance of itself"
            self._report("E0234", message, instance.span, context, (), "remove this `.init`, or end the chain")
            return
        via = note(instance.span, f"in the instance `{shown}`")
        inner = _Context(scope, path, {}, (*via, *context.via), (*context.within, step), context.depth + 1)
        self._body(component, instance.component, arguments, inner, frozenset(), ())

    def try_out(self, component: Component, scope: _Scope) -> None:
        """Look for the mistakes of a component of which there is no instance."""
        self._open = frozenset(component.type.parameters)
        context = _Context(scope, (component.type.name,), {}, (), ((id(component), component.type.parameters),))
        self._body(component, component.type, component.type.parameters, context, frozenset(), ())

    def _body(
        self,
        component: Component,
        called: ComponentType,
        arguments: tuple[str, ...],
        context: _Context,
        overridden: frozenset[str],
        heirs: tuple[Component, ...],
    ) -> None:
        """Add the statements of a component, those that it inherits first, without rules for `overridden` relations.
        Raise ProgramError (E0106) where components are too deep."""
        if context.depth > LIMIT:
            message = f"components contain or inherit each other in more than {LIMIT} levels"
            raise ProgramError(Problem("E0106", message, called.span, hint="shorten the chain of components"))
        self.used.append(component)
        parameters = component.type.parameters
        if len(arguments) != len(parameters):
            message = f"`{component.type.name}` takes {_parameters(len(parameters))}, found {len(arguments)}"
            notes = note(component.type.span, "declared here")
            self._report("E0233", message, called.span, context, notes, f"write `{component.type}` with your types")
            return
        context = replace(context, arguments=dict(zip(parameters, arguments, strict=True)))
        begin = len(self.statements)
        nested = {each.type.name: each for each in component.body.components}
        scope = _Scope(nested, context.scope)
        for parent in component.parents:
            found = self._component(parent, replace(context, scope=scope))
            if found is None:
                continue
            above, outer = found
            if any(above is each for each in (component, *heirs)):
                message = f"the component `{above.type.name}` inherits from itself"
                self._report("E0232", message, parent.span, context, (), "break the cycle")
                return
            passed = tuple(context.arguments.get(name, name) for name in parent.parameters)
            without = overridden | {each.relation for each in component.overrides}
            deeper = replace(context, scope=outer, depth=context.depth + 1)
            self._body(above, parent, passed, deeper, without, (component, *heirs))
            inherited = {each.type.name: each for each in above.body.components}
            nested = {**inherited, **nested}
            scope = _Scope(nested, context.scope)
        context = replace(context, scope=scope)
        self._check_overrides(component, begin, context)
        body = component.body
        self._problems += _declared_twice(body.components)
        for part in (body.types, body.declarations, body.directives):
            self.statements += [(each, context) for each in part]
        for rule in body.rules:
            heads = tuple(head for head in rule.heads if head.relation not in overridden)
            if heads:
                self.statements.append((rule if len(heads) == len(rule.heads) else replace(rule, heads=heads), context))
        for instance in body.instances:
            self.instance(instance, context)

    def _check_overrides(self, component: Component, begin: int, context: _Context) -> None:
        """Report overrides of what is not inherited, or not overridable. A component that is the argument of a
        parameter does not know that it is inherited, so its relations need not be overridable."""
        inherited = {
            statement.name: statement
            for statement, place in self.statements[begin:]
            if isinstance(statement, Declaration) and place.path == context.path
        }
        parents = {parent.name for parent in component.parents}
        if self._open & parents:
            return
        by_parameter = not parents.isdisjoint(context.arguments)
        for override in component.overrides:
            declaration = inherited.get(override.relation)
            if declaration is None:
                message = f"`{component.type.name}` inherits no relation `{override.relation}`"
                hint = did_you_mean(override.relation, inherited) or "remove the `.override`"
                self._report("E0235", message, override.span, context, (), hint)
            elif "overridable" not in declaration.qualifiers and not by_parameter:
                message = f"the relation `{override.relation}` is not overridable"
                hint = "add `overridable` to its declaration"
                self._report("E0235", message, override.span, context, note(declaration.span, "declared here"), hint)

    def _component(self, type_: ComponentType, context: _Context) -> tuple[Component, _Scope] | None:
        """Return the component of a name, or of the argument for a parameter of this name."""
        name = context.arguments.get(type_.name, type_.name)
        found = context.scope.find(name)
        if found is None and name not in self._open:
            hint = did_you_mean(name, context.scope.names()) or f"declare it with `.comp {name} {{ … }}`"
            self._report("E0231", f"the component `{name}` is not declared", type_.span, context, (), hint)
        return found

    def _report(
        self,
        code: str,
        message: str,
        span: Span | None,
        context: _Context,
        notes: tuple[tuple[Span, str], ...],
        hint: str,
    ) -> None:
        self._problems.append(Problem(code, message, _with_instances(span, context), notes, hint))


def _declared_twice(components: Iterable[Component]) -> Iterator[Problem]:
    first: dict[str, Component] = {}
    for component in components:
        other = first.setdefault(component.type.name, component)
        if other is not component:
            notes = note(other.type.span, "first declared here")
            message = f"the component `{component.type.name}` is declared twice"
            yield Problem("E0230", message, component.type.span, notes, "remove or rename one of the two")


def _parameters(number: int) -> str:
    return how_many(number, "parameter") if number else "no parameters"


def _outermost_place(span: Span | None, context: _Context) -> Span | None:
    return context.via[-1][0] if context.via else span


def _with_instances(span: Span | None, context: _Context) -> Span | None:
    return span if span is None or not context.via else replace(span, via=context.via)


# --- which names they have -------------------------------------------------------------------------------------------


class _Names:
    """The relations and types of all programs and their instances."""

    def __init__(self, programs: Iterable[Program], expansions: Iterable[_Expansion]) -> None:
        self._relations = {each.name for program in programs for each in program.declarations}
        types = [each for program in programs for each in program.types]
        self._types = {*PRIMITIVES, *(each.name for each in types)}
        self._branches = {branch.name for each in types for branch in each.branches}
        for expansion in expansions:
            for statement, context in expansion.statements:
                if isinstance(statement, Declaration):
                    self._relations.add(_qualify_name(statement.name, context))
                elif isinstance(statement, TypeDeclaration):
                    self._types.add(_type_name(statement, context))
                    self._branches |= {_qualify_name(branch.name, context) for branch in statement.branches}

    def flat(self, program: Program, expansion: _Expansion) -> Program:
        """Return the program with the statements of its instances in place of them."""
        if not program.instances:
            return program
        numbers: dict[tuple[str, ...], Iterator[int]] = {}
        taken = {
            _qualify_name(s.name, c) for s, c in expansion.statements if isinstance(s, Rule) and s.name is not None
        }
        types, declarations = list(program.types), list(program.declarations)
        directives, rules = list(program.directives), list(program.rules)
        for statement, context in expansion.statements:
            match statement:
                case TypeDeclaration():
                    types.append(self._type_declaration(statement, context))
                case Declaration():
                    declarations.append(self._declaration(statement, context))
                case Directive(relation=relation):
                    named = self._relation(relation, context)
                    directives.append(replace(statement, relation=named, span=_with_instances(statement.span, context)))
                case Rule():
                    name = statement.name and _qualify_name(statement.name, context)
                    if name is None and fact(statement) is None:
                        number = numbers.setdefault(context.path, count(1))
                        free = (_qualify_name(f"r{n}", context) for n in number)
                        name = next(each for each in free if each not in taken)
                    rules.append(replace(self._rule(statement, context), name=name))
        parts = tuple(types), tuple(declarations), tuple(directives), tuple(rules)
        return Program(*parts, components=program.components, functors=program.functors)

    def _rule(self, rule: Rule, context: _Context) -> Rule:
        renamed = rename(
            rule,
            lambda name: self._relation(name, context),
            lambda name: self._type(name, context),
            lambda name: _nearest_name(name, context.path, self._branches),
        )
        return replace(renamed, span=_with_instances(rule.span, context))

    def _declaration(self, declaration: Declaration, context: _Context) -> Declaration:
        attributes = tuple(self._attribute(each, context) for each in declaration.attributes)
        name, span = _qualify_name(declaration.name, context), _with_instances(declaration.span, context)
        return replace(declaration, name=name, attributes=attributes, span=span)

    def _type_declaration(self, type_: TypeDeclaration, context: _Context) -> TypeDeclaration:
        return replace(
            type_,
            name=_type_name(type_, context),
            members=tuple(self._type(member, context) for member in type_.members),
            fields=tuple(self._attribute(each, context) for each in type_.fields),
            branches=tuple(self._branch(each, context) for each in type_.branches),
            span=_with_instances(type_.span, context),
        )

    def _branch(self, branch: BranchDeclaration, context: _Context) -> BranchDeclaration:
        fields = tuple(self._attribute(each, context) for each in branch.fields)
        return replace(
            branch, name=_qualify_name(branch.name, context), fields=fields, span=_with_instances(branch.span, context)
        )

    def _attribute(self, attribute: Attribute, context: _Context) -> Attribute:
        return replace(
            attribute, type=self._type(attribute.type, context), span=_with_instances(attribute.span, context)
        )

    def _relation(self, name: str, context: _Context) -> str:
        return _nearest_name(name, context.path, self._relations)

    def _type(self, name: str, context: _Context) -> str:
        return _nearest_name(context.arguments.get(name, name), context.path, self._types)


def _qualify_name(name: str, context: _Context) -> str:
    return ".".join((*context.path, name))


def _type_name(type_: TypeDeclaration, context: _Context) -> str:
    """Return the name of a type in an instance. A type with the name of a parameter is called as the argument is, so
    that the parameter means this type in the instance."""
    argument = context.arguments.get(type_.name, type_.name)
    return _qualify_name(type_.name if argument in PRIMITIVES else argument, context)


def _nearest_name(name: str, path: tuple[str, ...], declared: set[str]) -> str:
    """Return the declared name with the longest prefix of `path`; the name itself if there is none."""
    for length in range(len(path), 0, -1):
        candidate = ".".join((*path[:length], name))
        if candidate in declared:
            return candidate
    return name
