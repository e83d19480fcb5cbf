"""The IPython extension, `%load_ext tidelog`: cells of rules, bars for long work, short messages for Ctrl-C, and names
as you type.

A cell that begins with `%%tidelog` is a program for the database in a variable. It replaces the one that the same cell
had before. Errors of tidelog show themselves as one message (`TidelogError`), with this extension or without.
"""

from __future__ import annotations

import os
import re
import weakref
from contextlib import ExitStack
from pathlib import Path
from traceback import walk_tb
from types import TracebackType
from typing import Any

from IPython.core.completer import CompletionContext, SimpleCompletion, SimpleMatcherResult, context_matcher
from IPython.core.interactiveshell import ExecutionInfo, InteractiveShell
from IPython.core.magic import Magics, cell_magic, magics_class
from IPython.display import HTML, DisplayHandle, display

from tidelog.common.markup import progress_bar
from tidelog.connect import connect
from tidelog.database.relation_verbs import RelationVerbs
from tidelog.errors import wrong_argument
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


_PACKAGE = str(Path(__file__).parents[1]) + os.sep
_FIRST_LINE = re.compile(r"\s*%%tidelog\b[ \t]*(\w*)")


@magics_class
class TidelogMagics(Magics):
    """The cells of a notebook that are programs."""

    def __init__(self, shell: InteractiveShell) -> None:
        super().__init__(shell)
        self._cell: str | None = None
        self._texts: weakref.WeakKeyDictionary[Any, dict[str, str]] = weakref.WeakKeyDictionary()
        """The last text of each cell in a database."""

    def note_cell(self, info: ExecutionInfo) -> None:
        """Note which cell is about to run; frontends without identities of cells have None."""
        self._cell = info.cell_id

    def database(self, name: str) -> RelationVerbs[Any, Any, Any] | None:
        """Return the database in a variable, None where there is no such variable. Raise UsageError (E0635) for
        anything else in it."""
        assert self.shell is not None
        found = self.shell.user_ns.get(name)
        if found is not None and not isinstance(found, RelationVerbs):
            raise wrong_argument(f"the variable {name}", "a database of `tidelog.connect()`", found)
        return found

    @cell_magic
    def tidelog(self, line: str, cell: str) -> None:
        """Add the rules and facts of the cell to the database in a variable, `db` unless the line names another, and
        show the change. Make the database if it does not exist. The same cell, run again, replaces its statements."""
        assert self.shell is not None
        name = line.strip() or "db"
        db = self.database(name)
        if db is None:
            db = connect()
            self.shell.user_ns[name] = db
        texts = self._texts.setdefault(db, {})
        earlier = texts.get(self._cell) if self._cell is not None else None
        workspace = db.workspace
        waiting, committed = workspace.copy_pending(), workspace.committed
        text = f"{cell}\n"  # With a line break it is no path.
        try:
            db.load(text, replace=True if earlier is None else earlier)
            change = db.commit()
        finally:
            if workspace.committed is committed:
                workspace.wait_again(waiting)
            elif self._cell is not None:
                texts[self._cell] = text
        display(change)


@context_matcher()
def relation_names(context: CompletionContext) -> SimpleMatcherResult:
    """Return the names of relations that begin as the word at the cursor of a `%%tidelog` cell."""
    from IPython.core.getipython import get_ipython

    shell, found = get_ipython(), _FIRST_LINE.match(context.full_text)
    db = shell.user_ns.get(found[1] or "db") if shell is not None and found is not None else None
    if not isinstance(db, RelationVerbs):
        return {"completions": []}
    begun = re.split(r"\W", context.token)[-1]
    names = [name for name in db.relations if name.startswith(begun)]
    return {"completions": [SimpleCompletion(name, type="relation") for name in names], "matched_fragment": begun}


def show_interrupt(
    shell: InteractiveShell,
    kind: type[BaseException],
    error: BaseException,
    trace: TracebackType | None,
    tb_offset: int | None = None,
) -> list[str]:
    """Show a Ctrl-C that ended work of tidelog as one line, any other as IPython does."""
    if any(frame.f_code.co_filename.startswith(_PACKAGE) for frame, _ in walk_tb(trace)):
        lines = ["tidelog: interrupted; an epoch that has not ended changes nothing"]
    else:
        lines = shell.InteractiveTB.structured_traceback(kind, error, trace, tb_offset=tb_offset)
    shell._showtraceback(kind, error, lines)
    return lines


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Add the cells, bars, names as you type and short messages to IPython: for `%load_ext tidelog`."""
    magics = TidelogMagics(shell)
    shell.register_magics(magics)
    shell.events.register("pre_run_cell", magics.note_cell)
    if getattr(shell, "kernel", None) is not None:  # Terminals cannot replace what they have shown.
        bar = NotebookBar()
        shell.events.register("pre_run_cell", bar.begin)
        shell.events.register("post_run_cell", bar.end)
    shell.Completer.custom_matchers.append(relation_names)
    shell.set_custom_exc((KeyboardInterrupt,), show_interrupt)
