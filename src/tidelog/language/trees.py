"""Walking and rebuilding syntax trees: the only place that lists the parts of each node.

    parts      the parts of a node, one step down
    walk       every node of some trees, each before its parts
    variables  the names of variables, each once
    atoms      all atoms
    rebuild    a tree with other terms in it
    rename     a rule with other names of relations and types

Bindings, kinds and scopes are elsewhere: nothing here knows the meaning of a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeAlias

from tidelog.language.printer import path_name
from tidelog.language.syntax import (
    Aggregate,
    Alternation,
    Anonymous,
    Atom,
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


def whole(rule: Rule) -> tuple[Literal, ...]:
    """Return the heads and the body of a rule as trees."""
    return (*rule.heads, *rule.body)


def variables(nodes: Iterable[Tree], *, aggregates: bool = True) -> tuple[str, ...]:
    """Return the names of the variables of the trees, each once, in the order of their first occurrence."""
    return tuple(dict.fromkeys(variable.name for variable in occurrences(nodes, aggregates=aggregates)))


def occurrences(nodes: Iterable[Tree], *, aggregates: bool = True) -> Iterator[Variable]:
    """Yield the occurrences of variables in the trees."""
    return (node for node in walk(nodes, aggregates=aggregates) if isinstance(node, Variable))


def atoms(nodes: Iterable[Tree]) -> Iterator[Atom]:
    """Yield all atoms, negated ones and those inside of aggregates included, in the order written."""
    return (node for node in walk(nodes) if isinstance(node, Atom))


def outermost(nodes: Iterable[Tree]) -> Iterator[Aggregate]:
    """Yield the aggregates that stand in no other aggregate."""
    return (node for node in walk(nodes, aggregates=False) if isinstance(node, Aggregate))


def is_simple(term: Term) -> bool:
    """Return True for a variable or a constant (`nil` included)."""
    return isinstance(term, Variable | Constant) or (isinstance(term, Record) and term.fields is None)


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


def rebuild(literal: Literal, change: Replacement) -> Literal:
    """Return the literal with each of its terms rebuilt."""
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
    """Return the atom with each of its arguments rebuilt."""
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
    """Return the path along relations of other names."""
    match path:
        case Step(relation=name):
            return replace(path, relation=relation(name))
        case Inverse(path=inner) | Repeat(path=inner):
            return replace(path, path=rename_path(inner, relation))
        case Sequence(parts=inner_parts) | Alternation(parts=inner_parts):
            return replace(path, parts=tuple(rename_path(part, relation) for part in inner_parts))
