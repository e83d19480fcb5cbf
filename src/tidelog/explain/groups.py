"""The members of an aggregate's group: the substitutions of its body for the values around it.

They are asked for like the instances of rules. Each `_` of a tuple takes part in substitutions, so it gets a name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy

from tidelog.common.arrays import AnyWords
from tidelog.explain.instances import FlatRule, Question
from tidelog.explain.views import EngineViews
from tidelog.explain.walks import end_kinds
from tidelog.language.syntax import Aggregate, Atom, CheckedProgram, Column, Disjunction, Kind, Literal, Variable
from tidelog.language.trees import variables
from tidelog.limits.watch import Watch
from tidelog.queries.bodies import GIVEN
from tidelog.reference.substitutions import bound_by
from tidelog.rules.anonymous import named, named_term
from tidelog.rules.bench import Bench


@dataclass(frozen=True)
class MemberGroup:
    """An aggregate of a rule, asked for its members: the variables `given` from around it, those that are `shown`, and
    the tuples of its body."""

    question: Question
    given: tuple[str, ...]
    shown: tuple[str, ...]
    atoms: tuple[Atom, ...]
    kinds: Mapping[str, Kind]

    def answers(self, views: EngineViews, words: Mapping[str, int], watch: Watch) -> AnyWords:
        """Return the members, shape (n, len(shown)), for the words of variables. Raise LimitError."""
        row = numpy.array([words[name] for name in self.given], numpy.int64).reshape(1, -1)
        return self.question.answers(views, row, watch)


def group_of(aggregate: Aggregate, flat: FlatRule, checked: CheckedProgram) -> MemberGroup:
    """Return the question for the members of an aggregate of a rule."""
    bench = Bench("members", checked.relations, checked.records)
    body = _named(aggregate.body, bench)
    kinds = {**flat.kinds, **bench.kinds}
    bound = bound_by(body)
    shown = tuple(name for name in variables(body, aggregates=False) if name in bound)
    given = tuple(name for name in variables([aggregate]) if name in flat.variables)
    columns = tuple(Column(name, kinds[name], kinds[name]) for name in given)
    asked = (Atom(GIVEN, tuple(map(Variable, given))), *body)
    atoms = tuple(literal for literal in body if isinstance(literal, Atom))
    return MemberGroup(Question(asked, shown, columns, kinds, checked, flat.read), given, shown, atoms, kinds)


def _named(body: tuple[Literal, ...], bench: Bench) -> tuple[Literal, ...]:
    """Return a body with names for every `_`, in alternatives and at the ends of paths as well."""
    found: list[Literal] = []
    for literal in body:
        if isinstance(literal, Disjunction):
            found.append(replace(literal, alternatives=tuple(_named(each, bench) for each in literal.alternatives)))
        elif isinstance(literal, Atom) and literal.path is not None:
            ends = zip(literal.args, end_kinds(literal.path, bench.relations), strict=True)
            found.append(replace(literal, args=tuple(named_term(term, kind, bench) for term, kind in ends)))
        else:
            found += named((literal,), bench)
    return tuple(found)
