"""Do the tests find faults? `python tests/plant_faults.py [NAME…]` plants them one by one in a copy of the engine.

Each fault replaces one piece of source text: `faults/*.txt` has them as differences. The tests that have to find it run
on the copy, first as `make test` runs them, then as `make test-all` does, until one fails: change scripts, or the tests
that the fault names. A fault whose text is no longer there ends the run, so that the list follows the source. The end
says how many of the faults each target finds. docs/testing.md shows a run.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = "tests/maintain/test_scripts.py tests/maintain/test_aggregates.py tests/maintain/test_large_groups.py"
"""Where change scripts run; groups of one member count as large ones in the last two."""
TARGETS = {
    "make test": ("0.1", "smoke or not (spark or docs or deep)"),
    "make test-all": ("0.25", "(spark and not smoke) or docs or deep"),
}
"""The depth and the marks of the tests of each target, as the Makefile has them."""


@dataclass(frozen=True)
class Fault:
    """A piece of the source text of a file that is replaced by a wrong one."""

    name: str
    file: str
    right: str
    wrong: str
    tests: str = ""
    """The tests that have to find it; change scripts where it is empty."""

    @classmethod
    def of(cls, text: str) -> Fault:
        """Return the fault of a paragraph: its name, its file and tests, and what it takes away and puts in."""
        name, place, *changes = text.split("\n")
        file, _, tests = place.partition(" ")
        right, wrong = ("\n".join(line[2:] for line in changes if line[0] == sign) for sign in "-+")
        return cls(name, file, right, wrong, tests)


FAULTS = tuple(
    Fault.of(paragraph)
    for file in sorted((ROOT / "tests/faults").glob("*.txt"))
    for paragraph in file.read_text(encoding="utf-8").rstrip("\n").split("\n\n")
)


def planted(fault: Fault, folder: Path) -> None:
    """Put a copy of the engine with the fault into `folder`."""
    shutil.copytree(ROOT / "src/tidelog", folder / "tidelog", ignore=shutil.ignore_patterns("__pycache__"))
    path = folder / "tidelog" / fault.file
    path.write_text(with_fault(fault, path.read_text(encoding="utf-8")), encoding="utf-8")


def with_fault(fault: Fault, text: str) -> str:
    """Return the text of the fault's file with the fault in it. LookupError where the right text is not there once."""
    if text.count(fault.right) != 1:
        raise LookupError(f"{fault.name}: {fault.file} does not have this text once:\n{fault.right}")
    return text.replace(fault.right, fault.wrong)


def hunt(fault: Fault) -> tuple[str, str]:
    """Return the first target that finds a fault, and the test that fails, both "" if there is none."""
    with tempfile.TemporaryDirectory() as folder:
        planted(fault, Path(folder))
        environment = os.environ | {"PYTHONPATH": folder}
        if fault.file.startswith("kernels/"):  # to compile them takes longer than to run them in Python
            environment["NUMBA_DISABLE_JIT"] = "1"
        for target, (depth, marks) in TARGETS.items():
            options = ["-x", "-q", "-p", "no:cacheprovider", "-W", "ignore:overflow encountered", "-m", marks]
            ran = subprocess.run(
                [sys.executable, "-m", "pytest", *options, *(fault.tests or SCRIPTS).split()],
                cwd=ROOT,
                env=environment | {"TIDELOG_TEST_DEPTH": depth},
                capture_output=True,
                text=True,
                check=False,
            )
            if ran.returncode not in (0, 5):  # all passed, none selected
                found = re.search(r"^(?:FAILED|ERROR) \S*?(?:::)?(\w+)(?:\[|\s|$)", ran.stdout, re.MULTILINE)
                return target, found[1] if found else f"exit status {ran.returncode}"
    return "", ""


def main() -> None:
    sys.stdout.write("| fault | found by | test |\n|---|---|---|\n")
    count = dict.fromkeys([*TARGETS, ""], 0)
    for fault in FAULTS:
        if not sys.argv[1:] or fault.name in sys.argv[1:]:
            target, test = hunt(fault)
            count[target] += 1
            sys.stdout.write(f"| {fault.name} | {target} | {test} |\n")
            sys.stdout.flush()
    total = sum(count.values())
    sys.stdout.write(f"\nmake test finds {count['make test']} of {total} faults, make test-all {total - count['']}.\n")


if __name__ == "__main__":
    main()
