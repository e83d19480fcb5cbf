/** Facts for a relation: a form by its columns, rows as a text, or a file. */

import { useMemo, useState } from "preact/hooks";
import { json } from "console/api";
import { rowsOf, valueOf } from "console/csv";
import { useDraft } from "console/state";
import { Trial } from "console/trial";
import { Complaint, html, plural } from "console/parts";

const KEYBOARDS = { number: "numeric", unsigned: "numeric", float: "decimal", symbol: "text" };
const RECORD = '[1, "a"] or null';

const TABLES = /\.(parquet|arrow|feather|json)$/i; // Files that the server reads for this page.

/** Return the rows of a file for a relation. */
async function decoded(relation, file) {
  const path = `/v1/relations/${encodeURIComponent(relation)}/decode?file=${encodeURIComponent(file.name)}`;
  return (await json(path, { method: "POST", body: file })).rows;
}

/** Return what a function returns and null, or null and its error. */
function attempted(act) {
  try {
    return [act(), null];
  } catch (error) {
    return [null, error];
  }
}

export function Facts({ relation, done, close }) {
  const { name, columns } = relation;
  const [cells, setCells] = useDraft(`fact of ${name}`, {});
  const [text, setText] = useDraft(`facts of ${name}`, "");
  const [file, setFile] = useDraft(`file of ${name}`, null); // {title, rows}
  const [unread, setUnread] = useState(null);
  const isTyped = Object.values(cells).some((each) => each !== "");
  const isWhole = columns.every((each) => each.name in cells);
  const [body, wrong] = useMemo(() => attempted(() => {
    const one = isTyped && isWhole ? [columns.map((each) => valueOf(cells[each.name], each))] : [];
    const rows = [...one, ...rowsOf(text, columns), ...(file?.rows ?? [])];
    return rows.length ? { insert: { [name]: rows } } : null;
  }), [cells, text, file]);

  async function open([chosen]) {
    if (!chosen) return;
    try {
      const read = TABLES.test(chosen.name) ? decoded(name, chosen) : chosen.text().then((text) => rowsOf(text, columns));
      setFile({ title: chosen.name, rows: await read });
      setUnread(null);
    } catch (error) {
      setUnread(Object.assign(error, { message: `${chosen.name}: ${error.message}` }));
    }
  }

  function forget() {
    for (const set of [setCells, setText, setFile]) set(undefined);
    setUnread(null);
  }

  const drop = (event) => (event.preventDefault(), open(event.dataTransfer.files));
  const head = columns.map((each) => each.name).join(",");
  return html`<section class="card" aria-label=${`Facts for ${name}`} onDragOver=${(event) => event.preventDefault()} onDrop=${drop}>
    <h3>Put facts in</h3>
    <div class="fields">${columns.map((column) => html`<label key=${column.name}>${column.name}<small> ${column.type}</small>
      <input autocomplete="off" spellcheck=${false} inputmode=${KEYBOARDS[column.kind]} placeholder=${column.kind in KEYBOARDS ? undefined : RECORD} value=${cells[column.name] ?? ""}
        onInput=${(event) => setCells({ ...cells, [column.name]: event.target.value })} /></label>`)}</div>
    ${isTyped && !isWhole && html`<p class="quiet">Fill in all columns.</p>`}
    <label>Several rows, as CSV <textarea rows="3" spellcheck=${false} placeholder=${head} value=${text} onInput=${(event) => setText(event.target.value)}></textarea></label>
    <label>A file, or drop one here <input type="file" accept=".csv,.tsv,.txt,.facts,.parquet,.arrow,.feather,.json" onChange=${(event) => (open(event.target.files), (event.target.value = ""))} /></label>
    ${file && html`<p role="status">${file.title}: ${plural(file.rows.length, "row")} <button type="button" onClick=${() => setFile(undefined)}>Leave out</button></p>`}
    <${Complaint} error=${unread ?? wrong} />
    <button type="button" onClick=${() => (forget(), close())}>Cancel</button>
    <${Trial} body=${body} leave=${close} done=${(epoch) => (forget(), done(epoch))} />
  </section>`;
}
