"""Statements in a row to a program, in which components are blocks with statements of their own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from tidelog.common.source import Span
from tidelog.errors import Problem
from tidelog.language.sizes import LIMIT
from tidelog.language.syntax import (
    About,
    Component,
    ComponentType,
    Declaration,
    Directive,
    FunctorDeclaration,
    Instance,
    Override,
    PlanDirective,
    Pragma,
    Program,
    Rule,
    TypeDeclaration,
)


@dataclass(frozen=True)
class Opening:
    """`.comp type : parents {`."""

    type: ComponentType
    parents: tuple[ComponentType, ...]
    span: Span
    about: About = field(default_factory=About)


@dataclass(frozen=True)
class Closing:
    """`}` behind the last statement of a component."""

    span: Span


Statement: TypeAlias = (
    Rule
    | Declaration
    | TypeDeclaration
    | Directive
    | Pragma
    | Opening
    | Closing
    | Instance
    | Override
    | PlanDirective
    | FunctorDeclaration
)


@dataclass
class _Block:
    """The statements of a component that is still open; without `opening`, those of the program itself."""

    opening: Opening | None = None
    types: list[TypeDeclaration] = field(default_factory=list)
    declarations: list[Declaration] = field(default_factory=list)
    directives: list[Directive] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    components: list[Component] = field(default_factory=list)
    instances: list[Instance] = field(default_factory=list)
    overrides: list[Override] = field(default_factory=list)
    functors: list[FunctorDeclaration] = field(default_factory=list)

    def program(self) -> Program:
        parts = (
            self.types,
            self.declarations,
            self.directives,
            self.rules,
            self.components,
            self.instances,
            self.functors,
        )
        return Program(*map(tuple, parts))  # type: ignore[arg-type]


def assemble(statements: Iterable[Statement]) -> tuple[Program, list[Problem]]:
    """Return the program, with the problems of braces and overrides that are out of place (E0101, E0106, E0115)."""
    statements = tuple(statements)
    demanded = _Demand(statements)
    problems: list[Problem] = []
    open_ = [_Block()]
    before: Statement | None = None
    for statement in statements:
        block = open_[-1]
        match statement:
            case PlanDirective() if isinstance(before, Rule):
                block.rules[-1] = replace(block.rules[-1], plan=statement.orders)
            case PlanDirective():
                hint = "put it behind a rule"
                problems.append(Problem("E0116", "this `.plan` follows no rule", statement.span, hint=hint))
            case Rule():
                block.rules.append(statement)
            case Declaration():
                block.declarations.append(demanded.with_qualifier(statement))
            case TypeDeclaration():
                block.types.append(statement)
            case Directive():
                block.directives.append(statement)
            case Instance():
                block.instances.append(statement)
            case FunctorDeclaration() if block.opening is not None:
                word = "aggregate" if statement.aggregate else "functor"
                message = f"`.{word} {statement.name}` stands inside of a component"
                problems.append(Problem("E0115", message, statement.span, hint="put it in front of the component"))
            case FunctorDeclaration():
                block.functors.append(statement)
            case Override() if block.opening is None:
                message = f"`.override {statement.relation}` stands outside of a component"
                hint = "put it into the component that inherits the relation"
                problems.append(Problem("E0115", message, statement.span, hint=hint))
            case Override():
                block.overrides.append(statement)
            case Opening():
                open_.append(_Block(statement))
                if len(open_) == LIMIT:
                    message = f"components are nested more than {LIMIT} levels deep"
                    hint = "declare the inner ones outside"
                    return Program(), [*problems, Problem("E0106", message, statement.span, hint=hint)]
            case Closing() if block.opening is not None:
                open_.pop()
                open_[-1].components.append(_component(block.opening, block))
            case Closing():
                hint = "remove it, or open a component with `.comp name {`"
                problems.append(Problem("E0115", "this `}` closes no component", statement.span, hint=hint))
        before = statement
    for block in open_[1:]:
        if block.opening is not None:
            message = f"the component `{block.opening.type.name}` is not closed"
            problems.append(Problem("E0115", message, block.opening.span, hint="close it with `}`"))
    return open_[0].program(), problems


def _component(opening: Opening, block: _Block) -> Component:
    return Component(
        opening.type, opening.parents, block.program(), tuple(block.overrides), span=opening.span, about=opening.about
    )


class _Demand:
    """The pragmas "magic-transform" and "magic-transform-exclude" of a text, which become qualifiers."""

    def __init__(self, statements: Iterable[Statement]) -> None:
        words = [each.words for each in statements if isinstance(each, Pragma) and len(each.words) == 2]

        def split_names(pragma: str) -> set[str]:
            return {name.strip() for key, value in words if key == pragma for name in value.split(",")}

        self._wanted, self._excluded = split_names("magic-transform"), split_names("magic-transform-exclude")

    def with_qualifier(self, declaration: Declaration) -> Declaration:
        """Return the declaration with `magic` or `no_magic`, where a pragma names it and it has neither."""
        if {"magic", "no_magic"} & {*declaration.qualifiers}:
            return declaration
        names = {declaration.name, "*"}
        qualifier = "no_magic" if names & self._excluded else "magic" if names & self._wanted else None
        return (
            declaration if qualifier is None else replace(declaration, qualifiers=(*declaration.qualifiers, qualifier))
        )
