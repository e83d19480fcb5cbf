"""The checker: it decides if the view of a certificate is the least model of its rules and facts.

It is, if the six conditions hold:

1. every fact is of a declared relation, and in the view;
2. closed: the view contains every tuple that a rule derives from it;
3. founded: every tuple of the view is a fact, or the head of a rule instance whose body is in the view and whose body
   tuples of the same stratum all have a smaller birth;
4. negation and aggregates read lower strata only, and no rule reads a higher one;
5. selected: where a relation selects and its rules are monotone, no tuple of the view dominates another one; for such
   relations 1 and 2 ask for the tuple, or for one in the view that dominates it. Where a relation has choice-domains,
   no two tuples of the view agree in one; 1 and 2 ask for the tuple, or for one in the view that agrees with it;
6. numbered: each substitution of a rule with a counter has one number, and no other substitution has it. Which number
   that is, is taken as given.

2 makes the view a model, 3 makes it the least, or a right choice (see docs/theory.md). Both hold for the intermediate
results of rules as well, which have no facts: so the views of declared relations are the model of the rules as written.
Conditions 1 to 3 are SQL, one statement for each rule: its instances (`sql`), joined with the view of the head. An
instance without partner breaks 2; the row numbers of the partners that it supports become a set of bits, and 3 holds
when no bit is missing in the end. Nothing here evaluates a program, and the checker shares no code with the engine's
evaluation.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

from tidelog.certificate.certificate import Certificate, CertifiedProgram
from tidelog.certificate.functors import Functors, sql_type, sql_values
from tidelog.certificate.session import check_session, has_values, look, source_of
from tidelog.certificate.sql import (
    NO_BIRTH,
    contradiction_conditions,
    exclusion_conditions,
    instances,
    select_repeated_numbers,
    select_unnumbered,
)
from tidelog.common.arrays import AnyWords
from tidelog.errors import CertificateRejected, Problem
from tidelog.language.functors import NUMERIC
from tidelog.language.syntax import Kind, Value
from tidelog.limits.watch import Watch
from tidelog.rules.core import AggregateRule, AnyRule, CoreRule, NodeSelection, head_of
from tidelog.storage.record_text import format_value

if TYPE_CHECKING:
    import duckdb


SHOWN = 3
"""Tuples that a message names."""
MOST = 10
"""Problems that an error lists."""


def wrong_strata(certified: CertifiedProgram) -> Iterator[Problem]:
    """Yield the problems of condition 4."""
    strata = certified.strata
    for rule in certified.rules:
        head = head_of(rule)
        for name, negative in rule.reads:
            if strata[name] > strata[head] or (negative and strata[name] == strata[head]):
                how = "in full (by negation or an aggregate)" if negative else "to derive a relation"
                message = f"condition 4 (strata): rule {rule.origin} reads stratum {strata[name]} {how}"
                message += f" in stratum {strata[head]}"
                hint = "let a rule read lower strata or its own, and lower ones only by negation or an aggregate"
                yield Problem("E0804", message, rule.span, hint=hint, place=certified.place)


@dataclass(frozen=True)
class Findings:
    """The problems of views. Rows are some of those in question, as SQL has them: words for symbols and records."""

    certified: CertifiedProgram

    def unfit(self, name: str) -> Problem:
        """Return the problem of a view with something other than a tuple."""
        view = f"the view of {self.display_name(name)}"
        message = f"condition 3 (founded): {view} has a row that does not fit its declaration"
        return Problem("E0803", message, hint="save the certificate again", place=self.certified.place)

    def unfit_fact(self, name: str) -> Problem:
        """Return the problem of facts with something other than a tuple."""
        message = f"condition 1 (facts): the facts of {name} have a row that does not fit its declaration"
        return Problem("E0801", message, hint="save the certificate again", place=self.certified.place)

    def lost_fact(self, view: str, rows: Sequence[tuple[Any, ...]]) -> Problem:
        """Return the problem of facts that are not in the view."""
        message = f"condition 1 (facts): {self.tuples_text(view, rows)} is a fact, but not in the view"
        hint = "check that the view and the facts belong together"
        return Problem("E0801", message, hint=hint, place=self.certified.place)

    def not_closed(self, rule: AnyRule, rows: Sequence[tuple[Any, ...]]) -> Problem:
        """Return the problem of heads of a rule that are not in the view."""
        name, selects = head_of(rule), self.certified.selects
        message = f"condition 2 (closed): rule {rule.origin} derives {self.tuples_text(name, rows)} from the view,"
        chosen = name in selects and selects[name].domains
        message += f" but the view does not contain it{', nor a tuple of its key' if chosen else ''}"
        hint = "check that the view is complete, and that the rule reads the right tuples"
        return Problem("E0802", message, rule.span, hint=hint, place=self.certified.place)

    def not_founded(self, name: str, rows: Sequence[tuple[Any, ...]]) -> Problem:
        """Return the problem of tuples of a view that nothing supports."""
        message = f"condition 3 (founded): {self.tuples_text(name, rows)} is in the view, but is no fact and no rule"
        message += " derives it from older tuples of the view"
        rules = [rule for rule in self.certified.rules if head_of(rule) == name]
        notes = tuple((rule.span, f"rule {rule.origin} does not") for rule in rules[:SHOWN] if rule.span)
        hint = "remove it from the view, or look for a missing fact or a wrong birth"
        return Problem("E0803", message, None, notes, hint, self.certified.place)

    def not_selected(self, name: str, rows: Sequence[tuple[Any, ...]]) -> Problem:
        """Return the problem of tuples that others of the view dominate, or agree with in a domain."""
        domains = self.certified.selects[name].domains
        why = "another tuple of the same key" if domains else "a tuple that dominates it"
        message = f"condition 5 (selected): {self.tuples_text(name, rows)} is in the view, with {why}"
        hint = "keep one tuple of each key" if domains else "remove it from the view"
        return Problem("E0805", message, hint=hint, place=self.certified.place)

    def tuples_text(self, name: str, rows: Sequence[tuple[Any, ...]]) -> str:
        """Return a few tuples of a relation as text, without a name if a rewrite of a rule made the relation."""
        info = self.certified.program.relations[name]
        kinds = [column.kind for column in info.columns]
        texts = []
        for row in rows[:SHOWN]:
            values = zip(row, kinds, strict=False)  # without columns there is a 1
            cells = ", ".join(format_value(self._decode_value(value, kind), _quote_text) for value, kind in values)
            texts.append(f"{'' if info.auxiliary else name}({cells})")
        more = " and more" if len(rows) > SHOWN else ""
        return f"{', '.join(texts)}{more}{' (an intermediate result)' if info.auxiliary else ''}"

    def display_name(self, name: str) -> str:
        """Return the name of a relation in messages. Relations that a rewrite of a rule made have no name."""
        return "an intermediate result" if self.certified.program.relations[name].auxiliary else name

    def _decode_value(self, value: Any, kind: Kind) -> Value:
        return value if kind in NUMERIC else self.certified.dictionary.decode(value, kind)


def _quote_text(text: str, _in_branch: bool) -> str:
    return json.dumps(text)


_SLICE = 2_000_000
"""Rows of a head's view that are joined at a time, so that the hash table over them stays small."""


