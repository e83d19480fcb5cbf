/** A transaction that is tried out before it is made: errors and the change that it would make, then its commit. */

import { useEffect, useState } from "preact/hooks";
import { json } from "console/api";
import { reload } from "console/state";
import { Changes, Complaint, html } from "console/parts";

const PAUSE = 250; // milliseconds without a keystroke until a text is tried

const key = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** `body` is a transaction, null for none; `done` is called after its commit. */
export function Trial({ body, done }) {
  const text = JSON.stringify(body, (_, value) => (typeof value === "bigint" ? `${value}n` : value));
  const [tried, setTried] = useState({ text: "", made: null, error: null });
  const [busy, setBusy] = useState(false);

  useEffect(() => {
    if (!body) return undefined;
    const stop = new AbortController();
    const timer = setTimeout(async () => {
      try {
        const made = await json("/v1/transactions?dry_run&change=rows", { method: "POST", body, signal: stop.signal });
        setTried({ text, made, error: null });
      } catch (error) {
        if (error.name !== "AbortError") setTried({ text, made: null, error });
      }
    }, PAUSE);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [text]);

  async function commit() {
    setBusy(true);
    try {
      const made = await json("/v1/transactions", { method: "POST", body, headers: { "Idempotency-Key": key() } });
      await reload();
      done(made.epoch);
    } catch (error) {
      setTried({ text, made: null, error });
    } finally {
      setBusy(false);
    }
  }

  if (!body) return null;
  const isCurrent = tried.text === text;
  return html`<div class="trial">
    <div aria-live="polite">
      ${!isCurrent && html`<p class="quiet">Trying …</p>`}
      ${isCurrent && tried.error && html`<${Complaint} error=${tried.error} />`}
      ${isCurrent && tried.made && html`<h3>The change that it would make</h3><${Changes} changes=${tried.made.changes} />`}
    </div>
    <button type="button" class="main" disabled=${busy || !isCurrent || !tried.made} onClick=${commit}>Commit</button>
  </div>`;
}
