"""`server`: the language of tidelog for editors, over the Language Server Protocol.

documents    the open texts, the files that they include, and their problems
names        the names in a text
answers      where they lead, and what an editor lists
diagnostics  problems, and the changes that hints propose

After a change the server waits for a moment without another one, and then shows the problems of single statements.
Those of all rules together come after a longer pause, from a thread that stops at the next change.
"""

from __future__ import annotations

import asyncio
import traceback
from pathlib import Path

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from tidelog.editors import answers
from tidelog.editors.answers import completions, outline
from tidelog.editors.diagnostics import TextPlaces, diagnostics, fixes
from tidelog.editors.documents import DocumentChecker, Documents, ProgramDocument
from tidelog.editors.format import format_program
from tidelog.errors import Problem, TidelogError
from tidelog.version import __version__


class StoreSizes:
    """The sizes of the relations of the store in a folder. It is read again after each of its changes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._changed: tuple[float, ...] | None = None
        self._sizes: dict[str, int] = {}

    def text_of(self, relation: str) -> list[str]:
        """Return the number of tuples of a relation in words, or why nobody knows it."""
        from tidelog.store import StoredDatabase, is_marked

        try:
            if not is_marked(self._folder):
                return [f"`{self._folder}` contains no store"]
            changed = tuple(sorted(each.stat().st_mtime for each in self._folder.iterdir()))
            if changed != self._changed:
                with StoredDatabase(self._folder, read_only=True) as db:
                    self._sizes = {name: len(db[name]) for name in db.relations}
                self._changed = changed
        except (TidelogError, OSError) as error:
            return [str(error).partition("\n")[0]]
        size = self._sizes.get(relation)
        if size is None:
            return [f"`{self._folder}` has no such relation"]
        return [f"{size:,} {'tuple' if size == 1 else 'tuples'} in `{self._folder}`"]


WAIT, LATE = 0.03, 0.3
"""Seconds without a change before the problems of statements, and of all rules, are looked for."""


class ProgramServer(LanguageServer):
    """A language server, with the documents of its editor. `store` is a folder whose sizes of relations it shows."""

    def __init__(self, store: Path | None = None) -> None:
        super().__init__("tidelog", __version__)
        self.documents = Documents()
        self.sizes = None if store is None else StoreSizes(store)
        self._checkers: dict[Path, DocumentChecker] = {}
        self._tasks: dict[Path, asyncio.Task[None]] = {}
        self._shown: dict[Path, set[Path]] = {}
        self._late: dict[Path, list[Problem]] = {}

    def path(self, uri: str) -> Path:
        """Return the path of a document; for one without a file, a name that no file has."""
        return Path(to_fs_path(uri) or f"/{uri}")

    def uri(self, path: Path) -> str:
        """Return the name by which the editor knows a file."""
        opened = (each for each in self.workspace.text_documents if self.path(each) == path)
        return next(opened, None) or from_fs_path(str(path)) or ""

    def document(self, uri: str) -> ProgramDocument:
        """Return a document with the text that the editor has now."""
        return self.documents.open(self.path(uri), self.workspace.get_text_document(uri).source)

    def texts(self, document: ProgramDocument) -> TextPlaces:
        """Return the lines of a document, in the units of the editor."""
        return TextPlaces(document.text, self.encoding)

    @property
    def encoding(self) -> str:
        """The units in which the editor counts the characters of a line."""
        kind = self.workspace.position_encoding or types.PositionEncodingKind.Utf16
        return types.PositionEncodingKind(kind).value

    def at(self, identifier: types.TextDocumentIdentifier, position: types.Position) -> tuple[ProgramDocument, int]:
        """Return the document and the offset that a request is about."""
        document = self.document(identifier.uri)
        return document, self.texts(document).offset(position)

    def locations(self, found: list[answers.NamePlace]) -> list[types.Location]:
        """Return names as places for the editor."""
        return [
            types.Location(self.uri(each.document.path), self.texts(each.document).range(each.start, each.end))
            for each in found
        ]

    # --- problems ----------------------------------------------------------------------------------------------------

    def check_soon(self, uri: str) -> None:
        """Look for the problems of the program that a document is part of, after a moment."""
        root = self.documents.root(self.path(uri))
        if root in self._tasks:
            self._tasks[root].cancel()
        self._tasks[root] = asyncio.get_running_loop().create_task(self._check(root))

    async def _check(self, root: Path) -> None:
        """Show the problems of a program. It ends with the task that is cancelled by the next change."""
        try:
            await asyncio.sleep(WAIT)
            for uri in list(self.workspace.text_documents):
                self.document(uri)
            checker = self._checkers.setdefault(root, DocumentChecker(self.documents, root))
            stopped = _StopAtChange()
            plain = self.documents[root].is_plain
            try:
                # A plain text is checked here, where nobody else changes it meanwhile; others go through the
                # preprocessor as a whole.
                problems, program = checker.problems() if plain else await asyncio.to_thread(checker.problems, stopped)
                self._show(root, checker, [*problems, *self._problems_still_there(root, checker, program is not None)])
                if program is not None:
                    await asyncio.sleep(LATE)
                    self._late[root] = await asyncio.to_thread(checker.late_problems, program, stopped)
                    self._show(root, checker, self._late[root])
            except asyncio.CancelledError:
                stopped.stop()
                raise
        except _Changed:
            return
        except TidelogError as error:
            self._log(str(error))
        except Exception:  # A fault of ours must not end the server, which people type into.
            self._log(traceback.format_exc())

    def _problems_still_there(self, root: Path, checker: DocumentChecker, right: bool) -> list[Problem]:
        """Return the problems of the last look at all rules whose text is still there, until the next one."""
        known = self._late.get(root, ()) if right else ()
        return [each for each in known if each.span is None or checker.is_there(each.span)]

    def _show(self, root: Path, checker: DocumentChecker, problems: list[Problem]) -> None:
        found = diagnostics(problems, checker.place, root, self.encoding, self.uri)
        before = self._shown.get(root, set())
        self._shown[root] = {*found}
        for path in sorted({root, *before, *found}):
            params = types.PublishDiagnosticsParams(self.uri(path), found.get(path, []))
            self.text_document_publish_diagnostics(params)

    def _log(self, text: str) -> None:
        self.window_log_message(types.LogMessageParams(types.MessageType.Error, text))

    def forget(self, uri: str) -> None:
        """Forget a document, and take its problems away unless another one includes it."""
        path = self.path(uri)
        self.documents.close(path)
        if path in self._checkers:
            if path in self._tasks:
                self._tasks.pop(path).cancel()
            del self._checkers[path]
            for each in self._shown.pop(path, set()) | {path}:
                self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(self.uri(each), []))


class _Changed(Exception):
    """Raised where work stops because of a change."""


class _StopAtChange:
    """A look that raises after a change."""

    def __init__(self) -> None:
        self._changed = False

    def stop(self) -> None:
        """Let the work end at its next look."""
        self._changed = True

    def __call__(self) -> None:
        if self._changed:
            raise _Changed


def server(store: Path | None = None) -> ProgramServer:
    """Return a server with all that it can do; `start_io` runs it."""
    made = ProgramServer(store)
    for add in (_texts, _names, _lists, _changes):
        add(made)
    return made


def _texts(made: ProgramServer) -> None:
    @made.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def open_document(params: types.DidOpenTextDocumentParams) -> None:
        made.document(params.text_document.uri)
        made.check_soon(params.text_document.uri)

    @made.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def check_changed_document(params: types.DidChangeTextDocumentParams) -> None:
        made.check_soon(params.text_document.uri)

    @made.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def check_saved_document(params: types.DidSaveTextDocumentParams) -> None:
        made.documents.look_again()
        made.check_soon(params.text_document.uri)

    @made.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def forget_document(params: types.DidCloseTextDocumentParams) -> None:
        made.forget(params.text_document.uri)


def _names(made: ProgramServer) -> None:
    @made.feature(types.TEXT_DOCUMENT_DEFINITION)
    def definition(params: types.DefinitionParams) -> list[types.Location]:
        document, offset = made.at(params.text_document, params.position)
        return made.locations(answers.definitions(made.documents, document.path, offset))

    @made.feature(types.TEXT_DOCUMENT_REFERENCES)
    def references(params: types.ReferenceParams) -> list[types.Location]:
        document, offset = made.at(params.text_document, params.position)
        found = answers.references(made.documents, document.path, offset)
        declared = params.context.include_declaration
        return made.locations([each for each in found if declared or not each.occurrence.declares])

    @made.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)
    def prepare_rename(params: types.PrepareRenameParams) -> types.Range | None:
        document, offset = made.at(params.text_document, params.position)
        found = document.at(offset)
        if found is None:
            return None
        name, start = found
        return made.texts(document).range(start + name.start, start + name.end)

    @made.feature(types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True))
    def rename(params: types.RenameParams) -> types.WorkspaceEdit:
        document, offset = made.at(params.text_document, params.position)
        try:
            found = answers.places_to_rename(made.documents, document.path, offset, params.new_name)
        except answers.RenameRefused as refused:
            raise JsonRpcInvalidParams(str(refused)) from None
        changes: dict[str, list[types.TextEdit]] = {}
        for each in found:
            place = made.texts(each.document).range(each.start, each.end)
            edits = changes.setdefault(made.uri(each.document.path), [])
            edits.append(types.TextEdit(place, params.new_name))
        return types.WorkspaceEdit(changes=changes)

    @made.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: types.HoverParams) -> types.Hover | None:
        document, offset = made.at(params.text_document, params.position)
        found = answers.hover_text(made.documents, document.path, offset)
        if found is None:
            return None
        name, head, doc, start = found
        parts = [f"```datalog\n{head}\n```", *([doc] if doc else [])]
        if made.sizes is not None and name.sort == "relation":
            parts += made.sizes.text_of(answers.full_name(document, start))
        place = made.texts(document).range(start, start + name.end - name.start)
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, "\n\n".join(parts)), place)


def _lists(made: ProgramServer) -> None:
    options = types.CompletionOptions(trigger_characters=[".", "@", "$", ":"])

    @made.feature(types.TEXT_DOCUMENT_COMPLETION, options)
    def completion(params: types.CompletionParams) -> list[types.CompletionItem]:
        document, offset = made.at(params.text_document, params.position)
        return completions(made.documents, document.path, offset)

    @made.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def symbols(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        document = made.document(params.text_document.uri)
        return outline(document, made.texts(document))


def _changes(made: ProgramServer) -> None:
    @made.feature(types.TEXT_DOCUMENT_FORMATTING)
    def format_document(params: types.DocumentFormattingParams) -> list[types.TextEdit] | None:
        document = made.document(params.text_document.uri)
        try:
            text = format_program(document.text, str(document.path), document.path.parent)
        except TidelogError:  # The diagnostics show the errors of its syntax.
            return None
        if text == document.text:
            return []
        return [types.TextEdit(made.texts(document).range(0, len(document.text)), text)]

    kinds = types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])

    @made.feature(types.TEXT_DOCUMENT_CODE_ACTION, kinds)
    def actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        document = made.document(params.text_document.uri)
        texts = made.texts(document)
        uri = params.text_document.uri
        return [action for each in params.context.diagnostics for action in fixes(each, texts, uri)]
