"""Look for views in SPARQL that differ from the queries that they were made of: `python -m tests.fuzz.views 600`."""

from __future__ import annotations

import time

from tests.fuzz.asked import asked, show
from tests.rdf.random_views import compared


def main() -> None:
    """Try random views until the time is up."""
    seconds, seed = asked()
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        count += compared(seed, views=12, changes=6)
        seed += 1
    show(f"{count} views, no difference; the next seed is {seed}")


if __name__ == "__main__":
    main()
