"""The printed tables: the paper's beside tidelog's, each query by itself, closures, and targets."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.graphs import paper, targets

_STOPPED = {"E0501": "out of time", "E0502": "out of rows", "time": "out of time", "memory": "out of memory"}


def workload_head() -> str:
    """Return the lines above the rows of a workload."""
    line = _cells(("query", 6), ("answers", 12), ("CPU s", 9), ("wall s", 9), ("peak MB", 9))
    return line + "".join(f"{peer:>14}{'ratio':>7}" for peer in targets.PEERS)


def workload_row(number: int, row: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a query from scratch: tidelog's figures, and the CPU seconds of the peers with the ratio."""
    ours = row["tidelog"]
    if "stopped" in ours:
        line = f"{number:>6}{_STOPPED[ours['stopped']]:>39}"
    else:
        figures = f"{ours['cpu']:9.3f}{ours['wall']:9.3f}{ours['peak'] / 1e6:9,.0f}"
        line = f"{number:>6}{ours['size']:>12,}{figures}"
    for peer in targets.PEERS:
        other, ratio = row.get(peer, {}), targets.compared(row, peer)
        said = _STOPPED[other["stopped"]] if "stopped" in other else f"{other['cpu']:.3f}" if other else ""
        line += f"{said:>14}{'' if ratio is None else f'{ratio:.2f}':>7}"
    return line


def updates_row(number: int, row: Mapping[str, Any]) -> str:
    """Return a query under changes: milliseconds of CPU from scratch and of single edges."""
    if "stopped" in row:
        return f"{number:>6}  {_STOPPED[row['stopped']]}"
    edges = "".join(f", {kind} an edge {1e3 * each['cpu']:.2f} ms" for kind, each in row["edges"].items())
    return f"{number:>6}  {row['size']:,} answers, from scratch {1e3 * row['whole']['cpu']:.1f} ms{edges}"


def updates(name: str, found: targets.Found) -> str:
    """Return the paper's table for one graph: averages over the queries; milliseconds of CPU."""
    done = {number: row for number, row in found.items() if "stopped" not in row}
    lines = [f"{name}: {len(done)} of {len(found)} queries, milliseconds of CPU"]
    shares = sorted({batch["share"] for row in done.values() for batch in row["batches"]})
    if shares:
        heads = ("share", 7), ("", 8), ("symbols", 8), ("rho", 8), ("read", 6)
        figures = ("FVM", 10), ("IVM", 10), ("gain", 10), ("gain %", 8), ("median %", 9), ("fix-point", 10)
        lines.append(_cells(*heads, *figures))
    beside = next((table for key, table in paper.BESIDE.items() if name.startswith(key)), "")
    for share in shares:
        batches = [batch for row in done.values() for batch in row["batches"] if batch["share"] == share]
        lines += [_batch_row(share, what, batches) for what in ("insert", "again", "delete")]
        if beside:
            rho, fvm, ivm = paper.TABLES[beside].get(share, (0.0, 0.0, 0.0))
            told = _cells(("", 8), (f"{rho:.1f}%", 8), ("", 6), *((f"{ms:.1f}", 10) for ms in (fvm, ivm, fvm - ivm)))
            lines += [f"{'paper,':>7}{beside:>8}{told}{100 - 100 * ivm / fvm:>8.1f}"] if fvm else []
    return "\n".join([*lines, *_edges(done)])


def _batch_row(share: float, what: str, batches: Sequence[Mapping[str, Any]]) -> str:
    ivm, fvm = targets.averages(batches, what)
    sampled = len(batches[0]["symbols"])
    rho = f"{100 * statistics.fmean(batch['rho'] for batch in batches):.1f}%"
    read = f"{sum(batch['touched'] for batch in batches)}"
    gains = [100 - 100 * batch[what]["cpu"] / batch[what]["fvm"]["cpu"] for batch in batches]
    figures = f"{1e3 * fvm:10.2f}{1e3 * ivm:10.2f}{1e3 * (fvm - ivm):10.2f}"
    gain = f"{100 - 100 * ivm / fvm:8.1f}{statistics.median(gains):9.1f}"
    alone = f"{1e3 * statistics.fmean(batch[what]['fvm']['fixpoint'] for batch in batches):10.2f}"
    return _cells((f"{share:.2f}", 7), (what, 8), (str(sampled), 8), (rho, 8), (read, 6)) + figures + gain + alone


def _edges(done: targets.Found) -> list[str]:
    """Return single edges: medians over the queries."""
    lines = []
    for kind in ("delete", "insert"):
        rows = [row for row in done.values() if kind in row["edges"]]
        if rows:
            seconds = statistics.median(row["edges"][kind]["cpu"] for row in rows)
            ratios = [row["edges"][kind]["cpu"] / row["whole"]["cpu"] for row in rows]
            lines.append(
                f"{kind} an edge: median query {1e3 * seconds:.2f} ms, {statistics.median(ratios):.4f} of FVM; "
                f"worst query {max(ratios):.3f} of FVM"
            )
    return lines


def closures(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Return closures of a large graph and in rule sets."""
    lines = ["closures", f"{'':28}{'pairs':>14}{'wall s':>10}{'CPU s':>10}{'peak MB':>9}"]
    for case, row in found.items():
        if "delete" in row:
            each = ", ".join(f"{kind} {row[kind]:.4f} s, worst {row[f'{kind}_worst']:.3f} s" for kind in _KINDS)
            lines.append(f"{case:28}{row['pairs']:>14,}  {each}")
        else:
            figures = f"{row['wall']:10.3f}{row['cpu']:10.3f}{row['peak'] / 1e6:9,.0f}"
            lines.append(f"{case:28}{row['pairs']:>14,}{figures}")
    return "\n".join(lines)


_KINDS = ("delete", "insert")


def _cells(*cells: tuple[str, int]) -> str:
    return "".join(f"{text:>{width}}" for text, width in cells)
