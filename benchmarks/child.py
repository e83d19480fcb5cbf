"""A process of its own for one measurement: `python -m benchmarks.child MODULE:FUNCTION '[ARGUMENTS]'`.

The last line that it prints is what the function has measured, as JSON. Peak memory is that of this case alone.
"""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import asdict


def main(name: str, arguments: str) -> None:
    """Call the function and print its measurements."""
    module, _, function = name.partition(":")
    measured = getattr(importlib.import_module(module), function)(*json.loads(arguments))
    print(json.dumps(asdict(measured)))


if __name__ == "__main__":
    main(*sys.argv[1:])
