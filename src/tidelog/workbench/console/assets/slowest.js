/** The rules of the recorded epochs, the slowest first, and the plans that they ran with. */

import { useEffect, useState } from "preact/hooks";
import { source } from "console/source";
import { state } from "console/state";
import { Complaint, html, number, plural, seconds } from "console/parts";

const SHOWN = 40;
const PAUSE = 5000; // milliseconds until the profile is read again, where epochs have arrived

/** Return the profile, which is read again while epochs arrive, and the error if that fails. */
function useProfile() {
  const [[profile, error], set] = useState([null, null]);
  useEffect(() => {
    let isShown = true;
    let at = -1;
    async function read() {
      if (at !== state.arrived) {
        at = state.arrived;
        try {
          const found = await source.profile();
          if (isShown) set([found, null]);
        } catch (problem) {
          if (isShown) set(([before]) => [before, problem]);
        }
      }
      if (isShown) timer = setTimeout(read, PAUSE);
    }
    let timer = setTimeout(read, 0);
    return () => {
      isShown = false;
      clearTimeout(timer);
    };
  }, []);
  return [profile, error];
}

/** Rules with their seconds in each epoch, as the heat map wants them. */
function histories(profile) {
  const found = Object.fromEntries(profile.rules.slice(0, SHOWN).map((rule) => [rule.name, { ...rule, history: [] }]));
  for (const { epoch, nodes } of profile.epochs) {
    const spent = new Map();
    for (const node of nodes) for (const rule of node.rules) spent.set(rule.name, (spent.get(rule.name) ?? 0) + rule.seconds);
    for (const [name, time] of spent) found[name]?.history.push({ epoch, seconds: time });
  }
  return Object.values(found);
}

export function SlowestRules({ HeatMap }) {
  const [profile, error] = useProfile();
  const [opened, open] = useState(null);
  if (!profile) return html`<${Complaint} error=${error} />`;
  if (!profile.rules.length) {
    return html`<p class="quiet">${profile.recording ? "No rule has run since the server records epochs." : "The server records no rules. Start it with --profile."}</p>`;
  }
  const rules = histories(profile);
  const share = (time) => (profile.seconds ? `${Math.round((100 * time) / profile.seconds)} %` : "");
  const chosen = rules.find((rule) => rule.name === opened);
  return html`<section aria-label="Rules">
    <${Complaint} error=${error} />
    <p><button type="button" onClick=${() => open(rules[0].name)}>Slowest rule: ${rules[0].name}</button></p>
    ${chosen && html`<${Plans} rule=${chosen} close=${() => open(null)} />`}
    <div class="heat">
      <table>
        <thead><tr><th scope="col">rule</th><th scope="col">time</th><th scope="col">share</th><th scope="col">tried</th>
          <th scope="col">found</th><th scope="col">new</th><th scope="col">rounds</th></tr></thead>
        <tbody>
          ${rules.map((rule) => html`<tr key=${rule.name}>
            <th scope="row"><button type="button" class="plain" title=${rule.text} aria-label=${`Plans of rule ${rule.name}`}
              onClick=${() => open(rule.name)}>${rule.name}</button></th>
            <td>${seconds(rule.seconds)}</td><td>${share(rule.seconds)}</td>
            ${["tried", "found", "new", "rounds"].map((each) => html`<td>${number(rule[each])}</td>`)}</tr>`)}
        </tbody>
        <tbody>${Object.entries(profile.steps).map(([name, time]) => html`<tr key=${name}>
          <th scope="row">(${name})</th><td>${seconds(time)}</td><td>${share(time)}</td></tr>`)}</tbody>
      </table>
      <${HeatMap} boxes=${rules} epochs=${profile.epochs} label="Time by rule and epoch" />
    </div>
  </section>`;
}

function Plans({ rule, close }) {
  return html`<div class="card" role="region" aria-label=${`Plans of rule ${rule.name}`}>
    <button type="button" onClick=${close}>Close</button>
    <pre>${rule.text || rule.name}</pre>
    ${!rule.plans.length && html`<p class="quiet">It is evaluated without plans, together with its hyper-node.</p>`}
    ${rule.plans.map((plan) => html`<table>
      <caption>from ${plan.start}: ${seconds(plan.seconds)} in ${plural(plan.runs, "run")}</caption>
      <thead><tr><th scope="col">level</th><th scope="col">time</th><th scope="col">tried</th><th scope="col">estimated</th><th scope="col">made</th></tr></thead>
      <tbody>
        ${plan.levels.map((level) => html`<tr><th scope="row">${level.text}</th><td>${seconds(level.seconds)}</td>
          <td>${number(level.tried)}</td><td>${number(Math.round(level.estimated))}</td><td>${number(level.made)}</td></tr>`)}
        <tr><th scope="row">insert into the head</th><td>${seconds(plan.inserting)}</td><td>${number(plan.found)}</td><td></td><td>${number(plan.new)}</td></tr>
      </tbody>
    </table>`)}
  </div>`;
}
