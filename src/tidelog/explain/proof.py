"""Proofs: steps that each follow from steps before them.

A proof prints as a tree. Each of its steps is shown once; where the tree needs it again, it says so. It is also drawn,
as a text for Graphviz or a page that opens level by level, and exported for the Lean checker of Datalog proofs
(github.com/knowsys/CertifyingDatalog), as its ordered graphs:

    {"graph": {"edges": [{"label": ATOM, "predecessors": [0, 1]}, …]},
     "program": [{"head": ATOM, "body": [ATOM, …]}, …]}
    ATOM = {"symbol": "reach", "terms": [{"constant": "1"}, {"variable": "?x"}]}

A step is an edge there, after its premises. The program has the rules that the steps use, and each fact as a rule
without a body. A walk is written with the rules of its automaton: `reach@1` has the pairs that lead to its state 1.

    reach@1(?x, ?y) :- e(?x, ?y).    reach@1(?x, ?z) :- reach@1(?x, ?y), e(?y, ?z).    reach(?x, ?y) :- reach@1(?x, ?y).

The format is that of Datalog in the narrow sense. A step that needs more, a comparison or an absent tuple, is an error.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from importlib.resources import files
from typing import Any, Literal, TypeAlias

from tidelog.errors import Problem, UsageError, quote_name, wrong_argument
from tidelog.explain.checking import Checked, Explained, ViewTables, check_steps
from tidelog.explain.instances import FlatRule, Premise
from tidelog.explain.steps import BoundRule, Condition, Facts, ProofStep, Walk
from tidelog.explain.walks import ASSERTED, WalkEdge
from tidelog.language.syntax import Atom, Value
from tidelog.rules.picture import quote_lines, write_picture
from tidelog.semantics.values import normal
from tidelog.storage.record_text import value_text

MOST_LINES = 200
"""Lines of a printed tree."""


@dataclass(frozen=True, repr=False)
class Proof:
    """Why a tuple holds: `steps`, each after its premises, the tuple itself last."""

    steps: tuple[ProofStep, ...]

    @property
    def goal(self) -> ProofStep:
        """The step of the tuple that was asked for."""
        return self.steps[-1]

    @property
    def height(self) -> int:
        """The height of the tree: 0 for a fact."""
        return self.goal.height

    @cached_property
    def facts(self) -> Facts:
        """The asserted facts that the proof uses: relation and tuple."""
        return tuple((step.relation, step.values) for step in self.steps if step.sort == "fact")

    @cached_property
    def rules(self) -> tuple[str, ...]:
        """The names of the rules that it uses, each once."""
        return tuple(dict.fromkeys(step.rule for step in self.steps if step.rule is not None))

    @property
    def shown_steps(self) -> tuple[int, ...]:
        """The numbers of the steps that are shown: all but those that the text of an axiom has already."""
        needed = {len(self.steps) - 1}
        for number in range(len(self.steps) - 1, -1, -1):
            if number in needed:
                step = self.steps[number]
                needed.update(step.direct, *(each.witness for each in step.conditions))
        return tuple(sorted(needed))

    @property
    def is_partial(self) -> bool:
        """Return True if a limit left some of its tuples open, or members of aggregates uncounted."""
        return any(step.sort == "open" or any(each.is_open for each in step.conditions) for step in self.steps)

    def to_dict(self) -> dict[str, Any]:
        """Return the proof as JSON has it."""
        return {"height": self.height, "partial": self.is_partial, "steps": [step.to_dict() for step in self.steps]}

    def to_json(self) -> str:
        """Return the proof as a JSON text."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    def to_dot(self) -> str:
        """Return the proof as a text for Graphviz: tuples, with arrows to what they need."""
        return dot(self.steps, self.shown_steps)

    def draw(self, path: str | os.PathLike[str]) -> None:
        """Draw the proof: to a file .svg, .png or .pdf, laid out by Graphviz, or to a page .html around that; .dot is
        the text. Raise UsageError (E0690) for another ending, SetupError (E0790) where pygraphviz is missing."""
        write_picture(self.to_dot, path, "proof")

    def to_html(self) -> str:
        """Return the proof as a page of its own, in which each tuple opens to show why it holds."""
        return html(self.steps)

    def _repr_html_(self) -> str:
        """Return the tree for a notebook."""
        return f"<pre>{escape(str(self))}</pre>"

    def export(self, form: Literal["lean"]) -> str:
        """Return the proof as a JSON text for another checker: that of Datalog proofs in Lean, CertifyingDatalog, which
        reads it with `-o`. Raise UsageError (E0635 for another form, E0676 if the proof needs more than tuples:
        comparisons, negation, aggregates)."""
        if not isinstance(form, str) or form != "lean":
            raise UsageError(Problem("E0635", f"`{quote_name(form)}` is no form of a proof", hint='pass "lean"'))
        return json.dumps(_LeanGraph(self.steps).document, ensure_ascii=False)

    def check(self, database: Explained | None = None) -> Checked:
        """Check each step by itself, without an engine. With a `database` of the same facts, read all of its views to
        check also that facts and rules are its own, tuples absent and aggregates complete; without, the result names
        the conditions that were taken for granted. Raise ProofRejected (E0820)."""
        given: object = database
        if given is not None and not (hasattr(given, "program") and hasattr(given, "local")):
            raise wrong_argument("the database of a proof", "a database or a snapshot", given)
        return check_steps(self.steps, None if database is None else ViewTables(database))

    def __str__(self) -> str:
        """Return the proof as a tree, its first 200 lines."""
        lines: list[str] = []
        for line in tree_lines(self):
            if len(lines) == MOST_LINES:
                lines.append(f"… ({len(self.steps):,} steps in all)")
                break
            lines.append(line)
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Proof of {self.goal.tuple_text}: {len(self.steps)} steps, height {self.height}>"


