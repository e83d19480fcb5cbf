"""Rules in N3 as text of the language, which a store loads like any other rules.

Triples become atoms as in views of SPARQL. A blank node of a body is a variable. In a head it would be a new node for
each match, which rules do not make.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any

from tidelog.errors import Problem, UsageError
from tidelog.rdf.n3.builtins import BuiltinLiterals, builtin, without_lists
from tidelog.rdf.n3.reading import N3Rule
from tidelog.rdf.names import TRIPLE
from tidelog.rdf.sparql.bodies import Unsupported, ViewRules
from tidelog.rdf.sparql.constructing import conditions
from tidelog.rdf.sparql.paths import is_plain, literal_of, name_of, symbol
from tidelog.rdf.sparql.views import patterns
from tidelog.rdf.terms import shown_term


def rule_texts(name: str, rule: N3Rule) -> dict[str, str]:
    """Return a rule of this name as text, with its name. It becomes several if some triples of the head follow under
    further conditions. Raise UsageError (E0678) for one that cannot be."""
    from rdflib import URIRef
    from rdflib.graph import QuotedGraph

    renamed = _Renaming()
    body, head = ([tuple(map(renamed.term, triple)) for triple in triples] for triples in (rule.body, rule.head))
    terms = [term for triple in (*body, *head) for term in triple]
    if any(isinstance(term, QuotedGraph) for term in terms):
        hint = "write the rule in the language of rules, for instance with `!` before an atom"
        raise _refused(rule, "a formula inside of another one is not supported", hint)
    try:
        matched, builtins, lists = without_lists(body)
        found = patterns(matched, ViewRules(name))
        literals = BuiltinLiterals(lists, found.variables, rule.span)
        found = found.with_literals(literals.literals(builtins))
    except Unsupported as error:
        raise _refused(rule, str(error), error.hint) from None
    heads: dict[tuple[str, ...], list[str]] = {}
    for triple in head:
        _refuse_head(rule, triple, literals.bound)
        subject, predicate, value = triple
        own = heads.setdefault(tuple(conditions(triple, found)), [])
        if isinstance(predicate, URIRef) and is_plain(str(predicate)):
            own.append(f"<{predicate}>({literal_of(subject)}, {literal_of(value)})")
        else:
            shown = symbol(predicate) if isinstance(predicate, URIRef) else literal_of(predicate)
            own.append(f"{TRIPLE}({literal_of(subject)}, {shown}, {literal_of(value)})")
    if not heads:
        raise _refused(rule, "the head is empty", "write the triples that follow")
    names = (name if number == 1 else f"{name}_{number}" for number in range(1, len(heads) + 1))
    bodies = (found.with_literals(more).literals for more in heads)
    return {
        each: f"{each}: {', '.join(dict.fromkeys(atoms))} :- {', '.join(body) or '1 = 1'}.\n"
        for each, atoms, body in zip(names, heads.values(), bodies, strict=True)
    }


def _refuse_head(rule: N3Rule, triple: Any, bound: Collection[str]) -> None:
    from rdflib import BNode, Literal, Variable

    if any(isinstance(term, BNode) for term in triple):
        reason = "the head has a blank node: each match would make another one, perhaps without end"
        raise _refused(rule, reason, "use an IRI, or a variable of the body")
    subject, predicate, _ = triple
    if isinstance(subject, Literal) or isinstance(predicate, Literal):
        raise _refused(
            rule, f"{shown_term(triple[0])} {shown_term(triple[1])} … is no triple", "use an IRI or a variable"
        )
    if builtin(predicate) is not None:
        raise _refused(rule, f"the built-in {builtin(predicate)} stands in the head", "move it into the body")
    for term in triple:
        if isinstance(term, Variable) and name_of(term) not in bound:
            raise _refused(rule, f"?{term} stands in the head, but the body gives it no value", "use it in the body")


def _refused(rule: N3Rule, message: str, hint: str) -> UsageError:
    return UsageError(Problem("E0678", message, rule.span, hint=hint))


class _Renaming:
    """Names of variables that rules can have: those of @forAll are IRIs."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def term(self, term: Any) -> Any:
        """Return a term, a variable under its new name."""
        from rdflib import Variable

        if not isinstance(term, Variable):
            return term
        if term not in self._names:
            name = re.sub(r"\W", "_", re.split(r"[#/]", term)[-1])
            taken = set(self._names.values())
            self._names[term] = name if name not in taken else f"{name}_{len(taken)}"
        return Variable(self._names[term])


def rule_names(prefix: str, count: int, taken: Collection[str]) -> Iterator[str]:
    """Yield names for so many rules that no other rule has."""
    number = 0
    while count:
        number += 1
        if f"{prefix}_{number}" not in taken:
            count -= 1
            yield f"{prefix}_{number}"
