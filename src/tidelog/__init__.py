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

from tidelog.connect import connect
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
from tidelog.functions.callables import aggregate, functor
from tidelog.functions.importing import Library
from tidelog.limits.progress import Progress, progress
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
    from tidelog.database.database import Database
    from tidelog.database.transaction import Transaction
    from tidelog.explain.proof import Proof
    from tidelog.io.relation import Relation
    from tidelog.language.branches import Branch
    from tidelog.network import Node as Node
    from tidelog.workspace.change import Change
else:  # A type checker would take every name for one that `__getattr__` knows.
    _PLACES = {
        "Branch": "language.branches",
        "Change": "workspace.change",
        "Database": "database.database",
        "Node": "network",
        "Proof": "explain.proof",
        "Relation": "io.relation",
        "Transaction": "database.transaction",
        "check_certificate": "certificate",
        "load_ipython_extension": "notebook",
    }

    def __getattr__(name: str) -> object:
        """Load the modules `network` and `rdf`, and the names of `_PLACES`, when they are first used: a database has
        hundreds of modules, which workers, and commands that only print, do not need."""
        if name in ("network", "rdf"):
            return import_module(f"tidelog.{name}")
        if name in _PLACES:
            return getattr(import_module(f"tidelog.{_PLACES[name]}"), name)
        raise AttributeError(f"module 'tidelog' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