def tree_lines(proof: Proof) -> Iterator[str]:
    """Yield the lines of a proof as a tree; a step that was shown before is not shown again."""
    shown: set[int] = set()
    waiting: list[tuple[str, str, int | Condition]] = [("", "", len(proof.steps) - 1)]
    while waiting:
        lead, below, item = waiting.pop()
        parts: list[int | Condition]
        if isinstance(item, Condition):
            yield lead + item.line
            parts = [*item.witness]
        else:
            step = proof.steps[item]
            again = item in shown and step.sort != "fact"
            yield f"{lead}{step.tuple_text}   [{step.reason}]" + ("  (shown above)" if again else "")
            parts = [] if again else [*step.direct, *step.conditions]
            shown.add(item)
        for i in range(len(parts) - 1, -1, -1):
            last = i == len(parts) - 1
            waiting.append((f"{below}{'└─ ' if last else '├─ '}", f"{below}{'   ' if last else '│  '}", parts[i]))


# --- pictures and pages ----------------------------------------------------------------------------------------------

LONGEST = 300
"""Characters of a line in a picture."""
_SHAPES = {"fact": "fact", "axiom": "fact", "rule": "derived", "walk": "derived", "open": "open"}
_FONT = 'fontname="DejaVu Sans Mono,Menlo,Consolas,monospace"'
_STYLES = {
    "derived": 'style="rounded,filled" fillcolor="#e6f0fa" color="#3a6ea5" fontcolor="#1f2d3d"',
    "fact": 'style=filled fillcolor="#eef6ec" color="#6c9a63" fontcolor="#1f2d3d"',
    "open": 'style="rounded,dashed" color="#b8c2cc" fontcolor="#6b7a8c"',
    "condition": 'style="rounded" color="#b8c2cc" fontcolor="#6b7a8c"',
}


