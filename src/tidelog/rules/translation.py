"""A flat rule of the syntax tree, in the words of the core language, with its equations solved by substitution.

What is left to decide is which way records and casts are read: `r = [x, y]` takes `r` apart where the rest of the body
binds `r`, and builds it otherwise.
"""

from __future__ import annotations

from dataclasses import replace

from tidelog.errors import InternalError, Problem
from tidelog.language.branches import filler
from tidelog.language.syntax import (
    Anonymous,
    Atom,
    Cast,
    Comparison,
    Constant,
    Functor,
    Kind,
    Literal,
    Negation,
    Record,
    Rule,
    Term,
    Variable,
)
from tidelog.rules.core import (
    Computation,
    CoreAtom,
    CoreComparison,
    CoreConstant,
    CoreLiteral,
    CoreRule,
    CoreValue,
    CoreVariable,
    Pack,
    Unpack,
    map_values,
)
from tidelog.rules.rewrite_state import RewriteState


def translation(rule: Rule, state: RewriteState) -> CoreRule:
    """Return the core rule for a flat rule with one head. Its name is not unique yet."""
    words = _Words(rule, state)
    (head,) = rule.heads
    body = [words.literal(literal) for literal in rule.body]
    return CoreRule(rule.name or state.origin, state.origin, words.atom(head), _in_directions(body), rule.span)


class _Words:
    """Translates the terms and literals of one rule."""

    def __init__(self, rule: Rule, state: RewriteState) -> None:
        self.rule = rule
        self.state = state

    def literal(self, literal: Literal) -> CoreLiteral:
        match literal:
            case Atom():
                return self.atom(literal)
            case Negation(atom=atom):
                return replace(self.atom(atom), negated=True, span=literal.span)
            case Comparison(op="=", left=left, right=Functor(name=name, args=args, kind=kind) as call) if kind:
                values = tuple(self.value(arg) for arg in args)
                return Computation(self.value(left), name, kind, values, call.declared, literal.span)
            case Comparison(op="=", left=left, right=Record(fields=tuple(fields), kind=str(kind)) as record):
                return replace(self.pack(self.value(left), kind, fields, record.branch), span=literal.span)
            case Comparison(op="=", left=left, right=Cast(term=term)):
                source = self.value(term)
                return Computation(self.value(left), "as", source.kind, (source,), span=literal.span)
            case Comparison(op=op, left=left, right=right):
                first, second = self.value(left), self.value(right)
                return CoreComparison(op, literal.kind or first.kind, first, second, literal.span)
        raise self._unexpected_node_error(literal)

    def pack(self, target: CoreValue, kind: Kind, fields: tuple[Term, ...], name: str | None) -> Pack:
        """Return `target = [fields]`; for a branch, the record that represents its values."""
        type_ = self.state.records[kind]
        branch = type_.branch(name)
        if branch is None:
            return Pack(target, kind, tuple(self.value(field) for field in fields))
        args: list[CoreValue] = [CoreConstant(type_.branches.index(branch), "number")]
        args += [CoreConstant(filler(column.kind), column.kind) for column in type_.fields[1:]]
        for place, field, column in zip(branch.places, fields, branch.fields, strict=True):
            args[place] = self.value(field, column.kind)
        return Pack(target, kind, tuple(args), branch)

    def atom(self, atom: Atom) -> CoreAtom:
        columns = self.state.columns(atom.relation)
        values = (self.value(arg, column.kind) for arg, column in zip(atom.args, columns, strict=True))
        return CoreAtom(atom.relation, tuple(values), span=atom.span)

    def value(self, term: Term, kind: Kind | None = None) -> CoreValue:
        """Return the core value of a term; `kind` is that of the column, for `_`."""
        match term:
            case Variable(name=name):
                return CoreVariable(name, self.state.kind(name, self.rule))
            case Anonymous() if kind:
                return CoreVariable(self.state.variable("_", kind).name, kind)
            case Constant(value=value, kind=own) if own or kind:
                own = own or kind or ""
                return CoreConstant(float(value) if own == "float" else value, own)
            case Record(fields=None, kind=own) if own or kind:
                return CoreConstant(None, own or kind or "")
        raise self._unexpected_node_error(term)

    def _unexpected_node_error(self, node: object) -> InternalError:
        return InternalError(Problem("E0901", f"rule {self.state.origin} is not flat or not checked: {node!r}"))


