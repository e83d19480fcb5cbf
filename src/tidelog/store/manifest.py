"""The manifest of a state folder: a JSON document that lists the valid files, with a checksum of its own.

    format, version     the mark by which a store is recognised, and the version of the folder's format
    kind                the kind of the database: "embedded", "rdf" or "spark"
    epoch               the number of commits
    program             the name of the program's file and its checksum, or null without a program
    checkpoint          the same of the checkpoint
    segments            for each, in their order, the checksums of its files
    logs                for each log before this manifest: its last epoch, its checksum, and the relations whose facts
                        in it are no facts any more
    notes               the memory of streams, pipelines and stores of RDF
    sha256              the checksum of all bytes before

A table that Spark has written is a folder. Its checksum, under a name that ends with "/", is that of its list of parts.
In version 2 `program` was the text, which each commit wrote again. Until version 3 there were no logs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tidelog.certificate import program_text
from tidelog.durable.files import checksum
from tidelog.language.stored_text import added_statements, check_readable, placed_text
from tidelog.language.syntax import Program
from tidelog.store.log import SealedLog

NAME = "manifest.json"
FORMAT, VERSION = "tidelog store", 4
_WITH_TEXT = 2
"""The version whose manifests have the text of the program."""
_WITHOUT_LOGS = 3
_MARK = f'{{\n "format": "{FORMAT}",\n'.encode()
_END = re.compile(rb'(?s)(.*),\n "sha256": "([0-9a-f]{64})"\n\}\n')
_SEGMENT = re.compile(r"[0-9]{8,}(-all)?(\.[0-9a-f]{8})?")
_FILE = re.compile(r"[0-9]{8,}(\.[0-9a-f]{8})?")
_LOG = re.compile(r"[0-9]{8,}(\.done)?")
_TABLE = re.compile(r"(?!\.)[^/\0]+\.(insert|delete)\.parquet/?")
_SUM = re.compile(r"[0-9a-f]{64}")
_FILES = ("program", "checkpoint")


@dataclass(frozen=True)
class Manifest:
    """The content of a manifest.

    `epoch` counts the commits. `segments` maps names to the checksums of their files, `checkpoint` is a name and a
    checksum; `logs` are those of commits before; `notes` are JSON. `text` is the program; it is in the file `program`,
    a name and a checksum, or in a document of version 2. `version` is that of the document.
    """

    kind: str = "embedded"
    epoch: int = 0
    program: tuple[str, str] | None = None
    checkpoint: tuple[str, str] | None = None
    segments: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    logs: Mapping[str, SealedLog] = field(default_factory=dict)
    notes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    text: str = ""
    version: int = VERSION

    @property
    def number(self) -> int:
        """Return the number of the last epoch. The first commit makes a store of RDF, and its triples begin with 1."""
        return self.epoch - (self.kind == "rdf")

    @property
    def checkpoint_epoch(self) -> int:
        """Return the epoch of the checkpoint, -1 without one."""
        return -1 if self.checkpoint is None else int(self.checkpoint[0])

    @property
    def covers_rules(self) -> bool:
        """Return True if there is a checkpoint, and no rules have come or gone since."""
        return self.checkpoint is not None and (self.program is None or int(self.program[0]) <= self.checkpoint_epoch)

    def to_bytes(self) -> bytes:
        """Return the document."""
        document = {"format": FORMAT, **vars(self), "version": VERSION, "logs": _plain(self.logs)}
        del document["text"]
        lines = (f'"{key}": {json.dumps(value)}' for key, value in document.items())  # without layout it is fast
        text = ("{\n " + ",\n ".join(lines)).encode()
        return text + f',\n "sha256": "{checksum(text)}"\n}}\n'.encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Manifest:
        """Return the manifest in a document. Raise ValueError with the reason for any other text."""
        if not data.startswith(_MARK):
            raise ValueError(_other(data))
        found = _END.fullmatch(data)
        if found is None or checksum(found[1]).encode() != found[2]:
            raise ValueError("its checksum is wrong")
        try:
            document = json.loads(data)
        except RecursionError:
            raise ValueError("it is too deep") from None
        if document.get("version") not in (VERSION, _WITHOUT_LOGS, _WITH_TEXT):
            raise ValueError(_other(data))
        text = ""
        if document["version"] == _WITH_TEXT and isinstance(document.get("program"), str):
            text, document["program"] = document["program"], None
        if not _is_right(document):
            raise ValueError("it does not describe a store")
        program, checkpoint = (None if each is None else tuple(each) for each in map(document.get, _FILES))
        kind, epoch, segments, notes = (document[name] for name in ("kind", "epoch", "segments", "notes"))
        logs = {name: _log(each) for name, each in document.get("logs", {}).items()}
        return cls(kind, epoch, program, checkpoint, segments, logs, notes, text, document["version"])


def merge_notes(notes: Mapping[str, Mapping[str, Any]], new: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return notes with new ones, which replace those of the same keys; None removes one."""
    both = {key: {**notes.get(key, {}), **new.get(key, {})} for key in {**notes, **new}}
    return {key: {name: each for name, each in own.items() if each is not None} for key, own in both.items()}


