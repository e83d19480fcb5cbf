"""The relations of a hyper-node that selects, from scratch, filled from a search (docs/theory.md).

The search has noted each derivation from a row that it read, with the round as birth. Where a row was read before a
better one took its place, these derivations are uncounted. The state is right then, unless some best row has no
derivation from rows that were born before it: a row that got the same value again, from a row that was read once more,
may be older than the row that it follows from.
"""

from __future__ import annotations

from dataclasses import replace

import numpy

from tidelog.kernels import layout
from tidelog.maintain.assemble import Sight
from tidelog.maintain.bootstrap import internal_atoms
from tidelog.maintain.machine import Interpreter, Job
from tidelog.maintain.searching import STALE, CostSearch
from tidelog.maintain.statistics import LiveStatistics
from tidelog.maintain.update import states_of
from tidelog.rules.core import CoreAtom, CoreRule
from tidelog.rules.plans import plan_full

_WORK_BEFORE_LOOK = 1_000_000


def credit(search: CostSearch) -> int | None:
    """Fill the relations that are open and have, so far, the other candidates only; return the number of rounds. Return
    None, with empty relations, if the births of the search do not do. Raise WidenError, LimitError,
    KeyboardInterrupt."""
    inputs = search.inputs
    if search.counted:
        _take_back(search)
        if all(bool((found.marks.counts_in_place() > 0).all()) for found in search.found.values()):
            last = int(search.words[layout.F_ROUND])
            for name in search.names:
                _fill(search, name, last)
            return last - inputs.round
    for name in search.internal:
        stored = inputs.relations[name]
        rows = stored.rows
        stored.forget()
        stored.open()
        stored.ensure(rows)
    return None


def _take_back(search: CostSearch) -> None:
    """Take back the derivations from rows that were read before better ones took their places."""
    from tidelog.kernels.results import run_charges

    inputs, relations = search.inputs, search.relations
    if not any(stale.rows for stale in search.stale.values()):
        return
    statistics = LiveStatistics(relations, frozenset())
    rules = [_over_stale(rule, i, search) for rule in search.rules for i in internal_atoms(rule, search.internal)]
    jobs = [Job(plan_full(rule, statistics), _sight(rule)) for rule in rules]
    machine = Interpreter(inputs.catalog, inputs.dictionary, relations, [*search.internal, *search.growing], jobs)
    others = [stored for name, stored in inputs.relations.items() if name not in search.internal]
    for stored in (*others, *search.stale.values()):
        stored.settle()
    machine.levels[layout.S_BUDGET] = _WORK_BEFORE_LOOK
    state = numpy.zeros(layout.N_FIELDS, numpy.int64)
    machine.converse(run_charges, "", search.numbers, state, (search.selections,), search.look)


def _over_stale(rule: CoreRule, i: int, search: CostSearch) -> CoreRule:
    """Return a rule that reads stale rows at body atom `i`."""
    atom = rule.body[i]
    assert isinstance(atom, CoreAtom)
    name = search.heads[atom.relation]
    return replace(rule, body=(*rule.body[:i], replace(atom, relation=f"{STALE}{name}"), *rule.body[i + 1 :]))


def _sight(rule: CoreRule) -> Sight:
    """Return the sight of a plan that evaluates a rule over all live rows, and takes note of the births of stale
    ones."""
    stale = frozenset(atom.relation for atom in rule.body if isinstance(atom, CoreAtom) and STALE in atom.relation)
    now = layout.NOW
    return Sight(now, tuple(states_of(rule, lambda _: now, lambda _: now, lambda _: now, stale)))


def _fill(search: CostSearch, name: str, last: int) -> None:
    """Fill a relation, and that of its candidates, of which those that are beaten are born in round `last`."""
    from tidelog.kernels.results import copy_found, mark_beaten

    found, shown, catalog = search.found[name], search.inputs.relations[name], search.inputs.catalog
    targets = [(shown, name in search.beaten)]
    if name in search.beaten:
        candidates = search.beaten[name]
        mark_beaten(catalog.table, candidates.number, last)
        if search.stale[name].rows:
            candidates.remove(numpy.flatnonzero(candidates.marks.counts_in_place() == 0))
        targets.append((candidates, False))
    for stored, one in targets:
        stored.ensure(found.rows)
        copy_found(catalog.table, found.number, stored.number, one, catalog.hashes, catalog.tag)
