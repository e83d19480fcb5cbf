"""A bar below a cell for work that takes long."""

from __future__ import annotations

from contextlib import ExitStack

from IPython.core.interactiveshell import ExecutionInfo
from IPython.display import HTML, DisplayHandle, display

from tidelog.common.markup import progress_bar
from tidelog.limits.progress import Progress, progress

_PATIENCE = 0.5
"""Seconds of work before its bar shows."""


class NotebookBar:
    """A bar below a cell, while commits and other work of its thread take long."""

    def __init__(self) -> None:
        self._cell = ExitStack()
        self._shown: DisplayHandle | None = None

    def begin(self, _: ExecutionInfo) -> None:
        """Look after the work of a cell."""
        self._cell.enter_context(progress(self.show))

    def end(self, _: object) -> None:
        """Look no more."""
        self._cell.close()
        self._remove()

    def show(self, state: Progress) -> None:
        """Show how far some work has come, once it has taken some time."""
        if state.ended:
            self._remove()
            return
        if state.seconds < _PATIENCE:
            return
        parts = (state.work, state.step, f"{state.rows:,} tuples" if state.rows else "", f"{state.seconds:.0f} s")
        bar = HTML(progress_bar(", ".join(filter(None, parts)), state.done, state.of))
        if self._shown is None:
            self._shown = display(bar, display_id=True)
        else:
            self._shown.update(bar)

    def _remove(self) -> None:
        shown, self._shown = self._shown, None
        if shown is not None:
            shown.update(HTML(""))
