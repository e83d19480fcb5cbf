"""Facts for a points-to analysis, from the byte code of the standard library of the interpreter that runs this.

It walks every function once, in the order of its instructions, with a stack of variables in the place of values. Of an
instruction without meaning here only the effect on the stack counts (`dis.stack_effect`), which has the same interface
in all versions of Python. Where a jump arrives and nothing falls through, the stack is that of the jump. `points_to`
defines the meaning of the facts.
"""

from __future__ import annotations

import dis
import sys
import sysconfig
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType

import numpy
from numpy.typing import NDArray

from benchmarks.elastic.points_to import ARITIES

ELEMENT = "[]"
"""The field that stands for what a container holds."""
_LEAVES = {"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD"}
_CONTAINERS = {"BUILD_LIST", "BUILD_TUPLE", "BUILD_SET"}
_COMPREHENSIONS = {"LIST_APPEND", "SET_ADD"}
_LOADS = {"LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_AND_CLEAR", "LOAD_FAST_BORROW", "LOAD_CLOSURE"}
_CELL_LOADS = {"LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"}
_GLOBAL_LOADS = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}
_GLOBAL_STORES = {"STORE_NAME", "STORE_GLOBAL"}


@dataclass(frozen=True)
class Method:
    """The values that a method load leaves below the receiver."""

    receiver: int
    name: str


@dataclass(frozen=True)
class Made:
    """A value whose code is known: a function, or with `is_class` the result of building a class."""

    variable: int
    code: CodeType


Value = int | Method | Made | CodeType | None


@dataclass
class Facts:
    """Facts under construction: rows of numbers per relation, and the numbers of things."""

    rows: dict[str, list[tuple[int, ...]]] = field(default_factory=lambda: {name: [] for name in ARITIES})
    numbers: dict[object, int] = field(default_factory=dict)

    def number(self, *thing: object) -> int:
        """Return the number of a thing, always the same one."""
        return self.numbers.setdefault(thing, len(self.numbers))

    def add(self, relation: str, *row: int) -> None:
        """Note a fact."""
        self.rows[relation].append(row)

    def arrays(self) -> dict[str, NDArray[numpy.int64]]:
        """Return the facts without duplicates, sorted."""
        return {
            name: numpy.array(sorted(set(rows)), numpy.int64).reshape(-1, ARITIES[name])
            for name, rows in self.rows.items()
        }


def standard_library(modules: int | None = None) -> dict[str, NDArray[numpy.int64]]:
    """Return the facts of the standard library, or of its first `modules` modules, without its tests."""
    return facts_of(_sources(modules))


def facts_of(sources: Iterable[tuple[str, str]]) -> dict[str, NDArray[numpy.int64]]:
    """Return the facts of modules, given as pairs of a name and a source text."""
    facts = Facts()
    facts.add("initializer", facts.number("name", "__init__"))
    known: list[tuple[str, CodeType]] = []
    for name, text in sources:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            known.append((name, compile(text, name, "exec", dont_inherit=True)))
    for name, code in known:
        facts.add("entry", facts.number("function", name, code))
        _Function(facts, name, code, None).walk()
    return facts.arrays()


def _sources(modules: int | None) -> Iterator[tuple[str, str]]:
    root = Path(sysconfig.get_path("stdlib"))
    paths = [
        path
        for path in sorted(root.rglob("*.py"))
        if not {"test", "tests", "idlelib", "lib2to3", "site-packages", "dist-packages"} & {*path.parts}
    ]
    found = 0
    for path in paths:
        if found == modules:
            return
        relative = path.relative_to(root).with_suffix("")
        parts = relative.parts[:-1] if relative.name == "__init__" else relative.parts
        try:
            text = path.read_text(encoding="utf-8")
            compile(text, str(path), "exec", dont_inherit=True)
        except (SyntaxError, ValueError, SyntaxWarning):
            continue
        found += 1
        yield ".".join(parts), text


