"""Certificates: a view with its facts, its rules and a birth for every tuple proves itself.

The checker shares the reading of programs and the dictionary of symbols with the engine, but nothing that evaluates.

certificate  the parts of a certificate, those that its program determines, and the certificate of a database
folder       certificates as folders of Parquet files: their layout and their writer
reading      their reader;  tables  one of their files, within bounds
sql          a rule as a SELECT;  functors  computations of rules, in SQL or Python
check        the conditions, on DuckDB, and the problems that it finds, as messages
session      a database of DuckDB for a check, with its limits and Ctrl-C
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tidelog.certificate.certificate import (
    Certificate,
    CertifiedProgram,
    CertifiedRows,
    PartedCertificate,
    certificate_of,
    drop_candidates,
    program_text,
)
from tidelog.certificate.check import check
from tidelog.certificate.folder import save
from tidelog.certificate.reading import load
from tidelog.certificate.session import look
from tidelog.certificate.tables import out_of_memory
from tidelog.errors import wrong_argument
from tidelog.functions.callables import FunctorSource, GivenFunctions
from tidelog.limits.watch import Watch, defer_interrupts

__all__ = [
    "Certificate",
    "CertifiedProgram",
    "CertifiedRows",
    "PartedCertificate",
    "Verdict",
    "certificate_of",
    "check",
    "check_certificate",
    "drop_candidates",
    "load",
    "look",
    "program_text",
    "save",
]


@dataclass(frozen=True)
class Verdict:
    """The result of a check that accepts: the names of the functors in Python whose functions were `trusted`, and
    "autoinc" where the numbers of counters were."""

    trusted: tuple[str, ...] = ()


def check_certificate(
    folder: str | os.PathLike[str], *, timeout: float | None = None, functors: FunctorSource = ()
) -> Verdict:
    """Check a certificate that `Database.save_certificate` has written; nothing is taken from a database.

    Return the verdict if the views of the folder follow from its facts and its program. The checker calls `functors`
    for the functors in Python (E0645 without one) and trusts them: the verdict has their names.

    Raise CertificateRejected if the views do not follow, DataError (E081x) if the folder is not a certificate of its
    program, LimitError if memory does not suffice (E0503) or after `timeout` seconds (E0501).
    """
    given: object = folder
    if not isinstance(given, (str, os.PathLike)):
        raise wrong_argument("a certificate", "the path of a folder", given)
    watch = Watch(timeout)
    try:
        with defer_interrupts(watch):
            given = GivenFunctions.of(functors)
            certificate = load(Path(folder), partial(look, watch), given)
            check(certificate, watch)
            return Verdict(certificate.trusted_functors)
    except MemoryError as error:
        raise out_of_memory(error) from None
