"""A few facts in the format of the Galen benchmark."""

from __future__ import annotations

import gzip
from pathlib import Path


def write_galen(folder: Path) -> None:
    facts = {"p": "1,2\n2,3\n", "q": "3,7,4\n", "r": "7,8,9\n", "c": "1,2,5\n", "u": "3,7,6\n", "s": "7,10\n"}
    (folder / "galen").mkdir()
    for name, text in facts.items():
        with gzip.open(folder / f"galen/{name}.txt.gz", "wt") as stream:
            stream.write(text)
