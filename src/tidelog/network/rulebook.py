"""The program of a node while rules travel: the text that all nodes began with, and the changes since.

Two nodes that have heard of the same changes run the same program, in whatever order they heard. Two changes made at
the same time at different nodes may not go together. Then all nodes alike set one aside: changes count in the order of
their versions, and the later one gives way.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain, count
from pathlib import Path
from types import MappingProxyType

from tidelog.errors import LimitError, Problem, ProgramError, UsageError, quote_name, wrong_argument
from tidelog.language import check, read
from tidelog.language.check import name_rules
from tidelog.language.components import expand
from tidelog.language.reading import file_text, is_preprocessed
from tidelog.language.syntax import CheckedProgram, Constant, Declaration, Program, Rule, Variable
from tidelog.language.trees import walk
from tidelog.network.functors import NodeFunctors
from tidelog.network.limits import LONGEST_NAME, LONGEST_RULE, MOST_LITERALS
from tidelog.network.localize import localize
from tidelog.network.messages import RuleChange
from tidelog.network.program import LocatedProgram


@dataclass(frozen=True)
class Assembled:
    """A program with changes, and the errors of the changes that were set aside, by the name of the rule."""

    program: LocatedProgram
    checked: CheckedProgram
    written: Program
    rules: tuple[str, ...]
    refused: Mapping[str, str] = field(default_factory=dict)


class Rulebook:
    """The base program and the newest change of each rule.

    `held` are changes that this node alone does not let count, because their rules take too much, or a functor has no
    result, with `reasons` then; `own_keys` are the keys of the rules of the base program. `functors` are those
    that the node can call. Raises ProgramError for a wrong base program.
    """

    def __init__(self, text: str, functors: NodeFunctors | None = None) -> None:
        self.text = text
        self.functors = functors
        self.changes: dict[str, RuleChange] = {}
        self.held: dict[str, RuleChange] = {}
        self.reasons: dict[str, Problem] = {}
        self.fingerprint = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        self._assembled = _assemble(text, ())
        self.own_keys = self._assembled.program.keys

    @property
    def program(self) -> LocatedProgram:
        """Return the program of nodes that have heard of these changes."""
        return self._assembled.program

    @property
    def checked_program(self) -> CheckedProgram:
        """Return the same program before it was made local."""
        return self._assembled.checked

    @property
    def parsed_program(self) -> Program:
        """Return the same program before it was checked."""
        return self._assembled.written

    @property
    def refused(self) -> Mapping[str, str]:
        """Return the changes that were set aside: for each rule its error. The node does not evaluate rules that call
        functors for which it has no function."""
        held = {name: f"rule {name} takes more than this node's limits allow" for name in self.held}
        held |= {name: str(problem) for name, problem in self.reasons.items() if name in self.held}
        return MappingProxyType({**self._assembled.refused, **self._missing_functions(), **held})

    def _missing_functions(self) -> dict[str, str]:
        """Return the rules that the node does not evaluate for lack of a function, each with the error."""
        if self.functors is None:
            return {}
        return {
            rule.origin: f"this node has no function for {title}, which the rule {rule.origin} calls"
            for rule in self.program.all_rules
            for functor, title in sorted(rule.functors.items())
            if functor not in self.functors.known and rule.key not in self.own_keys
        }

    @property
    def rules(self) -> tuple[str, ...]:
        return self._assembled.rules

    def named_rules(self) -> dict[str, Rule]:
        return {rule.name: rule for rule in self.parsed_program.rules if rule.name is not None}

    def is_news(self, change: RuleChange) -> bool:
        """Return True if a change is newer than the known one of its rule."""
        known = self.changes.get(change.name)
        return known is None or (change.version, change.author) > (known.version, known.author)

    def take(self, change: RuleChange) -> None:
        """Apply a change."""
        self.changes[change.name] = change
        self.held.pop(change.name, None)
        self.reasons.pop(change.name, None)
        self.renew()

    def hold(self, keys: Mapping[str, Problem | None]) -> int:
        """Set aside the changes whose rules have one of these keys; return their number."""
        names = {rule.origin: keys[rule.key] for rule in self.program.all_rules if rule.key in keys}
        found = {name: change for name, change in self.changes.items() if name in names}
        self.reasons |= {name: problem for name in found if (problem := names[name]) is not None}
        self.held.update(found)
        self.renew()
        return len(found)

    def renew(self) -> None:
        """Let all `changes` count except those `held`."""
        counted = {name: change for name, change in self.changes.items() if name not in self.held}
        self._assembled = _assemble(self.text, _in_order(counted))

    @property
    def version(self) -> int:
        """Return the largest version of a change."""
        return max((change.version for change in self.changes.values()), default=0)

    # --- new changes -------------------------------------------------------------------------------------------------

    def additions(self, text: str, author: str, *, replaces: bool = False) -> tuple[RuleChange, ...]:
        """Return the changes that add the rules of a text, which may bring declarations. If it `replaces` rules, those
        of the same names go; otherwise raise ProgramError (E0221) for such a name. Raise ProgramError also if the
        program with them would be wrong, UsageError (E0620) if the text states facts, LimitError (E0507) if a rule is
        too large."""
        _, program = expand([_base(self.text), read(f"{text}\n", name="<text>")])
        if any(not rule.body for rule in program.rules):
            message = "a text of rules for a network contains facts"
            raise UsageError(Problem("E0620", message, hint="insert facts at the node where they live"))
        taken = {*self.rules, *self.changes, *(rule.name for rule in program.rules if rule.name is not None)}
        declarations = "\n".join(map(str, (*program.types, *program.functors, *program.declarations)))
        changes = []
        for rule in program.rules:
            name = rule.name or next(each for each in map("r{}".format, count(1)) if each not in taken)
            taken.add(name)
            if name in self.rules and not replaces:
                message = f"the network has a rule `{name}` already"
                raise ProgramError(
                    Problem("E0221", message, rule.span, hint="call `rules.replace`, or rename this one")
                )
            source = f"{declarations}\n{replace(rule, name=name)}"
            if len(source) > LONGEST_RULE or len(name) > LONGEST_NAME or _literals(rule) > MOST_LITERALS:
                message = f"rule `{name:.60}` is too large to send to other nodes"
                raise LimitError(Problem("E0507", message, rule.span, hint="split it into several rules"))
            changes.append(RuleChange(name, self._next(), author, source))
        self._check(changes)
        return tuple(changes)

    def removals(self, names: Iterable[str], author: str) -> tuple[RuleChange, ...]:
        """Return the changes that remove rules. Raise UsageError (E0608) for an unknown name."""
        for name in names:
            if not isinstance(name, str) or name not in self.rules:
                hint = f"use one of {', '.join(self.rules)}" if self.rules else "add a rule first"
                raise UsageError(Problem("E0608", f"there is no rule {quote_name(name)}", hint=hint))
        return tuple(RuleChange(name, self._next(), author, None) for name in dict.fromkeys(names))

    def invert_changes(self, changes: Iterable[RuleChange]) -> list[RuleChange]:
        """Return the changes that undo these, which the book has not taken yet."""
        rules = self.named_rules()
        before = {name: change.text for name, change in self.changes.items() if name in rules}
        texts = {name: before.get(name) or str(rule) for name, rule in rules.items()}
        return [replace(each, version=each.version + 1, text=texts.get(each.name)) for each in changes]

    def _next(self) -> int:
        return 1 + self.version

    def _check(self, changes: list[RuleChange]) -> None:
        together = {**self.changes, **{change.name: change for change in changes}}
        _compile(self.text, _in_order(together))


def _in_order(changes: Mapping[str, RuleChange]) -> tuple[RuleChange, ...]:
    return tuple(sorted(changes.values(), key=lambda change: (change.version, change.author, change.name)))


def program_text(program: str | os.PathLike[str]) -> str:
    """Return the text of a program from a text or a path; a path is path-like, or one line that ends in ".dl"."""
    if isinstance(program, str) and not (program.endswith(".dl") and "\n" not in program):
        return program
    if not isinstance(program, (str, os.PathLike)):
        raise wrong_argument("a program", "a text, or the path of a file", program)
    return file_text(Path(program), str(program))


# --- assembling ------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=512)
def _assemble(text: str, changes: tuple[RuleChange, ...]) -> Assembled:
    """Return the program with all changes that go together."""
    try:
        return _compile(text, changes)
    except ProgramError:
        if not changes:
            raise
    kept: list[RuleChange] = []
    refused = {}
    for change in changes:
        try:
            _compile(text, (*kept, change))
            kept.append(change)
        except ProgramError as error:
            refused[change.name] = str(error)
    return replace(_compile(text, tuple(kept)), refused=refused)


@lru_cache(maxsize=512)
def _compile(text: str, changes: tuple[RuleChange, ...]) -> Assembled:
    base = _base(text)
    rules: dict[str | None, Rule] = {rule.name: rule for rule in base.rules if rule.name is not None}
    facts = [rule for rule in base.rules if rule.name is None]
    declarations: list[Declaration] = list(base.declarations)
    types, functors = list(base.types), list(base.functors)
    for change in changes:
        rules.pop(change.name, None)
        if change.text is None:
            continue
        added = _read_change(change.name, change.text)
        rules[change.name] = replace(added.rules[0], name=change.name)
        declarations += [each for each in added.declarations if each not in declarations]
        types += [each for each in added.types if each not in types]
        functors += [each for each in added.functors if each not in functors]
    parts = tuple(types), tuple(declarations), base.directives, (*facts, *rules.values())
    program = Program(*parts, functors=tuple(functors))
    names = tuple(name for name in rules if name is not None)
    checked = check(program)
    return Assembled(localize(checked), checked, program, names)


def _read_change(name: str, text: str) -> Program:
    """Return the one rule of a change, with its declarations. A text from another node cannot include files of this
    one."""
    message = "expected one rule without preprocessor lines"
    problem = Problem("E0111", message, place=f"rule {name}", hint="expand preprocessor lines before you add the rule")
    if is_preprocessed(text):
        raise ProgramError(problem)
    program = read(f"{text}\n", name=f"rule {name}")
    if len(program.rules) != 1:
        raise ProgramError(problem)
    if _literals(program.rules[0]) > MOST_LITERALS:
        message = f"rule {name} is too large to send to other nodes"
        raise ProgramError(Problem("E0507", message, program.rules[0].span, hint="split it into several rules"))
    return program


def _literals(rule: Rule) -> int:
    """Return the number of literals of a rule, and of terms that are computed or taken apart."""
    nodes = walk(rule.body), walk(arg for head in rule.heads for arg in head.args)
    return sum(not isinstance(node, (Constant, Variable)) for node in chain(*nodes))


@lru_cache(maxsize=64)
def _base(text: str) -> Program:
    return name_rules(expand([read(f"{text}\n", name="<text>")]))[0]
