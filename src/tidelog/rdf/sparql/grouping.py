"""GROUP BY, BIND and sub-selects of a view of SPARQL as rules.

The rows that are grouped become a relation, with a number for the body that a row is from: so rows that SPARQL has
several times stay apart. Each aggregate is a relation of the keys and its value. Where a value may be missing, the
relation has the empty text, and each choice of what is missing is a body of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import Any

from tidelog.rdf.names import COLON
from tidelog.rdf.sparql.bodies import MOST, Unsupported, ViewBody, ViewRules, limited_bodies, operand_of
from tidelog.rdf.sparql.computing import AGGREGATES
from tidelog.rdf.sparql.expressions import ASK, ZERO, expression_term
from tidelog.rdf.terms import XSD

_BRANCH = f"branch{COLON}"


def repeats(found: Sequence[ViewBody], columns: Iterable[str]) -> bool:
    """Return True if bodies may give some row of these columns several times."""
    shown = set(columns)
    hidden = any(body.variables - body.derived - shown or not body.is_plain for body in found)
    alike: dict[frozenset[str], list[ViewBody]] = {}
    for body in found:
        alike.setdefault(body.variables & shown, []).append(body)
    return hidden or any(not one.excludes(other) for each in alike.values() for one, other in combinations(each, 2))


# --- sub-selects -----------------------------------------------------------------------------------------------------


def subselect_bodies(
    columns: Sequence[str], found: Sequence[ViewBody], is_distinct: bool, rules: ViewRules
) -> Iterator[Any]:
    """Yield the bodies of a sub-select, of the bodies of its pattern."""
    bound = [name for name in columns if any(name in body.variables for body in found)]
    relation = rules.relation("select", bound, found)
    is_plain = is_distinct or not repeats(found, columns)
    partial = [name for name in bound if any(name not in body.variables for body in found)]
    origin = object()
    for missing in _choices(partial):
        body = _rows_body({relation: bound}, missing, partial, _resources(found, bound), is_plain)
        yield body.with_choice(origin, missing)


def _choices(partial: Sequence[str]) -> Iterator[frozenset[str]]:
    """Yield the sets of variables that may be missing together."""
    if 2 ** len(partial) > MOST:
        raise Unsupported(f"it has more than {MOST} ways to match")
    for choice in product((False, True), repeat=len(partial)):
        yield frozenset(name for name, is_missing in zip(partial, choice, strict=True) if is_missing)


def _rows_body(
    relations: dict[str, Sequence[str]],
    missing: frozenset[str],
    partial: Sequence[str],
    resources: frozenset[str],
    is_plain: bool = True,
) -> ViewBody:
    """Return the body of rows of relations in which some variables have no values, and the others of `partial` have."""
    literals, atoms = [], dict[str, str]()
    for relation, columns in relations.items():
        args = ", ".join('""' if name in missing else f"v_{name}" for name in columns)
        literals.append(f"{relation}({args or chr(34) * 2})")
        atoms.update((name, literals[-1]) for name in columns if name not in missing)
    conditions = [f'v_{name} != ""' for name in partial if name not in missing]
    return ViewBody((*literals, *conditions), frozenset(atoms), resources & atoms.keys(), atoms, is_plain)


def _resources(found: Sequence[ViewBody], columns: Iterable[str]) -> frozenset[str]:
    """Return the variables that no body gives a literal as value."""
    return frozenset(
        name for name in columns if all(name in body.resources or name not in body.variables for body in found)
    )


# --- BIND ------------------------------------------------------------------------------------------------------------


def bind_bodies(body: ViewBody, name: str, expression: Any) -> Iterator[ViewBody]:
    """Yield the bodies in which a variable has the value of an expression, or none because of an error."""
    from rdflib import Literal, URIRef, Variable

    if isinstance(expression, Variable):
        old = str(expression)
        if name in body.variables or old not in body.variables:
            yield body
            return
        yield _bind(body, name, f"v_{old}", resource=old in body.resources)
    elif isinstance(expression, (URIRef, Literal)):
        yield _bind(body, name, operand_of(expression), resource=isinstance(expression, URIRef))
    else:
        value = expression_term(expression, body)
        if value is not None:
            found, origin = _bind(body, name, value), object()
            yield found.with_literals([f'v_{name} != ""']).with_choice(origin, True)
            yield body.with_literals([f'{value} = ""']).with_choice(origin, False)
        else:
            yield body


def _bind(body: ViewBody, name: str, value: str, *, resource: bool = False) -> ViewBody:
    equation = f"v_{name} = {value}"
    return replace(
        body.with_literals([equation]),
        variables=body.variables | {name},
        derived=body.derived | {name},
        resources=body.resources | ({name} if resource else set()),
        atoms={**body.atoms, name: ", ".join((*body.literals, equation))},
    )


# --- GROUP BY --------------------------------------------------------------------------------------------------------


def group_bodies(node: Any, found: Sequence[ViewBody], rules: ViewRules) -> Iterator[ViewBody]:
    """Yield the bodies of groups with their aggregates, of the bodies of the pattern that is grouped."""
    from rdflib import Variable

    keys = [str(key) for key in node.p.expr or () if isinstance(key, Variable)]
    if len(keys) != len(node.p.expr or ()):
        raise Unsupported("GROUP BY takes variables", "write GROUP BY (… AS ?name)")
    aggregates = []
    for number, each in enumerate(node.A):
        argument = each.vars
        if argument != "*" and not isinstance(argument, Variable):
            name = f"argument{COLON}{number}"
            found = list(limited_bodies(more for body in found for more in bind_bodies(body, name, argument)))
            argument = name
        aggregates.append((each, str(argument)))
    groups = _Groups(keys, found, rules, is_grouped=node.p.expr is not None)
    samples = {}
    for each, argument in aggregates:
        if each.name == "Aggregate_Sample":
            if argument not in keys:
                raise Unsupported("SAMPLE takes any value", "write MIN or MAX")
            samples[str(each.res)] = argument
        else:
            groups.add(each, argument)
    for body in groups.bodies():
        for name, key in samples.items():
            body = next(bind_bodies(body, name, Variable(key)))
        yield body


class _Groups:
    """The groups of rows, and relations of their aggregates."""

    def __init__(self, keys: Sequence[str], found: Sequence[ViewBody], rules: ViewRules, *, is_grouped: bool) -> None:
        self.rules = rules
        self.columns = sorted(frozenset[str]().union(*(body.variables for body in found)))
        self.keys = [key for key in dict.fromkeys(keys) if key in self.columns]
        self.is_grouped = is_grouped
        self.is_plain = all(body.is_plain for body in found)
        self.partial = [name for name in self.columns if any(name not in body.variables for body in found)]
        self.resources = _resources(found, self.keys)
        columns = [*self.columns, _BRANCH]
        rows = [_in_branch(body, number) for number, body in enumerate(found)]
        self.rows = f"{rules.relation('rows', columns, rows)}({', '.join(f'v_{name}' for name in columns)})"
        self.body = ViewBody((self.rows,), frozenset(columns))
        self.groups = rules.relation("groups", self.keys, [self.body])
        self.results: dict[str, Sequence[str]] = {self.groups: self.keys} if is_grouped else {}
        self.unsure = [key for key in self.keys if key in self.partial]

    def add(self, aggregate: Any, argument: str) -> None:
        """Add an aggregate over a variable, or `*`."""
        sort, result, rules = aggregate.name.removeprefix("Aggregate_"), str(aggregate.res), self.rules
        is_distinct = bool(aggregate.distinct)
        if sort != "Count" and sort not in AGGREGATES:
            shown = {"GroupConcat": "GROUP_CONCAT"}.get(sort, sort.upper())
            raise Unsupported(f"the aggregate {shown} is not supported", ASK)
        if not (is_distinct or sort in ("Min", "Max") or self.is_plain):
            hint = f"write {sort.upper()}(DISTINCT …)"
            raise Unsupported("it counts rows that a path or pattern gives several times", hint)
        columns = self.columns if argument == "*" else [argument] if argument in self.columns else []
        own = [*self.keys, *(name for name in columns if name not in self.keys)]
        if is_distinct or sort in ("Min", "Max"):
            relation = rules.relation("values", own, [self.body])
        else:
            own = [*self.columns, _BRANCH]
            relation = self.rows.partition("(")[0]
        args = [f"v_{name}" if name in self.keys else f"w_{name}" for name in own]
        member = f"{relation}({', '.join(args) or chr(34) * 2})"
        value = f"{'v' if argument in self.keys else 'w'}_{argument}"
        if sort == "Count":
            has_value = f', {value} != ""' if argument in self.partial else ""
            is_none = argument != "*" and argument not in self.columns
            end = f'cat("\\"", to_string(n), "\\"^^<{XSD}integer>")'
            literals = [f"n = count : {{ {member}{has_value} }}", f"v_{result} = {end}"]
            literals = [f"v_{result} = {ZERO}"] if is_none else literals
        else:
            given = f", x = {value}" if argument in self.columns else ', x = ""'
            literals = [f"v_{result} = {AGGREGATES[sort]} x : {{ {member}{given} }}"]
            self.unsure.append(result)
        if self.is_grouped:
            literals.insert(0, f"{self.groups}({', '.join(f'v_{key}' for key in self.keys) or chr(34) * 2})")
        found = [ViewBody(tuple(literals), frozenset([*self.keys, result]))]
        if not self.is_grouped and sort != "Count":
            nothing = [f'!{self.groups}("")', f"v_{result} = {ZERO if sort in ('Sum', 'Avg') else chr(34) * 2}"]
            found.append(ViewBody(tuple(nothing), frozenset([result])))
        of_groups = rules.relation(sort.lower(), [*self.keys, result], found)
        self.results[of_groups] = [*self.keys, result]

    def bodies(self) -> Iterator[ViewBody]:
        origin = object()
        for missing in _choices(self.unsure):
            found = _rows_body(self.results, missing, self.unsure, self.resources)
            yield replace(found, derived=found.variables - set(self.keys)).with_choice(origin, missing)


def _in_branch(body: ViewBody, number: int) -> ViewBody:
    """Return a body whose rows have its number."""
    return replace(body.with_literals([f'v_{_BRANCH} = "{number}"']), variables=body.variables | {_BRANCH})
