"""Programs while somebody types them: texts in stretches, and a check whose cost depends on the change.

A `DraftText` keeps its text in stretches of about a statement. After a change it reads again only the stretches that
the change touches. Each stretch is a source of its own, so that the places in the others stay right.
`DraftChecker` keeps what it found about each statement until the statement changes, or a relation, type, branch or
functor in it (`SchemeDifference`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from lark import Token

from tidelog.common.collecting import pause_collection
from tidelog.common.looking import Look, ignore_limits
from tidelog.common.source import SourceText, Span
from tidelog.errors import Problem, ProgramError
from tidelog.language import lexer
from tidelog.language.blocks import Statement, assemble
from tidelog.language.check import check_statement, double_names, name_rules, same_objects
from tidelog.language.components import expand
from tidelog.language.declarations import Scheme, equivalence_problems, resolve
from tidelog.language.directives import directive_problems
from tidelog.language.inlining import inlined_relations
from tidelog.language.paths import readings
from tidelog.language.problems import once
from tidelog.language.selections import selection_problems
from tidelog.language.statements import statements
from tidelog.language.syntax import (
    Aggregate,
    Cast,
    Component,
    Declaration,
    Functor,
    FunctorDeclaration,
    Program,
    Record,
    Rule,
    TypeDeclaration,
)
from tidelog.language.token_types import declared_soft_words
from tidelog.language.trees import atoms, walk, whole

# --- differences of declarations --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SchemeDifference:
    """The relations, types, branches and functors that are others than before, or whose columns have such types.
    Branches begin with `$`, functors with `@`."""

    relations: frozenset[str]
    names: frozenset[str]

    @classmethod
    def between(cls, old: Scheme, new: Scheme) -> SchemeDifference:
        types = _affected_types(_changed_types(old, new), old, new)
        branches = {*old.branches.items(), *new.branches.items()}
        names = {*types, *(f"${name}" for name, type_ in branches if type_ in types)}
        for name in old.functors.keys() | new.functors.keys():
            both = [found for scheme in (old, new) if (found := scheme.functors.get(name)) is not None]
            used = {column.type for each in both for column in (*each.parameters, each.result)}
            if used & types or len({str(each) for each in both}) > 1 or len(both) == 1:
                names.add(f"@{name}")
        relations = {
            name
            for name in old.relations.keys() | new.relations.keys()
            if name not in old.relations
            or name not in new.relations
            or old.relations[name] != new.relations[name]
            or old.relations[name].span != new.relations[name].span
            or any(column.type in types for column in new.relations[name].columns)
        }
        return cls(frozenset(relations), frozenset(names))

    def concerns(self, relations: frozenset[str], names: frozenset[str]) -> bool:
        """Return True if a statement with these relations, and the `names_in` it, may have other results."""
        return not (self.relations.isdisjoint(relations) and self.names.isdisjoint(names))


def names_in(rule: Rule) -> frozenset[str]:
    """Return the types, branches and functors that a statement names, as in a `SchemeDifference`."""
    found = set[str]()
    for node in walk(whole(rule)):
        match node:
            case Cast(type=name):
                found.add(name)
            case Record(branch=str(name)):
                found.add(f"${name}")
            case Functor(name=name):
                found.add(f"@{name.removeprefix('@')}")
            case Aggregate(called=name) if name:
                found.add(f"@{name.removeprefix('@')}")
            case _:
                pass
    return frozenset(found)


def _changed_types(old: Scheme, new: Scheme) -> set[str]:
    """Return the types with another declaration or another kind."""
    return {
        name
        for name in old.kinds.keys() | new.kinds.keys()
        if old.types.get(name) != new.types.get(name) or old.kinds.get(name) != new.kinds.get(name)
    }


def _affected_types(changed: set[str], old: Scheme, new: Scheme) -> set[str]:
    """Return the changed types with those that they may change: types declared by them, and where a union changes also
    those by its members, for two types may share a value through it."""
    found = set(changed)
    users: dict[str, set[str]] = {}
    for scheme in (old, new):
        for name, type_ in scheme.types.items():
            for part in _parts(type_):
                users.setdefault(part, set()).add(name)
        found |= _members(changed, scheme.types)
    waiting = [*found]
    while waiting:
        for user in users.get(waiting.pop(), ()):
            if user not in found:
                found.add(user)
                waiting.append(user)
    return found


def _members(names: Iterable[str], types: Mapping[str, TypeDeclaration]) -> set[str]:
    """Return the declared members of unions and of other names for types, with their members."""
    found = set[str]()
    waiting = [name for name in names if name in types and types[name].form in ("union", "alias")]
    while waiting:
        for member in types[waiting.pop()].members:
            if member in types and member not in found:
                found.add(member)
                waiting.append(member)
    return found


def _parts(type_: TypeDeclaration) -> Iterable[str]:
    """Return the types in the declaration of one."""
    yield from type_.members
    yield from (each.type for each in type_.fields)
    yield from (each.type for branch in type_.branches for each in branch.fields)


_ENDS_DIRECTIVE = frozenset(("NAME", "RPAR", "RBRACKET", "RBRACE", "GREATER", "QUALIFIER", "STRING", "STATEFUL"))


@dataclass(frozen=True, eq=False)
class DraftStretch:
    """A stretch of a text, with its statements and problems, whose places count from its begin. `tokens` are those of
    its text, `soft` the soft words that it declares."""

    source: SourceText
    tokens: tuple[Token, ...]
    statements: tuple[Statement, ...]
    problems: tuple[Problem, ...]
    soft: frozenset[str]


class DraftText:
    """A text that changes."""

    def __init__(self, name: str, text: str = "") -> None:
        self._name = name
        self._text = ""
        self.stretches: list[DraftStretch] = []
        self.starts: dict[int, int] = {}
        """The offset of each stretch, by the identity of its source."""
        self.change(text)

    @property
    def text(self) -> str:
        return self._text

    @pause_collection()
    def change(self, text: str) -> None:
        """Take a new text, and read what has changed."""
        if text == self._text:
            return
        soft = self._soft
        front, back = self._unchanged_ends(text)
        kept = self.stretches[len(self.stretches) - back :] if back else []
        start = sum(len(each.source.text) for each in self.stretches[:front])
        end = len(text) - sum(len(each.source.text) for each in kept)
        middle, back = self._read_until_whole(text, start, end, kept, soft)
        known = self.stretches[front : len(self.stretches) - back]
        self.stretches[front:] = [*_reuse_stretches(middle, known), *kept[len(kept) - back :]]
        if self._soft != soft:
            self.stretches = list(self._read_stretches(text, self._soft))
        self._text = text
        self.starts = {}
        position = 0
        for each in self.stretches:
            self.starts[id(each.source)] = position
            position += len(each.source.text)

    @property
    def _soft(self) -> frozenset[str]:
        return frozenset(word for each in self.stretches for word in each.soft)

    def _unchanged_ends(self, text: str) -> tuple[int, int]:
        """Return the numbers of stretches at the begin and at the end that a new text has as well. The one before a
        change counts as changed: a comment may have been opened, or a name gone on."""
        old = self._text
        most = min(len(old), len(text))
        before = _longest(lambda n: old[:n] == text[:n], most)
        behind = _longest(lambda n: not n or old[-n:] == text[-n:], most - before)
        front, position = 0, 0
        while front < len(self.stretches) and position + len(self.stretches[front].source.text) <= before:
            position += len(self.stretches[front].source.text)
            front += 1
        back, position = 0, 0
        while back < len(self.stretches) - front:
            position += len(self.stretches[-1 - back].source.text)
            if position > behind:
                break
            back += 1
        return max(0, front - 1), back

    def _read_until_whole(
        self, text: str, start: int, end: int, kept: Sequence[DraftStretch], soft: frozenset[str]
    ) -> tuple[list[DraftStretch], int]:
        """Return the stretches of the text from `start` to `end`, and how many of the `kept` ones behind it stay as
        they are. Where it ends within a statement, it goes on into these."""
        left, more = len(kept), 1
        while True:
            found = list(self._read_stretches(text[start:end], soft))
            if not left or not found or _is_whole(found[-1]):
                return found, left
            taken = min(left, more)
            end += sum(len(each.source.text) for each in kept[len(kept) - left : len(kept) - left + taken])
            left, more = left - taken, more * 4

    def _read_stretches(self, text: str, soft: frozenset[str]) -> Iterator[DraftStretch]:
        """Yield the stretches of a text. `soft` are the soft words that are names of relations in all of it."""
        tokens = lexer.tokens(text, None, soft)
        position = 0
        for begin, behind in _cuts(text, tokens):
            last = behind == len(tokens)
            end = len(text) if last else _line_end(text, tokens[behind - 1].end_pos or 0, tokens[behind].start_pos or 0)
            source = SourceText(self._name, text[position:end])
            found, problems = statements(source.text, partial(Span, source), soft=soft)
            own = tuple(
                Token(
                    token.type, str(token), (token.start_pos or 0) - position, end_pos=(token.end_pos or 0) - position
                )
                for token in tokens[begin:behind]
            )
            yield DraftStretch(source, own, tuple(found), tuple(problems), declared_soft_words(own))
            position = end
        if position < len(text):
            yield DraftStretch(SourceText(self._name, text[position:]), (), (), (), frozenset())

    def program(self) -> tuple[Program, list[Problem]]:
        """Return the program, and the problems of its syntax."""
        found = [statement for each in self.stretches for statement in each.statements]
        problems = [problem for each in self.stretches for problem in each.problems]
        program, unbalanced = assemble(found)
        return program, problems or unbalanced

    def offset(self, span: Span) -> int | None:
        """Return the offset of a place in the text, None for one of another text or one that has gone."""
        start = self.starts.get(id(span.source))
        return None if start is None else start + span.start


def _reuse_stretches(new: list[DraftStretch], known: Sequence[DraftStretch]) -> list[DraftStretch]:
    """Return the stretches, with the known ones of the same text at the begin and the end: no place in them changes."""
    most = min(len(new), len(known))
    front = next((i for i in range(most) if new[i].source.text != known[i].source.text), most)
    back = next((i for i in range(most - front) if new[-1 - i].source.text != known[-1 - i].source.text), most - front)
    return [*known[:front], *new[front : len(new) - back], *known[len(known) - back :]]


def _longest(same: Callable[[int], bool], most: int) -> int:
    """Return the greatest number up to `most` for which `same` holds, which holds for all below it as well."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if same(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _cuts(text: str, tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Yield stretches of tokens: a clause ends at its dot, a directive where the next one or a clause in a line of its
    own begins. Brackets play no part, as they may be open while somebody types."""
    start = depth = 0
    for i, token in enumerate(tokens):
        if i > start and (token.type in lexer.DIRECTIVE_TYPES or _begins_clause(text, tokens, start, i)):
            yield start, i
            start, depth = i, 0
        opens = tokens[start].type == "COMP" and token.type == "LBRACE"
        depth += 0 if opens else (token.type == "LBRACE") - (token.type == "RBRACE")
        if token.type == "DOT" or opens or depth < 0:
            yield start, i + 1
            start, depth = i + 1, 0
    if start < len(tokens):
        yield start, len(tokens)


def _begins_clause(text: str, tokens: Sequence[Token], start: int, i: int) -> bool:
    """Return True if a clause begins at token `i`, in a line of its own behind a directive that may end there."""
    if tokens[start].type not in lexer.DIRECTIVE_TYPES or tokens[i].type != "NAME" or i + 1 >= len(tokens):
        return False
    before = tokens[i - 1]
    ended = before.type in _ENDS_DIRECTIVE and tokens[i + 1].type in ("LPAR", "COLON")
    return ended and "\n" in text[before.end_pos : tokens[i].start_pos]


def _line_end(text: str, end: int, following: int) -> int:
    """Return the end of a stretch whose last token ends at `end`: with the rest of its line, if that has no token."""
    line = text.find("\n", end, following)
    return line + 1 if line >= 0 and "/*" not in text[end:line] else end


def _is_whole(stretch: DraftStretch) -> bool:
    """Return True if no statement may go on behind the stretch."""
    if not stretch.tokens:
        return True
    closed = not any(token.type == "UNCLOSED" for token in stretch.tokens)
    return closed and (stretch.tokens[-1].type == "DOT" or not stretch.problems)


# --- the check -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Known:
    """A statement with its name, its checked form, its problems, and the relations in it."""

    statement: Rule
    named: Rule
    checked: Rule
    problems: tuple[Problem, ...]
    relations: frozenset[str]
    names: frozenset[str]
    """The types, branches and functors in it."""


@dataclass
class _State:
    """The results for the last program, by the identities of its statements."""

    types: tuple[TypeDeclaration | FunctorDeclaration, ...] = ()
    declarations: tuple[Declaration, ...] = ()
    scheme: Scheme = field(default_factory=Scheme)
    problems: tuple[Problem, ...] = ()
    known: dict[int, _Known] = field(default_factory=dict)
    instanced: dict[tuple[object, ...], object] = field(default_factory=dict)
    written: Program = field(default_factory=Program)
    """Keeps the objects alive whose identities `origin` has."""
    origin: tuple[object, ...] | None = None
    brought: dict[str, tuple[Any, ...]] = field(default_factory=dict)
    """The statements that instances bring, by the name of the part of the program."""


_BROUGHT = ("types", "declarations", "directives", "rules")


def _origin(program: Program) -> tuple[object, ...]:
    """Return the parts of a program on which the statements of its instances depend, as identities and names."""
    names = (*(each.name for each in program.declarations), "", *(each.name for each in program.types))
    branches = tuple(branch.name for each in program.types for branch in each.branches)
    return names, branches, *map(id, program.instances), *map(_identity, program.components)


def _identity(component: Component) -> tuple[object, ...]:
    body = component.body
    parts = (component.parents, component.overrides, body.types, body.declarations, body.directives, body.rules)
    own = tuple(id(each) for part in (*parts, body.instances) for each in part)
    return id(component.type), own, *map(_identity, body.components)


class DraftChecker:
    """Finds the problems of one version of a program after the other, also while it has some."""

    def __init__(self) -> None:
        self._last = _State()

    @pause_collection()
    def check(self, program: Program, look: Look = ignore_limits) -> tuple[Program, list[Problem]]:
        """Return the program without instances and with names for all rules, and its problems. Statements that stay are
        the same objects in both programs. `look` is called before each statement that is checked, and may raise."""
        last, state = self._last, _State()
        try:
            program = self._expand(program, state)
        except ProgramError as error:
            return program, list(error.problems)
        state.types, state.declarations = (*program.types, *program.functors), program.declarations
        if same_objects(state.types, last.types) and same_objects(state.declarations, last.declarations):
            state.scheme, state.problems = last.scheme, last.problems
        else:
            state.scheme, problems = resolve((program,))
            state.problems = (*problems, *equivalence_problems(state.scheme))
        changed = None if state.scheme is last.scheme else SchemeDifference.between(last.scheme, state.scheme)
        inline = inlined_relations(state.scheme)
        problems = [*state.problems, *directive_problems(program.directives, state.scheme)]
        problems += double_names(list(program.rules))
        named = name_rules((program,))[0].rules
        for statement, final in zip(program.rules, named, strict=True):
            known = self._find_reusable_results(statement, final, changed)
            if known is None:
                look()
                known = _check_statement(statement, final, state.scheme, inline)
            state.known[id(statement)] = known
            problems += known.problems
        problems += selection_problems(state.scheme, [state.known[id(each)].checked for each in program.rules])
        self._last = state
        rules = tuple(state.known[id(each)].named for each in program.rules)
        return replace(program, rules=rules, components=(), instances=()), list(once(problems))

    def _expand(self, program: Program, state: _State) -> Program:
        """Return the program with the statements of its instances: those of the last one, if nothing has changed that
        they depend on. Raise ProgramError with the problems of components."""
        state.written = program
        state.origin = _origin(program)
        last = self._last
        if state.origin == last.origin:
            state.instanced, state.brought = last.instanced, last.brought
        else:
            (flat,) = expand((program,))
            flat = self._intern(flat, state)
            state.brought = {name: getattr(flat, name)[len(getattr(program, name)) :] for name in _BROUGHT}
        return replace(program, **{name: (*getattr(program, name), *state.brought[name]) for name in _BROUGHT})

    def _intern(self, program: Program, state: _State) -> Program:
        """Return the program with the same objects as before for statements that come by instances and are equal."""

        def same(statement: Rule | Declaration | TypeDeclaration) -> Rule | Declaration | TypeDeclaration:
            span = statement.span
            if span is None or not span.via:
                return statement
            places = tuple(
                (id(each.source), each.start, each.end) for each in (span, *(place for place, _ in span.via))
            )
            key = (type(statement), statement.name, *places)
            before = self._last.instanced.get(key)
            kept = before if before == statement else statement
            state.instanced[key] = kept
            return kept

        parts = {name: tuple(map(same, getattr(program, name))) for name in ("types", "declarations", "rules")}
        return replace(program, **parts)  # type: ignore[arg-type]

    def _find_reusable_results(self, statement: Rule, final: Rule, changed: SchemeDifference | None) -> _Known | None:
        """Return the results for a statement from before, if they still hold. Each change of the declarations ends
        those with problems, whose messages may name a place or a hint that is another one now."""
        known = self._last.known.get(id(statement))
        if known is None:
            return None
        if changed is not None and (known.problems or changed.concerns(known.relations, known.names)):
            return None
        if known.named.name != final.name:
            return replace(known, named=final, checked=replace(known.checked, name=final.name))
        return known


def _check_statement(statement: Rule, final: Rule, scheme: Scheme, inline: frozenset[str]) -> _Known:
    checked, problems = check_statement(statement, final, scheme, inline)
    used = frozenset(step.relation for atom in atoms(whole(statement)) for step in readings(atom))
    return _Known(statement, final, checked, tuple(problems), used, names_in(statement))
