"""tidelog: Datalog whose views follow facts and rules.

>>> import tidelog
>>> db = tidelog.connect()
>>> db.load(".decl edge(x: number, y: number)   .decl path(x: number, y: number)"
...         "path(x, y) :- edge(x, y).          path(x, z) :- path(x, y), edge(y, z).")
>>> db.insert("edge", [(1, 2), (2, 3)])
>>> change = db.commit()
>>> sorted(db["path"])
[(1, 2), (1, 3), (2, 3)]
"""

from importlib import import_module
from typing import TYPE_CHECKING

from tidelog.callables import aggregate, functor
from tidelog.change import Change
from tidelog.connect import connect
from tidelog.database import Database
from tidelog.errors import (
    CertificateRejected,
    DataError,
    InternalError,
    LimitError,
    ProgramError,
    ProofRejected,
    SetupError,
    TidelogError,
    UsageError,
)
from tidelog.explain.proof import Proof
from tidelog.importing import Library
from tidelog.language.branches import Branch
from tidelog.limits.progress import Progress, progress
from tidelog.relation import Relation
from tidelog.transaction import Transaction
from tidelog.version import __version__ as __version__

__all__ = [
    "Branch",
    "CertificateRejected",
    "Change",
    "DataError",
    "Database",
    "InternalError",
    "Library",
    "LimitError",
    "ProgramError",
    "Progress",
    "Proof",
    "ProofRejected",
    "Relation",
    "SetupError",
    "TidelogError",
    "Transaction",
    "UsageError",
    "aggregate",
    "check_certificate",
    "connect",
    "functor",
    "progress",
]

if TYPE_CHECKING:
    from tidelog import network as network
    from tidelog import rdf as rdf
    from tidelog.certificate import check_certificate
    from tidelog.network import Node as Node
else:  # A type checker would take every name for one that `__getattr__` knows.

    def __getattr__(name: str) -> object:
        """`tidelog.network`, `tidelog.Node`, `tidelog.rdf` and `tidelog.check_certificate` are loaded when first used,
        as is the extension of IPython."""
        if name in ("network", "rdf"):
            return import_module(f"tidelog.{name}")
        if name == "check_certificate":
            return import_module("tidelog.certificate").check_certificate
        if name == "Node":
            return import_module("tidelog.network").Node
        if name == "load_ipython_extension":
            return import_module("tidelog.notebook").load_ipython_extension
        raise AttributeError(f"module 'tidelog' has no attribute {name!r}")
