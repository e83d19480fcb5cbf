"""Walking and rebuilding syntax trees: the only place that lists the parts of each node.

    parts      the parts of a node, one step down
    walk       every node of some trees, each before its parts
    variables  the names of variables, each once
    atoms      all atoms
    alternatives  a body without disjunctions
    rebuild    a tree with other terms in it
    rename     a rule with other names of relations and types
    FreshNames    names for new variables

Bindings, kinds and scopes are elsewhere: nothing here knows the meaning of a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import count, product
from math import prod
from typing import TypeAlias

from tidelog.language.printer import path_name
from tidelog.language.syntax import (
    Aggregate,
    Alternation,
    Anonymous,
    Atom,
    Body,
    Cast,
    Comparison,
    Constant,
    Disjunction,
    Functor,
    Inverse,
    Literal,
    Negation,
    Path,
    Record,
    Repeat,
    Rule,
    Sequence,
    Step,
    Term,
    Truth,
    Variable,
)

Tree: TypeAlias = Term | Literal


def parts(node: Tree) -> tuple[Tree, ...]:
    """Return the parts of a node, one step down, from left to right; an aggregate's target stands before its body."""
    match node:
        case Variable() | Constant() | Anonymous() | Truth():
            return ()
        case Atom(args=args) | Functor(args=args):
            return args
        case Record(fields=fields):
            return fields or ()
        case Cast(term=term):
            return (term,)
        case Negation(atom=atom):
            return (atom,)
        case Comparison(left=left, right=right):
            return (left, right)
        case Disjunction(alternatives=alternatives):
            return tuple([literal for alternative in alternatives for literal in alternative])
        case Aggregate(target=target, body=body):
            return body if target is None else (target, *body)


_LEAVES = frozenset((Variable, Constant, Anonymous, Truth))
"""Nodes without parts: most of a tree."""


def walk(nodes: Iterable[Tree], *, aggregates: bool = True) -> Iterator[Tree]:
    """Yield every node of the trees, each before its parts, from left to right; the parts of aggregates if wanted."""
    stack = list(nodes)[::-1]
    while stack:
        node = stack.pop()
        yield node
        if type(node) in _LEAVES:
            continue
        if aggregates or not isinstance(node, Aggregate):
            stack.extend(parts(node)[::-1])


def whole(rule: Rule) -> Body:
    """Return the heads and the body of a rule as trees."""
    return (*rule.heads, *rule.body)


def variables(nodes: Iterable[Tree], *, aggregates: bool = True) -> tuple[str, ...]:
    """Return the names of the variables of the trees, each once, in the order of their first occurrence."""
    return tuple(dict.fromkeys(variable.name for variable in occurrences(nodes, aggregates=aggregates)))


def occurrences(nodes: Iterable[Tree], *, aggregates: bool = True) -> Iterator[Variable]:
    return (node for node in walk(nodes, aggregates=aggregates) if isinstance(node, Variable))


def atoms(nodes: Iterable[Tree]) -> Iterator[Atom]:
    """Yield all atoms, negated ones and those inside of aggregates included, in the order written."""
    return (node for node in walk(nodes) if isinstance(node, Atom))


def outermost(nodes: Iterable[Tree]) -> Iterator[Aggregate]:
    """Yield the aggregates that stand in no other aggregate."""
    return (node for node in walk(nodes, aggregates=False) if isinstance(node, Aggregate))


def has_anonymous(nodes: Iterable[Tree], *, aggregates: bool = True) -> bool:
    """Return True if there is a `_` in the trees."""
    return any(isinstance(node, Anonymous) for node in walk(nodes, aggregates=aggregates))


def has_path(nodes: Iterable[Tree]) -> bool:
    return any(atom.path is not None for atom in atoms(nodes))


def is_simple(term: Term) -> bool:
    """Return True for a variable or a constant (`nil` included)."""
    return isinstance(term, Variable | Constant) or (isinstance(term, Record) and term.fields is None)


def is_constant(term: Term) -> bool:
    """Return True for a constant, and for a record or branch that is made of constants only."""
    match term:
        case Constant() | Record(fields=None):
            return True
        case Record(fields=tuple(parts)):
            return all(map(is_constant, parts))
        case _:
            return False


def combinations(body: Body) -> int:
    """Return the number of alternatives of a conjunction."""
    return prod(
        sum(combinations(alternative) for alternative in literal.alternatives)
        for literal in body
        if isinstance(literal, Disjunction)
    )


def alternatives(body: Body) -> list[Body]:
    """Return the alternatives of a body, its disjunctive normal form. `true` disappears, and alternatives with `false`
    are dropped."""
    choices: list[list[Body]] = []
    for literal in body:
        match literal:
            case Truth(value=value):
                choices.append([()] if value else [])
            case Disjunction(alternatives=each):
                choices.append([flat for alternative in each for flat in alternatives(alternative)])
            case _:
                choices.append([(literal,)])
    return [tuple([literal for part in choice for literal in part]) for choice in product(*choices)]


