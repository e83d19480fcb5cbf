"""Placement of rules: where a rule is evaluated, which copies of relations it reads there, and what that costs.

A rule is evaluated at a *site*: where the word of one of its variables lives, in every partition, or in the first one.
At the site of a variable, an atom that has the variable reads the rows that lie there by that column, and every other
atom reads a copy of all rows. Prices are rows sent.

A skewed key of the variable would make one partition do most of the work. `Evenly` is the site of a variable that
spreads this work: one atom with the variable reads rows that are spread for skewed keys, too, and the other atoms with
it read all rows that have skewed keys. So each derivation is at one partition and finds there all rows that it needs.
`Resident` is the site where the rows of one atom are, wherever that is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tidelog.language.functors import SIGNATURES
from tidelog.language.syntax import FunctorType
from tidelog.rules.core import (
    Computation,
    CoreAtom,
    CoreComparison,
    CoreLiteral,
    CoreRule,
    CoreVariable,
    Pack,
    Unpack,
)
from tidelog.spark.cluster.placement.plan import Follow, Placement, Spread


@dataclass(frozen=True)
class Evenly:
    """The site of `variable`, except for skewed keys, whose rows of the atom at this place of the body are spread."""

    variable: CoreVariable
    atom: int


@dataclass(frozen=True)
class Resident:
    """The site of the rows of the atom at this place of the body."""

    atom: int


Site: TypeAlias = CoreVariable | Evenly | Resident | Literal["all", "one"]

_CROSSING = 5e6
"""Rows that could be sent in the time of the rounds of a recursion that crosses partitions."""
PLAIN = frozenset(("number", "unsigned", "float"))
_NEW_VALUES = frozenset(name for name, form in SIGNATURES.items() if form.result == "symbol")
_LOOKING = frozenset(("strlen", "substr", "ord", "codepoint", "cat", "to_string"))


@dataclass(frozen=True)
class PlacementStatistics:
    """Known or guessed statistics of relations: their numbers of rows, and the share of these that the skewed keys of a
    column have."""

    partitions: int
    size: Callable[[str], float]
    share: Callable[[str, int], float]

    def uneven(self, name: str, place: Placement) -> float:
        """Return the price of placing a relation by a column that has skewed keys. It is that of having their rows
        everywhere, because the other partitions have nothing to do meanwhile."""
        return self.partitions * self.size(name) * self.share(name, place) if isinstance(place, int) else 0.0


@dataclass(frozen=True)
class PlacedRule:
    """A rule at its site: the place of the copy that each atom of its body reads, and rows sent for these and for the
    head; `exchanged` when heads are derived elsewhere than where they live."""

    rule: CoreRule
    site: Site
    copies: tuple[Placement | None, ...]
    exchanged: bool
    price: float


def placed_rule(
    rule: CoreRule,
    homes: Mapping[str, Placement],
    known: PlacementStatistics,
    within: Collection[str] = (),
    alone: bool = False,
) -> PlacedRule:
    """Return the cheapest site of a rule of a hyper-node of the relations `within` when relations have these homes; the
    first partition if it has to be `alone`. A recursion that crosses partitions pays for its rounds."""
    sites: list[Site] = ["one"]
    if not alone and not makes_values(rule):
        everywhere: list[Site] = [] if calls_functions(rule) else ["all"]
        sites = [*variables(rule), *everywhere, "one", *_even_sites(rule, homes, known)]

    def price(at: PlacedRule) -> float:
        return at.price + _CROSSING * crosses(at, homes, within)

    return min((_at(rule, site, homes, known) for site in sites), key=price)


def crosses(at: PlacedRule, homes: Mapping[str, Placement], within: Collection[str]) -> bool:
    """Return True if a rule of a hyper-node needs what other partitions derive in it, or derives what they need."""
    pairs = zip(at.rule.body, at.copies, strict=True)
    own = [(literal.relation, place) for literal, place in pairs if isinstance(literal, CoreAtom)]
    own = [(name, place) for name, place in own if name in within]
    return bool(own) and (at.exchanged or any(homes[name] != place for name, place in own))


def _even_sites(rule: CoreRule, homes: Mapping[str, Placement], known: PlacementStatistics) -> Iterator[Site]:
    """Yield the sites that keep skewed keys from making one partition do most of the work."""
    for number, atom in enumerate(rule.body):
        if not isinstance(atom, CoreAtom) or atom.negated or homes[atom.relation] == "all":
            continue
        if homes[atom.relation] == "rows":
            yield Resident(number)
        for column, arg in enumerate(atom.args):
            if isinstance(arg, CoreVariable) and atom.args.index(arg) == column and known.share(atom.relation, column):
                yield Evenly(arg, number)


def _at(rule: CoreRule, site: Site, homes: Mapping[str, Placement], known: PlacementStatistics) -> PlacedRule:
    price = 0.0
    copies: list[Placement | None] = []
    for number, literal in enumerate(rule.body):
        if not isinstance(literal, CoreAtom):
            copies.append(None)
            continue
        rows = known.size(literal.relation)
        copy, sent = _copy(literal, number, site, homes[literal.relation], known)
        copies.append(copy)
        price += sent + known.uneven(literal.relation, copy)
        if site == "one":
            price += rows * (known.partitions - 1) / 2  # The others have nothing to do meanwhile.
    home = homes[rule.head.relation]
    rows = known.size(rule.head.relation)
    everywhere = all(copy in ("all", None) for copy in copies)
    if home == "all":
        exchanged = site != "all"
        price += rows * known.partitions if exchanged else 0.0
    else:
        # Where everything is everywhere, each partition keeps what lives in it.
        kept = site == "all" and everywhere and home != "rows"
        exchanged = not kept and not _at_home(rule, site, home, homes)
        price += rows * (known.partitions if site == "all" else 1) if exchanged else 0.0
    if isinstance(site, CoreVariable) and everywhere:
        price += 0.5  # Then "all" does as well.
    return PlacedRule(rule, site, tuple(copies), exchanged, price + 1e-6 * len(copies))


def _at_home(rule: CoreRule, site: Site, home: Placement, homes: Mapping[str, Placement]) -> bool:
    """Return True if the rows that a rule derives at a site live there."""
    if isinstance(home, int):
        return site == rule.head.args[home]
    if home == "rows":
        atom = rule.body[site.atom] if isinstance(site, Resident) else None
        return isinstance(atom, CoreAtom) and homes[atom.relation] == "rows" and atom.args == rule.head.args
    return site == home


def _copy(
    atom: CoreAtom, number: int, site: Site, home: Placement, known: PlacementStatistics
) -> tuple[Placement, float]:
    """Return the place of the copy that an atom of a body reads, and how many rows are sent for it."""
    rows = known.size(atom.relation)
    if home == "all":
        return "all", 0.0
    if site == "one":
        return "one", 0.0 if home == "one" else rows
    if isinstance(site, Resident) and site.atom == number:
        return home, 0.0
    variable = site.variable if isinstance(site, Evenly) else site
    columns = [column for column, arg in enumerate(atom.args) if arg == variable]
    if not columns:
        return "all", rows * known.partitions
    if isinstance(site, Evenly):
        if site.atom == number:
            return Spread(columns[0]), rows
        return Follow(columns[0]), rows * (1 + known.share(atom.relation, columns[0]) * known.partitions)
    return (home, 0.0) if home in columns else (columns[0], rows)


def variables(rule: CoreRule) -> Iterator[CoreVariable]:
    """Return the variables of the atoms that a rule has, negated ones aside."""
    atoms = [literal for literal in rule.body if isinstance(literal, CoreAtom) and not literal.negated]
    return iter(dict.fromkeys(arg for atom in atoms for arg in atom.args if isinstance(arg, CoreVariable)))


def makes_values(rule: CoreRule) -> bool:
    """Return True if a rule can make new symbols or records, which one place has to number."""
    return any(map(_makes_value, rule.body))


def _makes_value(literal: CoreLiteral) -> bool:
    match literal:
        case Pack():
            return True
        case Computation(declared=FunctorType(result=result)):
            return result.kind not in PLAIN
        case Computation(functor=functor):
            return functor in _NEW_VALUES
    return False


def calls_functions(rule: CoreRule) -> bool:
    """Return True if a rule calls functors in Python. A partition remembers their results for the derivations that it
    makes, so no other one may make the same derivation."""
    return any(isinstance(literal, Computation) and literal.declared is not None for literal in rule.body)


def looks_into_values(rule: CoreRule) -> bool:
    """Return True if a rule needs the dictionary: to look at a symbol or record, or to make one."""
    for literal in rule.body:
        if isinstance(literal, (Pack, Unpack)):
            return True
        if isinstance(literal, CoreComparison) and literal.kind == "symbol" and literal.op not in ("=", "!="):
            return True
        if isinstance(literal, Computation) and (literal.functor in _LOOKING or literal.kind == "symbol"):
            return True
        if isinstance(literal, Computation) and literal.declared is not None:
            declared = literal.declared
            if any(column.kind not in PLAIN for column in (*declared.parameters, declared.result)):
                return True
    return False
