"""Terms and property paths of rdflib in the spelling of rules."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tidelog.rdf.sparql.bodies import Unsupported
from tidelog.rdf.terms import term

_IRI = re.compile(r"[A-Za-z][\w+.-]*://[^\s<>\"{}|^`\\]*")


def is_plain(iri: str) -> bool:
    """Return True if rules can have an IRI as the name of a property: it has `//`."""
    return _IRI.fullmatch(iri) is not None


def literal_of(value: Any) -> str:
    """Return a variable, blank node or constant as the argument of a property."""
    from rdflib import BNode, Variable

    if isinstance(value, (Variable, BNode)):
        return f"v_{name_of(value)}"
    return symbol(value)


def name_of(value: Any) -> str | None:
    """Return the name of a variable or blank node in rules, None for a constant."""
    from rdflib import BNode, Variable

    if isinstance(value, BNode):
        return "_" + re.sub(r"\W", "_", value)
    return str(value) if isinstance(value, Variable) else None


def operand_of(value: Any) -> str:
    """Return a variable or constant as a side of a comparison: there, a text is a symbol, not a literal of RDF."""
    name = name_of(value)
    if name is not None:
        return f"v_{name}"
    return quoted(term(value))


def quoted(symbol: str) -> str:
    """Return a symbol as a constant of rules."""
    text = symbol.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'


def symbol(value: Any) -> str:
    """Return a constant as an argument of a property."""
    from rdflib import URIRef

    if isinstance(value, URIRef):
        return f"<{value}>"
    return term(value)


def path_of(path: Any, step: Callable[[str], str]) -> str:
    """Return a property path in the language of rules; `step` gives the relation of a property. Raise Unsupported for a
    negated property set, and for IRIs that paths cannot spell."""
    from rdflib import URIRef
    from rdflib.paths import AlternativePath, InvPath, MulPath, SequencePath

    if isinstance(path, URIRef):
        if not is_plain(str(path)):
            raise Unsupported(f"<{path}> cannot be part of a path", "use IRIs with // in paths")
        return step(str(path))
    if isinstance(path, SequencePath):
        return "/".join(_part(each, step) for each in path.args)
    if isinstance(path, AlternativePath):
        return "|".join(_part(each, step) for each in path.args)
    if isinstance(path, InvPath):
        return f"^{_part(path.arg, step)}"
    if isinstance(path, MulPath):
        return f"{_part(path.path, step)}{path.mod}"
    raise Unsupported("a negated property set is not supported")


def _part(path: Any, step: Callable[[str], str]) -> str:
    from rdflib import URIRef

    text = path_of(path, step)
    return text if isinstance(path, URIRef) else f"({text})"
