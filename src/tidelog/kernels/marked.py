"""The best rows that a search has found, with the number of derivations and the birth of each.

A relation that selects has both in two words behind those of the tuple: the search compares a row, counts a derivation
and looks for the birth in one cache line. Its other relations have arrays for them, as relations elsewhere do.
"""
# mypy: disable-error-code="no-untyped-def"

from tidelog.kernels.layout import R_ARITY, R_BIRTH, R_MARKED, R_ROWS, R_SUPPORT
from tidelog.kernels.words import kernel, row_at, width


@kernel
def own_arity(D, relation):
    """Return the number of columns of a relation's tuples."""
    return D[relation, R_ARITY] - D[relation, R_MARKED]


@kernel
def address_of(D, relation, r, w):
    """Return the address of the words of row `r`."""
    return row_at(D[relation, R_ROWS], r, D[relation, R_ARITY], w)


@kernel
def support_of(D, relation, r, w):
    """Return the address of the int32 number of derivations of row `r`."""
    if D[relation, R_MARKED] == 0:
        return D[relation, R_SUPPORT] + 4 * r
    return address_of(D, relation, r, w) + own_arity(D, relation) * width(w)


@kernel
def birth_of(D, relation, r, w):
    """Return the address of the int32 birth of row `r`."""
    if D[relation, R_MARKED] == 0:
        return D[relation, R_BIRTH] + 4 * r
    return address_of(D, relation, r, w) + (own_arity(D, relation) + 1) * width(w)
