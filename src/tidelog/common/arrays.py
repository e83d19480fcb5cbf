"""Types of the arrays that rooms hand to each other."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy
from numpy.typing import NDArray

Words: TypeAlias = NDArray[numpy.int64]
"""Words of 64 bits: rows of shape (n, arity), or one for each of n values."""

AnyWords: TypeAlias = NDArray[numpy.signedinteger[Any]]
"""Words of 32 or 64 bits, as a relation stores them."""

Flags: TypeAlias = NDArray[numpy.bool_]
"""True or False for each of n rows."""
