"""Rules over the members of lists of any length, written for each list of an ontology: cls-int1, prp-spo2 and
prp-key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tidelog.rdf.matching import SchemaFacts
from tidelog.rdf.tables import TableRule, Triple
from tidelog.rdf.terms import OWL, RDF, SAME_AS, TYPE

_FIRST, _REST, _NIL = f"{RDF}first", f"{RDF}rest", f"{RDF}nil"
INTERSECTION, CHAIN, KEY = f"{OWL}intersectionOf", f"{OWL}propertyChainAxiom", f"{OWL}hasKey"


def without_cells(triples: Sequence[Triple]) -> Iterator[tuple[Triple, tuple[str, ...] | None]]:
    """Yield triples without those of the cells of lists; with a list as its object, one has the members as well."""
    firsts = {each.subject: each.object for each in reversed(triples) if each.predicate == _FIRST}
    rests = {each.subject: each.object for each in reversed(triples) if each.predicate == _REST}
    for each in triples:
        if each.predicate in (_FIRST, _REST):
            continue
        cell, members = each.object, dict[str, str]()
        while cell in firsts and cell not in members:
            members[cell] = firsts[cell]
            cell = rests.get(cell, _NIL)
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
        if cell == _NIL:
            yield members, cells
            continue
        if any(triple.subject == cell for triple in cells):
            continue
        for _, member in facts.matching(Triple(cell, _FIRST, "?m")):
            for _, rest in facts.matching(Triple(cell, _REST, "?r")):
                here = (Triple(cell, _FIRST, member), Triple(cell, _REST, rest))
                waiting.append((rest, (*members, member), (*cells, *here)))
