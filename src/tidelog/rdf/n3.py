"""Rules in N3 as rules of a store, see docs/how-to/rdf.md; and the verbs of a store over rules by name.

rdflib reads a rule as triples behind and before an arrow. Triples become atoms as in views of SPARQL, and built-ins
literals, which call functions in Python. A blank node of a body is a variable. In a head it would be a new node for
each match, which rules do not make.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import NoneType
from typing import Any, NoReturn

from tidelog.common.source import SourceText, Span
from tidelog.database.transaction import Earlier, NamedRules, no_earlier
from tidelog.errors import DataError, Problem, UsageError, surrogate_in, wrong_argument
from tidelog.functions.callables import functor
from tidelog.language.reading import file_text
from tidelog.limits.watch import changing_within_memory
from tidelog.rdf.formats import missing_library
from tidelog.rdf.names import COLON, TRIPLE
from tidelog.rdf.shapes.testing import compile_pattern, order_of, text_of, why_wrong
from tidelog.rdf.shapes.verbs import ShapeVerbs
from tidelog.rdf.sparql.bodies import Unsupported, ViewRules, is_plain, literal_of, name_of, operand_of, symbol
from tidelog.rdf.sparql.computing import compute, number
from tidelog.rdf.sparql.views import conditions, patterns, with_functions
from tidelog.rdf.terms import LIST_FIRST, LIST_REST, NIL, XSD, is_iri, literal, shown_term

# --- built-ins as functions, which take symbols; None is no value ----------------------------------------------------


VALUE, TEST = f"n3{COLON}value", f"n3{COLON}test"
_ZERO = f'"0"^^<{XSD}integer>'
_ORDERS = {
    "greaterThan": ">",
    "lessThan": "<",
    "notGreaterThan": "<=",
    "notLessThan": ">=",
    "equalTo": "=",
    "notEqualTo": "<>",
}
_TEXTS: dict[str, Callable[[str, str], Any]] = {
    "contains": lambda one, other: other in one,
    "containsIgnoringCase": lambda one, other: other.casefold() in one.casefold(),
    "startsWith": str.startswith,
    "endsWith": str.endswith,
    "equalIgnoringCase": lambda one, other: one.casefold() == other.casefold(),
    "notEqualIgnoringCase": lambda one, other: one.casefold() != other.casefold(),
    "greaterThan": lambda one, other: one > other,
    "lessThan": lambda one, other: one < other,
    "notGreaterThan": lambda one, other: one <= other,
    "notLessThan": lambda one, other: one >= other,
    "matches": lambda one, other: not why_wrong(other, "") and compile_pattern(other, "").search(one),
    "notMatches": lambda one, other: not why_wrong(other, "") and not compile_pattern(other, "").search(one),
}
_NUMBERS = {"sum": "+", "difference": "-", "product": "*", "quotient": "/"}

TESTS = {f"math:{name}" for name in _ORDERS} | {f"string:{name}" for name in _TEXTS}
"""Built-ins that are true or false, of a subject and an object."""
OPERATIONS = {"math:sum": 2, "math:product": 2, "math:difference": 2, "math:quotient": 2, "math:negation": 1,
              "math:absoluteValue": 1, "string:concatenation": 2, "string:length": 1, "string:upperCase": 1,
              "string:lowerCase": 1, "log:uri": 1}  # fmt: skip
"""Built-ins that compute their object, with the number of their operands."""
FOLDED = ("math:sum", "math:product", "string:concatenation")
"""The functions that take lists of two operands or more."""


@functor("symbol, symbol, symbol -> number", name=TEST, remember=False)
def test(name: str, one: str, other: str) -> int:
    """Return 1 if a test holds for two terms, 0 if not."""
    sort, _, which = name.partition(":")
    if sort == "math":
        if number(one) is None or number(other) is None:
            return 0
        order = order_of(one, other)
        return int(order is not None and order in _ORDERS[which])
    left, right = text_of(one), text_of(other)
    return int(left is not None and right is not None and bool(_TEXTS[which](left, right)))


@functor("symbol, symbol, symbol -> symbol", name=VALUE, remember=False)
def value(name: str, one: str, other: str) -> str | None:
    """Return the value of an operation on one or two terms, None without one."""
    sort, _, which = name.partition(":")
    if which in _NUMBERS:
        return compute(_NUMBERS[which], one, other) or None
    if which == "negation":
        return compute("-", _ZERO, one) or None
    if which == "absoluteValue":
        found = number(one)
        if found is None:
            return None
        return one if found[1] >= 0 else compute("-", _ZERO, one) or None
    if sort == "log":
        return literal(one) if is_iri(one) else None
    left, right = text_of(one), text_of(other) if other else ""
    if left is None or right is None:
        return None
    if which == "length":
        return literal(len(left))
    return literal(left + right if which == "concatenation" else left.upper() if which == "upperCase" else left.lower())


FUNCTIONS = (value, test)
"""The functions that rules of N3 may call."""


# --- reading ---------------------------------------------------------------------------------------------------------


IMPLIES = "http://www.w3.org/2000/10/swap/log#implies"
_TOKEN = re.compile(
    r'(?P<skipped>\#[^\r\n]*|"""(?:[^"\\]|\\.|"(?!""))*"""|"(?:[^"\\]|\\.)*"|<[^<>"{}|^`\\\s]*>)'
    r"|(?P<arrow>=>|<=|\b[\w-]*:implies\b)|(?P<brace>[{}])",
    re.DOTALL,
)


@dataclass(frozen=True)
class N3Rule:
    """A rule: the triples of its body and of its head, in rdflib's terms, and its arrow in the text."""

    body: tuple[Any, ...]
    head: tuple[Any, ...]
    span: Span


def read_rules(source: SourceText, base: str) -> list[N3Rule]:
    """Return the rules of a text, in its order. Raise DataError (E0460) for a text that is no N3, UsageError (E0678)
    for one with more than rules, SetupError (E0790)."""
    try:
        import rdflib
        from rdflib.graph import QuotedGraph
        from rdflib.plugins.parsers.notation3 import BadSyntax, RDFSink, SinkParser
    except ImportError:
        raise missing_library("rdflib") from None
    graph, whole = rdflib.Graph(), Span(source, 0, min(1, len(source.text)))
    data = _utf8(source)
    try:
        # Its class for N3 does the same, and warns about itself.
        parser = SinkParser(RDFSink(graph), baseURI=base, turtle=False)
        parser.loadBuf(data)
    except BadSyntax as error:
        # rdflib counts bytes, and keeps what it has found to itself.
        place, why = int(error._i), str(error._why)
        start = min(len(data[:place].decode(errors="ignore")), max(0, len(source.text) - 1))
        message, hint = (
            f"the N3 text cannot be parsed here: {why}",
            "look before this place; the reason is that of rdflib",
        )
        raise DataError(Problem("E0460", message, Span(source, start, start + 1), hint=hint)) from None
    except RecursionError:
        hint = "give names to the inner parts"
        raise DataError(Problem("E0460", "the parts of the N3 text are nested too deeply", whole, hint=hint)) from None
    except MemoryError:
        raise
    except Exception as error:  # rdflib asserts some of its syntax, and raises what its terms and IRIs raise.
        reason = str(error).split("\n", 1)[0][:200] or type(error).__name__
        hint = "check names, texts and relative IRIs; the reason is that of rdflib"
        raise DataError(Problem("E0460", f"the N3 text cannot be parsed: {reason}", whole, hint=hint)) from None
    pairs = []
    for subject, predicate, value in graph:
        if str(predicate) != IMPLIES:
            hint = "keep data apart: insert them with `store.insert`"
            message = f"a triple stands outside of the rules: {shown_term(subject)} {shown_term(predicate)} …"
            raise UsageError(Problem("E0678", message, whole, hint=hint))
        pairs.append((subject, value))
    pairs.sort(key=lambda pair: min(_number(each) for each in pair))
    arrows = list(_arrows(source)) if pairs else []
    spans = arrows if len(arrows) == len(pairs) else [whole] * len(pairs)
    found = []
    for (body, head), span in zip(pairs, spans, strict=True):
        if not isinstance(head, QuotedGraph) or not isinstance(body, QuotedGraph):
            hint = "write { … } => { … }; contradictions are those of OWL, or a view"
            raise UsageError(Problem("E0678", "a rule leads from triples to triples", span, hint=hint))
        found.append(N3Rule(tuple(body), tuple(head), span))
    return found


def _utf8(source: SourceText) -> bytes:
    """Return a text in UTF-8. Raise DataError (E0460) for one with an unpaired surrogate."""
    if (start := surrogate_in(source.text)) is not None:
        span = Span(source, start, start + 1)
        hint = "remove the unpaired surrogate"
        raise DataError(Problem("E0460", "the N3 text is not valid Unicode here", span, hint=hint))
    return source.text.encode()


def _number(formula: Any) -> float:
    """Return the place of a formula among those of a text: rdflib numbers them."""
    digits = re.search(r"\d+$", str(getattr(formula, "identifier", "")))
    return int(digits[0]) if digits else float("inf")


def _arrows(source: SourceText) -> Iterator[Span]:
    """Yield the arrows outside of braces."""
    depth = 0
    for match in _TOKEN.finditer(source.text):
        depth += (match[0] == "{") - (match[0] == "}")
        if match["arrow"] and depth == 0:
            yield Span(source, match.start(), match.end())


# --- built-ins -------------------------------------------------------------------------------------------------------


_SWAP = "http://www.w3.org/2000/10/swap/"
_HINTS = {
    "log:notIncludes": "write the rule in the language of rules, with `!` before an atom",
    "log:includes": "write the triples into the body",
    "log:collectAllIn": "write the rule in the language of rules, with an aggregate",
    "log:forAllIn": "write the rule in the language of rules, with two negations",
}


def builtin(predicate: Any) -> str | None:
    """Return the name of a built-in such as math:sum, None for a property."""
    sort, hash_, name = str(predicate).removeprefix(_SWAP).rpartition("#")
    return f"{sort}:{name}" if hash_ and str(predicate).startswith(_SWAP) else None


class BuiltinLiterals:
    """Turns the built-ins of a body into literals; `bound` are the variables that its triples bind."""

    def __init__(self, lists: dict[Any, list[Any]], bound: Iterable[str], span: Span) -> None:
        self._lists = lists
        self._bound = set(bound)
        self._span = span
        self._count = 0

    def literals(self, triples: Iterable[tuple[Any, Any, Any]]) -> list[str]:
        """Return the literals of built-ins, those that compute a variable before those that need it. Raise UsageError
        (E0678) for an unknown one."""
        waiting, found = list(triples), []
        while waiting:
            ready = [each for each in waiting if self._variables(each[0]) <= self._bound] or waiting[:1]
            for each in ready:
                found += self._literals(*each)
                waiting.remove(each)
        return found

    @property
    def bound_variables(self) -> frozenset[str]:
        """Return the variables that have values, those that built-ins compute among them."""
        return frozenset(self._bound)

    def _members(self, term: Any) -> list[Any]:
        return self._lists.get(term, [term])

    def _variables(self, term: Any) -> set[str]:
        return {name for each in self._members(term) if (name := name_of(each)) is not None}

    def _literals(self, subject: Any, predicate: Any, value: Any) -> list[str]:
        name = builtin(predicate) or ""
        if name in ("log:equalTo", "log:notEqualTo"):
            op = "=" if name == "log:equalTo" else "!="
            if op == "=":
                self._bound |= self._variables(subject) | self._variables(value)
            return [f"{self._operand(subject, name)} {op} {self._operand(value, name)}"]
        if name in TESTS:
            return [f'@{TEST}("{name}", {self._operand(subject, name)}, {self._operand(value, name)}) = 1']
        if name not in OPERATIONS:
            hint = _HINTS.get(name, "write the rule in the language of rules, or as a CONSTRUCT view")
            self._refuse(f"the built-in {name} is not supported", hint)
        operands = [self._operand(each, name) for each in self._members(subject)]
        count = OPERATIONS[name]
        if len(operands) != count and not (name in FOLDED and len(operands) > count):
            self._refuse(f"{name} takes {count} operands, found {len(operands)}", "correct the list before it")
        computed = f'@{VALUE}("{name}", {operands[0]}, {operands[1] if count > 1 else chr(34) * 2})'
        for operand in operands[2:]:
            computed = f'@{VALUE}("{name}", {computed}, {operand})'
        result = name_of(value)
        if result is not None and result not in self._bound:
            self._bound.add(result)
            return [f"v_{result} = {computed}"]
        if name.startswith("math:") or name == "string:length":
            return [f'@{TEST}("math:equalTo", {computed}, {self._operand(value, name)}) = 1']
        return [f"{computed} = {self._operand(value, name)}"]

    def _operand(self, term: Any, name: str) -> str:
        if term in self._lists:
            self._refuse(f"{name} takes no list here", "write single terms")
        return operand_of(term)

    def _refuse(self, message: str, hint: str) -> NoReturn:
        raise UsageError(Problem("E0678", message, self._span, hint=hint))


def without_lists(triples: Iterable[tuple[Any, Any, Any]]) -> tuple[list[Any], list[Any], dict[Any, list[Any]]]:
    """Return triples to match, built-ins, and the lists that only built-ins use, by their first nodes."""
    from rdflib import BNode, URIRef

    first, rest, nil = map(URIRef, (LIST_FIRST, LIST_REST, NIL))
    all_of_them = list(triples)
    builtins = [each for each in all_of_them if builtin(each[1]) is not None]
    heads, tails = ({s: o for s, p, o in all_of_them if p == name} for name in (first, rest))
    lists: dict[Any, list[Any]] = {}
    cells = set()
    for subject, _, value in builtins:
        for term in (subject, value):
            if term in heads and isinstance(term, BNode):
                members, cell = [], term
                while cell != nil and cell in heads:
                    members.append(heads[cell])
                    cells.add(cell)
                    cell = tails.get(cell, nil)
                lists[term] = members
    patterns = [each for each in all_of_them if builtin(each[1]) is None and each[0] not in cells]
    return patterns, builtins, lists


# --- rules -----------------------------------------------------------------------------------------------------------


def rule_texts(name: str, rule: N3Rule) -> dict[str, str]:
    """Return a rule of this name as text, with its name. It becomes several if some triples of the head follow under
    further conditions. Raise UsageError (E0678) for one that cannot be."""
    from rdflib import URIRef
    from rdflib.graph import QuotedGraph

    renamed = _Renaming()
    body, head = ([tuple(map(renamed.term, triple)) for triple in triples] for triples in (rule.body, rule.head))
    terms = [term for triple in (*body, *head) for term in triple]
    if any(isinstance(term, QuotedGraph) for term in terms):
        hint = "write the rule in the language of rules, for instance with `!` before an atom"
        raise _rule_error(rule, "a formula inside of another one is not supported", hint)
    try:
        matched, builtins, lists = without_lists(body)
        found = patterns(matched, ViewRules(name))
        literals = BuiltinLiterals(lists, found.variables, rule.span)
        found = found.with_literals(literals.literals(builtins))
    except Unsupported as error:
        raise _rule_error(rule, str(error), error.hint) from None
    heads: dict[tuple[str, ...], list[str]] = {}
    for triple in head:
        _refuse_head(rule, triple, literals.bound_variables)
        subject, predicate, value = triple
        own = heads.setdefault(tuple(conditions(triple, found)), [])
        if isinstance(predicate, URIRef) and is_plain(str(predicate)):
            own.append(f"<{predicate}>({literal_of(subject)}, {literal_of(value)})")
        else:
            shown = symbol(predicate) if isinstance(predicate, URIRef) else literal_of(predicate)
            own.append(f"{TRIPLE}({literal_of(subject)}, {shown}, {literal_of(value)})")
    if not heads:
        raise _rule_error(rule, "the head is empty", "write the triples that follow")
    names = (name if number == 1 else f"{name}_{number}" for number in range(1, len(heads) + 1))
    bodies = (found.with_literals(more).literals for more in heads)
    return {
        each: f"{each}: {', '.join(dict.fromkeys(atoms))} :- {', '.join(body) or '1 = 1'}.\n"
        for each, atoms, body in zip(names, heads.values(), bodies, strict=True)
    }


def _refuse_head(rule: N3Rule, triple: Any, bound: Collection[str]) -> None:
    from rdflib import BNode, Literal, Variable

    if any(isinstance(term, BNode) for term in triple):
        reason = "the head has a blank node: each match would make another one, perhaps without end"
        raise _rule_error(rule, reason, "use an IRI, or a variable of the body")
    subject, predicate, _ = triple
    if isinstance(subject, Literal) or isinstance(predicate, Literal):
        raise _rule_error(
            rule, f"{shown_term(triple[0])} {shown_term(triple[1])} … is no triple", "use an IRI or a variable"
        )
    if builtin(predicate) is not None:
        raise _rule_error(rule, f"the built-in {builtin(predicate)} stands in the head", "move it into the body")
    for term in triple:
        if isinstance(term, Variable) and name_of(term) not in bound:
            raise _rule_error(rule, f"?{term} stands in the head, but the body gives it no value", "use it in the body")


def _rule_error(rule: N3Rule, message: str, hint: str) -> UsageError:
    return UsageError(Problem("E0678", message, rule.span, hint=hint))


class _Renaming:
    """Names of variables that rules can have: those of @forAll are IRIs."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def term(self, term: Any) -> Any:
        """Return a term, a variable under its new name."""
        from rdflib import Variable

        if not isinstance(term, Variable):
            return term
        if term not in self._names:
            name = re.sub(r"\W", "_", re.split(r"[#/]", term)[-1])
            taken = set(self._names.values())
            self._names[term] = name if name not in taken else f"{name}_{len(taken)}"
        return Variable(self._names[term])


def rule_names(prefix: str, count: int, taken: Collection[str]) -> Iterator[str]:
    """Yield names for so many rules that no other rule has."""
    number = 0
    while count:
        number += 1
        if f"{prefix}_{number}" not in taken:
            count -= 1
            yield f"{prefix}_{number}"


# --- verbs -----------------------------------------------------------------------------------------------------------


_ENDING = ".n3"
_NO_BASE = "urn:tidelog:n3"


def is_n3(program: object) -> bool:
    """Return True for the path of a file of rules in N3."""
    if isinstance(program, os.PathLike):
        return Path(program).suffix == _ENDING
    return isinstance(program, str) and program.endswith(_ENDING) and "\n" not in program


class N3Verbs(ShapeVerbs):
    """Verbs over rules: by name, and in N3."""

    @property
    def rules(self) -> NamedRules:
        """Return the rules by name, those of the rule set included, with `add`, `replace` and `remove`."""
        return NamedRules(self)

    def _named_rules(self) -> Mapping[str, object]:
        rules = self._database.workspace.committed.checked.texts
        return {str(rule.name): rule if rule.span is None else rule.span.text for rule in rules}

    def _add_rules(self, text: str, replace: Earlier) -> None:
        self.load(text, replace=no_earlier(replace))

    def _remove_rules(self, *names: str) -> None:
        self._database.rules.remove(*names)

    def load_n3(self, rules: str | os.PathLike[str], name: str | None = None) -> tuple[str, ...]:
        """Add rules in N3 from a text or the path of a `.n3` file, to take effect with the next `commit`.

        Return their names, by which `rules.remove` removes them: `name` with a number, by default that of the file, and
        `n3` for a text.

        Raise DataError (E0460: not N3), ProgramError (E0110: no such file, E0301 and the like: a recursion that no rule
        may have), UsageError (E0678: a rule that tidelog does not have, with the reason), SetupError (E0790).
        """
        given: object = rules
        if not isinstance(given, (str, os.PathLike)):
            raise wrong_argument("rules in N3", "a text, or the path of a file", rules)
        if not isinstance(name, (str, NoneType)):
            raise wrong_argument("a name for rules", "letters, digits and underscores", name)
        path = Path(rules) if is_n3(rules) or isinstance(given, os.PathLike) else None
        shown = "<n3>" if path is None else str(path)
        source = SourceText(shown, str(rules) if path is None else file_text(path, shown))
        prefix = name or re.sub(r"\W", "_", path.stem if path is not None else "n3")
        if not re.fullmatch(r"[A-Za-z_]\w*", prefix):
            raise wrong_argument("a name for rules", "letters, digits and underscores", prefix)
        with self._hold_change_turn(), changing_within_memory:
            found = read_rules(source, _NO_BASE if path is None else path.resolve().as_uri())
            taken = {rule.name for rule in self._database.program.rules if rule.name}
            texts = dict[str, str]()
            for each, rule in zip(rule_names(prefix, len(found), taken), found, strict=True):
                texts |= rule_texts(each, rule)
            self.load(with_functions("".join(texts.values()), self._database, FUNCTIONS))
            return tuple(texts)
