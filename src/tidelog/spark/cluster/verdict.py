"""The verdict on views that are spread over partitions: the conditions of `tidelog.certificate.check`, in their tasks;
and certificates of these views, to be written.

For each rule, rows of the relations that it reads go where they meet (`joins`), and its heads to where the view has
them. Heads that a view lacks break condition 2, tuples without an older rule instance condition 3. The driver sees a
few tuples of each kind, and the places of pieces.

A view proves itself by births: a tuple is older than whatever any partition derives from it (`exchange.births`). Where
births of several partitions cannot be compared, they come from another evaluation, from nothing. The rows of this
evaluation are checked, and the views have to be the same.

For a certificate, partitions write the rows of a relation, with their births, to files of the state directory. The
driver reads these piece by piece, and has one piece in memory.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from tidelog.certificate.certificate import CertifiedProgram, CertifiedRows, PartedCertificate
from tidelog.certificate.check import MOST, Findings, wrong_strata
from tidelog.certificate.folder import kinds_of
from tidelog.certificate.session import look
from tidelog.errors import CertificateRejected, Problem
from tidelog.language.functors import NUMERIC
from tidelog.limits.interrupts import ForeignCode
from tidelog.limits.watch import Watch
from tidelog.rules.core import AggregateRule, AnyRule, CoreConstant, CoreValue, head_of, map_values
from tidelog.spark.cluster.checking.joins import FOUND, steps_of
from tidelog.spark.cluster.checking.steps import (
    FACT,
    CheckPlan,
    Difference,
    PlannedStep,
    Sent,
    ShuffleRead,
    ViewComparison,
    Work,
)
from tidelog.spark.cluster.engine import PartitionedEngine
from tidelog.spark.cluster.exchange import wire
from tidelog.spark.cluster.exchange.pieces import Bundle, Piece, read_pieces
from tidelog.spark.cluster.exchange.texts import dictionary_extent, values_beyond
from tidelog.spark.cluster.placement.place import needs_dictionary
from tidelog.spark.cluster.placement.plan import facts_name
from tidelog.spark.jobs import step

_AT_ONCE = 20_000_000
"""Rows that are sent for the relations that are checked at a time, unless one of them needs more."""


def check_partitions(
    certified: CertifiedProgram, shown: PartitionedEngine, ranked: PartitionedEngine, watch: Watch
) -> None:
    """Return if the views of `shown` follow from its facts. `ranked` has births that can be compared: it is the same
    engine, or another one that has evaluated the same program over the same facts.

    Raise CertificateRejected, LimitError (E0501, E0503, E0508), or KeyboardInterrupt."""
    problems = list(wrong_strata(certified))
    if not problems:
        check = _Check(certified, shown, ranked, watch)
        try:
            problems = check.problems()
        finally:
            check.clear()
    if problems:
        raise CertificateRejected(*problems[:MOST])


@dataclass(frozen=True)
class _Place:
    """A table of an evaluation or, with `compares`, of a comparison."""

    compares: bool
    number: int
    table: int


_Waiting: TypeAlias = dict[_Place, list[Bundle | Piece]]
"""The rows that partitions have sent to tables."""


class _Check:
    """The check of the views of partitions."""

    def __init__(
        self, certified: CertifiedProgram, shown: PartitionedEngine, ranked: PartitionedEngine, watch: Watch
    ) -> None:
        self.certified = certified
        self.shown = shown
        self.ranked = ranked
        self.watch = watch
        self.findings = Findings(certified)
        self.prefix = f"check-{secrets.token_hex(6)}"
        self.names = list(certified.program.relations)
        self.facts_in: dict[str, list[str]] = {}
        """The declared relations whose facts are in the view of each relation."""
        for name in certified.declared_relations:
            self.facts_in.setdefault(certified.program.candidates.get(name, name), []).append(name)
        self.evaluations: list[PlannedStep] = []
        self.following: list[_Place] = []
        """Where the results of each evaluation go."""
        self.depths: list[int] = []
        """How many evaluations come before each."""
        self.of_relation: dict[str, list[int]] = {name: [] for name in self.names}
        for number, rule in enumerate(certified.rules):
            self.plan_rule(number, rule)

    def problems(self) -> list[Problem]:
        """Return the problems of conditions 1 to 3 and 5. Raise UsageError (E0681)."""
        try:
            self.write_plan()
        except OSError as error:
            raise self.shown.folder.unusable(error) from error
        found: list[Problem] = []
        for names in self.batches():
            found += self.check_relations(names)
            self.clear(keep=self.prefix)
        return found

    # --- the plan ----------------------------------------------------------------------------------------------------

    def plan_rule(self, number: int, rule: AnyRule) -> None:
        """Plan the evaluations of a rule."""
        name = head_of(rule)
        own = rule if needs_dictionary(rule) else self.with_words(rule)
        steps = steps_of(own, self.certified.program.relations, self.certified.strata, self.shown.size)
        for depth, each in enumerate(steps):
            place = len(self.evaluations)
            self.of_relation[name].append(place)
            self.depths.append(depth)
            if depth + 1 < len(steps):
                inputs = steps[depth + 1].inputs
                table = next(i for i, read in enumerate(inputs) if read.source == FOUND)
                self.evaluations.append(PlannedStep(each, inputs[table].key, None))
                self.following.append(_Place(False, place + 1, table))
            else:
                self.evaluations.append(PlannedStep(each, self.key(name), number))
                self.following.append(_Place(True, self.names.index(name), 1))

    def with_words(self, rule: AnyRule) -> AnyRule:
        """Return a rule with words in the place of constant symbols and records."""

        def word(value: CoreValue) -> CoreValue:
            if isinstance(value, CoreConstant) and value.kind not in NUMERIC:
                return CoreConstant(self.certified.dictionary.encode(value.value, value.kind), "number")
            return value

        if isinstance(rule, AggregateRule):
            return rule
        body = tuple(map_values(literal, word) for literal in rule.body)
        head = replace(rule.head, args=tuple(map(word, rule.head.args)))
        return replace(rule, head=head, body=body)

    def key(self, name: str) -> tuple[int, ...]:
        """Return the columns by whose words the tuples of a view meet its heads, and those that dominate them."""
        selection = self.certified.selects.get(name)
        if selection is not None:
            return tuple(selection.keys)
        return tuple(range(len(self.certified.program.relations[name].columns)))

    def write_plan(self) -> None:
        """Write the plan to where the partitions find it, with the symbols and records if rules look into them."""
        program, dictionary = self.certified.program, self.certified.dictionary
        comparisons = tuple(
            ViewComparison(
                kinds_of(program.relations[name]),
                self.certified.selects.get(name),
                self.is_shown_apart(name),
            )
            for name in self.names
        )
        symbols = ""
        if any(map(needs_dictionary, self.certified.rules)):
            self.encode_constants()
            symbols = f"{self.prefix}-symbols"
            folder, now = self.shown.folder, dictionary_extent(dictionary, program.records)
            folder.write(symbols, values_beyond(dictionary, {}, now, folder))
        kinds = {column.kind for info in program.relations.values() for column in info.columns} - NUMERIC
        extents = {kind: dictionary.extent(kind) for kind in kinds}
        plan = CheckPlan(tuple(self.evaluations), comparisons, program.records, symbols, extents)
        self.shown.folder.write(f"{self.prefix}-plan", wire.dumps(plan))

    def is_shown_apart(self, name: str) -> bool:
        """Return True if users read other rows of a view than the ones with births: of another engine, or copies."""
        plan = self.shown.plan
        return self.ranked is not self.shown or (plan is not None and plan.homes.get(name) == "all")

    def encode_constants(self) -> None:
        """Give the constants of rules words, before the dictionary is written."""
        for rule in self.certified.rules:
            for literal in () if isinstance(rule, AggregateRule) else (rule.head, *rule.body):
                for value in literal.values:
                    if isinstance(value, CoreConstant) and value.kind not in NUMERIC:
                        self.certified.dictionary.encode(value.value, value.kind)

    def batches(self) -> Iterator[list[str]]:
        """Yield the relations that are checked together."""
        batch: list[str] = []
        rows = 0
        for name in self.names:
            reads = {each for rule in self.certified.rules if head_of(rule) == name for each, _ in rule.reads}
            size = sum(map(self.shown.size, (name, *reads)))
            if batch and rows + size > _AT_ONCE:
                yield batch
                batch, rows = [], 0
            batch.append(name)
            rows += size
        if batch:
            yield batch

    # --- tasks -------------------------------------------------------------------------------------------------------

    def check_relations(self, names: Sequence[str]) -> list[Problem]:
        """Return the problems of some relations."""
        numbers = [number for name in names for number in self.of_relation[name]]
        waiting: _Waiting = {}
        self.send_inputs(names, numbers, waiting)
        for depth in range(max((self.depths[number] for number in numbers), default=-1) + 1):
            now = [number for number in numbers if self.depths[number] == depth]
            for sent in self.run_work("evaluate", [_Place(False, number, 0) for number in now], waiting):
                for number, rows in sent:
                    waiting.setdefault(self.following[number], []).append(rows)
        compared = [_Place(True, self.names.index(name), 0) for name in names]
        differences: list[list[Difference]] = self.run_work("compare", compared, waiting)
        return [
            problem
            for i, name in enumerate(names)
            for problem in self.problems_of(name, [parts[i] for parts in differences])
        ]

    def send_inputs(self, names: Sequence[str], numbers: Sequence[int], waiting: _Waiting) -> None:
        """Have partitions send what the evaluations and comparisons of some relations read."""
        views: list[tuple[_Place, ShuffleRead]] = []
        others: list[tuple[_Place, ShuffleRead]] = []
        for number in numbers:
            for table, each in enumerate(self.evaluations[number].step.inputs):
                if each.source != FOUND:
                    views.append(
                        (_Place(False, number, table), view_to_send(self.ranked, each.source, "view", each.key))
                    )
        for name in names:
            number, key = self.names.index(name), self.key(name)
            views.append((_Place(True, number, 0), view_to_send(self.ranked, name, "view", key)))
            others += [
                (_Place(True, number, 1), facts_to_send(self.shown, own, key)) for own in self.facts_in.get(name, ())
            ]
            if self.is_shown_apart(name):
                others.append((_Place(True, number, 2), view_to_send(self.shown, name, "rows", key)))
        for engine, reads in ((self.ranked, views), (self.shown, others)):
            asked = [each for each in reads if each[1].copy]
            if not asked:
                continue
            wanted = tuple(read for _, read in asked)
            arguments = (self.shown.folder.address, self.prefix, self.shown.committed.partitions, wanted)
            with ForeignCode(self.watch.interrupts):
                found: list[list[Sent]] = engine.executors.run(engine.tasks("send rows", arguments))
            for sent in found:
                for i, rows in sent:
                    waiting.setdefault(asked[i][0], []).append(rows)

    def run_work(self, what: str, places: Sequence[_Place], waiting: _Waiting) -> list[Any]:
        """Have each partition do its part of some work, and return the answers."""
        look(self.watch)
        shown = self.shown
        left = None if self.watch.timeout is None else self.watch.timeout - (time.perf_counter() - self.watch.started)
        works = []
        for place in places:
            count = 3 if place.compares else len(self.evaluations[place.number].step.inputs)
            tables = [tuple(waiting.get(replace(place, table=table), ())) for table in range(count)]
            works.append(Work(place.number, tuple(tables)))
        arguments = (f"{self.prefix}-plan", self.prefix, tuple(works), left)
        with ForeignCode(self.watch.interrupts):
            return shown.executors.run(shown.tasks(what, arguments))

    def clear(self, keep: str = "") -> None:
        """Remove the files of the check, but for the plan and the symbols if these are kept."""
        kept = {f"{keep}-plan", f"{keep}-symbols"}
        folder = self.shown.folder
        folder.remove(name for name in folder.names() if name.startswith(self.prefix) and name not in kept)

    # --- problems ----------------------------------------------------------------------------------------------------

    def problems_of(self, name: str, parts: Iterable[Difference]) -> Iterator[Problem]:
        """Yield the problems of a view by its differences in all partitions."""
        parts = list(parts)
        missing: dict[int, list[tuple[object, ...]]] = {}
        for *row, source in (row for part in parts for row in part.missing):
            missing.setdefault(int(source), []).append(tuple(row))
        for source, rows in sorted(missing.items()):
            if source == FACT:
                yield self.findings.lost_fact(name, rows)
            else:
                yield self.findings.not_closed(self.certified.rules[source], rows)
        if any(part.unfit for part in parts):
            yield self.findings.unfit(name)
        if rows := [row for part in parts for row in part.unsupported]:
            yield self.findings.not_founded(name, rows)
        if rows := [row for part in parts for row in part.dominated]:
            yield self.findings.not_selected(name, rows)


def view_to_send(
    engine: PartitionedEngine, name: str, what: Literal["view", "rows"], key: tuple[int, ...] | None
) -> ShuffleRead:
    """Return the read of the rows of a relation, without a copy if the engine has none."""
    plan = engine.plan
    known = plan is not None and name in plan.views
    copy, home = (plan.views[name], plan.homes[name]) if plan is not None and known else ("", 0)
    return ShuffleRead(copy, home == "all", what, key)


def facts_to_send(engine: PartitionedEngine, name: str, key: tuple[int, ...]) -> ShuffleRead:
    """Return the read of the asserted facts of a relation, without a copy if the engine has none."""
    plan, core = engine.plan, engine.committed.core
    own = core.candidates.get(name, name) if core is not None else name
    if plan is None or own not in plan.facts:
        return ShuffleRead("", False, "facts", key)
    return ShuffleRead(facts_name(own), plan.facts[own] == "all", "facts", key)


# --- certificates ----------------------------------------------------------------------------------------------------


def parted_certificate(
    certified: CertifiedProgram, shown: PartitionedEngine, ranked: PartitionedEngine, watch: Watch
) -> PartedCertificate:
    """Return the certificate of the views of `shown`. `ranked` has them with births that can be compared, see
    `check_partitions`. Its parts raise LimitError (E0501) or KeyboardInterrupt."""

    def parts(name: str, part: Literal["facts", "views"]) -> Iterator[CertifiedRows]:
        look(watch)
        arity = len(certified.program.relations[name].columns)
        is_view = part == "views"
        engine = ranked if is_view else shown
        asked = view_to_send(ranked, name, "view", ()) if is_view else facts_to_send(shown, name, ())
        if not asked.copy:
            return
        prefix = f"certificate-{secrets.token_hex(6)}"
        try:
            with step(f"certify {name}"):
                arguments = (engine.folder.address, prefix, 1, (asked,))
                found: list[list[Sent]] = engine.executors.run(engine.tasks("send rows", arguments))
            for _, rows in (each for sent in found for each in sent):
                assert isinstance(rows, Bundle)
                for piece in read_pieces(engine.folder, 0, (), (rows,)):
                    look(watch)
                    yield piece.words[:, :arity], piece.words[:, arity] if is_view else None
        finally:
            engine.folder.remove(file for file in engine.folder.names() if file.startswith(prefix))

    program = certified.program
    whole = tuple(sorted(ranked.find_unsettled_relations() & program.relations.keys()))
    return PartedCertificate(program, certified.dictionary, certified.place, parts, whole)
