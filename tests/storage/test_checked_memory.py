"""The kernels as plain Python over checked memory: no access outside of a block, and the same views.

Compiled kernels read and write raw addresses, where a wrong one may pass unseen; here it raises.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

SCRIPT = """
import tidelog

db = tidelog.connect()
db.load('''
.type Pair = [a: number, b: number]
.decl e(x: number, y: number)
.decl t(x: number, y: number)
.decl wide(a: number, b: number, c: number, d: number, e: number)
.decl degree(x: number, n: number)
.decl far(x: number)
.decl name(s: symbol)
.decl pair(p: Pair)
.decl half(x: float)
.decl count(x: number)
t(x, y) :- e(x, y).
t(x, z) :- t(x, y), t(y, z).
wide(x, y, z, x, y) :- e(x, y), e(y, z), !e(x, z).
degree(x, n) :- e(x, _), n = count : { t(x, _) }.
far(x) :- t(x, y), wide(y, x, _, _, z), z != x.
name(cat("n", to_string(n))) :- degree(_, n), n % 2 = 0.
pair([x, y]) :- e(x, y), x < y.
half(to_float(x) / 4.0) :- pair([x, _]).
count(x) :- x = range(0, 600).
''')
db.insert("e", [(i, (i * 5 + 1) % 23) for i in range(46)])
db.commit()
db.delete("e", [(i, (i * 5 + 1) % 23) for i in range(0, 46, 3)])
db.insert("e", [(2**40, 1)])
db.commit()
found = {name: sorted(db[name]) for name in db.relations}
"""


def test_checked_kernels_give_what_compiled_ones_give() -> None:
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-W", "error", "-c", f"{SCRIPT}\nprint(found)"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    here: dict[str, Any] = {}
    exec(SCRIPT, here)
    assert done.stdout == f"{here['found']}\n"


def test_an_access_outside_of_every_block_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    from tidelog.kernels import checked

    monkeypatch.setattr(checked, "CHECKING", True)
    with pytest.raises(checked.AccessError, match="outside of every block"):
        checked.load64(64, 0)
