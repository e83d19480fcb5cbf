"""`WidgetTable`: a table that follows a relation, as a widget of anywidget."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from IPython.display import display

from tidelog.errors import Problem, SetupError, how_to_install
from tidelog.notebook.table import FollowedTable

try:
    import anywidget
    import traitlets
except ImportError:
    message = "this needs anywidget, which is not installed"
    raise SetupError(Problem("E0790", message, hint=how_to_install("notebook"))) from None


class TableWidget(anywidget.AnyWidget):
    """The widget in the page: it shows what it is given, which has no markup but that of the table."""

    _esm = Path(__file__).with_name("widget.js")
    html = traitlets.Unicode().tag(sync=True)


class WidgetTable(FollowedTable):
    """A table that follows a relation, as a widget. A page without widgets shows the HTML of the moment."""

    def __init__(self, db: Any, relation: str, rows: int) -> None:
        self._widget = TableWidget()
        super().__init__(db, relation, rows)
        self._show()

    def close(self) -> None:
        """Follow no longer, and take the widget away."""
        super().close()
        self._widget.close()

    def _show(self) -> None:
        self._widget.html = self.html

    def _ipython_display_(self) -> None:
        data, metadata = self._widget._repr_mimebundle_() or ({}, {})  # None without an IPython
        display({**data, "text/html": self.html, "text/plain": repr(self)}, metadata=metadata, raw=True)
