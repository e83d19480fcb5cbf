/** Why a tuple is there or is not, what would change that, and since when it is there. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { json, write } from "console/api";
import { Trial } from "console/trial";
import { useWork, Working } from "console/work";
import { Complaint, html, number, tupleText } from "console/parts";

const KINDS = {
  explain: "Proof",
  "why-not": "Why not",
  "ways-to-remove": "Ways to remove",
  "ways-to-derive": "Ways to derive",
  blame: "Blame",
};

/** `done` is called after a commit that somebody makes here. */
export function Tuple({ relation, values, close, done }) {
  const [text, setText] = useState(write(values));
  const [found, setFound] = useState(null);
  const [error, setError] = useState(null);
  const [epoch, setEpoch] = useState(null); // of the last commit
  const work = useWork();
  const section = useRef(null);

  async function ask(kind) {
    setFound(null);
    setError(null);
    setEpoch(null);
    try {
      const parameters = new URLSearchParams({ relation: relation.name, tuple: text });
      const answer = await work.run((signal) => json(`/v1/${kind}?${parameters}`, { signal }));
      if (answer) setFound({ kind, ...answer });
    } catch (problem) {
      setError(problem);
    }
  }

  useEffect(() => {
    section.current.focus({ preventScroll: true });
    section.current.scrollIntoView({ block: "nearest" });
    if (values.length || !relation.columns.length) ask("explain");
  }, []);

  const committed = (number) => (setFound(null), setEpoch(number), done(number));
  const proved = found?.proofs?.[0].steps.at(-1);
  return html`<section class="card" aria-label="Tuple" tabindex="-1" ref=${section} onKeyDown=${(event) => event.key === "Escape" && close()}>
    <label>${relation.name} <input class="tuple" spellcheck=${false} value=${text} placeholder='[1, "a"]' onInput=${(event) => setText(event.target.value)} /></label>
    ${Object.entries(KINDS).map(([kind, title]) => html`<button type="button" aria-pressed=${found?.kind === kind ? "true" : "false"} onClick=${() => ask(kind)}>${title}</button>`)}
    <button type="button" onClick=${close}>Close</button>
    <${Working} work=${work} label="The server looks for it" />
    <${Complaint} error=${error} />
    ${epoch !== null && html`<p role="status">Committed as epoch ${epoch}.</p>`}
    ${found?.proofs?.map((proof) => html`<div class="proof"><${Step} steps=${proof.steps} at=${proof.steps.length - 1} open=${true} /></div>`)}
    ${proved?.sort === "fact" && html`<${Delete} key=${text} fact=${[proved.relation, proved.tuple]} done=${committed} />`}
    ${found?.absence && html`<${Absence} absence=${found.absence} />`}
    ${found?.blame && html`<${Blame} blame=${found.blame} />`}
    ${found?.removals && html`<${Ways} ways=${found.removals} verb="delete" title="Delete" more=${found.more} done=${committed} />`}
    ${found?.additions && html`<${Ways} ways=${found.additions} verb="insert" title="Insert" more=${found.more} done=${committed} />`}
  </section>`;
}

/** A step of a proof. What it rests on is drawn once somebody opens it: proofs share steps, and may be deep. */
function Step({ steps, at, open = false }) {
  const [isOpen, setOpen] = useState(open);
  const { relation, tuple, sort, rule, text, premises, conditions, height } = steps[at];
  const name = tupleText(relation, tuple);
  if (!premises.length && !conditions.length) return html`<div class="leaf">${name} <small>${sort}</small></div>`;
  return html`<details open=${isOpen} onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary>${name} <small>${rule ?? sort}, height ${height}</small></summary>
    ${isOpen && html`
      ${text && html`<pre>${text}</pre>`}
      ${premises.map((each) => html`<${Step} key=${each} steps=${steps} at=${each} />`)}
      ${conditions.map((each) => html`<div class="leaf">${each.text}${each.members !== undefined && html` <small>${number(each.members)} members</small>`}</div>`)}`}
  </details>`;
}

function Absence({ absence }) {
  return html`<div class="proof">
    <p>${tupleText(absence.relation, absence.tuple)} does not hold.${absence.above && " Its rules are shown above."}
      ${!absence.attempts.length && !absence.above && " No rule derives it, and it is not asserted."}</p>
    ${absence.near.length > 0 && html`<p>Close to it: ${absence.near.join(", ")}</p>`}
    ${absence.attempts.map((attempt) => html`<details open>
      <summary>${attempt.rule}${attempt.failed && html`: nothing matches <code>${attempt.failed}</code>`}</summary>
      <pre>${attempt.text}</pre>
      ${attempt.met.length > 0 && html`<p>Matched before it: ${attempt.met.join(", ")}</p>`}
      ${attempt.near.length > 0 && html`<p>Close to it: ${attempt.near.join(", ")}</p>`}
      ${attempt.below && html`<${Absence} absence=${attempt.below} />`}
    </details>`)}
  </div>`;
}

function Blame({ blame }) {
  return html`<div class="proof">
    <p>It holds since epoch ${blame.epoch}${blame.or_before && " or before"}.</p>
    <ul>${blame.facts.map(([name, row]) => html`<li>fact ${tupleText(name, row)}</li>`)}
      ${blame.rules.map((name) => html`<li>rule ${name}</li>`)}
      ${blame.conditions.map((each) => html`<li>under the condition ${each}</li>`)}</ul>
  </div>`;
}

/** The deletion of an asserted fact, with the change that it would make. */
function Delete({ fact: [name, row], done }) {
  const [isOpen, setOpen] = useState(false);
  const body = useMemo(() => ({ delete: { [name]: [row] } }), []);
  if (!isOpen) return html`<button type="button" onClick=${() => setOpen(true)}>Delete this fact</button>`;
  return html`<${Trial} body=${body} done=${done} leave=${() => setOpen(false)} />`;
}

/** Sets of facts, each of which can be tried and committed. */
function Ways({ ways, verb, title, more, done }) {
  const [tried, setTried] = useState(null);
  const bodies = useMemo(() => ways.map((facts) => {
    const found = {};
    for (const [name, row] of facts) (found[name] ??= []).push(row);
    return { [verb]: found };
  }), [ways]);
  if (!ways.length) return html`<p>There is no way.</p>`;
  return html`<ol class="ways">${ways.map((facts, at) => html`<li>
      ${title} ${facts.map(([name, row]) => tupleText(name, row)).join(", ")}
      <button type="button" onClick=${() => setTried(at)}>Try</button>
      ${tried === at && html`<${Trial} body=${bodies[at]} done=${done} leave=${() => setTried(null)} />`}
    </li>`)}
    ${more && html`<li>and more</li>`}
  </ol>`;
}
