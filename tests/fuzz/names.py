"""Bring tables in by every entrance, with columns spelled at random, until the time is up:
`python -m tests.fuzz.names SECONDS [SEED]`.

Each entrance (tests/io/test_column_names.py, and those of keys and transactions) has to find the same columns, or to
reject them by E0406: those that a slow form of the rule finds. The seed shown with a difference gives it again, and the
run ends with exit code 1.
"""

from __future__ import annotations

import itertools
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import tidelog
from tests.fuzz.asked import asked, show
from tests.io.test_column_names import DATA, FILES, Columns, Enter, dicts, file, inserted, write_text
from tidelog.errors import DataError

NAMES = ["id", "ID", "Id", "x", "X", "amount", "größe", "GRÖSSE", "f0", "column0", "_1", "_2", "col", "count"]
SPELLINGS: list[Callable[[str], str]] = [str, str, str, str.upper, str.lower, str.title, " {}".format, "{} ".format]
NUMBERED = ["{}", "column_{}", "column{}", "col{}", "f{}", "_c{}", "__index_level_{}__"]
OTHERS = ["", "more", "0", "index", "__index_level_0__", "id"]


def by_key(db: tidelog.Database, columns: Columns, folder: Path, options: str) -> None:
    """Replace the facts of keys."""
    db.insert("r", dicts(columns), key=[db.program.relations["r"].columns[0].name])


def in_transaction(db: tidelog.Database, columns: Columns, folder: Path, options: str) -> None:
    """Insert rows in a transaction."""
    db.commit()
    with db.transaction() as transaction:
        transaction.insert("r", iter(dicts(columns)))


def deleted_by_key(db: tidelog.Database, columns: Columns, folder: Path, options: str) -> None:
    """Delete the facts of a key of all columns, and leave those that were deleted."""
    relation = db.program.relations["r"]
    every = set(itertools.permutations(range(len(columns)), len(relation.columns)))
    db.insert("r", every)
    db.delete("r", dicts(columns), key=[column.name for column in relation.columns])
    db.commit()
    gone = every - set(db["r"])
    db.clear("r")
    db.insert("r", gone)


ENTRANCES: dict[str, Enter] = {
    **{name: enter for name, enter in (DATA | FILES).items() if "deleted" not in name},
    "lists of dicts": inserted(lambda columns: tuple(dicts(columns))),
    "text with bars": file(write_text("|", ""), "r.facts", ', headers=true, delimiter="|"'),
    "a key": by_key,
    "a transaction": in_transaction,
    "a key of all columns, deleted": deleted_by_key,
}


def alike(name: str) -> str:
    """Return a name without case and blanks around it."""
    return name.strip().casefold()


def expected(found: list[str], declared: list[str]) -> tuple[int, ...] | None:
    """Return the columns that a relation takes, None where it takes none."""
    own = [i for i, name in enumerate(found) if name in declared or not name.startswith("__index_level_")]
    if len(own) != len(declared):
        return None
    places = []
    for name in declared:
        same = [i for i in own if found[i] == name]
        if not same and [alike(other) for other in declared].count(alike(name)) == 1:
            same = [i for i in own if alike(found[i]) == alike(name)]
        places.append(same)
    if all(len(same) == 1 for same in places):
        return tuple(same[0] for same in places)
    names = [found[i] for i in own]
    numbered = ([form.format(i) for i in range(len(own))] for form in NUMBERED[:-1])
    is_without = names in [*numbered, [f"_{i + 1}" for i in range(len(own))]]
    return tuple(own) if is_without else None


def lacks(entrance: str, found: list[str]) -> bool:
    """Return True if a table of this kind cannot have columns of these names."""
    folded = [name.lower() for name in found]
    return (
        (entrance in ("DuckDB", "SQLite") and (not found or len(set(folded)) < len(found) or "" in found))
        or ("text" in entrance and found in ([""], []))
        or (entrance == "relation" and not all(name.strip().isidentifier() for name in found))
        or (entrance == "relation" and len({name.strip() for name in found}) < len(found))
        or (entrance == "relation" and any(name != name.strip() for name in found))
    )


def try_names(seed: int) -> int:
    """Bring a table in by each entrance; AssertionError where the facts are others. Return the number of entrances."""
    rng = random.Random(f"names {seed}")
    declared = rng.sample(NAMES, rng.randint(1, 4))
    found = [rng.choice(SPELLINGS)(name) for name in declared]
    if rng.random() < 0.1:
        found = [rng.choice(NUMBERED).format(i + rng.randrange(2)) for i in range(len(declared))]
    if rng.random() < 0.1:
        form = rng.choice(NUMBERED)
        found = [form.format(i) for i in range(len(declared))]
    if rng.random() < 0.4:
        rng.shuffle(found)
    if rng.random() < 0.2:
        found.insert(rng.randrange(len(found) + 1), rng.choice(OTHERS))
    if rng.random() < 0.1 and len(found) > 1:
        found.pop()
    found = list(dict.fromkeys(found))
    places = expected(found, declared)
    tried = 0
    for name, enter in ENTRANCES.items():
        if lacks(name, found):
            continue
        tried += 1
        with tempfile.TemporaryDirectory() as folder, tidelog.connect() as db:
            db.load(f".decl r({', '.join(f'{each}: number' for each in declared)})")
            try:
                enter(db, {each: [i] for i, each in enumerate(found)}, Path(folder), "")
                db.commit()
                outcome: object = list(db["r"])
            except DataError as error:
                outcome = error.code
            wanted = "E0406" if places is None else [places]
            assert outcome == wanted, f"{name}: {found} for {declared} gave {outcome}, not {wanted}"
    return tried


def main(seconds: float, seed: int) -> int:
    """Run until the time is up; the exit code."""
    end, tried, entrances = time.monotonic() + seconds, 0, 0
    while time.monotonic() < end:
        try:
            entrances += try_names(seed + tried)
        except Exception as error:
            show(f"seed {seed + tried}: {type(error).__name__}: {error}")
            return 1
        tried += 1
    show(f"{tried} tables by {entrances} entrances, from seed {seed} on")
    return 0


if __name__ == "__main__":
    sys.exit(main(*asked()))
