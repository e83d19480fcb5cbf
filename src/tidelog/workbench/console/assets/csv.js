/** Facts from texts: the rows of a text with commas or tabs, and the values of columns. */

import { parse } from "console/api";

/** Return the value of a column that a text stands for. Throw an Error that says why there is none. */
export function valueOf(text, { name, type, kind }) {
  if (kind === "symbol") return text;
  const plain = text.trim();
  if (kind === "number" || kind === "unsigned" ? /^[+-]?\d+$/.test(plain) : kind === "float" ? plain && Number.isFinite(Number(plain)) : plain) {
    try {
      return parse(kind === "float" ? String(Number(plain)) : plain.replace(/^\+/, "").replace(/^(-?)0+(?=\d)/, "$1"));
    } catch {
      // It is a record that is not written as a list of JSON.
    }
  }
  throw new Error(`${JSON.stringify(text)} is no ${type}, the type of ${name}`);
}

/** Return the records of a text (RFC 4180), each with its line. */
function records(text) {
  const separator = text.split("\n", 1)[0].includes("\t") ? "\t" : ",";
  const field = new RegExp(`(?:"((?:[^"]|"")*)"|([^${separator}"\r\n][^${separator}\r\n]*)?)(${separator}|\r?\n|$)`, "y");
  const found = [];
  let [line, start, cells] = [1, 1, []];
  for (let isEnd = false; !isEnd; ) {
    const match = field.exec(text);
    if (!match) throw new Error(`line ${line}: a quoted value has to end with a quote, before the next ${separator === "\t" ? "tab" : "comma"}`);
    const [whole, quoted, plain = "", end] = match;
    cells.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    line += whole.split("\n").length - 1;
    isEnd = end === "";
    if (end === separator) continue;
    if (cells.length > 1 || quoted !== undefined || plain) found.push({ line: start, cells });
    [start, cells] = [line, []];
  }
  return found;
}

/** Return the rows of a text for these columns. The first line may have their names, in any order. Throw an Error with
 * the line that is wrong. */
export function rowsOf(text, columns) {
  const found = records(text.replace(/^\ufeff/, ""));
  const names = found[0]?.cells.map((each) => each.trim()) ?? [];
  const hasHead = names.length === columns.length && columns.every(({ name }) => names.includes(name));
  const places = columns.map(({ name }, at) => (hasHead ? names.indexOf(name) : at));
  return found.slice(hasHead ? 1 : 0).map(({ line, cells }) => {
    if (cells.length !== columns.length) throw new Error(`line ${line} has ${cells.length} values, and ${columns.length} are needed`);
    try {
      return columns.map((column, at) => valueOf(cells[places[at]], column));
    } catch (error) {
      throw new Error(`line ${line}: ${error.message}`);
    }
  });
}
