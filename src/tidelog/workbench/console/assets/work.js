/** Work that the server does for somebody who waits: its time so far, and a Stop that ends it in the server as well. */

import { useEffect, useRef, useState } from "preact/hooks";
import { html } from "console/parts";

const PATIENCE = 300; // milliseconds until the bar appears
const TICK = 100;

/** Return work that nobody has begun. `run` calls a function with the signal that ends its requests, and returns what it
 * returns, undefined once it was stopped. Another run stops the one before; `isKept` work goes on without the page. */
export function useWork({ isKept = false } = {}) {
  const [since, setSince] = useState(null);
  const current = useRef(null);
  const stop = () => current.current?.abort();
  useEffect(() => (isKept ? undefined : stop), []);

  async function run(act) {
    stop();
    const mine = new AbortController();
    current.current = mine;
    setSince(performance.now());
    try {
      return await act(mine.signal);
    } catch (error) {
      if (error.name !== "AbortError") throw error;
      return undefined;
    } finally {
      if (current.current === mine) setSince(null);
    }
  }

  return { since, run, stop };
}

/** A bar with the time that work has taken, and a button that stops it. */
export function Working({ work, label }) {
  const [, draw] = useState(0);
  useEffect(() => {
    if (work.since === null) return undefined;
    const timer = setInterval(() => draw(performance.now()), TICK);
    return () => clearInterval(timer);
  }, [work.since]);
  const elapsed = work.since === null ? 0 : performance.now() - work.since;
  if (elapsed < PATIENCE) return null;
  return html`<p class="working"><progress aria-label=${label}></progress> ${label} <span class="elapsed">${(elapsed / 1000).toFixed(1)} s</span>
    <button type="button" onClick=${work.stop}>Stop</button></p>`;
}
