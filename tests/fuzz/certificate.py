"""Forged certificates until the time is up: `python -m tests.fuzz.certificate SECONDS [SEED]`.

Each certificate, of a random program or of one that has everything, is forged in up to three ways at once: by forgeries
of tests/certificate/forgeries.py, and by random bytes, tuples and fields. It has to be rejected with an error of a
code, or its views have to be what its program evaluates to over its facts. What is neither is shown, stays in a folder,
and ends the run with exit code 1. Without a seed the clock gives one; the seed shown with a failure gives it again.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

import tidelog
from tests.certificate.forgeries import EITHER, EVERYTHING, all_forgeries
from tests.certificate.test_forgeries import is_right
from tests.fuzz.asked import asked, show
from tests.suite import loaded, random_cases
from tidelog.errors import CertificateRejected, DataError, LimitError

TIMEOUT = 60.0


def certificates(seed: int, place: Path) -> Iterator[Path]:
    """Certificates without end: one that has everything, then some of random programs."""
    while True:
        for case in random_cases(4, 8_000_000 + seed):
            db = loaded(case.text, case.facts)
            yield saved(db, place)
            seed += 1
        yield saved(loaded(EVERYTHING), place)
        yield saved(loaded(EITHER), place)


def saved(db: tidelog.Database, place: Path) -> Path:
    folder = place / "sound"
    shutil.rmtree(folder, ignore_errors=True)
    db.save_certificate(folder)
    return folder


def forge(folder: Path, sound: Path, rng: random.Random) -> list[str]:
    """Forge a folder; says how."""
    done = []
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        change = rng.choice([known, known, random_bytes, random_rows, random_words])
        try:
            done.append(change(folder, sound, rng))
        except (
            OSError,
            TypeError,
            pa.ArrowException,
            ValueError,
            LookupError,
            RecursionError,
            StopIteration,
        ):  # an earlier forgery has left nothing to change
            done.append("nothing")
    return done


def known(folder: Path, sound: Path, rng: random.Random) -> str:
    forgery = rng.choice(list(all_forgeries(sound)))
    forgery.change(folder)
    return str(forgery)


def some_file(folder: Path, rng: random.Random, suffix: str = "") -> Path:
    return rng.choice(sorted(path for path in folder.rglob(f"*{suffix}") if path.is_file() and not path.is_symlink()))


def random_bytes(folder: Path, _other: Path, rng: random.Random) -> str:
    file = some_file(folder, rng)
    data = bytearray(file.read_bytes())
    for _ in range(rng.choice([1, 1, 2, 10])):
        start = rng.randrange(len(data) + 1)
        data[start : start + rng.choice([0, 1, 1, 1, 5])] = rng.randbytes(rng.choice([0, 1, 1, 1, 4]))
    file.write_bytes(data)
    return f"bytes of {file.name}"


def random_rows(folder: Path, _other: Path, rng: random.Random) -> str:
    """Cells of some rows exchanged with others of the same column, rows dropped, and rows made of several."""
    file = some_file(folder, rng, ".parquet")
    table = parquet.read_table(file)
    rows: list[dict[str, Any]] = table.to_pylist()
    for _ in range(rng.choice([1, 1, 2, 5])):
        column, row = rng.choice(table.column_names), rng.choice(rows)
        match rng.randrange(4):
            case 0:
                row[column] = rng.choice(rows)[column]
            case 1:
                rows.remove(row)
            case 2:
                rows.append({name: rng.choice(rows)[name] for name in table.column_names})
            case _:
                rows.append({**row, column: rng.choice(rows)[column]})
    parquet.write_table(pa.Table.from_pylist(rows, table.schema), file)
    return f"rows of {file.parent.name}/{file.name}"


def random_words(folder: Path, _other: Path, rng: random.Random) -> str:
    """Two words of a text exchanged."""
    file = some_file(folder, rng, rng.choice([".dl", ".json"]))
    words = file.read_text().split(" ")
    a, b = rng.randrange(len(words)), rng.randrange(len(words))
    words[a], words[b] = words[b], words[a]
    file.write_text(" ".join(words))
    return f"words of {file.name}"


def problem_with(folder: Path) -> str:
    """Return the error in the check of a folder, or ""."""
    try:
        tidelog.check_certificate(folder, timeout=TIMEOUT)
    except (CertificateRejected, DataError, LimitError) as error:
        return "" if error.code.startswith(("E08", "E0503")) else f"rejected with {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "" if is_right(folder) else "accepted, and wrong"


def main() -> int:
    seconds, seed = asked()
    show(f"forged certificates from seed {seed} for {seconds:g} s")
    place = Path(tempfile.mkdtemp(prefix="tidelog-forged-"))
    ended, done = time.monotonic() + seconds, Counter[bool]()
    for number, sound in enumerate(certificates(seed, place)):
        rng = random.Random(seed + number)
        for _ in range(20):
            folder = place / "in" / "forged"
            shutil.rmtree(folder.parent, ignore_errors=True)
            shutil.copytree(sound, folder)
            how = forge(folder, sound, rng)
            problem = problem_with(folder)
            done[bool(problem)] += 1
            if problem:
                show(f"{problem}\n  by {', '.join(how)}\n  seed {seed + number}, see {folder}")
                return 1
            if time.monotonic() > ended:
                shutil.rmtree(place)
                show(f"{sum(done.values())} forgeries, none accepted")
                return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
