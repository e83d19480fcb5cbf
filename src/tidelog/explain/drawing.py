"""Proofs as pictures: a text for Graphviz, and a page that opens level by level."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from tidelog.explain.steps import ProofStep
from tidelog.rules.picture import quoted

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
    return quoted([line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…" for line in lines])


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
    return _PAGE.replace("/*proof*/", data.replace("<", "\\u003c"))


_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Proof</title>
<style>
  body { font: 14px/1.6 system-ui, sans-serif; margin: 2em; color: #222; }
  ul { list-style: none; padding-left: 1.4em; border-left: 1px solid #ddd; margin: 0; }
  summary { cursor: pointer; }
  code { font-family: ui-monospace, monospace; }
  .reason { color: #777; padding-left: 1em; }
  .rule { color: #555; display: block; padding-left: 1.4em; }
</style>
<div id="proof"></div>
<script>
const {texts, steps} = /*proof*/;
function add(parent, name, text, kind) {
  const node = parent.appendChild(document.createElement(name));
  if (text) node.textContent = text;
  if (kind) node.className = kind;
  return node;
}
function line(parent, step) {
  add(parent, "code", step[0]);
  add(parent, "span", texts[step[1]], "reason");
}
function show(parent, number, open) {
  const step = steps[number], [,, rule, premises, conditions] = step;
  if (!premises.length && !conditions.length) return line(parent, step);
  const details = add(parent, "details");
  line(add(details, "summary"), step);
  function fill() {
    details.removeEventListener("toggle", fill);
    if (texts[rule]) add(details, "code", texts[rule], "rule");
    const list = add(details, "ul");
    for (const premise of premises) show(add(list, "li"), premise, false);
    for (const [text, ...witness] of conditions) {
      const item = add(list, "li");
      add(item, "code", text);
      if (witness.length) {
        const inner = add(item, "ul");
        for (const each of witness) show(add(inner, "li"), each, false);
      }
    }
  }
  details.addEventListener("toggle", fill);
  details.open = open;
}
show(document.getElementById("proof"), steps.length - 1, true);
</script>
</html>
"""
