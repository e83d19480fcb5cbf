/** Texts of programs with their errors in place: a rule, all rules as one text, and the first program of an empty store. */

import { useMemo, useState } from "preact/hooks";
import { Code } from "console/code";
import { useDraft } from "console/state";
import { Trial } from "console/trial";
import { addressOf, html } from "console/parts";

const EXAMPLES = {
  Flights: `// Which towns does a traveller reach?
.decl flight(start: symbol, end: symbol)
.decl trip(start: symbol, end: symbol)

flight("Lisbon", "Paris").
flight("Paris", "Oslo").
flight("Oslo", "Tromso").

direct: trip(x, y) :- flight(x, y).
onward: trip(x, z) :- trip(x, y), flight(y, z).
`,
  Family: `// Who are grandparents, and how many children has a person?
.decl parent(parent: symbol, child: symbol)
.decl grandparent(grandparent: symbol, grandchild: symbol)
.decl children(parent: symbol, number: number)

parent("Ada", "Ben").
parent("Ada", "Cleo").
parent("Ben", "Dora").

grandparent(x, z) :- parent(x, y), parent(y, z).
children(x, n) :- parent(x, _), n = count : { parent(x, _) }.
`,
};

/** A text, the change that it would make, and its commit. `body` is the transaction for a text, null for none; Escape
 * closes the editor and keeps the text, Cancel drops it. */
function Editor({ title, label, draft, initial, rows, placeholder, body, close, done = close, children }) {
  const [text, setText] = useDraft(draft, initial);
  const [error, setError] = useState(null);
  const transaction = useMemo(() => body(text), [text, initial]);
  const forget = (then) => (setText(undefined), then?.());
  return html`<section class="card" aria-label=${title}>
    <h2>${title}</h2>
    ${children?.(setText)}
    <${Code} label=${label} value=${text} change=${setText} error=${error} rows=${rows} placeholder=${placeholder} />
    ${close && html`<button type="button" onClick=${() => forget(close)}>Cancel</button>`}
    <${Trial} body=${transaction} report=${setError} leave=${close} done=${() => forget(done)} />
  </section>`;
}

export function RuleEditor({ rule, close }) {
  const { name, text: before } = rule;
  function body(text) {
    const isEmpty = text.trim() === "";
    if (text === before || (isEmpty && !name)) return null;
    return { rules: { add: isEmpty ? [] : [text], remove: name ? [name] : [] } };
  }
  return html`<${Editor} title=${name ? `Edit ${name}` : "New rule"} label="Text of the rule" draft=${`rule ${name}`} initial=${before} rows=${5}
      placeholder="name: head(x) :- body(x)." body=${body} close=${close}>
    ${(setText) => name && html`<button type="button" onClick=${() => setText("")}>Remove the rule</button>`}
  <//>`;
}

/** Rules whose lines have not changed stay; errors have their places in the whole text. */
export function ProgramEditor({ rules, close }) {
  const earlier = rules.map((rule) => `${rule.text}\n`).join("");
  function body(text) {
    if (text === earlier) return null;
    const names = new Map(rules.map((rule) => [rule.text, rule.name]));
    const added = text.split("\n").map((line) => (names.delete(line) ? "" : line)).join("\n");
    return { rules: { add: added.trim() ? [added] : [], remove: [...names.values()] } };
  }
  return html`<${Editor} title="All rules as one text" label="Text of all rules" draft="program" initial=${earlier} rows=${8} body=${body} close=${close}>
    ${() => html`<p class="quiet">Declarations stay as they are; new ones may stand in the text.</p>`}
  <//>`;
}

export function First() {
  const body = (text) => (text.trim() ? { rules: { add: [text] } } : null);
  return html`<${Editor} title="This store is empty" label="Text of the program" draft="first" initial="" rows=${10} body=${body}
      placeholder=".decl edge(x: number, y: number)" done=${() => (location.hash = addressOf("views"))}>
    ${(setText) => html`<p>Paste a program, or try one of these:
      ${Object.entries(EXAMPLES).map(([name, text]) => html` <button type="button" onClick=${() => setText(text)}>${name}</button>`)}</p>`}
  <//>`;
}
