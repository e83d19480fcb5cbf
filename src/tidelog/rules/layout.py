"""Where the boxes of a directed graph without cycles go: in layers from left to right, with few crossings.

The steps are those of Sugiyama, Tagawa and Toda (1981): layers by longest paths, a waypoint wherever an arrow passes a
layer, an order within each layer by means of neighbours, then vertical positions near the neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

_SWEEPS = 16
_WAYPOINT = (0.0, 6.0)


@dataclass
class Place:
    """The centre and the size of a box or of a waypoint."""

    size: tuple[float, float]
    x: float = 0.0
    y: float = 0.0
    before: list[int] = field(default_factory=list)
    after: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Layout:
    """`places` of the boxes first, then of the waypoints; for each arrow the places that it passes, ends included."""

    places: list[Place]
    routes: list[list[int]]


def layout(
    sizes: Sequence[tuple[float, float]],
    arrows: Sequence[tuple[int, int]],
    *,
    late: Iterable[int] = (),
    gap: tuple[float, float] = (70.0, 16.0),
) -> Layout:
    """Places boxes of these sizes. Each arrow leads from a smaller to a larger index. Boxes named by `late` stand as
    near to their readers as they can. `gap` is the distance between layers and between boxes of a layer.
    """
    depth = _depths(len(sizes), arrows, set(late))
    places = [Place(size) for size in sizes]
    layers: list[list[int]] = [[] for _ in range(max(depth, default=-1) + 1)]
    for index, level in enumerate(depth):
        layers[level].append(index)
    routes = []
    for source, target in arrows:
        route = [source]
        for level in range(depth[source] + 1, depth[target]):
            places.append(Place(_WAYPOINT))
            layers[level].append(len(places) - 1)
            route.append(len(places) - 1)
        route.append(target)
        for one, other in pairwise(route):
            places[one].after.append(other)
            places[other].before.append(one)
        routes.append(route)
    _order(layers, places)
    _columns(layers, places, gap[0])
    _rows(layers, places, gap[1])
    return Layout(places, routes)


def _depths(number: int, arrows: Sequence[tuple[int, int]], late: set[int]) -> list[int]:
    depth = [0] * number
    for source, target in sorted(arrows, key=lambda arrow: arrow[1]):
        depth[target] = max(depth[target], depth[source] + 1)
    for index in late:
        readers = [depth[target] for source, target in arrows if source == index]
        depth[index] = max(depth[index], min(readers, default=1) - 1)
    return depth


def _order(layers: list[list[int]], places: list[Place]) -> None:
    """Sorts each layer by the mean position of its neighbours, back and forth, and keeps the best order found."""
    best, fewest = [list(layer) for layer in layers], _crossings(layers, places)
    for sweep in range(_SWEEPS):
        forward = sweep % 2 == 0
        for layer in layers[1:] if forward else layers[-2::-1]:
            position = {index: row for other in layers for row, index in enumerate(other)}
            layer.sort(key=_mean(position, places, forward))
        crossings = _crossings(layers, places)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in layers], crossings
    layers[:] = best


def _mean(position: dict[int, int], places: list[Place], forward: bool) -> Callable[[int], float]:
    def key(index: int) -> float:
        near = places[index].before if forward else places[index].after
        return sum(position[other] for other in near) / len(near) if near else float(position[index])

    return key


def _crossings(layers: list[list[int]], places: list[Place]) -> int:
    """The number of pairs of arrows that cross between neighbouring layers: inversions, counted with a Fenwick tree."""
    total = 0
    for layer, following in pairwise(layers):
        row = {index: position for position, index in enumerate(following, 1)}
        tree = [0] * (len(following) + 1)
        seen = 0
        for index in layer:
            ends = sorted(row[other] for other in places[index].after)
            for end in ends:
                total += seen - _sum(tree, end)
            for end in ends:
                seen += 1
                while end < len(tree):
                    tree[end] += 1
                    end += end & -end
    return total


def _sum(tree: list[int], end: int) -> int:
    total = 0
    while end > 0:
        total += tree[end]
        end -= end & -end
    return total


def _columns(layers: list[list[int]], places: list[Place], gap: float) -> None:
    left = 0.0
    for layer in layers:
        width = max(places[index].size[0] for index in layer)
        for index in layer:
            places[index].x = left + width / 2
            if places[index].size == _WAYPOINT:  # arrows cross a layer in a straight line
                places[index].size = (width, _WAYPOINT[1])
        left += width + gap


def _rows(layers: list[list[int]], places: list[Place], gap: float) -> None:
    """Moves each box towards the mean of its neighbours as far as the others of its layer allow."""
    for layer in layers:
        _settle(layer, places, [0.0] * len(layer), gap)
    for sweep in range(_SWEEPS):
        for layer in layers if sweep % 2 == 0 else layers[::-1]:
            wishes = []
            for index in layer:
                near = places[index].before + places[index].after
                wishes.append(sum(places[other].y for other in near) / len(near) if near else places[index].y)
            _settle(layer, places, wishes, gap)


def _settle(layer: list[int], places: list[Place], wishes: list[float], gap: float) -> None:
    """The positions nearest to `wishes` in which the boxes of a layer keep their order and their distance.

    Without the distances in between, this is isotonic regression: neighbours that are out of order share their mean.
    """
    offsets = [0.0]
    for one, other in pairwise(layer):
        offsets.append(offsets[-1] + (places[one].size[1] + places[other].size[1]) / 2 + gap)
    blocks: list[tuple[float, int]] = []
    for wish, offset in zip(wishes, offsets, strict=True):
        mean, count = wish - offset, 1
        while blocks and blocks[-1][0] > mean:
            above, number = blocks.pop()
            mean, count = (mean * count + above * number) / (count + number), count + number
        blocks.append((mean, count))
    settled = [mean for mean, count in blocks for _ in range(count)]
    for index, base, offset in zip(layer, settled, offsets, strict=True):
        places[index].y = base + offset
