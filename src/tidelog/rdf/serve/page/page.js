"use strict";
// Every value goes into the page as text (`textContent`), and nothing is read as markup.

const MOST_ROWS = 10000;
const UPDATE = /^\s*(?:(?:#[^\n]*\n|prefix\s+\S*\s*<[^>]*>|base\s*<[^>]*>)\s*)*(?:insert|delete|with|load|clear|drop|create|add|move|copy)\b/i;
const part = (id) => document.getElementById(id);
let running = null;

function element(name, text, ...children) {
  const found = document.createElement(name);
  if (text !== null) found.textContent = text;
  found.append(...children);
  return found;
}

function shown(term) {
  if (!term) return "";
  if (term.type === "uri") return `<${term.value}>`;
  if (term.type === "bnode") return `_:${term.value}`;
  if (term.type === "triple") {
    const { subject, predicate, object } = term.value;
    return `<<( ${shown(subject)} ${shown(predicate)} ${shown(object)} )>>`;
  }
  const kind = term["xml:lang"] ? `@${term["xml:lang"]}` : term.datatype ? `^^<${term.datatype}>` : "";
  return `"${term.value}"${kind}`;
}

function table(answer) {
  const names = answer.head.vars;
  const rows = answer.results.bindings;
  const head = element("tr", null);
  for (const name of names) {
    const cell = element("th", name);
    cell.scope = "col";
    head.append(cell);
  }
  const body = element("tbody", null);
  for (const row of rows.slice(0, MOST_ROWS)) {
    body.append(element("tr", null, ...names.map((name) => element("td", shown(row[name])))));
  }
  const more = rows.length > MOST_ROWS ? `, the first ${MOST_ROWS} of them here` : "";
  const caption = element("caption", `${rows.length} ${rows.length === 1 ? "row" : "rows"}${more}`);
  return element("table", null, caption, element("thead", null, head), body);
}

function problem(document, text) {
  const found = [element("p", `${document.code ?? "Error"}: ${document.detail ?? document.title ?? "no answer"}`)];
  if (document.line) {
    found.push(element("p", `Line ${document.line}, column ${document.column}:`));
    const line = text.split("\n")[document.line - 1] ?? "";
    const at = Math.max(0, (document.column ?? 1) - 1);
    found.push(element("pre", line.slice(0, at), element("mark", line.slice(at, at + 1) || " "), line.slice(at + 1)));
    const before = text.split("\n").slice(0, document.line - 1).join("\n").length + (document.line > 1 ? 1 : 0) + at;
    part("text").setSelectionRange(before, before + 1);
  }
  if (document.hint) found.push(element("p", `Hint: ${document.hint}`));
  part("error").replaceChildren(...found);
  part("error").hidden = false;
}

function answered(type, text) {
  if (type === "application/json") return contradictions(JSON.parse(text));
  if (type.includes("sparql-results+json")) {
    const answer = JSON.parse(text);
    return "boolean" in answer ? element("p", answer.boolean ? "Yes" : "No") : table(answer);
  }
  return element("pre", text);
}

function spelled(symbol) {
  return /^["_]|^<<\(/.test(symbol) ? symbol : `<${symbol}>`;
}

function contradictions(found) {
  const list = element("ul", null);
  for (const { rule, terms, triples } of found) {
    const lines = triples.map((triple) => `${triple.map(spelled).join(" ")} .`).join("\n");
    list.append(element("li", `${rule}: ${terms.map(spelled).join(", ")}`, element("pre", lines)));
  }
  return element("div", null, element("p", `${found.length} inconsistencies, with what they follow from`), list);
}

function sparql(text, updates) {
  const headers = { "Content-Type": `application/sparql-${updates ? "update" : "query"}` };
  headers.Accept = "application/sparql-results+json, text/turtle;q=0.9, */*;q=0.1";
  return [updates ? "update" : "sparql", { method: "POST", headers, body: text }];
}

async function run(path, options, updates) {
  const text = part("text").value;
  const headers = { ...options.headers };
  if (part("token").value) headers.Authorization = `Bearer ${part("token").value}`;
  part("error").hidden = true;
  part("answer").replaceChildren();
  part("status").textContent = "Running…";
  part("run").disabled = true;
  part("stop").disabled = false;
  running = new AbortController();
  const start = performance.now();
  try {
    const response = await fetch(path, { ...options, headers, signal: running.signal });
    const body = await response.text();
    const seconds = ((performance.now() - start) / 1000).toFixed(3);
    if (!response.ok) {
      problem(JSON.parse(body), text);
      part("status").textContent = `Failed after ${seconds} s`;
      return;
    }
    part("status").textContent = `${updates ? "Committed" : "Answered"} after ${seconds} s`;
    if (!updates) part("answer").replaceChildren(answered(response.headers.get("Content-Type") ?? "", body));
  } catch (error) {
    const stopped = error.name === "AbortError";
    part("status").textContent = stopped ? "Stopped" : "Failed";
    if (!stopped) problem({ detail: `the answer broke off, or cannot be read: ${error.message}` }, text);
  } finally {
    part("run").disabled = false;
    part("stop").disabled = true;
    running = null;
  }
}

part("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = part("text").value;
  const updates = UPDATE.test(text);
  if (!running) run(...sparql(text, updates), updates);
});
part("clashes").addEventListener("click", () => {
  if (!running) run("inconsistencies", { headers: { Accept: "application/json" } }, false);
});
part("stop").addEventListener("click", () => running?.abort());
part("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    part("form").requestSubmit();
  }
});
