"""From a keystroke to the diagnostics: a session with `tidelog lsp` over a program of 2,500 rules in one file.

The program is that of `many_rules`, with its files put together. An editor types a mistake into a rule, a declaration
and a type, and takes it back, again and again. The time ends with the diagnostics that show the mistake, or its end.
"""

from __future__ import annotations

import asyncio
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.harness import Line, Measured, Options, Run, Target, in_child, measure
from benchmarks.many_rules import RULES, write

_SECONDS = 0.2
_TIMES = 10
_PLACES = {
    "a rule": ("far: ", "r40_2(field, site, method) :- r40_2(field, site, metho).\n", "E0215"),
    "a declaration": (".decl r40_2(", ".decl r40_2x(", "E0201"),
    "the syntax of a rule": ("far: ", "r40_2(field, site method) :- r40_2(field, site, method).\n", "E0101"),
}


def program() -> str:
    """Return the program as one text without preprocessor lines."""
    with tempfile.TemporaryDirectory() as name:
        main = write(Path(name))
        text = re.sub(
            r'#include "(.*?)"', lambda match: (main.parent / match[1]).read_text("utf-8"), main.read_text("utf-8")
        )
    return text.replace("#define BOUND 3\n", "").replace("BOUND", "3")


def evaluation(place: str, runs: int | None) -> Measured:
    """Measure the keystrokes at a place: the seconds are those within which three quarters of them show."""
    text = program()
    return measure(lambda: asyncio.run(_session(text, place)), runs)


async def _session(text: str, place: str) -> Run:
    from lsprotocol import types
    from pygls.lsp.client import LanguageClient

    old, new, code = _PLACES[place]
    if old == "far: ":
        old, new = "\n.output r00_5", f"\n{new}.output r00_5"
    client = LanguageClient("benchmarks", "1")
    shown: asyncio.Queue[list[str | int | None]] = asyncio.Queue()

    @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)  # type: ignore[untyped-decorator]  # pygls
    def show(params: types.PublishDiagnosticsParams) -> None:
        shown.put_nowait([each.code for each in params.diagnostics])

    uri = "file:///program.dl"
    await client.start_io(sys.executable, "-m", "tidelog", "lsp")
    await client.initialize_async(types.InitializeParams(capabilities=types.ClientCapabilities()))
    client.initialized(types.InitializedParams())
    document = types.TextDocumentItem(uri, "datalog", 1, text)
    client.text_document_did_open(types.DidOpenTextDocumentParams(document))
    await shown.get()
    start = text.index(old)
    line, column = text.count("\n", 0, start), start - text.rfind("\n", 0, start) - 1
    taken: list[float] = []
    for turn in range(2 * _TIMES):
        before, after = (old, new) if turn % 2 == 0 else (new, old)
        lines = before.split("\n")
        end = types.Position(line + len(lines) - 1, len(lines[-1]) + (column if len(lines) == 1 else 0))
        change = types.TextDocumentContentChangePartial(
            range=types.Range(types.Position(line, column), end), text=after
        )
        while not shown.empty():
            shown.get_nowait()
        begin = time.perf_counter()
        identifier = types.VersionedTextDocumentIdentifier(turn + 2, uri)
        client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, [change]))
        while (code in await shown.get()) != (turn % 2 == 0):
            pass
        taken.append(time.perf_counter() - begin)
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()  # type: ignore[no-untyped-call]  # pygls does not annotate it
    taken.sort()
    return Run(
        {"keystrokes": len(taken)}, taken[-len(taken) // 4], 0.0, {"median": taken[len(taken) // 2], "most": taken[-1]}
    )


def lines(options: Options) -> Iterator[Line]:
    """Yield one line for each place."""
    for place in _PLACES:
        measured = in_child(evaluation, place, options.runs)
        what = f"{RULES:,} rules in one file: a change of {place}, three quarters of them within"
        yield Line("keystrokes", what, measured, {"keystrokes": 2 * _TIMES}, (Target("seconds", _SECONDS),))
