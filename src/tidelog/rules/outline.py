"""The outline of a core program for a person: boxes and arrows in the words of the user's text.

A box is a hyper-node, a relation that no rule derives, or everything auxiliary that one rule needs outside of its own
hyper-node (such a box stands in front of that hyper-node, so boxes form no cycle). What several rules may share, the
relations of paths, is a box for each hyper-node. A relation that selects, its candidates and all between them are one
box: an engine evaluates them together wherever it can. So are a closure and the rules of its base. `describe` shows it
as text, for a terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tidelog.language.problems import how_many
from tidelog.rules.closures import BASE
from tidelog.rules.core import AggregateRule, AnyRule, CoreProgram, HyperNode, head_of
from tidelog.rules.graph import rule_components
from tidelog.rules.projections import PROJECTION
from tidelog.rules.recursions import FACTS
from tidelog.rules.selections import ALL, candidates_of

_SHARED = ("#path.", "#nodes.")


@dataclass(frozen=True)
class Box:
    """`parts` are the paper's hyper-nodes inside, each as the names of the user's rules; `links` are the arrows between
    parts. `sort` is "node", "auxiliary" or "given".
    """

    sort: str
    titles: tuple[str, ...]
    rules: tuple[AnyRule, ...] = ()
    parts: tuple[tuple[str, ...], ...] = ()
    links: tuple[tuple[int, int], ...] = ()
    recursive: bool = False


@dataclass(frozen=True)
class Arrow:
    """Box `target` reads from box `source`; `negative` if it needs it complete, for a negation or an aggregate."""

    source: int
    target: int
    negative: bool


@dataclass(frozen=True)
class Outline:
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]


def outline(core: CoreProgram) -> Outline:
    """Return the boxes, relations with facts first, then in the order of evaluation, and the arrows between them."""
    members: dict[str, list[HyperNode]] = {}
    homes = _homes(core)
    for index, node in enumerate(core.nodes):
        home = next((homes[name] for name in map(_selecting_relation, node.relations) if name in homes), None)
        if home is not None:
            members.setdefault(f"node {home}", []).append(node)
            continue
        alone = all(core.relations[name].auxiliary for name in node.relations)
        part = alone and not any(name.startswith(_SHARED) for name in node.relations)
        key = f"in {node.rules[0].origin}" if part else f"path {index}" if alone else f"node {index}"
        members.setdefault(key, []).append(node)
    groups = sorted(members.items(), key=lambda item: core.nodes.index(item[1][-1]))
    derived = {name for node in core.nodes for name in node.relations}
    read = {name for node in core.nodes for rule in node.rules for name, _ in rule.reads}
    given = [name for name in core.relations if name in read - derived and not name.startswith((FACTS, ALL))]
    boxes = [Box("given", (name,)) for name in given]
    boxes += [_box("node" if key.startswith("node ") else "auxiliary", nodes, core) for key, nodes in groups]
    return Outline(tuple(boxes), tuple(_arrows(boxes)))


def _homes(core: CoreProgram) -> dict[str, int]:
    """Return the position of the hyper-node in whose box others belong, for each relation that selects, where rules
    derive candidates, and for each closure whose base has a hyper-node of its own."""
    places = {name: index for index, node in enumerate(core.nodes) for name in node.relations}
    homes = {name: places[each] for name in core.candidates for each in [candidates_of(name)] if each in places}
    return homes | {name: index for name, index in places.items() if f"{BASE}{name}" in places}


def _selecting_relation(name: str) -> str:
    """Return the relation that selects, or the closure, for which an auxiliary relation is there, other relations as
    they are."""
    sort, _, rest = name[1:].partition(".")
    if name.startswith(BASE):
        return rest
    if not name.startswith("#") or sort not in _SELECTING:
        return name
    return rest.rpartition(".")[0] if sort in ("best", "ranked") else rest


def is_written(rule: AnyRule) -> bool:
    """Return True if a rule is one of the user, not one that prepares others."""
    return not (rule.name.startswith("#") or rule.name.endswith("#"))


def _box(sort: str, nodes: Sequence[HyperNode], core: CoreProgram) -> Box:
    rules = tuple(rule for node in nodes for rule in node.rules)
    names = [name for node in nodes for name in node.relations]
    if sort == "auxiliary":
        titles = tuple(label(name, rules) for name in names if not name.startswith(("#outer.", "#inner.")))
        return Box(sort, titles, rules)
    titles = tuple(name for name in names if not core.relations[name].auxiliary)
    components = rule_components(tuple(filter(is_written, rules)) or rules)
    links = _links(components)
    parts = tuple(tuple(dict.fromkeys(rule.origin for rule in component)) for component in components)
    return Box(sort, titles, rules, parts, links, any(node.recursive for node in nodes))


def _links(components: Sequence[Sequence[AnyRule]]) -> tuple[tuple[int, int], ...]:
    """Return the arrows between the parts of a box; parts that read each other are one part, so they form no cycle."""
    heads = [{head_of(rule) for rule in component} for component in components]
    reads = [{name for rule in component for name, _ in rule.reads} for component in components]
    return tuple(
        (source, target)
        for target, needed in enumerate(reads)
        for source, derived in enumerate(heads)
        if source != target and derived & needed
    )


def _arrows(boxes: Sequence[Box]) -> Iterable[Arrow]:
    owner: dict[str, int] = {}
    for index, box in enumerate(boxes):
        owner.update(dict.fromkeys((head_of(rule) for rule in box.rules), index))
        if box.sort == "given":
            owner[box.titles[0]] = index
    for target, box in enumerate(boxes):
        found: dict[int, bool] = {}
        for rule in box.rules:
            aggregated = head_of(rule).startswith("#inner.")
            for name, negative in rule.reads:
                if owner.get(name, target) != target:
                    found[owner[name]] = found.get(owner[name], False) or negative or aggregated
        yield from (Arrow(source, target, negative) for source, negative in found.items())


_SELECTING = {
    "all": "candidates of",
    "keys": "keys of",
    "ranked": "costs of",
    "best": "best of",
    "beats": "comparison of",
    "beaten": "dominated in",
}
"""The words for auxiliary relations of a relation that selects."""


def label(name: str, rules: Sequence[AnyRule]) -> str:
    """Return an auxiliary relation in words, by the rules of its box, and other relations by their names."""
    if not name.startswith("#"):
        return name
    if name.startswith(PROJECTION) and "(" not in name:  # A digest stands for a body of several atoms.
        read = dict.fromkeys(body for rule in rules if head_of(rule) == name for body, _ in rule.reads)
        return f"columns of {', '.join(label(each, rules) for each in read)}"
    sort, _, rest = name[1:].partition(".")
    if name.startswith(_SHARED):
        return f"path {rest}" if sort == "path" else f"nodes of type {rest}"
    origin, _, last = rest.rpartition(".")
    op = last.rstrip("0123456789")
    words = {
        "aggregate": op,
        "outer": f"groups of {op}",
        "inner": f"rows of {op}",
        "either": "alternatives",
        "matching": "pattern",
        "substitution": "substitutions",
        "counter": "numbers",
    }
    if sort == "projection":
        return f"columns of {label(rest.partition('(')[0], rules)}" if rest.startswith("#") else rest
    if sort in ("demand", "facts", "values"):
        return f"{sort} of {rest}"
    if sort in _SELECTING:
        return f"{_SELECTING[sort]} {_selecting_relation(name)}"
    return f"{words[sort]} in {origin}"


def rule_source(rule: AnyRule) -> str:
    """Return the rule as the user wrote it, with its name."""
    if rule.span is None or not is_written(rule):
        return str(rule)
    text = " ".join(rule.span.text.split())
    return text if text.startswith(f"{rule.origin}:") else f"{rule.origin}: {text}"


# --- as text ----------------------------------------------------------------------------------------------------------


def describe(core: CoreProgram) -> str:
    """Return the hyper-nodes in the order of evaluation, with their rules and the relations that they read."""
    nodes = [box for box in outline(core).boxes if box.sort == "node"]
    by_head: dict[str, list[AnyRule]] = {}
    for node in core.nodes:
        for rule in node.rules:
            by_head.setdefault(head_of(rule), []).append(rule)
    origins = {rule.origin for rules in by_head.values() for rule in rules}
    parts = sum(len(box.parts) for box in nodes)
    counts = how_many(len(origins), "rule"), how_many(len(nodes), "hyper-node"), how_many(parts, "component")
    lines = [f"{counts[0]}, {counts[1]}, {counts[2]} of single rules"]
    for number, box in enumerate(nodes, 1):
        lines += ["", f"{number:>3}  {', '.join(box.titles)}{'  (recursive)' if box.recursive else ''}"]
        lines += [f"       {text}" for text in dict.fromkeys(map(rule_source, _written_rules(box)))]
        rules = [rule for rule in box.rules if not rule.name.endswith("#")] or box.rules
        reads = dict.fromkeys(_reads(rules, by_head, frozenset(box.titles)))
        lines += [f"       reads {', '.join(reads)}"] if reads else []
    return "\n".join(lines)


def _written_rules(box: Box) -> list[AnyRule]:
    return [rule for rule in box.rules if is_written(rule)]


def _reads(
    rules: Sequence[AnyRule], by_head: Mapping[str, Sequence[AnyRule]], known: frozenset[str], label: str = ""
) -> Iterator[str]:
    """Return the user's relations that the rules read, through auxiliary ones, except those of the box itself."""
    for rule in rules:
        for name, negative in rule.reads:
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
