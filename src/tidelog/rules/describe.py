"""The rule graph as text, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tidelog.rules.core import AggregateRule, CoreProgram
from tidelog.rules.edges import AnyRule, body_of, head_of
from tidelog.rules.outline import Box, is_written, outline, rule_source


def describe(core: CoreProgram) -> str:
    """Return the hyper-nodes in the order of evaluation, with their rules and the relations that they read."""
    nodes = [box for box in outline(core).boxes if box.sort == "node"]
    by_head: dict[str, list[AnyRule]] = {}
    for node in core.nodes:
        for rule in node.rules:
            by_head.setdefault(head_of(rule), []).append(rule)
    origins = {rule.origin for rules in by_head.values() for rule in rules}
    parts = sum(len(box.parts) for box in nodes)
    counts = _count(len(origins), "rule"), _count(len(nodes), "hyper-node"), _count(parts, "component")
    lines = [f"{counts[0]}, {counts[1]}, {counts[2]} of single rules"]
    for number, box in enumerate(nodes, 1):
        lines += ["", f"{number:>3}  {', '.join(box.titles)}{'  (recursive)' if box.recursive else ''}"]
        lines += [f"       {text}" for text in dict.fromkeys(map(rule_source, _own(box)))]
        rules = [rule for rule in box.rules if not rule.name.endswith("#")] or box.rules
        reads = dict.fromkeys(_reads(rules, by_head, frozenset(box.titles)))
        lines += [f"       reads {', '.join(reads)}"] if reads else []
    return "\n".join(lines)


def _own(box: Box) -> list[AnyRule]:
    return [rule for rule in box.rules if is_written(rule)]


def _reads(
    rules: Sequence[AnyRule], by_head: Mapping[str, Sequence[AnyRule]], known: frozenset[str], label: str = ""
) -> Iterator[str]:
    """Return the user's relations that the rules read, through auxiliary ones, except those of the box itself."""
    for rule in rules:
        for name, negative in body_of(rule):
            if not name.startswith("#"):
                if name not in known:
                    yield f"{label}{'not ' if negative else ''}{name}"
            elif name not in known and not (isinstance(rule, AggregateRule) and name == rule.outer):
                if isinstance(rule, AggregateRule):
                    inner = f"{rule.word} of "
                elif name.startswith("#outer."):
                    inner = ""
                else:
                    inner = f"{label}{'not ' if negative else ''}"
                yield from _reads(by_head.get(name, ()), by_head, known | {name}, inner)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
