"""Bodies of rules for a view of SPARQL, the rules made of them, and terms and paths of rdflib as rules spell them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from tidelog.errors import Problem, ProgramError, TidelogError, UsageError
from tidelog.rdf.names import COLON, GRAPH, local_name
from tidelog.rdf.terms import IS_LITERAL, IS_RESOURCE, term

MOST = 64
"""A pattern may have so many bodies."""
_RULES = 2_000
"""A view may have so many rules."""
_SIZES = ("E0106", "E0114")
"""The errors of a rule that is nested too deeply, or too large."""
_WORK = 200_000
"""The literals of all bodies that a view goes through may be so many."""


TEXT = "<view>"
"""The name of the text of a view in messages."""


class Unsupported(Exception):
    """A part of a query that no view can have, with a hint."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.hint = hint


def limited_bodies(found: Iterable[ViewBody]) -> Iterator[ViewBody]:
    """Yield bodies. Raise Unsupported as soon as there are more than MOST of them."""
    for number, body in enumerate(found):
        if number >= MOST:
            raise Unsupported(f"it has more than {MOST} ways to match")
        yield body


@dataclass(frozen=True)
class ViewBody:
    """A way to match a pattern: literals of a rule; the variables that have values; among them those that are no
    literals of RDF; for each variable literals that bind it; whether it gives each row once; the variables whose
    values follow from those of the others; and choices, by what was chosen from: no row is in bodies that differ in
    one."""

    literals: tuple[str, ...] = ()
    variables: frozenset[str] = frozenset()
    resources: frozenset[str] = frozenset()
    atoms: Mapping[str, str] = field(default_factory=dict)
    is_plain: bool = True
    derived: frozenset[str] = frozenset()
    choices: Mapping[object, object] = field(default_factory=dict)

    def __and__(self, other: ViewBody) -> ViewBody:
        """Return the join of two bodies."""
        return ViewBody(
            tuple(dict.fromkeys((*self.literals, *other.literals))),
            self.variables | other.variables,
            self.resources | other.resources,
            {**other.atoms, **self.atoms},
            self.is_plain and other.is_plain,
            self.derived | other.derived,
            {**other.choices, **self.choices},
        )

    def excludes(self, other: ViewBody) -> bool:
        """Return True if bodies certainly have no row in common."""
        return any(other.choices.get(origin, choice) != choice for origin, choice in self.choices.items())

    def with_choice(self, origin: object, choice: object) -> ViewBody:
        """Return this body as a choice of several."""
        return replace(self, choices={**self.choices, origin: choice})

    def with_literals(self, literals: Iterable[str]) -> ViewBody:
        """Return this body with further conditions."""
        return replace(self, literals=tuple(dict.fromkeys((*self.literals, *literals))))


def is_resource(term: str) -> str:
    """Return the condition that a term is an IRI or a blank node: literals and triples come before these in order."""
    return f"{term}{IS_RESOURCE}"


def is_literal(term: str) -> str:
    """Return the condition that a term is a literal or a triple. Rules see facts with one as their subject."""
    return f"{term}{IS_LITERAL}"


def rule_prefix(name: str) -> str:
    """Return how the names of the rules of a view begin. Each view has such a rule."""
    return f"{name}{COLON}rule_"


def too_large(name: str, error: ProgramError | RecursionError) -> TidelogError:
    """Return the error of the rules of a view in the words of SPARQL, if they are too large (E0663)."""
    if isinstance(error, ProgramError) and not {problem.code for problem in error.problems} <= {*_SIZES}:
        return error
    message = f"the view {name} cannot be maintained: a filter or an expression of it has too many parts"
    hint = "insert a long list as triples, and match these with MINUS or EXISTS; split long sums among several BIND"
    return UsageError(Problem("E0663", message, hint=hint, place=TEXT))


