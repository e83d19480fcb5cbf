"""The kind of every variable and term of a rule, by unification.

Each term has a slot; slots that must have the same kind are merged. A slot knows the one kind found for it, or the
kinds that are still allowed (`1` may be a number, an unsigned or a float), and the places that determine it (`Reason`),
so that a conflict can show both places. A slot with a conflict becomes BROKEN, which fits everything: one cause, one
message.

`infer` returns the rule with all `kind` and `result` fields filled in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tidelog.common.source import Span
from tidelog.errors import Problem
from tidelog.language.aggregates import AGGREGATES
from tidelog.language.counters import COUNTER
from tidelog.language.declarations import BROKEN, Scheme, declared_functor, did_you_mean
from tidelog.language.functors import NUMERIC, ORDERED, SAME, SIGNATURES, TESTS, cast_hint, conversion, same_layout
from tidelog.language.grounding import Scope, scope_of
from tidelog.language.lexer import UNSUPPORTED_FUNCTORS
from tidelog.language.paths import type_path
from tidelog.language.problems import how_many, note
from tidelog.language.rule_kinds import Reason, RuleKinds, Slot
from tidelog.language.syntax import (
    PRIMITIVES,
    Aggregate,
    Anonymous,
    Atom,
    Cast,
    Comparison,
    Constant,
    Disjunction,
    Functor,
    FunctorType,
    Kind,
    Literal,
    Negation,
    Path,
    Record,
    Rule,
    Term,
    Truth,
    Variable,
)

_RECORD = "[]"
"""Stands for all record kinds in a set of allowed kinds."""

_SMALLEST, _LARGEST = -(2**63), 2**63 - 1


def infer(rule: Rule, scheme: Scheme) -> tuple[Rule, list[Problem]]:
    """Return the rule with its kinds, and its problems. Skip relations that are not declared."""
    inference = _Inference(scheme)
    scope = scope_of(rule)
    inference.literals((*rule.heads, *rule.body), scope)
    inference.resolve()
    if inference.problems:
        return rule, inference.problems
    found = inference.slots, inference.variables, inference.operands, inference.scopes, inference.paths
    return RuleKinds(*found, scheme.functors).rule(rule, scope), []


def argument_kinds(atom: Atom, rule: Rule, scheme: Scheme) -> list[Kind | None]:
    """Return the kinds that a rule gives to the arguments of one of its atoms, None for those that it leaves open."""
    inference = _Inference(scheme)
    inference.literals((*rule.heads, *rule.body), scope_of(rule))
    inference._resolve_records()
    roots = [inference.slots[id(term)].root() for term in atom.args]
    is_open = [root.kind is None and root.allowed is None for root in roots]
    inference.resolve()
    return [None if lacks or root.kind == BROKEN else root.kind for lacks, root in zip(is_open, roots, strict=True)]


@dataclass
class _Inference:
    scheme: Scheme
    problems: list[Problem] = field(default_factory=list)
    slots: dict[int, Slot] = field(default_factory=dict)
    variables: dict[tuple[Scope, str], Slot] = field(default_factory=dict)
    operands: dict[int, Slot] = field(default_factory=dict)
    scopes: dict[int, Scope] = field(default_factory=dict)
    records: list[tuple[Record, Slot, list[Slot]]] = field(default_factory=list)
    casts: list[tuple[Cast, Slot]] = field(default_factory=list)
    numbered: list[Slot] = field(default_factory=list)
    paths: dict[int, Path] = field(default_factory=dict)

    # --- constraints -------------------------------------------------------------------------------------------------

    def literals(self, literals: tuple[Literal, ...], scope: Scope) -> None:
        for literal in literals:
            match literal:
                case Atom():
                    self._atom(literal, scope)
                case Negation():
                    self._atom(literal.atom, scope)
                case Comparison():
                    self._comparison(literal, scope)
                case Disjunction():
                    for alternative in literal.alternatives:
                        self.literals(alternative, scope)
                case Truth():
                    pass

    def _atom(self, atom: Atom, scope: Scope) -> None:
        columns = self._columns(atom)
        for position, term in enumerate(atom.args):
            slot = self.term(term, scope)
            if len(columns) == len(atom.args):
                relation, name, kind = columns[position]
                text = f"column `{name}` of `{relation}` is {{}}"
                self.expect(slot, kind, Reason(text, term.span, self.scheme.places.get((relation, name))), term)

    def _columns(self, atom: Atom) -> list[tuple[str, str, Kind]]:
        """Return for each argument the relation, name and kind of the column that constrains it, as far as known."""
        if atom.path is not None:
            found = type_path(atom.path, self.scheme, [])
            if found is None:
                return []
            self.paths[id(atom)], *ends = found
            return [(end.step.relation, end.column, end.kind) for end in ends]
        relation = self.scheme.relations.get(atom.relation)
        return [(atom.relation, column.name, column.kind) for column in relation.columns] if relation else []

    def _comparison(self, literal: Comparison, scope: Scope) -> None:
        left, right = self.term(literal.left, scope), self.term(literal.right, scope)
        if literal.op.lstrip("!") in TESTS:
            for term, slot in ((literal.left, left), (literal.right, right)):
                self.expect(slot, "symbol", Reason(f"`{literal.op.lstrip('!')}` takes {{}}", term.span), term)
            return
        self.unify(left, right, literal.right)
        if literal.op not in ("=", "!="):
            self.allow(left, ORDERED, Reason(f"`{literal.op}` compares {{}}", literal.span), literal.left)

    def term(self, term: Term, scope: Scope) -> Slot:
        slot = self._slot(term, scope)
        self.slots[id(term)] = slot
        return slot

    def _slot(self, term: Term, scope: Scope) -> Slot:
        match term:
            case Variable():
                owner = scope.owner(term.name) or scope
                return self.variables.setdefault((owner, term.name), Slot())
            case Anonymous():
                return Slot()
            case Constant():
                return self._constant(term)
            case Functor():
                return self._functor(term, scope)
            case Record(fields=None):
                slot = Slot(allowed=frozenset((_RECORD,)), reason=Reason("`nil` is {}", term.span))
                self.records.append((term, slot, []))
                return slot
            case Record(fields=parts, branch=str(name)):
                return self._branch(term, name, [self.term(part, scope) for part in parts or ()])
            case Record(fields=parts):
                slot = Slot(allowed=frozenset((_RECORD,)), reason=Reason("`[…]` is {}", term.span))
                self.records.append((term, slot, [self.term(part, scope) for part in parts or ()]))
                return slot
            case Cast():
                return self._cast(term, scope)
            case Aggregate():
                return self._aggregate(term, scope)

    def _branch(self, term: Record, name: str, parts: list[Slot]) -> Slot:
        """Return the slot of `$name(…)`: the name of a branch determines the type."""
        kind = self.scheme.branches.get(name)
        if kind is None:
            close = did_you_mean(name, self.scheme.branches)
            hint = close.replace("`", "`$", 1) if close else f"declare it in a type: `.type T = {name} {{}} | …`"
            self.problems.append(Problem("E0260", f"no type has a branch `{name}`", term.span, hint=hint))
            kind = BROKEN
        self._fields(term, kind, parts)
        place = self.scheme.types[kind].span if kind in self.scheme.types else None
        return Slot(kind=kind, reason=Reason(f"`${name}` is {{}}", term.span, place))

    def _constant(self, term: Constant) -> Slot:
        shown = f'"{term.value}"' if term.kind == "symbol" else term.value
        shown = shown if len(str(shown)) <= 40 else f"{str(shown)[:30]}…"
        if term.kind is not None:
            return Slot(kind=term.kind, reason=Reason(f"`{shown}` is {{}}", term.span))
        value = term.value
        assert isinstance(value, int)
        if value > _LARGEST or value < _SMALLEST:
            allowed = frozenset(("unsigned", "float")) if value > 0 else frozenset(("float",))
            return Slot(allowed=allowed, reason=Reason(f"`{shown}` is too large for a number", term.span, literal=True))
        if value < 0:
            allowed = frozenset(("number", "float"))
            return Slot(allowed=allowed, reason=Reason(f"`{shown}` is negative", term.span, literal=True))
        return Slot(allowed=NUMERIC, reason=Reason(f"`{shown}` is a number", term.span))

    def _functor(self, term: Functor, scope: Scope) -> Slot:
        slots = [self.term(part, scope) for part in term.args]
        if term.name.startswith("@"):
            return self._declared_functor(term, slots)
        if term.name == COUNTER:
            if slots:
                message = f"`autoinc` takes no arguments, found {len(slots)}"
                self.problems.append(Problem("E0210", message, term.span, hint="write autoinc()"))
            return Slot(kind="number", reason=Reason("`autoinc()` gives {}", term.span))
        if term.name in UNSUPPORTED_FUNCTORS:
            hint = UNSUPPORTED_FUNCTORS[term.name]
            self.problems.append(Problem("E0190", f"`{term.name}` is not supported", term.span, hint=hint))
            return Slot(kind=BROKEN)
        signature = SIGNATURES[term.name]
        if not signature.least <= len(slots) <= signature.most:
            wanted = str(signature.least) if signature.least == signature.most else f"{signature.least} or more"
            wanted = "2 or 3" if signature.most == 3 > signature.least else wanted
            noun = "argument" if wanted == "1" else "arguments"
            message = f"`{term.name}` takes {wanted} {noun}, found {len(slots)}"
            hint = f"write {term.name}({', '.join('xyz'[: signature.least])})"
            self.problems.append(Problem("E0210", message, term.span, hint=hint))
            return Slot(kind=BROKEN)
        shown = "-" if term.name == "neg" else term.name
        shared = Slot()
        for position, (part, slot) in enumerate(zip(term.args, slots, strict=True)):
            parameter = signature.parameter(position)
            reason = Reason(f"`{shown}` takes {{}}", part.span)
            if parameter != SAME:
                self.expect(slot, parameter, reason, part)
                continue
            if signature.over is not None:
                self.allow(slot, signature.over, reason, part)
            self.unify(shared, slot, part)
        if SAME in signature.parameters:
            self.operands[id(term)] = shared
        if term.name == "ord":
            self.numbered.append(shared)
        if signature.result == SAME:
            return shared
        return Slot(kind=signature.result, reason=Reason(f"`{shown}` gives {{}}", term.span))

    def _declared_functor(self, term: Functor, slots: list[Slot]) -> Slot:
        """Return the slot of a call of a functor that the program declares."""
        name = term.name[1:]
        declared = self._find_declared(name, term, aggregate=False, count=len(slots))
        if declared is None or not self._take_operands(term, term.name, declared, term.args, slots):
            return Slot(kind=BROKEN)
        return Slot(kind=declared.result.kind, reason=Reason(f"`{term.name}` gives {{}}", term.span, declared.span))

    def _find_declared(
        self, name: str, term: Functor | Aggregate, *, aggregate: bool, count: int
    ) -> FunctorType | None:
        found = declared_functor(name, self.scheme.functors, term.span, aggregate=aggregate, count=count)
        if isinstance(found, FunctorType):
            return found
        self.problems.append(found)
        return None

    def _take_operands(
        self, term: Functor | Aggregate, word: str, declared: FunctorType, terms: Sequence[Term], slots: list[Slot]
    ) -> bool:
        """Require that terms have the types of a functor's parameters; return False with a problem if there are more or
        fewer of them (E0210)."""
        if len(slots) != len(declared.parameters):
            count, noun = len(declared.parameters), "operand" if isinstance(term, Aggregate) else "argument"
            notes = note(declared.span, f"`{declared.name}` is declared here")
            message = f"`{word}` takes {how_many(count, noun)}, found {len(slots)}"
            names = ", ".join(column.name for column in declared.parameters)
            hint = f"pass {names}" if names else "pass nothing"
            self.problems.append(Problem("E0210", message, term.span, notes, hint))
            return False
        for part, slot, column in zip(terms, slots, declared.parameters, strict=True):
            self.expect(slot, column.kind, Reason(f"`{word}` takes {{}}", part.span, declared.span), part)
        return True

    def _cast(self, term: Cast, scope: Scope) -> Slot:
        inner = self.term(term.term, scope)
        kind = self.scheme.kinds.get(term.type)
        if kind is None:
            hint = did_you_mean(term.type, self.scheme.kinds)
            self.problems.append(Problem("E0203", f"the type `{term.type}` is not declared", term.span, hint=hint))
            return Slot(kind=BROKEN)
        self.casts.append((term, inner))
        place = self.scheme.types[term.type].span if term.type in self.scheme.types else None
        return Slot(kind=kind, reason=Reason(f"`as(…, {term.type})` is {{}}", term.span, place))

    def _aggregate(self, term: Aggregate, scope: Scope) -> Slot:
        inside = self.scopes[id(term)] = scope.inside(term)
        self.literals(term.body, inside)
        if term.target is None:
            return Slot(kind="number", reason=Reason("`count` gives {}", term.span))
        if term.called:
            return self._own_aggregate(term, inside)
        form, first = AGGREGATES[term.op], term.target
        terms = first.fields or () if isinstance(first, Record) else (first,)
        if len(terms) != 1 + form.arguments:
            message = f"`{term.op}` takes {'2 terms' if form.arguments else '1 term'}, found {len(terms)}"
            hint = f"write `{term.op}{'(name, cost)' if form.arguments else ' x'} : {{ … }}`"
            self.problems.append(Problem("E0210", message, first.span, hint=hint))
            return Slot(kind=BROKEN)
        if form.arguments:
            first, rank = terms
            ranked = self.slots[id(term.target)] = self.term(rank, inside)
            self.allow(ranked, NUMERIC, Reason(f"the second term of `{term.op}` is {{}}", rank.span), rank)
        target = self.term(first, inside)
        self.allow(target, form.over, Reason(f"`{term.op}` takes {{}}", first.span), first)
        if form.result is not None:
            return Slot(kind=form.result, reason=Reason(f"`{term.op}` gives {{}}", term.span))
        return target

    def _own_aggregate(self, term: Aggregate, inside: Scope) -> Slot:
        """Return the slot of an aggregate that the program declares, or of the fold of a functor: its first parameter
        is the state, which its value becomes."""
        assert isinstance(term.target, Record)
        terms = [*([] if term.start is None else [term.start]), *(term.target.fields or ())]
        slots = [self.term(part, inside) for part in terms]
        self.slots[id(term.target)] = slots[-1]
        declared = self._find_declared(term.called, term, aggregate=term.start is None, count=len(terms))
        if declared is None or not self._take_operands(term, term.word, declared, terms, slots):
            return Slot(kind=BROKEN)
        if term.start is not None and declared.parameters[0].type != declared.result.type:
            notes = note(declared.span, f"`{term.called}` is declared here")
            state, result = declared.parameters[0].type, declared.result.type
            message = f"`{term.word}` takes a state of the type `{state}`, but gives `{result}`"
            hint = "declare the first parameter and the value with one type"
            self.problems.append(Problem("E0211", message, term.span, notes, hint))
            return Slot(kind=BROKEN)
        return Slot(kind=declared.result.kind, reason=Reason(f"`{term.word}` gives {{}}", term.span, declared.span))

    # --- unification -------------------------------------------------------------------------------------------------

    def expect(self, slot: Slot, kind: Kind, reason: Reason, term: Term) -> None:
        """Require that the slot of `term` has `kind`."""
        slot = slot.root()
        if BROKEN in (slot.kind, kind):
            slot.kind = BROKEN
        elif slot.kind is None:
            if slot.allowed is None or self._admits(slot.allowed, kind):
                slot.kind, slot.reason = kind, reason
            else:
                self._conflict(slot, slot.reason, slot.allowed, reason, frozenset((kind,)), term)
        elif slot.kind != kind:
            self._conflict(slot, slot.reason, frozenset((slot.kind,)), reason, frozenset((kind,)), term)

    def allow(self, slot: Slot, kinds: frozenset[Kind], reason: Reason, term: Term) -> None:
        """Require that the slot of `term` has one of `kinds`."""
        slot = slot.root()
        if slot.kind == BROKEN:
            return
        if slot.kind is not None:
            if not self._admits(kinds, slot.kind):
                self._conflict(slot, slot.reason, frozenset((slot.kind,)), reason, kinds, term)
        elif slot.allowed is None:
            slot.allowed, slot.reason = kinds, reason
        elif not slot.allowed & kinds:
            self._conflict(slot, slot.reason, slot.allowed, reason, kinds, term)
        elif slot.allowed - kinds:
            slot.allowed, slot.reason = slot.allowed & kinds, reason

    def unify(self, one: Slot, two: Slot, second: Term) -> None:
        """Require that both slots have the same kind; `second` is the term of the latter."""
        one, two = one.root(), two.root()
        if one is two:
            return
        if one.kind is None and one.allowed is None:
            one.parent = two
        elif two.kind is None and two.allowed is None:
            two.parent = one
        elif BROKEN in (one.kind, two.kind):
            one.kind = BROKEN
            two.parent = one
        else:
            place = second.span
            reason = replace(two.reason, span=place) if two.reason and not two.reason.span else two.reason
            reason = reason or Reason("this is {}", place)
            if two.kind is not None:
                self.expect(one, two.kind, reason, second)
            elif two.allowed is not None:
                self.allow(one, two.allowed, reason, second)
            two.parent = one

    def _conflict(
        self,
        slot: Slot,
        first: Reason | None,
        first_kinds: frozenset[Kind],
        second: Reason,
        second_kinds: frozenset[Kind],
        term: Term,
    ) -> None:
        slot.kind = BROKEN
        first = first or Reason("this is {}", None)
        one, two = first.text.format(self._names(first_kinds)), second.text.format(self._names(second_kinds))
        subject = f"variable `{term.name}` has two types: " if isinstance(term, Variable) else "types do not fit: "
        notes: list[tuple[Span, str]] = []
        if first.span is not None and first.span != second.span:
            notes.append((first.span, one))
        for reason, text in ((first, one), (second, two)):
            if reason.declared is not None:
                notes.append((reason.declared, f"{text}, declared here"))
        code = "E0214" if first.literal or second.literal else "E0211"
        place, hint = second.span or term.span, self._about_order(first_kinds, second_kinds)
        if hint is None and isinstance(term, Variable | Functor | Aggregate):
            hint = conversion(first_kinds, second_kinds)
        self.problems.append(Problem(code, f"{subject}{one}, but {two}", place, tuple(notes), hint))

    def _about_order(self, one: frozenset[Kind], two: frozenset[Kind]) -> str | None:
        """Return the hint where something without an order meets a comparison, or a functor that compares."""
        for kinds, others in ((one, two), (two, one)):
            if kinds == ORDERED and (_RECORD in others or others & self.scheme.records.keys()):
                return "compare with `=` or `!=`: records and values with branches have no order"
        return None

    def _admits(self, allowed: frozenset[Kind], kind: Kind) -> bool:
        return kind in allowed or (_RECORD in allowed and self.scheme.is_record(kind))

    def _names(self, kinds: frozenset[Kind]) -> str:
        if kinds == {_RECORD}:
            return "a record"
        *others, last = map(self.scheme.describe_kind, sorted(kinds, key=(*PRIMITIVES, _RECORD, *kinds).index))
        return f"{', '.join(others)} or {last}" if others else last

    # --- what is left open -------------------------------------------------------------------------------------------

    def resolve(self) -> None:
        """Give records their fields' kinds, and open slots their defaults."""
        self._resolve_records()
        for cast, inner in self.casts:
            slot = inner.root()
            kind = self.scheme.kinds[cast.type]
            if slot.kind is None and kind != BROKEN and (slot.allowed is None or self._admits(slot.allowed, kind)):
                slot.kind = kind
        self._resolve_records()
        self._resolve_numbered()
        for record, slot, _ in self.records:
            if slot.root().kind is None:
                slot.root().kind = BROKEN
                shown = "`nil`" if record.fields is None else "this record"
                hint = "write `as(…, Type)`, or use it in a column of a record type"
                self.problems.append(Problem("E0213", f"the type of {shown} is unknown", record.span, hint=hint))
        for slot in (*self.slots.values(), *self.variables.values()):
            root = slot.root()
            if root.kind is None:
                root.kind = self._default(root)
        for cast, inner in self.casts:
            self._check_cast(cast, inner.root().kind or BROKEN, self.scheme.kinds[cast.type])

    def _resolve_records(self) -> None:
        progress = True
        while progress:
            progress = False
            waiting = self.records
            self.records = []
            for record, slot, parts in waiting:
                if slot.root().kind is None:
                    self.records.append((record, slot, parts))
                else:
                    progress = True
                    self._fields(record, slot.root().kind or BROKEN, parts)

    def _resolve_numbered(self) -> None:
        """Give records of unknown type whose `ord` is asked for any type with such fields: it is the same in each."""
        numbered = [slot.root() for slot in self.numbered]
        for record, slot, parts in self.records:
            if slot.root() in numbered:
                kinds = [part.root().kind or self._default(part.root()) for part in parts]
                fitting = (
                    name
                    for name, type_ in self.scheme.records.items()
                    if not type_.branches
                    if record.fields is None or [field.kind for field in type_.fields] == kinds
                )
                slot.root().kind = next(fitting, None)
        self._resolve_records()

    def _default(self, slot: Slot) -> Kind:
        """Return the kind of a slot that is left open."""
        return next((k for k in ("number", "unsigned", "float") if slot.allowed is None or k in slot.allowed), BROKEN)

    def _fields(self, record: Record, kind: Kind, parts: list[Slot]) -> None:
        if record.fields is None:
            return
        type_ = self.scheme.records.get(kind)
        if type_ is None:  # broken
            for part in parts:
                part.root().kind = BROKEN
            return
        columns, owner = type_.parts(record.branch), kind if record.branch is None else f"${record.branch}"
        if len(columns) != len(parts):
            declared = self.scheme.types[kind].span
            notes = note(declared, f"`{kind}` is declared here")
            subject = f"a record `{kind}` has" if record.branch is None else f"the branch `{record.branch}` has"
            message = f"{subject} {how_many(len(columns), 'field')}, found {len(parts)}"
            names = ", ".join(column.name for column in columns)
            hint = f"give values for {names}" if names else "leave the values out"
            self.problems.append(Problem("E0209", message, record.span, notes, hint))
            for part in parts:
                part.root().kind = BROKEN
            return
        for term, slot, column in zip(record.fields, parts, columns, strict=True):
            declared = self.scheme.places.get((owner, column.name))
            reason = Reason(f"field `{column.name}` of `{owner}` is {{}}", term.span, declared)
            self.expect(slot, column.kind, reason, term)

    def _check_cast(self, cast: Cast, source: Kind, target: Kind) -> None:
        if BROKEN in (source, target) or source == target or {source, target} <= NUMERIC:
            return
        if same_layout(source, target, self.scheme.records):
            return
        message = f"`as` cannot turn {self.scheme.describe_kind(source)} into {self.scheme.describe_kind(target)}"
        hint = cast_hint(cast, source, target, self.scheme.records)
        self.problems.append(Problem("E0220", message, cast.span, hint=hint))
