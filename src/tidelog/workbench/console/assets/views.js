/** The page Views: the relations, the rows of one of them, and why a tuple is there. */

import { useEffect, useState } from "preact/hooks";
import { source } from "console/source";
import { useLive } from "console/state";
import { Tuple } from "console/tuple";
import { addressOf, Bars, Complaint, html, number, shown, tupleText } from "console/parts";

const PAUSE = 300; // milliseconds without a keystroke until a filter is applied

export function Views({ chosen }) {
  const { relations } = useLive();
  const [filter, setFilter] = useState("");
  const wanted = [...relations.values()].filter((each) => each.name.toLowerCase().includes(filter.toLowerCase()));
  const relation = relations.get(chosen);
  return html`<div class="split narrow">
    <nav aria-label="Relations">
      <input type="search" aria-label="Filter relations" placeholder="Filter" value=${filter} onInput=${(event) => setFilter(event.target.value)} />
      <ul class="list" aria-label="Relations">${wanted.map((each) => html`<li key=${each.name}>
        <a href=${addressOf("views", each.name)} aria-current=${each.name === chosen ? "true" : undefined}>
          <span class=${each.rules.length ? "name view" : "name"}>${each.name}</span>
          <span class="size">${number(each.size)}</span>
          <${Bars} bars=${each.bars} version=${each.version} label=${`changes of ${each.name}`} />
        </a></li>`)}
      </ul>
    </nav>
    ${relation ? html`<${Table} key=${chosen} relation=${relation} />` : html`<p>Choose a relation.</p>`}
  </div>`;
}

function Table({ relation }) {
  const [asked, setAsked] = useState({ filters: {}, order: "", descending: false, time: 0 });
  const [found, setFound] = useState(null);
  const [error, setError] = useState(null);
  const [seen, setSeen] = useState(relation.version);
  const [tuple, setTuple] = useState(null);

  useEffect(() => {
    let isShown = true;
    const timer = setTimeout(() => {
      setSeen(relation.version);
      source.rows(relation.name, asked).then(
        (rows) => isShown && (setFound(rows), setError(null)),
        (problem) => isShown && setError(problem),
      );
    }, found ? PAUSE : 0);
    return () => {
      isShown = false;
      clearTimeout(timer);
    };
  }, [JSON.stringify(asked)]);

  async function more() {
    try {
      const { rows, cursor } = await source.rows(relation.name, { cursor: found.cursor });
      setFound({ ...found, rows: [...found.rows, ...rows], cursor });
    } catch (problem) {
      setError(problem);
    }
  }

  const sort = (name) => setAsked({ ...asked, order: name, descending: asked.order === name && !asked.descending });
  const direction = (name) => (asked.order !== name ? "none" : asked.descending ? "descending" : "ascending");
  const arrow = { none: "", ascending: " ↑", descending: " ↓" };
  return html`<section aria-label=${`Rows of ${relation.name}`}>
    <h2>${relation.name}</h2>
    <p>${number(relation.size)} tuples${relation.rules.length > 0 && html`, derived by ${relation.rules.join(", ")}`}
      ${found && relation.version !== seen && html` <button type="button" onClick=${() => setAsked({ ...asked, time: asked.time + 1 })}>Show changes since epoch ${found.epoch}</button>`}</p>
    <${Complaint} error=${error} />
    ${tuple && html`<${Tuple} relation=${relation} key=${tupleText("", tuple)} values=${tuple} close=${() => setTuple(null)} />`}
    ${!tuple && source.isLive && html`<button type="button" onClick=${() => setTuple([])}>Ask about a tuple</button>`}
    <div class="rows"><table>
      <thead>
        <tr>${relation.columns.map(({ name, type }) => html`<th scope="col" aria-sort=${direction(name)}>
          <button type="button" class="plain" onClick=${() => sort(name)}>${name}<small> ${type}</small>${arrow[direction(name)]}</button></th>`)}</tr>
        <tr>${relation.columns.map(({ name }) => html`<td><input type="search" aria-label=${`Filter ${name}`} placeholder="=" value=${asked.filters[name] ?? ""}
          onInput=${(event) => setAsked({ ...asked, filters: { ...asked.filters, [name]: event.target.value } })} /></td>`)}</tr>
      </thead>
      <tbody>${found?.rows.map((row) => html`<tr>
        ${row.map((value, at) => html`<td>${at === 0 && source.isLive
          ? html`<button type="button" class="plain" aria-label=${`Why ${tupleText(relation.name, row)}`} onClick=${() => setTuple(row)}>${shown(value)}</button>`
          : shown(value)}</td>`)}
      </tr>`)}</tbody>
    </table></div>
    ${found && html`<p class="quiet">${number(found.rows.length)} of ${number(found.total)} rows of epoch ${found.epoch}
      ${found.cursor && html` <button type="button" onClick=${more}>More rows</button>`}</p>`}
  </section>`;
}
