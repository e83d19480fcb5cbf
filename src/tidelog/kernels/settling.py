"""The lists of a relation's change: those of facts, and those of rows that died and were born on balance."""
# mypy: disable-error-code="no-untyped-def"

from tidelog.kernels.layout import (
    R_BIRTH,
    R_COUNT,
    R_IN,
    R_IN_HIGH,
    R_IN_LOW,
    R_IN_N,
    R_JOURNAL,
    R_JOURNAL_N,
    R_N,
    R_OUT,
    R_OUT_HIGH,
    R_OUT_LOW,
    R_OUT_N,
    R_START,
    R_SUPPORT,
)
from tidelog.kernels.words import kernel, load32, load64, store32, store64


@kernel
def list_facts(D, relation, dead):
    """Let live rows be dead, and those that were not there when the epoch began have the birth 0, as the only change of
    the epoch. There is room in the lists."""
    counts, births, supports = D[relation, R_COUNT], D[relation, R_BIRTH], D[relation, R_SUPPORT]
    journal, died, born = D[relation, R_JOURNAL], D[relation, R_OUT], D[relation, R_IN]
    for i in range(len(dead)):
        r = dead[i]
        store64(journal, 4 * i, r)
        store64(journal, 4 * i + 1, load32(counts, r) if counts != 0 else 0)
        store64(journal, 4 * i + 2, load32(births, r) if births != 0 else 0)
        store64(journal, 4 * i + 3, load32(supports, r) if supports != 0 else 0)
        if counts != 0:
            store32(counts, r, -1)
        if supports != 0:
            store32(supports, r, 0)
        store64(died, i, r)
    first, n = D[relation, R_START], D[relation, R_N]
    for r in range(first, n):
        if births != 0:
            store32(births, r, 0)
        store64(born, r - first, r)
    D[relation, R_JOURNAL_N] = D[relation, R_OUT_N] = D[relation, R_OUT_HIGH] = len(dead)
    D[relation, R_IN_N] = D[relation, R_IN_HIGH] = n - first
    D[relation, R_OUT_LOW] = D[relation, R_IN_LOW] = 0


@kernel
def settle_lists(D, relation):
    """Keep those in the lists that are dead, and those that were not there when the epoch began. All of them are the
    source of the next round."""
    counts, died, born, kept = D[relation, R_COUNT], D[relation, R_OUT], D[relation, R_IN], 0
    for i in range(D[relation, R_OUT_N]):
        r = load64(died, i)
        if load32(counts, r) <= 0:
            store64(died, kept, r)
            kept += 1
    D[relation, R_OUT_N], D[relation, R_OUT_LOW], D[relation, R_OUT_HIGH] = kept, 0, kept
    kept = 0
    for i in range(D[relation, R_IN_N]):
        r = load64(born, i)
        if r >= D[relation, R_START]:
            store64(born, kept, r)
            kept += 1
    D[relation, R_IN_N], D[relation, R_IN_LOW], D[relation, R_IN_HIGH] = kept, 0, kept
