/** The page Profile: where the time of the last hundred epochs went, by hyper-node and by rule. */

import { useEffect, useRef } from "preact/hooks";
import { heat, useGraph } from "console/graph";
import { addressOf, Complaint, html, number, seconds } from "console/parts";
import { SlowestRules } from "console/slowest";

const SHOWN = 40;
const CELL = 8;
const ROW = 22;

export function Profile() {
  const [graph, error] = useGraph();
  if (!graph) return html`<${Complaint} error=${error} />`;
  return html`<div>
    <${Complaint} error=${error} />
    <${HyperNodes} graph=${graph} />
    <${SlowestRules} Map=${Map} />
  </div>`;
}

function HyperNodes({ graph }) {
  const total = graph.boxes.reduce((sum, box) => sum + box.seconds, 0);
  const boxes = graph.boxes.filter((box) => box.history.length).sort((one, other) => other.seconds - one.seconds).slice(0, SHOWN);
  if (!boxes.length) return html`<p class="quiet">The server has not seen an epoch yet.</p>`;
  const [slowest] = boxes;
  return html`<section aria-label="Hyper-nodes">
    <p>${number(graph.epochs.length)} epochs took ${seconds(total)} in hyper-nodes.${" "}<a href=${addressOf("rules", slowest.title)}>Slowest: ${slowest.title}</a></p>
    <div class="heat">
      <table>
        <thead><tr><th scope="col">hyper-node</th><th scope="col">time</th><th scope="col">share</th><th scope="col">epochs</th><th scope="col">impact</th></tr></thead>
        <tbody>${boxes.map((box) => html`<tr key=${box.title}>
          <th scope="row"><a href=${addressOf("rules", box.title)} title=${box.title}>${box.title}</a></th>
          <td>${seconds(box.seconds)}</td><td>${total ? Math.round((100 * box.seconds) / total) : 0} %</td>
          <td>${box.history.length}</td><td>${number(box.impact)}</td></tr>`)}</tbody>
      </table>
      <${Map} boxes=${boxes} epochs=${graph.epochs} label="Time by hyper-node and epoch" />
    </div>
  </section>`;
}

/** The heat map: a row for each row of the table beside it, a column for each epoch, the last one at the right. */
function Map({ boxes, epochs, label }) {
  const canvas = useRef(null);
  const width = Math.max(1, epochs.length) * CELL;
  const height = boxes.length * ROW;
  useEffect(() => {
    const style = getComputedStyle(document.documentElement);
    const colours = [0, 1, 2, 3, 4, 5].map((level) => style.getPropertyValue(`--heat-${level}`));
    const drawing = canvas.current.getContext("2d");
    const columns = Object.fromEntries(epochs.map((each, at) => [each.epoch, at]));
    const most = Math.max(...boxes.flatMap((box) => box.history.map((each) => each.seconds)));
    drawing.clearRect(0, 0, width, height);
    boxes.forEach((box, row) => {
      for (const each of box.history) {
        drawing.fillStyle = colours[heat(each.seconds, most)];
        drawing.fillRect(columns[each.epoch] * CELL, row * ROW + 2, CELL - 1, ROW - 4);
      }
    });
  });
  const first = epochs[0]?.epoch;
  return html`<figure>
    <canvas ref=${canvas} width=${width} height=${height} role="img" aria-label=${label}></canvas>
    <figcaption>epochs ${first} to ${epochs.at(-1)?.epoch}</figcaption>
  </figure>`;
}
