"""Proofs as pictures: a text for Graphviz, and a page that opens level by level."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tidelog.explain.steps import ProofStep

_SHAPES = {"fact": "box", "rule": "ellipse", "walk": "ellipse", "open": "plaintext"}


def dot(steps: Sequence[ProofStep]) -> str:
    """Return a proof as a text for Graphviz: facts are boxes, arrows lead from a tuple to what it needs."""
    lines = ["digraph proof {", "  node [fontname=Helvetica];"]
    for number, step in enumerate(steps):
        reason = "" if step.sort == "fact" else f"\n{step.reason}"
        lines.append(f"  s{number} [shape={_SHAPES[step.sort]}, label={_quoted(step.tuple_text + reason)}];")
        lines += [f"  s{number} -> s{premise};" for premise in dict.fromkeys(step.premises)]
        for i, condition in enumerate(step.conditions):
            lines.append(f"  s{number}c{i} [shape=plaintext, label={_quoted(condition.text)}];")
            lines.append(f"  s{number} -> s{number}c{i} [style=dashed, arrowhead=none];")
    return "\n".join([*lines, "}"])


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def html(document: Mapping[str, Any], tuples: Sequence[str], reasons: Sequence[str]) -> str:
    """Return a page with a proof, as `Proof.to_dict` has it. The page has the steps as data, and makes the parts of a
    tuple when a reader opens it."""
    steps = [
        {
            "tuple": text,
            "reason": reason,
            "rule": step["text"],
            "premises": step["premises"],
            "conditions": [condition["text"] for condition in step["conditions"]],
        }
        for step, text, reason in zip(document["steps"], tuples, reasons, strict=True)
    ]
    data = json.dumps(steps, ensure_ascii=False).replace("<", "\\u003c")
    return _PAGE.replace("/*steps*/", data)


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
const steps = /*steps*/;
function add(parent, name, text, kind) {
  const node = parent.appendChild(document.createElement(name));
  if (text) node.textContent = text;
  if (kind) node.className = kind;
  return node;
}
function line(parent, step) {
  add(parent, "code", step.tuple);
  add(parent, "span", step.reason, "reason");
}
function show(parent, number, open) {
  const step = steps[number];
  if (!step.premises.length && !step.conditions.length) return line(parent, step);
  const details = add(parent, "details");
  line(add(details, "summary"), step);
  function fill() {
    details.removeEventListener("toggle", fill);
    if (step.rule) add(details, "code", step.rule, "rule");
    const list = add(details, "ul");
    for (const premise of step.premises) show(add(list, "li"), premise, false);
    for (const condition of step.conditions) add(add(list, "li"), "code", condition);
  }
  details.addEventListener("toggle", fill);
  details.open = open;
}
show(document.getElementById("proof"), steps.length - 1, true);
</script>
</html>
"""
