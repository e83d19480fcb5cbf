"""Certificates made wrong, by one fault each. A corruption gives None for a certificate that leaves no room for it.

Each is wrong for certain: a view that lacks a tuple, or has one too many, is not the model; a tuple of a relation
without rules that is not asserted follows from nothing; births are shuffled until tests/recount.py finds a tuple that
no derivation from older ones supports.

`FORGERIES` change the text that the extracted checker reads, in what `db.check()` computes instead of reading it: the
strata, of two relations of which one reads the other, and which relations are declared.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import product

import numpy
from numpy.typing import NDArray

from tests.generate import Row
from tests.recount import derived_by
from tidelog.certificate import Certificate
from tidelog.io.relation import Relation, WordRows
from tidelog.rules.core import head_of

Words = NDArray[numpy.int64]
Corruption = Callable[[random.Random, Certificate], Certificate | None]


def tuple_removed(rng: random.Random, certificate: Certificate) -> Certificate | None:
    """Remove a tuple of a view, whether or not others follow from it."""
    candidates = [(name, index) for name in certificate.program.relations for index in range(_size(certificate, name))]
    if not candidates:
        return None
    name, index = rng.choice(candidates)
    rows, births = certificate.view(name)
    return _with_views(certificate, {name: (numpy.delete(rows, index, axis=0), numpy.delete(births, index))})


def tuple_added(rng: random.Random, certificate: Certificate) -> Certificate | None:
    """Add a tuple to a view, of values that occur, and younger than another of its tuples."""
    relations = certificate.program.relations
    occurring: dict[str, set[int]] = {}
    for name, info in relations.items():
        for index, column in enumerate(info.columns):
            occurring.setdefault(column.kind, set()).update(certificate.view(name)[0][:, index].tolist())
    for name in rng.sample(list(relations), len(relations)):
        rows, births = certificate.view(name)
        columns = [sorted(occurring[column.kind])[:10] for column in relations[name].columns]
        absent = sorted(set(product(*columns)) - set(map(tuple, rows.tolist())))
        if absent:
            row = numpy.array([rng.choice(absent)], numpy.int64).reshape(1, len(columns))
            birth = 1 + rng.choice(births.tolist() or [0])
            return _with_views(certificate, {name: (numpy.concatenate([rows, row]), numpy.append(births, birth))})
    return None


def births_shuffled(rng: random.Random, certificate: Certificate) -> Certificate | None:
    """Shuffle the births of a stratum, so that some of its tuples support each other in a circle only."""
    strata = sorted(set(certificate.strata.values()))
    for stratum in rng.sample(strata, len(strata)):
        names = [name for name, each in certificate.strata.items() if each == stratum]
        births = [birth for name in names for birth in certificate.view(name)[1].tolist()]
        for _ in range(60):
            rng.shuffle(births)
            dealt = iter(births)
            views = {}
            for name in names:
                rows = certificate.view(name)[0]
                views[name] = rows, numpy.array([next(dealt) for _ in rows], numpy.int64)
            shuffled = _with_views(certificate, views)
            if _has_unfounded(shuffled, names):
                return shuffled
    return None


def fact_removed(rng: random.Random, certificate: Certificate) -> Certificate | None:
    """Remove an asserted tuple of a relation without rules."""
    derived = {head_of(rule) for rule in certificate.rules}
    given = [name for name in certificate.declared_relations if name not in derived]
    candidates = [(name, index) for name in given for index in range(len(certificate.facts(name)))]
    if not candidates:
        return None
    name, index = rng.choice(candidates)
    left = numpy.delete(certificate.facts(name), index, axis=0)
    facts = certificate.facts
    return replace(certificate, facts=lambda each: left if each == name else facts(each))


def stratum_swapped(rng: random.Random, text: str) -> str | None:
    """Swap the strata of a relation and another that it reads."""
    lines = [line.split() for line in text.splitlines()]
    strata = {words[1]: words[2] for words in lines if words[0] in ("declared", "auxiliary")}
    pairs, head = [], ""
    for words in lines:
        head = words[1] if words[0] == "head" else head
        if words[0] in ("body", "not") and strata[words[1]] != strata[head]:
            pairs.append((head, words[1]))
    if not pairs:
        return None
    reader, read = rng.choice(pairs)
    strata |= {reader: strata[read], read: strata[reader]}
    for words in lines:
        if words[0] in ("declared", "auxiliary"):
            words[2] = strata[words[1]]
    return "".join(f"{' '.join(words)}\n" for words in lines)


def intermediate_fact(rng: random.Random, text: str) -> str | None:
    """Assert a fact of an intermediate result, in its view as well."""
    lines = [line.split() for line in text.splitlines()]
    auxiliary = {words[1] for words in lines if words[0] == "auxiliary"}
    heads = [words for words in lines if words[0] == "head" and words[1] in auxiliary]
    if not heads:
        return None
    _, number, *terms = rng.choice(heads)
    row = " ".join([number, *(["7777"] * len(terms))])
    return f"{text}fact {row}\ntuple 0 {row}\n"


CORRUPTIONS: Mapping[str, Corruption] = {
    "tuple removed": tuple_removed,
    "tuple added": tuple_added,
    "births shuffled": births_shuffled,
    "fact removed": fact_removed,
}
FORGERIES: Mapping[str, Callable[[random.Random, str], str | None]] = {
    "strata": stratum_swapped,
    "declared": intermediate_fact,
}
"""By the condition that the extracted checker has to name."""


def _size(certificate: Certificate, name: str) -> int:
    return len(certificate.view(name)[0])


def _with_views(certificate: Certificate, views: Mapping[str, tuple[Words, Words]]) -> Certificate:
    others = certificate.view
    return replace(certificate, view=lambda name: views[name] if name in views else others(name))


def _has_unfounded(certificate: Certificate, names: list[str]) -> bool:
    """Return True if some tuple of these relations, a stratum, is neither asserted nor follows from older ones."""
    tables = {}
    for name in certificate.program.relations:
        rows, births = certificate.view(name)
        decoded = _decoded(certificate, name, rows)
        tables[name] = {row: (birth, 0) for row, birth in zip(decoded, births.tolist(), strict=True)}
    asserted = {
        (certificate.program.candidates.get(name, name), row)
        for name in certificate.declared_relations
        for row in _decoded(certificate, name, certificate.facts(name))
    }
    unfounded = {(name, row) for name in names for row in tables[name]} - asserted
    for rule in certificate.rules:
        head = head_of(rule)
        if head in names:
            derivations = derived_by(rule, frozenset(names), tables, {})
            unfounded -= {
                (head, row) for row, youngest in derivations if row in tables[head] and youngest < tables[head][row][0]
            }
    return bool(unfounded)


def _decoded(certificate: Certificate, name: str, rows: Words) -> list[Row]:
    columns = certificate.program.relations[name].columns
    return list(Relation(name, WordRows(columns, certificate.dictionary, rows)))
