"""Built-ins of N3 in a body as literals of rules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from tidelog.common.source import Span
from tidelog.errors import Problem, UsageError
from tidelog.rdf.n3.functions import FOLDED, OPERATIONS, TEST, TESTS, VALUE
from tidelog.rdf.sparql.paths import name_of, operand_of
from tidelog.rdf.terms import RDF

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
    def bound(self) -> frozenset[str]:
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

    first, rest, nil = (URIRef(f"{RDF}{name}") for name in ("first", "rest", "nil"))
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
