/** The page Changes: the epochs as they arrive, and the difference between two of them. */

import { useEffect, useState } from "preact/hooks";
import { events } from "console/api";
import { source } from "console/source";
import { state, useLive } from "console/state";
import { Changes as Tuples, Complaint, html, number, total } from "console/parts";

const SHOWN = 60;

/** The changes of relations whose names have a text in them. */
function chosen(changes, filter) {
  if (!filter) return changes;
  return Object.fromEntries(Object.entries(changes).filter(([name]) => name.toLowerCase().includes(filter.toLowerCase())));
}

export function Changes() {
  const { feed, relations } = useLive();
  const [paused, setPaused] = useState(null); // the epochs that were there then
  const [filter, setFilter] = useState("");
  const [between, setBetween] = useState(null);
  const epochs = (paused ?? feed).map((each) => ({ ...each, changes: chosen(each.changes, filter) }));
  const wanted = epochs.filter((each) => !filter || Object.keys(each.changes).length).slice(-SHOWN).reverse();
  return html`<div>
    <div class="tools">
      ${source.isLive && html`<button type="button" aria-pressed=${paused ? "true" : "false"} onClick=${() => setPaused(paused ? null : [...feed])}>
        ${paused ? `Go on (${number(state.epoch - (paused.at(-1)?.epoch ?? 0))} new)` : "Pause"}</button>`}
      <input type="search" aria-label="Filter relations" placeholder="Filter relations" value=${filter} onInput=${(event) => setFilter(event.target.value)} />
      ${source.isLive && html`<${Between} show=${setBetween} />`}
    </div>
    ${between && html`<section class="card" aria-label="Difference">
      <h2>From epoch ${between.from} to ${between.to}</h2>
      <button type="button" onClick=${() => setBetween(null)}>Close</button>
      <${Tuples} changes=${chosen(between.changes, filter)} />
    </section>`}
    ${!wanted.length && html`<p class="quiet">${source.isLive ? "No epoch has arrived since the server was started. Commits appear here as they happen." : "The file has no epochs."}</p>`}
    <ol class="feed" aria-label="Epochs">${wanted.map((each) => html`<${Epoch} key=${each.epoch} ...${each} relations=${relations} />`)}</ol>
  </div>`;
}

function Epoch({ epoch, changes, missed, relations }) {
  const [isOpen, setOpen] = useState(false);
  if (missed) return html`<li>Epochs ${missed} to ${epoch} are not kept any more; the sizes were read again.</li>`;
  const isDerived = (name) => relations.get(name)?.rules.length > 0;
  const part = (derived) => Object.fromEntries(Object.entries(changes).filter(([name]) => isDerived(name) === derived));
  const sizes = (title, found) => {
    const [more, less] = total(found);
    return html`<span class="sizes">${title} <span class="in">+${number(more)}</span> <span class="out">−${number(less)}</span></span>`;
  };
  const [facts, views] = [part(false), part(true)];
  return html`<li><details open=${isOpen} onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary><strong>${epoch}</strong> ${sizes("facts", facts)} ${sizes("views", views)} <small>${Object.keys(changes).slice(0, 6).join(", ")}</small></summary>
    ${isOpen && html`<h3>Facts</h3><${Tuples} changes=${facts} /><h3>Views</h3><${Tuples} changes=${views} />`}
  </details></li>`;
}

function Between({ show }) {
  const [from, setFrom] = useState("");
  const [to, setTo] = useState("");
  const [error, setError] = useState(null);
  useEffect(() => () => show(null), []);

  async function find(event) {
    event.preventDefault();
    setError(null);
    try {
      show(await difference(Number(from), Number(to)));
    } catch (problem) {
      setError(problem);
    }
  }

  return html`<form onSubmit=${find}>
    <label>from epoch <input type="number" required min="0" max=${state.epoch} value=${from} onInput=${(event) => setFrom(event.target.value)} /></label>
    <label>to <input type="number" required min="1" max=${state.epoch} value=${to} onInput=${(event) => setTo(event.target.value)} /></label>
    <button>Compare</button>
    <${Complaint} error=${error} />
  </form>`;
}

/** What changed between two epochs: tuples that came and went in between are left out. */
async function difference(from, to) {
  if (!(from < to && to <= state.epoch)) throw new Error("the second epoch has to be after the first one, and no later than the last one");
  const stop = new AbortController();
  const nets = new Map();
  try {
    for await (const [name, { epoch, changes = {}, ...missed }] of events(from, stop.signal)) {
      if (name === "missed") throw new Error(`the server does not keep the epochs up to ${missed.to}`);
      for (const [relation, { inserted, deleted }] of Object.entries(changes)) {
        if (!Array.isArray(inserted) || !Array.isArray(deleted)) throw new Error(`${relation} changed too much in epoch ${epoch}`);
        add(nets, relation, inserted, 1);
        add(nets, relation, deleted, -1);
      }
      if (epoch >= to) break;
    }
  } finally {
    stop.abort();
  }
  const found = {};
  for (const [relation, net] of nets) {
    const rows = [...net.values()];
    const of = (sign) => rows.filter((each) => each.sum === sign).map((each) => each.row);
    if (rows.some((each) => each.sum)) found[relation] = { inserted: of(1), deleted: of(-1) };
  }
  return { from, to, changes: found };
}

function add(nets, relation, rows, sign) {
  if (!nets.has(relation)) nets.set(relation, new Map());
  const net = nets.get(relation);
  for (const row of rows) {
    const key = JSON.stringify(row, (_, value) => (typeof value === "bigint" ? `${value}n` : value));
    const before = net.get(key) ?? { row, sum: 0 };
    net.set(key, { row, sum: before.sum + sign });
  }
}
