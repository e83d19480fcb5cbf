"""The published data: their place, and their content as Arrow tables. None of them is part of this project."""

from __future__ import annotations

import os
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow
from pyarrow import csv

MISSING = """\
The published data are looked for in the folder that TIDELOG_DATA names, and {found}.
Expected in it are
    galen/{{p,q,r,c,u,s}}.txt.gz, crdt/{{crdt.dl,insert.txt.gz,remove.txt.gz}},
    doop/doop.dl and doop/*.facts.gz,
    lubm1/{{lubm1.nt.gz,rules.json}}, graphs/{{OL.cedge,TG.cedge,CA-HepTh}}.txt.gz,
    gmark/{{test.xml,test-workload.xml,test-graph.txt.gz,social-network.xml}}
and docs/how-to/benchmarks.md says what they hold. Then: TIDELOG_DATA=/path/to/data make bench
The parts that make their own data run without them."""


def folder() -> Path | None:
    """Return the folder with the data, or None if TIDELOG_DATA does not name one."""
    name = os.environ.get("TIDELOG_DATA")
    return Path(name).resolve() if name and Path(name).is_dir() else None


def missing() -> str:
    """Return the message for a user who has no data."""
    name = os.environ.get("TIDELOG_DATA")
    return MISSING.format(found=f"{name} is no folder" if name else "it is not set")


@contextmanager
def w3c_archive() -> Iterator[Path | None]:
    """Unpack `w3c/rdf-tests.tar.gz`, W3C's archive of tests, into a folder for the block. Without the archive, print a
    message and give None."""
    archive = Path(folder() or "", "w3c", "rdf-tests.tar.gz")
    if folder() is None or not archive.exists():
        print("TIDELOG_DATA names no folder with w3c/rdf-tests.tar.gz", file=sys.stderr)
        yield None
        return
    with tempfile.TemporaryDirectory() as place:
        with tarfile.open(archive) as packed:
            packed.extractall(place, filter="data")
        yield Path(place)


def numbers(path: Path, delimiter: str, names: str) -> pyarrow.Table:
    """Return a text file of integers as a table whose columns have these one-letter names; it may be compressed."""
    return csv.read_csv(
        path,
        read_options=csv.ReadOptions(column_names=list(names)),
        parse_options=csv.ParseOptions(delimiter=delimiter),
        convert_options=csv.ConvertOptions(column_types={name: pyarrow.int64() for name in names}),
    )
