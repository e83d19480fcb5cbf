"""Constraints of SHACL-SPARQL, read from their graph: queries that find the violations of a shape.

`sh:sparql` of a shape, and components of one's own with their validators, become one form: a SELECT with $this and
constants pre-bound. An ASK of $value becomes the SELECT of the values that it does not hold for. `matches` compiles
such a query to bodies of rules; `StoredQuery` asks those that have none, at each validation.

Source: SHACL, sections 5 and 6, and appendix A for pre-binding.

The compiler is that of views in SPARQL. Pre-binding means that $this has its value in every part of a query, also in
those where no pattern binds it. So each group of triple patterns has the literal of the focus nodes, and the constants
(`ViewRules.prebind_variables`).

Queries that no view has are evaluated over the mirror of a store. pyoxigraph substitutes a variable in patterns and
filters, but BOUND and BIND do not see it. So each group of a query begins with VALUES, which has the pre-bound terms.
VALUES takes no blank nodes: these are substituted, or come from a function where the query has such keywords.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from tidelog.errors import TidelogError
from tidelog.language.syntax import Path
from tidelog.rdf.formats import load
from tidelog.rdf.literals import parts
from tidelog.rdf.shapes.documents import SH, SPARQL, ShapesGraph, is_deactivated, is_true
from tidelog.rdf.shapes.paths import path_text
from tidelog.rdf.shapes.testing import fill_message
from tidelog.rdf.sparql.bodies import Unsupported, ViewBody, ViewRules, quote_symbol
from tidelog.rdf.sparql.evaluation import symbol_of
from tidelog.rdf.sparql.mirror import named_graph
from tidelog.rdf.sparql.reading import algebra
from tidelog.rdf.sparql.texts import Word, after_prologue, query_errors, words
from tidelog.rdf.sparql.views import bodies, projection
from tidelog.rdf.terms import OWL, TYPE, ntriples


def query_algebra(text: str, constants: Mapping[str, str]) -> tuple[Any, str]:
    """Return the algebra of a query that a view can have, else None and the reason."""
    if any(word.is_keyword("GRAPH", "FROM") for word in words(text)):
        return None, "it names graphs"
    try:
        found = algebra(text, {})
        matches(found, prebound_body("nodes(v_this)", constants.items()), ViewRules("trial"))
    except Unsupported as error:
        return None, str(error)
    except TidelogError as error:
        return None, error.problems[0].message
    except RecursionError:
        return None, "its parts are nested too deeply, or too many"
    return found, ""


def prebound_body(focus: str, constants: Iterable[tuple[str, str]]) -> ViewBody:
    """Return the body that binds the variables of a query in advance: the literal of the focus nodes, and constants."""
    atoms = {"this": focus, **{name: f"v_{name} = {quote_symbol(value)}" for name, value in constants}}
    return ViewBody(tuple(atoms.values()), frozenset(atoms), frozenset(), atoms)


def matches(query: Any, given: ViewBody, rules: ViewRules) -> list[ViewBody]:
    """Return the bodies of the rows of a query. Raise Unsupported."""
    node, _ = projection(query.p)
    with rules.prebind_variables(given):
        return [given & body for body in bodies(node.p, rules, ViewBody())]


# --- reading ---------------------------------------------------------------------------------------------------------


_REFUSED = ("MINUS", "VALUES", "SERVICE")
"""Keywords that SHACL does not allow, because pre-binding has no meaning there."""
_SHAPE, _GRAPH = "currentShape", "shapesGraph"


@dataclass(frozen=True)
class ShapeQuery:
    """A SELECT whose rows for a focus node $this are violations: its text with prefixes, the names of its columns, and
    the constants that are pre-bound besides; the component, the value that results show as the detail, and messages of
    its own. Without an `algebra`, no view has its rows, for a `reason`."""

    text: str
    columns: tuple[str, ...]
    constants: tuple[tuple[str, str], ...]
    component: str
    detail: str
    messages: tuple[str, ...]
    algebra: Any = field(default=None, compare=False)
    reason: str = ""


@dataclass(frozen=True)
class ShapeComponent:
    """A component of one's own: its parameters, of which some may lack, as pairs of a property and whether it may; and
    its validators for node shapes and for property shapes."""

    name: str
    parameters: tuple[tuple[str, bool], ...]
    for_nodes: str | None
    for_properties: str | None


def components_of(graph: ShapesGraph) -> tuple[ShapeComponent, ...]:
    """Return the components of one's own. SHACL's vocabulary declares its own ones."""
    classes = graph.subclasses(f"{SH}ConstraintComponent")
    names = [each for each in graph.subjects if classes.intersection(graph.objects(each, TYPE))]
    return tuple(_component(graph, name) for name in names if not name.startswith(SH))


def _component(graph: ShapesGraph, name: str) -> ShapeComponent:
    parameters = [
        (path, any(map(is_true, graph.objects(parameter, "optional"))))
        for parameter in graph.objects(name, "parameter")
        for path in graph.objects(parameter, "path")
    ]
    validators = [
        next((each for word in (word, "validator") for each in graph.objects(name, word)), None)
        for word in ("nodeValidator", "propertyValidator")
    ]
    return ShapeComponent(name, tuple(parameters), validators[0], validators[1])


class QueryReader:
    """A reader of the queries of a graph's shapes. `prefixes` are those that queries may use without `sh:prefixes`;
    where nothing is maintained, all queries are left to each validation."""

    def __init__(self, graph: ShapesGraph, prefixes: Mapping[str, str], *, maintains: bool) -> None:
        self._graph = graph
        self._prefixes = prefixes
        self._maintains = maintains
        self._components = components_of(graph)
        self.passed_over = False
        """Whether queries of the last shape were passed over."""

    def queries(self, name: str, path: Path | None) -> Iterator[ShapeQuery]:
        """Yield the queries of a shape. Raise DataError (E0674)."""
        graph, self.passed_over = self._graph, False
        for node in graph.objects(name, "sparql"):
            if node.startswith('"'):
                raise graph.ill_formed(name, "sparql", "is a literal", "give it a node with sh:select")
            if not is_deactivated(graph, node):
                yield from self._read_query(name, path, node, "sparql", SPARQL, node, {})
        used = graph.predicates(name)
        for component in self._components:
            if any(each in used for each, _ in component.parameters) and all(
                is_optional or each in used for each, is_optional in component.parameters
            ):
                yield from self._component(name, path, component)

    def _component(self, name: str, path: Path | None, component: ShapeComponent) -> Iterator[ShapeQuery]:
        """Yield the queries of a component: one for each value if it has one parameter."""
        graph, names = self._graph, [each for each, _ in component.parameters]
        values = {each: found for each in names if (found := graph.objects(name, each))}
        first = next(iter(values))
        if len(names) > 1 and (several := [each for each, found in values.items() if len(found) > 1]):
            shown = ", ".join(map(graph.describe_term, values[several[0]]))
            raise graph.ill_formed(name, several[0], f"needs one value, found {shown}", "keep one of them")
        validator = component.for_nodes if path is None else component.for_properties
        if validator is None:
            reason = f"{graph.describe_term(component.name)} has no validator in SPARQL for this shape"
            self._pass_over(name, first, reason)
            return
        for value in values[first]:
            constants = {_variable(each): found[0] for each, found in values.items()} | {_variable(first): value}
            yield from self._read_query(name, path, validator, first, component.name, value, constants)

    def _read_query(
        self,
        name: str,
        path: Path | None,
        node: str,
        predicate: str,
        component: str,
        detail: str,
        constants: Mapping[str, str],
    ) -> Iterator[ShapeQuery]:
        """Yield the query of a node with `sh:select` or `sh:ask`."""
        graph = self._graph
        texts = [(word, value) for word in ("select", "ask") for value in graph.objects(node, word)]
        if len(texts) != 1 or not texts[0][1].startswith('"') or (texts[0][0] == "ask" and component == SPARQL):
            if any(graph.objects(node, word) for word in ("jsFunctionName", "jsLibrary")):
                self._pass_over(name, predicate, "constraints in JavaScript belong to SHACL's extensions")
                return
            raise graph.ill_formed(name, predicate, "needs one sh:select", "give it the text of a SELECT")
        word, text = texts[0][0], parts(texts[0][1])[0]
        bound = {"this", _SHAPE, _GRAPH, *constants, *(["value"] if word == "ask" else [])}
        found = words(text)
        if _GRAPH in _variables(found):
            self._pass_over(name, predicate, "its query reads $shapesGraph, and a store does not keep the shapes")
            return
        if _SHAPE in _variables(found):
            constants = {**constants, _SHAPE: name}
        if any(value.startswith("_:") for value in constants.values()):
            self._pass_over(name, predicate, "a blank node would be bound in its query")
            return
        self._refuse(name, word, found, bound)
        text = self._with_path(name, word, text, found, path)
        if word == "ask":
            text = _as_select(text, path)
        text = self._prologue(name, node, text) + text
        columns = self._columns(name, word, text)
        messages = graph.objects(node, "message")
        if any(not each.startswith('"') for each in messages):
            raise graph.ill_formed(name, predicate, "has a sh:message that is no text", "correct it")
        parsed, reason = query_algebra(text, constants) if self._maintains else (None, "inferred=False")
        pairs = tuple(constants.items())
        yield ShapeQuery(text, columns, pairs, component, detail, messages, parsed, reason)

    def _pass_over(self, name: str, predicate: str, reason: str) -> None:
        hint = "write it with SELECT, or as a view in SPARQL"
        self._graph.pass_over(self._graph.unsupported_part(name, predicate, reason, hint))
        self.passed_over = True

    def _refuse(self, name: str, word: str, found: list[Word], bound: set[str]) -> None:
        """Raise DataError (E0674) for parts of a query that SHACL does not allow."""
        for each in found:
            if each.is_keyword(*_REFUSED):
                reason, hint = f"contains {each.text.upper()}, which SHACL does not allow", "use FILTER"
                raise self._graph.ill_formed(name, word, reason, hint)
        for one, other in pairwise(found):
            if one.is_keyword("AS") and other.kind == "variable" and other.text[1:] in bound:
                reason = f"gives a value to {other.text}, which is bound before"
                raise self._graph.ill_formed(name, word, reason, "use another name")

    def _with_path(self, name: str, word: str, text: str, found: list[Word], path: Path | None) -> str:
        """Return a text with the path of a property shape in the place of $PATH."""
        pieces, start = [], 0
        for each in found:
            if each.kind == "variable" and each.text[1:] == "PATH":
                if path is None:
                    hint = "put it into a property shape, with sh:path"
                    raise self._graph.ill_formed(name, word, "contains $PATH, but the shape has no path", hint)
                pieces += [text[start : each.start], path_text(path)]
                start = each.end
        return "".join([*pieces, text[start:]])

    def _prologue(self, name: str, node: str, text: str) -> str:
        """Return the declarations of the prefixes that a text may use."""
        declared = dict[str, str]()
        waiting = [*self._graph.objects(node, "prefixes")]
        for each in waiting:
            waiting += [other for other in self._graph.objects(each, f"{OWL}imports") if other not in waiting]
            for declaration in self._graph.objects(each, "declare"):
                prefix, iri = (self._graph.objects(declaration, part) for part in ("prefix", "namespace"))
                if len(prefix) != 1 or len(iri) != 1 or not (prefix[0].startswith('"') and iri[0].startswith('"')):
                    hint = 'write [ sh:prefix "ex" ; sh:namespace "http://example.org/"^^xsd:anyURI ]'
                    raise self._graph.ill_formed(name, "declare", "needs one sh:prefix and one sh:namespace", hint)
                key, value = parts(prefix[0])[0], parts(iri[0])[0]
                if declared.setdefault(key, value) != value:
                    reason = f"gives the prefix {key}: two namespaces, {declared[key]} and {value}"
                    raise self._graph.ill_formed(name, "prefixes", reason, "keep one of them")
        used = {key: iri for key, iri in {**self._prefixes, **declared}.items() if f"{key}:" in text}
        return "".join(f"PREFIX {key}: <{iri}>\n" for key, iri in used.items())

    def _columns(self, name: str, word: str, text: str) -> tuple[str, ...]:
        """Return the columns of a query. Raise DataError (E0674) for one that cannot be parsed, or has no $this."""
        columns = self._selected_columns(name, word, text)
        if "this" not in columns:
            raise self._graph.ill_formed(name, word, "does not select $this", "begin it with SELECT $this")
        for start, end in _subselects(text):
            inner = self._selected_columns(name, word, _prologue_of(text) + text[start:end])
            if "this" not in inner and (word == "select" or "this" in _variables(words(text[start:end]))):
                raise self._graph.ill_formed(name, word, "has a sub-select without $this", "let it select $this, too")
        return columns

    def _selected_columns(self, name: str, word: str, text: str) -> tuple[str, ...]:
        try:
            with query_errors(text, f"sh:{word}"):
                results = load().Store().query(text)
        except TidelogError as error:
            hint = error.problems[0].hint or "correct the query"
            raise self._graph.ill_formed(name, word, f"cannot be parsed: {error.problems[0].message}", hint) from None
        return tuple(each.value for each in getattr(results, "variables", ()))


def _variable(parameter: str) -> str:
    """Return the name of the variable of a parameter: the last part of its IRI."""
    return re.split("[#/:]", parameter)[-1]


def _variables(found: list[Word]) -> set[str]:
    return {each.text[1:] for each in found if each.kind == "variable"}


def _prologue_of(text: str) -> str:
    """Return the declarations in front of a query."""
    return text[: after_prologue(words(text))[0].start]


def _subselects(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of the sub-selects of a query."""
    found = words(text)
    for i, each in enumerate(found):
        if each.depth and each.is_keyword("SELECT"):
            end = (other.start for other in found[i:] if other.is_mark("}") and other.depth == each.depth - 1)
            yield each.start, next(end, len(text))