def check(certificate: Certificate, watch: Watch | None = None) -> None:
    """Return if the certificate is right. Raise CertificateRejected, which names the conditions that are broken, the
    rules and a few tuples; LimitError where memory does not suffice (E0503) or the time of `watch` is over (E0501);
    KeyboardInterrupt where Ctrl-C was pressed."""
    watch = watch or Watch()
    problems = list(wrong_strata(certificate))
    if not problems:
        with check_session(certificate.dictionary, watch) as (connection, functors):
            problems = _Check(certificate, connection, functors, watch).problems()
    if problems:
        raise CertificateRejected(*problems[:MOST])


@dataclass(frozen=True)
class _Table:
    """A view in the database: its rows in the order of their first column. `cuts` are values of that column, as SQL,
    that part the rows into slices."""

    number: int
    rows: int
    cuts: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"view{self.number}"


class _Check:
    """The certificate in a database of DuckDB, and its problems."""

    def __init__(
        self, certificate: Certificate, connection: duckdb.DuckDBPyConnection, functors: Functors, watch: Watch
    ) -> None:
        self.certificate = certificate
        self.connection = connection
        self.functors = functors
        self.watch = watch
        self.tables: dict[str, _Table] = {}
        self.findings = Findings(certificate)
        self.wrong: list[Problem] = []
        """Problems of views whose rows are not tuples."""

    def problems(self) -> list[Problem]:
        """Return the problems of all conditions but 4, which is about the rules alone."""
        self.connection.execute("CREATE TABLE marks (relation BIGINT, missing BIGINT, supported BIT)")
        for number, name in enumerate(self.certificate.program.relations):
            self.tables[name] = self.load_view(number, name)
        if self.wrong:
            return self.wrong
        found = [problem for name in self.certificate.declared_relations for problem in self.without_fact(name)]
        found += [problem for rule in self.certificate.rules for problem in self.not_closed(rule)]
        found += list(self.not_founded())
        found += [problem for each in self.certificate.selects.values() for problem in self.not_selected(each)]
        return found + list(self.not_numbered())

    # --- the relations -----------------------------------------------------------------------------------------------

    def load_view(self, number: int, name: str) -> _Table:
        """Make a table of a view."""
        look(self.watch)
        rows, births = self.certificate.view(name)
        if not has_values(rows, self.kinds(name), self.certificate.dictionary.extent):
            self.wrong.append(self.findings.unfit(name))
            rows, births = rows[:0].reshape(0, len(self.kinds(name))), births[:0]
        if len(births) and births.min() >= -(2**31) and births.max() < 2**31:
            births = births.astype(numpy.int32)
        cuts: tuple[str, ...] = ()
        columns = self.columns(name, rows)
        count = len(rows)
        del rows  # large ones would be in memory thrice
        if columns:
            order = numpy.argsort(columns[0], kind="stable")
            columns, births = [column[order] for column in columns], births[order]
            del order
            steps = columns[0][_SLICE::_SLICE].tolist()
            cuts = tuple(f"'{value!r}'::{sql_type(self.kinds(name)[0])}" for value in dict.fromkeys(steps))
        table = _Table(number, count, cuts)
        with source_of(
            self.connection, [*columns, births], [*(f"c{i}" for i in range(len(columns))), "birth"]
        ) as source:
            self.connection.execute(f"CREATE TABLE {table.name} AS FROM {source}")
        return table

    def kinds(self, name: str) -> list[Kind]:
        return [column.kind for column in self.certificate.program.relations[name].columns]

    def columns(self, name: str, rows: AnyWords) -> list[NDArray[Any]]:
        """Return the columns of rows as SQL has them."""
        return [sql_values(rows[:, i], kind) for i, kind in enumerate(self.kinds(name))]

    # --- the conditions ----------------------------------------------------------------------------------------------

    def without_fact(self, name: str) -> Iterator[Problem]:
        """Yield the problems of condition 1 for a relation, and mark facts as supported."""
        facts = self.certificate.facts(name)
        if not len(facts):
            return
        if not has_values(facts, self.kinds(name), self.certificate.dictionary.extent):
            yield self.findings.unfit_fact(name)
            return
        names = [f"h{i}" for i in range(facts.shape[1])]
        columns = [*self.columns(name, facts), numpy.full(len(facts), NO_BIRTH, numpy.int64)]
        with source_of(self.connection, columns, [*names, "youngest"]) as select:
            view = self.certificate.program.candidates.get(name, name)
            if self.mark(view, select):
                yield self.findings.lost_fact(view, self.missing_heads(view, select))

    def not_closed(self, rule: CoreRule | AggregateRule) -> Iterator[Problem]:
        """Yield the problems of condition 2 for a rule, and mark the tuples that it supports."""
        table = {name: table.name for name, table in self.tables.items()}.__getitem__
        select = f"({instances(rule, table, self.certificate.strata, self.functors)})"
        name = head_of(rule)
        if self.mark(name, select):
            yield self.findings.not_closed(rule, self.missing_heads(name, select))

    def not_founded(self) -> Iterator[Problem]:
        """Yield the problems of condition 3, once all facts and rules have marked the tuples that they support."""
        counts = "SELECT relation, coalesce(bit_count(bit_or(supported)), 0) FROM marks GROUP BY relation"
        supported = dict(self.connection.execute(counts).fetchall())
        for name, table in self.tables.items():
            if supported.get(table.number, 0) < table.rows:
                yield self.findings.not_founded(name, self.unsupported_rows(name))

    def not_selected(self, selection: NodeSelection) -> Iterator[Problem]:
        """Yield the problem of condition 5 for a relation: a tuple of the view that another one dominates, or two that
        agree in a domain."""
        name, table = selection.shown, self.tables[selection.shown].name
        columns = ", ".join(f"v.c{i}" for i in range(len(self.kinds(name))))
        contradictions = contradiction_conditions(selection, "u.c{}", "v.c{}")
        ways = [f"EXISTS (SELECT 1 FROM {table} u WHERE {way})" for way in contradictions]
        worse = self.connection.execute(
            f"SELECT DISTINCT {columns} FROM {table} v WHERE {' OR '.join(ways)} LIMIT {SHOWN + 1}"
        ).fetchall()
        if worse:
            yield self.findings.not_selected(name, worse)

    def not_numbered(self) -> Iterator[Problem]:
        """Yield the problems of condition 6: substitutions without a number, and numbers that are given twice."""
        rules = self.certificate.program.counters
        table = {name: table.name for name, table in self.tables.items()}.__getitem__
        hint = "check that the view has the numbers that the database gave"
        for rule in rules:
            if rows := self.connection.execute(f"{select_unnumbered(rule, table)} LIMIT {SHOWN + 1}").fetchall():
                shown = self.findings.tuples_text(rule.inner, rows)
                message = f"condition 6 (numbered): rule {rule.origin} has no number for {shown}"
                yield Problem("E0806", message, rule.span, hint=hint, place=self.certificate.place)
        for query in select_repeated_numbers(rules, table) if rules else ():
            if rows := self.connection.execute(f"{query} ORDER BY 1 LIMIT 1").fetchall():
                names = ", ".join(dict.fromkeys(rule.origin for rule in rules))
                message = f"condition 6 (numbered): the number {rows[0][0]} is given twice, or with another one,"
                message += f" in the rules with counters ({names})"
                yield Problem("E0806", message, hint=hint, place=self.certificate.place)

    def mark(self, name: str, select: str) -> int:
        """Mark the rows of a view that the instances of `select` support; the number of instances whose head is not in
        the view."""
        table = self.tables[name]
        missing, wanted = 0, self.no_substitute(name)
        for within in _slices(table.cuts):
            look(self.watch)
            missing += self.value(
                f"INSERT INTO marks SELECT {table.number}, count(*) FILTER (WHERE v.birth IS NULL{wanted}),"
                f" bitstring_agg(CASE WHEN i.youngest < v.birth THEN v.number END, 0, {max(table.rows - 1, 0)})"
                f" FROM (FROM {select} WHERE {within.format('h0')}) i"
                f" LEFT JOIN (SELECT *, rowid AS number FROM {table.name} WHERE {within.format('c0')}) v"
                f" ON {self.same(name)} RETURNING missing"
            )
        return missing

    def no_substitute(self, name: str) -> str:
        """Return the condition that no tuple of a view stands for the head of the instance i, if the view selects: none
        dominates it, or agrees with it in a domain."""
        selection = self.certificate.selects.get(name)
        ways = [] if selection is None else exclusion_conditions(selection, "u.c{}", "i.h{}")
        return "".join(f" AND NOT EXISTS (SELECT 1 FROM {self.tables[name].name} u WHERE {way})" for way in ways)

    def same(self, name: str) -> str:
        """Return the condition that v is the head of the instance i."""
        return " AND ".join(["TRUE", *(f"v.c{i} = i.h{i}" for i in range(len(self.kinds(name))))])

    def value(self, query: str) -> int:
        """Return the one value that a statement returns."""
        ((value,),) = self.connection.execute(query).fetchall()
        return int(value)

    # --- rows for messages --------------------------------------------------------------------------------------------

    def unsupported_rows(self, name: str) -> list[tuple[Any, ...]]:
        """Return some of the rows of a view without marks."""
        table = self.tables[name]
        marks = f"(SELECT bit_or(supported) FROM marks WHERE relation = {table.number})"
        columns = ", ".join(f"c{i}" for i in range(len(self.kinds(name)))) or "1"
        rows = self.connection.execute(
            f"SELECT {columns} FROM {table.name} v"
            f" WHERE coalesce(get_bit({marks}, v.rowid::INTEGER), 0) = 0 LIMIT {SHOWN + 1}"
        )
        return rows.fetchall()

    def missing_heads(self, name: str, select: str) -> list[tuple[Any, ...]]:
        """Return some of the heads of `select` that are not in a view."""
        heads = ", ".join(f"i.h{i}" for i in range(len(self.kinds(name)))) or "1"
        rows = self.connection.execute(
            f"SELECT DISTINCT {heads} FROM {select} i"
            f" WHERE NOT EXISTS (SELECT 1 FROM {self.tables[name].name} v WHERE {self.same(name)})"
            f"{self.no_substitute(name)} LIMIT {SHOWN + 1}"
        )
        return rows.fetchall()


def _slices(cuts: tuple[str, ...]) -> list[str]:
    """Return conditions on a column, written {0}, one for each of the parts that `cuts` make of its values."""
    lows = ["TRUE", *(f"{{0}} >= {cut}" for cut in cuts)]
    highs = [*(f"{{0}} < {cut}" for cut in cuts), "TRUE"]
    return [f"{low} AND {high}" for low, high in zip(lows, highs, strict=True)]
