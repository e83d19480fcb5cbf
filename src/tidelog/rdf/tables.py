"""The rules of OWL 2 RL/RDF and of RDFS. `rule_sets/` has them in the notation of their tables: triples with variables,
`=>` before the conclusion, `false` for an inconsistency (behind it the terms that clash). `axiomatic.txt` has the
axiomatic triples of RDF 1.2 and RDFS, several subjects in a line; `of_member` has those of `rdf:_1`.

Source: OWL 2 Web Ontology Language Profiles (Second Edition), section 4.3, tables 4 to 9; RDF 1.1 Semantics, section 9.
Left out are rules whose conclusions say nothing (eq-ref: everything is the same as itself; prp-ap, cls-thing,
cls-nothing1, rdfs1; axiomatic triples, rdfD2, rdfs4 and rdfs8 are a table of their own), those about values of literals
(dt-not-type, dt-diff, see `literals`; dt-eq is a table of its own; dt-type1, dt-type2), and those that follow from
others here: cls-int2 from scm-int and cax-sco, cls-uni from scm-uni, cax-eqc1 and cax-eqc2 from scm-eqc1, prp-eqp1 and
prp-eqp2 from scm-eqp1. Rules over the members of lists of any length (cls-int1, prp-spo2, prp-key) are
written by `matching`.

`?x != ?z` in rules about owl:sameAs leaves out what eq-ref would say. `tidelog:member` connects a list that is
complete with each of its members, `tidelog:cell` one whose members differ with each of its cells: of two members that
must differ, each has a place of its own, whatever else it is the same as. (A second rule of a name is for a member with
two places, which eq-ref makes the same as itself.) `0` and `1` are such numbers of any integer type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from tidelog.rdf.terms import PREFIXES, RDF

MEMBER = "tidelog:member"
"""The property that connects lists with their members; internal."""
CELL = "tidelog:cell"
"""The property that connects lists of what must differ with their cells; internal."""
FALSE = "tidelog:false"
"""In place of the predicate of a conclusion."""


AXIOM = "tidelog:axiom"
"""The internal property of one pair, which is there where axiomatic triples are asked for: these follow from it."""
LITERAL_RULES = frozenset(["dt-not-type", "dt-diff", "dt-eq"])
"""Rules about values of literals, which `literals` writes."""
RULE_SETS = ("owl-rl", "rdfs", "datatypes", "axioms")
"""The names of the tables, each a file of `rule_sets/`."""


class Triple(NamedTuple):
    """A pattern: terms, and variables, which begin with `?`. In a conclusion `predicate` may be FALSE; subject and
    object are then the first two terms that clash, and `more` the third.

    There are many, in sets: tuples are made and compared faster than dataclasses."""

    subject: str
    predicate: str
    object: str
    more: str = ""

    @property
    def terms(self) -> tuple[str, str, str, str]:
        return self


@dataclass(frozen=True)
class TableRule:
    """A rule: `head` follows from `body` if the terms of each pair of `unequal` differ."""

    name: str
    body: tuple[Triple, ...]
    head: Triple
    unequal: tuple[tuple[str, str], ...] = ()


@cache
def table(name: str) -> tuple[TableRule, ...]:
    rules = list(map(_rule, _lines(name)))
    if name == "axioms":
        for line in _lines("axiomatic"):
            *subjects, predicate, value = line.split()
            rules += [axiomatic(*map(_full, (subject, predicate, value))) for subject in subjects]
    return tuple(rules)


def _lines(name: str) -> list[str]:
    text = files("tidelog.rdf").joinpath("rule_sets", f"{name}.txt").read_text("utf-8")
    return [line for line in text.splitlines() if line]


def axiomatic(*terms: str) -> TableRule:
    """Return the rule of an axiomatic triple, which follows from nothing."""
    return TableRule("axiom", (Triple(AXIOM, AXIOM, AXIOM),), Triple(*terms))


_MEMBERSHIP = re.compile(rf"{re.escape(RDF)}_[1-9][0-9]*")


def of_member(name: str) -> Iterator[TableRule]:
    """Yield the rules of the axiomatic triples of a membership property of containers; none for other properties."""
    if _MEMBERSHIP.fullmatch(name):
        yield axiomatic(name, _full("rdf:type"), _full("rdfs:ContainerMembershipProperty"))
        yield axiomatic(name, _full("rdfs:domain"), _full("rdfs:Resource"))
        yield axiomatic(name, _full("rdfs:range"), _full("rdfs:Resource"))


def is_axiomatic(triple: Triple) -> bool:
    return any(rule.name == "axiom" and rule.head == triple for rule in (*table("axioms"), *of_member(triple.subject)))


def _rule(line: str) -> TableRule:
    name, rest = line.split(None, 1)
    body, head = (part.strip() for part in rest.split("=>"))
    parts = [part.split() for part in body.split(" . ")]
    unequal = tuple((part[0], part[2]) for part in parts if part[1] == "!=")
    triples = tuple(_triple(*part) for part in parts if part[1] != "!=")
    first, *others = head.split()
    if first == "false":
        subject, object_, more = (*others, "", "")[:3]
        return TableRule(name, triples, Triple(subject, FALSE, object_, more), unequal)
    return TableRule(name, triples, _triple(first, *others), unequal)


def _triple(*terms: str) -> Triple:
    return Triple(*map(_full, terms))


def _full(term: str) -> str:
    """Return a variable or number as it is, a prefixed name in full."""
    prefix, _, local = term.partition(":")
    return PREFIXES[prefix] + local if prefix in PREFIXES else term
