"""Kernels as small programs run them: by Python, however much there is to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy
import pytest

from tidelog.kernels.calling import Kernel


@contextmanager
def kernels_in_python() -> Iterator[None]:
    """Let Python run each kernel that is called inside the block."""

    def call(self: Kernel, *arguments: Any) -> Any:
        with numpy.errstate(all="ignore"):
            return self.plain(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Kernel, "__call__", call)
        yield
