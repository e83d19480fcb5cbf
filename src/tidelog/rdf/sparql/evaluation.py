"""A query over a mirror, evaluated to rows of terms.

pyoxigraph cannot stop a query. So a query with a time limit is evaluated in a forked process, which has the mirror as
it is at that moment; when time is over, the process is killed. Without a limit it runs in the thread of the caller.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from tidelog.errors import LimitError, Problem, UsageError
from tidelog.rdf.formats import INFERRED, load
from tidelog.rdf.sparql.mirror import MERGED, named_graphs
from tidelog.rdf.terms import NESTED

_PIPE = 1 << 20
_FORMS = {"QuerySolutions": "SELECT", "QueryBoolean": "ASK", "QueryTriples": "CONSTRUCT"}
Failure = tuple[type[BaseException], str]


@dataclass(frozen=True)
class QueryPlan:
    """A query that has been checked, with its options as pyoxigraph takes them."""

    text: str
    options: Mapping[str, Any]

    def started(self, mirror: Any) -> Any:
        """Return pyoxigraph's results over a mirror, which stay those of this moment."""
        return mirror.query(self.text, **self.options)


@dataclass(frozen=True)
class FoundTerms:
    """The answer to a query: its form, SELECT, ASK or CONSTRUCT, the names of the columns, and a list of symbols for
    each of them. The empty text stands where a variable has no value. `count` is the number of rows."""

    form: str
    names: tuple[str, ...]
    columns: tuple[list[str], ...]
    count: int

    def in_order(self, names: list[str]) -> FoundTerms:
        """Return the answer with its columns in the order of `names`, which have all of theirs."""
        order = sorted(range(len(self.names)), key=lambda i: names.index(self.names[i]))
        return replace(self, names=tuple(self.names[i] for i in order), columns=tuple(self.columns[i] for i in order))


def dataset(mirror: Any, inferred: bool, union: bool = False) -> dict[str, Any]:
    """Return the graphs of a query that names none: as the default graph the default graph, with what follows and the
    triples of named graphs or without, and all named ones."""
    oxigraph = load()
    graphs = [oxigraph.NamedNode(name) for name, is_asked in ((INFERRED, inferred), (MERGED, union)) if is_asked]
    return {"default_graph": [oxigraph.DefaultGraph(), *graphs], "named_graphs": named_graphs(mirror)}


def collected(results: Any) -> FoundTerms:
    """Return the answer in pyoxigraph's results."""
    form = _FORMS[type(results).__name__]
    if form == "ASK":
        return FoundTerms(form, (), (), int(bool(results)))
    if form == "SELECT":
        names = tuple(variable.value for variable in results.variables)
    else:
        names = ("subject", "predicate", "object")
        results = dict.fromkeys(results)
    rows = [[symbol_of(value) for value in row] for row in results]
    columns = tuple(list(column) for column in zip(*rows, strict=True)) if rows else tuple([] for _ in names)
    return FoundTerms(form, names, columns, len(rows))


def symbol_of(value: Any) -> str:
    """Return the symbol of a term of pyoxigraph, the empty text for none."""
    kind = type(value).__name__
    if kind == "NamedNode":
        return str(value.value)
    if kind == "Triple":
        return f"{NESTED} {value} )>>"
    return "" if value is None or kind == "DefaultGraph" else str(value)


# --- within a time limit ---------------------------------------------------------------------------------------------


class TimedQuery:
    """A query that another process evaluates until a time limit. Make it while nothing changes the mirror; `found` can
    wait elsewhere."""

    def __init__(self, start: Callable[[], Any], timeout: float) -> None:
        if not hasattr(os, "fork"):
            hint = "leave out `timeout`, or use Linux or macOS"
            raise UsageError(Problem("E0668", "this system cannot stop a query after a time", hint=hint))
        self._timeout = timeout
        self._ends = time.monotonic() + timeout
        self._pipe, writing = os.pipe()
        with warnings.catch_warnings():
            # Python warns of threads, which may hold locks; the new process uses pyoxigraph and the pipe alone.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._process = os.fork()
        if not self._process:
            os.close(self._pipe)
            _answer(start, writing)
        os.close(writing)

    def found(self) -> FoundTerms:
        """Return the answer. Raise LimitError (E0501) when time is over, and what pyoxigraph raised."""
        try:
            answer = pickle.loads(b"".join(self._read()))
        finally:
            self._stop()
        if isinstance(answer, FoundTerms):
            return answer
        kind, message = answer
        raise kind(message)

    def _read(self) -> Iterator[bytes]:
        while True:
            ready, _, _ = select.select([self._pipe], [], [], max(0.0, self._ends - time.monotonic()))
            if not ready:
                message = f"the query was stopped after {self._timeout:g} s, its limit"
                hint = "raise `timeout`, or ask for less, for example with LIMIT; nothing has changed"
                raise LimitError(Problem("E0501", message, hint=hint))
            part = os.read(self._pipe, _PIPE)
            if not part:
                return
            yield part

    def _stop(self) -> None:
        os.close(self._pipe)
        with suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)


def _answer(start: Callable[[], Any], pipe: int) -> None:
    """Write the answer to a pipe, and end this process."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        answer: FoundTerms | Failure
        try:
            answer = collected(start())
        except (SyntaxError, OSError, RuntimeError, ValueError, MemoryError) as error:
            answer = type(error), str(error)
        data = memoryview(pickle.dumps(answer))
        while data:
            data = data[os.write(pipe, data[:_PIPE]) :]
    finally:
        os._exit(0)
