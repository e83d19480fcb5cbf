"""Random programs with random facts: safe, stratified and terminating by construction, small, and mostly not empty.

    case = generate(random.Random(7))
    case.text, case.facts, case.derived      # program text, relation -> set of tuples, the relations that have rules

Relations are laid out in levels. A rule for a relation of some level reads that level and those below, and negates or
aggregates only what is below, so that every program is stratified. Where a rule reads its own level, what it computes
is held within bounds, so that recursion ends. Every variable is bound by a positive literal before another use.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tests.paths.automata import random_path

Row = tuple[Any, ...]

TYPES = """\
.type Small <: number
.type Big <: number
.type Either = Small | Big
.type Name <: symbol
.type Pair = [first: number, second: number]
.type Box = [pair: Pair, tag: symbol]
.type List = [head: number, tail: List]"""

KIND = {"Small": "number", "Big": "number", "Either": "number", "Name": "symbol"}
FIELDS = {"Pair": ("number", "number"), "Box": ("Pair", "symbol"), "List": ("number", "List")}
ABOVE = {"Small": {"Either", "number"}, "Big": {"Either", "number"}, "Either": {"number"}, "Name": {"symbol"}}

NUMBERS = (0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, -1)
EXTREME_NUMBERS = (2**63 - 1, -(2**63), 2**31, -(2**31) - 1)
UNSIGNED = (0, 1, 1, 2, 3, 4)
EXTREME_UNSIGNED = (2**64 - 1, 2**63)
FLOATS = (0.0, 0.5, 1.0, 1.0, 2.0, 2.0, -1.5, 3.25)
SYMBOLS = ("a", "a", "a", "b", "b", "ab", "", "2", "-0x1", "2.5", "é")
ORDERED = ("number", "unsigned", "float", "symbol")
PATTERNS = (".*", "a.*", "[ab]+", "[0-9]*", "..", "")


def kind_of(type_name: str) -> str:
    return KIND.get(type_name, type_name)


def fits(lower: str, upper: str) -> bool:
    """Return True if values of the one type may go where the other is declared."""
    return lower == upper or upper in ABOVE.get(lower, ())


@dataclass(frozen=True)
class Clause:
    """A fact or rule as texts; facts have no body."""

    heads: tuple[str, ...]
    body: tuple[str, ...] = ()
    name: str | None = None

    def __str__(self) -> str:
        name = f"{self.name}: " if self.name else ""
        body = f" :- {', '.join(self.body)}" if self.body else ""
        return f"{name}{', '.join(self.heads)}{body}."


@dataclass(frozen=True)
class Case:
    """A program and its facts. `derived` are the relations with rules, `seed` says how to make the case again."""

    declarations: tuple[str, ...]
    clauses: tuple[Clause, ...]
    facts: Mapping[str, frozenset[Row]]
    derived: tuple[str, ...]
    seed: int | None = None

    @property
    def text(self) -> str:
        return "\n".join([*self.declarations, *map(str, self.clauses), ""])

    def __str__(self) -> str:
        facts = "\n".join(f"  {name!r}: {set(rows)!r}," for name, rows in self.facts.items())
        return f"seed {self.seed}\n--- program\n{self.text}--- facts\n{{\n{facts}\n}}\n"


@dataclass(frozen=True)
class Relation:
    name: str
    types: tuple[str, ...]
    level: int


def generate(rng: random.Random, seed: int | None = None) -> Case:
    """A random case; the same state of `rng` gives the same case."""
    given = [Relation(f"e{i}", random_types(rng, given=True), 0) for i in range(rng.randint(2, 4))]
    levels = rng.choices((1, 2, 3), (1, 5, 3))[0]
    derived = [
        Relation(f"p{level}{'abc'[i]}", random_types(rng, given=False), level)
        for level in range(1, levels + 1)
        for i in range(rng.choices((1, 2, 3), (5, 4, 1))[0])
    ]
    schema = (*given, *derived)
    clauses = []
    for relation in derived:
        clauses.append(RuleMaker(rng, schema, relation, recursive=False).clause(tests=0.5))
        for _ in range(rng.choices((0, 1, 2, 3), (3, 4, 2, 1))[0]):
            clauses.append(RuleMaker(rng, schema, relation, recursive=rng.random() < 0.7).clause())
        if len(relation.types) == 2 and relation.types[0] == relation.types[1] and rng.random() < 0.6:
            clauses += closure(rng, relation.name)
    clauses = [replace(each, name=f"rule_{i}") if rng.random() < 0.2 else each for i, each in enumerate(clauses)]
    facts: dict[str, frozenset[Row]] = {}
    for relation in schema:
        if relation.level == 0 or rng.random() < 0.15:
            size = rng.choices((0, 3, 6, 10), (1, 4, 20, 20))[0]
            rows = dict.fromkeys(tuple(random_value(rng, name) for name in relation.types) for _ in range(size))
            stated = [row for row in rows if rng.random() < 0.15]
            clauses += [Clause((atom(relation.name, list(map(show, row, relation.types))),)) for row in stated]
            facts[relation.name] = frozenset(rows) - frozenset(stated)
    rng.shuffle(clauses)
    declarations = [declaration(relation, rng) for relation in schema]
    return Case((TYPES, *declarations), tuple(clauses), facts, tuple(each.name for each in derived), seed)


def closure(rng: random.Random, name: str) -> list[Clause]:
    """Rules that close a relation, mostly a closure by their shape if it has no other recursive ones."""
    unequal = ("x != z",) if rng.random() < 0.2 else ()
    clauses = [Clause((f"{name}(x, z)",), (f"{name}(x, y)", f"{name}(y, z)", *unequal))]
    return clauses + [Clause((f"{name}(x, y)",), (f"{name}(y, x)",))] * (rng.random() < 0.25)


def random_types(rng: random.Random, given: bool) -> tuple[str, ...]:
    arity = rng.choices((0, 1, 2, 3), (1, 8, 16, 6) if given else (2, 10, 16, 2))[0]
    names = ("number", "symbol", "unsigned", "float", "Pair", "Small", "Big", "Either", "Name", "Box", "List")
    weights = (24, 7, 3, 3, 3, 2, 1, 1, 2, 1, 1)
    return tuple(rng.choices(names, weights, k=arity))


def declaration(relation: Relation, rng: random.Random) -> str:
    columns = ", ".join(f"x{i}: {name}" for i, name in enumerate(relation.types))
    output = f"\n.output {relation.name}" if relation.level and rng.random() < 0.5 else ""
    return f".decl {relation.name}({columns}){output}"


def random_value(rng: random.Random, type_name: str, depth: int = 0) -> Any:
    if type_name in FIELDS:
        if rng.random() < 0.1 + 0.3 * depth:
            return None
        return tuple(random_value(rng, part, depth + 1) for part in FIELDS[type_name])
    extreme = rng.random() < 0.04
    match kind_of(type_name):
        case "number":
            return rng.choice(EXTREME_NUMBERS if extreme else NUMBERS)
        case "unsigned":
            return rng.choice(EXTREME_UNSIGNED if extreme else UNSIGNED)
        case "float":
            return rng.choice(FLOATS)
        case _:
            return rng.choice(SYMBOLS)


def show(value: Any, type_name: str) -> str:
    """A value as program text."""
    if type_name in FIELDS:
        if value is None:
            return "nil"
        return f"[{', '.join(show(part, name) for part, name in zip(value, FIELDS[type_name], strict=True))}]"
    if kind_of(type_name) == "symbol":
        return f'"{value}"'
    if kind_of(type_name) == "float":
        return repr(float(value))
    return str(value)


def atom(name: str, args: list[str]) -> str:
    return f"{name}({', '.join(args)})"


# --- rules -----------------------------------------------------------------------------------------------------------


@dataclass
class RuleMaker:
    """Writes one rule for `target`, literal by literal; `bound` holds the variables so far, with their types."""

    rng: random.Random
    schema: tuple[Relation, ...]
    target: Relation
    recursive: bool
    prefix: str = "v"
    bound: dict[str, str] = field(default_factory=dict)
    used: int = 0
    unused: set[str] = field(default_factory=set)

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def clause(self, tests: float = 1.0) -> Clause:
        """A rule; with fewer `tests` than usual it is more likely to derive something."""
        body = [self.positive_atom(self.readable(recursive=self.recursive))]
        for _ in range(self.rng.choices((0, 1, 2), (5, 6, 1))[0]):
            body.append(self.positive_atom(self.readable(recursive=self.recursive and self.chance(0.4))))
        makers: list[tuple[float, Callable[[], list[str]]]] = [
            (0.18 * tests, self.comparison),
            (0.25, self.assignment),
            (0.20 * tests, self.negation),
            (0.14 * tests, self.disjunction),
            (0.22, self.aggregate_literal),
            (0.08, self.interval),
            (0.06 * tests, self.symbol_test),
            (0.05, self.record_literal),
            (0.10, self.path_literal),
        ]
        for probability, maker in makers:
            if self.chance(probability):
                body += maker()
        if self.chance(0.03):
            body.append("true")
        heads = [self.head(self.target)]
        if self.chance(0.1):
            heads.append(self.head(self.rng.choice([each for each in self.schema if each.level >= self.target.level])))
        self.rng.shuffle(body)
        return Clause(tuple(heads), tuple(body))

    def readable(self, recursive: bool) -> list[Relation]:
        """Relations for positive atoms: of the rule's own level, or of those below."""
        return [each for each in self.schema if (each.level == self.target.level if recursive else self.below(each))]

    def below(self, relation: Relation) -> bool:
        return relation.level < self.target.level

    def fresh(self, type_name: str) -> str:
        self.used += 1
        name = f"{self.prefix}{self.used}"
        self.bound[name] = type_name
        return name

    def known(self, kind: str) -> list[str]:
        """The bound variables of a kind (or record type)."""
        return [name for name, type_name in self.bound.items() if kind_of(type_name) == kind]

    # --- atoms

    def positive_atom(self, relations: list[Relation]) -> str:
        """An atom that shares a variable with what is there already, if it can, and binds new ones."""
        linked = [each for each in relations if any(self.joinable(name) for name in each.types)]
        relation = self.rng.choice(linked or relations)
        before = set(self.bound)
        link = self.rng.choice([i for i, name in enumerate(relation.types) if self.joinable(name)] or [None])
        return atom(relation.name, [self.pattern(name, before, i == link) for i, name in enumerate(relation.types)])

    def path_literal(self) -> list[str]:
        """A path along relations below, most likely from a variable that is there already; sometimes negated."""
        binary = [each for each in self.schema if self.below(each) and len(each.types) == 2]
        if not binary:
            return []
        begin = self.rng.choice(binary).types[0]
        some = [each for each in binary if each.types[0] == begin]
        steps = [each.name if each.types[1] == begin else f"({each.name}/^{each.name})" for each in some]
        path = random_path(self.rng, steps, self.rng.choice((0, 0, 1)))
        if any(each.level for each in some):
            path = path.replace("*", "+")  # a rule may make values there that `*` takes to have no end
        if self.chance(0.25):
            return [f"!<{path}>({self.given(begin, wildcard=0.25)}, {self.given(begin, wildcard=0.25)})"]
        before = set(self.bound)
        return [f"<{path}>({self.pattern(begin, before, link=True)}, {self.pattern(begin, before)})"]

    def joinable(self, type_name: str) -> list[str]:
        return [name for name, other in self.bound.items() if fits(other, type_name) or fits(type_name, other)]

    def pattern(self, type_name: str, before: set[str], link: bool = False, depth: int = 0) -> str:
        """An argument of a positive atom: most likely one of the variables bound `before` if it is to `link`."""
        candidates = self.joinable(type_name)
        earlier = [name for name in candidates if name in before]
        if (earlier and link and self.chance(0.8)) or (candidates and self.chance(0.1)):
            name = self.rng.choice(earlier or candidates)
            if fits(type_name, self.bound[name]):
                self.bound[name] = type_name
            return name
        if type_name in FIELDS and depth < 2 and self.chance(0.6):
            return f"[{', '.join(self.pattern(part, before, link, depth + 1) for part in FIELDS[type_name])}]"
        if self.chance(0.12):
            return "_"
        if self.chance(0.03):
            return self.constant(type_name)
        if type_name == "number" and self.known("number") and self.chance(0.03):
            return self.number(1)
        return self.fresh(type_name)

    def constant(self, type_name: str) -> str:
        return show(random_value(self.rng, type_name), type_name)

    def negation(self) -> list[str]:
        relation = self.rng.choice([each for each in self.schema if self.below(each)])
        return [f"!{atom(relation.name, [self.given(name, wildcard=0.25) for name in relation.types])}"]

    def given(self, type_name: str, wildcard: float) -> str:
        """An argument that binds nothing."""
        candidates = self.joinable(type_name)
        if self.chance(wildcard):
            return "_"
        if type_name == "number" and self.chance(0.03):
            return f"count : {{ {self.counted()} }}"
        if candidates and self.chance(0.85):
            name = self.rng.choice(candidates)
            return name if fits(self.bound[name], type_name) else f"as({name}, {type_name})"
        if type_name in FIELDS and self.chance(0.6):
            return f"[{', '.join(self.given(part, wildcard) for part in FIELDS[type_name])}]"
        return self.constant(type_name)

    # --- tests

    def comparison(self) -> list[str]:
        if not self.bound:
            return []
        name = self.rng.choice(list(self.bound))
        kind = kind_of(self.bound[name])
        operators = ("=", "!=", "!=") if kind in FIELDS else ("<", "<=", ">", ">=", "!=", "!=", "!=")
        other = self.expression(kind)
        return [f"{name} {self.rng.choice(operators)} {other}"]

    def symbol_test(self) -> list[str]:
        symbols = self.known("symbol")
        if not symbols:
            return []
        subject = self.rng.choice(symbols)
        negated = "!" if self.chance(0.4) else ""
        if self.chance(0.5):
            return [f'{negated}match("{self.rng.choice(PATTERNS)}", {subject})']
        if self.chance(0.5):
            return [f"{negated}contains({self.given('symbol', 0)}, {subject})"]
        return [f"{negated}{self.rng.choice(('starts_with', 'ends_with'))}({subject}, {self.given('symbol', 0)})"]

    def disjunction(self) -> list[str]:
        """Alternatives that test, or that all bind one new variable."""
        count = self.rng.choice((2, 2, 3))
        if self.chance(0.5):
            tests = [self.comparison() or ["true"] for _ in range(count)]
            if self.chance(0.4):
                tests.append(self.negation())
            return [f"({' ; '.join(', '.join(test) for test in tests)})"]
        before = dict(self.bound)
        name = self.fresh("number")
        sources = [each for each in self.schema if self.below(each) and "number" in each.types]
        alternatives = []
        for _ in range(count):
            if sources and self.chance(0.6):
                relation = self.rng.choice(sources)
                position = relation.types.index("number")
                args = ["_"] * len(relation.types)
                args[position] = name
                alternatives.append(atom(relation.name, args))
            else:
                after, self.bound = self.bound, before
                value = self.bounded("number")
                alternatives.append(f"{name} = as({value}, number)" if value in before else f"{name} = {value}")
                self.bound = after
        return [f"({' ; '.join(alternatives)})"]

    # --- computed values

    def assignment(self) -> list[str]:
        """A new variable for a computed value, on either side of the equation."""
        kind = self.rng.choices(("number", "symbol", "unsigned", "float"), (6, 2, 1, 1))[0]
        if not any(self.known(each) for each in ("number", "symbol", "unsigned", "float")):
            return []
        if kind == "number" and self.recursive and self.known("number"):
            value = f"{self.rng.choice(self.known('number'))} {self.rng.choice('+-')} 1"
            name = self.fresh(kind)
            return [f"{name} = {value}", f"{name} < 6", f"{name} > -4"]
        value = self.bounded(kind)
        name = self.fresh(self.bound.get(value, kind))
        return [f"{name} = {value}" if self.chance(0.8) else f"{value} = {name}"]

    def record_literal(self) -> list[str]:
        """A record taken apart, or put together and given a name."""
        records = [name for name, type_name in self.bound.items() if type_name in FIELDS]
        if records and self.chance(0.7):
            name = self.rng.choice(records)
            parts = ", ".join(self.pattern(part, set(), depth=2) for part in FIELDS[self.bound[name]])
            return [f"{name} = [{parts}]"]
        return []

    def interval(self) -> list[str]:
        kind = self.rng.choice(("number", "number", "unsigned", "float"))
        if kind == "number" and self.known("number"):
            bounds = [f"{self.rng.choice(self.known('number'))} % 4", str(self.rng.randint(-3, 5))]
            self.rng.shuffle(bounds)
        else:
            bounds = [show(self.rng.randint(0, 5), kind), show(self.rng.randint(0, 5), kind)]
        if self.chance(0.3):
            bounds.append({"number": "-2", "unsigned": "2", "float": "0.75"}[kind])
        return [f"{self.fresh(kind)} = range({', '.join(bounds)})"]

    def bounded(self, kind: str) -> str:
        """An expression that takes few values where the rule reads its own level."""
        text = self.expression(kind)
        if not self.recursive:
            return text
        match kind:
            case "number" | "unsigned":
                return f"({text}) % 3"
            case "symbol":
                return f"substr({text}, 0, 1)"
            case "float":
                return f"itof({self.bounded('number')})"
            case _:
                return text

    def expression(self, kind: str, depth: int = 2) -> str:
        """A term of a kind over the bound variables, or a constant."""
        if kind in FIELDS:
            known = self.known(kind)
            if known and self.chance(0.8):
                return self.rng.choice(known)
            if kind == "List" and self.recursive:
                return "nil"
            return f"[{', '.join(self.bounded(part) for part in FIELDS[kind])}]" if self.chance(0.85) else "nil"
        makers = {"number": self.number, "unsigned": self.unsigned, "float": self.float, "symbol": self.symbol}
        return makers[kind](depth)

    def leaf(self, kind: str) -> str:
        known = self.known(kind)
        return self.rng.choice(known) if known and self.chance(0.8) else self.constant(kind)

    def number(self, depth: int) -> str:
        if depth == 0 or self.chance(0.3):
            return self.leaf("number")
        a, b = self.number(depth - 1), self.number(depth - 1)
        small = self.rng.randint(1, 4)
        forms = [
            *(f"{a} {op} {b}" for op in ("+", "-", "*", "/", "%", "band", "bor", "bxor", "land", "lor", "lxor")),
            *(f"({a}) {op} {small}" for op in ("+", "-", "*", "bshl", "bshr", "bshru", "%", "/", "^")),
            *(f"{op}({a})" for op in ("-", "bnot", "lnot")),
            f"min({a}, {b})",
            f"max({a}, {b})",
            *(f"{function}({self.leaf('symbol')})" for function in ("strlen", "ord", "to_number")),
            *(f"{name}({self.leaf('symbol')}, {self.leaf('symbol')})" for name in ("index_of", "positions")),
            *(f"ftoi({name})" for name in self.known("float")),
            *(f"utoi({name})" for name in self.known("unsigned")),
            *(f"as({name}, number)" for kind in ("unsigned", "float") for name in self.known(kind)),
        ]
        return f"({self.rng.choice(forms)})"

    def unsigned(self, depth: int) -> str:
        if depth == 0 or self.chance(0.3):
            return self.leaf("unsigned")
        known = self.known("unsigned")
        if not known:
            inner = self.number(depth - 1)
            return self.rng.choice([f"itou({inner})", f"to_unsigned({inner})", f"as({inner}, unsigned)"])
        a, b = self.rng.choice(known), self.unsigned(depth - 1)
        operators = ("+", "-", "*", "/", "%", "band", "bor", "bxor", "bshl", "bshr", "lor")
        return self.rng.choice([f"({a} {self.rng.choice(operators)} {b})", f"max({a}, {b})", f"bnot({a})"])

    def float(self, depth: int) -> str:
        if depth == 0 or self.chance(0.3):
            return self.leaf("float")
        known = self.known("float")
        if not known:
            inner = self.number(depth - 1)
            return self.rng.choice([f"itof({inner})", f"to_float({inner})"])
        a, b = self.rng.choice(known), self.float(depth - 1)
        forms = [*(f"({a} {op} {b})" for op in "+-*/"), f"min({a}, {b})", f"-({a})", f"({a}) ^ 2.0"]
        return self.rng.choice(forms)

    def symbol(self, depth: int) -> str:
        if depth == 0 or self.chance(0.4):
            return self.leaf("symbol")
        numbers = self.known("number")
        forms = [
            f"cat({self.symbol(depth - 1)}, {self.leaf('symbol')})",
            f"substr({self.symbol(depth - 1)}, {self.rng.randint(-1, 2)}, {self.rng.randint(0, 2)})",
            f"{self.rng.choice(('lower', 'upper', 'trim'))}({self.leaf('symbol')})",
            f'replace({self.leaf("symbol")}, "a", "b")',
            f"split({self.leaf('symbol')}, {self.leaf('symbol')}{self.rng.choice(('', ', 0', ', 1'))})",
            f'groups("{self.rng.choice(PATTERNS)}", {self.leaf("symbol")}{self.rng.choice(("", ", 0"))})',
            *(f"to_string({name})" for name in numbers),
            *(f"to_string({name})" for name in self.known("float")),
        ]
        return self.rng.choice(forms)

    # --- aggregates

    def aggregate_literal(self) -> list[str]:
        """A new variable for an aggregate, or a test of one."""
        text, kind = self.aggregate(depth=1)
        if kind == "number" and self.chance(0.3):
            return [f"{self.leaf('number')} {self.rng.choice(('<', '>=', '!='))} {text}"]
        return [f"{self.fresh(kind)} = {text}"]

    def aggregate(self, depth: int) -> tuple[str, str]:
        """An aggregate over a body of its own, grouped by some of the bound variables; and the kind of its value."""
        inner = RuleMaker(self.rng, self.schema, self.target, self.recursive, prefix="w" * (3 - depth))
        shared = [name for name in self.bound if self.chance(0.5)]
        inner.bound = {name: self.bound[name] for name in shared}
        lower = [each for each in self.schema if self.below(each)]
        body = [inner.positive_atom(lower)]
        if self.chance(0.3):
            body.append(inner.positive_atom(lower))
        if self.chance(0.25):
            body += inner.comparison()
        if self.chance(0.08):
            body += inner.path_literal()
        if self.chance(0.15):
            body += inner.negation()
        if depth and self.chance(0.12):
            body += inner.nested(depth)
        if self.chance(0.10):
            body += inner.disjunction()
        if self.chance(0.06):
            body += inner.interval()
        local = {name: type_name for name, type_name in inner.bound.items() if name not in shared}
        self.bound |= {name: inner.bound[name] for name in shared}
        self.rng.shuffle(body)
        text = ", ".join(body)
        numeric = [name for name, type_name in local.items() if kind_of(type_name) in ("number", "unsigned", "float")]
        if not numeric or self.chance(0.35):
            return f"count : {{ {text} }}", "number"
        target = self.rng.choice(numeric)
        kind = kind_of(local[target])
        if self.chance(0.3):
            value = self.rng.choice([name for name, type_name in local.items() if kind_of(type_name) in ORDERED])
            form, kind = self.rng.choice(
                [(f"any {value}", kind_of(local[value])), (f"collect {value}", "symbol")]
                + [(f"{op}({value}, {target})", kind_of(local[value])) for op in ("argmin", "argmax")]
            )
            return f"{form} : {{ {text} }}", kind
        op = self.rng.choice(("sum", "sum", "min", "max", "mean", "median"))
        if kind == "number" and self.chance(0.2):
            target = f"{target} * 2 + 1"
        return f"{op} {target} : {{ {text} }}", "float" if op in ("mean", "median") else kind

    def nested(self, depth: int) -> list[str]:
        text, kind = self.aggregate(depth - 1)
        return [f"{self.fresh(kind)} = {text}"]

    # --- heads

    def head(self, relation: Relation) -> str:
        return atom(relation.name, [self.head_argument(name) for name in relation.types])

    def head_argument(self, type_name: str) -> str:
        fitting = [name for name, other in self.bound.items() if fits(other, type_name)]
        if fitting and self.chance(0.8):
            new = [name for name in fitting if name not in self.unused]
            chosen = self.rng.choice(new or fitting)
            self.unused.add(chosen)
            return chosen
        if type_name in KIND:
            computed = f"as({self.bounded(kind_of(type_name))}, {type_name})"
            return computed if self.chance(0.5) else self.constant(type_name)
        if type_name == "number" and self.chance(0.08):
            return f"count : {{ {self.counted()} }}"
        return self.bounded(type_name)

    def counted(self) -> str:
        inner = RuleMaker(self.rng, self.schema, self.target, self.recursive, prefix="z", bound=dict(self.bound))
        literal = inner.positive_atom([each for each in self.schema if self.below(each)])
        self.bound |= {name: inner.bound[name] for name in self.bound}
        return literal
