/** What all pages share: the relations with their sizes and the changes of the last epochs.
 *
 * Events change the state as they arrive. Pages are drawn from it ten times a second at most, so that a fast feed costs
 * no drawing, and a hidden tab nothing at all. */

import { useLayoutEffect, useState } from "preact/hooks";
import { events, Problem } from "console/api";
import { source } from "console/source";

export const KEPT = 300; // epochs of the feed
const BARS = 40; // changes of a relation in its small picture
const MOST_ROWS = 100_000; // tuples of the feed; older epochs keep their numbers only
const BEFORE = 50; // epochs of the feed that came before the page
const PAUSE = 100; // milliseconds between two drawings

export const state = {
  epoch: 0, // of the last event
  sizesAt: 0, // the epoch of the sizes that were read; events up to it do not change them
  drawnAt: 0, // the last epoch in the small pictures
  relations: new Map(), // name -> {name, columns, size, rules, bars, version}
  rules: [],
  graph: null, // the rule graph with the reports of the last epochs, and the number of epochs that had arrived then
  graphAt: 0,
  feed: [], // the last epochs, oldest first: {epoch, changes, missed}
  arrived: 0, // epochs since the page was opened
  status: "connecting",
  problem: null,
  needsToken: false,
};

const listeners = new Set();
let isWaiting = false;

export function changed() {
  if (isWaiting) return;
  isWaiting = true;
  setTimeout(() => requestAnimationFrame(() => {
    isWaiting = false;
    for (const draw of listeners) draw({});
  }), PAUSE);
}

/** Draw a component again when the state has changed. */
export function useLive() {
  const [, draw] = useState({});
  useLayoutEffect(() => { // Before the browser draws, so that no change is missed.
    listeners.add(draw);
    return () => listeners.delete(draw);
  }, []);
  return state;
}

const drafts = new Map(); // what people have typed and not sent, by the part of the page

/** A state of a component that is still there after other pages were shown; undefined forgets it. */
export function useDraft(key, initial) {
  const [value, set] = useState(() => (drafts.has(key) ? drafts.get(key) : initial));
  const keep = (next) => {
    if (next === undefined) drafts.delete(key);
    else drafts.set(key, next);
    set(next ?? initial);
  };
  return [value, keep];
}

export const count = (rows) => (Array.isArray(rows) ? rows.length : rows);

async function load() {
  const [{ epoch, relations }] = await Promise.all([source.relations(), loadGraph()]);
  const before = state.relations;
  state.relations = new Map(relations.map((each) => [each.name, { bars: [], version: 0, ...before.get(each.name), ...each }]));
  state.sizesAt = epoch;
  if (!before.size || epoch < state.epoch) begin(epoch);
}

/** Begin the feed and the small pictures with the epochs that the server has reports of. */
function begin(epoch) {
  const { epochs } = state.graph;
  for (const each of epochs) for (const [name, sizes] of Object.entries(each.changes)) draw(name, ...sizes);
  state.drawnAt = Math.max(epoch, epochs.at(-1)?.epoch ?? 0);
  const first = epochs.slice(-BEFORE)[0]?.epoch;
  state.epoch = !source.isLive || first === undefined ? epoch : Math.min(epoch, first - 1);
  state.feed = source.isLive ? [] : epochs.map(({ epoch: number, changes }) => ({
    epoch: number,
    changes: Object.fromEntries(Object.entries(changes).map(([name, [inserted, deleted]]) => [name, { inserted, deleted }])),
  }));
}

/** Read the rules and their graph. */
export async function loadGraph() {
  state.graphAt = state.arrived;
  const [{ rules }, graph] = await Promise.all([source.rules(), source.graph()]);
  Object.assign(state, { rules, graph });
}

function draw(name, inserted, deleted) {
  const relation = state.relations.get(name);
  if (!relation || !(inserted || deleted)) return;
  relation.bars = [...relation.bars.slice(-BARS + 1), [inserted, deleted]];
  relation.version += 1;
}

/** Take the changes of an epoch in; return false if rules or declarations have changed. */
function take({ epoch, changes, rules }) {
  for (const [name, { inserted, deleted }] of Object.entries(changes)) {
    const relation = state.relations.get(name);
    if (relation && epoch > state.sizesAt) relation.size += count(inserted) - count(deleted);
    if (epoch > state.drawnAt) draw(name, count(inserted), count(deleted));
  }
  state.drawnAt = Math.max(epoch, state.drawnAt);
  state.epoch = epoch;
  state.arrived += 1;
  state.feed.push({ epoch, changes });
  if (state.feed.length > 2 * KEPT) state.feed.splice(0, state.feed.length - KEPT);
  unseen += sizeOf(changes);
  if (unseen > MOST_ROWS / 10) shrink();
  return !rules;
}

const sizeOf = (changes) => Object.values(changes).reduce((sum, { inserted, deleted }) => sum + count(inserted) + count(deleted), 0);

let unseen = 0; // tuples of the feed since it was shrunk

/** Keep numbers in place of tuples in the older epochs of the feed, where it has too many. */
function shrink() {
  let rows = 0;
  unseen = 0;
  for (let at = state.feed.length - 1; at >= 0; at -= 1) {
    const { epoch, changes, isShort } = state.feed[at];
    if (isShort) return;
    rows += sizeOf(changes);
    if (rows > MOST_ROWS && at < state.feed.length - 1) {
      const sizes = Object.entries(changes).map(([name, each]) => [name, { inserted: count(each.inserted), deleted: count(each.deleted) }]);
      state.feed[at] = { epoch, changes: Object.fromEntries(sizes), isShort: true };
    }
  }
}

const LOST = { detail: "the connection to the server broke", hint: "the page goes on by itself once the server is back" };

/** Follow the server, and begin again after each break. */
export async function follow() {
  for (let pause = 500; ; pause = Math.min(2 * pause, 10_000)) {
    try {
      await load();
      Object.assign(state, { status: source.isLive ? "following" : "file", problem: null, needsToken: false });
      changed();
      if (!source.isLive) return;
      pause = 500;
      const broken = new AbortController();
      for await (const [name, data] of events(state.epoch, broken.signal)) {
        if (name === "missed") {
          state.feed.push({ epoch: data.to, changes: {}, missed: data.from });
          state.epoch = data.to;
          await load();
        } else if (name === "change" && data.epoch > state.epoch && !take(data)) await reload();
        changed();
      }
    } catch (error) {
      Object.assign(state, { status: "waiting for the server", problem: error instanceof Problem ? error : new Problem(LOST, 0) });
      state.needsToken = error instanceof Problem && error.status === 401;
      changed();
      if (state.needsToken) return;
      if (!(error instanceof Problem) && error.name !== "TypeError") throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

/** Read relations and rules again, after rules have changed. */
export async function reload() {
  await load();
  changed();
}