Replacement: TypeAlias = Callable[[Term], Term | None]
"""Gives the term that stands in place of another one, or None where its parts are rebuilt instead."""


def rebuild_term(term: Term, change: Replacement) -> Term:
    """Return the term with `change` applied from the top."""
    changed = change(term)
    if changed is not None:
        return changed
    match term:
        case Functor(args=args):
            return replace(term, args=tuple([rebuild_term(arg, change) for arg in args]))
        case Record(fields=fields) if fields is not None:
            return replace(term, fields=tuple([rebuild_term(field, change) for field in fields]))
        case Cast(term=inner):
            return replace(term, term=rebuild_term(inner, change))
        case Aggregate(target=target, body=body):
            target = None if target is None else rebuild_term(target, change)
            return replace(term, target=target, body=tuple([rebuild(literal, change) for literal in body]))
    return term


def renaming(names: Mapping[str, str]) -> Replacement:
    def change(term: Term) -> Term | None:
        return replace(term, name=names[term.name]) if isinstance(term, Variable) and term.name in names else None

    return change


def in_aggregates(body: Callable[[Body], Body]) -> Replacement:
    """Return what gives aggregates, and those in their targets, the body that `body` makes of theirs."""

    def change(term: Term) -> Term | None:
        if not isinstance(term, Aggregate):
            return None
        target = None if term.target is None else rebuild_term(term.target, change)
        return replace(term, target=target, body=body(term.body))

    return change


def rebuild(literal: Literal, change: Replacement) -> Literal:
    match literal:
        case Atom():
            return rebuild_atom(literal, change)
        case Negation(atom=atom):
            return replace(literal, atom=rebuild_atom(atom, change))
        case Comparison(left=left, right=right):
            return replace(literal, left=rebuild_term(left, change), right=rebuild_term(right, change))
        case Disjunction(alternatives=alternatives):
            rebuilt = tuple([tuple([rebuild(part, change) for part in alternative]) for alternative in alternatives])
            return replace(literal, alternatives=rebuilt)
    return literal


def rebuild_atom(atom: Atom, change: Replacement) -> Atom:
    return replace(atom, args=tuple([rebuild_term(arg, change) for arg in atom.args]))


Renaming: TypeAlias = Callable[[str], str]


def rename(rule: Rule, relation: Renaming, type_: Renaming, branch: Renaming) -> Rule:
    """Return the rule with other names of relations, in paths and aggregates as well, of the types of casts, and of
    branches."""

    def in_literal(literal: Literal) -> Literal:
        match literal:
            case Atom():
                return in_atom(literal)
            case Negation(atom=atom):
                return replace(literal, atom=in_atom(atom))
            case Disjunction(alternatives=alternatives):
                renamed = tuple(tuple(map(in_literal, alternative)) for alternative in alternatives)
                return replace(literal, alternatives=renamed)
        return rebuild(literal, in_term)

    def in_atom(atom: Atom) -> Atom:
        renamed = rebuild_atom(atom, in_term)
        if atom.path is None:
            return replace(renamed, relation=relation(atom.relation))
        path = rename_path(atom.path, relation)
        return replace(renamed, relation=path_name(path), path=path)

    def in_term(term: Term) -> Term | None:
        match term:
            case Cast(term=inner, type=name):
                return replace(term, term=rebuild_term(inner, in_term), type=type_(name))
            case Record(fields=tuple(fields), branch=str(name)):
                return replace(
                    term, fields=tuple([rebuild_term(each, in_term) for each in fields]), branch=branch(name)
                )
            case Aggregate(target=target, body=body):
                target = None if target is None else rebuild_term(target, in_term)
                return replace(term, target=target, body=tuple(map(in_literal, body)))
        return None

    heads = tuple(map(in_atom, rule.heads))
    return replace(rule, heads=heads, body=tuple(map(in_literal, rule.body)))


def rename_path(path: Path, relation: Renaming) -> Path:
    match path:
        case Step(relation=name):
            return replace(path, relation=relation(name))
        case Inverse(path=inner) | Repeat(path=inner):
            return replace(path, path=rename_path(inner, relation))
        case Sequence(parts=inner_parts) | Alternation(parts=inner_parts):
            return replace(path, parts=tuple(rename_path(part, relation) for part in inner_parts))


class FreshNames:
    """New names for variables of a rule; `written` has for each what messages show: the name in the text."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self.written: dict[str, str] = {}

    @cached_property
    def _used_names(self) -> set[str]:
        return {*variables(whole(self._rule))}

    def fresh(self, name: str, shown: str | None = None) -> str:
        """Return a new name like another one; messages show `shown`, or what they show for the other one."""
        new = next(new for new in (f"{name}_{number}" for number in count(1)) if new not in self._used_names)
        self._used_names.add(new)
        self.written[new] = self.written.get(name, name) if shown is None else shown
        return new
