/** The console: its pages, and the token that the server may ask for. */

import { render } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { setToken, token } from "console/api";
import { source } from "console/source";
import { follow, useLive } from "console/state";
import { Changes } from "console/changes";
import { addressOf, Complaint, html, placeOf } from "console/parts";
import { Profile } from "console/profile";
import { First } from "console/program";
import { Query } from "console/query";
import { Rules } from "console/rules";
import { Trust } from "console/trust";
import { Views } from "console/views";

const PAGES = { rules: Rules, views: Views, ...(source.isLive && { query: Query }), changes: Changes, profile: Profile, trust: Trust };
const OF_RELATIONS = [Rules, Views, Query];
const title = (name) => name[0].toUpperCase() + name.slice(1);

function Console() {
  const { epoch, status, problem, needsToken, relations } = useLive();
  const [place, setPlace] = useState(placeOf());
  useLayoutEffect(() => { // Before the browser draws: an effect comes after, and would miss a change until then.
    const move = () => setPlace(placeOf());
    addEventListener("hashchange", move);
    return () => removeEventListener("hashchange", move);
  }, []);
  const name = place[0] in PAGES ? place[0] : "rules";
  useEffect(() => {
    document.title = `${title(name)} · tidelog`;
  }, [name]);
  const isEmpty = source.isLive && !relations.size && OF_RELATIONS.includes(PAGES[name]);
  const Page = isEmpty ? First : PAGES[name];
  return html`
    <header>
      <h1>tidelog</h1>
      <nav aria-label="Pages">${Object.keys(PAGES).map((each) => html`
        <a href=${addressOf(each)} aria-current=${each === name ? "page" : undefined}>${title(each)}</a>`)}</nav>
      <span class="status" data-status=${status}>${source.isLive ? `epoch ${epoch} · ${status}` : `a file of epoch ${epoch}`}</span>
      ${source.isLive && token() && html`<button type="button" onClick=${() => (setToken(""), location.reload())}>Forget token</button>`}
    </header>
    <main>
      ${needsToken ? html`<${Token} error=${problem} />` : html`<${Complaint} error=${problem} />`}
      ${!needsToken && status !== "connecting" && html`<${Page} chosen=${place[1]} />`}
    </main>`;
}

function Token({ error }) {
  const [text, setText] = useState("");
  const enter = (event) => {
    event.preventDefault();
    setToken(text.trim());
    follow();
  };
  return html`<form class="card" onSubmit=${enter}>
    <label>Token <input type="password" autocomplete="off" required value=${text} onInput=${(event) => setText(event.target.value)} /></label>
    <button class="main">Enter</button>
    ${token() && html`<${Complaint} error=${error} />`}
    <p class="quiet">The token stays in this tab, until the tab is closed.</p>
  </form>`;
}

render(html`<${Console} />`, document.getElementById("console"));
follow();
