/** The page Query: a query with completion, its rows and time, and the queries before it. */

import { useState } from "preact/hooks";
import { json } from "console/api";
import { Code } from "console/code";
import { useDraft, useLive } from "console/state";
import { useWork, Working } from "console/work";
import { Complaint, html, number, plural, seconds, shown } from "console/parts";

const ROWS = 100;
const KEPT = 50; // queries of the history
const EXAMPLES = 5;

const ask = (body, signal) => json("/v1/query", { method: "POST", body: { ...body, limit: ROWS }, signal });

export function Query() {
  const { relations } = useLive();
  const [text, setText] = useDraft("query", "");
  const [past, setPast] = useDraft("queries", []);
  const [found, setFound] = useDraft("answer", null); // {query, time, columns, rows, total, epoch, cursor}
  const [plan, setPlan] = useState(null); // {query, epoch, rules}
  const [error, setError] = useState(null);
  const work = useWork();

  function type(next) {
    setText(next);
    setPlan(null);
    setError(null); // Its place is one of the text before.
  }

  async function run(query = text) {
    if (!query.trim()) return;
    setText(query);
    setError(null);
    setPast([query, ...past.filter((each) => each !== query)].slice(0, KEPT));
    const started = performance.now();
    try {
      const answer = await work.run((signal) => ask({ query }, signal));
      setFound(answer ? { ...answer, query, time: (performance.now() - started) / 1000 } : null);
    } catch (problem) {
      setFound(null);
      setError(problem);
    }
  }

  async function explain() {
    setError(null);
    try {
      const answer = await work.run((signal) => json("/v1/query-plan", { method: "POST", body: { query: text }, signal }));
      setPlan(answer ?? null);
    } catch (problem) {
      setPlan(null);
      setError(problem);
    }
  }

  async function more() {
    try {
      const next = await work.run((signal) => ask({ cursor: found.cursor }, signal));
      if (next) setFound({ ...found, rows: [...found.rows, ...next.rows], cursor: next.cursor });
    } catch (problem) {
      setError(problem);
    }
  }

  const examples = [...relations.values()].slice(0, EXAMPLES).map(({ name, columns }) => `${name}(${columns.map((each) => each.name).join(", ")})`);
  return html`<section aria-label="Query">
    <${Code} label="Text of the query" value=${text} change=${type} error=${error} commit=${() => run()} placeholder="an atom, or the body of a rule, such as edge(x, y), x < y" />
    <button type="button" class="main" disabled=${!text.trim()} onClick=${() => run()}>Run</button> <small>Ctrl+Enter</small>${" "}
    <button type="button" disabled=${!text.trim()} onClick=${explain}>Plan</button>
    <${Working} work=${work} label="The query runs" />
    <${Complaint} error=${error} />
    ${plan && html`<${Plan} rules=${plan.rules} epoch=${plan.epoch} />`}
    ${found && html`<${Answer} found=${found} more=${more} />`}
    ${!found && !error && work.since === null && html`<p class="quiet">Ask for tuples, for example:</p>
      <ul class="list queries">${examples.map((each) => html`<li><button type="button" class="plain" onClick=${() => run(each)}>${each}</button></li>`)}</ul>`}
    ${past.length > 0 && html`<details class="history"><summary>Queries before (${past.length})</summary>
      <ul class="list queries" aria-label="Queries before">${past.map((each) => html`<li key=${each}>
        <button type="button" class="plain" onClick=${() => run(each)}>${each}</button></li>`)}</ul>
    </details>`}
  </section>`;
}

/** How the server would evaluate the query: which literal comes after which. */
function Plan({ rules, epoch }) {
  return html`<section class="card" aria-label="Plan">
    <p>The plan over the views of epoch ${epoch}, with the bindings that the planner expects behind each step:</p>
    ${rules.map(({ rule, steps }) => html`<p><b>${rule}</b></p>
      ${steps.length > 0 && html`<ol class="list">${steps.map(({ text, bindings }) => html`<li><code>${text}</code> <small>about ${number(Math.round(bindings))}</small></li>`)}</ol>`}`)}
  </section>`;
}

function Answer({ found, more }) {
  const { columns, rows, total, epoch, time, cursor, query } = found;
  if (!columns.length) return html`<p role="status">${total ? "It holds" : "It does not hold"} in epoch ${epoch} (${seconds(time)}).</p>`;
  return html`<div>
    <p role="status">${plural(total, "row")} of epoch ${epoch} in ${seconds(time)}: <code>${query}</code></p>
    ${rows.length > 0 && html`<div class="rows" tabindex="0" role="region" aria-label="Rows of the answer"><table>
      <thead><tr>${columns.map(({ name, type }) => html`<th scope="col">${name}<small> ${type}</small></th>`)}</tr></thead>
      <tbody>${rows.map((row) => html`<tr>${row.map((value) => html`<td>${shown(value)}</td>`)}</tr>`)}</tbody>
    </table></div>`}
    ${cursor && html`<button type="button" onClick=${more}>More rows (${rows.length.toLocaleString("en")} so far)</button>`}
  </div>`;
}
