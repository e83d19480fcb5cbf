/** The page Views: the relations, the rows of one of them, facts for it, and why a tuple is there. */

import { useEffect, useRef, useState } from "preact/hooks";
import { Facts } from "console/facts";
import { source } from "console/source";
import { useDraft, useLive } from "console/state";
import { Tuple } from "console/tuple";
import { addressOf, Bars, Complaint, html, middle, number, plural, shown, tupleText } from "console/parts";

const PAUSE = 300; // milliseconds without a keystroke until a filter is applied
const LONGEST = 60; // letters of a name in the list, which has lines of some 25

export function Views({ chosen }) {
  const { relations } = useLive();
  const [filter, setFilter] = useState("");
  const wanted = [...relations.values()].filter((each) => each.name.toLowerCase().includes(filter.toLowerCase()));
  const relation = relations.get(chosen);
  return html`<div class="split narrow">
    <nav aria-label="Relations">
      <input type="search" aria-label="Filter relations" placeholder="Filter" value=${filter} onInput=${(event) => setFilter(event.target.value)} />
      <ul class="list" aria-label="Relations">${wanted.map((each) => html`<li key=${each.name}>
        <a href=${addressOf("views", each.name)} aria-current=${each.name === chosen ? "true" : undefined} aria-label=${`${each.name} ${number(each.size)}`}
            title=${`${each.name}: ${plural(each.size, "tuple")}, ${each.rules.length ? "a view" : "facts"}`}>
          <span class=${each.rules.length ? "name view" : "name"}>${middle(each.name, LONGEST)}</span>
          <span class="size">${number(each.size)}</span>
          <${Bars} bars=${each.bars} version=${each.version} label=${`changes of ${each.name}`} />
        </a></li>`)}
      </ul>
      ${!wanted.length && html`<p class="quiet">No relation has “${filter}” in its name.</p>`}
      <p class="quiet legend">The number counts the tuples. <strong>Bold</strong> names are views, which rules derive.
        Bars are the last changes: <span class="in">inserted</span> above the line, <span class="out">deleted</span> below.</p>
    </nav>
    ${relation ? html`<${Table} key=${chosen} relation=${relation} />` : html`<p>${chosen ? `There is no relation ${chosen}. ` : ""}Choose a relation to see its rows${source.isLive && ", and to put facts in"}.</p>`}
  </div>`;
}

function Table({ relation }) {
  const [asked, setAsked] = useState({ filters: {}, order: "", descending: false, time: 0 });
  const [found, setFound] = useState(null);
  const [error, setError] = useState(null);
  const [seen, setSeen] = useState(relation.version);
  const [tuple, setTuple] = useState(null);
  const [isOpen, setOpen] = useDraft(`form of ${relation.name}`, false);
  const [committed, setCommitted] = useState(null);
  const opener = useRef(null); // the button of the row whose tuple is shown

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

  const refresh = () => setAsked({ ...asked, time: asked.time + 1 });

  function why(event, row) {
    if (!String(getSelection())) setTuple(row);
    opener.current = event.currentTarget.closest("tr").querySelector("button");
  }

  function close() {
    setTuple(null);
    opener.current?.focus();
  }

  const sort = (name) => setAsked({ ...asked, order: name, descending: asked.order === name && !asked.descending });
  const direction = (name) => (asked.order !== name ? "none" : asked.descending ? "descending" : "ascending");
  const arrow = { none: "", ascending: " ↑", descending: " ↓" };
  return html`<section aria-label=${`Rows of ${relation.name}`}>
    <h2>${relation.name}</h2>
    <p>${plural(relation.size, "tuple")}${relation.rules.length > 0 && html`, derived by ${relation.rules.join(", ")}`}
      ${found && relation.version !== seen && html` <button type="button" onClick=${refresh}>Show changes since epoch ${found.epoch}</button>`}</p>
    <${Complaint} error=${error} />
    ${tuple && html`<${Tuple} relation=${relation} key=${tupleText("", tuple)} values=${tuple} close=${close} done=${refresh} />`}
    ${source.isLive && html`<p>
      ${!isOpen && html`<button type="button" onClick=${() => (setOpen(true), setCommitted(null))}>Put facts in</button>`}
      ${!tuple && html`<button type="button" onClick=${() => setTuple([])}>Ask about a tuple</button>`}
    </p>`}
    ${isOpen && html`<${Facts} relation=${relation} close=${() => setOpen(false)} done=${(epoch) => (setOpen(false), setCommitted(epoch), refresh())} />`}
    ${committed !== null && html`<p role="status">Committed as epoch ${committed}.</p>`}
    <div class="rows"><table>
      <thead>
        <tr>${relation.columns.map(({ name, type }) => html`<th scope="col" aria-sort=${direction(name)}>
          <button type="button" class="plain" onClick=${() => sort(name)}>${name}<small> ${type}</small>${arrow[direction(name)]}</button></th>`)}</tr>
        <tr>${relation.columns.map(({ name }) => html`<td><input type="search" aria-label=${`Filter ${name}`} placeholder="=" value=${asked.filters[name] ?? ""}
          onInput=${(event) => setAsked({ ...asked, filters: { ...asked.filters, [name]: event.target.value } })} /></td>`)}</tr>
      </thead>
      <tbody>${found?.rows.map((row) => html`<tr class=${!source.isLive ? "" : row === tuple ? "asks chosen" : "asks"} onClick=${source.isLive && ((event) => why(event, row))}>
        ${row.map((value, at) => html`<td>${at === 0 && source.isLive
          ? html`<button type="button" class="plain" aria-label=${`Why ${tupleText(relation.name, row)}`}>${shown(value)}</button>`
          : shown(value)}</td>`)}
      </tr>`)}</tbody>
    </table></div>
    ${found?.total === 0 && html`<p>${Object.values(asked.filters).some(Boolean) ? "No row has these values." : relation.rules.length ? "Its rules derive nothing from the facts yet." : "It has no facts yet."}</p>`}
    ${found?.total > 0 && html`<p class="quiet">${number(found.rows.length)} of ${plural(found.total, "row")} of epoch ${found.epoch}${source.isLive && "; a click on a row shows its proof"}
      ${found.cursor && html` <button type="button" onClick=${more}>More rows</button>`}</p>`}
  </section>`;
}
