"""A session of an editor with `tidelog lsp` in a process of its own, by a real client."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.client import LanguageClient
from pygls.uris import from_fs_path

PATIENCE = 120.0
"""Seconds until a session counts as hung."""


class Session:
    """An editor that has files of a folder open; `shown` has the last diagnostics of each document by its name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.client = LanguageClient("tests", "1")
        self.shown: dict[str, list[types.Diagnostic]] = {}
        self.logged: list[str] = []
        self._texts: dict[str, str] = {}
        self._versions: dict[str, int] = {}
        self._news = asyncio.Event()

        @self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)  # type: ignore[untyped-decorator]  # pygls
        def show(params: types.PublishDiagnosticsParams) -> None:
            self.shown[params.uri.rpartition("/")[2]] = list(params.diagnostics)
            self._news.set()

        @self.client.feature(types.WINDOW_LOG_MESSAGE)  # type: ignore[untyped-decorator]  # pygls
        def log(params: types.LogMessageParams) -> None:
            self.logged.append(params.message)

    async def start(self, *arguments: str) -> None:
        """Start the server and greet it."""
        await self.client.start_io(sys.executable, "-m", "tidelog", "lsp", *arguments)
        capabilities = types.ClientCapabilities()
        root = from_fs_path(str(self.folder))
        await self.client.initialize_async(types.InitializeParams(capabilities=capabilities, root_uri=root))
        self.client.initialized(types.InitializedParams())

    async def stop(self) -> None:
        """End the session as an editor does."""
        await self.client.shutdown_async(None)
        self.client.exit(None)
        await self.client.stop()  # type: ignore[no-untyped-call]  # pygls does not annotate it

    def uri(self, name: str) -> str:
        """Return the URI of a file of the folder."""
        return from_fs_path(str(self.folder / name)) or ""

    def document(self, name: str) -> types.TextDocumentIdentifier:
        """Return a file as requests name it."""
        return types.TextDocumentIdentifier(self.uri(name))

    def open(self, name: str, text: str) -> None:
        """Open a document, anew if it is open."""
        if name in self._texts:
            self.client.text_document_did_close(types.DidCloseTextDocumentParams(self.document(name)))
            self.shown.pop(name, None)
        self._texts[name], self._versions[name] = text, 1
        item = types.TextDocumentItem(self.uri(name), "datalog", 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def type(self, name: str, old: str, new: str) -> None:
        """Put a text in place of another one that stands in a document once or more: the first."""
        text = self._texts[name]
        start = text.index(old)
        self._versions[name] += 1
        place = types.Range(self._position(text, start), self._position(text, start + len(old)))
        change = types.TextDocumentContentChangePartial(range=place, text=new)
        self._texts[name] = text[:start] + new + text[start + len(old) :]
        version = types.VersionedTextDocumentIdentifier(self._versions[name], self.uri(name))
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(version, [change]))

    def at(self, name: str, marked: str) -> types.Position:
        """Return the position of the `^` in a text that stands in a document without it."""
        before, _, behind = marked.partition("^")
        text = self._texts[name]
        return self._position(text, text.index(before + behind) + len(before))

    def _position(self, text: str, offset: int) -> types.Position:
        line = text.count("\n", 0, offset)
        units = text[text.rfind("\n", 0, offset) + 1 : offset].encode("utf-16-le")
        return types.Position(line, len(units) // 2)

    async def until(self, name: str, *codes: str) -> list[types.Diagnostic]:
        """Return the diagnostics of a document as soon as they have these codes in order."""
        while [each.code for each in self.shown.get(name, [types.Diagnostic(_NOWHERE, "", code="none")])] != [*codes]:
            self._news.clear()
            await asyncio.wait_for(self._news.wait(), PATIENCE)
        return self.shown[name]


_NOWHERE = types.Range(types.Position(0, 0), types.Position(0, 0))


Work = Callable[[Session], Coroutine[Any, Any, None]]


@contextmanager
def sessions(folder: Path, *arguments: str) -> Iterator[Callable[[Work], None]]:
    """Yield a function that lets pieces of work use one session, which begins and ends around them."""
    with asyncio.Runner() as runner:
        session = Session(folder)

        def use(work: Work) -> None:
            runner.run(asyncio.wait_for(work(session), PATIENCE))

        use(lambda _: session.start(*arguments))
        yield use
        use(lambda _: session.stop())
