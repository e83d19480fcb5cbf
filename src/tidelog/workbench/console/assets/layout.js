/** Places for the boxes of a rule graph: in layers by their longest way from the facts, neighbours close together. */

const WIDTH = 150;
const HEIGHT = 44;
const GAP = 24;
const BETWEEN = 40;

/** Return the places of boxes and the size of the picture. Boxes stand in the order of evaluation. */
export function layout(boxes, arrows) {
  const layer = boxes.map(() => 0);
  const before = boxes.map(() => []);
  for (const { source, target } of [...arrows].sort((one, other) => one.target - other.target)) {
    layer[target] = Math.max(layer[target], layer[source] + 1);
    before[target].push(source);
  }
  const layers = [];
  boxes.forEach((_, index) => (layers[layer[index]] ??= []).push(index));
  const widest = Math.max(6, Math.ceil(Math.sqrt(1.5 * boxes.length)));
  const x = boxes.map(() => 0);
  const y = boxes.map(() => 0);
  let row = 0;
  for (const members of layers) {
    const wish = (index) => before[index].reduce((sum, each) => sum + x[each], 0) / (before[index].length || 1);
    members.sort((one, other) => wish(one) - wish(other) || one - other);
    // A wide layer takes several rows: the picture stays one that a window can show.
    const rows = Math.ceil(members.length / widest);
    const each = Math.ceil(members.length / rows);
    members.forEach((index, at) => {
      const mine = Math.min(each, members.length - each * Math.floor(at / each));
      x[index] = ((at % each) - (mine - 1) / 2) * (WIDTH + GAP);
      y[index] = (row + Math.floor(at / each)) * (HEIGHT + BETWEEN);
    });
    row += rows;
  }
  const left = Math.min(0, ...x);
  const places = boxes.map((_, index) => ({ x: x[index] - left + GAP, y: y[index] + GAP, width: WIDTH, height: HEIGHT }));
  const width = Math.max(0, ...places.map((place) => place.x)) + WIDTH + GAP;
  return { places, width, height: row * (HEIGHT + BETWEEN) + GAP };
}

/** Return the path of an arrow from the bottom of a box to the top of another one. */
export function arrowPath(from, to) {
  const [x1, y1, x2, y2] = [from.x + from.width / 2, from.y + from.height, to.x + to.width / 2, to.y];
  const bend = Math.max(16, (y2 - y1) / 2);
  return `M${x1},${y1} C${x1},${y1 + bend} ${x2},${y2 - bend} ${x2},${y2}`;
}
