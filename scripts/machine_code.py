"""Lets a wheel bring the compiled kernels in the folder that TIDELOG_MACHINE_CODE names: see scripts/wheel."""

from __future__ import annotations

import os
import sys
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class MachineCodeHook(BuildHookInterface):  # type: ignore[type-arg]  # hatchling is not installed where mypy runs
    """Makes the wheel one for this version of Python, for x86-64, and for the numba that compiled the kernels."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the kernels, and what they depend on, to a wheel."""
        folder = os.environ.get("TIDELOG_MACHINE_CODE")
        if folder and version == "standard":
            build_data["force_include"][folder] = "tidelog/kernels/machine_code"
            build_data["tag"] = f"cp{sys.version_info[0]}{sys.version_info[1]}-none-manylinux_2_17_x86_64"
            build_data["pure_python"] = False
            build_data["dependencies"].append(f"numba=={os.environ['TIDELOG_NUMBA']}")
