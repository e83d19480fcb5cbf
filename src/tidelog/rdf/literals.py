"""Literals: their values, and the contradictions of these (rules dt-not-type and dt-diff of OWL 2 RL, and dt-eq for
stores that ask for it).

Source: OWL 2 Structural Specification (Second Edition), section 4; XML Schema 1.1 part 2. Values are compared by
identity: `"1"^^xsd:integer` and `"1.0"^^xsd:decimal` are one, `"1"^^xsd:double` is another, and so are equal instants
with other offsets of time zones. Nobody knows the value of a literal whose datatype is not among DATATYPES.

Whether a literal is well-typed, in a datatype, or has the value of another one is true in all graphs. Internal
relations keep such facts once the triples ask for them, and never lose them; instances read them:

    ILL      a literal and its datatype, of which it is not:     false if a triple has it
    OUTSIDE  a literal and a datatype that lacks its value:      false if it has the datatype as a class
    UNLIKE   two literals of different values:                   false if they are the same
    EQUAL    two literals of one value:                          the same
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy

from tidelog.common.arrays import Words
from tidelog.rdf.data import Triples
from tidelog.rdf.names import EQUAL, ILL, OUTSIDE, UNLIKE, Names
from tidelog.rdf.specialise import RuleInstance
from tidelog.rdf.tables import FALSE, Triple
from tidelog.rdf.terms import OWL, RANGES, RDF, RDFS, SAME_AS, SPELLINGS, TYPE, XSD

if TYPE_CHECKING:
    from tidelog.workspace.change import Change


# --- values ----------------------------------------------------------------------------------------------------------


LiteralValue: TypeAlias = tuple[str, object]
"""A value space and what identifies the value in it."""

_STRING, _REAL = "string", "real"
_UNSPACED = re.compile(r"[^\t\n\r]*")
_TOKEN = re.compile(r"(?:[^\s]+(?: [^\s]+)*)?")
_NAME = re.compile(r"[\w:][\w:.\-·]*")
_STRINGS: dict[str, re.Pattern[str]] = {
    "string": re.compile(r"(?s:.*)"),
    "normalizedString": _UNSPACED,
    "token": _TOKEN,
    "language": re.compile(r"[a-zA-Z]{1,8}(?:-[a-zA-Z0-9]{1,8})*"),
    "Name": _NAME,
    "NCName": re.compile(r"[^\W\d][\w.\-·]*"),
    "NMTOKEN": re.compile(r"[\w:.\-·]+"),
}
_DAY = timedelta(days=1)
_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"(?:@([A-Za-z0-9-]+)|\^\^<([^>]*)>)?', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_PLAIN = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}


def parts(term: str) -> tuple[str, str, str]:
    """Return the characters of a literal, its language or "", and its datatype."""
    match = _LITERAL.fullmatch(term)
    assert match is not None, term
    text = _ESCAPE.sub(_unescape, match[1]) if "\\" in match[1] else match[1]
    return text, match[2] or "", match[3] or (f"{RDF}langString" if match[2] else f"{XSD}string")


def _unescape(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    return chr(int(code, 16)) if code else _PLAIN.get(match[3], match[3])


@lru_cache(maxsize=65_536)
def value_of(term: str) -> LiteralValue | None:
    """Return the value of a literal; None if its datatype is unknown or it is not well-typed, and for other terms."""
    if not term.startswith('"'):
        return None
    text, language, datatype = parts(term)
    if language:
        return "language", (text, language.lower())
    read = _READERS.get(datatype)
    try:
        return read(text) if read is not None else None
    except (ValueError, OverflowError, ZeroDivisionError, binascii.Error):
        return None


def differ(one: str, other: str) -> bool:
    """Return True if two literals certainly have different values."""
    left, right = value_of(one), value_of(other)
    return left is not None and right is not None and left != right


def is_outside(term: str, datatype: str) -> bool:
    """Return True if the value of a literal is certainly not one of a datatype."""
    value, holds = value_of(term), DATATYPES.get(datatype)
    return value is not None and holds is not None and not holds(value)


# --- spellings to values ---------------------------------------------------------------------------------------------


def _check_spelling(name: str, text: str) -> str:
    """Return a text. Raise ValueError if no literal of a datatype is spelled like it."""
    if not re.fullmatch(SPELLINGS[name], text):
        raise ValueError(text)
    return text


def _real(text: str) -> LiteralValue:
    return _REAL, Fraction(Decimal(_check_spelling("decimal", text)))


def _integer_reader(name: str) -> Callable[[str], LiteralValue]:
    def read_integer(text: str) -> LiteralValue:
        value = _REAL, Fraction(Decimal(_check_spelling("integer", text)))
        if not _integer(name)(value):
            raise ValueError(text)
        return value

    return read_integer


def _rational(text: str) -> LiteralValue:
    above, _, below = text.partition("/")
    return _REAL, Fraction(int(above), int(below or 1))


def _float_reader(name: str) -> Callable[[str], LiteralValue]:
    kind = numpy.float32 if name == "float" else numpy.float64

    def read_float(text: str) -> LiteralValue:
        with numpy.errstate(over="ignore"):
            return name, repr(kind(_check_spelling(name, text).replace("INF", "inf")))

    return read_float


def _boolean(text: str) -> LiteralValue:
    return "boolean", _check_spelling("boolean", text) in ("true", "1")


def _string_reader(name: str) -> Callable[[str], LiteralValue]:
    def read_string(text: str) -> LiteralValue:
        if not _STRINGS[name].fullmatch(text):
            raise ValueError(text)
        return _STRING, text

    return read_string


def _plain_literal(text: str) -> LiteralValue:
    """Read rdf:PlainLiteral: a text, `@` and a language or nothing."""
    string, at, language = text.rpartition("@")
    if not at:
        raise ValueError(text)
    return ("language", (string, language.lower())) if language else (_STRING, string)


def _hexadecimal(text: str) -> LiteralValue:
    return "hexBinary", bytes.fromhex(_check_spelling("hexBinary", text))


def _base64(text: str) -> LiteralValue:
    return "base64Binary", base64.b64decode(text.replace(" ", ""), validate=True)


def _instant(text: str) -> LiteralValue:
    """Read a time with its offset in minutes, None without one: the same instant elsewhere is another value."""
    ends = re.search(r"(?:Z|[+-]\d\d:\d\d)?$", _check_spelling("dateTime", text))
    zone = ends[0] if ends is not None else ""
    main = text.removesuffix(zone)
    day, _, time = main.rpartition("T")
    seconds = Fraction(Decimal(time[6:]))
    offset = None if not zone else 0 if zone == "Z" else int(f"{zone[0]}1") * (60 * int(zone[1:3]) + int(zone[4:]))
    if len(day) > 10 or day.startswith(("-", "0000")):
        return "dateTime", (main, seconds, offset)  # years that Python's dates do not have
    then = datetime.fromisoformat(day).replace(tzinfo=UTC)
    if time.startswith("24"):
        then, time = then + _DAY, "00:00:00"
    return "dateTime", (then.toordinal(), int(time[:2]), int(time[3:5]), seconds, offset)


def _uri(text: str) -> LiteralValue:
    return "anyURI", text


_READERS: dict[str, Callable[[str], LiteralValue]] = {
    **{f"{XSD}{name}": _integer_reader(name) for name in ("integer", *RANGES)},
    **{f"{XSD}{name}": _string_reader(name) for name in _STRINGS},
    **{f"{XSD}{name}": _float_reader(name) for name in ("double", "float")},
    **dict.fromkeys((f"{XSD}dateTime", f"{XSD}dateTimeStamp"), _instant),
    f"{XSD}decimal": _real,
    f"{XSD}boolean": _boolean,
    f"{XSD}hexBinary": _hexadecimal,
    f"{XSD}base64Binary": _base64,
    f"{XSD}anyURI": _uri,
    f"{OWL}rational": _rational,
    f"{RDF}PlainLiteral": _plain_literal,
}

# --- values to datatypes ---------------------------------------------------------------------------------------------


def _of_space(*spaces: str) -> Callable[[LiteralValue], bool]:
    return lambda value: value[0] in spaces


def _integer(name: str) -> Callable[[LiteralValue], bool]:
    low, high = RANGES.get(name, (None, None))

    def holds(value: LiteralValue) -> bool:
        number = value[1]
        if value[0] != _REAL or not isinstance(number, Fraction) or number.denominator != 1:
            return False
        return (low is None or number >= low) and (high is None or number <= high)

    return holds


def _decimal(value: LiteralValue) -> bool:
    """Return True for a number with an end in the decimal system."""
    if not isinstance(value[1], Fraction):
        return False
    rest = value[1].denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1


def _text(name: str) -> Callable[[LiteralValue], bool]:
    return lambda value: value[0] == _STRING and _STRINGS[name].fullmatch(str(value[1])) is not None


def _has_offset(value: LiteralValue) -> bool:
    return value[0] == "dateTime" and isinstance(value[1], tuple) and value[1][-1] is not None


DATATYPES: dict[str, Callable[[LiteralValue], bool]] = {
    **{f"{XSD}{name}": _integer(name) for name in ("integer", *RANGES)},
    **{f"{XSD}{name}": _text(name) for name in _STRINGS},
    **{f"{XSD}{name}": _of_space(name) for name in ("double", "float", "boolean", "hexBinary", "base64Binary")},
    **{f"{XSD}{name}": _of_space(name) for name in ("dateTime", "anyURI")},
    **dict.fromkeys((f"{OWL}real", f"{OWL}rational"), _of_space(_REAL)),
    f"{XSD}decimal": _decimal,
    f"{XSD}dateTimeStamp": _has_offset,
    f"{RDF}langString": _of_space("language"),
    f"{RDF}PlainLiteral": _of_space(_STRING, "language"),
    f"{RDFS}Literal": lambda _: True,
}
"""Datatypes by their IRIs, each with a test whether it has a value."""


# --- facts about literals --------------------------------------------------------------------------------------------


Facts = tuple[str, bool, Words]


class Literals:
    """The literals of a store, with what is known of their values. With `equal`, those of one value are the same."""

    def __init__(self, triples: Triples, names: Names, *, equal: bool) -> None:
        self._triples = triples
        self._names = names
        self._equal = equal
        self._first: dict[LiteralValue, str] = {}
        """For each value the first literal that has it."""

    def recall(self) -> None:
        """Learn the values of all literals, of a store that comes back."""
        if self._equal:
            objects = numpy.unique(self._triples.match_terms(None, None, None, asserted=True)[:, 2])
            for term in self._triples.dictionary.strings(self._literals(objects)):
                value = value_of(term)
                if value is not None:
                    self._first.setdefault(value, term)

    def of_rows(self, predicate: str, rows: Words) -> Iterator[Facts]:
        """Yield facts about the literals among the objects of asserted triples of a property."""
        ill = self._triples.ill
        if ill:
            words = {self._triples.dictionary.find(term, "symbol"): term for term in ill}
            found = [int(word) for word in numpy.unique(rows[:, 1]) if int(word) in words]
            if found:
                self._names.with_ill.setdefault(predicate, None)
                yield self._facts(ILL, [(words[word], ill[words[word]]) for word in found])
        if self._equal:
            terms = self._triples.dictionary.strings(self._literals(numpy.unique(rows[:, 1])))
            same = [
                (self._first.setdefault(value, term), term) for term in terms if (value := value_of(term)) is not None
            ]
            pairs = [pair for pair in same if pair[0] != pair[1]]
            if pairs:
                yield self._facts(EQUAL, pairs)

    def learn(self, change: Change, *, derives_same: bool) -> list[Facts]:
        """Return facts that are new about literals that an epoch has made the same, or has put into datatypes. Rules
        may derive what is the same (`derives_same`)."""
        found: list[Facts] = []
        same = self._names.property(SAME_AS)
        # A closure of asserted pairs has literals only where somebody says so, and may have more pairs than fit.
        if same in change and derives_same:
            rows = change[same].inserted.words_in(self._triples.dictionary)
            if rows is not None and len(rows):
                both = self._triples.are_literals(rows[:, 0]) & self._triples.are_literals(rows[:, 1])
                texts = [self._triples.dictionary.strings(column) for column in rows[both].T]
                found += self._new(UNLIKE, (pair for pair in zip(*texts, strict=True) if differ(*pair)))
        for datatype in DATATYPES.keys() & self._names.classes.keys():
            name = self._names.classes[datatype]
            if name in change:
                rows = change[name].inserted.words_in(self._triples.dictionary)
                terms = self._triples.dictionary.strings(self._literals(rows[:, 0])) if rows is not None else []
                new = self._new(OUTSIDE, ((term, datatype) for term in terms if is_outside(term, datatype)))
                if new:
                    self._names.with_outside.setdefault(datatype, None)
                found += new
        return found

    def _literals(self, words: Words) -> Words:
        found: Words = words[self._triples.are_literals(words)]
        return found

    def _new(self, predicate: str, pairs: Iterable[tuple[str, str]]) -> list[Facts]:
        """Return the facts of pairs that the store does not have, if there are any."""
        found = list(pairs)
        if not found:  # The relation stays undeclared: rules read it as soon as it is there.
            return []
        name, asserts, words = self._facts(predicate, found)
        stored = self._triples.stored_relation(name, asserted=True)
        new = words if stored is None else words[stored.find(words) < 0]
        return [(name, asserts, new)] if len(new) else []

    def _facts(self, predicate: str, pairs: list[tuple[str, str]]) -> Facts:
        encode = self._triples.dictionary.encode
        words = [[encode(text, "symbol") for text in pair] for pair in pairs]
        return self._names.property(predicate), True, numpy.array(words, numpy.int64).reshape(-1, 2)


def instances_of_literals(names: Names) -> Iterator[RuleInstance]:
    """Yield the rules that read the facts about literals."""
    for predicate in names.with_ill:
        body = (Triple("?x", predicate, "?y"), Triple("?y", ILL, "?d"))
        yield RuleInstance("dt-not-type", Triple("?y", FALSE, "?d"), body, ())
    for datatype in names.with_outside:
        body = (Triple("?x", TYPE, datatype), Triple("?x", OUTSIDE, datatype))
        yield RuleInstance("dt-not-type", Triple("?x", FALSE, datatype), body, ())
    if UNLIKE in names.properties:
        body = (Triple("?x", SAME_AS, "?y"), Triple("?x", UNLIKE, "?y"))
        yield RuleInstance("dt-diff", Triple("?x", FALSE, "?y"), body, ())