class _Function:
    """One code object: a module body, a class body or a function. `owner` is the class whose body it is part of."""

    def __init__(self, facts: Facts, module: str, code: CodeType, owner: int | None, parent: object = None) -> None:
        self.facts = facts
        self.module = module
        self.code = code
        self.owner = owner
        self.parent = parent
        self.me = facts.number("function", module, code)
        self.stack: list[Value] = []
        self.jumps: dict[int, list[Value]] = {}
        self.keywords: tuple[str, ...] = ()
        self.body_of: int | None = None

    def walk(self) -> None:
        """Note the facts of this code and of its content."""
        code = self.code
        for n in range(code.co_argcount):
            self.facts.add("parameter", self.me, n, self.local(code.co_varnames[n]))
        reachable = True
        for instruction in dis.get_instructions(code):
            if instruction.offset in self.jumps and not reachable:
                self.stack = list(self.jumps[instruction.offset])
            elif instruction.is_jump_target and not reachable:
                self.stack = []
            self.step(instruction)
            reachable = instruction.opname not in _LEAVES
            if instruction.opcode in dis.hasjrel or instruction.opcode in dis.hasjabs:
                self.jumps.setdefault(instruction.argval, list(self.stack))

    # --- names ---

    def local(self, name: str) -> int:
        return self.facts.number("variable", self.me, name)

    def cell(self, name: str) -> int:
        """Return a variable that closures share: one per module and name, which is coarser than Python."""
        return self.facts.number("cell", self.module, name)

    def fresh(self, offset: int, what: str = "") -> int:
        return self.facts.number("temporary", self.me, offset, what)

    def name(self, name: str) -> int:
        return self.facts.number("name", name)

    def global_(self, name: str, module: str | None = None) -> int:
        module = module or self.module
        found = self.facts.number("global", module, name)
        self.facts.add("module_global", self.facts.number("module", module), self.name(name), found)
        return found

    def variable(self, value: Value) -> int | None:
        match value:
            case int():
                return value
            case Made(variable, _):
                return variable
            case Method(receiver, _):
                return receiver
        return None

    def pop(self) -> Value:
        return self.stack.pop() if self.stack else None

    def take(self, n: int) -> list[Value]:
        return [self.pop() for _ in range(n)][::-1]

    # --- instructions ---

    def step(self, i: dis.Instruction) -> None:
        """Run one instruction."""
        name, push = i.opname, self.stack.append
        if name in _LOADS:
            shared = i.argval in self.code.co_cellvars or i.argval in self.code.co_freevars
            push(self.cell(i.argval) if shared else self.local(i.argval))
        elif name == "STORE_FAST":
            self.move(self.local(i.argval), self.pop())
        elif name in _CELL_LOADS:
            push(self.cell(i.argval))
        elif name == "STORE_DEREF":
            self.move(self.cell(i.argval), self.pop())
        elif name in _GLOBAL_LOADS:
            self.load_global(i)
        elif name in _GLOBAL_STORES:
            self.store_name(i.argval)
        elif name == "LOAD_CONST":
            push(i.argval if isinstance(i.argval, CodeType) else None)
        elif name in {"LOAD_ATTR", "LOAD_METHOD"}:
            self.load_attribute(i)
        elif name == "STORE_ATTR":
            base, value = self.pop(), self.pop()
            self.store(base, i.argval, value)
        elif name == "BINARY_SUBSCR":
            _, base = self.pop(), self.pop()
            push(self.load(i, base, ELEMENT))
        elif name == "STORE_SUBSCR":
            _, base, value = self.pop(), self.pop(), self.pop()
            self.store(base, ELEMENT, value)
        elif name in _CONTAINERS:
            self.container(i, self.take(i.arg or 0))
        elif name == "BUILD_MAP":
            self.container(i, self.take(2 * (i.arg or 0))[1::2])
        elif name in _COMPREHENSIONS:
            value = self.pop()
            if len(self.stack) >= (i.arg or 1):
                self.store(self.stack[-(i.arg or 1)], ELEMENT, value)
        elif name == "FOR_ITER":
            push(self.load(i, self.stack[-1] if self.stack else None, ELEMENT))
        elif name == "UNPACK_SEQUENCE":
            base = self.pop()
            self.stack += [self.load(i, base, ELEMENT)] * (i.arg or 0)
        elif name == "MAKE_FUNCTION":
            self.make_function(i)
        elif name == "LOAD_BUILD_CLASS":
            push(Method(-1, "class"))
        elif name == "KW_NAMES":
            self.keywords = self.code.co_consts[i.arg or 0]
        elif name in {"CALL", "CALL_KW"}:
            self.call(i)
        elif name == "RETURN_VALUE":
            self.give_back(self.pop())
        elif name == "IMPORT_NAME":
            self.import_name(i)
        elif name == "IMPORT_FROM":
            push(self.load(i, self.stack[-1] if self.stack else None, i.argval))
        elif name == "COPY":
            push(self.stack[-(i.arg or 1)] if len(self.stack) >= (i.arg or 1) else None)
        elif name == "SWAP":
            n = i.arg or 1
            if len(self.stack) >= n:
                self.stack[-n], self.stack[-1] = self.stack[-1], self.stack[-n]
        elif name in {"GET_ITER", "PRECALL", "RESUME", "CACHE"}:
            pass
        else:
            self.other(i)

    def other(self, i: dis.Instruction) -> None:
        """Move the stack for an instruction without meaning here; its result is a new variable."""
        effect = dis.stack_effect(i.opcode, i.arg if i.opcode >= dis.HAVE_ARGUMENT else None, jump=False)
        if effect < 0:
            self.take(-effect)
        else:
            self.stack += [None] * effect
        if i.opname.startswith(("BINARY", "UNARY", "COMPARE")) and self.stack:
            self.stack[-1] = None

    def move(self, to: int, value: Value) -> None:
        variable = self.variable(value)
        if variable is not None and variable >= 0:
            self.facts.add("move", to, variable)

    def load_global(self, i: dis.Instruction) -> None:
        to = self.fresh(i.offset)
        if i.opname == "LOAD_NAME" and self.body_of is not None:
            self.facts.add("move", to, self.local(i.argval))
        self.facts.add("load_global", to, self.global_(i.argval))
        null = i.opname == "LOAD_GLOBAL" and sys.version_info >= (3, 11) and bool((i.arg or 0) & 1)
        self.stack += [None, to] if null else [to]

    def store_name(self, name: str) -> None:
        value = self.pop()
        variable = self.variable(value)
        if variable is None or variable < 0:
            return
        if self.body_of is None:
            self.facts.add("store_global", self.global_(name), variable)
            return
        self.facts.add("move", self.local(name), variable)
        self.facts.add("class_attribute", self.body_of, self.name(name), variable)
        self.facts.add("declares", self.body_of, self.name(name))

    def load_attribute(self, i: dis.Instruction) -> None:
        base = self.pop()
        is_method = i.opname == "LOAD_METHOD" or (sys.version_info >= (3, 12) and bool((i.arg or 0) & 1))
        variable = self.variable(base)
        if is_method:
            self.stack += [None if variable is None else Method(variable, i.argval), base]
        else:
            self.stack.append(self.load(i, base, i.argval))

    def load(self, i: dis.Instruction, base: Value, field_: str) -> Value:
        variable = self.variable(base)
        if variable is None or variable < 0:
            return None
        to = self.fresh(i.offset)
        self.facts.add("load", to, variable, self.name(field_))
        return to

    def store(self, base: Value, field_: str, value: Value) -> None:
        to, what = self.variable(base), self.variable(value)
        if to is not None and what is not None and min(to, what) >= 0:
            self.facts.add("store", to, self.name(field_), what)

    def container(self, i: dis.Instruction, values: list[Value]) -> None:
        to = self.fresh(i.offset)
        self.facts.add("allocate", to, self.facts.number("object", self.me, i.offset), self.me)
        for value in values:
            self.store(to, ELEMENT, value)
        self.stack.append(to)

    def make_function(self, i: dis.Instruction) -> None:
        """Make a function object; walk its content here, where its class is known."""
        top = self.pop()
        flags = i.arg or 0
        if not isinstance(top, CodeType):
            top = self.pop()
        self.take(bin(flags).count("1"))
        to = self.fresh(i.offset)
        if isinstance(top, CodeType):
            function = _Function(self.facts, self.module, top, self.body_of)
            made = self.facts.number("object", self.me, i.offset)
            self.facts.add("allocate", to, made, self.me)
            self.facts.add("function_object", made, function.me)
            if not self.builds_class():
                self.public(function)
                function.walk()
            self.stack.append(Made(to, top))
        else:
            self.stack.append(to)

    def builds_class(self) -> bool:
        return any(value == Method(-1, "class") for value in self.stack[-2:])

    def public(self, function: _Function) -> None:
        """Note everything that a user of the library may call: names without an underscore, methods on an instance of
        theirs."""
        name = function.code.co_name
        if name.startswith("_") and not name.startswith("__"):
            return
        self.facts.add("entry", function.me)
        if self.body_of is not None and function.code.co_argcount:
            theirs = self.facts.number("object", "of", self.body_of)
            self.facts.add("open_instance", theirs, self.body_of)
            self.facts.add("allocate", function.local(function.code.co_varnames[0]), theirs, function.me)

    def call(self, i: dis.Instruction) -> None:
        keywords = len(self.keywords)
        if i.opname == "CALL_KW":
            self.pop()
        self.keywords = ()
        arguments = self.take(i.arg or 0)
        second, first = self.pop(), self.pop()
        if Method(-1, "class") in (first, second):
            self.build_class(i, arguments)
            return
        site, result = self.facts.number("site", self.me, i.offset), self.fresh(i.offset)
        self.facts.add("site_object", site, self.facts.number("object", self.me, i.offset))
        self.facts.add("site_in", site, self.me)
        self.facts.add("result", site, result)
        positional = arguments[: len(arguments) - keywords]
        if isinstance(first, Method):
            self.facts.add("call_method", site, first.receiver, self.name(first.name))
        else:
            called = [v for v in (self.variable(first), self.variable(second)) if v is not None]
            if called:
                self.facts.add("call", site, called[0])
            if len(called) == 2:
                positional = [second, *positional]
        for n, value in enumerate(positional):
            variable = self.variable(value)
            if variable is not None and variable >= 0:
                self.facts.add("argument", site, n, variable)
        self.stack.append(result)

    def build_class(self, i: dis.Instruction, arguments: list[Value]) -> None:
        to = self.fresh(i.offset)
        if arguments and isinstance(arguments[0], Made):
            body = _Function(self.facts, self.module, arguments[0].code, None)
            made = self.facts.number("object", self.me, i.offset)
            body.body_of = self.facts.number("class", body.me)
            self.facts.add("allocate", to, made, self.me)
            self.facts.add("class_object", made, body.body_of)
            self.facts.add("entry", body.me)
            for value in arguments[1:]:
                variable = self.variable(value)
                if variable is not None and variable >= 0:
                    self.facts.add("base", body.body_of, variable)
            body.walk()
        self.stack.append(to)

    def give_back(self, value: Value) -> None:
        variable = self.variable(value)
        if variable is not None and variable >= 0:
            self.facts.add("returned", self.me, variable)

    def import_name(self, i: dis.Instruction) -> None:
        """Return a module as an object, by the name that the statement gives."""
        self.take(2)
        to = self.fresh(i.offset)
        self.facts.add("allocate", to, self.facts.number("module", i.argval), self.me)
        self.stack.append(to)
