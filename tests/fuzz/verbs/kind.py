"""What a kind of objects needs so that random statements can call its verbs, and a run of such statements."""

from __future__ import annotations

import contextlib
import random
import re
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz.statements import NAMES, Rules, difference, step
from tests.fuzz.verbs.maker import Maker

Known = Mapping[str, Any]
"""The variables of the statements: `db` is the object whose verbs they call."""


@dataclass(frozen=True)
class Kind:
    """A kind of objects. Its statements are in a text file of its name."""

    name: str
    relations: Mapping[str, str]
    """The names and types of the columns of each relation."""
    names: Known
    """What statements may name besides NAMES."""
    begin: str
    """What makes the object, after a statement `begin` of the text file."""
    state: Callable[[Known], dict[str, Any]]
    """What a statement that fails, or only reads, must not change."""
    changing: re.Pattern[str]
    """What statements have that may change something."""
    check: str
    reopen: str
    asking: re.Pattern[str] = re.compile("(?!)")
    """What statements have that ask other nodes, whose packets arrive also before an error; nothing by default."""
    lasting: Callable[[Known], dict[str, Any] | None] = lambda known: None
    """What an object has that is opened again; None if there is nothing of it."""
    tidy: Callable[[Known], object] = lambda known: None
    """What has to follow each statement, so that the next one ends in time."""
    rules: Rules = field(init=False)

    def __post_init__(self) -> None:
        paths = (Path(__file__).with_name(f"{name}.txt") for name in ("values", self.name))
        object.__setattr__(self, "rules", Rules(*paths))

    def case_for(self, seed: int, count: int | None = None) -> list[str]:
        """Return a statement that begins a case, and so many others, which a seed decides."""
        rng = random.Random(f"{self.name} {seed}")
        maker = Maker(rng, self.rules, self.relations)
        return [*maker.statements("begin"), *maker.statements("statement", count or rng.choice((5, 10, 30)))]

    def run(self, begin: str, statements: Sequence[str]) -> str:
        """Return what is wrong with the statements, or ""."""
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            stack.enter_context(contextlib.chdir(folder))
            stack.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore")
            known: dict[str, Any] = {**NAMES, **self.names, "folder": folder, "stack": stack}
            exec(f"{begin}\n{self.begin}", known)
            lasting, last = self.lasting(known), ""
            for statement in (*statements, self.check, self.reopen):
                held = self.lasting(known)
                if held is not None or "commit" in last or "with" in last:  # A subscriber of that may have closed it.
                    lasting = held
                ends = statement in (self.check, self.reopen)
                verbs = self.changing, self.asking
                if problem := step(statement, known, lambda: self.state(known), *verbs, must_end_well=ends):
                    return f"{problem}, by {statement}"
                self.tidy(known)
                last = statement
            found = self.lasting(known)
            return (
                ""
                if lasting is None or found == lasting
                else f"it is another one when opened again: {difference(lasting, found)}"
            )
