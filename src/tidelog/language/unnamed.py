"""Aggregates whose value nobody wants: `_ = min c : { price(x, c) }` asks if there is a value, and binds witnesses.

The value gets a name, as if the rule had one: `value_1 = min c : { price(x, c) }`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import count

from tidelog.language.syntax import Aggregate, Anonymous, Comparison, Disjunction, Literal, Rule, Term, Variable
from tidelog.language.trees import outermost, rebuild, rebuild_atom, rebuild_term, variables, whole


def with_values(rule: Rule) -> tuple[Rule, dict[str, str]]:
    """Return the rule with variables for the unnamed values of aggregates, and for each new name the text `_`."""
    nodes = whole(rule)
    if next(outermost(nodes), None) is None:
        return rule, {}
    work = _Naming({*variables(nodes)})
    heads = tuple(rebuild_atom(head, work.aggregate) for head in rule.heads)
    body = tuple(map(work.literal, rule.body))
    return (replace(rule, heads=heads, body=body), work.written) if work.written else (rule, {})


@dataclass
class _Naming:
    """The rewriting of one rule, in which names are `taken`."""

    taken: set[str]
    written: dict[str, str] = field(default_factory=dict)

    def literal(self, literal: Literal) -> Literal:
        match literal:
            case Comparison(op="=", left=Anonymous() as left, right=Aggregate()):
                return rebuild(replace(literal, left=self.named(left)), self.aggregate)
            case Comparison(op="=", left=Aggregate(), right=Anonymous() as right):
                return rebuild(replace(literal, right=self.named(right)), self.aggregate)
            case Disjunction(alternatives=alternatives):
                return replace(literal, alternatives=tuple(tuple(map(self.literal, each)) for each in alternatives))
        return rebuild(literal, self.aggregate)

    def aggregate(self, term: Term) -> Term | None:
        """Return an aggregate with named values in its body; None for other terms."""
        if not isinstance(term, Aggregate):
            return None
        target = term.target and rebuild_term(term.target, self.aggregate)
        return replace(term, target=target, body=tuple(map(self.literal, term.body)))

    def named(self, unnamed: Anonymous) -> Variable:
        name = next(name for name in (f"value_{number}" for number in count(1)) if name not in self.taken)
        self.taken.add(name)
        self.written[name] = "_"
        return Variable(name, span=unnamed.span)
