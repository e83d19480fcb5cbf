"""A core rule as one SELECT over the relations of a view: its rule instances, one row each.

The columns are `h0`, `h1`, … for the head and `youngest`, the largest birth among the body's tuples of the head's own
stratum (`NO_BIRTH` without any). Atoms become tables joined by equations, negated ones NOT EXISTS. What is
computed follows in steps, each a materialised table that extends the one before, so that nothing is computed twice. An
atom that shares only computed variables with the others is joined behind the step that computes these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from tidelog.certificate.functors import Functors
from tidelog.errors import InternalError, Problem
from tidelog.language.aggregates import AGGREGATES
from tidelog.rules.core import (
    AggregateRule,
    Computation,
    CoreAtom,
    CoreComparison,
    CoreConstant,
    CoreLiteral,
    CoreRule,
    CoreValue,
    NodeSelection,
    Pack,
    Unpack,
    is_several,
)
from tidelog.semantics.user_aggregates import start_value

NO_BIRTH = -(2**63)
"""Smaller than every birth."""

TableOf = Callable[[str], str]
"""The name in SQL of the view of a relation, which has the columns c0, c1, … and birth."""


def instances(rule: CoreRule | AggregateRule, table: TableOf, strata: Mapping[str, int], functors: Functors) -> str:
    """Return the SELECT of a rule."""
    if isinstance(rule, AggregateRule):
        return _select_numbered(rule, table) if rule.op == "autoinc" else _groups(rule, table, functors)
    body = _Body(rule, table, strata, functors)
    computed: list[CoreLiteral] = [literal for literal in rule.body if not isinstance(literal, CoreAtom)]
    while computed or body.atoms:
        computed = body.compute(computed)
    for literal in rule.body:
        if isinstance(literal, CoreAtom) and literal.negated:
            matching = ["TRUE", *body.match_row(literal, "n", dict(body.known))]
            body.conditions.append(f"NOT EXISTS (SELECT 1 FROM {table(literal.relation)} n WHERE {_all(matching)})")
    heads = [f"{body.value(arg)} AS h{i}" for i, arg in enumerate(rule.head.args)]
    steps = f"WITH {', '.join(body.steps)} " if body.steps else ""
    return steps + body.select(heads)


def _all(conditions: list[str]) -> str:
    return " AND ".join(conditions)


class _Body:
    """The body of a rule in the making: a FROM clause, conditions, and expressions of the variables bound so far."""

    def __init__(self, rule: CoreRule, table: TableOf, strata: Mapping[str, int], functors: Functors) -> None:
        self.rule = rule
        self.functors = functors
        self.known: dict[str, str] = {}
        self.conditions: list[str] = ["TRUE"]
        self.steps: list[str] = []
        self.atoms = [literal for literal in rule.body if isinstance(literal, CoreAtom) and not literal.negated]
        """The atoms that are not joined yet."""
        self._table = table
        self._strata = strata
        self._sources: list[str] = []
        self._births: list[str] = []
        self._joined = 0
        if self.atoms:
            self.join(self.atoms[0])

    def join(self, atom: CoreAtom) -> None:
        """Add an atom to the FROM clause."""
        alias = f"a{self._joined}"
        self._joined += 1
        self.atoms.remove(atom)
        self._sources.append(f"{self._table(atom.relation)} {alias}")
        self.conditions += self.match_row(atom, alias, self.known)
        if self._strata[atom.relation] == self._strata[self.rule.head.relation]:
            self._births.append(f"{alias}.birth")

    def join_connected(self) -> None:
        """Join all atoms that share a variable with what is bound, or have constants only."""
        while atom := next((atom for atom in self.atoms if self.is_connected(atom)), None):
            self.join(atom)

    def is_connected(self, atom: CoreAtom) -> bool:
        variables = {arg.name for arg in atom.args if not isinstance(arg, CoreConstant)}
        return not variables or not variables.isdisjoint(self.known)

    def value(self, value: CoreValue) -> str:
        """Return the expression of a constant or of a bound variable."""
        return self.functors.constant(value) if isinstance(value, CoreConstant) else self.known[value.name]

    def are_bound(self, *values: CoreValue) -> bool:
        return all(isinstance(value, CoreConstant) or value.name in self.known for value in values)

    def match_row(self, atom: CoreAtom, alias: str, known: dict[str, str]) -> list[str]:
        """Return the conditions on a row of the atom's relation, and add new variables to `known`."""
        conditions = []
        for i, arg in enumerate(atom.args):
            column = f"{alias}.c{i}"
            if isinstance(arg, CoreConstant):
                conditions.append(f"{column} = {self.functors.constant(arg)}")
            elif known.setdefault(arg.name, column) != column:
                conditions.append(f"{column} = {known[arg.name]}")
        return conditions

    def select(self, columns: list[str]) -> str:
        """Return the bindings so far as a SELECT of these columns."""
        youngest = f"greatest({', '.join(self._births)})" if self._births else f"({NO_BIRTH})::BIGINT"
        source = f"FROM {', '.join(self._sources)}" if self._sources else ""
        return f"SELECT {', '.join([*columns, f'{youngest} AS youngest'])} {source} WHERE {_all(self.conditions)}"

    def compute(self, literals: list[CoreLiteral]) -> list[CoreLiteral]:
        """Evaluate the literals whose arguments are bound, or else one with several values, or else join an atom.
        Return the literals that are left."""
        self.join_connected()
        columns: dict[str, str] = {}
        waiting: list[CoreLiteral] = []

        def equate(target: CoreValue, expression: str) -> None:
            if self.are_bound(target):
                self.conditions.append(f"{expression} = {self.value(target)}")
            elif not isinstance(target, CoreConstant) and columns.setdefault(target.name, expression) != expression:
                self.conditions.append(f"{expression} = {columns[target.name]}")

        for literal in literals:
            match literal:
                case CoreComparison(op=op, kind=kind, left=left, right=right) if self.are_bound(left, right):
                    self.conditions.append(self.functors.compare(op, kind, self.value(left), self.value(right)))
                case Computation(target=target, args=args) if self.are_bound(*args) and not is_several(literal):
                    equate(target, self.call(literal))
                case Pack(target=target, kind=kind, args=args) if self.are_bound(*args):
                    equate(target, self.functors.pack(kind, [self.value(arg) for arg in args]))
                case Unpack(source=source, kind=kind, targets=targets) if self.are_bound(source):
                    self.conditions.append(f"{self.value(source)} != 0")
                    for position, target in enumerate(targets):
                        equate(target, self.functors.field(kind, position, self.value(source)))
                case _:
                    waiting.append(literal)
        if columns:
            self.extend(columns)
        elif len(waiting) == len(literals):
            several = next(
                (each for each in waiting if isinstance(each, Computation) and self.are_bound(*each.args)), None
            )
            if several is not None:
                self.unnest(several)
                waiting.remove(several)
            elif self.atoms:
                self.join(self.atoms[0])
            elif waiting:
                raise InternalError(Problem("E0901", f"no literal can be evaluated of {self.rule}", self.rule.span))
        return waiting

    def call(self, literal: Computation) -> str:
        if literal.declared is not None:
            return self.functors.call_declared(literal.declared, [self.value(arg) for arg in literal.args])
        kinds, args = [arg.kind for arg in literal.args], [self.value(arg) for arg in literal.args]
        return self.functors.call(literal.functor, kinds, literal.target.kind, args)

    def extend(self, columns: dict[str, str]) -> None:
        """Make a table of all that is known and of further columns, which must have values."""
        every = {**self.known, **columns}
        selected = [f"{expression} AS x{i}" for i, expression in enumerate(every.values())]
        name = f"step{len(self.steps)}"
        self.steps.append(f"{name} AS MATERIALIZED ({self.select(selected)})")
        self.known = {variable: f"x{i}" for i, variable in enumerate(every)}
        self._sources, self._births = [name], [f"{name}.youngest"]
        self.conditions = ["TRUE", *(f"{self.known[variable]} IS NOT NULL" for variable in columns)]

    def unnest(self, literal: Computation) -> None:
        """Evaluate a functor with several values whose arguments are bound."""
        found, target = self.enumerate_values(literal), literal.target
        if self.are_bound(target):
            self.conditions.append(f"{found} = {self.value(target)}")
        elif not isinstance(target, CoreConstant):
            self.known[target.name] = found

    def enumerate_values(self, literal: Computation) -> str:
        """Return an expression that takes the values of a functor one after the other. It never materializes ranges of
        integers; those of floats have to be added up."""
        kind = literal.kind
        if kind == "float" or literal.functor != "range":
            self.extend({"#values": f"unnest({self.call(literal)})"})
            return self.known.pop("#values")
        self.extend({})
        count, value = self.functors.steps(kind, [self.value(arg) for arg in literal.args])
        self._sources.append(f"LATERAL range(0, {count}) steps")
        return value.format("steps.range")


