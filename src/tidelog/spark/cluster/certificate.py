"""Certificates of views that are spread over partitions: the rows come to the driver some at a time, to be written.

Partitions write the rows of a relation, with their births, to files of the state directory. The driver reads these
piece by piece, and has one piece in memory. For the births see `verdict`.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Literal

from tidelog.certificate import CertifiedProgram, CertifiedRows, PartedCertificate, look
from tidelog.limits.watch import Watch
from tidelog.spark.cluster.checking.steps import Sent
from tidelog.spark.cluster.engine import PartitionedEngine
from tidelog.spark.cluster.exchange.pieces import Bundle, read_pieces
from tidelog.spark.cluster.verdict import lending, lending_facts
from tidelog.spark.jobs import step


def parted(
    certified: CertifiedProgram, shown: PartitionedEngine, ranked: PartitionedEngine, watch: Watch
) -> PartedCertificate:
    """Return the certificate of the views of `shown`. `ranked` has them with births that can be compared, see
    `verdict.check_partitions`. Its parts raise LimitError (E0501) or KeyboardInterrupt."""

    def parts(name: str, part: Literal["facts", "views"]) -> Iterator[CertifiedRows]:
        look(watch)
        arity = len(certified.program.relations[name].columns)
        is_view = part == "views"
        engine = ranked if is_view else shown
        asked = lending(ranked, name, "view", ()) if is_view else lending_facts(shown, name, ())
        if not asked.copy:
            return
        prefix = f"certificate-{secrets.token_hex(6)}"
        try:
            with step(f"certify {name}"):
                arguments = (engine.folder.address, prefix, 1, (asked,))
                found: list[list[Sent]] = engine.executors.run(engine.tasks("lend", arguments))
            for _, rows in (each for sent in found for each in sent):
                assert isinstance(rows, Bundle)
                for piece in read_pieces(engine.folder, 0, (), (rows,)):
                    look(watch)
                    yield piece.words[:, :arity], piece.words[:, arity] if is_view else None
        finally:
            engine.folder.remove(file for file in engine.folder.names() if file.startswith(prefix))

    program = certified.program
    whole = tuple(sorted(ranked.unsettled() & program.relations.keys()))
    return PartedCertificate(program, certified.dictionary, certified.place, parts, whole)
