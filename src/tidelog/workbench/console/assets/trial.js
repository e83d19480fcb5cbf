/** A transaction that is tried out before it is made: errors and the change that it would make, then its commit. */

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { json, Problem, write } from "console/api";
import { reload } from "console/state";
import { useWork, Working } from "console/work";
import { Changes, Complaint, html } from "console/parts";

const PAUSE = 250; // milliseconds without a keystroke until a text is tried
const STOPPED = { detail: "the commit was stopped", hint: "commit again: what has reached the disk before is not done twice" };

const key = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** `body` is a transaction, null for none; `done` is called after its commit, `leave` for Escape, and `report` with the
 * error of the transaction or null. Ctrl+Enter commits from everywhere in the section that this is in. */
export function Trial({ body, done, leave, report }) {
  const text = useMemo(() => (body ? write(body) : ""), [body]);
  const request = useMemo(key, [text]);
  const [tried, setTried] = useState({ text: "", made: null, error: null });
  const [wanted, setWanted] = useState(null); // the text to commit once it has been tried
  const trying = useWork();
  const committing = useWork({ isKept: true });
  const element = useRef(null);
  const send = (query, options) => json(`/v1/transactions?${query}`, { method: "POST", body, ...options });

  function show(made, error) {
    setTried({ text, made, error });
    report?.(error);
  }

  async function attempt() {
    try {
      show(await trying.run((signal) => send("dry_run&change=rows", { signal })), null);
    } catch (error) {
      show(null, error);
    }
  }

  useEffect(() => {
    report?.(null);
    if (!body) return undefined;
    const timer = setTimeout(attempt, PAUSE);
    return () => {
      clearTimeout(timer);
      trying.stop();
    };
  }, [text]);

  async function commit() {
    setWanted(null);
    try {
      const made = await committing.run((signal) => send("", { signal, headers: { "Idempotency-Key": request } }));
      if (!made) throw new Problem(STOPPED, 0);
      await reload();
      done(made.epoch);
    } catch (error) {
      show(tried.made, error);
    }
  }

  const isCurrent = tried.text === text;
  const isReady = Boolean(body && isCurrent && tried.made) && committing.since === null;
  useEffect(() => {
    if (isReady && wanted === text) commit();
  }, [isReady, wanted]);

  useLayoutEffect(() => { // Before the browser draws: a key may come until then.
    const section = element.current.closest("section");
    const press = (event) => {
      const act = event.key === "Escape" ? leave : event.key === "Enter" && (event.ctrlKey || event.metaKey) ? () => setWanted(text) : null;
      if (!act) return;
      event.preventDefault();
      event.stopPropagation();
      act();
    };
    section.addEventListener("keydown", press);
    return () => section.removeEventListener("keydown", press);
  });

  return html`<div class="trial" ref=${element}>
    ${body && html`<div aria-live="polite">
      ${!isCurrent && html`<p class="quiet">Trying …</p>`}
      ${isCurrent && html`<${Complaint} error=${tried.error} />`}
      ${isCurrent && tried.made && html`<h3>The change that it would make</h3><${Changes} changes=${tried.made.changes} />`}
      ${isCurrent && !tried.made && !tried.error && html`<p>Stopped. <button type="button" onClick=${attempt}>Try again</button></p>`}
    </div>
    <${Working} work=${trying} label="The server tries it out" />
    <${Working} work=${committing} label="The server commits" />
    <button type="button" class="main" disabled=${!isReady} onClick=${commit}>Commit</button> <small>Ctrl+Enter</small>`}
  </div>`;
}
