"""`tidelog warm`: compile all kernels, so that no later run waits for that; for images and CI.

Compiled kernels go to the folder of caches: the one that TIDELOG_CACHE_DIR names, or `~/.cache/tidelog`. Later runs
only read it. It can be copied to machines with the same kind of processor, and be read-only there.
"""

from __future__ import annotations

import argparse
import logging
import os
import subprocess
import sys
import time
import warnings
from typing import TYPE_CHECKING

from tidelog.cli.report import print_json
from tidelog.cli.shared import positive
from tidelog.errors import KernelCacheWarning

if TYPE_CHECKING:
    from tidelog.cli.shared import Commands


def add(commands: Commands) -> None:
    """Add the command `warm` to the parser."""
    command = commands.add_parser(
        "warm", help="compile all kernels now, once per machine", description=__doc__, allow_abbrev=False
    )
    command.add_argument(
        "--jobs", metavar="N", type=positive(int), help="compile in N processes (default: one per core)"
    )
    command.add_argument("--json", action="store_true", help="print the result as JSON")
    command.add_argument("--parts", nargs="+", type=int, help=argparse.SUPPRESS)
    command.set_defaults(execute=execute)


def execute(arguments: argparse.Namespace) -> int:
    """Run programs that need all kernels, in processes of their own; return 1 if one of them fails."""
    from tidelog.cli.warming import PARTS, run
    from tidelog.kernels.places import SUFFIX, folder_of_kernels
    from tidelog.maintain.threads import cores

    if arguments.parts is not None:
        # That an epoch takes long, and compiles, is what was asked for.
        logging.getLogger("tidelog.progress").setLevel(logging.WARNING)
        logging.getLogger("tidelog.kernels").setLevel(logging.ERROR)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", KernelCacheWarning)
                for number in arguments.parts:
                    run(PARTS[number])
        except KernelCacheWarning as warning:
            print(f"tidelog: {warning}", file=sys.stderr)
            return 1
        return 0
    started = time.perf_counter()
    if not _run_parts(len(PARTS), arguments.jobs or cores()):
        return 1
    folder = folder_of_kernels()
    sizes = [file.stat().st_size for file in folder.glob(f"*{SUFFIX}")]
    seconds = round(time.perf_counter() - started, 3)
    if arguments.json:
        print_json({"ok": True, "folder": folder, "kernels": len(sizes), "bytes": sum(sizes), "seconds": seconds})
    else:
        print(f"{folder}: {len(sizes)} kernels, {sum(sizes) / 1e6:.1f} MB, {seconds:.0f} s")
    return 0


def _run_parts(parts: int, jobs: int) -> bool:
    """Run all parts, dealt to so many processes, each of which loads a kernel once. After one that fails, stop the
    others and return False."""
    environment = {**os.environ, "TIDELOG_KERNELS": "compiled"}
    running: list[subprocess.Popen[bytes]] = []
    try:
        for first in range(min(parts, jobs)):
            numbers = map(str, range(first, parts, jobs))
            command = [sys.executable, "-m", "tidelog", "warm", "--parts", *numbers]
            running.append(subprocess.Popen(command, env=environment))
        return not any(process.wait() for process in running)
    finally:
        for process in running:
            process.kill()
            process.wait()