class ViewRules:
    """The rules of a view and of the relations beside it, which have names that nobody types by chance."""

    def __init__(self, name: str, most: int = _RULES) -> None:
        self._name = name
        self._most = most
        self._lines: list[str] = []
        self._helpers: dict[object, str] = {}
        self._graph: str | None = None
        self._default: str | None = None
        self._named: list[str] | None = None
        self._count = 0
        self._work = 0
        self.given = ViewBody()
        """Variables that have values in every part of a pattern."""

    def spend(self, bodies: Iterable[ViewBody]) -> Iterator[ViewBody]:
        """Yield bodies. Raise Unsupported if the view has gone through too many literals with them: patterns in
        patterns multiply the work."""
        for body in bodies:
            self._work += 1 + len(body.literals)
            if self._work > _WORK:
                raise Unsupported("its patterns, one in another, have too many ways to match")
            yield body

    @contextmanager
    def prebind_variables(self, given: ViewBody) -> Iterator[None]:
        """Give variables values in every part of a pattern, as pre-binding does."""
        before, self.given = self.given, given
        try:
            yield
        finally:
            self.given = before

    # --- graphs --------------------------------------------------------------------------------------------------

    def choose(self, default: Sequence[str], named: Sequence[str]) -> None:
        """Have patterns see the triples of some graphs, and GRAPH those that are named."""
        columns = ["s", "p", "o"]
        found = [ViewBody((f"{GRAPH}(v_s, v_p, v_o, {graph})",), frozenset(columns)) for graph in default]
        self._default, self._named = self.relation("from", columns, found), list(named)

    @contextmanager
    def within(self, graph: str) -> Iterator[None]:
        """Have patterns see one graph: a variable or constant."""
        before, self._graph = self._graph, graph
        try:
            yield
        finally:
            self._graph = before

    @property
    def sees_all(self) -> bool:
        """Return True if patterns see the triples of all graphs, with those that follow."""
        return self._graph is None and self._default is None

    def names_graph(self, graph: str) -> bool:
        return self._named is None or graph in self._named

    def in_graph(self, triple: str) -> tuple[str, str]:
        """Return the atom of a triple in the graphs that patterns see, and the variable of the graph or ""."""
        if self._graph is None:
            return f"{self._default}({triple})", ""
        variable = self._graph.removeprefix("v_") if self._graph.startswith("v_") else ""
        return f"{GRAPH}({triple}, {self._graph})", variable

    def graph_conditions(self, variable: str) -> tuple[str, ...]:
        """Return the conditions of a variable of GRAPH: the default graph has the empty text as its name."""
        if self._named is None:
            return (f'v_{variable} != ""',)
        found = [ViewBody((f"v_g = {graph}",), frozenset("g")) for graph in self._named]
        return (f"{self.relation('named', ['g'], found)}(v_{variable})",)

    # --- rules ---------------------------------------------------------------------------------------------------

    def name(self, sort: str) -> str:
        """Return the name of a relation beside the view."""
        return f"{self._name}{COLON}{sort}"

    def declare(self, relation: str, columns: Sequence[str], numbers: Sequence[str] = ()) -> None:
        """Declare a relation of terms, and `numbers` behind them."""
        parts = ", ".join([*(f"{column}: symbol" for column in columns), *(f"{each}: number" for each in numbers)])
        self._lines.insert(0, f".decl {relation}({parts})")

    def add(self, relation: str, columns: Sequence[str], body: ViewBody) -> None:
        """Add a rule. A column without a value in the body gets the empty text."""
        args = ", ".join(f"v_{column}" if column in body.variables else '""' for column in columns)
        self.derive(f"{relation}({args})", body)

    def derive(self, head: str, body: ViewBody) -> None:
        self._count += 1
        if self._count > self._most:
            raise Unsupported(f"it needs more than {self._most:,} rules")
        label = f"{rule_prefix(self._name)}{len(self._lines)}"
        self._lines.append(f"{label}: {head} :- {', '.join(body.literals) or '1 = 1'}.")

    def helper(self, sort: str, columns: Sequence[str], bodies: Sequence[ViewBody]) -> str:
        """Return an atom over a relation of its own, which has the rows of bodies in these columns."""
        relation = self.relation(sort, columns, bodies)
        return f"{relation}({', '.join(f'v_{column}' for column in columns) or chr(34) * 2})"

    def step(self, iri: str) -> str:
        """Return the relation of a property without facts about literals, for a path."""
        body = ViewBody((f"<{iri}>(v_s, v_o)", is_resource("v_s")), frozenset("so"))
        return self.relation(f"step_{local_name(iri)}", ["s", "o"], [body])

    def relation(self, sort: str, columns: Sequence[str], bodies: Sequence[ViewBody]) -> str:
        """Return the relation of `helper`. It has one column, of empty texts, in the place of none."""
        key = sort, tuple(columns), tuple((body.literals, body.variables) for body in bodies)
        names = columns or ["_none"]
        relation = self._helpers.get(key)
        if relation is None:
            relation = self._helpers[key] = self.name(f"{sort}_{len(self._helpers) + 1}")
            for body in bodies:
                self.add(relation, names, body)
            self.declare(relation, names)
        return relation

    def text(self) -> str:
        return "\n".join(self._lines) + "\n"


