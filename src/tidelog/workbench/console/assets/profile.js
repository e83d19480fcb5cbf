/** The page Profile: where the time of the last hundred epochs went, by hyper-node and by rule. */

import { useEffect, useRef } from "preact/hooks";
import { heat, Legend, useGraph } from "console/graph";
import { addressOf, Complaint, html, middle, number, plural, seconds } from "console/parts";
import { SlowestRules } from "console/slowest";

const SHOWN = 40;
const LONGEST = 30; // letters of a title
const CELL = 8;
const ROW = 22;

export function Profile() {
  const [graph, error] = useGraph();
  if (!graph) return html`<${Complaint} error=${error} />`;
  return html`<div>
    <${Complaint} error=${error} />
    <${HyperNodes} graph=${graph} />
    <${SlowestRules} HeatMap=${HeatMap} />
  </div>`;
}

function HyperNodes({ graph }) {
  const total = graph.boxes.reduce((sum, box) => sum + box.seconds, 0);
  const boxes = graph.boxes.filter((box) => box.history.length).sort((one, other) => other.seconds - one.seconds).slice(0, SHOWN);
  if (!boxes.length) return html`<p class="quiet">The server has not seen an epoch since it was started. Commit facts or rules, and their times appear here.</p>`;
  const [slowest] = boxes;
  return html`<section aria-label="Hyper-nodes">
    <p>${plural(graph.epochs.length, "epoch")} took ${seconds(total)} in hyper-nodes.${" "}<a href=${addressOf("rules", slowest.title)}>Slowest: ${slowest.title}</a></p>
    <${Legend} />
    <div class="heat">
      <table>
        <thead><tr><th scope="col">hyper-node</th><th scope="col">time</th><th scope="col">share</th><th scope="col">epochs</th><th scope="col">impact</th></tr></thead>
        <tbody>${boxes.map((box) => html`<tr key=${box.title}>
          <th scope="row"><a href=${addressOf("rules", box.title)} title=${box.title}>${middle(box.title, LONGEST)}</a></th>
          <td>${seconds(box.seconds)}</td><td>${total ? Math.round((100 * box.seconds) / total) : 0} %</td>
          <td>${box.runs}</td><td>${number(box.impact)}</td></tr>`)}</tbody>
      </table>
      <${HeatMap} boxes=${boxes} epochs=${graph.epochs} label="Time by hyper-node and epoch" />
    </div>
  </section>`;
}

/** The heat map: a row for each row of the table beside it, a column for each epoch, the last one at the right. */
function HeatMap({ boxes, epochs, label }) {
  const canvas = useRef(null);
  const width = Math.max(1, epochs.length) * CELL;
  const height = boxes.length * ROW;
  useEffect(() => {
    const style = getComputedStyle(document.documentElement);
    const colours = [0, 1, 2, 3, 4, 5].map((level) => style.getPropertyValue(`--heat-${level}`));
    const drawing = canvas.current.getContext("2d");
    const columns = Object.fromEntries(epochs.map((each, at) => [each.epoch, at]));
    drawing.clearRect(0, 0, width, height);
    boxes.forEach((box, row) => {
      const spent = new Map(); // seconds by epoch: a box has a report for each of its parts
      for (const each of box.history) spent.set(each.epoch, (spent.get(each.epoch) ?? 0) + each.seconds);
      for (const [epoch, time] of spent) {
        drawing.fillStyle = colours[heat(time)];
        drawing.fillRect(columns[epoch] * CELL, row * ROW + 2, CELL - 1, ROW - 4);
      }
    });
  });
  const first = epochs[0]?.epoch;
  return html`<figure>
    <canvas ref=${canvas} width=${width} height=${height} role="img" aria-label=${label}></canvas>
    <figcaption>epochs ${first} to ${epochs.at(-1)?.epoch}</figcaption>
  </figure>`;
}
