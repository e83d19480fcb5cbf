"""Assembly: from a join plan to the words that the plan interpreter executes (layout: `kernels.layout`).

Every variable gets a register, a column of a batch. A level that multiplies bindings writes into fresh registers and
copies those that stay alive; all other levels work in place. Constants have registers of their own, filled once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from operator import or_

from tidelog.kernels import layout
from tidelog.language.syntax import FunctorType
from tidelog.maintain.functors import CallOut, call_out, listed_call_outs, native
from tidelog.maintain.user_functors import several_values, user_call_outs
from tidelog.rules.core import (
    Computation,
    CoreAtom,
    CoreComparison,
    CoreConstant,
    CoreLiteral,
    CoreValue,
    CoreVariable,
    Pack,
    Unpack,
    is_several,
)
from tidelog.rules.plans import Plan
from tidelog.semantics.user_functors import CallSite
from tidelog.storage.closed_relation import ClosedRelation
from tidelog.storage.dictionary import Dictionary
from tidelog.storage.memory import Block
from tidelog.storage.stored import StoredRelation

UNIT = "#unit"
"""The relation with the empty tuple, scanned by plans that start from the empty binding."""
_SHARED = frozenset({
    layout.SCAN, layout.PROBE, layout.CHECK, layout.ABSENT, layout.COMPARE, layout.COMPUTE, layout.RANGE, layout.ROUTE,
    layout.SHORTEST, layout.SCAN_LIVE, layout.PROBE_LIVE, layout.CHECK_LIVE, layout.ABSENT_LIVE,
})  # fmt: skip
"""Levels that write nothing but memory of their thread."""


@dataclass(frozen=True)
class Code:
    """An assembled plan whose constant registers are not yet placed."""

    head: int
    source: int
    version: int
    arguments: tuple[int, ...]
    levels: tuple[_Level, ...]
    literals: tuple[int | None, ...]
    """The position in the body of the literal that each level is about."""

    @property
    def kinds(self) -> tuple[int, ...]:
        """Return the kinds of the levels, see `layout`."""
        return tuple(level.kind for level in self.levels)

    def words(self, place: Callable[[int], int]) -> list[int]:
        """Return the plan as the interpreter reads it: header, offsets of the levels, head registers, levels."""
        offset = layout.P_LEVEL + len(self.levels)
        header = [0] * layout.P_LEVEL
        header[layout.P_LEVELS] = len(self.levels)
        header[layout.P_HEAD], header[layout.P_SOURCE], header[layout.P_VERSION] = self.head, self.source, self.version
        header[layout.P_ARGUMENTS] = offset
        header[layout.P_SHARED] = int(all(level.kind in _SHARED for level in self.levels))
        body = [place(register) for register in self.arguments]
        offsets = []
        for level in self.levels:
            offsets.append(offset + len(body))
            body += level.words(place)
        return header + offsets + body

    @property
    def calls(self) -> bool:
        """Return True if the plan calls functions in Python."""
        return any(level.call is not None for level in self.levels)

    def call(self, level: int, place: Callable[[int], int]) -> Call:
        """Return the function that the CALL level number `level` calls."""
        function, arguments, targets = self.levels[level].call  # type: ignore[misc]  # CALL levels have one
        live = tuple(place(register) for register, _ in self.levels[level].live)
        return Call(function, tuple(map(place, arguments)), tuple(map(place, targets)), live)


@dataclass(frozen=True)
class Call:
    """A function on a batch, `function(columns, look) -> (mask or None, results)`, and the registers concerned."""

    function: CallOut
    arguments: tuple[int, ...]
    targets: tuple[int, ...]
    live: tuple[int, ...]


@dataclass(frozen=True)
class Sight:
    """The sight of an update's plan: the `version` of its source (a list, or NOW for all rows), and for each literal of
    the body the state of its relation, or None for the states of a bootstrap. A plan that scans another atom than the
    changed one, which is number `sifted`, skips the rows that cannot meet a changed tuple."""

    version: int
    states: tuple[int | None, ...]
    sifted: int | None = None


@dataclass
class Registers:
    """Registers of all plans of a hyper-node: `used` by variables at most, and those of the constants by word.

    Constant registers are numbered from -1 downwards until `place` knows where they begin.
    """

    used: int = 1
    constants: dict[int, int] = field(default_factory=dict)

    def constant(self, word: int) -> int:
        """Return the register that has the value `word` throughout."""
        return self.constants.setdefault(word, -1 - len(self.constants))

    def place(self, register: int) -> int:
        """Return the final number of a register, once all plans are assembled."""
        return register if register >= 0 else self.used - 1 - register


class Assembler:
    """Assembles plans over `relations`; indexes that they need are made on the way and left empty."""

    def __init__(
        self,
        relations: Mapping[str, StoredRelation],
        internal: frozenset[str],
        dictionary: Dictionary,
        registers: Registers,
    ) -> None:
        self.relations = relations
        self.internal = internal
        self.dictionary = dictionary
        self.registers = registers
        self.sieves: dict[tuple[str, int], Block] = {}
        """By relation and column: the values that changed tuples have there, see `kernels.live.mark`."""

    def assemble(self, plan: Plan, sight: Sight | None = None) -> Code:
        """Return the code of a plan: for a bootstrap, or for an update with `sight`."""
        return _Assembly(self, plan, sight).run()


@dataclass
class _Level:
    kind: int
    object: int = 0
    version: int = layout.FULL
    keys: tuple[int, ...] = ()
    columns: tuple[tuple[int, int], ...] = ()
    live: tuple[tuple[int, int], ...] = ()
    extra: int = 0
    births: tuple[int, ...] = ()
    behind: tuple[int, ...] = ()
    """Words behind the lists, as they are."""
    call: tuple[CallOut, tuple[int, ...], tuple[int, ...]] | None = None

    def words(self, place: Callable[[int], int]) -> list[int]:
        head = [self.kind, self.object, self.version, len(self.keys), len(self.columns), len(self.live), self.extra]
        pairs = [x for column, target in self.columns for x in (column, place(target))]
        moves = [place(x) for pair in self.live for x in pair]
        return (
            head + [place(key) for key in self.keys] + pairs + moves + [place(x) for x in self.births] + [*self.behind]
        )


class _Assembly:
    """One plan under way: where each bound variable is, and the levels so far."""

    def __init__(self, assembler: Assembler, plan: Plan, sight: Sight | None) -> None:
        self.a = assembler
        self.plan = plan
        self.sight = sight
        self.birth = assembler.registers.constant(-1) if sight is not None else None
        self.rule = plan.rule
        self.where: dict[str, int] = {}
        self.levels: list[_Level] = []
        self.literals: list[int | None] = []
        self.next = 0
        self.later: frozenset[str] = frozenset()

    def run(self) -> Code:
        head = frozenset(v.name for v in self.rule.head.args if isinstance(v, CoreVariable))
        pending = list(self.plan.order)
        version = layout.DELTA if self.plan.delta else layout.FULL
        if self.sight is not None:
            version = self.sight.version
        atom = self.rule.body[self.plan.source] if self.plan.source is not None else None
        source = atom.relation if isinstance(atom, CoreAtom) else UNIT
        if atom is not None and self.is_closed(source) and version not in (layout.OUT, layout.IN):
            # It has no rows but those that have changed; its pairs come from a probe that knows nothing.
            pending.insert(0, self.plan.source or 0)
            source = UNIT
        laters = [*accumulate((self.rule.variables[i] for i in reversed(pending)), or_, initial=head)]
        self.later = laters.pop()
        if source == UNIT:
            version = layout.FULL
            self.levels.append(_Level(layout.SCAN, self.a.relations[UNIT].number))
        elif isinstance(atom, CoreAtom):
            self.scan(atom, version)
        self.place(None if source == UNIT else self.plan.source)
        if self.plan.route is not None:
            self.route(self.plan.route.mine, self.plan.route.other, self.plan.route.ties)
            self.place(None)
        for i, self.later in zip(pending, reversed(laters), strict=True):
            self.literal(i, self.rule.body[i])
            self.place(i)
        self.a.registers.used = max(self.a.registers.used, self.next)
        return Code(
            self.a.relations[self.rule.head.relation].number,
            self.a.relations[source].number,
            version,
            (*(self.value(v) for v in self.rule.head.args), *([] if self.birth is None else [self.birth])),
            tuple(self.levels),
            tuple(self.literals),
        )

    def place(self, literal: int | None) -> None:
        """Note that the levels added since the last call are about a literal of the body."""
        self.literals += [literal] * (len(self.levels) - len(self.literals))

    # --- registers -----------------------------------------------------------------------------------------------

    def new_register(self) -> int:
        self.next += 1
        return self.next - 1

    def value(self, value: CoreValue) -> int:
        """Return the register of a bound variable or a constant."""
        if isinstance(value, CoreVariable):
            return self.where[value.name]
        return self.a.registers.constant(self.a.dictionary.encode(value.value, value.kind))

    def is_bound(self, value: CoreValue) -> bool:
        return isinstance(value, CoreConstant) or value.name in self.where

    def live(self, others: Iterable[int] = ()) -> tuple[tuple[int, int], ...]:
        """Return the registers that later levels read, and `others` that are not constants, each staying in its
        place."""
        named = [r for name, r in self.where.items() if name in self.later]
        birth = [] if self.birth is None else [self.birth]
        return tuple((r, r) for r in dict.fromkeys([*named, *birth, *others]) if r >= 0)

    def state(self, i: int, atom: CoreAtom) -> tuple[int | None, bool]:
        """Return the state in which an update sees the relation of body atom `i` (None: as a bootstrap does), and True
        if the births of its tuples count."""
        state = self.sight.states[i] if self.sight is not None else None
        return state, state is not None and not atom.negated and atom.relation in self.a.internal

    def move(self, birth: bool = True) -> tuple[tuple[int, int], ...]:
        """Return fresh registers for the variables that stay alive, and the moves into them; forget all others.

        The register of the largest birth moves along unless `birth` says that it is computed anew.
        """
        moves = []
        if birth and self.birth is not None and self.birth >= 0:
            moves.append((self.birth, self.new_register()))
            self.birth = moves[0][1]
        for name, register in list(self.where.items()):
            if name in self.later:
                self.where[name] = self.new_register()
                moves.append((register, self.where[name]))
            else:
                del self.where[name]
        return tuple(moves)

    # --- levels --------------------------------------------------------------------------------------------------

    def literal(self, i: int, literal: CoreLiteral) -> None:
        match literal:
            case CoreAtom(negated=True):
                self.negation(i, literal)
            case CoreAtom():
                self.share(i)
                self.atom(i, literal)
            case CoreComparison():
                self.comparison(literal)
            case Computation(functor="range"):
                self.range(literal)
            case Computation(declared=FunctorType() as declared):
                site = CallSite(self.rule.origin, self.rule.span)
                first, take = user_call_outs(declared, self.a.dictionary, site)
                if several_values(declared):
                    self.list_levels(literal, first, take)
                else:
                    self.call(first, literal.args, (literal.target,))
            case Computation() if is_several(literal):
                self.list_levels(literal, *listed_call_outs(literal.functor, self.a.dictionary))
            case Computation():
                self.computation(literal)
            case Pack(target=target, kind=kind, args=args):
                dictionary = self.a.dictionary
                self.call(lambda columns, _: (None, (dictionary.pack(kind, columns, 1),)), args, (target,))
            case Unpack(source=source, kind=kind, targets=targets):
                unpack = self.a.dictionary.unpack
                self.call(lambda columns, _: unpack(kind, columns[0]), (source,), targets)

    def columns(
        self, pairs: Sequence[tuple[int, CoreValue]]
    ) -> tuple[tuple[tuple[int, int], ...], list[tuple[int, int]]]:
        """Return registers for the columns of an atom: those to fill, and pairs of registers that then have to be
        equal."""
        fill: list[tuple[int, int]] = []
        equal: list[tuple[int, int]] = []
        for column, value in pairs:
            if self.is_bound(value):
                fill.append((column, self.new_register()))
                equal.append((fill[-1][1], self.value(value)))
            elif isinstance(value, CoreVariable):
                repeated = sum(other == value for _, other in pairs) > 1
                if value.name in self.later or repeated:
                    self.where[value.name] = self.new_register()
                    fill.append((column, self.where[value.name]))
        return tuple(fill), equal

    def equate(self, equal: list[tuple[int, int]]) -> None:
        """Add filters that keep the bindings in which these registers agree."""
        for n, (a, b) in enumerate(equal):
            waiting = [r for pair in equal[n + 1 :] for r in pair]
            self.levels.append(_Level(layout.COMPARE, layout.COMPARISONS["="], keys=(a, b), live=self.live(waiting)))

    def scan(self, atom: CoreAtom, version: int) -> None:
        fill, equal = self.columns(list(enumerate(atom.args)))
        number = self.a.relations[atom.relation].number
        if self.sight is None or self.plan.source is None or self.sight.states[self.plan.source] is None:
            self.levels.append(_Level(layout.SCAN, number, version, (), fill))
        else:
            births: tuple[int, ...] = ()
            if not atom.negated and atom.relation in self.a.internal:
                assert self.birth is not None
                births = (self.birth, self.new_register())
                self.birth = births[1]
            state, sieve = self.sight.states[self.plan.source] or 0, self.sieve(atom)
            extra = int(bool(births)) + 2 * bool(sieve)
            self.levels.append(
                _Level(layout.SCAN_LIVE, number, state, (), fill, extra=extra, births=births, behind=sieve)
            )
        self.equate(equal)

    def sieve(self, atom: CoreAtom) -> tuple[int, ...]:
        """Return a column that a scanned atom shares with the changed one, and the address of the sieve for it."""
        if self.sight is None or self.sight.sifted is None:
            return ()
        changed = self.rule.body[self.sight.sifted]
        assert isinstance(changed, CoreAtom)
        for column, value in enumerate(atom.args):
            if isinstance(value, CoreVariable) and value in changed.args:
                key = changed.relation, changed.args.index(value)
                if key not in self.a.sieves:
                    self.a.sieves[key] = Block(layout.SIEVE // 4)
                return column, self.a.sieves[key].address
        return ()

    def is_closed(self, relation: str) -> bool:
        """Return True if a relation is a closure whose pairs are not written."""
        return isinstance(self.a.relations[relation], ClosedRelation)

    def version(self, i: int, atom: CoreAtom) -> int:
        delta = self.plan.source if self.plan.delta else None
        before = delta is not None and i < delta and atom.relation in self.a.internal
        return layout.OLD if before else layout.FULL

    def atom(self, i: int, atom: CoreAtom) -> None:
        stored, version = self.a.relations[atom.relation], self.version(i, atom)
        state, own = self.state(i, atom)
        version, check, probe = (
            (version, layout.CHECK, layout.PROBE) if state is None else (state, layout.CHECK_LIVE, layout.PROBE_LIVE)
        )
        if self.is_closed(atom.relation):
            version, check, probe = state or layout.NOW, layout.CHECK_CLOSED, layout.PROBE_CLOSED
        keys = tuple(c for c, arg in enumerate(atom.args) if self.is_bound(arg))
        before = self.birth
        if len(keys) == len(atom.args):
            registers = tuple(self.value(arg) for arg in atom.args)
            if own:
                self.birth = self.new_register()
            births = (before, self.birth) if own else ()
            self.levels.append(
                _Level(check, stored.number, version, registers, (), self.live(), int(own), births)  # type: ignore[arg-type]
            )
            return
        keys = keys[: layout.MAX_KEYS]
        index = stored.index(keys)
        registers = tuple(self.value(atom.args[c]) for c in keys)
        # A variable compared behind the probe has to survive it, even when nothing later reads it.
        rest = [(c, arg) for c, arg in enumerate(atom.args) if c not in keys]
        compared = {arg.name for _, arg in rest if isinstance(arg, CoreVariable) and self.is_bound(arg)}
        later, self.later = self.later, self.later | compared
        live = self.move(not own)
        fill, equal = self.columns(rest)
        self.later = later
        if own:
            self.birth = self.new_register()
        births = (before, self.birth) if own else ()
        if index.payloads:
            fill = tuple((index.payloads.index(column), target) for column, target in fill)
        self.levels.append(
            _Level(probe, index.number, version, registers, fill, live, int(own), births)  # type: ignore[arg-type]
        )
        self.equate(equal)

    def share(self, i: int) -> None:
        """If atom `i` shares a variable with others, bind it to what the shortest of their segments has. Each of the
        atoms is tested behind that."""
        atoms = [self.rule.body[j] for group in self.plan.shared if group[0] == i for j in group]
        registers: list[int] = []
        behind: list[int] = []
        for atom in atoms:
            assert isinstance(atom, CoreAtom)
            keys = tuple(c for c, arg in enumerate(atom.args) if self.is_bound(arg))
            index = self.a.relations[atom.relation].index(keys)
            (column,) = {*range(len(atom.args))} - {*keys}
            behind += [index.number, 0 if index.payloads else column, len(registers)]
            registers += [self.value(atom.args[c]) for c in index.keys]
        if atoms:
            later, self.later = self.later, self.later | self.rule.variables[i]
            live = self.move()
            (name,) = self.rule.variables[i] - self.where.keys()
            self.where[name] = self.new_register()
            fill = ((0, self.where[name]),)
            self.levels.append(
                _Level(layout.SHORTEST, len(atoms), 0, tuple(registers), fill, live, behind=tuple(behind))
            )
            self.later = later

    def negation(self, i: int, atom: CoreAtom) -> None:
        state, _ = self.state(i, atom)
        registers = tuple(self.value(arg) for arg in atom.args)
        number, live = self.a.relations[atom.relation].number, self.live()
        kind, version = (layout.ABSENT, layout.FULL) if state is None else (layout.ABSENT_LIVE, state)
        if self.is_closed(atom.relation):
            kind, version = layout.ABSENT_CLOSED, state or layout.NOW
        self.levels.append(_Level(kind, number, version, registers, (), live))

    def comparison(self, literal: CoreComparison) -> None:
        operator, kind = native(literal.op, literal.kind)
        if operator is None:
            self.call(call_out(literal.op, literal.kind, 2, self.a.dictionary), (literal.left, literal.right), ())
            return
        keys = (self.value(literal.left), self.value(literal.right))
        self.levels.append(_Level(layout.COMPARE, operator, keys=keys, live=self.live(), extra=kind))

    def target(self, target: CoreValue) -> tuple[int, list[tuple[int, int]]]:
        """Return the register for a computed value, and the register that it must equal if the target is bound
        already."""
        register = self.new_register()
        if self.is_bound(target):
            return register, [(register, self.value(target))]
        assert isinstance(target, CoreVariable)
        self.where[target.name] = register
        return register, []

    def computation(self, literal: Computation) -> None:
        operator, kind = native(literal.functor, literal.target.kind if literal.functor == "as" else literal.kind)
        if operator is None:
            function = call_out(literal.functor, literal.kind, len(literal.args), self.a.dictionary)
            self.call(function, literal.args, (literal.target,))
            return
        arguments = tuple(self.value(arg) for arg in literal.args)
        register, equal = self.target(literal.target)
        live = self.live(r for pair in equal for r in pair)
        keys = (arguments[0], arguments[-1])
        self.levels.append(_Level(layout.COMPUTE, operator, 0, keys, ((0, register),), live, kind))
        self.equate(equal)

    def range(self, literal: Computation) -> None:
        keys = tuple(self.value(arg) for arg in literal.args)
        _, kind = native("+", literal.kind)
        later, bound = self.later, self.is_bound(literal.target)
        if bound and isinstance(literal.target, CoreVariable):
            self.later = later | {literal.target.name}
        live = self.move()
        register, equal = self.target(literal.target)
        self.later = later
        self.levels.append(_Level(layout.RANGE, kind, 0, keys, ((0, register),), live))
        self.equate(equal)

    def list_levels(self, literal: Computation, count: CallOut, take: CallOut) -> None:
        """Add the levels of a functor with several values: their number, a range over it, and the values."""
        number, position = CoreVariable("#number", "number"), CoreVariable("#position", "number")
        later = self.later
        used = (value.name for value in (literal.target, *literal.args) if isinstance(value, CoreVariable))
        self.later = later.union((number.name, position.name), used)
        self.call(count, literal.args, (number,))
        self.range(Computation(position, "range", "number", (CoreConstant(0, "number"), number)))
        self.later = later
        self.call(take, (*literal.args, position), (literal.target,))
        del self.where[number.name], self.where[position.name]

    def call(self, function: CallOut, args: Sequence[CoreValue], targets: Sequence[CoreValue]) -> None:
        arguments = tuple(self.value(arg) for arg in args)
        results = [self.target(target) for target in targets]
        equal = [pair for _, pairs in results for pair in pairs]
        registers = tuple(register for register, _ in results)
        live = self.live(r for pair in equal for r in pair)
        self.levels.append(_Level(layout.CALL, live=live, call=(function, arguments, registers)))
        self.equate(equal)

    def route(self, mine: int, other: int, ties: bool) -> None:
        indexes, keys = [], []
        for i in (mine, other):
            atom = self.rule.body[i]
            assert isinstance(atom, CoreAtom)
            columns = tuple(c for c, arg in enumerate(atom.args) if self.is_bound(arg))
            index = self.a.relations[atom.relation].index(columns[: layout.MAX_KEYS])
            indexes.append(index.number)
            keys += [self.value(atom.args[c]) for c in index.keys]
        self.levels.append(_Level(layout.ROUTE, indexes[0], indexes[1], tuple(keys), (), self.live(), int(ties)))
