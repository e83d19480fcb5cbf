"""Snapshots beside copies of what they have to show.

    ages = Ages(db)
    ages.take()                 # a snapshot, and copies of all views and facts
    ...                         # other epochs
    ages.check()                # every open snapshot still shows its copies, or WrongError

`meanwhile` stops a commit at many bytecodes, those of kernels in Python among them. There another thread makes
snapshots and reads. It may have to wait for a lock that the commit holds just then. So the commit goes on after a
moment, and the results are looked at in the end.
"""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import tidelog
from tests.generate import Row
from tests.mixtures import MixtureFollower, mixture_for
from tests.scripts import Follower, WrongError, change_in, script_for
from tidelog.database.snapshots import Snapshot
from tidelog.errors import Problem, UsageError

STRATEGIES = ("auto", "update", "bootstrap")
Views = dict[str, set[Row]]
_MOMENT = 0.05
"""Seconds that a commit waits for a reader."""


@dataclass(frozen=True)
class Copy:
    """All views and facts of an epoch."""

    views: Views
    facts: Views
    rules: tuple[str, ...]

    @classmethod
    def of(cls, db: tidelog.Database | Snapshot) -> Copy:
        """Return those of the last epoch, or of a snapshot."""
        names = [name for name in db.relations if "inline" not in db.program.relations[name].qualifiers]
        views, facts = ({name: set(read(name)) for name in names} for read in (db.__getitem__, db.asserted))
        return cls(views, facts, tuple(db.rules))


def compare(snapshot: Snapshot, copy: Copy, rng: random.Random) -> None:
    """Raise WrongError unless a snapshot shows a copy, read in all the cheap ways."""
    if tuple(snapshot.rules) != copy.rules:
        raise WrongError(f"the rules are {list(snapshot.rules)}, not {copy.rules}")
    for name, rows in copy.views.items():
        relation, label = snapshot[name], f"{name} as of epoch {snapshot.epoch}"
        if len(relation) != len(rows) or set(relation) != rows:
            raise WrongError(f"{label}: {set(relation) - rows} too many, {rows - set(relation)} missing")
        if set(snapshot.asserted(name)) != copy.facts[name]:
            raise WrongError(f"{label}: the facts are {set(snapshot.asserted(name))}, not {copy.facts[name]}")
        if relation.to_arrow().num_rows != len(rows):
            raise WrongError(f"{label}: the table has {relation.to_arrow().num_rows} rows, not {len(rows)}")
        for row in rng.sample(sorted(rows, key=repr), min(3, len(rows))):
            if row not in relation:
                raise WrongError(f"{label}: {row} is missing")
            look_up(snapshot, name, row, rows)
        for row in absent(rows, rng):
            if row in relation:
                raise WrongError(f"{label}: {row} is one too many")


def look_up(snapshot: Snapshot, name: str, row: Row, rows: set[Row]) -> None:
    """Raise WrongError unless queries by a number of a row find all rows with it."""
    for place, value in enumerate(row):
        if isinstance(value, int) and value >= 0:
            args = [str(value) if i == place else f"X{i}" for i in range(len(row))]
            found = set(snapshot.query(f"{name}({', '.join(args)})"))
            if found != {each for each in rows if each[place] == value}:
                raise WrongError(f"{name}({', '.join(args)}) as of epoch {snapshot.epoch}: {found}")


def absent(rows: set[Row], rng: random.Random) -> Iterator[Row]:
    """Yield rows of numbers that are not there, near those that are."""
    for row in rng.sample(sorted(rows, key=repr), min(3, len(rows))):
        other = tuple(value + rng.choice((-1, 1)) if type(value) is int else value for value in row)
        if other not in rows and all(type(value) is not int or 0 <= value < 2**31 for value in other):
            yield other


def prove(snapshot: Snapshot, copy: Copy, rng: random.Random) -> None:
    """Raise WrongError unless some tuples of a snapshot have proofs from the facts of its epoch."""
    derived = [name for name, rows in copy.views.items() if rows - copy.facts[name]]
    for name in rng.sample(derived, min(2, len(derived))):
        row = rng.choice(sorted(copy.views[name] - copy.facts[name], key=repr))
        proof = snapshot.explain(name, row)
        proof.check()
        strange = [(each, values) for each, values in proof.facts if values not in copy.facts[each]]
        if strange:
            raise WrongError(f"the proof of {name}{row} as of epoch {snapshot.epoch} uses {strange}")


