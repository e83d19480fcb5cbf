"""Negation, aggregation and counters in recursion, found and shown as a cycle of the user's own rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tidelog.common.source import Span
from tidelog.errors import Problem, ProgramError
from tidelog.rules.core import AggregateRule, AnyRule, CoreRule, RelationInfo, head_of, variables_of


@dataclass(frozen=True)
class _Step:
    """`rule` derives `head` from `body`."""

    rule: AnyRule
    head: str
    body: str
    negative: bool


def check_strata(groups: Iterable[list[str]], rules: Sequence[AnyRule], relations: Mapping[str, RelationInfo]) -> None:
    """Raise ProgramError (E0301 to E0303, E0306) with one problem for each group of relations that has a negative edge
    inside."""
    group_of = {name: index for index, group in enumerate(groups) for name in group}
    wrong = {
        group_of[body]
        for rule in rules
        for body, negative in rule.reads
        if negative and group_of.get(body) == group_of[head_of(rule)]
    }
    if not wrong:
        return
    inside: dict[int, list[_Step]] = {}
    for rule in rules:
        head = head_of(rule)
        for body, negative in rule.reads:
            if group_of[head] == group_of.get(body) and group_of[head] in wrong:
                inside.setdefault(group_of[head], []).append(_Step(rule, head, body, negative))
    raise ProgramError(*[_problem(_links(_cycle(steps), relations)) for steps in inside.values()])


def _cycle(steps: Sequence[_Step]) -> list[_Step]:
    """Return a short cycle that begins with a negative step; one through the groups of an aggregate only if there is no
    other."""
    through_bodies = [step for step in steps if not _asks_for_groups(step)]
    for allowed in (through_bodies, steps):
        by_head: dict[str, list[_Step]] = {}
        for step in allowed:
            by_head.setdefault(step.head, []).append(step)
        returns = ((step, _path(step.body, step.head, by_head)) for step in allowed if step.negative)
        found = [[step, *path] for step, path in returns if path is not None]
        if found:
            return min(found, key=len)
    raise AssertionError("a strongly connected component has a cycle through each of its edges")


def _asks_for_groups(step: _Step) -> bool:
    return step.body.startswith("#outer.")


def _groups(link: _Link) -> str:
    """Return the variables by which the aggregate of a link groups, as a text."""
    rules = (step.rule for step in link.steps if step.head.startswith("#outer."))
    names = [arg.name for rule in rules if isinstance(rule, CoreRule) for arg in variables_of(rule.head)]
    return " and ".join(f"`{name}`" for name in dict.fromkeys(names))


def _path(start: str, end: str, by_head: Mapping[str, Sequence[_Step]]) -> list[_Step] | None:
    """Return a shortest chain of steps from `start` to `end`; empty if they are the same."""
    reached_by: dict[str, _Step | None] = {start: None}
    queue = [start]
    for name in queue:
        if name == end:
            break
        for step in by_head.get(name, ()):
            if step.body not in reached_by:
                reached_by[step.body] = step
                queue.append(step.body)
    if end not in reached_by:
        return None
    path: list[_Step] = []
    while (last := reached_by[end]) is not None:
        path.append(last)
        end = last.head
    return path[::-1]


@dataclass(frozen=True)
class _Link:
    """One or more steps in the user's terms: the rule reads `body` to derive `head`, and both relations are the user's
    own."""

    steps: tuple[_Step, ...]

    @property
    def head(self) -> str:
        return self.steps[0].head

    @property
    def body(self) -> str:
        return self.steps[-1].body

    @property
    def origin(self) -> str:
        return (self.condition or self.steps[0].rule).origin

    @property
    def condition(self) -> AnyRule | None:
        """The subsumption rule by which a relation selects."""
        return next((step.rule for step in self.steps if step.head.startswith("#beats.")), None)

    @property
    def aggregate(self) -> AggregateRule | None:
        return next((step.rule for step in self.steps if isinstance(step.rule, AggregateRule)), None)

    @property
    def negative(self) -> bool:
        return any(step.negative for step in self.steps)

    @property
    def span(self) -> Span | None:
        return (self.condition or self.aggregate or self.steps[0].rule).span

    @property
    def need(self) -> str:
        """Return what the rule reads of the relation `body`: its tuples, their absence, or an aggregate of them."""
        if self.aggregate is not None and self.aggregate.op == "autoinc":
            return f"the substitutions of {self.body}"
        if self.aggregate is not None and self.condition is None:
            return f"the {self.aggregate.word} of {self.body}"
        return f"no {self.body}" if self.negative and self.condition is None else self.body

    def __str__(self) -> str:
        return f"{self.head} {'selects by' if self.condition is not None else 'needs'} {self.need}"


def _links(steps: Sequence[_Step], relations: Mapping[str, RelationInfo]) -> list[_Link]:
    """Return the steps as links between the user's relations, a negative one first."""
    first = next(index for index, step in enumerate(steps) if not relations[step.head].auxiliary)
    links: list[_Link] = []
    part: list[_Step] = []
    for step in (*steps[first:], *steps[:first]):
        part.append(step)
        if not relations[step.body].auxiliary:
            links.append(_Link(tuple(part)))
            part = []
    negative = next(index for index, link in enumerate(links) if link.negative)
    return links[negative:] + links[:negative]


def _problem(links: Sequence[_Link]) -> Problem:
    first = links[0]
    notes = tuple((link.span, f"rule {link.origin}: {link}") for link in links[1:] if link.span is not None)
    path = " → ".join([first.head, *(link.need for link in links)])
    if first.condition is not None:
        code, what = "E0301", f"{first.head} selects by a condition that depends on what it shows"
    elif first.aggregate is None:
        code, what = "E0301", f"{first.head} depends on its own negation"
    elif first.aggregate.op == "autoinc":
        code, what = "E0306", f"the counter of {first.head} numbers substitutions that depend on {first.head}"
    elif any(_asks_for_groups(step) for step in first.steps):
        code, what = "E0303", f"an aggregate of {first.head} takes its groups from {first.body}, which depends on it"
        path = " → ".join([first.head, f"the groups of {first.body}", *(link.need for link in links[1:])])
    else:
        code, what = "E0302", f"{first.head} depends on an aggregate over itself"
    verb = "negate" if code == "E0301" else "aggregate"
    hint = f"break the cycle: {verb} only relations that do not depend on {first.head}"
    if code == "E0302" and first.aggregate is not None and first.aggregate.op in ("min", "max"):
        names = " and ".join(f"`{name}`" for name in sorted({link.head for link in links}))
        best = f"write `{first.aggregate.op}(…)` of the value behind the declarations of {names}"
        hint = f"{best}, and derive them without the aggregate; or aggregate what does not depend on {first.head}"
    if code == "E0306":
        hint = f"number the tuples of {first.head} in a rule of their own, once the recursion is complete"
    if first.condition is not None:
        hint = f"break the cycle: compare by relations that do not depend on {first.head}"
    if code == "E0303":
        hint = f"bind {_groups(first)} by an atom inside of the aggregate: the recursion itself computes new values"
    return Problem(code, f"{what}, in rule {first.origin}: {path}", first.span, notes, hint)