def text_of(programs: Sequence[Program]) -> str:
    """Return programs as one text, without their facts."""
    directives = [f"{directive}\n" for program in programs for directive in program.directives]
    components = (f"{each}\n" for program in programs for each in program.components)
    return program_text(programs) + "".join(directives) + "".join(components)


def new_text(programs: Sequence[Program], committed: Sequence[Program] = ()) -> str:
    """Return the text of programs that follow `committed` ones, with the places of their statements. Raise
    InternalError (E0901) if a statement would not read back from it, so that the store could not be opened."""
    new = added_statements(programs, committed)
    check_readable(new, placed_text([new]), programs)
    return placed_text(programs)


def is_marked(folder: Path) -> bool:
    """Return True if a folder has the mark of a store, damaged or not. A certificate has another mark."""
    try:
        if not (folder / NAME).is_file():
            return False
        with (folder / NAME).open("rb") as file:
            head = file.read(4096)
    except OSError:
        return False
    if head.startswith(_MARK):
        return True
    return b"tidelog certificate" not in head and (folder / "segments").is_dir() and (folder / "checkpoints").is_dir()


def is_plain(name: str) -> bool:
    """Return True for the names that tidelog gives to segments, checkpoints, programs and logs, with the folder before
    them."""
    folder, _, last = name.partition("/")
    pattern = {"segments": _SEGMENT, "logs": _LOG}.get(folder, _FILE)
    return pattern.fullmatch(last) is not None


def _other(data: bytes) -> str:
    """Return the problem of a document without the mark."""
    try:
        document = json.loads(data)
        return f"another version of tidelog wrote it, with stores of version {document['version']!r:.20}"
    except (ValueError, TypeError, KeyError, RecursionError):
        return "it does not say that this is a store"


def _is_right(document: Mapping[str, Any]) -> bool:
    """Return True if a document has all fields of a manifest, with plain names."""
    segments, notes = document.get("segments"), document.get("notes")
    return (
        document.get("kind") in ("embedded", "rdf", "spark")
        and type(document.get("epoch")) is int
        and document["epoch"] >= 0
        and all(name in document and _is_file(document[name]) for name in _FILES)
        and isinstance(segments, dict)
        and all(_SEGMENT.fullmatch(name) and isinstance(files, dict) for name, files in segments.items())
        and all(
            _TABLE.fullmatch(name) and isinstance(each, str) and _SUM.fullmatch(each)
            for files in segments.values()
            for name, each in files.items()
        )
        and isinstance(document.get("logs", {}), dict)
        and all(_FILE.fullmatch(name) and _is_log(each) for name, each in document.get("logs", {}).items())
        and isinstance(notes, dict)
        and all(isinstance(note, dict) for note in notes.values())
    )


def _plain(logs: Mapping[str, SealedLog]) -> Mapping[str, Any]:
    return {name: [log.last, log.sha256, list(log.without)] for name, log in logs.items()}


def _log(value: Any) -> SealedLog:
    last, found, without = value
    return SealedLog(last, found, tuple(without))


def _is_log(value: object) -> bool:
    match value:
        case [int(last), str(found), list(without)]:
            names_texts = all(isinstance(each, str) for each in without)
            return last >= 0 and _SUM.fullmatch(found) is not None and names_texts
    return False


def _is_file(value: object) -> bool:
    """Return True for the name and the checksum of a file, and for null."""
    match value:
        case None:
            return True
        case [str(name), str(found)]:
            return _FILE.fullmatch(name) is not None and _SUM.fullmatch(found) is not None
    return False
