"""A SELECT or CONSTRUCT in SPARQL as rules: a view that the engine maintains.

rdflib's parser gives the algebra. `bodies` turns a pattern into bodies of rules, one for each way to match it; where a
variable has no value, a body lacks it, and the head has the empty text. What has to be missing, or may be, becomes a
relation of its own beside the view (`ViewRules.helper`), and so do comparisons of numbers, and what is grouped
(`grouping`).

A view has each row once, so a query that gives rows several times needs DISTINCT. It sees the union of all graphs, as
rules do, except in GRAPH and under FROM, which see asserted triples. `expressions` has the filters. Left out, and
refused (E0663): order and limits, some functions.

The triples of a CONSTRUCT view feed back into the store, and are the rows of the view. So each triple of the template
has two rules for each body of the pattern. One derives the triple, as any rule does, and so may be part of a recursion.
The other derives the row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tidelog.database.database import Database
from tidelog.errors import Problem, UsageError, quote, quote_name
from tidelog.functions.callables import GivenAggregate, collect_functions
from tidelog.functions.importing import Library
from tidelog.language.syntax import CheckedProgram
from tidelog.rdf.names import COLON, TRIPLE
from tidelog.rdf.sparql.bodies import (
    TEXT,
    Unsupported,
    ViewBody,
    ViewRules,
    is_plain,
    is_resource,
    limited_bodies,
    literal_of,
    name_of,
    operand_of,
    path_of,
    rule_prefix,
    symbol,
)
from tidelog.rdf.sparql.expressions import alternatives
from tidelog.rdf.sparql.grouping import bind_bodies, group_bodies, repeats, subselect_bodies
from tidelog.rdf.sparql.reading import algebra
from tidelog.rdf.terms import TYPE

COLUMNS = ["subject", "predicate", "object"]


def add_construct_rules(name: str, template: Sequence[Any], found: Sequence[ViewBody], rules: ViewRules) -> None:
    """Add the rules of a template, for the bodies of its pattern."""
    from rdflib import BNode, Literal, URIRef

    for triple in template:
        subject, predicate, _ = triple
        if any(isinstance(each, BNode) for each in triple):
            raise Unsupported("a blank node of a template is another one for each row", "write an IRI")
        if not isinstance(predicate, URIRef):
            raise Unsupported("a template needs IRIs as predicates", "name the predicate, or write a rule")
        if not is_plain(str(predicate)):
            raise Unsupported(f"<{predicate}> cannot be derived", "use IRIs with // as predicates")
        if isinstance(subject, Literal):
            raise Unsupported("a literal is no subject", "write an IRI or a variable")
        for body in found:
            _derive(name, triple, body, rules)


def _derive(name: str, triple: Any, body: ViewBody, rules: ViewRules) -> None:
    """Add the rules of a triple for a body that gives its variables values."""
    subject, predicate, value = triple
    names = [variable for each in triple if (variable := name_of(each)) is not None]
    if not body.variables >= set(names):
        return
    body = body.with_literals(conditions(triple, body))
    rules.derive(f"<{predicate}>({literal_of(subject)}, {literal_of(value)})", body)
    rules.derive(f"{name}({', '.join(map(operand_of, triple))})", body)


def conditions(triple: Any, body: ViewBody) -> Iterator[str]:
    """Yield the conditions of a triple that follows: its subject and its class are no literals."""
    subject, predicate, value = triple
    variable = name_of(subject)
    if variable is not None and variable not in body.resources:
        yield is_resource(f"v_{variable}")
    variable = name_of(value)
    if str(predicate) == TYPE and variable is not None and variable not in body.resources:
        yield is_resource(f"v_{variable}")


# --- views -----------------------------------------------------------------------------------------------------------


_SHOWN = {"Minus": "MINUS", "ToMultiSet": "a sub-select or VALUES", "AggregateJoin": "GROUP BY"}
_WHOLE = frozenset(_SHOWN)
"""Parts that see each graph alone, and not the variable of GRAPH."""


def parts(name: str, database: CheckedProgram) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the relations of a view, those beside it among them, and its rules. Raise UsageError (E0601) if there is
    no such view."""
    prefix = rule_prefix(name) if isinstance(name, str) else None
    rules = tuple(each.name for each in database.texts if prefix and each.name and each.name.startswith(prefix))
    if not rules:
        hint = "pass the name of a view that `store.view` has made"
        raise UsageError(Problem("E0601", f"there is no view {quote_name(name)}", hint=hint))
    return tuple(each for each in database.relations if each == name or each.startswith(f"{name}{COLON}")), rules


