"""Certificates: a view with its facts, its rules and a birth for every tuple proves itself.

The checker shares the reading of programs and the dictionary of symbols with the engine, but nothing that evaluates.

certificate   the parts of a certificate, and those that its program determines
export        the certificate of a database
layout        certificates as folders of Parquet files;  folder  their writer
reading       their reader;  tables  one of their files, within bounds
sql           a rule as a SELECT;  functors  computations of rules, in SQL or Python;  texts  those on texts
check         the four conditions, on DuckDB;  stopping  limits and Ctrl-C while it runs
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from tidelog.certificate.certificate import Certificate
from tidelog.certificate.check import check
from tidelog.certificate.export import certificate_of, program_text
from tidelog.certificate.folder import save
from tidelog.certificate.reading import load
from tidelog.certificate.stopping import look
from tidelog.certificate.tables import out_of_memory
from tidelog.errors import wrong_argument
from tidelog.limits.watch import Watch, guarded

__all__ = ["Certificate", "certificate_of", "check", "check_certificate", "load", "look", "program_text", "save"]


def check_certificate(folder: str | os.PathLike[str], *, timeout: float | None = None) -> None:
    """Check a certificate that `Database.save_certificate` has written; nothing is taken from a database.

    Return if the views of the folder follow from its facts and its program. Raise CertificateRejected if they do not,
    DataError (E081x) if the folder is not a certificate of its program, LimitError if memory does not suffice (E0503)
    or after `timeout` seconds (E0501).
    """
    given: object = folder
    if not isinstance(given, (str, os.PathLike)):
        raise wrong_argument("a certificate", "the path of a folder", given)
    watch = Watch(timeout)
    try:
        with guarded(watch):
            check(load(Path(folder), partial(look, watch)), watch)
    except MemoryError as error:
        raise out_of_memory(error) from None
