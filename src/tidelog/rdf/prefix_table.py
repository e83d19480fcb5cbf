"""The prefixes of a store, which rule text, SPARQL and Turtle share: each is one that Turtle can declare."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Mapping
from typing import Any, Self

from tidelog.common.source import Span
from tidelog.errors import DataError, Problem, UsageError, quote, wrong_argument
from tidelog.rdf.formats import load


class PrefixTable(UserDict[str, str]):
    """Prefixes with their IRIs, of which `known` need no check. Setting another one raises UsageError (E0635) for what
    is no text, and as `check_prefix`."""

    def __init__(self, known: Mapping[str, str]) -> None:
        super().__init__()
        self.data = dict(known)
        self._before: dict[str, str | None] = {}
        """Those that programs declare which wait for a commit, with the IRIs before; None where there was none."""

    def declare(self, known: Mapping[str, str]) -> None:
        """Add the prefixes of a program, until `keep` or `withdraw`."""
        for prefix, iri in known.items():
            if self.data.get(prefix) != iri:
                self._before.setdefault(prefix, self.data.get(prefix))
                self.data[prefix] = iri

    def keep(self) -> None:
        """Keep what programs have declared: they are committed."""
        self._before.clear()

    def withdraw(self) -> None:
        """Take back what programs have declared: they are dropped."""
        for prefix, iri in self._before.items():
            if iri is None:
                self.data.pop(prefix, None)
            else:
                self.data[prefix] = iri
        self._before.clear()

    def __delitem__(self, prefix: str) -> None:
        super().__delitem__(prefix)
        self._before.pop(prefix, None)

    def __setitem__(self, prefix: str, iri: str) -> None:
        """Set a prefix."""
        for what, text in {"a prefix": prefix, "the IRI of a prefix": iri}.items():
            given: object = text
            if not isinstance(given, str):
                raise wrong_argument(what, "a text", text)
        check_prefix(prefix, iri)
        self.data[str(prefix)] = str(iri)
        self._before.pop(prefix, None)

    def __ior__(self, others: Any) -> Self:  # type: ignore[override, misc]  # That of UserDict has no checks.
        """Set some prefixes."""
        self.update(others)
        return self


def prefix_table(given: Mapping[str, str]) -> PrefixTable:
    """Return prefixes that a user sets. Raise UsageError (E0635) for another value, and as `PrefixTable`."""
    if isinstance(given, PrefixTable):
        return given
    if not isinstance(given, Mapping):
        raise wrong_argument("`prefixes`", "a dict of texts", given)
    table = PrefixTable({})
    table.update(given)
    return table


def check_prefix(prefix: str, iri: str, span: Span | None = None) -> None:
    """Raise UsageError (E0661) for a text that no prefix can be, DataError (E0461) for an IRI that is not absolute."""
    oxigraph = load()
    try:
        parser = oxigraph.parse(f"@prefix {prefix}: <x:> .".encode(), oxigraph.RdfFormat.TURTLE)
        is_prefix = not any(True for _ in parser) and parser.prefixes == {prefix: "x:"}
    except (SyntaxError, UnicodeEncodeError):
        is_prefix = False
    if not is_prefix:
        hint = "use letters, digits, `_`, `-` and `.`, a letter first; or the empty text"
        raise UsageError(Problem("E0661", f"{quote(prefix)} cannot be a prefix", span, hint=hint))
    try:
        oxigraph.NamedNode(iri)
    except ValueError:
        message = f"the IRI of the prefix {prefix}: is not absolute: {quote(iri)}"
        hint = "write it in full, like http://example.org/"
        raise DataError(Problem("E0461", message, span, hint=hint)) from None
