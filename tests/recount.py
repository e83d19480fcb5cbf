"""Is the state of a database right? Every derivation over its views, counted from scratch.

A state is right when (docs/theory.md)
- every derivation over the views has its head in the view,
- the count of every derived tuple is the number of its derivations from strictly older tuples of its own hyper-node,
  and one for an asserted fact, and is positive; closures do not count, but have such derivations all the same; its
  support is the number of all its derivations and facts.
The first makes the views closed under the rules, the second makes every tuple derivable: together they are the least
model, and nobody has to evaluate anything. Bodies of atoms and comparisons of numbers become nested loops; all others
go to the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import count as numbers
from typing import Any

import tidelog
from tests.generate import Row
from tidelog.io.relation import Relation, WordRows
from tidelog.reference.seminaive import CountedTable, aggregate_rows, derivations
from tidelog.reference.seminaive import atoms as atoms_of
from tidelog.rules.core import (
    AggregateRule,
    CoreAtom,
    CoreComparison,
    CoreConstant,
    CoreLiteral,
    CoreRule,
    CoreValue,
    CoreVariable,
    NodeSelection,
)

Tables = Mapping[str, CountedTable]
Found = tuple[Row, int]
"""The head of a derivation, and the largest birth among the body's tuples of the same hyper-node (-1 without any)."""

