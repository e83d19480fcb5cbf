"""Rule localization: where a rule is evaluated, which copies of the relations that it reads that takes, and its price.

A rule is evaluated at a *site*: where the word of one of its variables lives, in every partition, or in the first one.
At the site of a variable, an atom that has the variable reads the rows that lie there by that column, and every other
atom reads a copy of all rows. As in the paper on declarative networking (rule localization), prices are rows sent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tidelog.rules.core import Atom, Comparison, Computation, Pack, Rule, Unpack, Variable
from tidelog.spark.cluster.plan import Place

Site: TypeAlias = Variable | Literal["all", "one"]

_CROSSING = 5e6
"""Rows that could be sent in the time of the rounds of a recursion that crosses partitions."""
_NEW_VALUES = frozenset(("cat", "substr", "to_string"))
_LOOKING = frozenset(("strlen", "substr", "ord", "cat", "to_string"))


@dataclass(frozen=True)
class Located:
    """A rule at its site: the place of the copy that each atom of its body reads, and rows sent for these and for the
    head; `exchanged` when heads are derived elsewhere than where they live."""

    rule: Rule
    site: Site
    copies: tuple[Place | None, ...]
    exchanged: bool
    price: float


def located(
    rule: Rule,
    homes: Mapping[str, Place],
    size: Callable[[str], float],
    partitions: int,
    within: Collection[str] = (),
    alone: bool = False,
) -> Located:
    """The cheapest site of a rule of a hyper-node of the relations `within` when relations have these homes; the first
    partition if it has to be `alone`. A recursion that crosses partitions pays for its rounds."""
    sites: list[Site] = ["one"] if alone or makes_values(rule) else [*variables(rule), "all", "one"]

    def price(at: Located) -> float:
        return at.price + _CROSSING * crosses(at, homes, within)

    return min((_at(rule, site, homes, size, partitions) for site in sites), key=price)


def crosses(at: Located, homes: Mapping[str, Place], within: Collection[str]) -> bool:
    """Whether a rule of a hyper-node needs what other partitions derive in it, or derives what they need."""
    pairs = zip(at.rule.body, at.copies, strict=True)
    own = [(literal.relation, place) for literal, place in pairs if isinstance(literal, Atom)]
    own = [(name, place) for name, place in own if name in within]
    return bool(own) and (at.exchanged or any(homes[name] != place for name, place in own))


def _at(rule: Rule, site: Site, homes: Mapping[str, Place], size: Callable[[str], float], partitions: int) -> Located:
    price = 0.0
    copies: list[Place | None] = []
    for literal in rule.body:
        if not isinstance(literal, Atom):
            copies.append(None)
            continue
        home = homes[literal.relation]
        rows = size(literal.relation)
        copy, sent = _copy(literal, site, home, rows, partitions)
        copies.append(copy)
        price += sent
        if site == "one":
            price += rows * (partitions - 1) / 2  # The others have nothing to do meanwhile.
    home = homes[rule.head.relation]
    rows = size(rule.head.relation)
    everywhere = all(copy in ("all", None) for copy in copies)
    if home == "all":
        exchanged = site != "all"
        price += rows * partitions if exchanged else 0.0
    elif everywhere and site == "all":
        exchanged = False  # Each partition keeps what lives in it.
    elif home == "one":
        exchanged = site != "one"
        price += rows if exchanged else 0.0
    else:
        exchanged = site != rule.head.args[home]
        price += rows if exchanged else 0.0
    if isinstance(site, Variable) and everywhere:
        price += 0.5  # Then "all" does as well.
    return Located(rule, site, tuple(copies), exchanged, price + 1e-6 * len(copies))


def _copy(atom: Atom, site: Site, home: Place, rows: float, partitions: int) -> tuple[Place, float]:
    """The place of the copy that an atom reads, and how many rows are sent for it."""
    if home == "all":
        return "all", 0.0
    if site == "one":
        return "one", 0.0 if home == "one" else rows
    columns = [i for i, arg in enumerate(atom.args) if arg == site]
    if not columns:
        return "all", rows * partitions
    return (home, 0.0) if home in columns else (columns[0], rows)


def variables(rule: Rule) -> Iterator[Variable]:
    """The variables of the atoms that a rule has, negated ones aside."""
    atoms = [literal for literal in rule.body if isinstance(literal, Atom) and not literal.negated]
    return iter(dict.fromkeys(arg for atom in atoms for arg in atom.args if isinstance(arg, Variable)))


def makes_values(rule: Rule) -> bool:
    """Whether a rule can make symbols or records that nobody has had before, whose numbers one place has to give."""
    return any(
        isinstance(literal, Pack) or (isinstance(literal, Computation) and literal.functor in _NEW_VALUES)
        for literal in rule.body
    )


def looks_into_values(rule: Rule) -> bool:
    """Whether a rule needs the dictionary: to look at a symbol or record, or to make one."""
    for literal in rule.body:
        if isinstance(literal, (Pack, Unpack)):
            return True
        if isinstance(literal, Comparison) and literal.kind == "symbol" and literal.op not in ("=", "!="):
            return True
        if isinstance(literal, Computation) and (literal.functor in _LOOKING or literal.kind == "symbol"):
            return True
    return False
