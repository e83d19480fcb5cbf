"""A hash table of rows of words, each with a number from 0 on: the arguments for which results are remembered.

`slots` has row numbers plus one, and 0 in free places; its length is a power of two, more than the number of rows.
"""
# mypy: disable-error-code="no-untyped-def"

from tidelog.kernels.words import kernel

_MIX = -7046029254386353131


@kernel
def home_of(rows, i, mask):
    """Return the slot where the search for row `i` begins."""
    h = 0
    for j in range(rows.shape[1]):
        h = (h ^ rows[i, j]) * _MIX
        h ^= (h >> 32) & 0xFFFFFFFF
    return h & mask


@kernel
def slot_of(slots, keys, rows, i):
    """Return the slot that has row `i` of `rows`, or the empty one where it belongs."""
    mask = len(slots) - 1
    slot = home_of(rows, i, mask)
    while slots[slot] != 0:
        row = slots[slot] - 1
        same = True
        for j in range(rows.shape[1]):
            if keys[row, j] != rows[i, j]:
                same = False
                break
        if same:
            break
        slot = (slot + 1) & mask
    return slot


@kernel
def number_rows(rows, keys, slots, used, numbers):
    """Write the number of each row, and add those that are new to `keys`, which has room for them. Return how many keys
    there are."""
    for i in range(len(rows)):  # loads that do not wait for each other: the slots are then in the cache
        numbers[i] = slots[home_of(rows, i, len(slots) - 1)]
    for i in range(len(rows)):
        slot = slot_of(slots, keys, rows, i)
        if slots[slot] == 0:
            for j in range(rows.shape[1]):
                keys[used, j] = rows[i, j]
            used += 1
            slots[slot] = used
        numbers[i] = slots[slot] - 1
    return used


@kernel
def fill_slots(keys, slots, used):
    """Put the first `used` keys, which are distinct, into empty slots."""
    for i in range(used):
        slots[slot_of(slots, keys, keys, i)] = i + 1
