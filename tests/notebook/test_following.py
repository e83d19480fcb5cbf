"""Tables that follow a relation: of a database and of a server."""

from __future__ import annotations

import queue
import re

import pytest

import tidelog
from tests.notebook.kernel import started
from tests.workbench.serving import serving
from tidelog.notebook import follow
from tidelog.notebook.following import FollowedTable

PROGRAM = """
import tidelog
from tidelog.notebook import follow
db = tidelog.connect()
db.load(".decl said(n: number, text: symbol) said(1, \\"<script>x</script>\\"). said(2, \\"b\\").")
change = db.commit()
"""
CHANGE = """
db.insert("said", [(3, "<i>c</i>")])
db.delete("said", [(2, "b")])
change = db.commit()
"""


def rows(html: str) -> list[list[str]]:
    """Return the cells of each row."""
    return [re.findall("<td[^>]*>(.*?)</td>", row) for row in re.findall("<tr>(.*?)</tr>", html)][1:]


def test_a_table_changes_where_it_was_shown() -> None:
    with started() as kernel:
        kernel.run(PROGRAM)
        first = kernel.run("table = follow(db, 'said'); table").shown
        assert rows(first[0]["text/html"]) == [["", "1", "&lt;script&gt;x&lt;/script&gt;"], ["", "2", "b"]]
        (changed,) = kernel.run(CHANGE).shown
        assert rows(changed["text/html"]) == [
            ["-", "2", "b"],
            ["+", "3", "&lt;i&gt;c&lt;/i&gt;"],
            ["", "1", "&lt;script&gt;x&lt;/script&gt;"],
        ]
        assert "<caption>said: 2 tuples, +1 -1</caption>" in changed["text/html"]
        kernel.run("table.close()")
        assert kernel.run("db.insert('said', [(4, 'd')]); change = db.commit(); change.errors").shown == [
            {"text/plain": "()"}
        ]


def test_a_table_has_the_first_rows_and_the_changed_ones() -> None:
    with tidelog.connect() as db:
        db.load(".decl n(x: number) n(0).")
        db.commit()
        table = FollowedTable(db, "n", 3)
        assert "<caption>n: 1 tuple</caption>" in table.html
        db.insert("n", [(x,) for x in range(1, 3)])
        db.commit()
        assert rows(table.html) == [["+", "1"], ["+", "2"], ["", "0"]]
        db.insert("n", [(x,) for x in range(3, 1_000)])
        db.commit()
        assert len(rows(table.html)) == 3
        assert {sign for sign, _ in rows(table.html)} == {"+"}
        assert "<caption>n: 1,000 tuples, +997 -0</caption>" in table.html
        db.insert("n", [(1,)])
        db.commit()  # It changes nothing.
        assert "+997" in table.html


def test_a_table_follows_a_server() -> None:
    with serving() as server, tidelog.connect(server.address, token=None) as db:
        table = FollowedTable(db, "edge", 20)
        heard: queue.Queue[object] = queue.Queue()
        table._show = lambda: heard.put(table.html)  # type: ignore[method-assign]
        db.insert("edge", [(7, 8)])
        db.commit()
        assert heard.get(timeout=30) == table.html
        assert ["+", "7", "8"] in rows(table.html)
        assert "<caption>edge: 4 tuples, +1 -0</caption>" in table.html
        table.close()


def test_wrong_arguments() -> None:
    with tidelog.connect() as db:
        db.load(".decl n(x: number)")
        db.commit()
        for arguments, code in (((db, "m"), "E0601"), ((3, "n"), "E0635"), ((db, "n", 0), "E0635")):
            with pytest.raises(tidelog.UsageError, match=code):
                follow(*arguments)
