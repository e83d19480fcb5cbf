"""Call the verbs of databases, stores of triples, networks and clients in any order, with good and bad arguments, until
the time is up: `python -m tests.fuzz.verbs SECONDS [SEED [KIND]]`.

A case is a list of statements of Python over an object of one kind. Each statement ends well, or in an error of tidelog
with a hint; then the object and what was pending are as before, and so they are after statements that only read. In the
end the views follow from the facts and rules, and a folder has the same contents when it is opened again. A case that
fails is made smaller, shown as a program, and ends the run with exit code 1; the seed shown with it gives it again.
"""

from __future__ import annotations

import sys
import time
from functools import partial

from tests.fuzz.asked import asked, show
from tests.fuzz.statements import shrunk
from tests.fuzz.verbs.kinds import KINDS


def main(seconds: float, seed: int, *names: str) -> int:
    """Run until the time is up, all kinds or those with certain names in turn; the exit code."""
    kinds = [each for each in KINDS if not names or each.name in names]
    end, tried, count = time.monotonic() + seconds, 0, 0
    while time.monotonic() < end:
        kind = kinds[tried % len(kinds)]
        begin, *statements = kind.case_for(seed + tried)
        if problem := kind.run(begin, statements):
            show(f"seed {seed + tried} of {kind.name}: {problem}")
            for each in (begin, *shrunk(statements, problem, partial(kind.run, begin))):
                show(each)
            return 1
        tried, count = tried + 1, count + len(statements)
    show(f"{tried} cases of {count} statements, from seed {seed} on")
    return 0


if __name__ == "__main__":
    sys.exit(main(*asked(), *sys.argv[3:]))
