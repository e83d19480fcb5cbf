"""Shapes as rules: a view of violations that the engine maintains.

A shape S with the focus nodes x and the values v has these relations beside the view:

    focus_S(x)      nodes whose violations are reported: targets, and values of sh:property of other such shapes
    asked_S(x)      nodes of which some shape asks whether they conform to S; those of focus_S, if S has both
    fails_S(x)      those of asked_S that do not conform
    value_S(x, v)   the values of a path that is more than one property

A property shape that only one node shape asks for, and that has no targets, has the nodes of that one: its focus_S and
asked_S are those of the node shape (`shape.parents`).

All shapes share, for each property in a direction, `having_p(x)`, the nodes with a value, and `number_p(x, n)`, the
numbers of values of the nodes in `counted_p(x)`. In a store that infers no classes, `instance(x, c)` has the instances
of the classes that shapes ask for, and `below(c, d)` the subclasses of these.

`constraints` gives the bodies that find violations: each is a rule of the view over focus_S, and of fails_S over
asked_S. So nothing is evaluated for nodes of which nobody asks, and a change costs what it touches.

Queries of SHACL-SPARQL that the compiler of SPARQL's views takes are rules as well. `queries` has the others, which are
evaluated at each validation.

Shapes may ask for themselves as long as no negation is between: then a node fails only if it has to. SHACL leaves
recursion undefined, and through negation neither answer would be right (`shape.knowable` passes it over).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from tidelog.errors import Problem
from tidelog.language.paths import steps
from tidelog.language.syntax import Inverse, Step
from tidelog.rdf.names import local_name
from tidelog.rdf.shapes.constraints import (
    ConstraintRules,
    ShapeSource,
    ShapeValues,
    message_of,
    number_of,
    query_message,
)
from tidelog.rdf.shapes.documents import component
from tidelog.rdf.shapes.paths import PathRules, forward, path_text
from tidelog.rdf.shapes.queries import QUERIES, ShapeQuery, StoredQuery, matches, prebound_body
from tidelog.rdf.shapes.shape import Constraint, ParsedShape, links_of, parents, reported_and_needed, siblings
from tidelog.rdf.shapes.testing import FILLED
from tidelog.rdf.sparql.bodies import ViewBody, ViewRules, is_resource, quote_symbol, rule_prefix
from tidelog.rdf.terms import RDFS, TYPE, literal

COLUMNS = ("focus", "path", "value", "shape", "component", "severity", "message", "detail")
"""The columns of a view of violations, all symbols; `path` and `value` may be the empty text. `detail` is the value of
the parameter; for uniqueLang the language, for lessThan the value that is not greater."""
MESSAGES = "messages"
"""The relation beside the view with the messages of shapes that have several."""
WARNINGS = "warnings"
"""The relation beside the view with the messages and hints of warnings."""
_RULES = 20_000
"""Shapes may need so many rules: some five for each constraint of a property."""
_LONGEST = 30


class ShapeCompiler:
    """Makes the rules of a view of violations."""

    def __init__(
        self,
        name: str,
        shapes: Mapping[str, ParsedShape],
        property: Callable[[str], str],
        members: Callable[[str], str] | None,
        warnings: Sequence[Problem],
        *,
        inferred: bool,
    ) -> None:
        """`property` gives the relation of a property, which for rdf:type has everything with its classes. `members`
        gives that of the members of a class with those of its subclasses, None without such a relation. `warnings` are
        about what is not validated. Queries that no view has see triples that follow if they are `inferred`.
        """
        self._name = name
        self._scope = "inferred" if inferred else "asserted"
        self._warnings = warnings
        self._shapes = shapes
        self._property = property
        self._members = members
        self._rules = ViewRules(name, _RULES)
        self._paths = PathRules(self._rules, property)
        self._links = links_of(shapes)
        self._reported, self._needed = reported_and_needed(shapes, self._links)
        self._parents = parents(shapes, self._links)
        self._labels = {each: _label(each, number) for number, each in enumerate(shapes, 1)}
        self._classes: dict[str, None] = {}
        self._having: dict[str, str] = {}
        """By the atom of a property in a direction."""
        self._counting: dict[str, tuple[str, str, dict[str, None]]] = {}

    def text(self) -> str:
        names = dict.fromkeys((*self._reported, *self._needed))
        for name in names:
            focus, asked = (name in each and name not in self._parents for each in (self._reported, self._needed))
            for sort, is_there in (("focus", focus), ("asked", asked), ("fails", name in self._needed)):
                if is_there:
                    self._rules.declare(self._relation_name(sort, name), ["x"])
            if focus and asked:
                self._derive(f"{self._nodes('asked', name)}(v_x)", f"{self._nodes('focus', name)}(v_x)")
        for name in names:
            self._shape(self._shapes[name])
        self._class_rules()
        if rule_prefix(self._name) not in self._rules.text():  # Each view has a rule.
            self._derive(f"{self._name}({', '.join(['v_x'] * len(COLUMNS))})", 'v_x = ""', "1 = 2")
        self._rules.declare(self._name, COLUMNS)
        self._messages()
        return self._rules.text()

    def _messages(self) -> None:
        several = [self._shapes[name] for name in self._reported if len(self._shapes[name].messages) > 1]
        if several:
            relation = self._rules.name(MESSAGES)
            self._rules.declare(relation, ["shape", "message"])
            for shape in several:
                for each in shape.messages:
                    self._derive(f"{relation}({quote_symbol(shape.name)}, {quote_symbol(each)})")
        self._stored_queries()
        if self._warnings:
            relation = self._rules.name(WARNINGS)
            self._rules.declare(relation, ["message", "hint"])
            for problem in self._warnings:
                self._derive(f"{relation}({quote_symbol(problem.message)}, {quote_symbol(problem.hint or '')})")

    def _stored_queries(self) -> None:
        """Add the queries that no view has."""
        found = [(self._shapes[name], each) for name in self._reported for each in self._shapes[name].queries]
        evaluated = [pair for pair in found if pair[1].algebra is None]
        if evaluated:
            relation = self._rules.name(QUERIES)
            self._rules.declare(relation, StoredQuery._fields)
            for shape, query in evaluated:
                focus = self._nodes("focus", shape.name)
                fixed = shape.name, query.component, shape.severity, query_message(shape, query), query.detail
                constants = "\t".join(map(" ".join, query.constants))
                row = StoredQuery(focus, _path(shape), *fixed, literal(query.text), constants, self._scope)
                self._derive(f"{relation}({', '.join(map(quote_symbol, row))})")

    def _query(self, shape: ParsedShape, query: ShapeQuery, focus: str) -> None:
        """Add the rules of a query, for the nodes of a relation."""
        name, message = shape.name, query_message(shape, query)
        for body in matches(query.algebra, prebound_body(f"{focus}(v_this)", query.constants), self._rules):
            seen = {each: f"v_{each}" for each in (*query.columns, "this") if each in body.variables}
            seen |= {each: quote_symbol(value) for each, value in query.constants}
            if name in self._reported:
                value = seen.get("value", "v_this" if shape.path is None else '""')
                text = seen.get("message", _message_argument(message, seen))
                fixed = map(quote_symbol, (name, query.component, shape.severity))
                head = (
                    "v_this",
                    seen.get("path", quote_symbol(_path(shape))),
                    value,
                    *fixed,
                    text,
                    quote_symbol(query.detail),
                )
                literals = (*body.literals, f"{self._nodes('focus', name)}(v_this)")
                self._derive(f"{self._name}({', '.join(head)})", *dict.fromkeys(literals))
            if name in self._needed:
                self._derive(f"{self._relation_name('fails', name)}(v_this)", *body.literals)

    def _shape(self, shape: ParsedShape) -> None:
        name = shape.name
        if name in self._reported:
            self._targets(shape)
        values = self._values(shape)
        for parameter, inner in self._links[name]:
            self._ask(name, parameter, inner, values)
        others = partial(siblings, shapes=self._shapes)
        source = ShapeSource(self._property, self._instances, self._failure_relation, others, self._closed_properties)
        constraints = ConstraintRules(shape, self._labels[name], values, source, self._rules)
        for constraint in shape.constraints:
            for body in constraints.violations(constraint):
                if name in self._reported:
                    focus = f"{self._nodes('focus', name)}(v_x)"
                    path = quote_symbol(_path(shape)) if body.path is None else body.path
                    head = ("v_x", path, body.value, *self._constants(shape, constraint), body.detail)
                    self._derive(f"{self._name}({', '.join(head)})", *dict.fromkeys((*body.literals, focus)))
                if name in self._needed:
                    self._derive(f"{self._relation_name('fails', name)}(v_x)", *body.literals)
            if constraint.parameter == "property" and name in self._needed and self._failure_relation(constraint.value):
                fails = f"{self._failure_relation(constraint.value)}({values.value})"
                self._derive(f"{self._relation_name('fails', name)}(v_x)", *values.literals, fails)
        for query in shape.queries:
            if query.algebra is not None:
                self._query(shape, query, self._nodes("asked" if name in self._needed else "focus", name))

    def _constants(self, shape: ParsedShape, constraint: Constraint) -> tuple[str, ...]:
        which = component(constraint.parameter)
        return tuple(map(quote_symbol, (shape.name, which, shape.severity, message_of(shape, constraint))))

    def _ask(self, name: str, parameter: str, inner: str, values: ShapeValues) -> None:
        """Add the rules by which the values of a shape become nodes of another one."""
        if not self._shapes[inner].is_active or inner in self._parents:
            return
        stays = parameter == "property"
        if stays and name in self._reported:
            focus = f"{self._nodes('focus', name)}(v_x)"
            literals = dict.fromkeys((*values.literals, focus))
            self._derive(f"{self._nodes('focus', inner)}({values.value})", *literals)
        if not stays or name in self._needed:
            self._derive(f"{self._nodes('asked', inner)}({values.value})", *values.literals)

    def _targets(self, shape: ParsedShape) -> None:
        focus = self._nodes("focus", shape.name)
        for target, term in shape.targets:
            match target:
                case "targetNode":
                    self._derive(f"{focus}({quote_symbol(term)})")
                case "targetClass":
                    self._derive(f"{focus}(v_x)", self._instances(term, "v_x"), is_resource("v_x"))
                case "targetSubjectsOf":
                    self._derive(f"{focus}(v_x)", f"{self._property(term)}(v_x, _)")
                case _:
                    self._derive(f"{focus}(v_x)", f"{self._property(term)}(_, v_x)")

    def _values(self, shape: ParsedShape) -> ShapeValues:
        """Return the values of a shape, of all nodes that it is evaluated for."""
        focus = f"{self._nodes('asked' if shape.name in self._needed else 'focus', shape.name)}(v_x)"
        if shape.path is None:
            same = "v_x = {0}"
            some, number = partial(same.format, "_"), partial(number_of, same)
            return ShapeValues(focus, "v_x", (focus,), same.format, "v_x != {}".format, some, number)
        path = forward(shape.path)
        if isinstance(path, Step | Inverse):
            (atom,) = self._paths.bodies(path, focus, "v_x", "{0}")
            (iri,) = (step.relation for step in steps(path))
            some, number = partial(self._some, iri, atom), partial(self._number, iri, atom, focus)
        else:
            relation = self._relation_name("value", shape.name)
            self._rules.declare(relation, ["x", "v"])
            for body in self._paths.bodies(path, focus, "v_x", "v_v"):
                self._derive(f"{relation}(v_x, v_v)", focus, body)
            atom = f"{relation}(v_x, {{0}})"
            some, number = partial(atom.format, "_"), partial(number_of, atom)
        literals = (focus, atom.format("v_v"))
        return ShapeValues(focus, "v_v", literals, atom.format, f"!{atom}".format, some, number)

    def _instances(self, iri: str, term: str) -> str:
        """Return the literal of the instances of a class, by rdf:type and rdfs:subClassOf."""
        if self._members is not None:
            return f"{self._members(iri)}({term})"
        self._classes[iri] = None
        return f"{self._rules.name('instance')}({term}, {quote_symbol(iri)})"

    def _class_rules(self) -> None:
        """Add the rules of the instances of classes that shapes ask for: one relation has those of all."""
        if self._classes:
            relation, below = self._rules.name("instance"), self._rules.name("below")
            self._rules.declare(below, ["c", "d"])
            self._rules.declare(relation, ["x", "c"])
            for iri in self._classes:
                self._derive(f"{below}({quote_symbol(iri)}, {quote_symbol(iri)})")
            above = f"{self._property(f'{RDFS}subClassOf')}(v_c, v_e)"
            self._derive(f"{below}(v_c, v_d)", above, f"{below}(v_e, v_d)")
            self._derive(f"{relation}(v_x, v_d)", f"{self._property(TYPE)}(v_x, v_c)", f"{below}(v_c, v_d)")

    def _some(self, iri: str, atom: str) -> str:
        """Return the literal of the nodes that have a value of a property: one relation for all shapes that ask."""
        found = self._having.get(atom)
        if found is None:
            found = self._having[atom] = self._rules.name(f"having_{_label(iri, len(self._having) + 1)}")
            self._rules.declare(found, ["x"])
            self._derive(f"{found}(v_x)", atom.format("_"))
        return f"{found}(v_x)"

    def _number(self, iri: str, atom: str, focus: str) -> str:
        """Return the literal of the number n of values of a property, which is there for the nodes of `focus`: one
        relation for all shapes that ask."""
        found = self._counting.get(atom)
        if found is None:
            label = _label(iri, len(self._counting) + 1)
            found = self._rules.name(f"counted_{label}"), self._rules.name(f"number_{label}"), dict[str, None]()
            counted, number, _ = self._counting[atom] = found
            self._rules.declare(counted, ["x"])
            self._rules.declare(number, ["x"], numbers=["n"])
            self._derive(f"{number}(v_x, n)", f"{counted}(v_x)", f"n = count : {{ {atom.format('w')} }}")
        counted, number, asked = found
        if focus not in asked:
            asked[focus] = None
            self._derive(f"{counted}(v_x)", focus)
        return f"{number}(v_x, n)"

    def _failure_relation(self, name: str) -> str:
        """Return the relation of the nodes that fail a shape, the empty text for a deactivated one."""
        return self._relation_name("fails", name) if self._shapes[name].is_active else ""

    def _closed_properties(self, shape: ParsedShape) -> list[str]:
        paths = [self._shapes[each].path for each in shape.values("property")]
        return [path.relation for path in paths if isinstance(path, Step)]

    def _nodes(self, sort: str, name: str) -> str:
        return self._relation_name(sort, self._parents.get(name, name))

    def _relation_name(self, sort: str, name: str) -> str:
        return self._rules.name(f"{sort}_{self._labels[name]}")

    def _derive(self, head: str, *literals: str) -> None:
        self._rules.derive(head, ViewBody(literals))


def _path(shape: ParsedShape) -> str:
    """Return the path of a shape as the view shows it: an IRI, or as SPARQL writes it; "" for a node shape."""
    if shape.path is None:
        return ""
    return shape.path.relation if isinstance(shape.path, Step) else path_text(shape.path)


def _message_argument(message: str, seen: Mapping[str, str]) -> str:
    names = [each for each in seen if f"{{?{each}}}" in message or f"{{${each}}}" in message]
    if not names:
        return quote_symbol(message)
    terms = ', "\t", '.join(seen[each] for each in names)
    listed = f"cat({terms})" if len(names) > 1 else terms
    return f"@{FILLED}({quote_symbol(message)}, {quote_symbol(chr(9).join(names))}, {listed})"


def _label(name: str, number: int) -> str:
    """Return a part of a relation's name that says which shape or class it is about."""
    local = "" if name.startswith("_:") else local_name(name)[:_LONGEST]
    return f"{local}_{number}" if local else str(number)