def _as_select(text: str, path: Path | None) -> str:
    """Return an ASK of $value as the SELECT of the values for which it does not hold."""
    found = words(text)
    ask = next((each for each in found if each.depth == 0 and each.is_keyword("ASK")), None)
    brace = next((each for each in found if each.is_mark("{")), None)
    if ask is None or brace is None:
        return text
    values = "BIND ($this AS ?value)" if path is None else f"$this {path_text(path)} ?value ."
    head = f"SELECT DISTINCT $this ?value WHERE {{ {values} FILTER NOT EXISTS "
    return f"{text[: ask.start]}{head}{text[brace.start :]}\n}}"  # It may end with a comment.


# --- evaluating ------------------------------------------------------------------------------------------------------


QUERIES = "queries"
"""The relation beside the view of violations with such queries, in the columns of `StoredQuery`."""
_NODE = "urn:tidelog:this"
_SEEING = ("AS", "BOUND", "COALESCE", "IF")
"""Keywords of parts that do not see a variable that is substituted."""
Ask = Callable[[str, Mapping[str, Any], bool], Any]
"""Evaluates a text with options of pyoxigraph, with or without the triples that follow."""


class StoredQuery(NamedTuple):
    """A query as the program of a store keeps it: the relation of its focus nodes, the path of its shape, the text as a
    literal, the constants as `name term` with tabs between, and whether it sees the triples that follow."""

    focus: str
    path: str
    shape: str
    component: str
    severity: str
    message: str
    detail: str
    text: str
    constants: str
    scope: str

    def rows(self, nodes: Iterable[str], ask: Ask) -> Iterator[tuple[str, ...]]:
        """Yield the violations for some focus nodes, as the view has them."""
        template = _Template(parts(self.text)[0])
        constants = dict(pair.split(" ", 1) for pair in self.constants.split("\t") if pair)
        for node in nodes:
            text, options = template.bind_node(node, constants)
            results = ask(text, options, self.scope == "inferred")
            names = [variable.value for variable in results.variables]
            for solution in results:
                terms = {name: symbol_of(solution[name]) for name in names} | {"this": node} | constants
                yield self._row(node, {name: term for name, term in terms.items() if term})

    def _row(self, node: str, terms: Mapping[str, str]) -> tuple[str, ...]:
        value = terms.get("value", "" if self.path else node)
        message = terms.get("message") or fill_message(self.message, "\t".join(terms), "\t".join(terms.values()))
        fixed = self.shape, self.component, self.severity, message, self.detail
        return node, terms.get("path", self.path), value, *fixed


class _Template:
    """A query, to be asked for many nodes."""

    def __init__(self, text: str) -> None:
        found = words(text)
        groups = [
            one.end
            for one, other in pairwise(found)
            if one.is_mark("{") and not other.is_keyword("SELECT") and text[one.end : one.end + 1] != "|"
        ]
        places = [0, *groups, len(text)]
        self._pieces = [text[i:j] for i, j in pairwise(places)]
        self._is_seeing = any(word.is_keyword(*_SEEING) for word in found)

    def bind_node(self, node: str, constants: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
        """Return the text and the options of the query for a node."""
        pairs, options = dict(constants), dict[str, Any]()
        start = " "
        if not node.startswith("_:"):
            pairs["this"] = node
        elif self._is_seeing:
            start = f" BIND (<{_NODE}>() AS ?this) "
            options["custom_functions"] = {load().NamedNode(_NODE): lambda: named_graph(node)}
        else:
            options["substitutions"] = {load().Variable("this"): named_graph(node)}
        if pairs:
            names, terms = " ".join(f"?{name}" for name in pairs), " ".join(map(ntriples, pairs.values()))
            start += f" VALUES ({names}) {{ ({terms}) }} "
        return start.join(self._pieces), options
