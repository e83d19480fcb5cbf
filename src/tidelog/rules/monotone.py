"""Selections inside of a recursion: whether dominated tuples need not be read there.

They need not where the rules are *monotone*: from a better body follows an at least as good head. `obstacle` reads
that off the rules of a hyper-node. A value to select by has a *sign*: 1 if it falls when a tuple of the body becomes
better, -1 if it rises, 0 if nothing of it comes from a selection. Sums, differences, minima and maxima keep signs,
products with constants too. A comparison has to stay true when values change by their signs, and a head may
take a value only in a column to select by, of the same sign. Everything else is an obstacle.

Where several orders stand one after the other, a better tuple may be worse in a later one: then each column of the head
takes the column of the same order, and all but the last without losing differences.

Where a recursion only adds to the values that it selects by (`shifts`), a cycle that improves does so for ever: from a
tuple whose value is less by some number follow tuples whose values are less by the same number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tidelog.common.source import Span
from tidelog.language.selections import Selection
from tidelog.rules.core import (
    Computation,
    CoreAtom,
    CoreComparison,
    CoreConstant,
    CoreLiteral,
    CoreRule,
    CoreValue,
    CoreVariable,
    HyperNode,
    Obstacle,
    RelationInfo,
    variables_of,
)

_WIDENING = ("itof", "to_float")


_OUTSIDE = "move it to a rule outside of the recursion, which reads the selected tuples"


def obstacle(
    node: HyperNode, selections: Mapping[str, Selection], relations: Mapping[str, RelationInfo]
) -> Obstacle | None:
    """Return the reason why a hyper-node has to read dominated tuples, None where it need not; `selections` are those
    of its relations, by the relations of candidates, and `relations` those of the program."""
    for rule in node.rules:
        if not isinstance(rule, CoreRule):
            return Obstacle(f"rule {rule.origin} aggregates", _OUTSIDE, rule.span)
        signs = _Signs(rule, selections)
        part = signs.obstacle()
        if part is not None:
            text = f"rule {rule.origin} may derive less from a better tuple{_quotation(part.span)}"
            return Obstacle(text, _hint(part, signs, relations), part.span or rule.span)
    return None


def _quotation(span: Span | None) -> str:
    """Return a literal as the text has it, behind a colon."""
    return "" if span is None else f": `{' '.join(span.text.split())}`"


def _hint(part: CoreLiteral, signs: _Signs, relations: Mapping[str, RelationInfo]) -> str:
    """Return the way to remove an obstacle."""
    head = signs.rule.head
    if part is head and head.relation not in signs.selections and not head.relation.startswith("#"):
        taken = [(i, sign) for i, arg in enumerate(head.args) if (sign := signs.value(arg).sign)]
        if len(taken) == 1:
            ((place, sign),) = taken
            best = f"{'min' if sign > 0 else 'max'}({relations[head.relation].columns[place].name})"
            return f"let `{head.relation}` select as well: write `{best}` behind its declaration"
    if part is head:
        return "take values to select by in such attributes only, minima as minima and maxima as maxima"
    if isinstance(part, Computation):
        return "compute values to select by with `+`, `-`, `min`, `max` and constant factors"
    return _OUTSIDE


@dataclass(frozen=True)
class _Value:
    """A value that comes from a selection: its sign, the orders that it comes from, and True if different values of
    these are different values of it."""

    sign: int
    ranks: frozenset[int]
    strict: bool


class _NotMonotoneError(Exception):
    pass


@dataclass
class _Signs:
    rule: CoreRule
    selections: Mapping[str, Selection]
    known: dict[str, _Value] = field(default_factory=dict)
    part: CoreLiteral = field(init=False)
    """The literal that is looked at, or the head."""

    def obstacle(self) -> CoreLiteral | None:
        """Return the literal, or the head, by which a better body may derive a head that is not as good; None if there
        is no such literal."""
        try:
            self.sources()
            self.computations()
            for literal in self.rule.body:
                self.part = literal
                self.literal(literal)
            self.part = self.rule.head
            self.head()
        except _NotMonotoneError:
            return self.part
        return None

    def atoms(self) -> Iterator[tuple[CoreAtom, Selection]]:
        """Yield the atoms of the body that read a selection of the hyper-node."""
        for literal in self.rule.body:
            if isinstance(literal, CoreAtom) and literal.relation in self.selections:
                yield literal, self.selections[literal.relation]

    def sources(self) -> None:
        """Note the signs of the columns to select by. A value that other atoms join with is an obstacle."""
        uses: dict[str, list[CoreAtom]] = {}
        for literal in self.rule.body:
            if isinstance(literal, CoreAtom):
                for variable in variables_of(literal):
                    uses.setdefault(variable.name, []).append(literal)
        for atom, selection in self.atoms():
            for rank, (column, op) in enumerate(selection.orders):
                value, self.part = atom.args[column], atom
                if not isinstance(value, CoreVariable):
                    raise _NotMonotoneError
                if len(uses[value.name]) > 1:
                    self.part = next((each for each in uses[value.name] if each is not atom), atom)
                    raise _NotMonotoneError
                self.known[value.name] = _Value(1 if op == "min" else -1, frozenset((rank,)), True)

    def value(self, value: CoreValue) -> _Value:
        return self.known.get(value.name, _NONE) if isinstance(value, CoreVariable) else _NONE

    def computations(self) -> None:
        """Note the signs of computed values, whatever the order in which they are computed."""
        waiting = [literal for literal in self.rule.body if isinstance(literal, Computation)]
        seen: dict[CoreValue, _Value] = {}
        while waiting:
            targets = {literal.target for literal in waiting}
            ready = next((each for each in waiting if targets.isdisjoint(each.args)), None)
            self.part = ready or waiting[0]
            if ready is None:
                raise _NotMonotoneError
            waiting.remove(ready)
            found, target = self.computation_value(ready), ready.target
            if not isinstance(target, CoreVariable):
                continue
            if (found.sign or self.value(target).sign) and (target in seen or target.name in self.known):
                raise _NotMonotoneError  # A value that has to be equal to another one.
            seen[target] = found
            if found.sign:
                self.known[target.name] = found

    def computation_value(self, literal: Computation) -> _Value:
        """Return the value of a computation."""
        values = [self.value(arg) for arg in literal.args]
        if all(value.sign == 0 for value in values):
            return _NONE
        ranks = frozenset[int]().union(*(value.ranks for value in values))
        exact = literal.kind == "number" and all(value.strict for value in values if value.sign)
        signs = [value.sign for value in values]
        match literal.functor:
            case "+" | "min" | "max":
                return _Value(_common_sign(signs), ranks, exact and literal.functor == "+")
            case "-" if literal.kind != "unsigned":
                return _Value(_common_sign([signs[0], -signs[1]]), ranks, exact)
            case "neg":
                return _Value(-signs[0], ranks, exact)
            case "*" | "/":
                return self.scaling_value(literal, signs, ranks, exact and literal.functor == "*")
            case functor if functor in _WIDENING and literal.kind == "number":
                return _Value(signs[0], ranks, False)
        raise _NotMonotoneError

    def scaling_value(self, literal: Computation, signs: list[int], ranks: frozenset[int], strict: bool) -> _Value:
        """Return the value of a product with a constant, or of a division by one."""
        left, right = literal.args
        factor = right if signs[0] else left
        if not isinstance(factor, CoreConstant) or not isinstance(factor.value, (int, float)) or not factor.value:
            raise _NotMonotoneError
        if literal.functor == "/" and factor is left:
            raise _NotMonotoneError
        return _Value((signs[0] or signs[1]) * (1 if factor.value > 0 else -1), ranks, strict)

    def literal(self, literal: CoreLiteral) -> None:
        """Raise if a literal may become false when values change by their signs."""
        match literal:
            case CoreAtom(relation=relation, args=args):
                ordered = {i for i, _ in self.selections[relation].orders} if relation in self.selections else set()
                if any(self.value(arg).sign for i, arg in enumerate(args) if i not in ordered):
                    raise _NotMonotoneError
            case CoreComparison(op=op, left=left, right=right):
                one, other = self.value(left), self.value(right)
                if not one.sign and not other.sign:
                    return
                if op in (">", ">="):
                    one, other = other, one
                later = (one.ranks | other.ranks) - {0}
                several = any(len(s.orders) > 1 and s.form == "best" for _, s in self.atoms())
                if op not in ("<", "<=", ">", ">=") or one.sign < 0 or other.sign > 0 or (several and later):
                    raise _NotMonotoneError
            case Computation(target=CoreConstant()) if self.computation_value(literal).sign:
                raise _NotMonotoneError
            case Computation():
                pass
            case _ if any(self.value(each).sign for each in variables_of(literal)):
                raise _NotMonotoneError

    def head(self) -> None:
        """Raise if the head takes a value other than in a column to select by, of the same sign."""
        head = self.rule.head
        selection = self.selections.get(head.relation)
        orders = dict(selection.orders) if selection is not None else {}
        for i, arg in enumerate(head.args):
            sign = self.value(arg).sign
            if sign and (i not in orders or sign != (1 if orders[i] == "min" else -1)):
                raise _NotMonotoneError
        taken = [self.value(head.args[i]) for i in orders]
        if any(value.sign for value in taken):
            for atom, source in self.atoms():
                if source.form == "best" and len(source.orders) > 1:
                    self.in_order(atom, source, selection, taken)

    def in_order(self, atom: CoreAtom, source: Selection, selection: Selection | None, taken: list[_Value]) -> None:
        """Raise if columns of the head do not take the columns of the same orders of an atom."""
        if selection is None or selection.form != "best" or len(selection.orders) != len(source.orders):
            raise _NotMonotoneError
        for rank, value in enumerate(taken):
            last = rank == len(taken) - 1
            if value.ranks != {rank} or not (value.strict or last):
                raise _NotMonotoneError
        columns = map(atom.args.__getitem__, dict(source.orders))
        if not {value.name for value in columns if isinstance(value, CoreVariable)} <= self.head_inputs():
            raise _NotMonotoneError

    def head_inputs(self) -> set[str]:
        """Return the variables that the values of the head are computed from."""
        found = {arg.name for arg in self.rule.head.args if isinstance(arg, CoreVariable)}
        size = -1
        while size != len(found):
            size = len(found)
            for literal in self.rule.body:
                target = literal.target if isinstance(literal, Computation) else None
                if isinstance(literal, Computation) and isinstance(target, CoreVariable) and target.name in found:
                    found |= {arg.name for arg in literal.args if isinstance(arg, CoreVariable)}
        return found


_NONE = _Value(0, frozenset(), True)


def _common_sign(signs: list[int]) -> int:
    """Return the sign that all have which have one."""
    found = {sign for sign in signs if sign}
    if len(found) > 1:
        raise _NotMonotoneError
    return found.pop()


# --- recursions that only add -----------------------------------------------------------------------------------------


def shifts(node: HyperNode) -> bool:
    """Return True if each recursive rule reads one tuple of the hyper-node, and puts the value to select by of that
    tuple into the head after additions and subtractions of others, and nowhere else. All values are of type number."""
    orders = {name: each.orders for each in node.selects for name in (each.shown, each.candidates)}
    if not orders.keys() >= set(node.relations):
        return False
    if any(len(order) != 1 or order[0][2] != "number" for order in orders.values()):
        return False
    columns = {name: order[0][0] for name, order in orders.items()}
    return all(isinstance(rule, CoreRule) and _shifts(rule, columns) for rule in node.rules)


def _shifts(rule: CoreRule, columns: dict[str, int]) -> bool:
    """Return True if a rule does so, given the column to select by of each relation of the hyper-node."""
    read = [each for each in rule.body if isinstance(each, CoreAtom) and each.relation in columns]
    if not read:
        return True
    value = read[0].args[columns[read[0].relation]]
    literals: list[CoreLiteral] = [each for each in rule.body if each is not read[0]]
    if len(read) > 1 or _uses(read[0], value) != 1:
        return False
    while isinstance(value, CoreVariable):
        users = [each for each in literals if value in variables_of(each)]
        if not users:
            at = columns[rule.head.relation]
            return rule.head.args[at] == value and _uses(rule.head, value) == 1
        user = users[0]
        if len(users) > 1 or not isinstance(user, Computation) or _uses(rule.head, value) or not _adds(user, value):
            return False
        literals.remove(user)
        value = user.target
    return False


def _uses(atom: CoreAtom, value: CoreValue) -> int:
    return atom.args.count(value)


def _adds(literal: Computation, value: CoreValue) -> bool:
    """Return True if a computation adds something to a value, or subtracts it."""
    if literal.target == value or literal.args.count(value) != 1:
        return False
    return literal.functor == "+" or (literal.functor == "-" and literal.args[0] == value)