def dot(steps: Sequence[ProofStep], shown: Iterable[int]) -> str:
    """Return a proof as a text for Graphviz: facts are green, derived tuples blue, conditions white; arrows lead from a
    tuple to what it needs."""
    lines = ["digraph proof {", f'  node [shape=box, height=0.3, margin="0.1,0.05", fontsize=10, {_FONT}];']
    lines.append('  edge [color="#6b7a8c", arrowsize=0.6]; ranksep=0.3; nodesep=0.2;')
    for number in shown:
        step = steps[number]
        label = _label(step.tuple_text, *([] if step.sort == "fact" else [step.reason]))
        lines.append(f"  s{number} [label={label}, {_STYLES[_SHAPES[step.sort]]}];")
        lines += [f"  s{number} -> s{premise};" for premise in dict.fromkeys(step.direct)]
        for i, condition in enumerate(step.conditions):
            lines.append(f"  s{number}c{i} [label={_label(condition.text)}, {_STYLES['condition']}];")
            lines.append(f"  s{number} -> s{number}c{i} [style=dashed, arrowhead=none];")
            lines += [f"  s{number}c{i} -> s{witness};" for witness in dict.fromkeys(condition.witness)]
    return "\n".join([*lines, "}"])


def _label(*lines: str) -> str:
    """Return a string of DOT with these lines, long ones without their ends, which Graphviz could not even read."""
    return quote_lines([line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…" for line in lines])


def html(steps: Sequence[ProofStep]) -> str:
    """Return a page with the steps of a proof. The page has them as data, rules and reasons once each, and makes the
    parts of a tuple when a reader opens it."""
    texts: dict[str, int] = {}
    rows = [
        [
            step.tuple_text,
            texts.setdefault(step.reason, len(texts)),
            texts.setdefault(step.text or "", len(texts)),
            step.direct,
            [[condition.line, *condition.witness] for condition in step.conditions],
        ]
        for step in steps
    ]
    data = json.dumps({"texts": [*texts], "steps": rows}, ensure_ascii=False, separators=(",", ":"))
    page = files("tidelog.explain").joinpath("proof.html").read_text("utf-8")
    return page.replace("/*proof*/", data.replace("<", "\\u003c"))


# --- for the checker in Lean -----------------------------------------------------------------------------------------

JsonAtom: TypeAlias = dict[str, Any]


class _LeanGraph:
    """The graph and the rules of a proof."""

    def __init__(self, steps: Sequence[ProofStep]) -> None:
        self.steps = steps
        self.edges: list[dict[str, Any]] = []
        self.rules: dict[str, dict[str, Any]] = {}
        self.places: list[int] = []
        """The edge of each step."""
        for step in steps:
            self.places.append(self.place(step))

    @property
    def document(self) -> dict[str, Any]:
        return {"graph": {"edges": self.edges}, "program": [*self.rules.values()]}

    def place(self, step: ProofStep) -> int:
        """Add a step, and return the number of its edge."""
        label = _ground(step.relation, step.values)
        below = [self.places[premise] for premise in step.premises]
        instance = step.instance
        if step.sort == "fact":
            return self.add(label, [], label, [])
        if isinstance(instance, BoundRule):
            head, body = _rule(step, instance.flat)
            return self.add(label, below, head, body)
        if isinstance(instance, Walk) and below:
            return self.walk(step, instance, below)
        if step.sort == "open":
            raise _no_form(step, "a limit was reached before it was explained")
        raise _no_form(step, "it is a walk of no steps")

    def add(self, label: JsonAtom, predecessors: list[int], head: JsonAtom, body: list[JsonAtom]) -> int:
        """Add an edge, and its rule if that is new; return the number of the edge."""
        rule = {"head": head, "body": body}
        self.rules.setdefault(json.dumps(rule), rule)
        self.edges.append({"label": label, "predecessors": predecessors})
        return len(self.edges) - 1

    def walk(self, step: ProofStep, walk: Walk, below: list[int]) -> int:
        """Add an edge for each tuple of a walk, from its beginning to there, and one for the whole of it."""
        name, start = step.relation, step.values[0]
        last: tuple[int, JsonAtom] | None = None
        for premise, place, taken in zip(step.premises, below, _run(step, walk, self.steps), strict=True):
            tuple_ = self.steps[premise]
            ends = (tuple_.values[0], tuple_.values[-1])
            node = ends[0] if taken.form == "backward" else ends[1]
            symbol = f"{name}@{taken.target}"
            if last is None:
                head, body = _atom(symbol, "xy"), [_edge_atom(taken, tuple_, "xy")]
                predecessors = [place]
            else:
                head, body = _atom(symbol, "xz"), [last[1], _edge_atom(taken, tuple_, "yz")]
                predecessors = [last[0], place]
            if taken.form == "loop":
                head = _atom(symbol, "xx" if last is None else "xy")
            last = self.add(_ground(symbol, (start, node)), predecessors, head, body), _atom(symbol, "xy")
        assert last is not None
        label = _ground(name, step.values)
        return self.add(label, [last[0]], _atom(name, "xy"), [last[1]])


def _run(step: ProofStep, walk: Walk, steps: Sequence[ProofStep]) -> list[WalkEdge]:
    """Return the edges of an automaton that a walk takes."""
    automaton = walk.automaton
    reached: list[dict[tuple[Value, int], tuple[tuple[Value, int], WalkEdge] | None]] = [{(step.values[0], 0): None}]
    for premise in step.premises:
        values, relation = steps[premise].values, steps[premise].relation
        found: dict[tuple[Value, int], tuple[tuple[Value, int], WalkEdge] | None] = {}
        for place in reached[-1]:
            for edge in automaton.edges:
                ends = (values[-1], values[0]) if edge.form == "backward" else (values[0], values[-1])
                fits = edge.relation.removeprefix(ASSERTED) == relation and edge.source in automaton.states_of(place[1])
                if fits and ends[0] == place[0]:
                    found.setdefault((ends[1], edge.target), (place, edge))
        reached.append(found)
    end = step.values[1]
    place = next(each for each in reached[-1] if each[0] == end and automaton.ends & automaton.states_of(each[1]))
    taken: list[WalkEdge] = []
    for level in reached[:0:-1]:
        before = level[place]
        assert before is not None
        place = before[0]
        taken.append(before[1])
    return taken[::-1]


def _edge_atom(edge: WalkEdge, step: ProofStep, ends: str) -> JsonAtom:
    """Return the atom of a step of a walk between two variables."""
    if edge.form == "loop":
        return _atom(step.relation, ends[0] * len(step.values))
    return _atom(step.relation, ends[::-1] if edge.form == "backward" else ends)


def _rule(step: ProofStep, flat: FlatRule) -> tuple[JsonAtom, list[JsonAtom]]:
    """Return the head and the body of a rule. Raise UsageError (E0676) if it has more than tuples."""
    for literal in flat.literals[1:]:
        if not isinstance(literal, Atom) or literal.relation in flat.read:
            raise _no_form(step, f"rule {flat.rule.name} has `{literal}`")
    return _premise(flat.head, flat), [_premise(each, flat) for each in flat.premises]


def _premise(premise: Premise, flat: FlatRule) -> JsonAtom:
    terms = [
        {"variable": f"?{flat.variables[source]}"}
        if isinstance(source, int)
        else {"constant": value_text(normal(source.value, kind))}
        for source, kind in zip(premise.arguments, premise.kinds, strict=True)
    ]
    return {"symbol": premise.relation, "terms": terms}


def _atom(symbol: str, variables: Iterable[str]) -> JsonAtom:
    return {"symbol": symbol, "terms": [{"variable": f"?{name}"} for name in variables]}


def _ground(symbol: str, values: Iterable[Value]) -> JsonAtom:
    return {"symbol": symbol, "terms": [{"constant": value_text(value)} for value in values]}


def _no_form(step: ProofStep, reason: str) -> UsageError:
    message = f"the Lean checker has no form for {step.tuple_text}: {reason}"
    hint = "it checks rules of tuples only; `proof.check()` checks the other ones"
    return UsageError(Problem("E0676", message, step.span, hint=hint))