OPERATORS = {"=": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


def state_of(db: tidelog.Database) -> dict[str, CountedTable]:
    """Birth and count of every tuple of every relation, auxiliary ones included; a closure counts nothing (0)."""
    engine = db.engine
    tables: dict[str, CountedTable] = {}
    for name, stored in engine.views.items():
        births = engine.births(name).tolist()
        counts = engine.counts(name).tolist()
        tables[name] = dict(zip(decoded(db, name, stored.words()), zip(births, counts, strict=True), strict=True))
    return tables


def asserted_in(db: tidelog.Database) -> dict[str, set[Row]]:
    """The asserted facts of every relation."""
    return {name: set(decoded(db, name, stored.words())) for name, stored in db.engine.asserted.items()}


def supports_in(db: tidelog.Database, name: str) -> dict[Row, int]:
    """The support of every tuple of a relation, where supports are kept; closures do not change them."""
    stored = db.engine.views[name]
    if not stored.marks.keeps_supports or name in db.engine.closures or name in db.engine.mirrors:
        return {}
    return dict(zip(decoded(db, name, stored.words()), stored.marks.supports()[stored.live()].tolist(), strict=True))


def decoded(db: tidelog.Database, name: str, words: Any) -> Iterable[Row]:
    relation = db.engine.program.relations.get(name)
    if relation is None or all(column.kind == "number" for column in relation.columns):
        return [tuple(row) for row in words.tolist()]
    return list(Relation(name, WordRows(relation.columns, db.dictionary, words)))


def mistakes(db: tidelog.Database, tables: Tables, facts: Mapping[str, set[Row]]) -> str:
    """Return the error in the state `tables` of a database whose asserted facts ought to be `facts`, or ""."""
    engine = db.engine
    derived = {name for node in engine.nodes for name in node.relations}
    found = []
    asserted = asserted_in(db)
    stated: dict[str, set[Row]] = {}
    for name, rows in facts.items():  # perhaps of a relation and of its candidates
        stated.setdefault(engine.program.candidates.get(name, name), set()).update(rows)
    for name in engine.program.relations:
        if asserted[name] != stated.get(name, set()):
            found.append(f"{name}: asserted {asserted[name] ^ stated.get(name, set())}")
        if name not in derived and set(tables[name]) != asserted[name]:
            found.append(f"{name}: is not what is asserted, {set(tables[name]) ^ asserted[name]}")
    indexes: dict[tuple[str, tuple[int, ...]], dict[Row, list[Found]]] = {}
    for node in engine.nodes:
        internal = frozenset(node.relations)
        counts = {name: dict.fromkeys(asserted[name], 1) for name in node.relations}
        supports = {name: dict.fromkeys(asserted[name], 1) for name in node.relations}
        for rule in node.rules:
            head = rule.head if isinstance(rule, AggregateRule) else rule.head.relation
            table, counted = tables[head], counts[head]
            for row, youngest in derived_by(rule, internal, tables, indexes):
                if row not in table:
                    found.append(f"{head}: missing {row}, which follows by {rule}")
                    continue
                supports[head][row] = supports[head].get(row, 0) + 1
                if youngest < table[row][0]:
                    counted[row] = counted.get(row, 0) + 1
        for selection in node.selects:
            found += not_selected(selection, tables)
        shown = {selection.shown for selection in node.selects}
        for name in node.relations:
            if name in shown:
                continue
            found += [
                f"{name}: {row} (born {birth}) has count {count}, not {counts[name].get(row, 0)}"
                for row, (birth, count) in tables[name].items()
                if (count != counts[name].get(row, 0) if count else not counts[name].get(row, 0))
            ]
            held = supports_in(db, name)
            found += [
                f"{name}: {row} has support {support}, not {supports[name].get(row, 0)}"
                for row, support in held.items()
                if support != supports[name].get(row, 0)
            ]
            found += [f"{name}: missing fact {row}" for row in asserted[name] if row not in tables[name]]
    return "\n".join(found[:20])


def not_selected(selection: NodeSelection, tables: Tables) -> Iterator[str]:
    """What is wrong with the rows that a hyper-node shows: those that no candidate beats, with births of these; of a
    choice some candidates, one for each key, with which all others have a key in common."""
    shown, candidates = tables[selection.shown], tables[selection.candidates]
    for row, (birth, count) in shown.items():
        if (birth, count) != (candidates.get(row, (None, None))[0], 1):
            yield f"{selection.shown}: {row} has birth {birth} and count {count}, its candidate {candidates.get(row)}"
    if selection.domains:
        domains = selection.domains
        keys = [(domain, tuple(row[i] for i in domain)) for row in shown for domain in domains]
        if len(set(keys)) < len(keys):
            yield f"{selection.shown}: shows two of a key: {sorted(shown)}"
        for row in candidates:
            if row not in shown and not {(domain, tuple(row[i] for i in domain)) for domain in domains} & {*keys}:
                yield f"{selection.shown}: does not show {row}, although it is free"
        return
    groups: dict[Row, list[Row]] = {}
    for row in candidates:
        groups.setdefault(tuple(row[i] for i in selection.keys), []).append(row)

    def costs(row: Row) -> list[Any]:
        values: list[Any] = [row[column] for column, _, _ in selection.orders]
        return [v if op == "min" else -v for v, (_, op, _) in zip(values, selection.orders, strict=True)]

    def beats(one: Row, other: Row) -> bool:
        if selection.front:
            return one != other and all(a <= b for a, b in zip(costs(one), costs(other), strict=True))
        return costs(one) < costs(other)

    best = {row for group in groups.values() for row in group if not any(beats(other, row) for other in group)}
    if best != set(shown):
        yield f"{selection.shown}: shows {set(shown) - best} too much and {best - set(shown)} too little"


def derived_by(
    rule: CoreRule | AggregateRule,
    internal: frozenset[str],
    tables: Tables,
    indexes: dict[tuple[str, tuple[int, ...]], dict[Row, list[Found]]],
) -> Iterable[Found]:
    """Every derivation of a rule over `tables`. `indexes` keeps what lookups have been made of them."""
    if isinstance(rule, AggregateRule):
        return [(row, -1) for row in aggregate_rows(rule, tables)]

    def index(relation: str, positions: tuple[int, ...]) -> dict[Row, list[Found]]:
        key = relation, positions
        if key not in indexes:
            indexes[key] = {}
            for row, (birth, _) in tables[relation].items():
                indexes[key].setdefault(tuple([row[p] for p in positions]), []).append((row, birth))
        return indexes[key]

    loops = nested_loops(rule, internal)
    return loops(index) if loops else by_reference(rule, internal, tables)


def by_reference(rule: CoreRule, internal: frozenset[str], tables: Tables) -> Iterator[Found]:
    """The derivations of a rule by semi-naive's evaluation of bodies, one birth at a time."""
    body = atoms_of(rule)
    own = [i for i, atom in enumerate(body) if atom.relation in internal]
    if not own:
        for _, row in derivations(rule, [tables[atom.relation] for atom in body]):
            yield row, -1
        return
    births = sorted({birth for i in own for birth, _ in tables[body[i].relation].values()})
    for birth in births:
        for delta in own:
            sources = [dict(tables[atom.relation]) for atom in body]
            for i in own:
                table = tables[body[i].relation]
                sources[i] = {
                    row: held
                    for row, held in table.items()
                    if held[0] == birth or (i != delta and held[0] < birth)
                    if not (i < delta and held[0] == birth)
                }
            for _, row in derivations(rule, sources):
                yield row, birth


# --- bodies as nested loops ------------------------------------------------------------------------------------------


@lru_cache(maxsize=20_000)
def nested_loops(rule: CoreRule, internal: frozenset[str]) -> Callable[[Any], Iterator[Found]] | None:
    """A function from lookups to the derivations of a rule; None if a literal is more than an atom or a comparison."""
    if not all(isinstance(each, CoreAtom) or (isinstance(each, CoreComparison) and simple(each)) for each in rule.body):
        return None
    names: dict[str, str] = {}
    fresh = numbers()
    lines, blocks = ["def loops(index):"], list[str]()
    births: list[str] = []
    positive = [each for each in rule.body if isinstance(each, CoreAtom) and not each.negated]
    tests = [each for each in rule.body if each not in positive]
    local = {name for each in tests if isinstance(each, CoreAtom) for name in free(each)}
    local -= {name for each in [*positive, rule.head] for name in free(each)}
    local -= {name for each in tests if isinstance(each, CoreComparison) for name in free(each)}

    def code(value: CoreValue) -> str:
        return repr(value.value) if isinstance(value, CoreConstant) else names[value.name]

    def write(line: str) -> None:
        lines.append(" " * (1 + len(blocks)) + line)

    def deeper(line: str) -> None:
        write(line)
        blocks.append(line)

    def known(value: CoreValue) -> bool:
        return isinstance(value, CoreConstant) or value.name in names

    def run_tests() -> None:
        for each in list(tests):
            if isinstance(each, CoreComparison):
                if known(each.left) and known(each.right):
                    deeper(f"if {code(each.left)} {OPERATORS[each.op]} {code(each.right)}:")
                elif each.op == "=" and (known(each.left) or known(each.right)):
                    given, new = (each.left, each.right) if known(each.left) else (each.right, each.left)
                    assert isinstance(new, CoreVariable)
                    value = code(given)
                    names[new.name] = f"v{next(fresh)}"
                    write(f"{names[new.name]} = {value}")
                else:
                    continue
            elif isinstance(each, CoreAtom) and free(each) - local <= set(names):
                at = [i for i, arg in enumerate(each.args) if known(arg)]
                key = "".join(f"{code(each.args[i])}," for i in at)
                deeper(f"if ({key}) not in index({each.relation!r}, {tuple(at)!r}):")
            else:
                continue
            tests.remove(each)
            run_tests()
            return

    run_tests()
    while positive:
        atom = max(positive, key=lambda each: sum(map(known, each.args)))
        positive.remove(atom)
        at = [i for i, arg in enumerate(atom.args) if known(arg)]
        key = "".join(f"{code(atom.args[i])}," for i in at)
        number = next(fresh)
        deeper(f"for r{number}, b{number} in index({atom.relation!r}, {tuple(at)!r}).get(({key}), ()):")
        if atom.relation in internal:
            births.append(f"b{number}")
        for i, arg in enumerate(atom.args):
            if i in at:
                continue
            assert isinstance(arg, CoreVariable)
            if arg.name in names:
                deeper(f"if r{number}[{i}] == {names[arg.name]}:")
            else:
                names[arg.name] = f"v{next(fresh)}"
                write(f"{names[arg.name]} = r{number}[{i}]")
        run_tests()
    if tests:
        return None
    head = "".join(f"{code(arg)}," for arg in rule.head.args)
    write(f"yield ({head}), max({', '.join(['-1', '-1', *births])})")
    scope: dict[str, Any] = {}
    exec("\n".join(lines), scope)
    loops: Callable[[Any], Iterator[Found]] = scope["loops"]
    return loops


def simple(comparison: CoreComparison) -> bool:
    return comparison.kind == "number" and comparison.op in OPERATORS


def free(literal: CoreLiteral) -> set[str]:
    match literal:
        case CoreAtom():
            values: tuple[CoreValue, ...] = literal.args
        case CoreComparison():
            values = (literal.left, literal.right)
        case _:
            values = ()
    return {value.name for value in values if isinstance(value, CoreVariable)}