class Ages:
    """Snapshots of several ages."""

    def __init__(self, db: tidelog.Database, seed: object) -> None:
        self.db = db
        self.rng = random.Random(f"snapshots {seed}")
        self.kept: list[tuple[Snapshot, Copy]] = []

    def take(self) -> None:
        """Keep a snapshot of now. Others may go."""
        if len(self.kept) > 1 and self.rng.random() < 0.4:
            self.kept.pop(self.rng.randrange(len(self.kept)))[0].close()
        copy = Copy.of(self.db)
        self.kept.append((self.db.snapshot(), copy))

    def check(self, *, prove_too: bool = True) -> None:
        """Compare all with their copies. Now and then, ask for proofs and let the checker look."""
        for snapshot, copy in self.kept:
            compare(snapshot, copy, self.rng)
            if prove_too and self.rng.random() < 0.3:
                prove(snapshot, copy, self.rng)
            if prove_too and self.rng.random() < 0.15:
                snapshot.check()


@contextmanager
def meanwhile(work: Callable[[], object], files: Sequence[str], every: int) -> Iterator[list[threading.Thread]]:
    """Inside, stop this thread after `every` bytecodes in `files`, parts of paths, and then again and again, each time
    after a fifth more of them. Go on when another thread has done `work`, or after a moment. What `work` raises is
    raised in the end. Gives the threads that have begun."""
    left, threads, errors = [every, every], list[threading.Thread](), list[BaseException]()

    def run() -> None:
        try:
            work()
        except BaseException as error:
            errors.append(error)

    def step(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "opcode":
            left[0] -= 1
            if left[0] <= 0:
                left[1] += 1 + left[1] // 5
                left[0] = left[1]
                thread = threading.Thread(target=run)
                threads.append(thread)
                thread.start()
                thread.join(_MOMENT)
        return step

    def call(frame: FrameType, event: str, argument: Any) -> Any:
        if not any(part in frame.f_code.co_filename for part in files):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return step

    before = sys.gettrace()
    sys.settrace(call)
    try:
        yield threads
    finally:
        sys.settrace(before)
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]


class Reader:
    """What another thread does at a bytecode of a commit: it reads snapshots from before, and makes others."""

    def __init__(self, db: tidelog.Database, seed: object) -> None:
        self.db = db
        self.rng = random.Random(f"reader {seed}")
        self.before = Copy.of(db)
        self.old = db.snapshot()
        self.made: list[Snapshot] = []
        self.reads = 0

    def __call__(self) -> None:
        compare(self.old, self.before, self.rng)
        snapshot = self.db.snapshot()
        if snapshot.epoch == self.old.epoch:  # It may have waited until the epoch was over.
            compare(snapshot, self.before, self.rng)
        if len(self.made) < 8 and self.rng.random() < 0.5:
            self.made.append(snapshot)
        self.reads += 1

    def end(self) -> None:
        """Look at all once more, when there is another epoch."""
        after = Copy.of(self.db)
        for snapshot in (self.old, *self.made):
            copy = self.before if snapshot.epoch == self.old.epoch else after
            compare(snapshot, copy, self.rng)
            prove(snapshot, copy, self.rng)
            try:
                snapshot.check()
            except UsageError as error:
                if error.code != "E0618" or snapshot is self.old:
                    raise


# --- ways to go through random scripts -------------------------------------------------------------------------------


def through_a_script(seed: int) -> None:
    """Keep snapshots while a random script goes on, with trials and changes that are dropped in between."""
    script = script_for(seed)
    follower = Follower(script, STRATEGIES[seed % 3])
    ages = Ages(follower.db, seed)
    for number, epoch in enumerate(script.epochs):
        ages.take()
        if number % 3 == 1:
            change_in(follower.db, script, epoch)
            follower.db.rollback()
            with follower.db.transaction(dry_run=True) as trial:
                change_in(trial, script, epoch)
        follower.follow(epoch)
        ages.check()
    follower.db.check()


def through_all_constructs(seed: int, folder: Path) -> None:
    """Keep snapshots while a script over all constructs goes on, in memory or in a store."""
    script = mixture_for(seed)
    follower = MixtureFollower(script, STRATEGIES[seed % 3], folder if seed % 2 else None)
    ages = Ages(follower.db, seed)
    for number in range(len(script.epochs)):
        ages.take()
        follower.step(number)
        ages.check()


def beside_commits(seed: int) -> int:
    """Let another thread make and read snapshots at many bytecodes of the first epochs of a random script. Return how
    often it has read."""
    script, reads = script_for(seed), 0
    follower = Follower(script, STRATEGIES[seed % 3])
    for number, epoch in enumerate(script.epochs[:2]):
        reader = Reader(follower.db, (seed, number))
        with meanwhile(
            reader, ("tidelog/storage/", "tidelog/maintain/", "tidelog/kernels/", "database.py"), 20 + seed % 97
        ):
            change = follower.commit(epoch)
        follower.note(epoch)
        follower.check(change)
        reader.end()
        reads += reader.reads
    return reads


def problem_of(call: Callable[[], object]) -> Problem:
    """Return the problem of the error that a call has to raise."""
    try:
        call()
    except tidelog.TidelogError as error:
        return error.problems[0]
    raise AssertionError("nothing was raised")
