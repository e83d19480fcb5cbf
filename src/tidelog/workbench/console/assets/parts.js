/** Small parts that several pages have. Texts become text nodes: no value is ever read as markup. */

import { h } from "preact";
import { useMemo, useState } from "preact/hooks";
import htm from "htm";
import { count } from "console/state";

export const html = htm.bind(h);

export const number = (value) => value.toLocaleString("en");

export const plural = (size, noun) => `${number(size)} ${noun}${size === 1 ? "" : "s"}`;

/** A long text without its middle: names that differ at their ends stay apart. */
export const middle = (text, most) => (text.length > most ? `${text.slice(0, Math.ceil(most / 2))}…${text.slice(-Math.floor(most / 2) + 1)}` : text);

export function seconds(value) {
  if (value >= 1) return `${value.toFixed(2)} s`;
  return value >= 0.001 ? `${(value * 1000).toFixed(1)} ms` : `${(value * 1e6).toFixed(0)} µs`;
}

/** A value as in a program. */
export function shown(value) {
  if (value === null) return "nil";
  if (typeof value === "string") return JSON.stringify(value);
  if (!Array.isArray(value)) return String(value);
  const [name, ...rest] = value;
  if (typeof name === "string" && name.startsWith("$")) return `${name}(${rest.map(shown).join(", ")})`;
  return `[${value.map(shown).join(", ")}]`;
}

export const tupleText = (relation, values) => `${relation}(${values.map(shown).join(", ")})`;

export function Complaint({ error }) {
  if (!error) return null;
  const place = error.line ? `line ${error.line}, column ${error.column}: ` : "";
  return html`<div class="complaint" role="alert">
    <strong>${error.code || "error"}</strong> ${place}${error.message}
    ${error.hint && html`<div class="hint">hint: ${error.hint}</div>`}
  </div>`;
}

/** Bars of the last changes: inserted tuples upwards, deleted ones downwards. */
export function Bars({ bars, version, label }) {
  return useMemo(() => {
    const left = 120 - 3 * bars.length;
    const most = Math.max(1, ...bars.flat());
    const height = (size) => (size ? Math.max(1, (9 * Math.log1p(size)) / Math.log1p(most)) : 0);
    return html`<svg class="bars" viewBox="0 0 120 20" width="120" height="20" role="img" aria-label=${label}>
      <line x1="0" x2="120" y1="10" y2="10" />
      ${bars.map(([inserted, deleted], at) => [
        html`<rect class="in" x=${left + at * 3} width="2" y=${10 - height(inserted)} height=${height(inserted)} />`,
        html`<rect class="out" x=${left + at * 3} width="2" y="10" height=${height(deleted)} />`,
      ])}
    </svg>`;
  }, [version, bars.length]);
}

const FIRST = 20;

function Rows({ rows, sign, relation }) {
  const [most, setMost] = useState(FIRST);
  if (!Array.isArray(rows)) return html`<p class=${sign}>${sign === "in" ? "+" : "−"}${plural(rows, "tuple")}</p>`;
  return html`<ul class=${`tuples ${sign}`}>
    ${rows.slice(0, most).map((row) => html`<li>${sign === "in" ? "+" : "−"} ${tupleText(relation, row)}</li>`)}
    ${rows.length > most && html`<li><button type="button" onClick=${() => setMost(10 * most)}>
      ${number(rows.length - most)} more of ${relation}</button></li>`}
  </ul>`;
}

export const total = (changes) => Object.values(changes).reduce(([more, less], { inserted, deleted }) => [more + count(inserted), less + count(deleted)], [0, 0]);

/** The changes of relations, with their tuples. */
export function Changes({ changes }) {
  const names = Object.keys(changes);
  if (!names.length) return html`<p>No tuple changes.</p>`;
  return html`<dl class="changes">
    ${names.map((name) => html`
      <dt>${name} <span class="in">+${number(count(changes[name].inserted))}</span> <span class="out">−${number(count(changes[name].deleted))}</span></dt>
      <dd>
        <${Rows} rows=${changes[name].inserted} sign="in" relation=${name} />
        <${Rows} rows=${changes[name].deleted} sign="out" relation=${name} />
      </dd>`)}
  </dl>`;
}

/** A part of the page's address behind `#/`, such as ["views", "edge"]. */
export const placeOf = () => location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);

export const addressOf = (...parts) => `#/${parts.map(encodeURIComponent).join("/")}`;
