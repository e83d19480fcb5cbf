"""Relations that select, in the core language.

A relation `d` with a selection becomes two: its rules derive the *candidates* `#all.d`, of which `d` shows the best.
Rules of its own recursion read the candidates, all others read `d`. For `.decl d(x: symbol, c: number) min(c)`

    d(y, c + w) :- d(x, c), e(x, y, w).    becomes    #all.d(y, c + w) :- #all.d(x, c), e(x, y, w).
                                                      #keys.d(x) :- #all.d(x, c).
                                                      #best.d(x, c): the least c of #all.d for each x of #keys.d
                                                      d(x, c) :- #best.d(x, c).

Of several orders each takes an aggregate, within the best of those before it. Fronts and subsumption rules take

    #beats.d(x, b, x2, a) :- #all.d(x, b), #all.d(x2, a), …      (x2, a) dominates (x, b)
    #beaten.d(x, b) :- #beats.d(x, b, x2, a), !#beats.d(x2, a, x, b).
    d(x, c) :- #all.d(x, c), !#beaten.d(x, c).

So these views are maintained, certified and distributed like all others. Facts asserted for `d` are candidates.

The conditions of subsumption rules belong to the recursion of their relation: what they read may depend on it, and then
reads candidates, too (`recursions_of`). A path over relations that select, within their recursion, is a relation of its
own, `#all.#path.d+`: outside of it, the same path leads along shown tuples.

No rules express a choice, and its own recursion reads what it shows. `d(x, y) :- #all.d(x, y)` only says what it is
shown of: the hyper-node that takes the place of this rule chooses (`with_dropping`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from tidelog.language.paths import readings
from tidelog.language.selections import Selection
from tidelog.language.syntax import (
    Anonymous,
    Atom,
    Column,
    Comparison,
    Kind,
    Literal,
    RelationType,
    Rule,
    Term,
    Variable,
)
from tidelog.language.trees import rename, variables, walk, whole
from tidelog.rules.core import (
    AggregateRule,
    AnyRule,
    CoreAtom,
    CoreComparison,
    CoreRule,
    CoreValue,
    CoreVariable,
    HyperNode,
    NodeSelection,
    Obstacle,
    RelationInfo,
    head_of,
)
from tidelog.rules.graph import components, node_reads
from tidelog.rules.monotone import obstacle
from tidelog.rules.paths import PATH
from tidelog.rules.projections import Orders

ALL = "#all."
"""How the names of the relations of candidates begin."""
KEYS, BEST, RANKED, BEATS, BEATEN = "#keys.", "#best.", "#ranked.", "#beats.", "#beaten."


def candidates_of(name: str) -> str:
    """Return the relation of the candidates of a relation."""
    return f"{ALL}{name}"


def recursions_of(
    nodes: Sequence[HyperNode], selections: Mapping[str, Selection]
) -> tuple[dict[str, frozenset[str]], frozenset[str]]:
    """Return for each relation those of its recursion, and the relations that select in recursions which only
    conditions of subsumption rules make.

    `nodes` are the hyper-nodes of the rules as written. A condition belongs to the recursion of its relation, unless a
    relation that it reads negates or aggregates what depends on that: such a program has no strata.
    """
    own: dict[str, frozenset[str]] = {}
    for node in nodes:
        own |= dict.fromkeys(node.relations, frozenset(node.relations))
    compared = {name: _condition_reads(selection) - {name} for name, selection in selections.items()}
    if not any(compared.values()):
        return own, frozenset()
    facts_only = [HyperNode((name,), (), False) for name in selections if name not in own]
    every = (*nodes, *facts_only)
    owner = {name: index for index, node in enumerate(every) for name in node.relations}
    successors = dict(enumerate(node_reads(every)))
    for name, names in compared.items():
        successors[owner[name]] |= {owner[each] for each in names if each in owner}
    joined: set[str] = set()
    for group in components(successors):
        parts = [every[index] for index in group]
        members = frozenset(name for node in parts for name in node.relations)
        reads = (read for node in parts for rule in node.rules for read in rule.reads)
        if len(parts) > 1 and not any(negated and name in members for name, negated in reads):
            own |= dict.fromkeys(members, members)
            joined |= members & selections.keys()
    return own, frozenset(joined)


def _condition_reads(selection: Selection) -> set[str]:
    """Return the relations that conditions of subsumption rules read."""
    rules = selection.rules if selection.form == "dominance" else ()
    atoms = [node for rule in rules for node in walk(rule.body) if isinstance(node, Atom)]
    return {each.relation for atom in atoms for each in readings(atom)}


def with_selections(
    rules: Sequence[AnyRule],
    own: Mapping[str, frozenset[str]],
    selections: Mapping[str, Selection],
    relations: dict[str, RelationInfo],
    known: Mapping[int, tuple[AnyRule, frozenset[str], AnyRule]],
) -> tuple[list[AnyRule], dict[int, tuple[AnyRule, frozenset[str], AnyRule]]]:
    """Return the rules with candidates and views of them, and what of them is `known` from now on, by the identity of a
    rule: the rule, the relations that it derives or reads by another name, and what has become of it. `own` are the
    recursions of the relations; `relations` gets the relations that are added."""
    paths = _separate_paths(rules, own, selections)
    named = selections.keys() | paths
    apart = {group: group & named for group in dict.fromkeys(own.values())}
    made: list[AnyRule] = []
    now: dict[int, tuple[AnyRule, frozenset[str], AnyRule]] = {}
    origins: dict[str, AnyRule] = {}
    for rule in rules:
        head = head_of(rule)
        if head in selections:
            origins.setdefault(head, rule)
        seen = apart[own[head]]
        entry = known.get(id(rule))
        if entry is None or entry[1] != seen:
            chosen = frozenset(name for name in seen & selections.keys() if selections[name].form == "choice")
            entry = (
                rule,
                seen,
                _rename_to_candidates(rule, seen, chosen) if isinstance(rule, CoreRule) and seen else rule,
            )
        now[id(rule)] = entry
        made.append(entry[2])
        if head in paths:
            made.append(rule)
    for name in paths:
        relations[candidates_of(name)] = replace(relations[name], name=candidates_of(name))
    for name, selection in selections.items():
        info = relations[name]
        relations[candidates_of(name)] = replace(info, name=candidates_of(name), auxiliary=True)
        made += _views(info, selection, origins.get(name), relations)
    return made, now


def _separate_paths(
    rules: Sequence[AnyRule], own: Mapping[str, frozenset[str]], selections: Mapping[str, Selection]
) -> frozenset[str]:
    """Return the relations of paths within recursions that select which other rules read as well, or paths of those."""
    read = {name for name, selection in selections.items() if selection.form != "choice"}
    selecting = {name for name, group in own.items() if name.startswith(PATH) and not group.isdisjoint(read)}
    if not selecting:
        return frozenset()
    reads: dict[str, set[str]] = {}
    for rule in rules:
        reads.setdefault(head_of(rule), set()).update(name for name, _ in rule.reads)
    found: dict[str, None] = {}
    for head, names in reads.items():
        found |= dict.fromkeys(name for name in names & selecting if head not in own[name])
    for name in (queue := [*found]):
        further = [each for each in reads[name] & selecting if each not in found]
        found |= dict.fromkeys(further)
        queue += further
    return frozenset(found)


def _rename_to_candidates(rule: CoreRule, own: frozenset[str], chosen: frozenset[str]) -> CoreRule:
    """Return a rule that derives and reads candidates of the relations that its own recursion selects from. Those that
    it has `chosen` from it reads as they are shown."""

    def rename(atom: CoreAtom, names: frozenset[str]) -> CoreAtom:
        return replace(atom, relation=candidates_of(atom.relation)) if atom.relation in names else atom

    body = tuple(rename(each, own - chosen) if isinstance(each, CoreAtom) else each for each in rule.body)
    path = rule.head.relation in own and rule.head.relation.startswith(PATH)
    name = f"{ALL}{rule.name}" if path else rule.name  # The rule of the path outside has its name.
    return replace(rule, name=name, head=rename(rule.head, own), body=body)


# --- views of candidates ---------------------------------------------------------------------------------------------


def _views(
    info: RelationInfo, selection: Selection, origin: AnyRule | None, relations: dict[str, RelationInfo]
) -> Iterator[AnyRule]:
    """Yield the rules by which a relation shows a selection of its candidates."""
    views = _Views(info, selection, origin, relations)
    if selection.form == "best":
        yield from views.best()
    elif selection.form == "choice":
        yield views.rule(CoreAtom(info.name, views.args), views.candidate(views.args))
    else:
        yield from views.front() if selection.form == "front" else ()
        yield from views.rules_by_dominance()


class _Views:
    """The view of one relation over its candidates."""

    def __init__(
        self, info: RelationInfo, selection: Selection, origin: AnyRule | None, relations: dict[str, RelationInfo]
    ) -> None:
        self.name = info.name
        self.columns = info.columns
        self.selection = selection
        self.origin = origin.origin if origin is not None else info.name
        self.span = selection.span
        self.relations = relations
        self.args = self.variables("x")

    def variables(self, stem: str) -> tuple[CoreVariable, ...]:
        return tuple(CoreVariable(f"{stem}{i}", column.kind) for i, column in enumerate(self.columns))

    def candidate(self, args: Sequence[CoreValue]) -> CoreAtom:
        return CoreAtom(candidates_of(self.name), tuple(args))

    def declare(self, name: str, columns: Iterable[Column]) -> str:
        """Declare an auxiliary relation."""
        self.relations[name] = RelationInfo(name, tuple(columns), auxiliary=True)
        return name

    def rule(self, head: CoreAtom, *body: CoreAtom | CoreComparison, number: str = "") -> CoreRule:
        return CoreRule(f"{head.relation}{number}#", self.origin, head, body, self.span)

    # --- the best by some orders -------------------------------------------------------------------------------------

    def best(self) -> Iterator[AnyRule]:
        selection, args = self.selection, self.args
        keys = selection.keys
        asked = self.declare(f"{KEYS}{self.name}", [self.columns[i] for i in keys])
        yield self.rule(CoreAtom(asked, tuple(args[i] for i in keys)), self.candidate(args))
        ranks: list[CoreAtom] = []
        for number, (column, _) in enumerate(selection.orders):
            shape = [*(self.columns[i] for i in keys), self.columns[column]]
            values = (*(args[i] for i in keys), args[column])
            inner, head = candidates_of(self.name), self.declare(f"{BEST}{self.name}.{number}", shape)
            if values != args:
                inner = self.declare(f"{RANKED}{self.name}.{number}", shape)
                yield self.rule(CoreAtom(inner, values), self.candidate(args), *ranks)
            yield self.aggregate(head, number, inner)
            ranks.append(CoreAtom(head, values))
        yield self.rule(CoreAtom(self.name, args), *ranks)

    def aggregate(self, head: str, number: int, inner: str) -> AggregateRule:
        """Return the rule of the best values in one order."""
        selection = self.selection
        column, op = selection.orders[number]
        op = "max" if op == "max" else "min"
        kind, groups, outer = self.columns[column].kind, len(selection.keys), f"{KEYS}{self.name}"
        return AggregateRule(f"{head}#", self.origin, head, op, kind, groups, inner, outer, span=self.span)

    # --- the undominated ---------------------------------------------------------------------------------------------

    def front(self) -> Iterator[CoreRule]:
        """Yield the rules for pairs of candidates of which the second is at least as good in all orders, and better in
        one."""
        others = self.variables("y")
        orders = dict(self.selection.orders)
        better = tuple(
            other if i in orders else arg for i, (arg, other) in enumerate(zip(self.args, others, strict=True))
        )
        for strict in orders:
            compared = [
                CoreComparison(_sign(op, strict=i == strict), self.columns[i].kind, better[i], self.args[i])
                for i, op in orders.items()
            ]
            head = CoreAtom(self.beats(), (*self.args, *better))
            yield self.rule(head, self.candidate(self.args), self.candidate(better), *compared, number=f".{strict}")

    def beats(self) -> str:
        return self.declare(f"{BEATS}{self.name}", (*self.columns, *self.columns))

    def rules_by_dominance(self) -> Iterator[CoreRule]:
        """Yield the rules of the view, by pairs of candidates of which the second dominates the first."""
        args, others, beats = self.args, self.variables("y"), self.beats()
        beaten = self.declare(f"{BEATEN}{self.name}", self.columns)
        both, turned = CoreAtom(beats, (*args, *others)), CoreAtom(beats, (*others, *args), negated=True)
        yield self.rule(CoreAtom(beaten, args), both, turned)
        yield self.rule(CoreAtom(self.name, args), self.candidate(args), CoreAtom(beaten, args, negated=True))


def _sign(op: str, *, strict: bool) -> str:
    return ("<" if op == "min" else ">") + ("" if strict else "=")


# --- without dominated tuples ----------------------------------------------------------------------------------------

_MOST_KEYS = 8
"""Columns by which engines look tuples up."""


def with_dropping(
    nodes: Sequence[HyperNode],
    selections: Mapping[str, Selection],
    relations: Mapping[str, RelationInfo],
    joined: Collection[str],
) -> tuple[tuple[HyperNode, ...], dict[str, Obstacle]]:
    """Return hyper-nodes that read selected tuples only, for those of `nodes` that choose or whose rules are monotone,
    and for the other relations that select the reason why they have none. Rules beside the recursion read all tuples of
    those `joined` to it."""
    by_candidates = {candidates_of(name): selection for name, selection in selections.items()}
    owner = {name: node for node in nodes for name in node.relations}
    made: list[HyperNode] = []
    reasons: dict[str, Obstacle] = {}
    for name, selection in by_candidates.items():
        if selection.form == "choice" and name not in owner:  # It has facts only.
            made.append(_build_choosing_node([owner[selection.relation]], [selection], relations))
    for node in dict.fromkeys(owner[name] for name in by_candidates if name in owner):
        own = {name: by_candidates[name] for name in node.relations if name in by_candidates}
        chosen = {name: selection for name, selection in own.items() if selection.form == "choice"}
        if chosen:
            parts = dict.fromkeys([node, *(owner[selection.relation] for selection in chosen.values())])
            made.append(_build_choosing_node(list(parts), list(chosen.values()), relations))
        reason = _choice(chosen.values()) if chosen else _obstacle(node, own, joined, relations)
        if reason is None:
            made.append(_build_dropping_node(node, own, owner, relations))
        else:
            names = (selection.relation for name, selection in own.items() if name not in chosen)
            if not chosen and _can_drop(own.values()) and all(isinstance(rule, CoreRule) for rule in node.rules):
                reason = replace(reason, dropping=_build_dropping_node(node, own, owner, relations))
            reasons |= dict.fromkeys(names, reason)
    return tuple(made), reasons


def dropping_orders(
    nodes: Iterable[HyperNode],
    selections: Mapping[str, Selection],
    relations: Mapping[str, RelationInfo],
    joined: Collection[str],
) -> Orders:
    """Return the relations of candidates whose recursion need not read dominated tuples, with the columns by which they
    select."""
    by_candidates = {candidates_of(name): selection for name, selection in selections.items()}
    found: dict[str, Selection] = {}
    for node in nodes if selections else ():
        own = {name: by_candidates[name] for name in node.relations if name in by_candidates}
        if own and node.recursive and _obstacle(node, own, joined, relations) is None:
            found |= own
    return frozenset((name, tuple(column for column, _ in each.orders)) for name, each in found.items())


def _choice(chosen: Iterable[Selection]) -> Obstacle:
    return Obstacle("its recursion chooses", "choose in a relation outside of the recursion", next(iter(chosen)).span)


def _can_drop(selections: Iterable[Selection]) -> bool:
    """Return True if engines know how to drop what these do not show."""
    return all(each.form == "best" and 0 < len(each.keys) <= _MOST_KEYS for each in selections)


def _obstacle(
    node: HyperNode,
    own: Mapping[str, Selection],
    joined: Collection[str],
    relations: Mapping[str, RelationInfo],
) -> Obstacle | None:
    for selection in own.values():
        if selection.relation in joined and selection.form != "dominance":
            hint = "compare by relations that do not depend on what they select"
            return Obstacle("a subsumption rule compares by its tuples", hint, selection.span)
        if selection.form not in ("best", "front"):
            hint = "compare by one `<=` or `>=` for each attribute in which the tuples differ"
            return Obstacle(f"{selection.title} compares by conditions", hint, selection.span)
        if not selection.keys:
            return Obstacle("it has no key", "add an attribute for a key", selection.span)
        if len(selection.keys) > _MOST_KEYS:
            hint = "put attributes of the key into a record"
            return Obstacle(f"its key has more than {_MOST_KEYS} attributes", hint, selection.span)
    return obstacle(node, own, relations)


def _typed_orders(selection: Selection, relations: Mapping[str, RelationInfo]) -> tuple[tuple[int, str, Kind], ...]:
    """Return the orders of a selection with the kinds of their columns."""
    columns = relations[selection.relation].columns
    return tuple((column, op, columns[column].kind) for column, op in selection.orders)


def _build_dropping_node(
    node: HyperNode,
    own: Mapping[str, Selection],
    owner: Mapping[str, HyperNode],
    relations: Mapping[str, RelationInfo],
) -> HyperNode:
    """Return a hyper-node with the views of its candidates, which its bodies read."""
    shown = {name: selection.relation for name, selection in own.items()}

    def read_views(rule: AnyRule) -> AnyRule:
        assert isinstance(rule, CoreRule)
        if shown.keys().isdisjoint(name for name, _ in rule.reads):
            return rule
        body = (
            replace(each, relation=shown.get(each.relation, each.relation)) if isinstance(each, CoreAtom) else each
            for each in rule.body
        )
        return replace(rule, body=tuple(body))

    parts = [node]
    for name in shown.values():
        prepared = [owner[each] for each in owner if _prepares(each, name)]
        parts += [*prepared, owner[name]]
    selects = tuple(
        NodeSelection(each.relation, name, each.keys, _typed_orders(each, relations), each.form == "front")
        for name, each in own.items()
    )
    rules = tuple(map(read_views, node.rules))
    return HyperNode(
        (*node.relations, *shown.values()), rules, True, selects=selects, whole=tuple(dict.fromkeys(parts))
    )


def _build_choosing_node(
    parts: Sequence[HyperNode], chosen: Sequence[Selection], relations: Mapping[str, RelationInfo]
) -> HyperNode:
    """Return the hyper-node that chooses, in the place of `parts`: those of the candidates and of what is shown."""
    shown = [selection.relation for selection in chosen]
    names = dict.fromkeys(name for part in parts for name in part.relations if name not in shown)
    candidates = [candidates_of(name) for name in shown]
    rules = tuple(rule for part in parts for rule in part.rules if head_of(rule) not in shown)
    kinds = [[column.kind for column in relations[name].columns] for name in shown]
    selects = tuple(
        NodeSelection(
            each.relation, name, (), tuple((i, "min", kind) for i, kind in enumerate(own)), domains=each.domains
        )
        for each, name, own in zip(chosen, candidates, kinds, strict=True)
    )
    return HyperNode(
        tuple(dict.fromkeys([*names, *candidates, *shown])), rules, True, selects=selects, whole=tuple(parts)
    )


def _prepares(auxiliary: str, name: str) -> bool:
    """Return True if an auxiliary relation is between the candidates and the view of a relation."""
    if auxiliary in (f"{KEYS}{name}", f"{BEATS}{name}", f"{BEATEN}{name}"):
        return True
    return auxiliary.rpartition(".")[0] in (f"{RANKED}{name}", f"{BEST}{name}")


def conditions(
    selections: Mapping[str, Selection], relations: Mapping[str, RelationType], own: Mapping[str, frozenset[str]]
) -> tuple[list[Rule], dict[str, RelationType]]:
    """Return the rules of `#beats` for subsumption rules that are no minima, maxima or fronts, with the relations that
    they read and derive. A condition reads the candidates of its own recursion, and of choices what they show; `own`
    are the recursions."""
    selecting = {name for name, selection in selections.items() if selection.form != "choice"}
    rules: list[Rule] = []
    added: dict[str, RelationType] = {}
    for selection in selections.values():
        relation = relations[selection.relation]
        inside = (selecting & own.get(relation.name, frozenset())) | {relation.name}
        for rule in selection.rules:
            beats = f"{BEATS}{relation.name}"
            added |= {each: replace(relations[name], name=each) for name in inside for each in [candidates_of(name)]}
            added[beats] = RelationType(beats, (*relation.columns, *relation.columns))
            rules.append(_condition(_with_candidates(rule, inside), relation, candidates_of(relation.name), beats))
    return rules, added


def _with_candidates(rule: Rule, own: Collection[str]) -> Rule:
    """Return the rule with candidates in place of the relations `own`."""
    return rename(rule, lambda name: candidates_of(name) if name in own else name, str, str)


def _condition(rule: Rule, relation: RelationType, candidates: str, beats: str) -> Rule:
    """Return the rule of the pairs that satisfy a subsumption rule."""
    taken = set(variables(whole(rule)))
    kinds, heads, body = dict(rule.kinds), list[Term](), list[Literal]()
    for atom in rule.heads:
        args: list[Term] = []
        for term, column in zip(atom.args, relation.columns, strict=True):
            if not isinstance(term, Variable):
                name = next(name for i in range(len(taken) + 1) if (name := f"#column{i}") not in taken)
                taken.add(name)
                kinds[name] = column.kind
                if not isinstance(term, Anonymous):
                    body.append(Comparison("=", Variable(name), term, kind=column.kind, span=term.span))
                term = Variable(name)
            args.append(term)
        heads += args
        body.insert(0, Atom(candidates, tuple(args), span=atom.span))
    return replace(
        rule, heads=(Atom(beats, tuple(heads), span=rule.span),), body=(*body, *rule.body), kinds=kinds, subsumes=False
    )