def _groups(rule: AggregateRule, table: TableOf, functors: Functors) -> str:
    """Return the SELECT of an aggregate: the requested groups, each with its value. A tuple that a view lists twice
    counts once."""
    groups = [f"c{i}" for i in range(rule.groups)]
    if rule.own is None:
        fold = functors.fold(rule.op, rule.kind, f"c{rule.groups}")
    else:
        fold = functors.fold_own(rule.own, [f"c{rule.groups + i}" for i in range(len(rule.own.operands))])
    rows = f"SELECT DISTINCT * EXCLUDE birth FROM (SELECT *, 1 AS holds FROM {table(rule.inner)})"
    inner = f"SELECT {', '.join([*groups, f'{fold} AS value', 'count(*) AS size'])} FROM ({rows})"
    inner += f" GROUP BY {', '.join(groups)}" if groups else ""
    empty: int | str | None = AGGREGATES[rule.op].empty
    if rule.own is not None and rule.own.start is not None:
        empty = functors.constant(CoreConstant(start_value(rule.own.start), rule.own.declared.result.kind))
    value = "i.value" if empty is None else f"CASE WHEN coalesce(i.size, 0) = 0 THEN {empty} ELSE i.value END"
    heads = [*(f"o.{group} AS h{i}" for i, group in enumerate(groups)), f"{value} AS h{rule.groups}"]
    same = _all(["TRUE", *(f"o.{group} = i.{group}" for group in groups)])
    return (
        f"SELECT {', '.join(heads)}, ({NO_BIRTH})::BIGINT AS youngest"
        f" FROM {table(rule.outer)} o LEFT JOIN ({inner}) i ON {same} WHERE {value} IS NOT NULL"
    )


