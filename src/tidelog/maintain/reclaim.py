"""Reclaiming symbols and records that nothing refers to any more.

Between two epochs, once enough words may have fallen out of use, all words are found that relations, pending changes,
the program, or changes and answers that a user still holds refer to; the others are forgotten and used again. The work
is in proportion to the words of rows deleted since the last time, because it waits for as many.

Rows that rules derive need not be looked at where the rules only copy words: those are in the facts as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from numpy.typing import NDArray

from tidelog.language.syntax import CheckedProgram, Column
from tidelog.maintain.state import EngineState
from tidelog.rules.core import AggregateRule, CoreAtom, CoreComparison, CoreConstant, CoreRule, HyperNode, Unpack
from tidelog.storage.closed_relation import ClosedRelation
from tidelog.storage.usage import Usage

LEAST = 4_096
"""Words that may be out of use, below which it is not worth looking."""
_PER_WORD = 8
"""Words in rows that are looked at for each word that may be out of use."""


class Reclaimer:
    """Decides when to give words back, and does it."""

    def __init__(self) -> None:
        self._made = 0  # What the dictionary had made when it was last looked through.
        self._kept = 0  # How many symbols and records there were afterwards.
        self._lost = 0  # Words in rows that went since then.
        self._due = 0  # Suspects that looking through the rows has to wait for.

    def note_deleted(self, words: int) -> None:
        """Note how many words deleted rows had."""
        self._lost += words

    def sweep(
        self,
        engine: EngineState,
        programs: Sequence[CheckedProgram],
        pending: Iterable[tuple[str, NDArray[Any]]],
    ) -> bool:
        """Give words back if it is time to; whether that was tried. `programs` are the committed and the pending one,
        `pending` rows that wait for a commit, by relation. An interruption, or a lack of memory, does no harm."""
        dictionary = engine.dictionary
        suspects = dictionary.values_added - self._made + self._lost
        if suspects < max(LEAST, self._kept, self._due) or dictionary.shared:
            return False
        rows = list(_rows(engine))
        self._due = sum(len(stored) * len(columns) for columns, stored in rows) // _PER_WORD
        if suspects < self._due:
            return False
        with dictionary.alone() as alone, suppress(MemoryError):
            if not alone:
                return False
            held = [part for holder in list(dictionary.holders) for part in holder.words_in_use()]
            self._due += sum(words.size for _, words in held) // _PER_WORD
            if suspects < self._due:
                return False
            _give_back(engine, rows, held, programs, pending)
        self._made, self._kept, self._lost, self._due = dictionary.values_added, dictionary.size, 0, 0
        return True


def _give_back(
    engine: EngineState,
    rows: list[tuple[tuple[Column, ...], Any]],
    held: list[tuple[tuple[Column, ...], NDArray[Any]]],
    programs: Sequence[CheckedProgram],
    pending: Iterable[tuple[str, NDArray[Any]]],
) -> None:
    """Forget symbols and records that nothing refers to. MemoryError leaves everything as it is, or some of that not
    forgotten yet."""
    dictionary = engine.dictionary
    usage = Usage(dictionary)
    for columns, stored in rows:
        for batch in stored.batches():
            usage.add([column.kind for column in columns], batch)
    _mark_constants(usage, (*engine.program.nodes, *engine.nodes))
    known = {name: info.columns for program in programs for name, info in program.relations.items()}
    for name, words in pending:
        usage.add([column.kind for column in known[name]], words)
    for columns, words in held:
        usage.add([column.kind for column in columns], words)
    flags = usage.flags()
    # Plans of hyper-nodes that are no more may have constants that are no more.
    nodes = {node.derives for node in engine.nodes}
    for key in engine.maintained.keys() - nodes:
        del engine.maintained[key]
    dictionary.give_back(flags)


def _rows(engine: EngineState) -> Iterator[tuple[tuple[Column, ...], Any]]:
    """Return the relations that contain all used words, with their columns, if these can have words."""
    rules = [rule for node in engine.nodes for rule in node.rules]
    making = {rule.head.relation for rule in rules if isinstance(rule, CoreRule) and _makes_words(rule)}
    making |= {rule.head for rule in rules if isinstance(rule, AggregateRule) and rule.op in ("collect", "own")}
    for name, info in engine.program.relations.items():
        if any(column.kind in ("symbol", *engine.program.records) for column in info.columns):
            if name in engine.asserted:
                yield info.columns, engine.asserted[name]
            view = engine.views.get(name)
            if name in making and view is not None and not isinstance(view, ClosedRelation):
                yield info.columns, view


def _makes_words(rule: CoreRule) -> bool:
    """Return True if a rule may derive words that are in no row of its body, other than its constants."""
    return not all(isinstance(literal, CoreAtom | CoreComparison | Unpack) for literal in rule.body)


def _mark_constants(usage: Usage, nodes: Iterable[HyperNode]) -> None:
    """Mark the words of the constants of rules, which plans refer to."""
    for node in nodes:
        for rule in node.rules:
            if isinstance(rule, CoreRule):
                for literal in (rule.head, *rule.body):
                    for value in _values(literal):
                        if isinstance(value, CoreConstant):
                            usage.add_value(value.value, value.kind)


def _values(literal: Any) -> Iterator[Any]:
    """Return the arguments of a literal of a core rule."""
    for name in ("left", "right", "target", "source"):
        if hasattr(literal, name):
            yield getattr(literal, name)
    for name in ("args", "targets"):
        yield from getattr(literal, name, ())
