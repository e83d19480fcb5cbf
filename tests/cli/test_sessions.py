"""Sessions at the command line, as a user sees them: `test_sessions.txt` has files, commands, and what these print.

A section begins in a folder with the program of a closure. `> NAME` writes the lines below it to a file. `$ COMMAND` is
one of tidelog, or `cat`, `ls` or `rm`; below it stand its output, its errors, and a code other than 0 in brackets.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.texts import section, titles


def replayed(session: str, folder: Path, tidelog: Run) -> str:
    """Write the files and run the commands of a session; return the session with what the commands print now."""
    found = []
    for block in re.split(r"^(?=[$>] )", session, flags=re.M)[1:]:
        first, _, text = block.partition("\n")
        if first[0] == ">":
            (folder / first[2:]).write_text(text)
            found.append(block)
            continue
        name, *arguments = shlex.split(first[2:])
        paths = [folder / each for each in arguments]
        if name == "cat":
            text = "".join(path.read_text() for path in paths)
        elif name == "ls":
            text = "".join(f"{each.name}\n" for path in paths or [folder] for each in sorted(path.iterdir()))
        elif name == "rm":
            for path in paths:
                path.unlink()
        else:
            outcome = tidelog(*arguments)
            text = outcome.out + outcome.err + (f"[{outcome.code}]\n" if outcome.code else "")
        found.append(f"{first}\n{text}")
    return "".join(found)


@pytest.mark.parametrize("title", titles(__file__))
def test_a_session_prints_what_it_did(title: str, closure: Path, tidelog: Run) -> None:
    session = f"{section(__file__, title)}\n"
    assert replayed(session, closure, tidelog) == session
