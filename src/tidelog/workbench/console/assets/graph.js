/** The rule graph, and what the last epochs did in each of its boxes. */

import { useEffect, useMemo, useState } from "preact/hooks";
import { changed, loadGraph, state, useLive } from "console/state";
import { arrowPath, layout } from "console/layout";
import { html, number, seconds } from "console/parts";

const PAUSE = 2000; // milliseconds until the graph is read again, where epochs have arrived

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
  return { boxes: found, arrows, epochs };
}

/** From 0 for nothing to 5 for the most, by powers. */
export function heat(value, most) {
  if (!(value > 0) || !(most > 0)) return 0;
  return Math.max(1, Math.round(5 + Math.log10(value / most) * 1.25));
}

const short = (text) => (text.length > 20 ? `${text.slice(0, 19)}…` : text);

export function Graph({ graph, chosen, choose }) {
  const shape = JSON.stringify([graph.boxes.map((box) => box.title), graph.arrows]);
  const { places, width, height } = useMemo(() => layout(graph.boxes, graph.arrows), [shape]);
  const arrows = useMemo(() => graph.arrows.map(({ source: from, target, negative }) => html`
    <path class=${negative ? "arrow negative" : "arrow"} d=${arrowPath(places[from], places[target])} marker-end="url(#head)" />`), [shape]);
  const most = Math.max(...graph.boxes.map((box) => box.seconds));
  // The page is drawn for each change of a size; the picture is not.
  return useMemo(() => html`<div class="picture" tabindex="0" role="group" aria-label="Rule graph">
    <svg viewBox=${`0 0 ${width} ${height}`} width=${width} height=${height}>
      <defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
        <path class="head" d="M0,0 L8,4 L0,8 z" /></marker></defs>
      ${arrows}
      ${graph.boxes.map((box, index) => {
        const { x, y, width: wide, height: high } = places[index];
        const facts = box.sort === "given";
        const label = `${facts ? "facts" : box.recursive ? "recursive hyper-node" : "hyper-node"} ${box.title}, ${seconds(box.seconds)}, ${number(box.impact)} tuples changed`;
        const open = () => choose(box.title);
        return html`<g class=${`box ${box.sort} heat-${heat(box.seconds, most)} ${chosen === box.title ? "chosen" : ""}`}
            transform=${`translate(${x} ${y})`} role="button" tabindex="0" aria-label=${label} aria-pressed=${chosen === box.title ? "true" : "false"}
            onClick=${open} onKeyDown=${(event) => ["Enter", " "].includes(event.key) && (event.preventDefault(), open())}>
          <title>${box.title}</title>
          <rect width=${wide} height=${high} rx="6" stroke-width=${1 + Math.log10(1 + box.impact)} />
          <text x=${wide / 2} y="18" text-anchor="middle">${short(box.title)}${box.recursive ? " ↻" : ""}</text>
          <text class="small" x=${wide / 2} y="34" text-anchor="middle">
            ${facts ? "facts" : !box.rules.length ? seconds(box.seconds) : `${box.rules.length} ${box.rules.length === 1 ? "rule" : "rules"} · ${seconds(box.seconds)}`}</text>
        </g>`;
      })}
    </svg>
  </div>`, [graph, chosen]);
}
