"""Functions in Python that shapes call for single values: datatypes, bounds, lengths, patterns, languages.

They take symbols. A test returns 1 for a value that passes it, else 0.

`compile_pattern` reads the regular expressions of SPARQL with the engine of the language's `match`, whose time is
linear in the text. Source: XPath and XQuery Functions 3.1, section 5.6, for the flags.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from operator import ge, le
from typing import Any

from tidelog.functions.callables import functor
from tidelog.language.regex import LENGTH
from tidelog.rdf.literals import DATATYPES, parts, value_of
from tidelog.rdf.names import COLON
from tidelog.rdf.shapes.documents import SH
from tidelog.rdf.terms import RDF, SPELLINGS, XSD, is_iri, literal

_FLAGS = "imsxq"


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str, flags: str) -> Any:
    """Return a compiled pattern. Raise re2.error for an invalid one."""
    import re2

    if "q" in flags:
        pattern = re2.escape(pattern)
    elif "x" in flags:
        pattern = "".join(pattern.split())
    options = re2.Options()
    options.log_errors = False
    mode = "".join(flag for flag in "ims" if flag in flags)
    return re2.compile(f"(?{mode}){pattern}" if mode else pattern, options)


def why_wrong(pattern: str, flags: str) -> str:
    """Return why a pattern cannot be used, the empty text if it can."""
    import re2

    unknown = set(flags) - set(_FLAGS)
    if unknown:
        return f"unknown flag {min(unknown)}"
    if len(pattern) > LENGTH:
        return f"it has {len(pattern):,} characters, the limit is {LENGTH:,}"
    try:
        compile_pattern(pattern, flags)
    except re2.error as error:
        reason = error.args[0] if error.args else "it cannot be read"
        return reason.decode() if isinstance(reason, bytes) else str(reason)
    return ""


HOLDS = f"shape{COLON}holds"
"""The functor of a test, its parameters and a value."""
FILLED = f"shape{COLON}filled"
"""The functor that fills a message with the values of variables."""
LANGUAGE = f"shape{COLON}language"
"""The functor that gives the language of a literal, no value for other terms."""
_PLACE = re.compile(r"\{[?$](\w+)\}")
_ZONE = timedelta(hours=14)
"""No time zone is farther than this from UTC."""


@functor("symbol, symbol, symbol -> number", name=HOLDS, remember=False)
def holds(test: str, parameter: str, value: str) -> int:
    """Return 1 if a value passes a test, 0 if not."""
    return int(_TESTS[test](parameter, value))


@functor("symbol -> symbol", name=LANGUAGE, remember=False)
def language(term: str) -> str | None:
    return (parts(term)[1] or None) if term.startswith('"') else None


@functor("symbol, symbol, symbol -> symbol", name=FILLED)
def fill_message(message: str, names: str, terms: str) -> str:
    """Return a message, a literal, with terms in the place of `{?name}` and `{$name}`; names and terms have tabs
    between."""
    values = dict(zip(names.split("\t"), terms.split("\t"), strict=True))
    return _PLACE.sub(lambda found: _message_part(values.get(found[1], found[0])), message)


def _message_part(term: str) -> str:
    """Return a term for a message, as a part of a literal."""
    return literal(parts(term)[0] if term.startswith('"') else term)[1:-1]


FUNCTIONS = (holds, language, fill_message)
"""The functions that the rules of shapes may call."""


def _is_of_kind(kind: str, value: str) -> bool:
    found = "Literal" if value.startswith('"') else "BlankNode" if value.startswith("_:") else "IRI"
    return found in kind.removeprefix(SH)


def _is_of_datatype(datatype: str, value: str) -> bool:
    if not value.startswith('"'):
        return False
    text, _, found = parts(value)
    if found != datatype:
        return False
    name = datatype.removeprefix(XSD)
    if name in SPELLINGS and not re.fullmatch(SPELLINGS[name], text):
        return False
    # The value space of other datatypes is unknown.
    is_known = datatype in DATATYPES and name != datatype
    return not is_known or value_of(value) is not None


def text_of(value: str) -> str | None:
    """Return the text of a term, None for a blank node."""
    if value.startswith("_:"):
        return None
    return value if is_iri(value) else parts(value)[0] if value.startswith('"') else None


def _length_test(holds: Callable[[int, int], bool]) -> Callable[[str, str], bool]:
    """Return the test if the length of a text compares with a number."""

    def test(number: str, value: str) -> bool:
        text = text_of(value)
        return text is not None and holds(len(text), int(number))

    return test


def _matches(parameter: str, value: str) -> bool:
    flags, _, pattern = parameter.partition(" ")
    text = text_of(value)
    return text is not None and compile_pattern(parts(pattern)[0], flags).search(text) is not None


def _is_among(parameter: str, value: str) -> bool:
    return value in _members(parameter)


@lru_cache(maxsize=1024)
def _members(terms: str) -> frozenset[str]:
    """Return terms with tabs between them: no term has one."""
    return frozenset(terms.split("\t"))


def _is_in_language(parameter: str, value: str) -> bool:
    found = language(value)
    return found is not None and any(each in ("*", found) or found.startswith(f"{each}-") for each in parameter.split())


def _order_test(allowed: str) -> Callable[[str, str], bool]:
    """Return the test if a value compares with a bound in one of some ways: `<`, `=` or `>`."""

    def test(bound: str, value: str) -> bool:
        found = order_of(value, bound)
        return found is not None and found in allowed

    return test


_TESTS: dict[str, Callable[[str, str], bool]] = {
    "in": _is_among,
    "nodeKind": _is_of_kind,
    "datatype": _is_of_datatype,
    "minLength": _length_test(ge),
    "maxLength": _length_test(le),
    "pattern": _matches,
    "languageIn": _is_in_language,
    "minExclusive": _order_test(">"),
    "minInclusive": _order_test(">="),
    "maxExclusive": _order_test("<"),
    "maxInclusive": _order_test("<="),
    "lessThan": _order_test("<"),
    "lessThanOrEquals": _order_test("<="),
}


# --- the order of values ---------------------------------------------------------------------------------------------


def order_of(one: str, other: str) -> str | None:
    """Return how two literals compare in SPARQL: `<`, `=` or `>`, None where they do not."""
    left, right = _comparable(one), _comparable(other)
    if left is None or right is None or left[0] != right[0]:
        return None
    a, b = left[1], right[1]
    if isinstance(a, _Moment) and isinstance(b, _Moment):
        return a.compare(b)
    return "<" if a < b else ">" if a > b else "=" if a == b else None


class _Moment:
    """A date or time with or without a time zone."""

    def __init__(self, moment: datetime) -> None:
        self.is_zoned = moment.tzinfo is not None
        self.moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)

    def compare(self, other: _Moment) -> str | None:
        """Return how this compares: not at all if the lacking time zone could turn it round."""
        if self.is_zoned != other.is_zoned and abs(self.moment - other.moment) <= _ZONE:
            return None
        return "<" if self.moment < other.moment else ">" if self.moment > other.moment else "="


@lru_cache(maxsize=65_536)
def _comparable(term: str) -> tuple[str, Any] | None:
    """Return a literal as something that Python compares, with its sort."""
    if not term.startswith('"'):
        return None
    text, _, datatype = parts(term)
    if datatype == f"{RDF}langString":
        return None
    if datatype in (f"{XSD}date", f"{XSD}time", f"{XSD}dateTime", f"{XSD}dateTimeStamp"):
        return _moment(text, datatype.removeprefix(XSD))
    value = value_of(term)
    if value is None:
        return None
    sort, found = value
    if sort in ("float", "double"):
        return "number", float(str(found).partition("(")[2].rstrip(")") or str(found))
    return ("number" if sort == "real" else sort, found) if sort in ("real", "string", "boolean") else None


def _moment(text: str, name: str) -> tuple[str, _Moment] | None:
    try:
        if name == "time":
            found = datetime.combine(date(2000, 1, 1), time.fromisoformat(text))
        elif name == "date":
            found = datetime.fromisoformat(f"{text[:10]}T00:00:00{text[10:]}")
        else:
            found = datetime.fromisoformat(text)
        return name.removesuffix("Stamp"), _Moment(found)
    except (ValueError, OverflowError):  # years that Python does not have
        return None