def _in_directions(body: list[CoreLiteral]) -> tuple[CoreLiteral, ...]:
    """Return the body with each record and cast read in the direction in which it can be evaluated."""
    bound: set[CoreValue] = set()
    for literal in body:
        if isinstance(literal, CoreAtom) and not literal.negated:
            bound.update(literal.args)
    waiting = {index: literal for index, literal in enumerate(body) if not isinstance(literal, CoreAtom)}
    directed = list(body)
    progress = True
    while progress and waiting:
        progress = False
        for index, literal in list(waiting.items()):
            binding = _direction(literal, bound)
            if binding is not None:
                directed[index], values = binding
                bound.update(values)
                del waiting[index]
                progress = True
    return tuple(directed)


def _direction(literal: CoreLiteral, bound: set[CoreValue]) -> tuple[CoreLiteral, tuple[CoreValue, ...]] | None:
    """Return the literal as it can be evaluated once `bound` is bound, and the variables that it binds; None if it has
    to wait."""

    def is_bound(*values: CoreValue) -> bool:
        return all(isinstance(value, CoreConstant) or value in bound for value in values)

    match literal:
        case Pack(target=target, kind=kind, args=args):
            if is_bound(target):
                return Unpack(target, kind, args, literal.branch, literal.span), args
            if is_bound(*args):
                return literal, (target,)
        case Computation(target=target, functor="as", args=(source,)):
            if is_bound(source):
                return literal, (target,)
            if is_bound(target):
                return Computation(source, "as", target.kind, (target,), span=literal.span), (source,)
        case Computation(target=target, args=args) if is_bound(*args):
            return literal, (target,)
        case CoreComparison(op="=", left=left, right=right) if is_bound(left) or is_bound(right):
            return literal, (left, right)
    return None


_SIMPLE = frozenset((Variable, Constant))


def is_flat(rule: Rule) -> bool:
    """Return True if a rule has one head, and only atoms without paths and tests, no equations, of variables and
    constants: each rewrite returns it as it is."""
    return len(rule.heads) == 1 and not rule.subsumes and all(map(_is_flat, (*rule.heads, *rule.body)))


def _is_flat(literal: Literal) -> bool:
    if type(literal) is Atom:
        return literal.path is None and _SIMPLE.issuperset(map(type, literal.args))
    if type(literal) is Comparison:
        return literal.op != "=" and type(literal.left) in _SIMPLE and type(literal.right) in _SIMPLE
    return False


def equalities(rule: CoreRule) -> CoreRule | None:
    """Return the rule without equations and duplicate literals; None if it can never derive anything."""
    solution: dict[CoreVariable, CoreValue] = {}
    for literal in rule.body:
        if isinstance(literal, CoreComparison) and literal.op == "=":
            left, right = _solution_of(literal.left, solution), _solution_of(literal.right, solution)
            if isinstance(left, CoreVariable) and (_is_auxiliary(left) or not isinstance(right, CoreVariable)):
                left, right = right, left
            if isinstance(right, CoreVariable) and left != right:
                solution[right] = left
            elif isinstance(right, CoreConstant) and left != right:
                return None

    def solve_value(value: CoreValue) -> CoreValue:
        return _solution_of(value, solution)

    rest = [literal for literal in rule.body if not (isinstance(literal, CoreComparison) and literal.op == "=")]
    body = tuple(
        dict.fromkeys(map_values(literal, solve_value) for literal in rest) if solution else dict.fromkeys(rest)
    )
    if any(_is_impossible(literal) for literal in body):
        return None
    if not solution:
        return CoreRule(rule.name, rule.origin, rule.head, body, rule.span)
    head = CoreAtom(rule.head.relation, tuple(map(solve_value, rule.head.args)), span=rule.head.span)
    return CoreRule(rule.name, rule.origin, head, body, rule.span)


def _is_auxiliary(variable: CoreVariable) -> bool:
    return variable.name.startswith("#")


def _solution_of(value: CoreValue, solution: dict[CoreVariable, CoreValue]) -> CoreValue:
    while isinstance(value, CoreVariable) and value in solution:
        value = solution[value]
    return value


def _is_impossible(literal: CoreLiteral) -> bool:
    """Return True if a literal is plainly false: a record that is nil has no fields, and nothing differs from
    itself."""
    match literal:
        case Pack(target=CoreConstant()) | Unpack(source=CoreConstant()):
            return True
        case CoreComparison(op="!=" | "<" | ">", kind=kind, left=left, right=right) if kind != "float":
            return left == right
    return False
