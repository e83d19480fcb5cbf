"""A kernel as notebooks start it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from jupyter_client.manager import start_new_kernel

_DEADLINE = 120
_SHOWS = ("display_data", "update_display_data", "execute_result")


@dataclass
class RanCell:
    """A cell that has run: its status, the last error, and everything that it has shown by media type."""

    status: str = ""
    error: dict[str, Any] = field(default_factory=dict)
    shown: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True)
class Kernel:
    """A running kernel."""

    manager: Any
    client: Any

    def run(self, text: str, hook: Callable[[dict[str, Any]], object] = bool) -> RanCell:
        """Run a cell. `hook` gets each message."""
        found = RanCell()

        def see(message: dict[str, Any]) -> None:
            kind, content = message["msg_type"], message["content"]
            if kind in _SHOWS:
                found.shown.append(content["data"])
            elif kind == "error":
                found.error = content
            hook(message)

        found.status = self.client.execute_interactive(text, timeout=_DEADLINE, output_hook=see)["content"]["status"]
        return found


@contextmanager
def started() -> Iterator[Kernel]:
    """Start a kernel that imports what this process imports."""
    options = ["--InteractiveShell.colors=NoColor"]
    manager, client = start_new_kernel(startup_timeout=_DEADLINE, extra_arguments=options)
    try:
        kernel = Kernel(manager, client)
        assert kernel.run(f"import sys; sys.path[:0] = {sys.path!r}").status == "ok"
        yield kernel
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
