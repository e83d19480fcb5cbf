"""The IPython extension, `%load_ext tidelog`: cells of rules, bars for long work, short messages for Ctrl-C, and names
as you type.

A cell that begins with `%%tidelog` is a program for the database in a variable. It replaces the one that the same cell
had before. Errors of tidelog show themselves as one message (`TidelogError`), with this extension or without.
"""

from __future__ import annotations

import os
import re
import weakref
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from IPython.core.completer import CompletionContext, SimpleCompletion, SimpleMatcherResult, context_matcher
from IPython.core.interactiveshell import ExecutionInfo, InteractiveShell
from IPython.core.magic import Magics, cell_magic, magics_class
from IPython.display import display

from tidelog.connect import connect
from tidelog.database.verbs import RelationVerbs
from tidelog.errors import wrong_argument
from tidelog.notebook.bar import NotebookBar

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
        waiting, committed = workspace.waiting(), workspace.committed
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
    frames = set[str]()
    here = trace
    while here is not None:
        frame: FrameType = here.tb_frame
        frames.add(frame.f_code.co_filename)
        here = here.tb_next
    if any(file.startswith(_PACKAGE) for file in frames):
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
