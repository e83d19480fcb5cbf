/** Places for the boxes of a rule graph, and ways for its arrows around them, by dagre: it is loaded for the first graph. */

export const BOX = { width: 170, height: 56 };
const GAPS = { nodesep: 24, ranksep: 48, marginx: 16, marginy: 16 };
const WIDEST = 2; // wider pictures of this ratio, and of higher ones, go from left to right

/** Return the places of boxes (their middles), the ways of arrows, and the size of the picture: from top to bottom, or
 * from left to right where many boxes stand beside each other. */
export async function layout(boxes, arrows) {
  const dagre = await import("dagre");
  const downwards = placed(dagre, boxes, arrows, "TB");
  return downwards.width > WIDEST * downwards.height ? placed(dagre, boxes, arrows, "LR") : downwards;
}

function placed(dagre, boxes, arrows, rankdir) {
  const graph = new dagre.Graph().setGraph({ rankdir, ...GAPS }).setDefaultEdgeLabel(() => ({}));
  boxes.forEach((_, index) => graph.setNode(String(index), { ...BOX }));
  for (const { source, target } of arrows) graph.setEdge(String(source), String(target));
  dagre.layout(graph);
  const places = boxes.map((_, index) => graph.node(String(index)));
  const ways = arrows.map(({ source, target }) => way(places[source], graph.edge(String(source), String(target)).points, places[target], rankdir, places));
  const { width, height } = graph.graph();
  return { places, ways, width, height };
}

/** Return the path of an arrow. It crosses the layers of boxes straight, where dagre has left room for it, and bends
 * between them, where no box is. */
function way(from, points, to, rankdir, places) {
  const [along, across, half] = rankdir === "TB" ? ["y", "x", BOX.height / 2] : ["x", "y", BOX.width / 2];
  const layers = new Set(places.map((place) => Math.round(place[along])));
  const at = (one, other) => (rankdir === "TB" ? `${other},${one}` : `${one},${other}`);
  const crossed = points.filter((point) => layers.has(Math.round(point[along])) && point[along] > from[along] && point[along] < to[along]);
  let [end, lane] = [from[along] + half, from[across]];
  let path = `M${at(end, lane)}`;
  for (const stop of [...crossed, to]) {
    const [start, next] = [stop[along] - half, stop[across]];
    const middle = (end + start) / 2;
    path += ` C${at(middle, lane)} ${at(middle, next)} ${at(start, next)}`;
    if (stop !== to) path += ` L${at(start + 2 * half, next)}`;
    [end, lane] = [start + 2 * half, next];
  }
  return path;
}
