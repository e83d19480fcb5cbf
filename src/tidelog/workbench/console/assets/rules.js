/** The page Rules: the graph, the rules as a list, and one of them with its history, its text and an editor. */

import { useMemo, useState } from "preact/hooks";
import { source } from "console/source";
import { useDraft, useLive } from "console/state";
import { Graph, useGraph } from "console/graph";
import { ProgramEditor, RuleEditor } from "console/program";
import { addressOf, Complaint, html, number, plural, seconds } from "console/parts";

const EPOCHS = 12;

export function Rules({ chosen }) {
  const { rules } = useLive();
  const [graph, error] = useGraph();
  const [filter, setFilter] = useState("");
  const [edited, setEdited] = useDraft("edited", null); // a rule; an empty name for a new one, and none for all as one text
  const box = graph?.boxes.find((each) => each.title === chosen);
  const choose = (title) => (location.hash = addressOf("rules", title));
  const boxOf = (rule) => graph?.boxes.find((each) => each.sort !== "given" && each.relations.includes(rule.heads[0]));
  const list = useMemo(() => rules.filter((rule) => rule.text.toLowerCase().includes(filter.toLowerCase())).map((rule) => html`<li key=${rule.name}>
    <button type="button" class="plain" title=${rule.text} onClick=${() => boxOf(rule) && choose(boxOf(rule).title)}>${rule.text}</button>
  </li>`), [rules, filter, graph]);
  return html`<div class="split">
    <section aria-label="Graph">
      <${Complaint} error=${error} />
      ${graph?.boxes.length > 0 && html`<${Graph} graph=${graph} chosen=${chosen} choose=${choose} />`}
    </section>
    <aside>
      ${source.isLive && html`<button type="button" onClick=${() => setEdited({ name: "", text: "" })}>New rule</button>
        <button type="button" onClick=${() => setEdited({})}>All rules as one text</button>`}
      ${edited && (edited.name === undefined
        ? html`<${ProgramEditor} key="" rules=${rules} close=${() => setEdited(null)} />`
        : html`<${RuleEditor} key=${`rule ${edited.name}`} rule=${edited} close=${() => setEdited(null)} />`)}
      ${box && html`<${Box} box=${box} rules=${rules.filter((rule) => box.rules.includes(rule.name))} edit=${setEdited} />`}
      <h2>${plural(rules.length, "rule")}</h2>
      ${!rules.length && html`<p class="quiet">No rule derives anything yet. New rule adds one.</p>`}
      <input type="search" aria-label="Filter rules" placeholder="Filter" value=${filter} onInput=${(event) => setFilter(event.target.value)} />
      <ul class="list" aria-label="Rules">${list}</ul>
    </aside>
  </div>`;
}

function Box({ box, rules, edit }) {
  const { relations } = useLive();
  const sizes = box.relations.filter((name) => relations.has(name));
  return html`<section class="card" aria-label=${`Box ${box.title}`}>
    <h2>${box.title}</h2>
    <p>${sizes.map((name) => html`<a href=${addressOf("views", name)}>${name}</a> has ${plural(relations.get(name).size, "tuple")}. `)}
      ${box.recursive && "Its rules are recursive."}</p>
    ${rules.map((rule) => html`<div class="rule" key=${rule.name}>
      <pre>${rule.text}</pre>
      ${source.isLive && html`<button type="button" aria-label=${`Edit rule ${rule.name}`} onClick=${() => edit(rule)}>Edit</button>`}
    </div>`)}
    ${box.history.length > 0 && html`<table>
      <caption>The last epochs: ${seconds(box.seconds)}, ${plural(box.impact, "tuple")} changed</caption>
      <thead><tr><th scope="col">epoch</th><th scope="col">strategy</th><th scope="col">time</th><th scope="col">rounds</th><th scope="col">impact</th></tr></thead>
      <tbody>${box.history.slice(-EPOCHS).reverse().map((each) => html`<tr>
        <td>${each.epoch}</td><td title=${each.reason}>${each.strategy}</td><td>${seconds(each.seconds)}</td><td>${each.rounds}</td><td>${number(each.impact)}</td>
      </tr>`)}</tbody>
    </table>`}
  </section>`;
}
