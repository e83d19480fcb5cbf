"""Random networks until the time is up, or so many: `python -m tests.fuzz.network SECONDS [SEED]`, `… 20000x [SEED]`.

Each has 3 to 30 nodes, where `reachable` joins itself up to 20, and runs a classic protocol or a random located program
under every adversity. After at least 100 changes of facts and rules it has to end quiet, in the centralised answer, and
with nothing left over. What fails is shown with its seed, and ends the run with exit code 1; the same seed gives the
same network again. Without a seed the clock gives the first one.
"""

from __future__ import annotations

import random
import sys
import time
import traceback

from tests.fuzz.asked import show
from tests.network.cases import trial


def network(seed: int) -> None:
    """The trial of a seed: most networks are small, because more of those fit into the time."""
    rng = random.Random(f"fuzz {seed}")
    nodes = rng.choice([rng.randrange(3, 7), rng.randrange(3, 7), rng.randrange(3, 11), rng.randrange(3, 31)])
    trial(seed, nodes, rng.randrange(100, 130))


def main(arguments: list[str]) -> int:
    wanted = arguments[0] if arguments else "60"
    first = int(arguments[1]) if len(arguments) > 1 else time.time_ns() % 10**9
    most = int(wanted[:-1]) if wanted.endswith("x") else None
    end = time.monotonic() + float(wanted) if most is None else None
    seed = first
    show(f"networks from seed {first}")
    while (most is None or seed < first + most) and (end is None or time.monotonic() < end):
        try:
            network(seed)
        except Exception:
            traceback.print_exc()
            show(f"seed {seed} is wrong: `python -m tests.fuzz.network 1x {seed}`")
            return 1
        seed += 1
        if (seed - first) % 100 == 0:
            show(f"{seed - first} networks")
    show(f"{seed - first} networks, all at rest in the centralised answer")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