def _select_numbered(rule: AggregateRule, table: TableOf) -> str:
    """Return the SELECT of a counter: the substitutions of its rule, each with the numbers that the view has for it.
    `select_unnumbered` and `select_repeated_numbers` find wrong ones."""
    heads = [f"v.c{i} AS h{i}" for i in range(rule.groups + 1)]
    return (
        f"SELECT {', '.join(heads)}, ({NO_BIRTH})::BIGINT AS youngest"
        f" FROM {table(rule.inner)} o JOIN {table(rule.head)} v ON {_same_groups(rule)}"
    )


def select_unnumbered(rule: AggregateRule, table: TableOf) -> str:
    """Return the SELECT of the substitutions of a rule to which the view of its counter gives no number."""
    columns = ", ".join(f"o.c{i}" for i in range(rule.groups)) or "1"
    having = f"SELECT 1 FROM {table(rule.head)} v WHERE {_same_groups(rule)}"
    return f"SELECT DISTINCT {columns} FROM {table(rule.inner)} o WHERE NOT EXISTS ({having})"


def select_repeated_numbers(rules: Sequence[AggregateRule], table: TableOf) -> Iterator[str]:
    """Yield the SELECTs of the numbers that several substitutions have, and of those of a substitution that has
    several."""
    views = []
    for number, rule in enumerate(rules):
        groups = [f"c{i}" for i in range(rule.groups)]
        rows = f"SELECT DISTINCT * EXCLUDE birth FROM {table(rule.head)}"
        views.append(f"SELECT {number} AS rule, c{rule.groups} AS number FROM ({rows})")
        by = f" GROUP BY {', '.join(groups)}" if groups else ""
        yield f"SELECT min(c{rule.groups}) FROM ({rows}){by} HAVING count(*) > 1"
    yield f"SELECT number FROM ({' UNION ALL '.join(views)}) GROUP BY number HAVING count(*) > 1"


def _same_groups(rule: AggregateRule) -> str:
    return _all(["TRUE", *(f"o.c{i} = v.c{i}" for i in range(rule.groups))])


def exclusion_conditions(selection: NodeSelection, one: str, other: str) -> list[str]:
    """Return conditions of which one holds if, with tuple `one` in the view, tuple `other` need not be there: it is
    dominated, or agrees with it in a domain. Both are formats of columns, such as `u.c{}`."""
    if selection.domains:
        return [_all([f"{one.format(i)} = {other.format(i)}" for i in domain]) for domain in selection.domains]
    return [dominates(selection, one, other)]


def contradiction_conditions(selection: NodeSelection, one: str, other: str) -> list[str]:
    """Return conditions of which one holds if tuple `other` cannot be in a view with tuple `one`: those of
    `exclusion_conditions` for different tuples."""
    different = " OR ".join(f"{one.format(i)} != {other.format(i)}" for i, _, _ in selection.orders)
    ways = exclusion_conditions(selection, one, other)
    return [_all([way, f"({different})"]) for way in ways] if selection.domains else ways


def dominates(selection: NodeSelection, one: str, other: str) -> str:
    """Return the condition that tuple `one` dominates tuple `other`; both are formats of columns, such as `u.c{}`."""
    same = [f"{one.format(i)} = {other.format(i)}" for i in selection.keys]
    pairs = [
        (one.format(column), other.format(column)) if op == "min" else (other.format(column), one.format(column))
        for column, op, _ in selection.orders
    ]
    if selection.front:
        better = [f"{left} <= {right}" for left, right in pairs]
        return _all([*same, *better, f"({' OR '.join(f'{left} < {right}' for left, right in pairs)})"])
    ways = [
        _all([*(f"{left} = {right}" for left, right in pairs[:rank]), f"{pairs[rank][0]} < {pairs[rank][1]}"])
        for rank in range(len(pairs))
    ]
    return _all([*same, f"({' OR '.join(f'({way})' for way in ways)})"])
