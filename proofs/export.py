"""A certificate as the text that the extracted checker reads; its format is described at the head of driver.ml.

    python -m proofs.export FOLDER > certificate.txt && proofs/_build/check certificate.txt

The proofs are about rules of atoms, negated atoms, comparisons, sums, differences, minima and maxima, over integers. So
a program with anything else computed, packed or aggregated, or with floats, is not exported: see `covered`. Minima and
maxima of groups become relations that select. Facts of a relation that selects are its candidates'. Programs with
counters are not exported: no theorem is about their numbers, which `db.check()` alone compares. Symbols are numbered in
their order; of records only the equality matters, so that their words will do. Integers have no bounds for the checker:
it rejects a view with a tuple whose computation has wrapped around.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tidelog.certificate import Certificate, load
from tidelog.language.syntax import Kind
from tidelog.rules.core import (
    AggregateRule,
    Computation,
    CoreAtom,
    CoreComparison,
    CoreConstant,
    CoreLiteral,
    CoreProgram,
    CoreRule,
    CoreValue,
    CoreVariable,
)

SWAPPED = {">": "<", ">=": "<="}
OPERATORS = {"=", "!=", "<", "<=", *SWAPPED}
FUNCTORS = {"+", "-", "min", "max"}
BEST = {"min", "max"}
"""The aggregates that select."""

Number = Callable[[int, Kind], int]
"""The integer that stands for a word of some kind."""


def covered(core: CoreProgram) -> bool:
    """Return True if the proofs are about such a program."""
    floats = any(column.kind == "float" for info in core.relations.values() for column in info.columns)
    rules = [rule for node in core.nodes for rule in node.rules]
    return not floats and all(
        all(map(_covered, rule.body)) if isinstance(rule, CoreRule) else rule.op in BEST for rule in rules
    )


def _covered(literal: CoreLiteral) -> bool:
    match literal:
        case CoreAtom():
            return True
        case CoreComparison(op=op):
            return op in OPERATORS
        case Computation(functor=functor, kind=kind, args=args):
            return functor in FUNCTORS and kind == "number" and len(args) == 2
    return False


def text_of(certificate: Certificate) -> str:
    """Return the certificate of a `covered` program as the checker reads it."""
    return "".join(f"{line}\n" for line in _lines(certificate))


def _lines(certificate: Certificate) -> Iterator[str]:
    relations, number = certificate.program.relations, _numbering(certificate)
    place = {name: place for place, name in enumerate(relations)}
    eldest = min((int(births.min()) for name in relations if len(births := certificate.view(name)[1])), default=0)
    given = {certificate.program.candidates.get(name, name) for name in certificate.declared_relations}
    for name in relations:
        sort = "declared" if name in given else "auxiliary"
        yield f"{sort} {place[name]} {certificate.strata[name]} {_word(name)}"
    for name, selection in certificate.selects.items():
        orders = [f"{op} {column}" for column, op, _ in selection.orders]
        if not selection.domains:
            yield " ".join(["front" if selection.front else "select", str(place[name]), *orders])
        for domain in selection.domains:
            yield " ".join(map(str, ["choice", place[name], *domain]))
    for rule in certificate.rules:
        if isinstance(rule, AggregateRule):
            yield from _best_lines(rule, place, len(relations[rule.inner].columns))
        else:
            yield from _rule_lines(rule, place, certificate, number)
    for name, info in relations.items():
        kinds = [column.kind for column in info.columns]
        facts = place[certificate.program.candidates.get(name, name)]
        for row in certificate.facts(name).tolist() if not info.auxiliary else ():
            yield " ".join(map(str, ["fact", facts, *map(number, row, kinds)]))
        rows, births = certificate.view(name)
        for row, birth in zip(rows.tolist(), births.tolist(), strict=True):
            yield " ".join(map(str, ["tuple", birth - eldest, place[name], *map(number, row, kinds)]))


def _rule_lines(rule: CoreRule, place: dict[str, int], certificate: Certificate, number: Number) -> Iterator[str]:
    variables = {name: f"x{index}" for index, name in enumerate(dict.fromkeys(_variables(rule)))}

    def term(value: CoreValue) -> str:
        if isinstance(value, CoreVariable):
            return variables[value.name]
        return str(number(certificate.dictionary.encode(value.value, value.kind), value.kind))

    tests = [f"test = {term(each.target)} {_computed(each, term)}" for each in _inline(rule, variables, term)]

    def atom(atom: CoreAtom) -> str:
        return " ".join([str(place[atom.relation]), *map(term, atom.args)])

    yield f"rule {_word(rule.name)}"
    yield f"head {atom(rule.head)}"
    for positive in _connected([each for each in rule.body if isinstance(each, CoreAtom) and not each.negated]):
        yield f"body {atom(positive)}"
    for literal in rule.body:
        if isinstance(literal, CoreAtom) and literal.negated:
            yield f"not {atom(literal)}"
        elif isinstance(literal, CoreComparison):
            left, right = term(literal.left), term(literal.right)
            swapped = SWAPPED.get(literal.op)
            yield f"test {swapped} {right} {left}" if swapped else f"test {literal.op} {left} {right}"
    yield from tests


def _best_lines(rule: AggregateRule, place: dict[str, int], columns: int) -> Iterator[str]:
    """Yield the lines of a minimum or maximum: a relation that selects from all values of each group."""
    groups, inner = ([f"x{i}" for i in range(count)] for count in (rule.groups, columns))
    yield f"select {place[rule.head]} {rule.op} {rule.groups}"
    yield f"rule {_word(rule.name)}"
    yield " ".join(["head", str(place[rule.head]), *inner[: rule.groups + 1]])
    yield " ".join(["body", str(place[rule.outer]), *groups])
    yield " ".join(["body", str(place[rule.inner]), *inner])


def _inline(rule: CoreRule, variables: dict[str, str], term: Callable[[CoreValue], str]) -> list[Computation]:
    """Let the variables that the rule computes stand for their computations; return those that compare instead."""
    known = {arg for each in rule.body if isinstance(each, CoreAtom) and not each.negated for arg in each.args}
    waiting, compared = [each for each in rule.body if isinstance(each, Computation)], []
    while waiting:
        each = next(each for each in waiting if all(isinstance(arg, CoreConstant) or arg in known for arg in each.args))
        waiting.remove(each)
        if isinstance(each.target, CoreConstant) or each.target in known:
            compared.append(each)
        else:
            variables[each.target.name] = _computed(each, term)
            known.add(each.target)
    return compared


def _computed(computation: Computation, term: Callable[[CoreValue], str]) -> str:
    return ",".join([computation.functor, *map(term, computation.args)])


def _word(name: str) -> str:
    """Return a name without blanks, which separate the words of a line."""
    return "_".join(name.split())


def _connected(atoms: list[CoreAtom]) -> list[CoreAtom]:
    """Return the atoms in an order in which earlier ones bind as much of each as possible; the checker keeps to it."""
    ordered: list[CoreAtom] = []
    bound: set[CoreValue] = set()
    while atoms:
        best = max(atoms, key=lambda atom: sum(isinstance(arg, CoreConstant) or arg in bound for arg in atom.args))
        atoms = [atom for atom in atoms if atom is not best]
        ordered.append(best)
        bound |= set(best.args)
    return ordered


def _numbering(certificate: Certificate) -> Number:
    dictionary = certificate.dictionary
    symbols = {dictionary.encode(value.value, "symbol") for value in _constants(certificate) if value.kind == "symbol"}
    for name, info in certificate.program.relations.items():
        tables: list[NDArray[Any]] = [certificate.view(name)[0]]
        tables += [] if info.auxiliary else [certificate.facts(name)]
        for index, column in enumerate(info.columns):
            if column.kind == "symbol":
                symbols.update(word for table in tables for word in table[:, index].tolist())
    ranked = sorted(symbols, key=lambda word: str(dictionary.decode(word, "symbol")))
    ranks = {word: rank for rank, word in enumerate(ranked)}

    def number(word: int, kind: Kind) -> int:
        if kind == "symbol":
            return ranks[word]
        return word % 2**64 if kind == "unsigned" else word

    return number


def _rules(certificate: Certificate) -> list[CoreRule]:
    return [rule for rule in certificate.rules if isinstance(rule, CoreRule)]


def _constants(certificate: Certificate) -> Iterator[CoreConstant]:
    return (value for rule in _rules(certificate) for value in _values(rule) if isinstance(value, CoreConstant))


def _variables(rule: CoreRule) -> Iterator[str]:
    return (value.name for value in _values(rule) if isinstance(value, CoreVariable))


def _values(rule: CoreRule) -> Iterator[CoreValue]:
    for literal in (rule.head, *rule.body):
        if isinstance(literal, CoreAtom):
            yield from literal.args
        elif isinstance(literal, CoreComparison):
            yield from (literal.left, literal.right)
        elif isinstance(literal, Computation):
            yield from (literal.target, *literal.args)


def main(folder: str) -> int:
    """Print the text of a certificate that `db.save_certificate` has written; return 2 if its program is not
    covered."""
    certificate = load(Path(folder))
    if not covered(certificate.program):
        print(f"{folder}: the program has more than atoms, comparisons, sums and minima, or floats", file=sys.stderr)
        return 2
    print(text_of(certificate), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
