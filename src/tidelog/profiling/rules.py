"""Profiles of rules, from the counts of their plans."""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.common.arrays import Words
from tidelog.kernels import layout
from tidelog.profiling.counts import CountedPlan, PlanRuns
from tidelog.profiling.profile import LevelProfile, PlanProfile, RuleProfile, merged_plans


def rules_of(runs: Iterable[PlanRuns]) -> list[RuleProfile]:
    """Return the profiles of the rules whose plans have run, from the counts of the plans."""
    found: dict[str, list[PlanProfile]] = {}
    for run in runs:
        plan = run.plan
        found.setdefault(plan.rule.origin, []).append(_plan_of(plan, run.counts))
    return [
        RuleProfile(name, sum(plan.seconds for plan in plans), merged_plans(plans), max(plan.runs for plan in plans))
        for name, plans in found.items()
    ]


def _plan_of(plan: CountedPlan, counts: Words) -> PlanProfile:
    seconds = float(counts[layout.K_SECONDS]) / 1e9
    levels = counts[layout.K_LEVELS :].reshape(-1, 4)
    spent = [_spent(level) for level in levels]
    scale = min(1.0, seconds / sum(spent)) if any(spent) else 0.0
    expected = float(levels[0][layout.K_MADE])
    profiles = []
    for i, level in enumerate(levels):
        literal = plan.literals[i]
        if i and literal is not None and plan.literals[i - 1] != literal:
            expected *= plan.fanouts.get(literal, 1.0)
        tried, made = int(level[layout.K_TRIED]), int(level[layout.K_MADE])
        profiles.append(LevelProfile(plan.text(i), tried, made, expected, spent[i] * scale))
    changed = int(counts[layout.K_BORN] + counts[layout.K_DIED])
    new = changed or int(counts[layout.K_ROWS])
    return PlanProfile(plan.start, int(counts[layout.K_RUNS]), seconds, profiles[-1].made, new, tuple(profiles))


def _spent(level: Words) -> float:
    """Return the seconds of a level as its samples have it."""
    sampled = int(level[layout.K_SAMPLED])
    if not sampled:
        return 0.0
    return float(level[layout.K_SPENT]) / sampled * float(level[layout.K_TRIED] + level[layout.K_MADE]) / 1e9
