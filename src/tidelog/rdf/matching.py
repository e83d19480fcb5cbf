"""Schema facts, matched with patterns in Python because they are few; and the lists of RDF among them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from tidelog.rdf.tables import TableRule, Triple
from tidelog.rdf.terms import LIST_FIRST, LIST_REST, NIL, OWL, SAME_AS, TYPE, XSD

Binding = dict[str, str]
Pair = tuple[str, str]

_COUNT = re.compile(rf'"\+?0*([01])"\^\^<{re.escape(XSD)}\w+>')


class SchemaFacts:
    """Pairs of properties, each once, and for rdf:type those of `classes`. Indexed when first needed. Lists do not
    change: the same list has the same pairs."""

    def __init__(self, pairs: Mapping[str, list[Pair]], classes: frozenset[str]) -> None:
        self.classes = classes
        self.pairs = pairs
        self._indexes: dict[tuple[str, int], dict[str, list[Pair]]] = {}

    @cached_property
    def members(self) -> Mapping[str, int]:
        """Return the number of members of each class."""
        return Counter(kind for _, kind in self.pairs.get(TYPE, ()))

    def with_pairs(self, pairs: Mapping[str, list[Pair]]) -> SchemaFacts:
        """Return the facts with other pairs for some of the properties."""
        found = SchemaFacts({**self.pairs, **pairs}, self.classes)
        found._indexes = {key: index for key, index in self._indexes.items() if key[0] not in pairs}
        return found

    def candidate_pairs(self, pattern: Triple) -> Iterable[Pair]:
        """Return the pairs that may match a pattern whose predicate is not a variable."""
        key = pattern.predicate
        for position, term in enumerate((pattern.subject, pattern.object)):
            if not term.startswith("?") and term not in ("0", "1"):
                index = self._indexes.get((key, position))
                if index is None:
                    index = self._indexes[key, position] = {}
                    for pair in self.pairs.get(key, ()):
                        index.setdefault(pair[position], []).append(pair)
                return index.get(term, ())
        return self.pairs.get(key, ())


def substitute(triple: Triple, binding: Binding) -> Triple:
    """Return a pattern with its variables replaced by a binding."""
    return Triple(*(binding.get(term, term) for term in triple.terms))


def matches(
    patterns: Sequence[Triple], facts: SchemaFacts, binding: Binding
) -> Iterator[tuple[Binding, tuple[Triple, ...]]]:
    """Yield the bindings that turn all patterns into facts, each with these facts."""
    if not patterns:
        yield binding, ()
        return
    pattern = substitute(patterns[0], binding)
    for subject, value in facts.candidate_pairs(pattern):
        more = dict(binding)
        if _fits(pattern.subject, subject, more) and _fits(pattern.object, value, more):
            for found, used in matches(patterns[1:], facts, more):
                yield found, (Triple(subject, pattern.predicate, value), *used)


def bindings(pattern: Triple, triple: Triple, binding: Binding) -> Iterator[Binding]:
    """Yield the binding that turns a pattern of the table into a triple, if there is one."""
    more = dict(binding)
    if all(_fits(one, other, more) for one, other in zip(pattern.terms, triple.terms, strict=True)):
        yield more


def _fits(pattern: str, term: str, binding: Binding) -> bool:
    """Return True if a term matches; bind the variable if it is one."""
    if pattern.startswith("?"):
        return binding.setdefault(pattern, term) == term
    if pattern in ("0", "1"):
        number = _COUNT.fullmatch(term)
        return number is not None and number[1] == pattern
    return pattern == term


INTERSECTION, CHAIN, KEY = f"{OWL}intersectionOf", f"{OWL}propertyChainAxiom", f"{OWL}hasKey"


def without_cells(triples: Sequence[Triple]) -> Iterator[tuple[Triple, tuple[str, ...] | None]]:
    """Yield triples without those of the cells of lists; with a list as its object, one has the members as well."""
    firsts = {each.subject: each.object for each in reversed(triples) if each.predicate == LIST_FIRST}
    rests = {each.subject: each.object for each in reversed(triples) if each.predicate == LIST_REST}
    for each in triples:
        if each.predicate in (LIST_FIRST, LIST_REST):
            continue
        cell, members = each.object, dict[str, str]()
        while cell in firsts and cell not in members:
            members[cell] = firsts[cell]
            cell = rests.get(cell, NIL)
        yield each, tuple(members.values()) if members else None


def list_rules(facts: SchemaFacts) -> Iterator[tuple[TableRule, tuple[Triple, ...]]]:
    """Yield the rules of all lists among the facts that intersect classes, chain properties or make a key, each with
    the facts that it rests on."""
    for predicate in (INTERSECTION, CHAIN, KEY):
        for subject, head in facts.pairs.get(predicate, ()):
            for members, cells in _lists(facts, head):
                if members:
                    yield _rule(predicate, subject, members), (Triple(subject, predicate, head), *cells)


def _rule(predicate: str, subject: str, members: tuple[str, ...]) -> TableRule:
    numbered = list(enumerate(members))
    if predicate == INTERSECTION:
        types = tuple(Triple("?x", TYPE, member) for member in members)
        return TableRule("cls-int1", types, Triple("?x", TYPE, subject))
    if predicate == CHAIN:
        steps = tuple(Triple(f"?x{i}", member, f"?x{i + 1}") for i, member in numbered)
        return TableRule("prp-spo2", steps, Triple("?x0", subject, f"?x{len(members)}"))
    values = tuple(Triple(who, member, f"?z{i}") for i, member in numbered for who in ("?x", "?y"))
    both = (Triple("?x", TYPE, subject), Triple("?y", TYPE, subject))
    return TableRule("prp-key", (*both, *values), Triple("?x", SAME_AS, "?y"), (("?x", "?y"),))


def _lists(facts: SchemaFacts, head: str) -> Iterator[tuple[tuple[str, ...], tuple[Triple, ...]]]:
    """Yield the lists that begin with a cell, and the triples of each. There is one, unless the data are malformed; a
    list that leads back into itself does not count."""
    waiting: list[tuple[str, tuple[str, ...], tuple[Triple, ...]]] = [(head, (), ())]
    while waiting:
        cell, members, cells = waiting.pop()
        if cell == NIL:
            yield members, cells
            continue
        if any(triple.subject == cell for triple in cells):
            continue
        for _, member in facts.candidate_pairs(Triple(cell, LIST_FIRST, "?m")):
            for _, rest in facts.candidate_pairs(Triple(cell, LIST_REST, "?r")):
                here = (Triple(cell, LIST_FIRST, member), Triple(cell, LIST_REST, rest))
                waiting.append((rest, (*members, member), (*cells, *here)))
