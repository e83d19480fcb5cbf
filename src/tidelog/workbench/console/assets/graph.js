/** The rule graph, and what the last epochs did in each of its boxes. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { changed, loadGraph, state, useLive } from "console/state";
import { BOX, layout } from "console/layout";
import { Complaint, html, middle, plural, seconds } from "console/parts";

const PAUSE = 2000; // milliseconds until the graph is read again, where epochs have arrived
const LINE = 21; // letters of a title in a line of its box, which has two
const HEIGHT = 0.72; // of the window, that the picture may have
const LEAST = 0.1; // of the scale
const READABLE = 0.65; // of the scale, with which a large graph opens

/** Return the graph with the totals of each box, which is read again while epochs arrive, and the error if that fails. */
export function useGraph() {
  const { graph } = useLive();
  const [error, setError] = useState(null);
  useEffect(() => {
    let isShown = true;
    async function read() {
      try {
        if (state.graphAt !== state.arrived) await loadGraph().then(changed);
        if (isShown) setError(null);
      } catch (problem) {
        if (isShown) setError(problem);
      }
      if (isShown) timer = setTimeout(read, PAUSE);
    }
    let timer = setTimeout(read, 0);
    return () => {
      isShown = false;
      clearTimeout(timer);
    };
  }, []);
  return [useMemo(() => graph && summed(graph), [graph]), error];
}

/** Return a graph whose boxes have what its epochs did in them, by epoch and in total. */
export function summed({ boxes, arrows, epochs }) {
  const owner = new Map();
  boxes.forEach((box, index) => box.relations.forEach((name) => owner.set(name, index)));
  boxes.forEach((box, index) => box.rules.forEach((name) => owner.set(`rule ${name}`, index)));
  const found = boxes.map((box) => ({ ...box, title: box.titles.join(", "), history: [], seconds: 0, impact: 0 }));
  for (const { epoch, nodes } of epochs) {
    for (const node of nodes) {
      // Auxiliary hyper-nodes have no relation of the program: their time is that of the rule that needs them.
      const box = found[owner.get(node.relations[0] ?? `rule ${node.rules[0]}`)];
      if (!box) continue;
      box.history.push({ epoch, ...node });
      box.seconds += node.seconds;
      box.impact += node.impact;
    }
  }
  for (const box of found) box.runs = new Set(box.history.map((each) => each.epoch)).size;
  return { boxes: found, arrows, epochs };
}

const SLOW = [0.001, 0.01, 0.1, 1, 10]; // seconds of an epoch from which a colour is the next one

/** Return the colour of the time of an epoch, from 0 to 5: the same one in each program, so that what is fast stays pale. */
export const heat = (time) => SLOW.filter((each) => time >= each).length;

export function Legend() {
  return html`<p class="quiet legend">Time of an epoch: ${SLOW.map((each, at) => html`<span class="entry"><span class=${`swatch heat-${at}`}></span> below ${each < 1 ? `${each * 1000} ms` : `${each} s`}</span> `)}
    <span class="entry"><span class="swatch heat-5"></span> more</span></p>`;
}

/** Return the layout of a graph, null until it is there, and the error if it fails. */
function useLayout(graph) {
  const shape = JSON.stringify([graph.boxes.map((box) => box.title), graph.arrows]);
  const [[found, error], set] = useState([null, null]);
  useEffect(() => {
    let isShown = true;
    layout(graph.boxes, graph.arrows).then(
      (drawn) => isShown && set([{ ...drawn, shape }, null]),
      (problem) => isShown && set([null, problem]),
    );
    return () => (isShown = false);
  }, [shape]);
  return [found?.shape === shape ? found : null, error];
}

export function Graph({ graph, chosen, choose }) {
  const [drawn, error] = useLayout(graph);
  const [zoom, setZoom] = useState(null); // null: all of it, if its letters can be read then
  const [room, setRoom] = useState([0, 0]);
  const frame = useRef(null);
  useEffect(() => {
    const watch = new ResizeObserver(([{ contentRect }]) => setRoom([contentRect.width, window.innerHeight * HEIGHT]));
    watch.observe(frame.current);
    return () => watch.disconnect();
  }, []);
  const fit = drawn ? Math.max(LEAST, Math.min(1, room[0] / drawn.width, room[1] / drawn.height)) : 1;
  const scale = zoom ?? Math.max(READABLE, fit);
  const step = (factor) => setZoom(Math.min(2, Math.max(LEAST, scale * factor)));
  // The page is drawn for each change of a size; the picture is not.
  const picture = useMemo(() => drawn && html`<${Picture} ...${{ graph, drawn, chosen, choose, scale }} />`, [graph, drawn, chosen, scale]);
  return html`<div>
    <${Complaint} error=${error} />
    <div class="tools zoom"><button type="button" aria-label="Zoom in" onClick=${() => step(1.25)}>+</button>
      <button type="button" aria-label="Zoom out" onClick=${() => step(0.8)}>−</button>
      <button type="button" onClick=${() => setZoom(fit)}>Fit</button> <${Legend} /></div>
    <div class="picture" tabindex="0" role="group" aria-label="Rule graph" ref=${frame}
      onWheel=${(event) => event.ctrlKey && (event.preventDefault(), step(event.deltaY < 0 ? 1.1 : 0.9))}>${picture}</div>
  </div>`;
}

function Picture({ graph, drawn: { places, ways, width, height }, chosen, choose, scale }) {
  return html`<svg viewBox=${`0 0 ${width} ${height}`} width=${width * scale} height=${height * scale}>
    <defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
      <path class="head" d="M0,0 L8,4 L0,8 z" /></marker></defs>
    ${graph.arrows.map(({ negative }, at) => html`<path class=${negative ? "arrow negative" : "arrow"} d=${ways[at]} marker-end="url(#head)" />`)}
    ${graph.boxes.map((box, index) => {
      const { x, y } = places[index];
      const facts = box.sort === "given";
      const text = middle(box.title, 2 * LINE - 2) + (box.recursive ? " ↻" : "");
      const lines = [text.slice(0, LINE), text.slice(LINE)].filter(Boolean);
      const label = `${facts ? "facts" : box.recursive ? "recursive hyper-node" : "hyper-node"} ${box.title}, ${seconds(box.seconds)}, ${plural(box.impact, "tuple")} changed`;
      const open = () => choose(box.title);
      return html`<g class=${`box ${box.sort} heat-${heat(box.seconds / box.runs)} ${chosen === box.title ? "chosen" : ""}`}
          transform=${`translate(${x - BOX.width / 2} ${y - BOX.height / 2})`} role="button" tabindex="0" aria-label=${label} aria-pressed=${chosen === box.title ? "true" : "false"}
          onClick=${open} onKeyDown=${(event) => ["Enter", " "].includes(event.key) && (event.preventDefault(), open())}>
        <title>${box.title}</title>
        <rect width=${BOX.width} height=${BOX.height} rx="6" stroke-width=${1 + Math.log10(1 + box.impact)} />
        ${lines.map((line, at) => html`<text x=${BOX.width / 2} y=${(lines.length > 1 ? 16 : 23) + 15 * at} text-anchor="middle">${line}</text>`)}
        <text class="small" x=${BOX.width / 2} y=${lines.length > 1 ? 48 : 41} text-anchor="middle">
          ${facts ? "facts" : !box.rules.length ? seconds(box.seconds) : `${plural(box.rules.length, "rule")} · ${seconds(box.seconds)}`}</text>
      </g>`;
    })}
  </svg>`;
}
