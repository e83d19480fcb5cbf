"""Constraint components of SHACL Core as bodies of rules, which find their violations.

A body has the focus node in `v_x`, and the value in `ShapeValues.value`: for a node shape these are the same. Source:
SHACL Core, section 4. `message_of` gives violations a message if their shapes have none of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from tidelog.rdf.literals import parts
from tidelog.rdf.names import TRIPLE
from tidelog.rdf.shapes.documents import SH, SPARQL, is_true
from tidelog.rdf.shapes.queries import ShapeQuery
from tidelog.rdf.shapes.shape import Constraint, ParsedShape
from tidelog.rdf.shapes.testing import HOLDS, LANGUAGE
from tidelog.rdf.sparql.bodies import ViewBody, ViewRules, is_literal, quote_symbol
from tidelog.rdf.terms import literal, ntriples

_TEXTS = {
    "class": "the value is not an instance of {0}",
    "datatype": "the value is not a literal of the datatype {0}",
    "nodeKind": "the value is not of the kind {0}",
    "minCount": "there are fewer values than {0}",
    "maxCount": "there are more values than {0}",
    "minExclusive": "the value is not greater than {0}",
    "minInclusive": "the value is less than {0}, or does not compare with it",
    "maxExclusive": "the value is not less than {0}",
    "maxInclusive": "the value is greater than {0}, or does not compare with it",
    "minLength": "the text of the value is shorter than {0}",
    "maxLength": "the text of the value is longer than {0}",
    "pattern": "the value does not match the pattern {0}",
    "languageIn": "the language of the value is not one of {0}",
    "uniqueLang": "several values have one language",
    "equals": "only one of this path and {0} has the value",
    "disjoint": "the value is a value of {0}, too",
    "lessThan": "the value is not less than each value of {0}",
    "lessThanOrEquals": "the value is greater than a value of {0}, or does not compare with it",
    "not": "the value conforms to {0}, and must not",
    "and": "the value does not conform to all shapes of a list",
    "or": "the value conforms to no shape of a list",
    "xone": "the value does not conform to exactly one shape of a list",
    "node": "the value does not conform to {0}",
    "qualifiedMinCount": "fewer values than {0} conform to the shape",
    "qualifiedMaxCount": "more values than {0} conform to the shape",
    "closed": "the shape is closed, and does not have this property",
    "hasValue": "the value {0} is missing",
    "in": "the value is not one of {0}",
}
_MOST = 5
"""A message names so many members of a list."""


def message_of(shape: ParsedShape, constraint: Constraint) -> str:
    """Return the message of a violation, a literal: that of the shape, in English if there are several languages."""
    if shape.messages:
        return _best_message(shape.messages)
    members = [_plain_text(each) for each in constraint.members[:_MOST]]
    if len(constraint.members) > _MOST:
        members.append("…")
    return literal(
        _TEXTS[constraint.parameter].format(", ".join(members) if members else _plain_text(constraint.value))
    )


def query_message(shape: ParsedShape, query: ShapeQuery) -> str:
    """Return the message of the rows of a query, a literal that may have variables."""
    if query.messages or shape.messages:
        return _best_message(query.messages or shape.messages)
    what = "the query of the shape" if query.component == SPARQL else ntriples(query.component)
    return literal(f"the value violates {what}")


def _best_message(messages: tuple[str, ...]) -> str:
    return min(messages, key=lambda each: (parts(each)[1] not in ("", "en"), each))


def _plain_text(term: str) -> str:
    """Return a term for people: numbers and texts without their datatype."""
    if term.startswith("_:"):
        return "a shape inside of this one"
    if term.startswith('"'):
        text, language, _ = parts(term)
        return f'"{text}"@{language}' if language else text
    return f"sh:{term.removeprefix(SH)}" if term.startswith(SH) else ntriples(term)


# --- bodies ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ViolationBody:
    """A body that finds violations, with the terms of rules that the view shows. For None, `path` is that of the
    shape."""

    literals: tuple[str, ...]
    detail: str
    value: str = '""'
    path: str | None = None


@dataclass(frozen=True)
class ShapeValues:
    """The literal of the focus nodes of a shape; the variable of a value, and the literals that bind both; the
    literals that say that a term is a value, that it is not, that there are `some`, and that n is their `number`."""

    focus: str
    value: str
    literals: tuple[str, ...]
    has: Callable[[str], str]
    lacks: Callable[[str], str]
    some: Callable[[], str]
    number: Callable[[], str]


@dataclass(frozen=True)
class ShapeSource:
    """The sources of constraints: the relation of a property; the literal of a class and one of its instances; the
    relation of the nodes that fail a shape, the empty text if none ever does; the siblings of a qualified shape, and
    the properties of a closed one."""

    property: Callable[[str], str]
    instances: Callable[[str, str], str]
    fails: Callable[[str], str]
    siblings: Callable[[str], Sequence[str]]
    properties: Callable[[ParsedShape], Sequence[str]]


def number_of(atom: str) -> str:
    """Return the literal that counts the values of an atom, in which {0} stands for them, as n."""
    return f"n = count : {{ {atom.format('w')} }}"


class ConstraintRules:
    """The bodies of the constraints of one shape, with relations beside the view."""

    def __init__(
        self, shape: ParsedShape, label: str, values: ShapeValues, source: ShapeSource, rules: ViewRules
    ) -> None:
        self._shape = shape
        self._label = label
        self._values = values
        self._source = source
        self._rules = rules
        self._count = 0

    def violations(self, constraint: Constraint) -> Iterator[ViolationBody]:
        """Yield the bodies that find violations of a constraint. sh:property has none: its shapes report their own."""
        value, members = constraint.value, constraint.members
        match constraint.parameter:
            case "class":
                is_instance = self._source.instances(value, self._values.value)
                yield self._each(f"!{is_instance}", detail=value)
                yield self._each(is_instance, is_literal(self._values.value), detail=value)
            case "datatype" | "nodeKind" | "minExclusive" | "minInclusive" | "maxExclusive" | "maxInclusive" as test:
                yield self._test_body(test, value, value)
            case "minLength" | "maxLength" as test:
                yield self._test_body(test, parts(value)[0], value)
            case "pattern":
                flags = self._shape.value("flags")
                yield self._test_body("pattern", f"{parts(flags)[0] if flags else ''} {value}", value)
            case "languageIn":
                yield self._test_body("languageIn", " ".join(parts(each)[0].lower() for each in members), value)
            case "uniqueLang" if is_true(value):
                yield from self._unique()
            case "minCount":
                yield from self._count_bodies(constraint, "<", self._values.some, self._values.number)
            case "maxCount":
                yield from self._count_bodies(constraint, ">", self._values.some, self._values.number)
            case "equals" | "disjoint" as sort:
                yield from self._comparison_bodies(sort == "equals", value)
            case "lessThan" | "lessThanOrEquals" as test:
                other = f"{self._source.property(value)}(v_x, w)"
                less = f'@{HOLDS}("{test}", w, {self._values.value}) = 0'
                yield ViolationBody((*self._values.literals, other, less), "w", self._values.value)
            case "not" | "node" | "and" | "or" | "xone":
                yield from self._shapes(constraint)
            case "qualifiedMinCount" if self._shape.values("qualifiedValueShape"):
                yield from self._count_bodies(constraint, "<", *self._qualified_values())
            case "qualifiedMaxCount" if self._shape.values("qualifiedValueShape"):
                yield from self._count_bodies(constraint, ">", *self._qualified_values())
            case "closed" if is_true(value):
                yield self._closed_body(value)
            case "hasValue":
                yield ViolationBody((self._values.focus, self._values.lacks(quote_symbol(value))), quote_symbol(value))
            case "in":
                yield self._test_body("in", "\t".join(members), value)

    def _each(self, *conditions: str, detail: str) -> ViolationBody:
        """Return the body of values under some conditions."""
        return ViolationBody((*self._values.literals, *conditions), quote_symbol(detail), self._values.value)

    def _test_body(self, test: str, parameter: str, detail: str) -> ViolationBody:
        return self._each(f'@{HOLDS}("{test}", {quote_symbol(parameter)}, {self._values.value}) = 0', detail=detail)

    def _count_bodies(
        self, constraint: Constraint, op: str, some: Callable[[], str], number: Callable[[], str]
    ) -> Iterator[ViolationBody]:
        """Yield the body of focus nodes with fewer or more values than a parameter says: `some`, and their `number` n,
        are literals."""
        limit, detail = int(parts(constraint.value)[0]), quote_symbol(constraint.value)
        if op == "<" and limit == 1:
            yield ViolationBody((self._values.focus, f"!{some()}"), detail)
        elif op == ">" and limit <= 0:
            yield ViolationBody((self._values.focus, some()), detail)
        elif op == ">" or limit > 1:
            yield ViolationBody((self._values.focus, number(), f"n {op} {limit}"), detail)

    def _unique(self) -> Iterator[ViolationBody]:
        relation = self._relation("tagged", ["x", "l", "v"])
        tag = f"v_l = @{LANGUAGE}({self._values.value})"
        self._derive(f"{relation}(v_x, v_l, {self._values.value})", (*self._values.literals, tag))
        several = f"{relation}(v_x, v_l, _), n = count : {{ {relation}(v_x, v_l, w) }}, n > 1"
        yield ViolationBody((self._values.focus, several), 'cat("\\"", v_l, "\\"")')

    def _comparison_bodies(self, equal: bool, iri: str) -> Iterator[ViolationBody]:
        """Yield the bodies of values that another property lacks, and of those that only it has; or of common ones."""
        other = self._source.property(iri)
        yield self._each(f"{'!' * equal}{other}(v_x, {self._values.value})", detail=iri)
        if equal:
            literals = self._values.focus, f"{other}(v_x, w)", self._values.lacks("w")
            yield ViolationBody(literals, quote_symbol(iri), "w")

    def _shapes(self, constraint: Constraint) -> Iterator[ViolationBody]:
        """Yield the bodies of values that conform, or do not, to other shapes."""
        names = constraint.members or (() if constraint.parameter in ("and", "or", "xone") else (constraint.value,))
        failing = [self._source.fails(name) for name in names]
        atoms = [f"{each}({self._values.value})" for each in failing]
        match constraint.parameter:
            case "not":
                yield self._each(
                    *(f"!{atom}" for atom, name in zip(atoms, failing, strict=True) if name), detail=constraint.value
                )
            case "or" if all(failing):
                yield self._each(*atoms, detail=constraint.value)
            case "xone":
                relation = self._relation("conforms", ["v", "i"])
                for number, (atom, name) in enumerate(zip(atoms, failing, strict=True)):
                    conforms = (*self._values.literals, *([f"!{atom}"] if name else []))
                    self._derive(f'{relation}({self._values.value}, "{number}")', conforms)
                count = f"n = count : {{ {relation}({self._values.value}, w) }}, n != 1"
                yield self._each(count, detail=constraint.value)
            case "and" | "node":
                for atom, name in zip(atoms, failing, strict=True):
                    if name:
                        yield self._each(atom, detail=constraint.value)

    def _qualified_values(self) -> tuple[Callable[[], str], Callable[[], str]]:
        """Return the literals that say that there are values that conform to the qualified shape, and to no sibling of
        it, and their number."""
        relation = self._relation("qualified", ["x", "v"])
        failing = self._source.fails(self._shape.values("qualifiedValueShape")[0])
        conditions = [f"!{failing}({self._values.value})"] if failing else []
        others = [self._source.fails(each) for each in self._source.siblings(self._shape.name)]
        if all(others):
            conditions += [f"{each}({self._values.value})" for each in others]
            self._derive(f"{relation}(v_x, {self._values.value})", (*self._values.literals, *conditions))
        atom = f"{relation}(v_x, {{0}})"
        return partial(atom.format, "_"), partial(number_of, atom)

    def _closed_body(self, detail: str) -> ViolationBody:
        ignored = [
            term for each in self._shape.constraints if each.parameter == "ignoredProperties" for term in each.members
        ]
        allowed = quote_symbol("\t".join((*ignored, *self._source.properties(self._shape))))
        triple = f"{TRIPLE}({self._values.value}, v_p, w)"
        literals = *self._values.literals, triple, f'@{HOLDS}("in", {allowed}, v_p) = 0'
        return ViolationBody(literals, quote_symbol(detail), "w", "v_p")

    # --- relations beside the view -------------------------------------------------------------------------------

    def _relation(self, sort: str, columns: Sequence[str]) -> str:
        self._count += 1
        relation = self._rules.name(f"{sort}_{self._label}_{self._count}")
        self._rules.declare(relation, columns)
        return relation

    def _derive(self, head: str, literals: Sequence[str]) -> None:
        self._rules.derive(head, ViewBody(tuple(literals)))
