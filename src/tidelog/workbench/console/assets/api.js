/** Requests to the server with the token of this tab, its problem documents as errors, and its events as they arrive. */

const TOKEN = "tidelog-token";

export class Problem extends Error {
  constructor(found, status) {
    super(found.detail ?? found.title ?? `status ${status}`);
    Object.assign(this, { status, code: found.code ?? "", hint: found.hint ?? "", line: found.line, column: found.column, length: found.length });
  }
}

/** Numbers of 64 bits keep all digits: a double has 53 of them. */
export function parse(text) {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_, value, context) =>
    typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? "") ? BigInt(context.source) : value);
}

/** Integers keep all digits; infinities are numbers beyond the range of floats, as the server writes them. */
export function write(value) {
  return JSON.stringify(value, (_, each) => {
    const raw = typeof each === "bigint" ? String(each) : each === Infinity ? "1e999" : each === -Infinity ? "-1e999" : null;
    return raw === null ? each : (JSON.rawJSON?.(raw) ?? raw);
  });
}

export const token = () => sessionStorage.getItem(TOKEN) ?? "";

export function setToken(text) {
  if (text) sessionStorage.setItem(TOKEN, text);
  else sessionStorage.removeItem(TOKEN);
}

/** The response to a request; a Problem where it failed. */
export async function ask(path, { method = "GET", body, headers = {}, signal } = {}) {
  const sent = { ...headers };
  if (token()) sent.Authorization = `Bearer ${token()}`;
  const isFile = body instanceof Blob;
  if (body !== undefined) sent["Content-Type"] = isFile ? "application/octet-stream" : "application/json";
  let response;
  try {
    response = await fetch(path, { method, headers: sent, body: body === undefined || isFile ? body : write(body), signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({ detail: "the server does not answer", hint: "start it with `tidelog serve`; the page goes on by itself" }, 0);
  }
  if (response.ok) return response;
  const text = await response.text();
  let found = { detail: text };
  try {
    found = parse(text);
  } catch {
    // A proxy answers in words of its own; they are the detail.
  }
  throw new Problem(found, response.status);
}

export async function json(path, options) {
  return parse(await (await ask(path, options)).text());
}

/** The lines of a response as they arrive. */
export async function* lines(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      const parts = (rest + value).split("\n");
      rest = parts.pop();
      yield* parts;
    }
    if (rest) yield rest;
  } finally {
    await reader.cancel();
  }
}

/** The events after an epoch, each as its name and its data. */
export async function* events(since, signal) {
  const headers = { Accept: "text/event-stream" };
  const response = await ask(`/v1/changes?since=${since}`, { headers, signal });
  let name = "";
  for await (const line of lines(response)) {
    if (line.startsWith("event: ")) name = line.slice(7);
    else if (line.startsWith("data: ")) yield [name, parse(line.slice(6))];
  }
}
