"""The precedences of operators, as in Soufflé, shared by the builder and the printer."""

from __future__ import annotations

_GROUPS = "lor | lxor | land | bor | bxor | band | bshl bshr bshru | + - | * / %"
LEVELS: dict[str, int] = {name: level for level, group in enumerate(_GROUPS.split("|")) for name in group.split()}
SIGN = len(_GROUPS.split("|"))
"""Unary minus, bnot, lnot."""
POWER = LEVELS["^"] = SIGN + 1
PRIMARY = POWER + 1
"""The level of terms that need no parentheses anywhere."""


def binds_tighter(level: int, waiting: int) -> bool:
    """Return True if an operator takes the operand before it from one that waits on its left; `^` groups to the
    right."""
    return level > waiting or level == waiting == POWER