# --- terms and paths -------------------------------------------------------------------------------------------------


_IRI = re.compile(r"[A-Za-z][\w+.-]*://[^\s<>\"{}|^`\\]*")


def is_plain(iri: str) -> bool:
    """Return True if rules can have an IRI as the name of a property: it has `//`."""
    return _IRI.fullmatch(iri) is not None


def literal_of(value: Any) -> str:
    """Return a variable, blank node or constant as the argument of a property."""
    from rdflib import BNode, Variable

    if isinstance(value, (Variable, BNode)):
        return f"v_{name_of(value)}"
    return symbol(value)


def name_of(value: Any) -> str | None:
    """Return the name of a variable or blank node in rules, None for a constant."""
    from rdflib import BNode, Variable

    if isinstance(value, BNode):
        return "_" + re.sub(r"\W", "_", value)
    return str(value) if isinstance(value, Variable) else None


def operand_of(value: Any) -> str:
    """Return a variable or constant as a side of a comparison: there, a text is a symbol, not a literal of RDF."""
    name = name_of(value)
    if name is not None:
        return f"v_{name}"
    return quote_symbol(term(value))


def quote_symbol(symbol: str) -> str:
    """Return a symbol as a constant of rules."""
    text = symbol.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def symbol(value: Any) -> str:
    """Return a constant as an argument of a property."""
    from rdflib import URIRef

    if isinstance(value, URIRef):
        return f"<{value}>"
    return term(value)


def path_of(path: Any, step: Callable[[str], str]) -> str:
    """Return a property path in the language of rules; `step` gives the relation of a property. Raise Unsupported for a
    negated property set, and for IRIs that paths cannot spell."""
    from rdflib import URIRef
    from rdflib.paths import AlternativePath, InvPath, MulPath, SequencePath

    if isinstance(path, URIRef):
        if not is_plain(str(path)):
            raise Unsupported(f"<{path}> cannot be part of a path", "use IRIs with // in paths")
        return step(str(path))
    if isinstance(path, SequencePath):
        return "/".join(_part(each, step) for each in path.args)
    if isinstance(path, AlternativePath):
        return "|".join(_part(each, step) for each in path.args)
    if isinstance(path, InvPath):
        return f"^{_part(path.arg, step)}"
    if isinstance(path, MulPath):
        return f"{_part(path.path, step)}{path.mod}"
    raise Unsupported("a negated property set is not supported")


def _part(path: Any, step: Callable[[str], str]) -> str:
    from rdflib import URIRef

    text = path_of(path, step)
    return text if isinstance(path, URIRef) else f"({text})"
