"""A flat rule of the syntax tree, in the words of the core language.

What is left to decide is which way records and casts are read: `r = [x, y]` takes `r` apart where the rest of the body
binds `r`, and builds it otherwise.
"""

from __future__ import annotations

from dataclasses import replace

from tidelog.errors import InternalError, Problem
from tidelog.language import syntax
from tidelog.language.branches import filler
from tidelog.rules import core
from tidelog.rules.bench import Bench


def translation(rule: syntax.Rule, bench: Bench) -> core.CoreRule:
    """Return the core rule for a flat rule with one head. Its name is not unique yet."""
    words = _Words(rule, bench)
    (head,) = rule.heads
    body = [words.literal(literal) for literal in rule.body]
    return core.CoreRule(rule.name or bench.origin, bench.origin, words.atom(head), _directed(body), rule.span)


class _Words:
    """Translates the terms and literals of one rule."""

    def __init__(self, rule: syntax.Rule, bench: Bench) -> None:
        self.rule = rule
        self.bench = bench

    def literal(self, literal: syntax.Literal) -> core.CoreLiteral:
        match literal:
            case syntax.Atom():
                return self.atom(literal)
            case syntax.Negation(atom=atom):
                return replace(self.atom(atom), negated=True, span=literal.span)
            case syntax.Comparison(
                op="=", left=left, right=syntax.Functor(name=name, args=args, kind=kind) as call
            ) if kind:
                values = tuple(self.value(arg) for arg in args)
                return core.Computation(self.value(left), name, kind, values, call.declared, literal.span)
            case syntax.Comparison(
                op="=", left=left, right=syntax.Record(fields=tuple(fields), kind=str(kind)) as record
            ):
                return replace(self.pack(self.value(left), kind, fields, record.branch), span=literal.span)
            case syntax.Comparison(op="=", left=left, right=syntax.Cast(term=term)):
                source = self.value(term)
                return core.Computation(self.value(left), "as", source.kind, (source,), span=literal.span)
            case syntax.Comparison(op=op, left=left, right=right):
                first, second = self.value(left), self.value(right)
                return core.CoreComparison(op, literal.kind or first.kind, first, second, literal.span)
        raise self._unexpected(literal)

    def pack(
        self, target: core.CoreValue, kind: syntax.Kind, fields: tuple[syntax.Term, ...], name: str | None
    ) -> core.Pack:
        """Return `target = [fields]`; for a branch, the record that represents its values."""
        type_ = self.bench.records[kind]
        branch = type_.branch(name)
        if branch is None:
            return core.Pack(target, kind, tuple(self.value(field) for field in fields))
        args: list[core.CoreValue] = [core.CoreConstant(type_.branches.index(branch), "number")]
        args += [core.CoreConstant(filler(column.kind), column.kind) for column in type_.fields[1:]]
        for place, field, column in zip(branch.places, fields, branch.fields, strict=True):
            args[place] = self.value(field, column.kind)
        return core.Pack(target, kind, tuple(args), branch)

    def atom(self, atom: syntax.Atom) -> core.CoreAtom:
        columns = self.bench.columns(atom.relation)
        values = (self.value(arg, column.kind) for arg, column in zip(atom.args, columns, strict=True))
        return core.CoreAtom(atom.relation, tuple(values), span=atom.span)

    def value(self, term: syntax.Term, kind: syntax.Kind | None = None) -> core.CoreValue:
        """Return the core value of a term; `kind` is that of the column, for `_`."""
        match term:
            case syntax.Variable(name=name):
                return core.CoreVariable(name, self.bench.kind(name, self.rule))
            case syntax.Anonymous() if kind:
                return core.CoreVariable(self.bench.variable("_", kind).name, kind)
            case syntax.Constant(value=value, kind=own) if own or kind:
                own = own or kind or ""
                return core.CoreConstant(float(value) if own == "float" else value, own)
            case syntax.Record(fields=None, kind=own) if own or kind:
                return core.CoreConstant(None, own or kind or "")
        raise self._unexpected(term)

    def _unexpected(self, node: object) -> InternalError:
        return InternalError(Problem("E0901", f"rule {self.bench.origin} is not flat or not checked: {node!r}"))


def _directed(body: list[core.CoreLiteral]) -> tuple[core.CoreLiteral, ...]:
    """Return the body with each record and cast read in the direction in which it can be evaluated."""
    bound: set[core.CoreValue] = set()
    for literal in body:
        if isinstance(literal, core.CoreAtom) and not literal.negated:
            bound.update(literal.args)
    waiting = {index: literal for index, literal in enumerate(body) if not isinstance(literal, core.CoreAtom)}
    directed = list(body)
    progress = True
    while progress and waiting:
        progress = False
        for index, literal in list(waiting.items()):
            binding = _evaluated(literal, bound)
            if binding is not None:
                directed[index], values = binding
                bound.update(values)
                del waiting[index]
                progress = True
    return tuple(directed)


def _evaluated(
    literal: core.CoreLiteral, bound: set[core.CoreValue]
) -> tuple[core.CoreLiteral, tuple[core.CoreValue, ...]] | None:
    """Return the literal as it can be evaluated once `bound` is bound, and the variables that it binds; None if it has
    to wait."""

    def known(*values: core.CoreValue) -> bool:
        return all(isinstance(value, core.CoreConstant) or value in bound for value in values)

    match literal:
        case core.Pack(target=target, kind=kind, args=args):
            if known(target):
                return core.Unpack(target, kind, args, literal.branch, literal.span), args
            if known(*args):
                return literal, (target,)
        case core.Computation(target=target, functor="as", args=(source,)):
            if known(source):
                return literal, (target,)
            if known(target):
                return core.Computation(source, "as", target.kind, (target,), span=literal.span), (source,)
        case core.Computation(target=target, args=args) if known(*args):
            return literal, (target,)
        case core.CoreComparison(op="=", left=left, right=right) if known(left) or known(right):
            return literal, (left, right)
    return None
