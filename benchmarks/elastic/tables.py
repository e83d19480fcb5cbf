"""The printed tables: the paper's beside tidelog's."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.elastic import paper
from benchmarks.elastic.targets import grouped

_KINDS = ("delete", "insert")


def updates(found: Mapping[str, Any]) -> str:
    """Return Figure 5 and Table 3 for one program."""
    name, scratch, cpu = found["name"], found["scratch"], found["scratch_cpu"]
    first = found["epochs"][0]
    lines = [
        f"{name}: {found['facts']:,} facts, {found['derived']:,} derived; "
        f"from scratch {scratch:.3f} s, {cpu:.3f} s of CPU; "
        f"an epoch that changes nothing {found['idle'] * 1e6:.0f} microseconds",
        f"the first update, which makes indexes for all others: {first['seconds']:.3f} s, {first['cpu']:.3f} s of CPU",
        _row("size", "", "sets", "median ms", "worst ms", "CPU ms", "worst", "of scratch", "impact", "bootstraps"),
    ]
    for (size, kind), group in grouped(found["epochs"]).items():
        wall = [epoch["seconds"] for epoch in group]
        used = [epoch["cpu"] for epoch in group]
        lines.append(
            _row(
                f"{size:,}",
                kind,
                str(len(group)),
                *(f"{1e3 * t:,.1f}" for t in (statistics.median(wall), max(wall), statistics.median(used), max(used))),
                f"{statistics.median(used) / cpu:.3f}",
                f"{statistics.median(epoch['impact'] for epoch in group):,.0f}",
                f"{sum(epoch['bootstraps'] > 0 for epoch in group)}",
            )
        )
        for engine, (whole, *bounds) in paper.UPDATES.get((name, size), {}).items():
            low, high = bounds[:2] if kind == "delete" else bounds[2:]
            what = f"{engine}, {paper.BENCHMARKS[name]}"
            lines.append(f"{'':12}paper, {what:28} {low:,.2f} - {high:,.2f} s, from scratch {whole:,.2f} s")
    return "\n".join(lines)


def epochs(name: str, found: Mapping[str, Mapping[str, Any]]) -> str:
    """Return Figure 6 and Table 2 for one program."""
    one = next(iter(found.values()))
    lines = [
        f"{name}: thirteen epochs, small ones of {one['small']:,} facts, large ones of {one['large']:,}; seconds",
        f"{'':10}{'all':>9}{'CPU':>9}{'of fresh':>9}{'peak MB':>9}{'bootstr.':>9}  each",
    ]
    fresh = found.get("fresh")
    for strategy, row in found.items():
        done = None not in row["seconds"]
        total = f"{sum(row['seconds']):.2f}" if done else "gave up"
        ratio = f"{row['cpu'] / fresh['cpu']:.3f}" if fresh and done else ""
        each = " ".join("-" if t is None else f"{t:.3g}" for t in row["seconds"])
        figures = f"{total:>9}{row['cpu']:9.2f}{ratio:>9}{row['peak'] / 1e6:9,.0f}{row['bootstraps']:9}"
        lines.append(f"{strategy:10}{figures}  {each}")
    for what, rows, unit in (("all", paper.WORKLOAD, "s"), ("peak", paper.MEMORY, "MB")):
        told = ", ".join(f"{engine} {figure:,} {unit}" for engine, figure in rows[name].items())
        lines.append(f"paper, {paper.BENCHMARKS[name]}, {what}: {told}")
    return "\n".join(lines)


def state(name: str, found: Sequence[Mapping[str, Any]]) -> str:
    """Return the price of the state that allows updates."""
    lines = [
        f"{name}: the state that allows updates; MB held by the process, at the most",
        f"{'':10}{'CPU s':>9}{'s':>9}{'loaded':>9}{'scratch':>9}{'updated':>9}",
    ]
    for row in found:
        held = "".join(f"{row[what] / 1e6:9,.0f}" for what in ("before", "first", "peak"))
        kind = "with" if row["maintain"] else "without"
        lines.append(f"{kind:10}{row['cpu']:9.2f}{row['seconds']:9.2f}{held}")
    return "\n".join(lines)


def proportion(found: Sequence[Mapping[str, Any]]) -> str:
    """Return the seconds for the last edge or member, by size of the graph or group."""
    lines = [
        "one edge at the far end, one member of a group; microseconds",
        f"{'':8}{'nodes':>10}{'delete':>10}{'insert':>10}",
    ]
    lines += [
        f"{row['shape']:8}{row['nodes']:10,}{row['delete'] * 1e6:10,.0f}{row['insert'] * 1e6:10,.0f}" for row in found
    ]
    return "\n".join(lines)


def derivations(found: Sequence[Mapping[str, Any]]) -> str:
    """Return the derivations that the references visit."""
    names = [name for name in found[0] if name not in {"case", "scratch"}]
    lines = [
        "derivations that the papers' algorithms visit: deletion, insertion",
        f"{'':38}{'scratch':>9}" + "".join(f"{name:>14}" for name in names),
    ]
    for row in found:
        figures = "".join(f"{', '.join(map(str, row[name])):>14}" for name in names)
        lines.append(f"{row['case']:38}{row['scratch']:9,}{figures}")
    return "\n".join(lines)


def _row(size: str, kind: str, *cells: str) -> str:
    return f"{size:>8} {kind:7}" + "".join(f"{cell:>11}" for cell in cells)