def refuse_taken(name: str, database: CheckedProgram) -> None:
    """Raise UsageError (E0663) if there is a relation of this name, or the name means all triples."""
    if name in database.relations or name == TRIPLE:
        hint = "take another name, or drop the view first with store.drop_view"
        raise UsageError(Problem("E0663", f"the name {name} is taken", hint=hint))


def refuse_wrong(name: object) -> None:
    """Raise UsageError (E0663) for what cannot name a view."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*", name):
        hint = "use letters, digits and underscores, such as suspects"
        raise UsageError(Problem("E0663", f"{quote(name)} cannot name a view", hint=hint))


def program(name: str, text: str, prefixes: Mapping[str, str]) -> str:
    """Return the rules of a view. Raise ProgramError (E0664) for a text that is no query, UsageError (E0663) for one
    that cannot be maintained."""
    refuse_wrong(name)
    try:
        return _rules(name, algebra(text, prefixes))
    except Unsupported as error:
        reason = error
    except RecursionError:
        hint = "nest its parts less deeply, and join triples by `;` in place of `.`"
        reason = Unsupported("its parts are nested too deeply, or too many", hint)
    hint = reason.hint or "ask it with store.query when you need it"
    message = f"the view {name} cannot be maintained: {reason}"
    raise UsageError(Problem("E0663", message, hint=hint, place=TEXT))


def _rules(name: str, query: Any) -> str:
    node, is_distinct = projection(query.p)
    rules = ViewRules(name)
    if query.datasetClause:
        rules.choose(*(_graphs(query.datasetClause, sort) for sort in ("default", "named")))
    found = list(bodies(node.p, rules, ViewBody()))
    if query.name == "ConstructQuery":
        columns = COLUMNS
        add_construct_rules(name, query.template or node.p.triples, found, rules)
    else:
        columns = [str(variable) for variable in node.PV]
        wrong = next((name for name in columns if not re.fullmatch(r"[^\W\d]\w*", name)), None)
        if wrong is not None:
            raise Unsupported(f"?{wrong} cannot name a column", "let names of variables begin with a letter")
        if not is_distinct and repeats(found, columns):
            raise Unsupported("it gives some rows several times", "write SELECT DISTINCT")
        for body in found:
            rules.add(name, columns, body)
    if rule_prefix(name) not in rules.text():  # Each view has a rule.
        rules.add(name, columns, ViewBody(("1 = 2",)))
    rules.declare(name, columns)
    return rules.text()


def _graphs(clauses: Any, sort: str) -> list[str]:
    """Return the graphs of FROM, or of FROM NAMED."""
    return [operand_of(clause[sort]) for clause in clauses if sort in clause]


def projection(node: Any) -> tuple[Any, bool]:
    """Return the projection of a SELECT, and whether it is DISTINCT."""
    is_distinct = False
    while node.name in ("Distinct", "Reduced"):
        node, is_distinct = node.p, True
    if node.name != "Project":
        raise Unsupported(f"{_algebra_name(node.name)} needs all rows in order")
    return node, is_distinct


def bodies(node: Any, rules: ViewRules, outer: ViewBody) -> Iterator[ViewBody]:
    """Yield the bodies of a pattern. Filters may use variables of the `outer` body, which comes with them."""
    return rules.spend(_bodies(node, rules, outer))


def _bodies(node: Any, rules: ViewRules, outer: ViewBody) -> Iterator[ViewBody]:
    match node.name:
        case "BGP":
            yield rules.given & patterns(node.triples, rules)
        case "Graph":
            yield from _in_graph(node, rules, outer)
        case "Join":
            others = list(bodies(node.p2, rules, outer))
            yield from limited_bodies(one & other for one in bodies(node.p1, rules, outer) for other in others)
        case "Union":
            yield from bodies(node.p1, rules, outer)
            yield from bodies(node.p2, rules, outer)
        case "Filter":
            for body in bodies(node.p, rules, outer):
                yield from _filter_bodies(node.expr, body, outer, rules)
        case "LeftJoin":
            inner = list(bodies(node.p2, rules, ViewBody()))
            ways = bodies(node.p1, rules, outer)
            yield from limited_bodies(each for body in ways for each in _optional(node.expr, body, inner, rules))
        case "Minus":
            inner = list(bodies(node.p2, rules, ViewBody()))
            for body in bodies(node.p1, rules, outer):
                yield _minus_body(body, inner, rules)
        case "ToMultiSet" if node.p.name == "values":
            yield from _values(node.p.res, rules)
        case "ToMultiSet":
            project, is_distinct = projection(node.p)
            found = list(bodies(project.p, rules, ViewBody()))
            yield from subselect_bodies([str(variable) for variable in project.PV], found, is_distinct, rules)
        case "AggregateJoin":
            yield from group_bodies(node, list(bodies(node.p.p, rules, ViewBody())), rules)
        case "Extend":
            ways = bodies(node.p, rules, outer)
            yield from limited_bodies(each for body in ways for each in bind_bodies(body, str(node.var), node.expr))
        case other:
            raise Unsupported(f"{_algebra_name(other)} is not supported")


def _values(rows: Any, rules: ViewRules) -> Iterator[ViewBody]:
    """Yield the bodies of VALUES: one for each choice of variables that rows give values."""
    alike: dict[frozenset[str], list[ViewBody]] = {}
    for row in rows:
        given = {str(name): operand_of(value) for name, value in row.items() if str(value) != "UNDEF"}
        body = ViewBody(tuple(f"v_{name} = {value}" for name, value in given.items()), frozenset(given))
        alike.setdefault(body.variables, []).append(body)
    for names, found in alike.items():
        atom = rules.helper("values", sorted(names), found)
        is_plain = len({frozenset(body.literals) for body in found}) == len(found)
        yield ViewBody((atom,), names, frozenset(), dict.fromkeys(names, atom), is_plain)


def _filter_bodies(expression: Any, body: ViewBody, outer: ViewBody, rules: ViewRules) -> Iterator[ViewBody]:
    """Yield the bodies of a filter. It sees variables of the outer body, which then are variables of this one."""
    seen = outer & body
    found = alternatives(expression, seen, rules, exists)
    if len(found) > 1:  # Some rows may hold in several of them.
        held = [seen.with_literals(literals) for literals in found]
        yield body.with_literals([rules.helper("filter", sorted(seen.variables), held)])
    elif found:
        yield body.with_literals(found[0])


def _optional(expression: Any, body: ViewBody, inner: list[ViewBody], rules: ViewRules) -> Iterator[ViewBody]:
    """Yield a body with an optional part, and the one without it, where the part does not match."""
    both = [body & other for other in inner]
    if expression is not None and expression.name != "TrueFilter":
        both = [each for one in both for each in _filter_bodies(expression, one, ViewBody(), rules)]
    yield from both
    if both:
        yield body.with_literals([f"!{rules.helper('optional', sorted(body.variables), both)}"])
    else:
        yield body


def _minus_body(body: ViewBody, inner: list[ViewBody], rules: ViewRules) -> ViewBody:
    """Return a body for the rows to which no row of a pattern fits that shares a variable."""
    shared = sorted(body.variables & frozenset[str]().union(*(each.variables for each in inner)))
    if not shared:
        return body
    if any(not each.variables >= set(shared) for each in inner):
        raise Unsupported("MINUS has variables that some of its rows leave without a value")
    return body.with_literals([f"!{rules.helper('minus', shared, inner)}"])


def exists(graph: Any, body: ViewBody, rules: ViewRules) -> str:
    """Return the literal that holds if a pattern matches together with a body."""
    if graph.name.startswith("GroupGraphPattern"):
        from rdflib.plugins.sparql.algebra import translateGroupGraphPattern

        graph = translateGroupGraphPattern(graph)
    both = [body & inner for inner in bodies(graph, rules, body)]
    return rules.helper("exists", sorted(body.variables), both)


def _in_graph(node: Any, rules: ViewRules, outer: ViewBody) -> Iterator[ViewBody]:
    """Yield the bodies of a pattern in a named graph, or in each of them."""
    graph = name_of(node.term)
    if graph is None and not rules.names_graph(operand_of(node.term)):
        return
    if graph is not None and (inside := set(_part_names(node.p)) & _WHOLE):
        raise Unsupported(f"{_algebra_name(min(inside))} stands in GRAPH with a variable", "name the graph")
    with rules.within(operand_of(node.term)):
        found = list(bodies(node.p, rules, outer))
    if graph is not None and any(graph not in body.variables for body in found):
        raise Unsupported(f"GRAPH ?{graph} has parts without a triple pattern")
    yield from found


def _part_names(node: Any) -> Iterator[str]:
    """Yield the names of the parts of a pattern, those in its filters left out."""
    yield node.name
    for part in ("p", "p1", "p2"):
        if getattr(node, part, None) is not None and hasattr(node[part], "name"):
            yield from _part_names(node[part])


def patterns(triples: Any, rules: ViewRules) -> ViewBody:
    from rdflib import URIRef
    from rdflib.paths import InvPath

    found = ViewBody()
    for subject, predicate, value in triples:
        if isinstance(predicate, InvPath) and isinstance(predicate.arg, URIRef):
            subject, predicate, value = value, predicate.arg, subject
        found = found & (_triple if rules.sees_all else _quad)(subject, predicate, value, rules)
    return found


def _quad(subject: Any, predicate: Any, value: Any, rules: ViewRules) -> ViewBody:
    """Return the body of a triple pattern in some graphs."""
    from rdflib.paths import Path

    if isinstance(predicate, Path):
        raise Unsupported("a property path cannot be in GRAPH or under FROM")
    terms = subject, predicate, value
    atom, graph = rules.in_graph(", ".join(map(operand_of, terms)))
    names = [name for each in terms if (name := name_of(each)) is not None] + [graph] * bool(graph)
    resources = [name for name in (name_of(subject), name_of(predicate), graph) if name]
    conditions = rules.graph_conditions(graph) if graph else ()
    found = ViewBody((atom,), frozenset(names), frozenset(resources), dict.fromkeys(names, atom))
    return found.with_literals(conditions)


def _triple(subject: Any, predicate: Any, value: Any, rules: ViewRules) -> ViewBody:
    """Return the body of a triple pattern over all graphs. Rules see facts about literals, which are no triples."""
    from rdflib import Literal, URIRef
    from rdflib.paths import MulPath
    from rdflib.term import Identifier

    if isinstance(subject, Literal):
        raise Unsupported("a literal is no subject")
    names = [name for each in (subject, predicate, value) if (name := name_of(each)) is not None]
    ends = literal_of(subject), literal_of(value)
    plain = isinstance(predicate, Identifier)
    if plain and not isinstance(predicate, URIRef):
        atom = f"triple({ends[0]}, {literal_of(predicate)}, {ends[1]})"
    elif plain and is_plain(str(predicate)):
        atom = f"<{predicate}>({ends[0]}, {ends[1]})"
    elif plain:
        atom = f"triple({ends[0]}, {symbol(predicate)}, {ends[1]})"
    else:
        atom = f"<{path_of(predicate, rules.step)}>({ends[0]}, {ends[1]})"
    resource = name_of(subject) if plain else None
    found = ViewBody(
        (atom,),
        frozenset(names),
        frozenset([resource] if resource else []),
        dict.fromkeys(names, atom),
        plain or isinstance(predicate, MulPath),
    )
    return found.with_literals([is_resource(ends[0])]) if resource else found


def _algebra_name(name: str) -> str:
    """Return a part of the algebra as SPARQL calls it."""
    return {"Slice": "LIMIT", "OrderBy": "ORDER BY", "Extend": "BIND", "Graph": "GRAPH", **_SHOWN}.get(name, name)


# --- functions -------------------------------------------------------------------------------------------------------


def with_functions(text: str, database: Database, functions: tuple[Callable[..., Any], ...]) -> str:
    """Return rules with declarations of those functions that they call, which the database then has. The functions are
    marked by `tidelog.functor` or `tidelog.aggregate`."""
    lines = []
    for function, given in zip(functions, collect_functions(functions), strict=True):
        if not isinstance(given, Library) and given.name in text:
            own = database.workspace.given
            if given.name not in {**own.functions, **own.aggregates}:
                database.import_functions([function])
            if given.name not in database.program.functors:
                types, _, result = str(given.signature).partition("->")
                parameters = ", ".join(f"p{i}: {each.strip()}" for i, each in enumerate(types.split(",")))
                kind = "aggregate" if isinstance(given, GivenAggregate) else "functor"
                lines.append(f".{kind} {given.name}({parameters}): {result.strip()}\n")
    return "".join(lines) + text
